# SPDX-License-Identifier: MIT
"""QEMU's machine protocol, as far as it is needed to stop and resume."""

import json

TIMEOUT = 30


class MonitorGone(Exception):
    """QEMU has ended, or does not answer its monitor."""


class Monitor:
    """One connection to a QEMU monitor in control mode."""

    def __init__(self, connection):
        connection.settimeout(TIMEOUT)
        self._connection = connection
        self._lines = connection.makefile("rwb", buffering=0)
        self._next()                            # the greeting
        self.execute("qmp_capabilities")

    def _next(self):
        try:
            line = self._lines.readline()
        except OSError as error:
            raise MonitorGone from error
        if not line:
            raise MonitorGone
        return json.loads(line)

    def execute(self, command):
        """Run a command without arguments and wait until it is done."""
        try:
            self._lines.write(json.dumps({"execute": command}).encode())
        except OSError as error:
            raise MonitorGone from error
        while True:
            message = self._next()
            if "error" in message:
                raise MonitorGone(message["error"].get("desc", command))
            if "return" in message:
                return message["return"]

    def close(self):
        self._lines.close()
        self._connection.close()
