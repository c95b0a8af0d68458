# SPDX-License-Identifier: MIT
"""glibc's condition variables since 2.25.

Each has two groups of waiters: signals go to the older group, G1; new waiters
join the younger one, G2; a signal that finds G1 empty makes G2 the new G1.
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

g_refs has 2 for each sleeper, wrefs has 8 for each waiter, and g1_orig_size
has 4 for each waiter, as its low bits are a lock. g_signals has 2 for each
posted signal, and its bit 0 closes the group; since the fix it has 1 for each
signal and starts at the low half of g1_start.
"""

OLD, NEW = "old", "new"
#: The offset of the words that waiters sleep on, and the offset of wrefs.
SIGNALS = {OLD: 40, NEW: 32}
WREFS = {OLD: 36, NEW: 28}
SHARED, DESTROYED = 1, 4


class Condvar:
    """A condition variable, as it was read."""

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
        """The number of signals to G1 that no waiter has taken."""
        if self.layout == OLD:
            return self.signals[self.g1] >> 1
        left = self.signals[self.g1] - self.g1_start & 0xffffffff
        return left if left < 1 << 31 else 0

    def not_signalled(self):
        """The number of members of G1 to which no signal was sent."""
        return self.size[self.g1] if self.size[self.g1] < 1 << 31 else 0

    def ever_signalled(self):
        """Has any signal or broadcast found a waiter here?"""
        return self.g1_start >> 1 or self.orig_size

    def slot_of(self, word):
        """The slot whose word a waiter sleeps on: 0 or 1, or None."""
        offset = word - self.address - SIGNALS[self.layout]
        return offset // 4 if offset in (0, 4) else None


def read(memory, address, layout):
    """The condvar at an address, or None."""
    words = memory.numbers(address, 12)
    return words and Condvar(address, layout, words)


def of_sleeper(memory, word, layout):
    """The condvar whose waiter sleeps on that word."""
    return read(memory, (word & ~7) - SIGNALS[layout], layout)


def plausible(condvar):
    """Can this be a condvar with a waiter?"""
    return condvar and 0 < condvar.nr_waiters < 1 << 22 and (
        condvar.g1_start >> 1 <= condvar.wseq >> 1
        and condvar.orig_size <= condvar.wseq >> 1
        and condvar.wseq >> 1)


def by_its_lock(memory, address, value):
    """The condvar on whose inner lock a thread sleeps, or None."""
    for layout in (OLD, NEW):
        found = read(memory, address - WREFS[layout] + 4, layout)
        if value & 3 == 2 and plausible(found) and (
                found.orig_size == value >> 2):
            return found
    return None


def layout_of(memory, words):
    """The layout in which most of these waiters' condvars are plausible."""
    good = {layout: sum(bool(plausible(of_sleeper(memory, word, layout)))
                        for word in words) for layout in (OLD, NEW)}
    return OLD if good[OLD] >= good[NEW] else NEW


def has_lost(condvar, words):
    """Has bug 25847 struck? words: the words that the waiters sleep on.

    All waiters sleep in G2, so no thread is in G1. If G1 still counts members
    to which no signal was sent, it will swallow the next signals: that is
    "certain". If G1 has a signal that no thread took, it may have been meant
    for a waiter that sleeps. But a waiter that got the last signal of its
    group, and then timed out or was cancelled, leaves the same words behind:
    that is "doubtful".
    """
    if condvar.layout != OLD or not words or condvar.destroyed:
        return None
    if len(words) != condvar.nr_waiters or any(
            condvar.slot_of(word) != condvar.g2 for word in words):
        return None
    if condvar.not_signalled():
        return "certain"
    return "doubtful" if condvar.posted() else None
