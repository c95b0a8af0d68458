# SPDX-License-Identifier: MIT
"""glibc's condition variables since 2.25.

All have two groups of waiters: signals go to the older one, G1; arrivals join
the younger one, G2; a signal that finds nobody left in G1 makes G2 the new G1.
A waiter sleeps on the count of signals of its group's slot. The layout
changed with the fix for bug 25847, which came with 2.41 and into the stable
branches of 2.38 to 2.40:

          up to 2.40          since
       0  wseq                wseq          number of waits; bit 0: slot of G2
       8  g1_start            g1_start      the first wait in G1
      16  g_refs[2]           g_size[2]
      24  g_size[2]           g1_orig_size, wrefs
      32  g1_orig_size, wrefs g_signals[2]
      40  g_signals[2]        unused

g_refs counts sleepers by 2, wrefs all waiters by 8; g1_orig_size by 4, its low
bits are a lock. g_signals counts posted signals by 2, and its bit 0 closes the
group; since the fix it counts from the low half of g1_start, by 1.
"""

OLD, NEW = "old", "new"
#: Where sleepers sleep, and where wrefs is.
SIGNALS = {OLD: 40, NEW: 32}
WREFS = {OLD: 36, NEW: 28}
SHARED, DESTROYED = 1, 4


class Condvar:
    """One, as it was read."""

    def __init__(self, address, layout, words):
        self.address, self.layout, self.words = address, layout, words
        self.wseq = words[0] | words[1] << 32
        self.g1_start = words[2] | words[3] << 32
        at = WREFS[layout] // 4
        self.wrefs, self.orig_size = words[at], words[at - 1] >> 2
        self.size = words[at - 3:at - 1]
        self.signals = words[at + 1:at + 3]
        self.refs = words[4:6] if layout == OLD else (0, 0)
        self.g2 = self.wseq & 1
        self.g1 = self.g2 ^ 1

    @property
    def nr_waiters(self):
        return self.wrefs >> 3

    @property
    def shared(self):
        return bool(self.wrefs & SHARED)

    @property
    def destroyed(self):
        return bool(self.wrefs & DESTROYED)

    def posted(self):
        """Signals to G1 that were not taken."""
        if self.layout == OLD:
            return self.signals[self.g1] >> 1
        left = self.signals[self.g1] - self.g1_start & 0xffffffff
        return left if left < 1 << 31 else 0

    def not_signalled(self):
        """Members of G1 that no signal was for."""
        return self.size[self.g1] if self.size[self.g1] < 1 << 31 else 0

    def ever_signalled(self):
        """Has any signal or broadcast found somebody here?"""
        return self.g1_start >> 1 or self.orig_size

    def slot_of(self, word):
        """Of a sleeper: 0 or 1, or None."""
        offset = word - self.address - SIGNALS[self.layout]
        return offset // 4 if offset in (0, 4) else None


def read(memory, address, layout):
    """The condvar there, or None."""
    words = memory.numbers(address, 12)
    return words and Condvar(address, layout, words)


def of_sleeper(memory, word, layout):
    """The condvar whose waiter sleeps on that word."""
    return read(memory, (word & ~7) - SIGNALS[layout], layout)


def plausible(condvar):
    """May it be one, with somebody waiting?"""
    return condvar and 0 < condvar.nr_waiters < 1 << 22 and (
        condvar.g1_start >> 1 <= condvar.wseq >> 1
        and condvar.orig_size <= condvar.wseq >> 1
        and condvar.wseq >> 1)


def by_its_lock(memory, address, value):
    """The condvar whose inner lock is slept on, if there is one."""
    for layout in (OLD, NEW):
        found = read(memory, address - WREFS[layout] + 4, layout)
        if value & 3 == 2 and plausible(found) and (
                found.orig_size == value >> 2):
            return found
    return None


def layout_of(memory, words):
    """The layout by which most of these sleepers' condvars can be real."""
    good = {layout: sum(bool(plausible(of_sleeper(memory, word, layout)))
                        for word in words) for layout in (OLD, NEW)}
    return OLD if good[OLD] >= good[NEW] else NEW


def has_lost(condvar, words):
    """Has bug 25847 struck? words: those that its sleepers sleep on.

    All waiters sleep in G2, so nobody is in G1. If that has members left for
    whom no signal was, it will swallow the next ones: that is certain. If it
    has a signal that nobody took, the signal may have been for a waiter that
    sleeps: but a waiter that timed out or was cancelled, after the last signal
    of its group had gone to it, leaves the same behind. That is doubtful.
    """
    if condvar.layout != OLD or not words or condvar.destroyed:
        return None
    if len(words) != condvar.nr_waiters or any(
            condvar.slot_of(word) != condvar.g2 for word in words):
        return None
    if condvar.not_signalled():
        return "certain"
    return "doubtful" if condvar.posted() else None
