# SPDX-License-Identifier: MIT
"""A MariaDB server of the benchmark's own, which sysbench loads.

The server listens only on a Unix socket in its folder, and sends a message
when it is ready.
"""

import contextlib
import os
import signal
import socket
import subprocess
import time

from drover_tools.runs import process, system

READY = b"READY=1"


def _user():
    """Options that let the server run as root."""
    return ["--user=root"] if os.geteuid() == 0 else []


def _install(folder):
    """The command that makes an empty database."""
    return [system.have("mariadb-install-db"), "--no-defaults",
            "--skip-test-db", "--auth-root-authentication-method=normal",
            f"--datadir={folder}", *_user()]


def _words(folder, *more):
    return ["mariadbd", "--no-defaults", *_user(),
            f"--datadir={folder}/data", f"--socket={folder}/socket",
            "--skip-networking", "--skip-log-bin",
            "--thread-handling=pool-of-threads", "--thread-pool-size=4",
            "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=16M",
            "--innodb-flush-log-at-trx-commit=0",
            f"--pid-file={folder}/pid", *more]


def prepare(folder, limit):
    """Make a database with a table for sysbench."""
    data = os.path.join(folder, "data")
    os.makedirs(data)
    quiet = {"check": True, "timeout": limit, "stdout": subprocess.DEVNULL,
             "stderr": subprocess.STDOUT}
    subprocess.run(_install(data), stdin=subprocess.DEVNULL,
                   **quiet)
    first, *rest = _words(folder, "--bootstrap")
    subprocess.run([system.have(first), *rest],
                   input=b"CREATE DATABASE sbtest;\n", **quiet)
    with Server(folder, system.environment(), os.sched_getaffinity(0),
                limit):
        subprocess.run(
            ["sysbench", "oltp_read_write", "--mysql-user=root",
             f"--mysql-socket={folder}/socket", "--tables=1",
             "--table-size=2000", "prepare"], **quiet)


class Server:
    """A server, which is ready after __init__() and shut down at the end."""

    def __init__(self, folder, environment, cpus, limit):
        self._limit = limit
        notify = os.path.join(folder, "ready")
        with contextlib.suppress(FileNotFoundError):
            os.remove(notify)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(notify)
            ready.settimeout(limit)
            self.pid = process.spawn(
                _words(folder), dict(environment, NOTIFY_SOCKET=notify),
                cpus, os.path.join(folder, "errors"))
            try:
                while READY not in ready.recv(4096):
                    pass
            except TimeoutError:
                process.end(self.pid)
                raise process.Failed("mariadbd was not ready in time: see"
                                     f" {folder}/errors") from None
            except BaseException:
                process.end(self.pid)
                raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_exception):
        if kind:
            process.end(self.pid)
            return
        os.kill(self.pid, signal.SIGTERM)
        process.finish(self.pid, self._limit)

    def used(self):
        """The CPU time so far, and the switches of the present threads."""
        found = {"cpu_seconds": time.clock_gettime(~self.pid << 3 | 2),
                 "voluntary_switches": 0, "involuntary_switches": 0}
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            with contextlib.suppress(OSError), open(
                    f"/proc/{self.pid}/task/{thread}/status",
                    encoding="utf-8") as file:
                lines = dict(line.split(":\t", 1) for line in file
                             if ":\t" in line)
                found["voluntary_switches"] += int(
                    lines["voluntary_ctxt_switches"])
                found["involuntary_switches"] += int(
                    lines["nonvoluntary_ctxt_switches"])
        return found
