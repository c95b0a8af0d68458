# SPDX-License-Identifier: MIT
"""The host's end of the guest's second serial port, whose other end is init.

    host to guest    run NONCE BYTES, then that many bytes
                     kill NONCE
                     shell NONCE
    guest to host    output as it is, then \\0NONCE STATUS\\n
"""

import re
import secrets
import socket
import time

#: The port's buffers in the guest can take a command of this length at once.
MAX_COMMAND = 16384

#: The beginning of an answer is not longer than this.
MAX_ANSWER = 64


class AgentGone(Exception):
    """The port was closed: QEMU has ended."""


class AgentSilent(Exception):
    """No answer before the deadline."""


class Answer:
    """The answer to one request, which is taken out of a stream of output."""

    def __init__(self, nonce):
        self.nonce = nonce
        self.status = None
        self.rest = b""         # the part of the stream after the answer
        self._pattern = re.compile(rb"\x00%s (\d+)\n" % nonce.encode())
        self._held = b""

    def feed(self, data):
        """Return the output in data; set status when the answer has come."""
        data = self._held + data
        match = self._pattern.search(data)
        if match:
            self.status = int(match.group(1))
            self.rest = data[match.end():]
            return data[:match.start()]
        start = data.find(b"\0", max(len(data) - MAX_ANSWER, 0))
        start = len(data) if start < 0 else start
        self._held = data[start:]
        return data[:start]


class Agent:
    """Sends requests to the guest and reads its answers."""

    def __init__(self, port):
        self._port = port
        self._unread = b""

    def request(self, verb, command=None):
        """Send a request. Return: the answer to wait for."""
        nonce = secrets.token_hex(8)
        message = f"{verb} {nonce}".encode()
        if command is not None:
            script = command.encode(errors="surrogateescape") + b"\n"
            if len(script) > MAX_COMMAND:
                raise ValueError(f"a command has at most {MAX_COMMAND} bytes;"
                                 " put a longer one in a file")
            message += b" %d\n" % len(script) + script
        else:
            message += b"\n"
        try:
            self._port.sendall(message)
        except OSError as error:
            raise AgentGone from error
        return Answer(nonce)

    def wait(self, answer, deadline, sink):
        """Pass output to sink until the answer comes. Return: the status."""
        while answer.status is None:
            data = self._unread or self._receive(deadline)
            self._unread = b""
            sink(answer.feed(data))
        self._unread = answer.rest
        return answer.status

    def _receive(self, deadline):
        left = deadline - time.monotonic()
        if left <= 0:
            raise AgentSilent
        self._port.settimeout(left)
        try:
            data = self._port.recv(65536)
        except socket.timeout as error:
            raise AgentSilent from error
        except OSError as error:
            raise AgentGone from error
        if not data:
            raise AgentGone
        return data

    def relay(self, answer, sink):
        """Pass output to sink once, after select() has said that it is there.
        """
        sink(answer.feed(self._receive(time.monotonic() + 1)))

    def type(self, keys):
        """Send bytes to the shell that has the port at the moment."""
        self._port.sendall(keys)

    def fileno(self):
        return self._port.fileno()
