# SPDX-License-Identifier: MIT
"""Tests of the parts of the runner that need no guest."""

import contextlib
import io
import json
import os
import tempfile

from drover_tools.vm import accel, kernel_log
from drover_tools.vm.agent import Answer

REPORTS = """\
[    5.1] BUG: kernel NULL pointer dereference, address: 0000000000000008
[    5.1] kernel BUG at kernel/futex/core.c:100!
[    5.1] WARNING: CPU: 1 PID: 77 at kernel/futex/requeue.c:70 futex_move+0x1
[    5.1] WARNING: possible circular locking dependency detected
[    5.1] WARNING: possible recursive locking detected
[    5.1] INFO: possible irq lock inversion dependency detected
[    5.1]  *** possible deadlock ***
[    5.1] Oops: 0002 [#1] PREEMPT SMP
[    5.1] Oops: general protection fault, probably for non-canonical address
[    5.1] traps: PANIC: double fault, error_code: 0x0
[    5.1] rcu: INFO: rcu_sched detected stalls on CPUs/tasks:
[    5.1] rcu: INFO: rcu_preempt self-detected stall on CPU
[    5.1] INFO: task cond-perf:55 blocked for more than 120 seconds.
[    5.1] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [pp:90]
[    5.1] BUG: KASAN: slab-use-after-free in futex_wake+0x1
[    5.1] BUG: KCSAN: data-race in futex_wait / futex_wake
[    5.1] UBSAN: shift-out-of-bounds in kernel/futex/core.c:5:3
[    5.1] BUG: sleeping function called from invalid context at mm/gup.c:1
[    5.1] Kernel panic - not syncing: Fatal exception
[    5.1] list_add corruption. prev->next should be next
[    5.1] refcount_t: underflow; use-after-free.
[    5.1] INFO: lockdep is turned off.
"""

NO_REPORTS = """\
[    0.0] Linux version 6.12.117 (root@debug) #1 SMP
[    0.0] kasan: KernelAddressSanitizer initialized
[    0.0] kcsan: enabled early
[    0.0] rcu: RCU lockdep checking is enabled.
[    0.0] Lock dependency validator: Copyright (c) 2006 Red Hat
[    0.0] futex hash table entries: 256 (order: 2, 16384 bytes, linear)
[    0.0] Mitigations: debugging of bugs enabled
[    0.0] ... MAX_LOCKDEP_SUBCLASSES:  8
[    0.0] ACPI: Early table checksum verification disabled
[    0.0] FAULT_INJECTION: forcing a failure.
"""


def test_every_kind_of_report_in_the_log_is_a_failure(_bench):
    for line in REPORTS.splitlines():
        assert kernel_log.failures(line) == [line], line


def test_boot_messages_are_no_failures(_bench):
    assert kernel_log.failures(NO_REPORTS) == []


def test_answer_is_found_however_the_stream_is_cut(_bench):
    output = b"a\0b\0" + b"0123456789abcdef 0\n" + b"\0" * 70
    stream = output + b"\x000011223344556677 42\nrest"
    for size in range(1, len(stream)):
        answer = Answer("0011223344556677")
        got, at = b"", 0
        while answer.status is None:
            got += answer.feed(stream[at:at + size])
            at += size
        assert (got, answer.status) == (output, 42), size
        assert answer.rest == stream[at - size:at][-len(answer.rest):] or \
            not answer.rest


def _choose(bench, outcomes):
    """Run accel.choose() twice. Return: what it booted, its answers, keys."""
    accel.KVM = os.devnull      # a file that exists and can be opened
    tried = []

    def try_boot(candidate, _seconds):
        tried.append(candidate)
        return outcomes[candidate]

    build = tempfile.mkdtemp(dir=bench.scratch)
    with contextlib.redirect_stderr(io.StringIO()) as notes:
        answers = [accel.choose(__file__, build, try_boot) for _ in range(2)]
    assert notes.getvalue().count("emulating") == (answers[0] == "tcg")
    path = os.path.join(build, "vm", "accel.json")
    with open(path, encoding="ascii") as file:
        return tried, answers, list(json.load(file))


def test_accelerator_is_probed_once_and_remembered(bench):
    tried, answers, _keys = _choose(bench, {"kvm": ("MSR", ""),
                                            "kvm64": (None, "")})
    assert tried == ["kvm", "kvm64"]
    assert answers == ["kvm64", "kvm64"]


def test_kvm_that_dies_or_spins_means_emulation(bench):
    tried, answers, keys = _choose(bench, {"kvm": ("MSR", ""),
                                           "kvm64": ("hangs", "")})
    assert tried == ["kvm", "kvm64"]
    assert answers == ["tcg", "tcg"]
    assert len(keys[0].split()) == 1, "true of the host, not of one kernel"


def test_kernel_that_fails_under_kvm_is_remembered_by_itself(bench):
    _tried, _answers, keys = _choose(bench, {"kvm": ("died", "Linux version"),
                                             "kvm64": ("hangs", "")})
    assert len(keys[0].split()) == 3
