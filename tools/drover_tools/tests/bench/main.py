# SPDX-License-Identifier: MIT
"""Test of the benchmark programs in build/bin; prints TAP.

It needs no kernel and no guest.  O= in the environment is the build folder.
"""

import json
import os
import re
import shutil
import subprocess

from drover_tools.tap import Tap
from drover_tools.tests.bench import streams, suites
from drover_tools.tests.bench.running import (DROP_IN, FAULTY, LIMIT, run,
                                              test_json)
from drover_tools.tree import BUILD, TOP

GOOD = {"cond-perf": ["-n", "3", "-r", "5"], "pp": ["-n", "3", "-i", "5"],
        "barrier-perf": ["-n", "3", "-r", "5", "-N", "4"],
        "pool-perf": ["-n", "3", "-r", "5"],
        "stream-perf": ["-n", "3", "-k", "0"]}

USAGE_ERRORS = {
    "cond-perf": ["", "-n 3", "-r 5", "-n 0 -r 5", "-n -3 -r 5",
                  "-n 3 -r 0", "-n +3 -r 5", "-n 3.5 -r 5", "-n 0x3 -r 5",
                  "-n three -r 5", "-n 1000001 -r 5",
                  "-n 18446744073709551617 -r 5", "-n 3 -r"],
    "pp": ["", "-n 3", "-i 5", "-n 0 -i 5", "-n -3 -i 5", "-n 3 -i x",
           "-n 3 -i 18446744073709551617", "-n 3 -i 5 -k"],
    "pool-perf": ["", "3", "0 5", "3 0", "4097 5", "3 5 -l 0", "3 5 -k 0",
                  "3 5 -p -1", "3 5 7"],
    "barrier-perf": ["", "3", "-n 3", "0 5", "3 0", "3 5 7", "3 5 -N 0",
                     "3 5 -H 65", "3 5 -w -1", "three 5"],
    "stream-perf": ["", "0", "3 5", "three", "3 -c 0", "3 -b 3", "3 -k x",
                    "3 -B"],
}
USAGE_ERRORS_OF_ALL = ["-q", "--quux", "extra", "-S", "-S 1", "-S 12k",
                       "-S 1073741825", "-S -1", "--impl=none", "--impl",
                       "--watchdog=x", "--watchdog=-1", "--cost=0", "--cost=x",
                       "--json=1"]


def test_usage(tap, program):
    """Wrong usage: status 2, usage on stderr, nothing on stdout."""
    lines = [line.split() for line in USAGE_ERRORS[program]]
    lines += [GOOD[program] + line.split() for line in USAGE_ERRORS_OF_ALL]
    lines += [GOOD[program] + ["--stack="], GOOD[program] + ["-n", ""]]
    for words in lines:
        status, out, err = run(program, words)
        tap.ok((status, out) == (2, "") and f"usage: {program}" in err,
               f"usage: {program} {' '.join(words)}",
               f"status {status}, stdout {out!r}, stderr {err[:200]!r}")


def test_help(tap, program):
    status, out, err = run(program, ["--help"])
    tap.ok((status, err) == (0, "") and out.startswith(f"usage: {program}")
           and "--watchdog" in out, f"{program} --help", out + err)


def test_text(tap):
    """The first line of output is right."""
    for program, words, start in (
            ("cond-perf", "-n 3 -r 5", "5 rounds of 3 threads in "),
            ("cond-perf", "-n 3 -r 5 -k",
             "5 rounds of 3 threads (mutex kept) in "),
            ("pp", "-v -n 3 -i 5 -S 32768", "3 games in ")):
        status, out, err = run(program, words.split())
        first = out.split("\n", maxsplit=1)[0]
        tap.ok(status == 0 and first.startswith(start)
               and first.endswith(" s"), f"{program} {words}: {start}S s",
               out + err)


def test_counts(tap):
    """The operations and switches are those of the command."""
    for impl in ("pthread", "drover"):
        result = test_json(tap, "cond-perf", impl,
                           ["-n", "7", "-r", "11", "-k"])
        if result:
            tap.equal((result["operations"], result["keep"],
                       result["spurious"]), (77, True, 0),
                      f"cond-perf --impl={impl}: 7 x 11 returns")
            switches = (result["voluntary_switches"]
                        + result["involuntary_switches"])
            tap.ok(abs(result["switches_per_waiter_round"]
                       - switches / 77) < 1e-6,
                   f"cond-perf --impl={impl}: switches for each return",
                   result)
        result = test_json(tap, "pp", impl, ["-n", "7", "-i", "11"])
        if result:
            tap.equal((result["operations"], result["threads"],
                       result["spurious"]), (154, 14, 0),
                      f"pp --impl={impl}: 2 x 7 x 11 hand-offs")


def implementations(program):
    """The implementations that a program has; peers may be missing."""
    _, out, _ = run(program, ["--help"])
    return [line.split()[0] for line in
            out.split("IMPL:\n")[1].split("\n\n")[0].splitlines()]


def test_barriers(tap):
    """Each barrier lets all threads through, and none too early."""
    for impl in implementations("barrier-perf"):
        result = test_json(tap, "barrier-perf", impl,
                           ["2", "3", "-N", "5", "-w", "7", "-H", "1"])
        if result:
            tap.equal((result["operations"], result["threads"],
                       result["rounds"], result["hogs"]), (15, 2, 3, 1),
                      f"barrier-perf --impl={impl}: 3 x 5 nodes")
    for work in "0", "8":
        status, out, err = run("barrier-perf", ["3", "500", "-w", work],
                               preload=FAULTY, FAULT="early")
        tap.ok((status, out) == (3, "") and err,
               f"barrier-perf -w {work} notices a thread that is too early",
               f"status {status}: {out}{err}")
    status, out, err = run("barrier-perf", ["2", "1000000000", "-t", "20",
                                            "--impl=drover"])
    tap.ok(status == 0 and "ns per node\n" in out,
           "barrier-perf -t 20 ends after 20 ms", out + err)


def test_pools(tap):
    """Each pool serves all requests, and the figures agree."""
    for impl in implementations("pool-perf"):
        for words in (["2", "30", "-l", "3", "-p", "100"],
                      ["3", "30", "-k", "5", "-w", "1000"]):
            result = test_json(tap, "pool-perf", impl, words)
            if not result:
                continue
            order = [result[key] for key in (
                "min_us", "p50_us", "p90_us", "p95_us", "p99_us", "max_us")]
            tap.ok(result["operations"] == 30 and order == sorted(order)
                   and min(order) <= result["first_us"] <= max(order)
                   and abs(result["total_us"] / 30 - result["average_us"])
                   < 0.01, f"pool-perf {' '.join(words)} --impl={impl}",
                   result)
    result = test_json(tap, "pool-perf", "drover", ["1", "3"])
    if result:
        tap.equal((result["threads"], result["operations"]), (1, 3),
                  "pool-perf: one thread alone")
    result = test_json(tap, "pool-perf", "drover", ["2", "3", "-C", "900"])
    if result:
        tap.equal(result["work_ps"], 900, "pool-perf --cost")


def test_waiting(tap):
    """The comparison of barriers and pools runs, and judges all goals."""
    short = ["--runs=1", "--ms=1"]
    done, crowd = (subprocess.run(words, capture_output=True, text=True,
                                  timeout=5 * LIMIT, check=False,
                                  env={**os.environ, "DEPS": "none"})
                   for words in (
                       ["make", "-s", "-C", TOP, "waiting", f"O={BUILD}",
                        f"WAITING={' '.join(short)}"],
                       [os.path.join(TOP, "tools", "measure"), "waiting",
                        "--crowd", *short, f"--build={BUILD}"]))
    tap.ok(crowd.returncode == 0 and "pool:" not in crowd.stdout
           and crowd.stdout.count("\nbarrier: ") == 4
           and "of at most 1.00" in crowd.stdout, "measure waiting --crowd",
           crowd.stdout + crowd.stderr)
    verdicts = [line for line in done.stdout.splitlines()
                if line.endswith((" met", " tie", " MISSED !"))]
    tap.ok(done.returncode == 0 and len(verdicts) >= 6
           and "drover" in done.stdout, "make waiting",
           done.stdout + done.stderr)


def test_rounds(tap):
    """There are as many broadcasts as rounds, and one that ends the threads.
    """
    status, _, err = run("cond-perf", ["-n", "3", "-r", "5"],
                         preload=FAULTY, FAULT="count")
    tap.equal((status, err), (0, "broadcasts: 6\n"),
              "cond-perf -r 5 broadcasts five times, and once at the end")


def test_library(tap):
    """The result names the library that was measured."""
    # "glibc 2.31" has another library for threads.
    _, *version = re.split("[ .]", os.confstr("CS_GNU_LIBC_VERSION"))
    libc = "libc.so" if list(map(int, version)) >= [2, 34] else "libpthread"
    for preload, impl, wanted in ((None, "pthread", libc),
                                  (FAULTY, "pthread", "faulty-cond.so"),
                                  (DROP_IN, "pthread", DROP_IN),
                                  (None, "drover", "libdrover.so")):
        name = f"library of --impl={impl}" + (
            f" under {os.path.basename(preload)}" if preload else "")
        if preload and not os.path.exists(preload):
            tap.skip(name, f"{preload} is not built")
            continue
        status, out, err = run(
            "cond-perf", [*GOOD["cond-perf"], "--json", f"--impl={impl}"],
            preload=preload)
        tap.ok(status == 0 and wanted in json.loads(out)["library"], name,
               out + err)


def test_faults(tap):
    """A spurious wakeup is noticed."""
    status, out, err = run("pp", ["-n", "5", "-i", "9"],
                           preload=FAULTY, FAULT="spurious")
    tap.equal(status, 0, "pp survives spurious wakeups")
    status, out, err = run("pp", ["-n", "5", "-i", "99", "--json"],
                           preload=FAULTY, FAULT="spurious")
    tap.ok(status == 0 and json.loads(out)["spurious"] > 0,
           "pp counts spurious wakeups", out + err)
    status, out, err = run("cond-perf", ["-n", "4", "-r", "9999"],
                           preload=FAULTY, FAULT="spurious")
    tap.ok((status, out) == (3, "") and "from nowhere" in err,
           "cond-perf notices a spurious wakeup",
           f"status {status}: {out}{err}")


def test_refused(tap, name, prefix, program, words, limit):
    """A limit is exceeded: one line names it, status 1, and no hang."""
    status, out, err = run(program, words, prefix=prefix)
    tap.ok((status, out) == (1, "") and limit in err
           and err.count("\n") == 1, name, f"status {status}: {out}{err}")


def test_limits(tap):
    space = ["prlimit", "--as=20000000"]
    for impl in ("pthread", "drover"):
        test_refused(tap, f"cond-perf --impl={impl}: no address space left",
                     space, "cond-perf",
                     ["-n", "5000", "-r", "5", f"--impl={impl}"],
                     "RLIMIT_AS is 20000000")
        test_refused(tap, f"pp --impl={impl}: no address space left", space,
                     "pp", ["-n", "5000", "-i", "5", f"--impl={impl}"],
                     "RLIMIT_AS is 20000000")
    test_refused(tap, "pp: no memory for the games", space, "pp",
                 ["-n", "500000", "-i", "5"], "out of memory")
    nobody = ["prlimit", "--nproc=40"]
    if os.geteuid() == 0:       # RLIMIT_NPROC does not bind root
        nobody = ["setpriv", "--reuid=65534", "--clear-groups", *nobody]
    if not shutil.which(nobody[0]) or not readable_by_all():
        tap.skip("cond-perf: no thread left",
                 "needs setpriv and a build folder that others may read")
        return
    test_refused(tap, "cond-perf: no thread left", nobody, "cond-perf",
                 ["-n", "500", "-r", "5"], "RLIMIT_NPROC is 40")


def readable_by_all():
    """Whether another user can reach the programs."""
    path = os.path.join(BUILD, "bin")
    while path != "/":
        if not os.stat(path).st_mode & 1:
            return False
        path = os.path.dirname(path)
    return True


def test_many(tap):
    """Ten thousand threads work, if the machine allows so many."""
    for impl in ("pthread", "drover"):
        name = f"cond-perf --impl={impl} -n 10000"
        status, _, err = run("cond-perf", ["-n", "10000", "-r", "1",
                                           f"--impl={impl}"])
        if status == 1 and "refused" in err:
            tap.skip(name, err.strip())
        else:
            tap.equal((status, err), (0, ""), name)


def main():
    tap = Tap()
    for program in GOOD:
        test_usage(tap, program)
        test_help(tap, program)
    test_text(tap)
    test_counts(tap)
    test_barriers(tap)
    test_pools(tap)
    streams.test_stream(tap)
    test_waiting(tap)
    test_rounds(tap)
    test_library(tap)
    test_faults(tap)
    test_limits(tap)
    test_many(tap)
    for test in suites.TESTS:
        test(tap)
    return tap.exit_status()
