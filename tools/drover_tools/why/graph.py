# SPDX-License-Identifier: MIT
"""Which thread waits for which, and who can never go on."""


class Graph:
    """The threads of one snapshot."""

    def __init__(self, threads, source):
        self.threads = threads
        self.by_inner = {thread.inner: thread for thread in threads}
        self._source = source
        self._elsewhere = {}
        self.awake = set()          # seen to have moved meanwhile
        self.strangers = False      # threads came that were not looked at
        self._new = None

    def owner(self, thread):
        """The thread that another waits for: a Thread, a number, or None."""
        owners = thread.wait.owners
        if not owners:
            return None
        return self.by_inner.get(owners[0], owners[0])

    def is_gone(self, inner):
        """Is that no thread, of any process?

        One of another process can be the owner only if they share the memory:
        else that is the parent's, which had it at a fork, or the number was
        given away again.
        """
        if inner in self.by_inner:
            return False
        if inner not in self._elsewhere:
            self._elsewhere[inner] = self._source.exists(inner)
        return not self._elsewhere[inner]

    def stuck(self, handlers):
        """Those who can never go on.

        handlers: a signal handler may post semaphores and wake futexes.
        """
        live = {thread for thread in self.threads
                if thread.wait.outside or thread in self.awake
                or (handlers and thread.wait.by_handler
                    and not thread.wait.owners)}
        grew = True
        while grew:
            more = {thread for thread in self.threads
                    if thread not in live and self._can_go_on(thread, live)}
            grew = bool(more)
            live |= more
        return [thread for thread in self.threads
                if thread not in live and thread.state not in "ZX"]

    def _can_go_on(self, thread, live):
        owners = thread.wait.owners
        if owners is None:
            return bool(live) or self.strangers
        for inner in owners:
            owner = self.by_inner.get(inner)
            if owner:
                if owner in live:
                    return True
            elif self._is_new(inner) or (
                    thread.wait.object.shared and self._source.may_be_owner(
                        inner, thread.wait.object.address)):
                return True
        return False

    def _is_new(self, inner):
        """May it have come since the threads were listed?"""
        if self._new is None:
            self._new = self._source.newcomers(self.threads)
        return inner in self._new or inner < 0 and bool(self._new)

    def cycles(self, threads):
        """Each cycle of threads that wait for one another."""
        found, seen = [], set()
        for thread in threads:
            path = []
            while (thread is not None and not isinstance(thread, int)
                   and thread not in seen):
                seen.add(thread)
                path.append(thread)
                thread = self.owner(thread)
            if thread in path:
                found.append(path[path.index(thread):])
        return found
