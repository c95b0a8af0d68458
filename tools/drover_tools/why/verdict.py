# SPDX-License-Identifier: MIT
"""One look at a process, from its threads to the findings."""

import time

from drover_tools.why import condvar, dwfl
from drover_tools.why.calls import Calls
from drover_tools.why.findings import Case
from drover_tools.why.graph import Graph
from drover_tools.why.patterns import find_all
from drover_tools.why.stacks import Code

#: Functions that end a wait without a signal, and may leave in a condvar what
#: bug 25847 leaves: condvar.py.
TIMED = {"pthread_cond_timedwait", "pthread_cond_clockwait", "cnd_timedwait",
         "pthread_cancel"}
#: How often a process that moves is looked at again.
TRIES = 5
#: Until all threads were seen outside of a condvar: so often, so long apart.
LOOKS, PAUSE = 100, 0.002
#: Signals that a handler may be told of from outside: not those of faults,
#: nor those that the C library has for itself.
FAULTS = (4, 5, 6, 7, 8, 11, 13, 31, 32, 33)


class Look:
    """All that was seen at one moment."""

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
            self._nobody_inside, self._foreign, self._may_time_out))

    def _may_time_out(self):
        """Could waits of this program end by time, or be cancelled?"""
        return any(elf.wants() & TIMED for _, elf in self.code.files())

    def _confirm(self):
        """Did all that seem stuck sleep all the time? Else they are not."""
        handlers = any(self.source.caught >> number - 1 & 1
                       for number in range(1, 65) if number not in FAULTS)
        moved = {thread for thread in self.graph.stuck(False)
                 if not self.source.asleep_since(thread)}
        self.graph.awake |= moved
        if self.source.newcomers(self.threads):
            # Threads that nothing is known of may do anything.
            self.graph.strangers = True
        # An owner that is no more may have unlocked before it ended.
        moved |= {thread for thread in self.graph.stuck(False)
                  if isinstance(self.graph.owner(thread), int)
                  and thread.wait.object.read_again().owner
                  != thread.wait.object.owner}
        self.graph.awake |= moved
        self.likely = self.graph.stuck(False)
        self.stuck = self.graph.stuck(True) if handlers else self.likely
        return not moved

    def _nobody_inside(self, found):
        """Is no thread on its way into or out of that condvar?

        A thread that sleeps elsewhere is not; and one that comes later is
        counted in wseq, which does not change meanwhile.
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
        """How many threads of other processes sleep on a condvar."""
        mapping = self.source.maps.at(found.address)
        if not mapping or mapping.rights[3] != "s":
            return 0
        return self.source.foreign_sleepers(mapping, found.address, 48)


def code_of(source, scan=False):
    """scan: as if there were no libdw."""
    return Code(source, None if scan else dwfl.load())


def look(source, scan=False):
    """Look once."""
    return Look(source, code_of(source, scan))
