# SPDX-License-Identifier: MIT
"""Test of the drover command in build/bin; prints TAP.

O= in the environment is the build folder.
"""

import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile

from drover_tools.tap import Tap
from drover_tools.tests.drover import compare, stat, trace, valgrind, why
from drover_tools.tree import BUILD, TOP

DROVER = os.path.join(BUILD, "bin", "drover")
COND_PERF = os.path.join(BUILD, "bin", "cond-perf")
DROP_IN = os.path.join(BUILD, "lib", "libdrover-pthread.so.1")
with open(sys.executable, "rb") as own:
    MACHINE = own.read(20)[18]
SHOW = 'echo "$LD_PRELOAD $DROVER_POLICY"'
KEYS = """import ctypes
key, libc = ctypes.c_uint(), ctypes.CDLL(None)
print(sum(libc.pthread_key_create(ctypes.byref(key), None) == 0
          for _ in range(2000)))"""


def run(*words, program=DROVER, given=os.devnull, **environment):
    """Run drover. Return: its exit status, standard output and error."""
    clean = {key: value for key, value in os.environ.items()
             if key not in ("LD_PRELOAD", "DROVER_POLICY")}
    with open(given, encoding="utf-8") as file:
        done = subprocess.run([program, *words], capture_output=True,
                              text=True, timeout=60, check=False, stdin=file,
                              env=clean | environment)
    return done.returncode, done.stdout, done.stderr


def test_usage(tap):
    """Wrong usage: status 2, a line on stderr, nothing on stdout."""
    for line in ("", "walk", "run", "run -p", "run -x true", "run -p x true",
                 "run --policy=requeues true", "run -p auto,spin= true",
                 "run -p spin=100001 true", "run -p auto,look=5 true",
                 "info there"):
        status, out, err = run(*line.split())
        tap.ok((status, out, err.count("\n")) == (2, "", 1),
               f"usage: drover {line}", f"status {status}: {out}{err}")
    status, out, err = run("--help")
    tap.ok(status == 0 and not err and "drover info" in out, "drover --help")


def test_run(tap):
    tap.equal(run("run", "sh", "-c", SHOW), (0, f"{DROP_IN} \n", ""),
              "run: the drop-in is preloaded")
    tap.equal(run("run", "--policy=wake-all", "sh", "-c", SHOW),
              (0, f"{DROP_IN} wake-all\n", ""), "run: the policy is set")
    for policy in ("auto", "requeue", "spin=0", "auto,spin=100000",
                   "wake-all,spin=7"):
        tap.equal(run("run", "-p", policy, "true"), (0, "", ""),
                  f"run: {policy} is a policy, to the library as well")
    other = os.path.join(BUILD, "lib", "libdrover.so.1")
    tap.equal(run("run", "sh", "-c", SHOW, LD_PRELOAD=other),
              (0, f"{DROP_IN}:{other} \n", ""),
              "run: what was to be preloaded still is")
    tap.equal(run("run", "sh", "-c", "exit 7"), (7, "", ""),
              "run: the program's exit status")
    tap.equal(run("run", sys.executable, "-c", KEYS),
              run("-c", KEYS, program=sys.executable),
              "run: all pthread keys are the program's")
    status, _, err = run("run", "/nowhere/program")
    tap.ok(status == 127 and "/nowhere/program" in err,
           "run: no such program", err)
    status, _, err = run("run", "/")
    tap.ok(status == 126 and "drover: /:" in err, "run: no program", err)
    status, out, err = run("run", COND_PERF, "-n", "3", "-r", "5", "--json")
    tap.ok(status == 0 and "libdrover-pthread" in out,
           "run: cond-perf measures the drop-in", out + err)


def test_musl(tap):
    """A program of musl is refused, and one with privileges is not."""
    with tempfile.TemporaryDirectory() as folder:
        head = bytearray(64 + 56 + 32)
        head[:6] = b"\x7fELF\x02\x01"
        struct.pack_into("<HHIQQQIHHHHHH", head, 16, 2, MACHINE, 1, 0, 64, 0,
                         0, 64, 56, 1, 0, 0, 0)
        struct.pack_into("<IIQQQQQQ", head, 64, 3, 4, 120, 0, 0, 32, 32, 1)
        head[120:] = b"/lib/ld-musl-x86_64.so.1".ljust(32, b"\0")
        program = os.path.join(folder, "program")
        with open(program, "wb") as file:
            file.write(head)
        os.chmod(program, 0o755)
        status, _, err = run("run", program)
        tap.ok(status == 126 and "uses musl" in err, "run: musl", err)
        status, _, err = run("run", "program", PATH=folder)
        tap.ok(status == 126 and "uses musl" in err, "run: musl in PATH", err)
        if os.getuid() == 0:
            program = shutil.copy(shutil.which("true"), program)
            os.chown(program, 1, 1)
            os.chmod(program, 0o4755)
            status, _, err = run("run", program)
            tap.ok(status == 0 and "gains privileges" in err, "run: setuid",
                   err)
            os.chmod(folder, 0o755)
            os.chmod(program, 0o755)
            try:
                os.setxattr(program, "security.capability",
                            struct.pack("<5I", 0x02000000, 1 << 10, 0, 0, 0))
            except OSError as error:
                tap.skip("run: capabilities", f"{folder}: {error.strerror}")
                return
            with subprocess.Popen([DROVER, "run", program], user=1, text=True,
                                  stderr=subprocess.PIPE) as process:
                _, err = process.communicate()
            tap.ok(process.returncode == 0 and "gains privileges" in err,
                   "run: capabilities", err)


def test_bench(tap):
    """Benchmarks are found by their names."""
    status, out, err = run("bench", "cond-perf", "-n", "3", "-r", "5")
    tap.ok(status == 0 and "5 rounds" in out, "bench: cond-perf", out + err)
    for words in (("bench",), ("bench", "no-such"), ("bench", "/bin/true")):
        status, _, err = run(*words)
        tap.ok(status == 2 and "drover: bench: " in err,
               f"{' '.join(words)}: refused", err)


def test_elsewhere(tap):
    """The command says what is missing or cannot be loaded."""
    with tempfile.TemporaryDirectory() as folder:
        for name, library in (("without", False), ("with space", True)):
            top = os.path.join(folder, name)
            os.makedirs(os.path.join(top, "bin"))
            os.mkdir(os.path.join(top, "lib"))
            drover = shutil.copy(DROVER, os.path.join(top, "bin"))
            if library:
                shutil.copy(DROP_IN, os.path.join(top, "lib"))
            said = "space" if library else "build or install it"
            status, _, err = run("run", "true", program=drover)
            tap.ok(status == 126 and said in err,
                   f"run: drop-in {name}", f"status {status}: {err}")
            status, out, _ = run("info", program=drover)
            tap.ok(status == 1 and ("preloaded" if library else said) in out,
                   f"info: drop-in {name}", f"status {status}: {out}")


def test_info(tap):
    status, out, err = run("info")
    tap.ok((status, err) == (0, "")
           and "takes the place of the C library's functions" in out,
           "info: the drop-in works", out + err)
    libc = platform.libc_ver()[1]
    tap.ok(f"glibc {libc}: " in out, "info: the C library", out)
    kernel = platform.release()
    tap.ok(f"Linux {kernel}\n" in out, "info: the kernel", out)
    tap.ok(f" {len(os.sched_getaffinity(0))} of " in out, "info: CPUs", out)
    calls = [line for line in out.splitlines()
             if line.startswith(("FUTEX_REQUEUE ", "  to a PI lock ",
                                 "  futex_requeue(2) "))]
    tap.ok(len(calls) == 3 and all(
        line.split("  ")[-1].strip().startswith(("yes", "no: "))
        for line in calls), "info: what the kernel has", out)


def test_installed(tap):
    """An installed command finds its parts, and can be removed."""
    def make(target):
        done = subprocess.run(
            ["make", "-s", "-C", TOP, f"O={BUILD}", f"DESTDIR={folder}",
             "PREFIX=/usr/local", "LIBDIR=/usr/local/lib", target],
            check=False, capture_output=True, text=True, timeout=300)
        tap.ok(done.returncode == 0, f"make {target}", done.stderr)

    with tempfile.TemporaryDirectory() as folder:
        make("install")
        drover = os.path.join(folder, "usr/local/bin/drover")
        for words in (("run", "true"), ("compare", "-n", "1", "true"),
                      ("stat", "true"),
                      ("bench", "cond-perf", "-n", "3", "-r", "5")):
            status, out, err = run(*words, program=drover)
            tap.ok(status == 0, f"installed: {words[0]}", out + err)
        make("uninstall")
        left = [os.path.join(place, name) for place, _, names
                in os.walk(folder) for name in names]
        tap.equal(left, [], "make uninstall leaves nothing")


def main():
    tap = Tap()
    for test in (test_usage, test_run, test_musl, test_bench, test_elsewhere,
                 test_info, test_installed):
        test(tap)
    compare.test_all(tap, run, DROVER, COND_PERF)
    stat.test_all(tap, run, DROVER)
    trace.test_all(tap, BUILD, DROVER)
    valgrind.test_all(tap, DROVER)
    why.test_all(tap, BUILD)
    return tap.exit_status()
