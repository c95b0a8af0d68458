# SPDX-License-Identifier: MIT
"""Tests of `drover why`: each program in why_cases/ is named for what it does.

In the environment, O= is the build folder, and SNAPSHOTS= is the number of
looks at programs that run well; 10000 takes about ten minutes.
"""

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from drover_tools.tests.drover import why_limits, why_words
from drover_tools.tests.drover.why_run import (
    TOOLS, WHY, Running, accused, build, verdict_of, why)
from drover_tools.why import objects, patterns
from drover_tools.why.calls import Wait
from drover_tools.why.findings import LIKELY, Case
from drover_tools.why.graph import Graph
from drover_tools.why.process import Thread

ENDS = "ends"
MODES = ((), ("--scan",), ("--exact",))
LOST_RUNS = 20
LOOKS = 200
LIBC = tuple(int(number) for number in re.findall(
    r"\d+", platform.libc_ver()[1] or "0.0"))[:2]
# Before the fix of bug 25847 a broadcast also waits for members of old groups.
LOSES = LIBC < (2, 41)
BUSY = ("condvar", "time", "semaphores", "own semaphores", "mutexes",
        "rwlock", "barrier", "join")

#: The verdict on each, the exit status, and the verdict with the drop-in if
#: that differs.
CASES = {
    "abba": ("deadlock", 1, None),
    "forgotten_unlock": ("holder-ended", 1, None),
    "blocking_read": ("blocked-holder", 0, None),
    "signal_before_wait": ("nobody-signals", 1, None),
    "no_mutex": ("nobody-signals", 1, None),
    "signal_for_all": ("broadcast-needed", 1, None),
    "destroyed_at_exit": ("destroyed-in-use", 1, ENDS),
    "fork_broadcast": ("waiters-gone" if LOSES else ENDS, 1, ENDS),
    "killed_waiter": ("waiters-gone", 1, ENDS),
    "lost_wakeup": ("lost-wakeup" if LOSES else ENDS, 1, ENDS),
    "pool": ("pool-waits-for-itself", 1, None),
    "barrier_short": ("barrier-short", 1, None),
    "semaphore": ("nobody-posts", 1, None),
    "join_with_lock": ("deadlock", 1, None),
    "robust": ("robust-owner-died", 1, None),
    "pi_chain": ("blocked-holder", 0, None),
    "convoy": ("convoy", 0, None),
    "pi_deadlock": ("deadlock", 1, None),
    "rwlock_upgrade": ("readers-stuck", 1, None),
    "main_ended": ("deadlock", 1, None),
    "nested_monitor": ("nobody-signals", 1, None),
    "idle_pool": ("well", 0, None),
}

#: Programs with Drover's own objects: the findings, and words of the waits.
NATIVE = {
    "native": (["deadlock", "barrier-short", "nobody-signals"],
               ["waits for the condition variable 'news'"]),
    "native_ended": (["holder-ended", "nobody-signals"],
                     ["the condition variable 'news' until has_news() is true",
                      "waits for the next task of its pool"]),
    "native_pi": (["deadlock"],
                  ["waits for a priority-inheritance mutex that it can"
                   " never get"]),
    "native_destroyed": (["destroyed-in-use"],
                         ["is destroying the condition variable 'news'"]),
}

CROSSED = """
import threading
a, b, both = threading.Lock(), threading.Lock(), threading.Barrier(2)
def take(first, second):
    with first:
        both.wait()
        with second:
            pass
threads = [threading.Thread(target=take, args=locks)
           for locks in ((a, b), (b, a))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def check_case(tap, program, drop_in):
    """The verdict on one program is right in each mode."""
    name = os.path.basename(program)
    wanted, status, with_drop_in = CASES[name]
    if drop_in and with_drop_in:
        wanted = with_drop_in
    text = name + ", with the drop-in" * bool(drop_in)
    with Running(program, drop_in=drop_in) as running:
        if wanted == ENDS:
            ended = running.wait()
            if ended == 77:
                tap.skip(f"{text}: ends", "the program is for x86-64")
            else:
                tap.equal(ended, 0, f"{text}: ends")
            return
        pid = running.stuck()
        for mode in MODES:
            found = pid and verdict_of(pid, *mode)
            tap.ok(found and found[:2] == (wanted, status),
                   " ".join((text, *mode)) + f": {wanted}", found)


def test_cases(tap, folder, drop_in):
    """Each stuck program gets its verdict; the healthy one is not accused."""
    for name in CASES:
        program = build(name, folder)
        check_case(tap, program, None)
        if os.path.exists(drop_in):
            check_case(tap, program, drop_in)


def test_lost(tap, folder):
    """The lost wake-up is found each time."""
    if not LOSES or platform.machine() != "x86_64":
        tap.skip("lost_wakeup: each time", "this C library loses none")
        return
    named = 0
    for _ in range(LOST_RUNS):
        with Running(os.path.join(folder, "lost_wakeup")) as running:
            found = verdict_of(running.stuck())
            named += found[0] == "lost-wakeup" and "25847" in found[2]
    tap.equal(named, LOST_RUNS, f"lost_wakeup: {LOST_RUNS} of {LOST_RUNS}")


def test_healthy(tap, name, program, drop_ins):
    """A program whose threads hand on work all the time is not accused."""
    looks = int(os.environ.get("SNAPSHOTS", "280")) // len(BUSY) // 2
    for preload in drop_ins:
        if preload and not os.path.exists(preload):
            continue
        with Running(*program, drop_in=preload) as running:
            tap.equal(accused(running.pid, looks), "", name
                      + ", with the drop-in" * bool(preload)
                      + ": not accused")


def test_reads_only(tap, folder):
    """No thread is stopped or woken."""
    def switches(pid):
        found = {}
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/status",
                      encoding="utf-8") as file:
                found[tid] = re.findall(r"voluntary_ctxt_switches:\t(\d+)",
                                        file.read())
        return found

    with Running(os.path.join(folder, "idle_pool")) as running:
        pid = running.stuck()
        before = switches(pid)
        why(pid)
        tap.equal(switches(pid), before, "no thread of the program notices")
        _, out, _ = why("--exact", pid)
        tap.ok(re.search(r"were stopped for \d+ ms", out),
               "--exact says for how long threads were stopped", out)


def test_output(tap, folder):
    """Text, Graphviz and two looks are right."""
    with Running(os.path.join(folder, "abba")) as running:
        pid = running.stuck()
        _, out, _ = why(pid)
        lines = out.splitlines()
        tap.equal(lines[0], "Deadlock: 2 threads wait for each other, and"
                  " neither can ever go on.", "the verdict comes first")
        tap.ok(re.search(r"\"transfer\" waits for the mutex 'journal', which"
                         r' \d+ "audit" holds', out),
               "then who waits for whom", out)
        _, out, _ = why("-d", "0.1", pid)
        tap.ok("0 of 3 threads moved" in out, "-d: what is stuck", out)
        _, out, _ = why("--dot", pid)
        tap.ok(out.startswith("digraph") and "color=red" in out
               and out.count("->") == 5, "--dot", out)
        if not shutil.which("dot"):
            tap.skip("--dot PID | dot -Tsvg", "there is no dot")
        else:
            done = subprocess.run(["dot", "-Tsvg"], input=out, text=True,
                                  capture_output=True, check=False)
            tap.ok(done.returncode == 0 and "</svg>" in done.stdout,
                   "--dot PID | dot -Tsvg", done.stderr)
        status, out, err = why(pid, "1")
        tap.ok(status == 2 and err.count("\n") == 1, "usage", out + err)
    with Running(os.path.join(folder, "convoy")) as running:
        _, out, _ = why("-d", "0.1", running.stuck())
        tap.ok("; did not move" in out and "; moved" in out,
               "-d: what moves", out)
    with Running(os.path.join(folder, "convoy")) as running:
        _, out, _ = why("--exact", running.stuck())
        tap.ok("write_log()" in out.split('"first" runs\n')[-1].split("\n")[0],
               "--exact: where the holder is", out)
    with Running(os.path.join(folder, "pi_chain")) as running:
        _, out, _ = why(running.stuck())
        tap.ok("3 threads wait," in out and "more thread" not in out,
               "all threads of a chain are shown, and no more are counted",
               out)


def test_severity(tap):
    """A wait that a signal handler could end is said to be such a one."""
    found = objects.Object("barrier", 64)
    found.symbol, found.numbers = ("step", 0), {"arrived": 1, "count": 2}
    thread = Thread(1)
    thread.wait = Wait("waits at the barrier 'step'")
    found.waiters, thread.wait.object = [thread], found
    case = Case(Graph([thread], None), [found], (), (thread,), None, None,
                None, None)
    said = next(patterns.short_barriers(case))
    tap.equal((said.severity, said.sentence), (
        LIKELY, "Stuck unless a signal handler ends the wait: the barrier"
        " 'step' needs 2 threads, of which 1 has arrived, and no more can"
        " arrive: there is no other thread."), "a handler might help: barrier")


def test_native(tap, folder, libraries):
    """The findings about Drover's own objects are right."""
    if not os.path.exists(os.path.join(libraries, "libdrover.so")):
        tap.skip("native", "there is no libdrover.so")
        return
    flags = ("-I", os.path.join(TOOLS, "..", "lib", "include"), "-L",
             libraries, "-ldrover", f"-Wl,-rpath,{libraries}")
    for name, wanted in NATIVE.items():
        with Running(build(name, folder, *flags)) as running:
            pid = running.stuck()
            for mode in MODES:
                status, out, _ = why("--json", *mode, pid)
                said = json.loads(out or "{}")
                findings = [one["name"] for one in said.get("findings", ())]
                waits = " ".join(one["waits"]
                                 for one in said.get("threads", ()))
                tap.ok((status, findings) == (1, wanted[0])
                       and all(words in waits for words in wanted[1]),
                       " ".join((name,) + mode), out)
            if len(wanted[0]) > 1:
                tap.ok(why(pid)[1].startswith(f"{len(wanted[0])} faults were"
                                              " found.\n"),
                       f"{name}: the faults are counted")
            core = os.path.join(folder, "core")
            if write_core(pid, core):
                _, out, _ = why("--json", "--core", core)
                said = [one["name"] for one in
                        json.loads(out or "{}").get("findings", ())]
                tap.equal(said, wanted[0], f"--core {name}")
    test_healthy(tap, "native_busy",
                 [build("native_busy", folder, *flags)], (None,))


def test_many(tap, folder):
    """A thousand equal threads are one line."""
    with Running(build("thousand", folder)) as running:
        status, out, _ = why(running.stuck())
        tap.ok(status == 0 and "and 999 more like it" in out
               and out.count("\n") < 12, "1000 threads are folded", out)


def test_builds(tap, folder):
    """Programs without symbols or shared libraries get their verdict."""
    for flags in (("-s",), ("-static",), ("-static", "-s")):
        name = "abba, built with " + " ".join(flags)
        try:
            program = build("abba", folder, *flags)
        except subprocess.CalledProcessError:
            tap.skip(name, "cannot be built here")
            continue
        with Running(program) as running:
            found = verdict_of(running.stuck())
            tap.equal(found[:2], ("deadlock", 1), name)
    build("abba", folder)


def write_core(pid, path):
    """Write a core file. Return: false if there is no gdb for that."""
    if not shutil.which("gdb"):
        return False
    subprocess.run(["gdb", "-q", "-batch", "-p", str(pid), "-ex",
                    f"generate-core-file {path}"], check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return True


def test_core(tap, folder):
    if not shutil.which("gdb"):
        tap.skip("--core", "there is no gdb to write a core file")
        return
    core = os.path.join(folder, "core")
    for name in ("abba", "lost_wakeup", "signal_for_all", "robust"):
        if CASES[name][0] == ENDS:
            continue
        with Running(os.path.join(folder, name)) as running:
            write_core(running.stuck(), core)
        for mode in ((), ("--scan",)):
            status, out, err = why("--json", *mode, "--core", core)
            said = json.loads(out)["verdict"] if out else err
            tap.equal((said, status), CASES[name][:2],
                      " ".join(("--core", name) + mode))
    status, _, err = why("--core", os.path.join(folder, "abba"))
    tap.ok(status == 3 and "not a core file" in err, "--core: of a program",
           err)


def test_program(tap, folder):
    """`drover why -- PROGRAM` starts a program and looks at it."""
    status, out, _ = why("-t", "1", "--", os.path.join(folder, "abba"))
    tap.ok(status == 1 and "Deadlock" in out, "-- PROGRAM", out)
    status, _, err = why("--", "true")
    tap.ok(status == 0 and "ended by itself" in err, "-- PROGRAM that ends",
           err)
    status, _, err = why("--", "/nowhere/program")
    tap.ok(status == 127, "-- PROGRAM that is not there", err)
    with subprocess.Popen([*WHY, "--", os.path.join(folder, "abba")],
                          cwd=TOOLS, stdout=subprocess.PIPE,
                          text=True) as child:
        child.stdout.readline()         # the program is stuck now
        child.send_signal(signal.SIGINT)
        out = child.stdout.read()
        tap.ok(child.wait() == 1 and "Deadlock" in out, "-- PROGRAM, Ctrl-C",
               out)


def test_python(tap, folder):
    """Two locks of Python that are taken in opposite order are found."""
    path = os.path.join(folder, "crossed.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(CROSSED)
    with subprocess.Popen([sys.executable, path]) as child:
        for _ in range(LOOKS):          # until all three threads wait
            found = json.loads(why("--json", child.pid)[1] or "{}")
            if sum("semaphore" in thread["waits"]
                   for thread in found.get("threads", ())) == 3:
                break
        tap.equal(found["verdict"], "nobody-posts", "python3: two locks")
        child.kill()


def test_container(tap, folder):
    """Both thread ids are printed, those inside and outside a container."""
    command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
               os.path.join(folder, "abba")]
    if os.geteuid() or not shutil.which("unshare") or subprocess.run(
            command[:-1] + ["true"], check=False,
            stderr=subprocess.DEVNULL).returncode:
        tap.skip("a container's process", "there is no unshare, or no right")
        return
    with Running(*command) as running:
        running.stuck()
        with open(f"/proc/{running.pid}/task/{running.pid}/children",
                  encoding="utf-8") as file:
            pid = int(file.read().split()[0])
        status, out, _ = why(pid)
        tap.ok(status == 1 and " in its container)" in out
               and "Deadlock" in out, "a container's process", out)


def test_all(tap, build_folder):
    """Run all tests, with the drop-in of the build folder."""
    drop_in = os.path.join(build_folder, "lib", "libdrover-pthread.so.1")
    if not shutil.which(os.environ.get("CC", "cc")):
        tap.skip("why", "there is no compiler")
        return
    with tempfile.TemporaryDirectory() as folder:
        test_cases(tap, folder, drop_in)
        test_lost(tap, folder)
        why_words.test_all(tap, folder)
        busy = build("busy", folder)
        for kind in BUSY:
            test_healthy(tap, f"busy {kind}", [busy, kind], (None, drop_in))
        test_native(tap, folder, os.path.dirname(drop_in))
        for test in (test_reads_only, test_output, test_many, test_builds,
                     test_core, test_program, test_python, test_container):
            test(tap, folder)
    test_severity(tap)
    why_limits.test_all(tap)
