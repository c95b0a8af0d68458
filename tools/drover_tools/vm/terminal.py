# SPDX-License-Identifier: MIT
"""The user's terminal, which is connected to a shell in the guest."""

import contextlib
import os
import select
import sys
import termios
import tty

#: Ctrl-A X ends the connection, as in QEMU's own console; Ctrl-A Ctrl-A sends
#: Ctrl-A.
ESCAPE = b"\x01"
END = b"xX"

STATUS_ESCAPED = 0


class Terminal:
    """A context in which stdin is in raw mode, if it is a terminal."""

    def __init__(self):
        self._stdin = sys.stdin.fileno()
        self._saved = None
        self._escaped = False

    def __enter__(self):
        if os.isatty(self._stdin):
            self._saved = termios.tcgetattr(self._stdin)
            tty.setraw(self._stdin)
        return self

    def __exit__(self, *_exception):
        if self._saved:
            with contextlib.suppress(termios.error):    # it was hung up
                termios.tcsetattr(self._stdin, termios.TCSADRAIN, self._saved)

    def size(self):
        """The rows and columns, as arguments of stty."""
        columns, rows = os.get_terminal_size() if self._saved else (80, 24)
        return f"rows {rows} cols {columns}"

    def connect(self, agent, answer):
        """Carry bytes both ways until the shell ends. Return: its status."""
        sources = [agent.fileno(), self._stdin]
        while answer.status is None:
            ready, _, _ = select.select(sources, [], [])
            if agent.fileno() in ready:
                agent.relay(answer, self._show)
            if self._stdin in ready:
                typed = os.read(self._stdin, 1024)
                if not typed:               # end of file, once
                    typed = b"\x04"
                    sources.remove(self._stdin)
                keys = self._keys(typed)
                if keys is None:
                    return STATUS_ESCAPED
                agent.type(keys)
        return answer.status

    @staticmethod
    def _show(data):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def _keys(self, typed):
        """The bytes to send for the typed keys; None for Ctrl-A X."""
        keys = b""
        for key in (bytes((code,)) for code in typed):
            if self._escaped:
                self._escaped = False
                if key in END:
                    return None
                keys += key
            elif key == ESCAPE:
                self._escaped = True
            else:
                keys += key
        return keys
