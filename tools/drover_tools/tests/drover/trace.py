# SPDX-License-Identifier: MIT
"""Tests of the library's probes, of scripts that use them, and of gdb's
printers.
"""

import os
import re
import shutil
import subprocess
import tempfile

from drover_tools.tests.drover.sources import FIXTURE, PRINTED
from drover_tools.tree import TOP

DROVER = os.path.join(TOP, "tools", "drover")
PRINTERS = os.path.join(DROVER, "gdb", "drover_gdb.py")
COMPILER = os.environ.get("CC", "gcc")
PROBES = {"wait", "signal", "broadcast", "move", "fallback", "spin"}
LIMIT = 60
#: A script that prints nothing is tried again: the program may not have run.
TRIES = 5


def output(*words, **more):
    """The output of a program, with its errors."""
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, timeout=LIMIT,
                          stdin=subprocess.DEVNULL, check=False, **more)
    return done.stdout


def has_probes():
    """Whether the library is built with probes."""
    return subprocess.run(
        [COMPILER, "-fsyntax-only", "-include", "sys/sdt.h", "-xc",
         os.devnull], capture_output=True, check=False).returncode == 0


def test_probes(tap, libraries):
    """The ELF files have the probes, with two arguments each."""
    if not has_probes() or not shutil.which("readelf"):
        return tap.skip("probes", "there is no <sys/sdt.h> or no readelf")
    for library in libraries:
        notes = output("readelf", "-n", library)
        found = re.findall(r"Provider: drover\n\s+Name: (\w+)\n.*\n"
                           r"\s+Arguments: (\S+) (\S+)$", notes, re.M)
        tap.equal({name for name, _, _ in found}, PROBES,
                  f"probes: {os.path.basename(library)}")
    return None


def can_trace():
    """Whether bpftrace can attach to probes here."""
    return (has_probes() and shutil.which("bpftrace")
            and os.path.exists("/sys/bus/event_source/devices/uprobe")
            and subprocess.run(["bpftrace", "-e", "BEGIN { exit(); }"],
                               capture_output=True, timeout=LIMIT,
                               check=False).returncode == 0)


def traced(pid, script):
    """The output of a script about half a second of a process."""
    with open(os.path.join(DROVER, "trace", script), encoding="utf-8") as file:
        text = file.read() + "interval:ms:500 { exit(); }\n"
    for _ in range(TRIES):
        said = output("bpftrace", "-p", str(pid), "-e", text)
        if "@signals[" in said:
            break
    return said


def test_scripts(tap, drover, folder):
    """Each script prints the calls of a program that signals and waits."""
    if not can_trace():
        return tap.skip("bpftrace", "it cannot attach to probes here")
    path = os.path.join(folder, "fixture")
    subprocess.run([COMPILER, "-O1", "-g", "-pthread", "-o", path,
                    FIXTURE], check=True)
    with subprocess.Popen([drover, "run", path, "drop-in", "stay"], text=True,
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        pid = int(process.stdout.readline())
        said = traced(pid, "condvars.bt")
        tap.ok(all(f"@{name}" in said for name in ("waits[", "signals[")),
               "bpftrace: condvars.bt", said)
        said = traced(pid, "threads.bt")
        tap.ok(re.search(r"@signals\[\d+, fixture, \d+\]: [1-9]", said),
               "bpftrace: threads.bt", said)
        process.stdin.close()
    return None


#: The variables that gdb prints at the first stop, and their texts.
SHOWN = (
    ("lock", r"mutex: locked\b.* by the library's thread \d+"),
    ("twice", r"mutex, recursive: locked by .* \d+, 2 times"),
    ("waited_for",
     r"condvar: open group: 3 waiting, 0 signalled(, no sleepers)?"),
    ("arrived", r"condvar: no thread waits"),
    ("awaited", r"condvar: one thread waits until never"),
    ("shared", r"condvar, shared: 0 waiting, 0 signalled"),
    ("three", r"barrier of 3, arrived: 2"),
    ("pair", r"barrier of 2, arrived: 1"),
    ("*pool", r"pool: 2 workers, \d idle, 0 tasks queued"))


def gdb(program, *commands, **environment):
    """The output of gdb for these commands."""
    words = ["gdb", "-batch", "-nx", "-ex", f"source {PRINTERS}"]
    for name, value in environment.items():
        words += ["-ex", f"set environment {name} {value}"]
    words += ["-ex", "set startup-with-shell off"]
    for command in commands:
        words += ["-ex", command]
    return output(*words, program)


def test_printers(tap, build, folder):
    """gdb prints objects of the native API, and glibc's under the drop-in."""
    if not shutil.which("gdb"):
        return tap.skip("gdb", "there is none")
    library = os.path.join(build, "lib")
    path = os.path.join(folder, "printed")
    subprocess.run([COMPILER, "-O1", "-g", "-pthread",
                    f"-I{TOP}/lib/include", "-o", path,
                    PRINTED, f"-L{library}",
                    "-ldrover", f"-Wl,-rpath,{library}"], check=True)
    said = gdb(path, "break stop_here", "run",
               *(f"print {name}" for name, _ in SHOWN), "continue",
               "print waited_for", "kill")
    if "$1 =" not in said:
        return tap.skip("gdb", f"it cannot run a program: {said[-200:]!r}")
    for at, (name, wanted) in enumerate(SHOWN, 1):
        tap.ok(re.search(rf"^\${at} = {wanted}$", said, re.M),
               f"gdb: print {name}", said)
    tap.ok(re.search(rf"^\${len(SHOWN) + 1} = condvar: closed group:"
                     " 2 waiting, [01] sig", said, re.M),
           "gdb: print a condvar after a signal", said)
    path = os.path.join(folder, "under-drop-in")
    subprocess.run([COMPILER, "-O1", "-g", "-pthread", "-o", path,
                    FIXTURE], check=True)
    said = gdb(path, "set breakpoint pending on",
               "break drop_in_cond_broadcast", "run", "print gate", "kill",
               LD_PRELOAD=os.path.join(library, "libdrover-pthread.so.1"))
    tap.ok("$1 = condvar: open group: 4 waiting, 0 signalled" in said,
           "gdb: print a pthread_cond_t under the drop-in", said)
    return test_attached(tap, library, path)


def test_attached(tap, library, path):
    """gdb prints the condvar of a process that runs with the drop-in."""
    with subprocess.Popen(
            [path, "drop-in", "stay"], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env={
                **os.environ, "LD_PRELOAD": os.path.join(
                    library, "libdrover-pthread.so.1")}) as process:
        pid = process.stdout.readline().strip()
        said = output("gdb", "-batch", "-nx", "-x", PRINTERS, "-p", pid,
                      "-ex", "print gate")
        if "ptrace" in said:
            tap.skip("gdb -p", "it cannot attach to a process here")
        else:
            tap.ok(re.search(r"^\$1 = condvar: ", said, re.M),
                   "gdb -x drover_gdb.py -p PID: print a condvar", said)
        process.stdin.close()


def test_all(tap, build, drover):
    """Run all tests; build: the folder that has lib/."""
    test_probes(tap, [os.path.join(build, "lib", name) for name in (
        "libdrover-pthread.so.1", "libdrover.so.1")])
    with tempfile.TemporaryDirectory() as folder:
        test_scripts(tap, drover, folder)
        test_printers(tap, build, folder)
