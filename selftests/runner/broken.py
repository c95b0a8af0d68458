# SPDX-License-Identifier: GPL-2.0-only
"""Breaks something in a guest on purpose: the check must fail by it.

The broken jobs run just like the real ones. `make check` runs all of them in
one guest and passes if each is found; with `run-check --broken=KIND` one
counts as what it is, a failure.
"""

import os

import guests
from result import FAIL, PASS, Result

OK = "echo 'ok 1 selftests: broken: {0}'"


def _job(kind, action, limit=60):
    """Breaks something, then says like a test that all is well."""
    return guests.Job(f"broken {kind}", f"{action}; {OK.format(kind)}",
                      limit)


#: What is broken, and a word of the reason by which it must be found. The
#: panic comes last: nothing runs in that guest any more.
KINDS = {
    "warning": (_job("warning", "echo 'WARNING: broken' >/dev/kmsg"),
                "WARNING"),
    "hang": (_job("hang", "sleep 9999", 5), "more than"),
    "failure": (guests.Job("broken failure", "echo '# 1..1';"
                           " echo '# not ok 1 broken'; echo 'not ok 1"
                           " selftests: broken: failure # exit=1'"), ""),
    "silence": (guests.Job("broken silence", "true"), "no test was run"),
    "panic": (_job("panic", "echo c >/proc/sysrq-trigger"), "panic"),
}


def run(machine, kinds, logs, progress=lambda name: None):
    """The results of a guest in which things are broken."""
    return guests.run(machine, [KINDS[kind][0] for kind in kinds],
                      os.path.join(logs, "broken"), progress)


def check(machine, logs, progress):
    """One result a kind: was it found, and for the right reason?"""
    results = run(machine, KINDS, logs, progress)
    return [_check_one(kind, results) for kind in KINDS]


def _check_one(kind, results):
    reason = KINDS[kind][1]
    for result in results:
        if (result.status == FAIL and kind in result.name + result.why
                and reason in result.why):
            return Result(f"broken {kind} is found", PASS)
    return Result(f"broken {kind} is found", FAIL, "",
                  tuple(f"{result.name}: {result.status}: {result.why}"
                        for result in results))
