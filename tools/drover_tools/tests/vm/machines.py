# SPDX-License-Identifier: MIT
"""Tests of CPUs, memory, several guests at a time, and exact counting."""

import os
import time

from drover_tools.vm.guest import Guest

MEASURE_SECONDS = 2
TICKS = os.sysconf("SC_CLK_TCK")


def test_cpus_and_memory_are_as_asked_for(bench):
    for cpus, mem in ((1, 512), (4, 2048)):
        with Guest(cpus=cpus, mem=mem, **bench.boot) as guest:
            assert guest.run("nproc") == (0, b"%d\n" % cpus)
            _, text = guest.run("grep MemTotal /proc/meminfo")
            total = int(text.split()[1]) / 1024
            assert 0.9 * mem < total <= mem, total


def test_ten_thousand_threads(bench):
    with Guest(additions=bench.additions(), **bench.boot) as guest:
        assert guest.run("./guest_program threads 10000") == (0, b"10000\n")


def _cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def test_several_guests_take_turns_and_idle_ones_cost_nothing(bench):
    exact = {**bench.boot, "accel": "icount"}
    with Guest(**bench.boot) as one, Guest(cpus=4, **bench.boot) as two, \
            Guest(**exact) as three:
        guests = (one, two, three)
        # Each guest has a busy process, which must cost the others nothing.
        for number, guest in enumerate(guests):
            assert guest.run(f"echo {number} >/tmp/number;"
                             " yes >/dev/null 2>&1 &") == (0, b"")
        for number, guest in enumerate(guests):
            assert guest.run("cat /tmp/number") == (0, b"%d\n" % number)
        before = [_cpu_seconds(guest.pid) for guest in guests]
        time.sleep(MEASURE_SECONDS)     # the length of the measurement
        after = [_cpu_seconds(guest.pid) for guest in guests]
    used = sum(after) - sum(before)
    print(f"# {used / MEASURE_SECONDS:.1%} of a CPU for three waiting guests")
    assert used < 0.05 * MEASURE_SECONDS


def test_guests_clock_stands_still_between_commands(bench):
    with Guest(**bench.boot) as guest:
        first = float(guest.run("cat /proc/uptime")[1].split()[0])
        time.sleep(MEASURE_SECONDS)
        second = float(guest.run("cat /proc/uptime")[1].split()[0])
    assert second - first < MEASURE_SECONDS / 2, (first, second)


def _count(bench):
    """The maximum of three runs: in one run of twenty QEMU's clock, and so the
    TSC, loses a millisecond or two, but it never gains any."""
    with Guest(accel="icount", additions=bench.additions(),
               **{key: value for key, value in bench.boot.items()
                  if key != "accel"}) as guest:
        runs = []
        for _ in range(3):
            status, text = guest.run("./guest_program ping-pong 10000")
            assert status == 0, text
            runs.append([int(number) for number in text.split()])
        return [max(each) for each in zip(*runs)]


def test_exact_counting_repeats_within_one_per_cent(bench):
    switches, nanoseconds = zip(_count(bench), _count(bench))
    print(f"# context switches {switches}, ns of CPU time {nanoseconds}")
    assert min(switches) >= 19000
    for first, second in (switches, nanoseconds):
        assert abs(first - second) <= 0.01 * first
