# SPDX-License-Identifier: MIT
"""Tests of drover compare: its output, and that it leaves no process behind.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile

from drover_tools.command import compare, judge, reasons
from drover_tools.tests.drover.sources import LATE

SEED = 20261124
LIMIT = 60
NOBODY = 65534


def runs(seconds, cpu=None):
    """Runs as the measurement makes them."""
    return [{"round": number, "seconds": each,
             "cpu_seconds": cpu[number] if cpu else each,
             "voluntary_switches": 9, "involuntary_switches": 1}
            for number, each in enumerate(seconds)]


def test_verdicts(tap):
    """The verdicts on made-up runs are right."""
    one = [1 + number / 1000 for number in range(9)]
    for wanted, factor in ((judge.FASTER, 0.8), (judge.SLOWER, 1.3),
                           (judge.SAME, 1.001)):
        found = judge.Judgement(runs(one), runs([x * factor for x in one]),
                                0.05)
        tap.ok(found.verdict == wanted and found.settled,
               f"judged: {wanted}", found.sentence())
    tap.equal(judge.Judgement(runs(one), runs([x * 0.8 for x in one]),
                              0.05).sentence(),
              "Drover makes the program faster: it takes between 20 and 20 %"
              " less time. It uses between 20 and 20 % less CPU time.",
              "judged: faster, in words")
    found = judge.Judgement(runs(one), runs(one, [x * 1.5 for x in one]), 0.05)
    tap.ok("no difference to the program's time. It uses between 50 and 50 %"
           " more CPU" in found.sentence(), "judged: dearer",
           found.sentence())
    wide = [0.8, 1.2] * 4
    found = judge.Judgement(runs([1] * 8), runs(wide), 0.05)
    tap.ok(found.verdict == judge.OPEN and "between 20 % less and 20 % more"
           in found.sentence(), "judged: undecided", found.sentence())
    found = judge.Judgement(runs([1, 1]), runs([2, 2]), 0.05)
    tap.ok("too few pairs" in found.sentence(), "judged: two pairs are few")


def sentences(seconds, cpu, switches, calls, sleeps=None):
    """The reasons if Drover's figures are so many times the stock ones."""
    stock = runs([1] * 9)
    ours = [{**run, "seconds": seconds, "cpu_seconds": cpu,
             "voluntary_switches": round(9000 * (sleeps or switches)),
             "involuntary_switches": round(10000 * switches)
             - round(9000 * (sleeps or switches))} for run in stock]
    stock = [{**run, "voluntary_switches": 9000, "involuntary_switches": 1000}
             for run in stock]
    found = judge.Judgement(stock, ours, 0.05)
    return list(reasons.reasons(
        found.stock, found.ours, found.compared,
        {compare.STOCK: 1000, compare.DROP_IN: round(1000 * calls)}, "strace"))


def test_reasons(tap):
    """A figure that contradicts another one gets its reason."""
    for wanted, figures in (
            ((), (0.8, 0.8, 0.8, 0.8)), ((), (1, 1, 1, 2.58)),
            (("there are fewer switches. The calls were counted in one more"
              " run",), (0.8, 0.8, 0.5, 2.58)),
            (("costs little if no thread sleeps",), (0.8, 0.8, 1, 2.58)),
            (("threads poll instead of sleeping",), (1.3, 1.3, 1, 0.5)),
            (("runs later",), (1.3, 1, 1, 0.5)),
            (("several threads run or poll at once",), (0.8, 1.3, 1, 1)),
            (("one after the other that ran at once",), (1.3, 0.8, 1, 1)),
            (("fewer of them are sleeps",), (0.8, 0.8, 1.3, 1, 0.2)),
            (("which thread runs next",), (0.8, 0.8, 1.3, 1, 1.3))):
        said = sentences(*figures)
        tap.ok(len(said) == len(wanted) and all(map(
            str.__contains__, said, wanted)), f"judged: {figures}", said)


def test_figures(tap):
    """A ratio comes first, then quartiles; near a limit there is no word."""
    seconds = [1, 2, 3, 4, 100]

    class Run:                      # pylint: disable=too-few-public-methods
        """A stand-in for compare.Comparison."""
        line, cpus, differs, counter = "program", {0, 1}, False, "perf"
        host, futex, wake_up = {"load": 0}, {"stock": 40, "drop-in": 10}, {
            "same": 1000, "between": 10300}

    def said():
        return judge.report(Run, judge.Judgement(runs(seconds), runs(seconds),
                                                 0.05))

    lines = {line.split("  ")[0]: " ".join(line.split()) for line
             in said().splitlines()}
    tap.equal(lines["time"], "time 1.00 (1.00 to 1.00) 3.00 s (2.00-4.00)"
              " 3.00 s (2.00-4.00)", "report: ratio, then quartiles")
    tap.equal(lines["futex calls"], "futex calls 0.25 40 10",
              "report: futex calls, ratio first")
    tap.ok("±" not in said() and max(map(len, said().splitlines())) < 80,
           "report: no half span, no wide line", said())
    for number, wanted in ((10300, "10.3 us on another CPU.\n"),
                           (9720, "9.72 us on another CPU.\n"),
                           (30000, "which is dear"), (3000, "which is cheap")):
        Run.wake_up = {"same": 1000, "between": number}
        tap.ok(wanted in " ".join(said().split()) + "\n",
               f"report: a wake-up of {number} ns", said())


def test_doubt(tap):
    """Several tests of one comparison find no more false differences."""
    print(f"# seed {SEED}")
    numbers, wrong, rounds = random.Random(SEED), 0, 600
    for _ in range(rounds):
        stock, ours = ([numbers.lognormvariate(0, 0.1) for _ in range(32)]
                       for _ in range(2))
        wanted = compare.looks(32)
        for look in wanted:
            found = judge.Judgement(runs(stock[:look]), runs(ours[:look]),
                                    0.05 / len(wanted))
            if found.settled:
                wrong += found.verdict != judge.SAME
                break
    tap.ok(wrong < 0.06 * rounds, "judged: at most 5 % false differences",
           f"{wrong} of {rounds}")


def test_help(tap, run):
    """Each option is explained."""
    for command, options in (("compare", ("--runs", "--minutes", "--json")),
                             ("stat", ("--stock", "--json")),
                             ("top", ("--delay", "--times"))):
        status, out, _ = run(command, "--help")
        text = re.sub(r"\s+", " ", out)
        tap.ok(status == 0 and "--drop-in" not in text and all(
            re.search(rf" {option}( [A-Z]+)? [a-z]", text)
            for option in options), f"{command} --help", out)


def test_usage(tap, run):
    """Wrong usage: one line, and status 2."""
    for line in ("", "--", "-n 0 true", "-n x true", "-m 0 true", "-x true",
                 "--json", "--json /nowhere/file true"):
        status, out, err = run("compare", *line.split())
        tap.ok((status, out, err.count("\n")) == (2, "", 1),
               f"usage: drover compare {line}", f"status {status}: {out}{err}")


def programs_that_are_unfit(folder):
    """(words of the message, exit status, program)"""
    source = os.path.join(folder, "main.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("int main(void) { return 0; }\n")
    for kind, said, option in (
            ("static", "statically", "-static"),
            ("musl", "uses musl",
             "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")):
        path = os.path.join(folder, kind)
        if subprocess.run(["gcc", option, "-o", path, source], check=False,
                          capture_output=True).returncode == 0:
            yield said, 126, path
    true = shutil.which("true")
    other = shutil.copy(true, os.path.join(folder, "arm64"))
    with open(other, "r+b") as file:
        file.seek(18)
        file.write(b"\xb7\0")
    yield "for arm64", 126, other
    if os.getuid() == 0:
        path = shutil.copy(true, os.path.join(folder, "setuid"))
        os.chown(path, NOBODY, NOBODY)
        os.chmod(path, 0o4755)
        yield "gains privileges", 126, path
    path = os.path.join(folder, "text")
    with open(path, "w", encoding="utf-8") as file:
        file.write("no program\n")
    yield "may not be run", 126, path
    path = shutil.copy(path, os.path.join(folder, "data"))
    os.chmod(path, 0o755)
    yield "neither a program nor a script", 126, path
    yield "is a folder", 126, folder + "/"
    yield "no such program", 127, "/nowhere/program"


def test_unfit(tap, run):
    """One line says why a program cannot be measured."""
    with tempfile.TemporaryDirectory() as folder:
        for said, wanted, path in programs_that_are_unfit(folder):
            for command in ("compare", "stat"):
                status, out, err = run(command, path)
                tap.ok((status, out, err.count("\n")) == (wanted, "", 1)
                       and said in err, f"{command}: {said}",
                       f"status {status}: {out}{err}")
            status, out, err = run("run", path)
            if said == "gains privileges" or "script" in said:
                continue        # it runs without the drop-in, or by sh
            tap.ok((status, out, err.count("\n"))
                   == (0 if said == "statically" else wanted, "", 1),
                   f"run: {said}", f"status {status}: {out}{err}")


#: Beginnings of scripts that go on only with the drop-in, or only without.
WITH, WITHOUT = '[ -z "$LD_PRELOAD" ] || ', '[ -n "$LD_PRELOAD" ] || '


def test_ends(tap, run):
    """Both runs are made, and the message says how each ended."""
    for said, script in (
            ("sh failed (exit status 3: alas) without Drover and with it:"
             " there is nothing to compare", "echo alas >&2; exit 3"),
            ("sh failed (signal 9: no message) without Drover and with it:"
             " there is nothing to compare", "kill -9 $$"),
            ("sh failed (exit status 3: no message) without Drover, and ended"
             " well in ", WITHOUT + "exit 3"),
            (" s with it: that is the difference", WITHOUT + "exit 3"),
            (" without Drover, and failed (exit status 3: no message) with it:"
             " please report it", WITH + "exit 3")):
        status, out, err = run("compare", "sh", "-c", script)
        tap.ok((status, out) == (1, "") and said in err, f"compare: {said}",
               f"status {status}: {out}{err}")
    for said, script in (
            ("did not end in 0.02 minutes without Drover and with it: give the"
             " program more time (-m)", "sleep 987"),
            ("did not end in 0.02 minutes without Drover, and ended well in ",
             WITHOUT + "sleep 987"),
            (" s with it: that is the difference", WITHOUT + "sleep 987"),
            (" without Drover, and did not end in 0.02 minutes with it: please"
             " report it", WITH + "sleep 987")):
        status, out, err = run("compare", "-m", "0.02", "sh", "-c", script)
        tap.ok((status, out) == (1, "") and said in err, f"compare: {said}",
               f"status {status}: {out}{err}")


def test_ends_otherwise(tap, run):
    """An end that changes from run to run is no difference."""
    with tempfile.TemporaryDirectory() as folder:
        for said, number in (("fails now and then: in 0 of 2 runs without"
                              " Drover and in 1 of 2 runs with it", 2),
                             ("failed (exit status 1) with it in one run,"
                              " after 1 without Drover and 1 with it that"
                              " ended well", 3)):
            count = os.path.join(folder, str(number))
            status, out, err = run(
                "compare", "sh", "-c", f"echo >>{count}; [ $(wc -l <{count})"
                f" != {number} ]")
            tap.ok((status, out) == (1, "") and said in err,
                   f"compare: {said}", f"status {status}: {out}{err}")


def test_asan(tap, run):
    """AddressSanitizer's runtime is loaded first, or a message demands it."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "late")
        if subprocess.run(["gcc", "-fsanitize=address", "-o", program, LATE],
                          check=False, capture_output=True).returncode:
            tap.skip("programs with AddressSanitizer", "gcc has none")
            return
        status, out, err = run("compare", "-n", "1", program)
        tap.ok(status == 0 and "1 pair of runs" in out,
               "compare: a program with AddressSanitizer", out + err)
        status, out, err = run("compare", "-n", "1", "sh", "-c", program)
        tap.ok((status, out) == (1, "") and "runtime has to be loaded first"
               in err and "report" not in err,
               "compare: a child with AddressSanitizer", out + err)
        status, out, err = run("stat", program)
        tap.ok(status == 0 and "1 condition variable" in err,
               "stat: a program with AddressSanitizer", out + err)
        status, out, err = run("stat", "sh", "-c", program)
        tap.ok(status == 1 and "uses no" not in err
               and "until it failed (1)" in err,
               "stat: a child with AddressSanitizer", out + err)


def test_same(tap, run):
    """A program that prints something else with the drop-in is reported."""
    status, out, err = run("compare", "-n", "1", "sh", "-c",
                           'echo "$LD_PRELOAD"')
    tap.ok(status == 1 and "prints something else" in out,
           "compare: other output is reported", out + err)
    status, out, err = run("compare", "-n", "1", "sh", "-c", "echo $$")
    tap.ok(status == 0 and "too few pairs" in out,
           "compare: output that always differs is no difference", out + err)


def test_result(tap, run, program):
    """A real comparison works, and its JSON is right."""
    with tempfile.TemporaryDirectory() as folder:
        told = os.path.join(folder, "result.json")
        status, out, err = run("compare", "-n", "3", "--json", told, "--",
                               program, "-n", "20", "-r", "20")
        # The program prints times, which may differ by chance.
        tap.ok(status in (0, 1) and "3 pairs of runs" in out
               and "context switches" in out and " left " in err,
               "compare: cond-perf", f"status {status}: {out}{err}")
        with open(told, encoding="utf-8") as file:
            result = json.load(file)
        tap.equal((result["schema"], result["command"][1:],
                   [len(result["runs"][name]) for name in
                    (compare.STOCK, compare.DROP_IN)]),
                  (1, ["-n", "20", "-r", "20"], [3, 3]),
                  "compare: as JSON")
        tap.ok(result["sentence"] in " ".join(out.split()),
               "compare: says what the JSON says", out)
        given = os.path.join(folder, "given")
        with open(given, "w", encoding="utf-8") as file:
            file.write("some text\n")
        status, out, err = run("compare", "-n", "1", "grep", "text",
                               given=given)
        tap.ok(status == 0, "compare: each run reads the input anew",
               out + err)
        if shutil.which("perf") or shutil.which("strace"):
            tap.ok("hardly a futex call" in out or "futex calls" not in out,
                   "compare: a program without threads gains nothing", out)


def test_interrupted(tap, drover):
    """After SIGINT or SIGTERM no process is left."""
    for number in (signal.SIGINT, signal.SIGTERM):
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "pipe")
            os.mkfifo(pipe)
            script = f"setsid sleep 987 & echo $! >{pipe}; wait"
            with subprocess.Popen([drover, "compare", "sh", "-c", script],
                                  text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                with open(pipe, encoding="utf-8") as file:
                    left = int(file.read())
                process.send_signal(number)
                out, err = process.communicate(timeout=LIMIT)
        tap.ok(process.returncode == 130 and not out and "interrupted" in err,
               f"compare: {number.name} ends it", f"{out}{err}")
        tap.ok(not os.path.exists(f"/proc/{left}"),
               f"compare: {number.name} leaves no process")


def test_interrupted_early(tap, drover):
    """Ctrl-C while the scripts are loaded prints one line, too."""
    for command in ("compare", "stat"):
        with subprocess.Popen([drover, command, "sleep", "987"], text=True,
                              stderr=subprocess.PIPE) as process:
            while os.readlink(f"/proc/{process.pid}/exe") == drover:
                pass
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=LIMIT)
        tap.equal((process.returncode, err),
                  (130, f"drover: {command}: interrupted\n"),
                  f"{command}: SIGINT at once ends it")


def test_all(tap, run, drover, program):
    """Run all tests; run(): runs drover for its exit status and output."""
    test_verdicts(tap)
    test_reasons(tap)
    test_figures(tap)
    test_doubt(tap)
    test_help(tap, run)
    test_usage(tap, run)
    test_unfit(tap, run)
    test_ends(tap, run)
    test_ends_otherwise(tap, run)
    test_asan(tap, run)
    test_same(tap, run)
    test_result(tap, run, program)
    test_interrupted(tap, drover)
    test_interrupted_early(tap, drover)
