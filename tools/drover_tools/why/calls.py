# SPDX-License-Identifier: MIT
"""The wait of each thread: its call, its object and the object's owner."""

import functools
import time

from drover_tools.why import (
    condvar, drover_objects, drover_threads, objects, texts)
from drover_tools.why.functions import (
    C_LIBRARY, DROP_IN, DROVER, FUNCTIONS, own_frames, plain)
from drover_tools.why.objects import Object

FUTEX_WAIT, FUTEX_LOCK_PI, FUTEX_WAIT_BITSET = 0, 6, 9
FUTEX_WAIT_REQUEUE_PI, FUTEX_LOCK_PI2 = 11, 13
FUTEX_PRIVATE, FUTEX_CLOCK_REALTIME, FUTEX_COMMAND = 128, 256, 127
#: The operations of a wait with a deadline that continues after a signal.
RESTARTED = (FUTEX_PRIVATE | FUTEX_WAIT, FUTEX_PRIVATE | FUTEX_WAIT_BITSET)
PI_WAITS = (FUTEX_LOCK_PI, FUTEX_LOCK_PI2)
WAITS = (FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI) + PI_WAITS

#: The stack frame of a library's function that waits is smaller.
OWN_FRAME = 512
SLEEP_IN_VAIN = C_LIBRARY + (DROVER,)
#: Waits inside libdrover about which its words say no more than this.
DROVER_WORK = {"drover worker": "next task of its pool",
               "drover task": "task of a pool",
               "drover operation": "operation of a stream"}


class Wait:
    """The wait that a thread is in; or the thread runs."""

    def __init__(self, text):
        self.text = text
        self.object = None
        self.role = None            # what the thread does with the object
        self.function = None        # the function in which the thread waits
        self.futex = None           # the address on which the thread sleeps
        self.left = None            # seconds to the deadline
        self.until = None           # the address of the predicate's function
        self.timed = False          # the wait has a deadline
        self.outside = False        # something outside the process can end it
        self.by_handler = False     # a signal handler could end it
        self.owners = None          # the threads that can end it; None: any
        self.inherits = False       # it is for a priority-inheritance mutex
        self.guess = False


def fits(kind, command, private, value):
    """Can a function of that kind sleep in such a futex call?

    A search of the stack may have found the frame of an earlier call.
    """
    if kind == "thread":
        return not private
    if kind == "semaphore":
        return command in (FUTEX_WAIT, FUTEX_WAIT_BITSET) and value == 0
    if kind == "mutex":
        return command in PI_WAITS or value >= 2
    if kind == "rwlock":
        return value >= 2
    return kind != "barrier" or command == FUTEX_WAIT


class Calls:
    """Decodes the waits of one snapshot."""

    def __init__(self, source, code, threads):
        self._source, self._code, self._threads = source, code, threads
        self._inner = {thread.inner: thread for thread in threads}
        self._objects = {}
        self._shared = {}
        self._layout = condvar.OLD
        self._numbers = None        # drover_threads.py
        self._has_drover = code.has("libdrover")
        # The objects of musl are shown as futexes.
        self._is_musl = code.is_musl()

    def decode(self):
        """Fill in thread.wait. Return: all objects."""
        for thread in self._threads:
            thread.wait = self._outer(thread)
        words = [thread.wait.futex for thread in self._threads
                 if thread.wait.role in ("condvar", "futex")]
        self._layout = condvar.layout_of(self._source, words)
        for thread in self._threads:
            if thread.wait.futex is not None:
                self._futex(thread)
        for found in self._objects.values():
            self._name(found)
            for thread in found.waiters:
                thread.wait.text = texts.of_wait(self._code, thread.wait,
                                                 found)
        return list(self._objects.values())

    def _name(self, found):
        """Give an object the name of its symbol, or of its address."""
        if found.name is not None:
            return
        found.symbol = self._code.name_at(found.address)
        if found.symbol:
            name, offset = found.symbol
            found.name = name + (f"+{offset:#x}" if offset else "")
        else:
            found.name = texts.of_address(self._source, self._threads,
                                          found.address)

    def _outer(self, thread):
        """The wait, as far as the system call alone shows it."""
        number, name = thread.call, None
        if thread.state in "ZX":
            wait = Wait("has ended")
        elif thread.state in "Tt":
            wait = Wait("is stopped")
        elif number is None:
            wait = Wait("runs")
        else:
            name = self._source.machine.calls.get(number)
            if name == "restart_syscall" and (
                    thread.arguments[1] & ~FUTEX_CLOCK_REALTIME in RESTARTED):
                name = "futex"
            wait = Wait(texts.of_call(self._source, name, number, thread))
        wait.outside = thread.state not in "ZX"
        wait.owners = [] if thread.state in "ZX" else None
        wait.role = wait.text if name is None else name
        if name == "futex":
            self._role(thread, wait)
        return wait

    def _role(self, thread, wait):
        """Set the role of a wait by the function, if that is known."""
        address, operation, value = thread.arguments[:3]
        command = operation & FUTEX_COMMAND
        if command not in WAITS:
            wait.text = wait.role = "runs"
            return
        value &= 0xffffffff
        wait.role = "futex"
        wait.futex = address
        private = bool(operation & FUTEX_PRIVATE)
        given_up = self._has_given_up(thread, True)
        for frame in self._functions(thread):
            kind = FUNCTIONS.get(plain(frame.name))
            if frame.module.startswith("libgomp"):
                kind = "gomp"
            if self._is_musl:
                kind = "futex"
            if kind and (not frame.guess
                         or fits(kind, command, private, value)
                         or kind == "mutex" and given_up):
                if frame.module.startswith(DROP_IN) and kind == "condvar":
                    kind = "drover condvar"
                wait.role, wait.function = kind, plain(frame.name)
                wait.guess = frame.guess
                break
        if wait.role == "futex" and thread.frames and (
                thread.frames[0].module.startswith(DROVER)):
            wait.role = drover_objects.kind_of(self._source, address, value)
            if wait.role == "futex" and not own_frames(thread):
                wait.role = "drover worker"
        wait.inherits = command in PI_WAITS
        wait.timed = bool(thread.arguments[3])
        if wait.timed:
            self._deadline(thread, command, operation, wait)
        wait.outside = wait.timed
        # Before 2.32, glibc waits without a deadline by FUTEX_WAIT with 0.
        if wait.role == "condvar" and (command in PI_WAITS or (
                command == FUTEX_WAIT and value)):
            inside = condvar.by_its_lock(self._source, address, value)
            wait.role = "lock" if inside else "mutex"

    def _functions(self, thread):
        """The frames of the functions that a thread is in, innermost first.

        The first frame outside the file in which the thread sleeps shows which
        function of that file was called; this function comes before it.
        """
        inside = thread.frames[0].path if thread.frames else ""
        for frame in thread.frames:
            if frame.path != inside and inside:
                inside = ""
                called = self._code.called(frame)
                if called:
                    yield called
            yield frame

    def _has_given_up(self, thread, guess):
        """Does a thread that locks a mutex sleep as objects.given_up() says?

        guess: whether it is a guess that the thread locks a mutex. Only the
        libraries sleep so, on a word in their own stack frame. A semaphore in
        a frame of the program lies beyond the libraries' return address.
        """
        address, operation, value = thread.arguments[:3]
        at = address - thread.registers[self._source.machine.stack_pointer]
        end = OWN_FRAME
        if guess:
            inside = thread.frames[0] if thread.frames else None
            end = inside and inside.module.startswith(SLEEP_IN_VAIN) and next(
                (frame.depth for frame in thread.frames
                 if frame.path != inside.path), None) or 0
        return (operation & FUTEX_COMMAND not in PI_WAITS
                and value & 0xffffffff == 0 and 0 <= at < end)

    def _deadline(self, thread, command, operation, wait):
        spec = self._source.numbers(thread.arguments[3], 2, "q")
        if not spec or command == FUTEX_WAIT:
            return
        clock = time.CLOCK_MONOTONIC
        if operation & FUTEX_CLOCK_REALTIME or command == FUTEX_LOCK_PI:
            clock = time.CLOCK_REALTIME
        wait.left = max(spec[0] + spec[1] / 1e9 - time.clock_gettime(clock), 0)

    def _futex(self, thread):
        """Find the object of a wait, and the threads that can end it."""
        wait = thread.wait
        private = bool(thread.arguments[1] & FUTEX_PRIVATE)
        found = self._object(thread, wait, private)
        wait.until = found.numbers.get("predicate")
        found.read_again = functools.partial(self._object, thread, wait,
                                             private)
        found = self._objects.setdefault((found.kind, found.address), found)
        found.waiters.append(thread)
        found.guess |= wait.guess
        wait.object = found
        if found.owner:
            wait.owners = [found.owner]
        elif found.is_free:         # the thread will be woken soon
            wait.outside = True
        elif found.given_up:
            wait.owners = []
        # POSIX lets a signal handler post; some programs also signal there.
        wait.by_handler = found.kind in ("semaphore", "futex", "condvar")
        if (not private and found.kind != "thread" and not wait.owners
                and self._is_shared(found.address)):
            wait.outside = True

    def _object(self, thread, wait, private):
        address, operation, value = thread.arguments[:3]
        value &= 0xffffffff
        memory, role = self._source, wait.role
        if role in ("mutex", "drover mutex") and self._has_given_up(
                thread, wait.guess):
            return objects.given_up(address)
        if role == "mutex" and not objects.may_be_mutex(memory, address):
            wait.role = "futex"
            return Object("futex", address, "lock")
        if role in ("mutex", "rwlock", "semaphore", "barrier"):
            return getattr(objects, role)(memory, address)
        if role == "thread":
            return self._joined(address, value) or Object("futex", address)
        if role == "condvar":
            read = condvar.of_sleeper(memory, address, self._layout)
            if read:
                return objects.condvar(read)
        elif role in ("signal", "destroy"):
            return self._quiesced(address, role, wait)
        elif role == "drover condvar":
            return self._drover_condvar(thread, wait, address, private)
        elif role.startswith("drover "):
            return self._drover_object(role, address)
        elif role == "lock":
            return Object("futex", address, "lock inside the C library")
        elif role == "once":
            return Object("once", address, "initialisation")
        elif role == "gomp":
            return Object("futex", address, "barrier or lock of libgomp")
        return self._by_words(thread, wait, private)

    def _joined(self, address, value):
        found = objects.joined(self._source, address, value)
        if found and found.owner in self._inner:
            found.name = str(self._inner[found.owner].tid)
        return found

    def _drover_condvar(self, thread, wait, address, private):
        found = drover_objects.condvar(self._source, address)
        native = not (wait.function or "").startswith(("pthread_", "cnd_"))
        if isinstance(found, Object):
            return found
        if found:                   # the waiter was moved to this mutex
            wait.role = "mutex"
            return (self._drover_object("drover mutex", found) if native
                    else objects.mutex(self._source, found))
        if not private:
            return drover_objects.shared_condvar(address)
        return self._by_words(thread, wait, private)

    def _drover_object(self, role, address):
        """An object of libdrover other than a condvar."""
        if role == "drover barrier":
            return drover_objects.barrier(self._source, address)
        if role == "drover destroy":
            return drover_objects.destroyed(self._source, address)
        if role != "drover mutex":
            return Object("futex", address, DROVER_WORK[role])
        found = drover_objects.mutex(self._source, address)
        number = found.numbers.get("number")
        if number:
            if self._numbers is None:
                self._numbers = drover_threads.numbers_of(self._source,
                                                          self._threads)
            owners, complete = self._numbers
            if number in owners:
                found.owner = owners[number].inner
            elif complete:          # the owner has ended: its id is unknown
                found.owner = -number
        return found

    def _quiesced(self, address, role, wait):
        """The object of a signal or a destroy that waits for waiters."""
        for layout in (condvar.OLD, condvar.NEW):
            for offset in ((condvar.WREFS[layout],) if role == "destroy"
                           else (16, 20, 24, 32)):
                read = condvar.read(self._source, address - offset, layout)
                if condvar.plausible(read) and (
                        role == "signal" or read.destroyed):
                    return objects.condvar(read)
        wait.guess = True
        return Object("futex", address)

    def _by_words(self, thread, wait, private):
        """Guess the object by its words, as no function is known."""
        address, operation, value = thread.arguments[:3]
        command, value = operation & FUTEX_COMMAND, value & 0xffffffff
        memory = self._source
        if not private:
            joined = self._joined(address, value)
            if joined and joined.owner in self._inner:
                wait.role = "thread"
                return joined
        named = wait.role == "futex" and wait.function
        wait.guess = True
        if command in PI_WAITS:
            wait.role = "mutex"
            return objects.mutex(memory, address)
        if not named and self._has_drover:
            found = drover_objects.condvar(memory, address)
            if isinstance(found, Object):
                return found
        if not named and objects.looks_like_mutex(
                memory, address, value, self._inner):
            wait.role = "mutex"
            return objects.mutex(memory, address)
        if not named and value == memory.number(address):
            read = condvar.of_sleeper(memory, address, self._layout)
            if objects.looks_like_semaphore(memory, address,
                                            self._nr_asleep(address)):
                wait.role = "semaphore"
                return objects.semaphore(memory, address)
            if condvar.plausible(read):
                wait.role = "condvar"
                return objects.condvar(read)
        wait.guess = False
        found = Object("futex", address)
        if value == 2 and not named:
            found.what = "lock inside the C library"
        return found

    def _nr_asleep(self, word):
        """How many threads sleep on a word."""
        return sum(thread.wait.futex == word for thread in self._threads)

    def _is_shared(self, address):
        """May another process use that memory?"""
        mapping = self._source.maps.at(address)
        if not mapping or mapping.rights[3] != "s":
            return False
        if not mapping.path.endswith(" (deleted)"):
            return True             # any process may map this file later
        if mapping.start not in self._shared:
            others, complete = self._source.others_that_map(mapping)
            self._shared[mapping.start] = bool(others) or not complete
        return self._shared[mapping.start]
