# SPDX-License-Identifier: MIT
"""Test of `drover why` on large programs of other projects; prints TAP.

A program that is not installed is skipped. LOOKS= is the number of looks at
each program.
"""

import contextlib
import glob
import json
import os
import re
import subprocess
import tempfile

from drover_tools.programs import mariadb
from drover_tools.runs import process, system
from drover_tools.tap import Tap
from drover_tools.tests.drover.why_run import SOURCES, accused, why

LOOKS = os.environ.get("LOOKS", "50")
LIMIT, ROUNDS = 120, 5
#: A load that runs until the test ends it.
SYSBENCH = ("sysbench", "oltp_read_write", "--mysql-user=root", "--tables=1",
            "--table-size=2000", "--threads=8", "--time=0", "--events=0",
            "run", "--mysql-socket={folder}/socket")
BROWSERS = {
    "chromium": ("--headless", "--no-sandbox", "--disable-gpu",
                 "--user-data-dir={folder}", "--remote-debugging-port=0"),
    "firefox-esr": ("--headless", "--no-remote", "--profile", "{folder}",
                    "--remote-debugging-port=0"),
}
#: A page that draws and computes for ever.
PAGE = "data:text/html,<p><script>setInterval(() => { for (let i = 0; i < 1e5;\
 i++) ; document.body.append(i) }, 5)</script>"

CROSSED = ("forwards", "backwards")
DEADLOCK = os.path.join(SOURCES, "Deadlock.java")


@contextlib.contextmanager
def running(words, **more):
    """A context with a program, which is ended with all that it started."""
    child = subprocess.Popen(words, text=True, start_new_session=True, **more)
    try:
        yield child
    finally:
        process.end(child.pid)
        child.wait()


def read_until(stream, wanted):
    """Read lines up to one that matches. Return: false if none does."""
    return any(re.search(wanted, line) for line in stream)


def test_java(tap):
    """For a deadlock of synchronized blocks, futexes and jstack are named."""
    java = system.have("java")
    if not java or not system.have("javac"):
        tap.skip("java", "there is no JDK")
        return
    with running([java, DEADLOCK], stdout=subprocess.PIPE) as child:
        tap.ok(read_until(child.stdout, "stuck"), "java: is stuck")
        for mode in ((), ("--scan",), ("--exact",)):
            status, out, err = why("--json", *mode, child.pid)
            waits = [one["waits"] for one in json.loads(out or "{}").get(
                "threads", ()) if one["object"] and one["name"] in CROSSED]
            tap.ok(status == 0 and len(waits) == 2,
                   " ".join(("java:", *mode, "the futexes are named")),
                   out + err)
        _, out, err = why(child.pid)
        tap.ok(f"`jstack {child.pid}` shows Java's own locks. 2 of the threads"
               " wait to enter" in " ".join(out.split()),
               "java: waiting threads are counted, and jstack is named",
               out + err)


def test_mariadb(tap, folder):
    """A server that works, and its client, are not accused."""
    lacking = system.missing(("sysbench", "mariadbd", "mariadb-install-db"),
                             (), ("sysbench", "mariadb-server-core",
                                  "mariadb-client-core"))
    if lacking:
        tap.skip("mariadb", lacking)
        return
    folder = os.path.join(folder, "mariadb")
    mariadb.prepare(folder, LIMIT)
    with mariadb.Server(folder, system.environment(),
                        os.sched_getaffinity(0), LIMIT) as server, \
            running([word.format(folder=folder) for word in SYSBENCH],
                    stdout=subprocess.PIPE) as child:
        read_until(child.stdout, "started")
        tap.equal(accused(server.pid, LOOKS), "", "mariadb: not accused")
        tap.equal(accused(child.pid, LOOKS), "", "sysbench: not accused")


def descendants(pid):
    """A process, and all its descendants."""
    found = [pid]
    for parent in found:
        for path in glob.glob(f"/proc/{parent}/task/*/children"):
            with contextlib.suppress(OSError), open(
                    path, encoding="utf-8") as file:
                found += map(int, file.read().split())
    return found


def test_browser(tap, name, folder):
    """No process of a browser that shows a page is accused."""
    path = system.have(name)
    if not path:
        tap.skip(name, f"there is no {name}")
        return
    folder = os.path.join(folder, name)
    os.mkdir(folder)
    words = [path, *(word.format(folder=folder) for word in BROWSERS[name])]
    with running([*words, PAGE], stdout=subprocess.DEVNULL,
                 stderr=subprocess.PIPE,
                 env=system.environment(HOME=folder)) as child:
        tap.ok(read_until(child.stderr, "listening"), f"{name}: runs")
        pids, said = set(), ""
        for _ in range(ROUNDS):         # new processes begin meanwhile
            for pid in descendants(child.pid):
                pids.add(pid)
                found = accused(pid, int(LOOKS) // ROUNDS)
                said += found * os.path.exists(f"/proc/{pid}")
        tap.equal(said, "", f"{name}: none of {len(pids)} processes accused")


def main():
    """The exit status."""
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        test_java(tap)
        test_mariadb(tap, folder)
        for name in BROWSERS:
            test_browser(tap, name, folder)
    return tap.exit_status()
