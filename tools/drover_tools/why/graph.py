# SPDX-License-Identifier: MIT
"""Which thread waits for which, and which threads can never go on."""


class Graph:
    """The threads of one snapshot."""

    def __init__(self, threads, source):
        self.threads = threads
        self.by_inner = {thread.inner: thread for thread in threads}
        self._source = source
        self._elsewhere = {}
        self.awake = set()          # threads that moved during the look
        self.strangers = False      # threads came after the list was made
        self._new = None

    def owner(self, thread):
        """The thread for which this one waits: a Thread, a number, or None.

        A number is that of a thread outside the list, or of no thread.
        """
        owners = thread.wait.owners
        if not owners:
            return None
        return self.by_inner.get(owners[0], owners[0])

    def is_gone(self, inner):
        """Is there no thread with that number, in any process?

        A thread of another process can be the owner only if they share the
        memory. If not, it is the parent's thread that held the lock at a
        fork(), or a new thread that got the number of an ended one.
        """
        if inner in self.by_inner:
            return False
        if inner not in self._elsewhere:
            self._elsewhere[inner] = self._source.exists(inner)
        return not self._elsewhere[inner]

    def stuck(self, handlers):
        """The threads that can never go on.

        handlers: whether the program has signal handlers, which may post
        semaphores and wake futexes
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
        """May this thread have come since the threads were listed?"""
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
