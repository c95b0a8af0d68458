# SPDX-License-Identifier: MIT
"""Results of tests: read from TAP, compared with lists, written as TAP."""

import dataclasses
import os
import re

from drover_tools.check import source
from drover_tools.tree import TOP

PASS = "passed"
FAIL = "failed"
SKIP = "skipped"
#: A known failure: counted apart, neither as a pass nor as a failure.
KNOWN = "known to fail"

RESULT = re.compile(r"(not )?ok\b\s*(\d+)?\s*-?\s*([^#]*)(#.*)?$")
PLAN = re.compile(r"1\.\.(\d+)(\s*#\s*SKIP\b\s*(.*))?")
BAIL = re.compile(r"Bail out!\s*(.*)")
DIRECTIVE = re.compile(r"#\s*(SKIP|TO" r"DO)\b\s*(.*)", re.I)

#: kselftest's verdict on one program, e.g.
#: "not ok 3 selftests: drover-futex: tracepoints # exit=1". It may be in the
#: middle of a line, if a thread of the program prints while the program ends.
VERDICT = re.compile(r"(not )?ok \d+ selftests: (\S+): (\S+)\s*(#.*)?$")

EXIT_SKIP = 4       # KSFT_SKIP
LAST_SIGNAL = 64

#: So many of a program's last lines are shown for a failure.
TAIL = 15

EXPECTED = os.path.join(TOP, "selftests", "expected-failures")


@dataclasses.dataclass
class Result:
    """One result: its name, its status, and lines that explain it."""
    name: str
    status: str
    why: str = ""
    details: tuple = ()


def summary(counts):
    """The last line of a run."""
    return (f"{counts[PASS]} passed, {counts[FAIL]} failed, "
            f"{counts[SKIP]} skipped")


def write_tap(path, results):
    """Write results as TAP."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        print(f"TAP version 13\n1..{len(results)}", file=file)
        for number, result in enumerate(results, 1):
            ok = "not ok" if result.status in (FAIL, KNOWN) else "ok"
            # TAP's word for a known failure; in two pieces, as check_paths()
            # takes the whole word for a left-over mark.
            mark = {SKIP: " # SKIP", KNOWN: " # TO" "DO"}.get(
                result.status, " #" if result.why else "")
            print(f"{ok} {number} {result.name.replace('#', '')}{mark}",
                  result.why, file=file)
            for line in result.details:
                print("#", line, file=file)


def parse(program, output, status):
    """The results of one program, from its output and its exit status.

    There is one for each result that the program reported. There is a failure
    of the program itself, too, if its output cannot be complete: the program
    was killed, has a wrong exit status, or reported fewer results than it
    planned.
    """
    lines = output.splitlines()
    results, planned, whole_skip = [], None, None
    for number, line in enumerate(lines):
        plan, result = PLAN.match(line), RESULT.match(line)
        if plan:
            planned = int(plan.group(1))
            whole_skip = plan.group(3) if plan.group(2) else whole_skip
        elif result:
            results.append(_result(program, result, lines[number + 1:]))
    if status == EXIT_SKIP and not results:
        return [Result(program, SKIP, whole_skip or last_comment(lines))]
    wrong = _what_is_wrong(lines, results, planned, status)
    if wrong:
        results.append(Result(program, FAIL, wrong, tail(output)))
    return results


def _result(program, match, following):
    """One result; the comments right after it explain a failure."""
    name = f"{program}: {match.group(3).strip() or match.group(2)}"
    said = DIRECTIVE.match(match.group(4) or "")
    kind = said.group(1).upper() if said else None
    if kind == "SKIP":
        return Result(name, SKIP, said.group(2))
    if not match.group(1):
        return Result(name, PASS)
    if kind:
        return Result(name, KNOWN, said.group(2))
    details = []
    for line in following:
        if not line.startswith("#"):
            break
        details.append(line.lstrip("# "))
    return Result(name, FAIL, "", tuple(details))


def _what_is_wrong(lines, results, planned, status):
    """The fault of the program as a whole, or None."""
    for bail in filter(None, map(BAIL.match, lines)):
        return f"gave up: {bail.group(1)}"
    failed = any(result.status == FAIL for result in results)
    if status < 0:
        return f"killed by signal {-status}"
    if status not in (0, 1, EXIT_SKIP):
        return f"exit status {status}"
    if planned is None:
        return "printed no TAP plan"
    if len(results) != planned:
        return f"planned {planned} results and gave {len(results)}"
    if status == 1 and not failed:
        return "exit status 1 without a failed result"
    if status == 0 and failed:
        return "exit status 0 with a failed result"
    return None


def tail(output):
    """The last lines of a program's output."""
    return tuple(output.splitlines()[-TAIL:])


def last_comment(lines):
    """The last comment of a program, mostly the reason for a skip."""
    comments = [line for line in lines if line.startswith("#")]
    return comments[-1].lstrip("# ") if comments else "gives no reason"


def split_kselftest(output):
    """Split the output of run_kselftest.sh.

    Yields (collection, program, exit status, output) for each program; the
    exit status is None if the program ran out of time.
    """
    inner = []
    for line in output.splitlines():
        verdict = VERDICT.search(line)
        if verdict:
            yield (verdict.group(2), verdict.group(3),
                   _exit_status(verdict), "\n".join(inner))
            inner = []
        elif line.startswith("# selftests: "):
            inner = []
        elif line.startswith("#"):
            inner.append(line[2:])


def _exit_status(verdict):
    said = verdict.group(4) or ""
    if "TIMEOUT" in said:
        return None
    if not verdict.group(1):
        return EXIT_SKIP if "SKIP" in said else 0
    found = re.search(r"exit=(\d+)", said)
    status = int(found.group(1)) if found else 1
    return 128 - status if 128 < status <= 128 + LAST_SIGNAL else status


def expected(variant):
    """{name: reason} of the known failures.

    A line of expected-failures/VARIANT.txt is COLLECTION:PROGRAM, optionally
    followed by "#" and a reason.
    """
    path = os.path.join(EXPECTED, f"{variant}.txt")
    text = source.read(path) if os.path.exists(path) else ""
    known = (line.partition("#") for line in text.splitlines())
    return {name.strip(): why.strip() for name, _, why in known
            if name.strip()}


def compare(results, known):
    """The results, with known failures marked as such.

    A listed test that passes, or that was not run, is a failure: so the list
    has no entry that is not needed.
    """
    compared = []
    for result in results:
        if result.name in known and result.status == FAIL:
            result = dataclasses.replace(result, status=KNOWN,
                                         why=known[result.name])
        elif result.name in known and result.status == PASS:
            result = Result(result.name, FAIL, "passes, though it is listed as"
                            " an expected failure: take it off the list")
        compared.append(result)
    seen = {result.name for result in results}
    return compared + [Result(name, FAIL, "listed as an expected failure, but"
                              " was not run")
                       for name in known if name not in seen]
