# SPDX-License-Identifier: GPL-2.0-only
"""Reads what test programs print: TAP, and TAP within kselftest's TAP."""

import re

from result import FAIL, KNOWN, PASS, SKIP, Result

RESULT = re.compile(r"(not )?ok\b\s*(\d+)?\s*-?\s*([^#]*)(#.*)?$")
PLAN = re.compile(r"1\.\.(\d+)(\s*#\s*SKIP\b\s*(.*))?")
BAIL = re.compile(r"Bail out!\s*(.*)")
SKIP_DIRECTIVE = re.compile(r"#\s*SKIP\b\s*(.*)", re.I)
TODO_DIRECTIVE = re.compile(r"#\s*TO" r"DO\b\s*(.*)", re.I)

#: kselftest's verdict on one program, e.g.
#: "not ok 3 selftests: drover-futex: requeue_order # exit=1". It can be in the
#: middle of a line, when a thread of the program prints as the program ends.
VERDICT = re.compile(r"(not )?ok \d+ selftests: (\S+): (\S+)\s*(#.*)?$")

EXIT_SKIP = 4       # KSFT_SKIP
LAST_SIGNAL = 64

#: How many of the last lines of a program explain its failure.
TAIL = 15


def parse(program, output, status):
    """The results of one program from what it printed and its exit status.

    One for each result it reported; and a failure of the program itself if
    what it printed is not the whole truth: killed, wrong exit status, fewer
    results than it planned.
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
        results.append(Result(program, FAIL, wrong, tuple(lines[-TAIL:])))
    return results


def _result(program, match, following):
    """One result; the comments right behind it explain it."""
    name = f"{program}: {match.group(3).strip() or match.group(2)}"
    skip = SKIP_DIRECTIVE.match(match.group(4) or "")
    if skip:
        return Result(name, SKIP, skip.group(1))
    if not match.group(1):
        return Result(name, PASS)
    known = TODO_DIRECTIVE.match(match.group(4) or "")
    if known:
        return Result(name, KNOWN, known.group(1))
    details = []
    for line in following:
        if not line.startswith("#"):
            break
        details.append(line.lstrip("# "))
    return Result(name, FAIL, "", tuple(details))


def _what_is_wrong(lines, results, planned, status):
    """What the program did wrong as a program, or None."""
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


def last_comment(lines):
    """The last comment of a program: mostly why it skipped."""
    comments = [line for line in lines if line.startswith("#")]
    return comments[-1].lstrip("# ") if comments else "says not why"


def split_kselftest(output):
    """Take the output of run_kselftest.sh apart.

    Yields (collection, program, exit status, output) for each program; the
    exit status is None for one that ran out of time.
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
    directive = verdict.group(4) or ""
    if "TIMEOUT" in directive:
        return None
    if not verdict.group(1):
        return EXIT_SKIP if "SKIP" in directive else 0
    exit_status = re.search(r"exit=(\d+)", directive)
    if not exit_status:
        return 1
    status = int(exit_status.group(1))
    return 128 - status if 128 < status <= 128 + LAST_SIGNAL else status
