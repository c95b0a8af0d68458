# SPDX-License-Identifier: MIT
"""Reads the counts of libdrover-stat.so; stat/count.h has their layout."""

import copy
import dataclasses
import os
import struct

MAGIC = b"drovers2"
PREFIX = "drover-stat."
NR_CONDS, NR_SHARDS, NR_MODULES = 1024, 128, 256
NR_SITES, NR_BUCKETS, MODULE_BYTES = 4, 30, 256
NR_STACKS, NR_FRAMES = 512, 8
HEAD = struct.Struct("=8siIQ64s4008x")
MODULE = struct.Struct(f"=QQQ{MODULE_BYTES - 24}s")
SLOT = struct.Struct("=QQ48x")
COUNTS = ("waits", "released", "over", "signals", "broadcasts", "moved",
          "paid", "in_vain", "sampled", "awake", "again", "vain", "seen",
          "seen_woken", "seen_vain")
ROW = struct.Struct(f"={len(COUNTS)}Q{NR_SITES}Q{NR_BUCKETS}I{NR_SITES}I32x")
STACK = struct.Struct(f"={NR_FRAMES}Q")
MODULES_AT = HEAD.size
SLOTS_AT = MODULES_AT + NR_MODULES * MODULE.size
STACKS_AT = SLOTS_AT + NR_CONDS * SLOT.size + 4096
ROWS_AT = STACKS_AT + NR_STACKS * STACK.size
SITE_KINDS = ("wait", "signal", "broadcast")
SITE_SHIFT = 62
#: The address that stands for all condition variables without a slot.
OTHERS = 1


@dataclasses.dataclass
class Condvar:
    """The counts of a condition variable.

    latency: a histogram of nanoseconds, by powers of two
    """

    address: int
    counts: dict
    latency: list
    sites: dict             # (kind, address): calls

    @property
    def calls(self):
        """The number of calls of all kinds."""
        return sum(self.counts[key] for key in ("waits", "signals",
                                                "broadcasts"))

    def order(self):
        """A key for sorting: by waits, then by calls."""
        return self.counts["waits"], self.calls

    @property
    def waiting_site(self):
        """The site of most of the sampled waits, or None."""
        found = {address: calls for (kind, address), calls
                 in self.sites.items() if kind == "wait"}
        return max(found, key=found.get) if found else None

    @property
    def woken(self):
        """How many waiters returned without having been moved."""
        return max(self.counts["released"] - self.counts["moved"], 0)

    def share(self, key):
        """A count as a share of the sampled waits, or None if there are none.
        """
        sampled = self.counts["sampled"]
        return self.counts[key] / sampled if sampled else None

    def within(self, share):
        """Nanoseconds within which this share of the timed waiters returned.
        """
        total, found = sum(self.latency), 0
        for power, number in enumerate(self.latency):
            found += number
            if total and found >= share * total:
                return 2 << power
        return None


def together(condvars):
    """Several condition variables, added up as one."""
    first, *rest = condvars
    if not rest:
        return first
    sites = {}
    for one in condvars:
        for site, calls in one.sites.items():
            sites[site] = sites.get(site, 0) + calls
    return Condvar(first.address,
                   {key: sum(one.counts[key] for one in condvars)
                    for key in COUNTS},
                   [sum(column) for column
                    in zip(*(one.latency for one in condvars))], sites)


class Counted:
    """The counts of one process: its name and its condition variables."""

    def __init__(self, path):
        with open(path, "rb") as file:
            head = file.read(HEAD.size)
            if len(head) < HEAD.size or head[:8] != MAGIC:
                raise ValueError(f"{path}: nothing was counted")
            _, self.pid, nr_modules, drop_in, name = HEAD.unpack(head)
            self.drop_in = bool(drop_in)
            self.name = name.split(b"\0")[0].decode(errors="replace")
            self.modules = [
                (start, end, bias, name.split(b"\0")[0].decode(
                    errors="replace"))
                for start, end, bias, name in MODULE.iter_unpack(
                    file.read(NR_MODULES * MODULE.size))][:nr_modules]
            slots = file.read(NR_CONDS * SLOT.size)
            self._addresses = {
                number: address for number, (address, _) in enumerate(
                    SLOT.iter_unpack(slots)) if address}
            file.seek(STACKS_AT)
            self.stacks = {
                frames[0]: [frame for frame in frames if frame] for frames
                in STACK.iter_unpack(file.read(NR_STACKS * STACK.size))
                if frames[0]}
            self.condvars = sorted(self._sums(file), key=Condvar.order,
                                   reverse=True)

    def _sums(self, file):
        """The condition variables, with their counts over all shards."""
        found = {}
        size = NR_SHARDS * ROW.size
        for index in self._addresses:
            file.seek(ROWS_AT + index * size)
            for row in ROW.iter_unpack(file.read(size)):
                if any(row[:len(COUNTS)]):
                    self._add(found, index, row)
        return [one for one in found.values() if one.calls]

    def _add(self, found, index, row):
        one = found.setdefault(index, Condvar(
            self._addresses[index], dict.fromkeys(COUNTS, 0),
            [0] * NR_BUCKETS, {}))
        sites = row[len(COUNTS):][:NR_SITES]
        latency = row[len(COUNTS) + NR_SITES:][:NR_BUCKETS]
        for key, number in zip(COUNTS, row):
            one.counts[key] += number
        one.latency = [a + b for a, b in zip(one.latency, latency)]
        for site, number in zip(sites, row[-NR_SITES:]):
            if site:
                key = (SITE_KINDS[site >> SITE_SHIFT],
                       site & (1 << SITE_SHIFT) - 1)
                one.sites[key] = one.sites.get(key, 0) + number

    def module_of(self, address):
        """(path, address in that file), or None."""
        for start, end, bias, path in self.modules:
            if start <= address < end:
                return path, address - bias
        return None


def since(before, now):
    """The counts that a process added between two readings."""
    old = {one.address: one for one in before.condvars}
    found = copy.copy(now)
    found.condvars = []
    for one in now.condvars:
        then = old.get(one.address)
        if then:
            one = dataclasses.replace(
                one, counts={key: number - then.counts[key]
                             for key, number in one.counts.items()},
                latency=[a - b for a, b in zip(one.latency, then.latency)])
        if one.calls:
            found.condvars.append(one)
    found.condvars.sort(key=Condvar.order, reverse=True)
    return found


def is_file(name):
    """Whether a file of that name has counts."""
    return name.startswith(PREFIX)


def read_all(folder):
    """The counts of all processes that left a file there, busiest first."""
    found = []
    for name in os.listdir(folder):
        if is_file(name):
            try:
                found.append(Counted(os.path.join(folder, name)))
            except (OSError, ValueError):
                continue
    return sorted((one for one in found if one.condvars), reverse=True,
                  key=lambda one: sum(each.calls for each in one.condvars))
