# SPDX-License-Identifier: MIT
"""Tests that the checks see failures, with programs and output that fail."""

import os
import re
import signal
import sys
import tempfile

from drover_tools.check import (commands, guests, host, results, shape,
                                static)
from drover_tools.check.results import FAIL, KNOWN, PASS, SKIP, Result
from drover_tools.differential import pair
from drover_tools.runs.process import adopt_orphans, children
from drover_tools.tap import Tap
from drover_tools.tests.release import documents
from drover_tools.vm.errors import GuestError


def outcome(found):
    """The pairs of status and reason that tests compare."""
    return [(result.status, result.why) for result in found]


def outcome_of(function, *arguments):
    """The result of a function, or the class of its exception."""
    try:
        return function(*arguments)
    except BaseException as error:      # pylint: disable=broad-except
        return type(error)


#: Shell scripts as test programs, and the results that each must have.
SCRIPTS = {
    "echo 1..3; echo ok 1 a; echo 'ok 2 b # SKIP no clock'; echo ok 3 c":
        [(PASS, ""), (SKIP, "no clock"), (PASS, "")],
    "echo 1..1; echo 'not ok 1 a # TO" "DO at most 5'": [(KNOWN, "at most 5")],
    "echo '1..0 # SKIP no futex'; exit 4": [(SKIP, "no futex")],
    "echo 1..2; echo ok 1 a":
        [(PASS, ""), (FAIL, "planned 2 results and gave 1")],
    "true": [(FAIL, "printed no TAP plan")],
    "echo 1..1; echo not ok 1 a":
        [(FAIL, ""), (FAIL, "exit status 0 with a failed result")],
    "echo 1..1; echo ok 1 a; exit 1":
        [(PASS, ""), (FAIL, "exit status 1 without a failed result")],
    "echo 1..1; echo 'Bail out! oh'; exit 1": [(FAIL, "gave up: oh")],
    "echo 1..1; echo ok 1 a; kill -SEGV $$":
        [(PASS, ""), (FAIL, "killed by signal 11")],
    "echo 1..1; sleep 1000 & read never </dev/zero":
        [(FAIL, "ran longer than 1 s")],
    "echo 1..1; echo ok 1 a; setsid sleep 1000 >/dev/null 2>&1 &":
        [(PASS, ""), (FAIL, "left processes behind")],
}

KSELFTEST = """TAP version 13
1..4
# selftests: drover-x: good
# TAP version 13
# 1..1
# ok 1 a
ok 1 selftests: drover-x: good
# selftests: drover-x: bad
# 1..1
# not ok 1 b
not ok 2 selftests: drover-x: bad # exit=1
# selftests: drover-x: slow
# 1..1
#
not ok 3 selftests: drover-x: slow # TIMEOUT 45 seconds
# selftests: drover-x: crash
# 1..1
not ok 4 selftests: drover-x: crash # exit=139
# selftests: futex/functional: lies
# not ok 1 c
ok 5 selftests: futex/functional: lies
# selftests: drover-x: cut
# wainot ok 9 selftests: drover-x: cut # exit=254
"""


def test_programs(tap, folder):
    """Each fault of a program is seen, and no process stays behind."""
    for script, wanted in SCRIPTS.items():
        found = outcome(host.run_test(
            "t", ["sh", "-c", script], 1 if "never" in script else 20,
            os.path.join(folder, "output")))
        tap.equal(([(status, re.sub("(behind).*", r"\1", why))
                    for status, why in found], children()), (wanted, {}),
                  f"sh -c {script!r}".replace("#", ""))
    tap.equal(results.parse("t", "1..1\nnot ok 1 a\n# got 1\n", 1),
              [Result("t: a", FAIL, "", ("got 1",))],
              "the comments after a failed result come with it")


def test_side_by_side(tap, _folder):
    """Each thing has one call, and exceptions and deaths arrive."""
    def square(number):
        return number ** 2

    def leave(number):
        if number == 3:
            sys.exit(7)

    def die(_number):
        os.kill(os.getpid(), signal.SIGKILL)

    def all_of(function, things):
        return dict(host.side_by_side(function, things))

    tap.equal(all_of(square, range(20)), {i: i ** 2 for i in range(20)},
              "side by side: each is called once")
    for function, things, wanted in ((leave, [3], SystemExit),
                                     (leave, [1, 2, 3, 4], SystemExit),
                                     (die, [1, 2], RuntimeError)):
        tap.equal(outcome_of(all_of, function, things), wanted,
                  f"side by side: {function.__name__} {things}")


#: The dependencies of each file of two folders: they have a circle of two
#: units, to one of which a header belongs, and an arrow up.
ARROWS = {
    "lib/cond/a.c": {"lib/cond/b.h", "lib/base/c.h"},
    "lib/cond/b.c": {"lib/cond/b.h", "lib/cond/a.c"},
    "lib/cond/b.h": set(),
    "lib/cond/d.c": {"lib/cond/a.c", "lib/cond/b.c"},
    "lib/base/c.h": {"lib/cond/d.c"},
}


def test_shape(tap, folder):
    """Circles, arrows up and long functions are found, and no others."""
    tap.equal(shape.circles({**ARROWS, "lib/cond/a.c": {"lib/cond/b.c"}},
                            "cond"), ["a <-> b"], "shape: a circle")
    tap.equal(shape.circles({**ARROWS, "lib/cond/b.c": set()}, "cond"), [],
              "shape: no circle")
    tap.equal(shape.upward(ARROWS), ["lib/base/c.h -> lib/cond/d.c"],
              "shape: an arrow up")
    path = os.path.join(folder, "a.c")
    with open(path, "w", encoding="utf-8") as file:
        file.write("struct a {\n\tint b;\n};\n\nstatic int\nc(int d)\n{\n"
                   "\t/* } */\n\treturn d;\n}\n#if X\nint e(void)\n{\n}\n")
    tap.equal(list(shape.functions(path)), [("c", 6), ("e", 3)],
              "shape: functions, from their heads on")
    tap.equal([shape.judge("n", found, limit).status for found, limit in
               ((3, 3), (4, 3), (["x"], 0), ([], 0))],
              [PASS, FAIL, FAIL, PASS], "shape: more than the limit fails")


def test_commands(tap, _folder):
    """Missing programs, tests and options are found, but not after --."""
    for line, wrong in {
            "tools/check --only=format # --what": [],
            "tools/vm --cpus=4 -- cond-perf --what": [],
            "tools/check --what=format": [
                "tools/check: has no option --what"],
            "selftests/walk": ["selftests/walk: no such program"],
            "build/selftests/stream/basic seed=1": [],
            "build/selftests/futex/no": ["build/selftests/futex/no: no such"
                                         " test"],
    }.items():
        program, rest = commands.COMMAND.fullmatch("    " + line).groups()
        tap.equal(list(commands.wrong_command(program, rest)), wrong,
                  "in a document: " + line.split(" #")[0])


#: Documents, and the commands in them.
DOCUMENTS = (
    ("a.rst", "Run ``make  x`` or ``x.c``::\n\n    make y   # why\n    a \\\n"
     "      b\n\nOutput::\n\n    No command.\n    make z\n",
     ["make x", "make y", "a b"]),
    ("a.md", "```\n$ make a\nmake what\n```\nText with `make\nb`.\n\n"
     "    make c\n\n- A list\n    make no block\n",
     ["make a", "make b", "make c"]),
    ("Documentation/man/a.1", ".EX\ndrover run \\-p x\n.EE\n\n    make no\n",
     ["drover run -p x"]))


def test_documents(tap, _folder):
    """Commands are found in documents, and the places of their tests."""
    for path, text, wanted in DOCUMENTS:
        tap.equal([command for _, command in documents.read(path, text)],
                  wanted, f"commands in {path}")
    for place in ("make check", "tools/vm", "mutants/kernel", "tests/wheel.py",
                  "host/stream/basic", "stream/basic"):
        tap.ok(commands.is_there(place), f"{place}: a place of a test")
        tap.ok(not commands.is_there(place + "s"), f"{place}s: none")


def test_lists(tap, _folder):
    """Known failures, and promises with and without a test."""
    for result, wanted in ((Result("a", FAIL, "exit status 1"), [KNOWN]),
                           (Result("a", PASS), [FAIL]),
                           (Result("b", PASS), [PASS, FAIL])):
        tap.equal([each.status for each
                   in results.compare([result], {"a": "requeue"})], wanted,
                  f"a is known to fail, and {result.name} {result.status}")
    for text, wrong in (("Tests: mutex/basic */", []),
                        ("Tests: mutex/none", ["f: x: no test mutex/none"]),
                        ("", ["f: x: names no tests"])):
        tap.equal(list(static.untested("f", "x", text)), wrong,
                  f"a promise: {text!r}")


def test_nested(tap, _folder):
    """Each program's own results are found inside kselftest's."""
    tap.equal([(result.name, result.status, result.why) for result
               in guests.kselftest_results(KSELFTEST, "x")],
              [("x/good: a", PASS, ""), ("x/bad: b", FAIL, ""),
               ("x/slow", FAIL, "ran out of time"),
               ("x/crash", FAIL, "killed by signal 11"),
               ("futex/functional:lies", FAIL, "exit status 0, not ok 1 c"),
               ("x/cut", FAIL, "exit status 254")], "kselftest's output")


def test_once_more(tap, _folder):
    """Mainline's programs that failed are run again, and nothing else."""
    job = guests.Job(guests.MAINLINE, "all", again="one ")
    for name, status, hurried in (
            ("futex/functional:futex_requeue", FAIL, True),
            ("futex/functional:futex_requeue", PASS, False),
            ("futex/functional:futex_requeue_race", FAIL, False),
            ("futex/functional", FAIL, False),
            ("futex/requeue_race: ends", FAIL, False)):
        again = guests.may_have_been_hurried(Result(name, status), job)
        tap.equal(bool(again), hurried, f"once more: {name} {status}")
    tap.equal(guests.once_more(job, "x:y").command, "one x:y",
              "once more: that program only")
    first = [Result("a", FAIL, "slow"), Result("b", PASS)]
    for again, wanted in (
            (Result("a", PASS), [(PASS, ""), (PASS, "with -icount")]),
            (Result("guest", FAIL, "died"),
             [(FAIL, "slow"), (PASS, ""), (FAIL, "died")])):
        tap.equal(outcome(guests.replaced(first, [again])), wanted,
                  f"once more: {again.name} {again.status}")


def test_share(tap, folder):
    """All collections run in one guest; those that use requeue run on kernels
    with it and without; and the condvar runs on many CPUs."""
    # The source of the last program is gone.
    for name in ("attack/locks", "cond/fork", "futex/tracepoints",
                 "mutex/basic", "pthread/fork", "stress/cond_mixed",
                 "pool/gone"):
        os.makedirs(os.path.join(folder, "selftests", name))
    kernels = {"futex", "futex/functional", "stress"}
    requeuers = {"cond", "pthread", *kernels}
    for variant, cpus, wanted in (
            ("drover", 1, {"mutex", *requeuers}),
            ("drover", 4, {"cond", *kernels}),
            ("none", 1, requeuers), ("mainline", 1, kernels),
            ("none", 4, {"futex", "stress"}), ("mainline", 4, kernels)):
        machine = guests.Machine(variant, cpus, 0, "", folder)
        found = guests.share(machine, ("none", "mainline", "drover"), (1, 4))
        tap.equal(found, wanted, f"share: {variant}, {cpus} CPUs")


class FakeGuest:
    """A guest that gives the same answer to every command."""

    def __init__(self, status, output):
        self.answer = status, output

    def run(self, _command, timeout):
        """Answer as Guest.run() does, or raise the answer."""
        assert timeout
        if isinstance(self.answer[1], Exception):
            raise self.answer[1]
        return self.answer


#: Guests with different answers for one sequence.
ANSWERS = {"passes": FakeGuest(0, b"0 12\ncalls=5\n"),
           "differs": FakeGuest(0, b"0 13\ncalls=5\n"),
           "fails": FakeGuest(1, b"calls: a thread runs for ever\n"),
           "dies": FakeGuest(0, GuestError("the guest died", "Oops"))}


def test_pair(tap, _folder):
    """The differential test compares the answers of two kernels."""
    wanted = {"passes": {"calls": "5"}, "differs": pair.Different,
              "fails": pair.Different, "dies": GuestError}
    for one in ("passes", "fails", "dies"):
        for other in wanted:
            two = pair.Pair({"mainline": ANSWERS[one],
                             "other": ANSWERS[other]}, 1)
            tap.equal(outcome_of(two.compare, 0, 1),
                      wanted[other] if one == "passes" else pair.Unfounded,
                      f"differential: mainline {one}, the other {other}")


def main():
    """Run all tests. Return: the exit status."""
    adopt_orphans()
    tap = Tap()
    for test in (test_programs, test_side_by_side, test_shape,
                 test_commands, test_documents, test_lists,
                 test_nested, test_once_more, test_share, test_pair):
        with tempfile.TemporaryDirectory() as folder:
            test(tap, folder)
    return tap.exit_status()
