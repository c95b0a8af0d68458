# SPDX-License-Identifier: MIT
"""Tests of drover compare: what it says, and that it leaves nothing behind."""

import json
import os
import random
import shutil
import signal
import subprocess
import tempfile

from drover_tools.command import compare, judge

SEED = 20261124
LIMIT = 60
NOBODY = 65534


def runs(seconds, cpu=None):
    """As they are measured."""
    return [{"round": number, "seconds": each,
             "cpu_seconds": cpu[number] if cpu else each,
             "voluntary_switches": 9, "involuntary_switches": 1}
            for number, each in enumerate(seconds)]


def test_verdicts(tap):
    """Of made-up runs."""
    one = [1 + number / 1000 for number in range(9)]
    for wanted, factor in ((judge.FASTER, 0.8), (judge.SLOWER, 1.3),
                           (judge.SAME, 1.001)):
        found = judge.Judgement(runs(one), runs([x * factor for x in one]),
                                0.05)
        tap.ok(found.verdict == wanted and found.settled,
               f"judged: {wanted}", found.sentence())
    tap.equal(judge.Judgement(runs(one), runs([x * 0.8 for x in one]),
                              0.05).sentence(),
              "Drover makes it faster: it takes between 20 and 20 % less time."
              " It uses between 20 and 20 % less CPU time.",
              "judged: faster, in words")
    found = judge.Judgement(runs(one), runs(one, [x * 1.5 for x in one]), 0.05)
    tap.ok("no difference to its time. It uses between 50 and 50 % more CPU"
           in found.sentence(), "judged: dearer", found.sentence())
    wide = [0.8, 1.2] * 4
    found = judge.Judgement(runs([1] * 8), runs(wide), 0.05)
    tap.ok(found.verdict == judge.OPEN and "between 20 % less and 20 % more"
           in found.sentence(), "judged: undecided", found.sentence())
    found = judge.Judgement(runs([1, 1]), runs([2, 2]), 0.05)
    tap.ok("so few pairs" in found.sentence(), "judged: of two pairs")


def test_doubt(tap):
    """Looking several times finds no more that is not there."""
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
    tap.ok(wrong < 0.06 * rounds, "judged: 5 % of what is not there at most",
           f"{wrong} of {rounds}")


def test_usage(tap, run):
    """One line, and status 2."""
    for line in ("", "--", "-n 0 true", "-n x true", "-m 0 true", "-x true",
                 "--json", "--json /nowhere/file true"):
        status, out, err = run("compare", *line.split())
        tap.ok((status, out, err.count("\n")) == (2, "", 1),
               f"usage: drover compare {line}", f"status {status}: {out}{err}")


def programs_that_are_unfit(folder):
    """(words of what is said, exit status, program)"""
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
    """One line says why, and nothing is measured."""
    with tempfile.TemporaryDirectory() as folder:
        for said, wanted, path in programs_that_are_unfit(folder):
            for command in ("compare", "stat"):
                status, out, err = run(command, path)
                tap.ok((status, out, err.count("\n")) == (wanted, "", 1)
                       and said in err, f"{command}: {said}",
                       f"status {status}: {out}{err}")
            status, out, err = run("run", path)
            if said == "gains privileges" or "script" in said:
                continue        # it runs, without the drop-in or by sh
            tap.ok((status, out, err.count("\n"))
                   == (0 if said == "statically" else wanted, "", 1),
                   f"run: {said}", f"status {status}: {out}{err}")


def test_same(tap, run):
    """What does something else with the drop-in is not compared."""
    for said, script in (
            ("fails without Drover, too (exit status 3: alas)",
             "echo alas >&2; exit 3"),
            ("fails without Drover, too (signal 9", "kill -9 $$"),
            ("fails with Drover (exit status 1) and not without",
             '[ -z "$LD_PRELOAD" ]')):
        status, out, err = run("compare", "sh", "-c", script)
        tap.ok((status, out) == (1, "") and said in err, f"compare: {said}",
               f"status {status}: {out}{err}")
    status, out, err = run("compare", "-m", "0.001", "sleep", "987")
    tap.ok((status, out) == (1, "") and "did not end" in err,
           "compare: a program that does not end", f"{status}: {out}{err}")
    status, out, err = run("compare", "-n", "1", "sh", "-c",
                           'echo "$LD_PRELOAD"')
    tap.ok(status == 1 and "prints something else" in out,
           "compare: other output is told", out + err)
    status, out, err = run("compare", "-n", "1", "sh", "-c", "echo $$")
    tap.ok(status == 0 and "so few pairs" in out,
           "compare: output that always differs is no difference", out + err)


def test_result(tap, run, program):
    """A real one, and its JSON."""
    with tempfile.TemporaryDirectory() as folder:
        told = os.path.join(folder, "result.json")
        status, out, err = run("compare", "-n", "3", "--json", told, "--",
                               program, "-n", "20", "-r", "20")
        # What it prints is times, which may be different by chance.
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
                   "compare: who has no threads has nothing to gain", out)


def test_interrupted(tap, drover):
    """Ctrl-C, or whatever ends it, leaves no process."""
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
    """Ctrl-C while the scripts are loaded is said in one line, too."""
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
    """run(): of drover, for its exit status and output."""
    test_verdicts(tap)
    test_doubt(tap)
    test_usage(tap, run)
    test_unfit(tap, run)
    test_same(tap, run)
    test_result(tap, run, program)
    test_interrupted(tap, drover)
    test_interrupted_early(tap, drover)
