# SPDX-License-Identifier: MIT
"""One look at a process, from its threads to the findings."""

import time

from drover_tools.why import condvar, dwfl
from drover_tools.why.calls import Calls
from drover_tools.why.findings import Case
from drover_tools.why.graph import Graph
from drover_tools.why.patterns import find_all
from drover_tools.why.stacks import Code

#: Functions that end a wait without a signal. Such a wait may leave the same
#: words in a condvar as bug 25847: condvar.py.
TIMED = {"pthread_cond_timedwait", "pthread_cond_clockwait", "cnd_timedwait",
         "pthread_cancel"}
#: A process whose threads move is looked at so often.
TRIES = 5
#: To see all threads outside a condvar: the number of looks, and the seconds
#: between them.
LOOKS, PAUSE = 100, 0.002
#: Signals that another process does not send: those of faults, and those that
#: the C library uses itself. All others may start a handler at any time.
FAULTS = (4, 5, 6, 7, 8, 11, 13, 31, 32, 33)


class Look:
    """A snapshot of a process, and the findings about it."""

    def __init__(self, source, code):
        self.source, self.code = source, code
        for _ in range(TRIES):
            self.threads = source.threads()
            for thread in self.threads:
                code.stacks.find(thread)
            self.objects = Calls(source, code, self.threads).decode()
            self.graph = Graph(self.threads, source)
            if self._confirm():
                break
        self.findings = find_all(Case(
            self.graph, self.objects, self.stuck, self.likely,
            self._nobody_inside, self._foreign, self._may_time_out, code.has))

    def _may_time_out(self):
        """Can waits of this program time out or be cancelled?"""
        return any(elf.wants() & TIMED for _, elf in self.code.files())

    def _confirm(self):
        """Find the stuck threads: those that slept during the whole look.

        Return: false if a thread moved that had seemed stuck.
        """
        handlers = any(self.source.caught >> number - 1 & 1
                       for number in range(1, 65) if number not in FAULTS)
        moved = {thread for thread in self.graph.stuck(False)
                 if not self.source.asleep_since(thread)}
        self.graph.awake |= moved
        if self.source.newcomers(self.threads):
            # Nothing is known of these threads: they may do anything.
            self.graph.strangers = True
        # An owner that has ended may have unlocked before that.
        moved |= {thread for thread in self.graph.stuck(False)
                  if isinstance(self.graph.owner(thread), int)
                  and thread.wait.object.read_again().owner
                  != thread.wait.object.owner}
        self.graph.awake |= moved
        self.likely = self.graph.stuck(False)
        self.stuck = self.graph.stuck(True) if handlers else self.likely
        return not moved

    def _nobody_inside(self, found):
        """Is no thread just entering or leaving that condvar?

        A thread that sleeps elsewhere is outside; and if a thread had come
        later, it would have been counted in wseq.
        """
        layout = found.condvar.layout
        left = [thread for thread in self.threads if thread.state not in "ZX"
                and thread not in found.waiters]
        for _ in range(LOOKS):
            left = [thread for thread in left
                    if self.source.look_again(thread)[0] is None]
            if not left:
                break
            time.sleep(PAUSE)
        again = condvar.read(self.source, found.address, layout)
        return (not left and again and again.words == found.condvar.words
                and not self.source.newcomers(self.threads)
                and all(map(self.source.asleep_since, found.waiters)))

    def _foreign(self, found):
        """How many threads of other processes sleep on a condvar, or None."""
        mapping = self.source.maps.at(found.address)
        if not mapping or mapping.rights[3] != "s":
            return 0
        return self.source.foreign_sleepers(mapping, found.address, 48)


def code_of(source, scan=False):
    """The code of a process; scan: as if libdw were not installed."""
    return Code(source, None if scan else dwfl.load())


def look(source, scan=False):
    """Look at a process once."""
    return Look(source, code_of(source, scan))
