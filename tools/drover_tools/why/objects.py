# SPDX-License-Identifier: MIT
"""The objects that threads wait for, from the words of glibc's objects."""

from drover_tools.why.condvar import OLD, Condvar
from drover_tools.why.texts import count, times

ROBUST, PI, PROTECT, SHARED = 0x10, 0x20, 0x40, 0x80
#: The bits of a mutex's kind: type, protocol, process-shared, elision, and
#: whether there is a ceiling.
KINDS = 0x3f3
COUNT_MOST = 1 << 24
#: struct pthread: its largest size, the offset of the tid, and the number of
#: states that a thread may have.
DESCRIPTOR, TID_AT, MOST_STATES = 4096, 720, 8
TYPES = ("", "recursive ", "error-checking ", "adaptive ")
TID_MASK = 0x3fffffff
OWNER_DIED = 0x40000000
#: A bit of a read-write lock: it is the turn of writers.
WRITING = 1
#: The owner in a robust mutex that must still be made consistent.
INCONSISTENT = 0x7fffffff
#: A detail of a condition variable.
BEING_DESTROYED = "it is being destroyed"


def arrivals(arrived, of):
    return f"{arrived} of {of} {'has' if arrived == 1 else 'have'} arrived"


def not_taken(posted):
    """The detail of a condition variable with so many posted signals."""
    return (f"{count(posted, 'wake-up')} {'was' if posted == 1 else 'were'}"
            " sent that no thread has taken")


class Object:
    """An object that threads wait for.

    kind: mutex, condvar, rwlock, barrier, semaphore, thread, once, futex, ...
    owner: the only thread that can end a wait, by the program's number
    details: sentences about the object's state
    """

    def __init__(self, kind, address, what=None):
        self.kind, self.address = kind, address
        self.what = what or kind
        self.name = None            # its symbol, or its place in memory
        self.symbol = None          # the symbol, and the offset from its start
        self.owner = None
        self.details = []
        self.condvar = None
        self.robust_lost = self.guess = self.shared = False
        self.is_free = False        # no thread holds it any more
        self.given_up = False       # no thread can end the wait
        self.read_again = None      # a function that reads the object anew
        self.numbers = {}
        self.waiters = []

    def __str__(self):
        if self.given_up:
            return f"a {self.what}"
        if self.symbol:
            name, offset = self.symbol
            into = f"{count(offset, 'byte')} into " if offset else ""
            return f"the {self.what} {into}'{name}'"
        return f"the {self.what} {self.name or hex(self.address)}"


def mutex(memory, address):
    """A pthread_mutex_t."""
    words = memory.numbers(address, 5)
    found = Object("mutex", address)
    if not words:
        return found
    word, count, owner, _, kind = words
    found.shared = bool(kind & SHARED)
    found.what = ("priority-inheritance " * bool(kind & PI)
                  + "robust " * bool(kind & ROBUST)
                  + f"{TYPES[kind & 3]}mutex")
    if kind & (ROBUST | PI):
        found.robust_lost = owner == INCONSISTENT or bool(word & OWNER_DIED)
        owner = word & TID_MASK
    found.owner = owner if word and owner else None
    found.is_free = not word
    found.numbers = {"word": word, "kind": kind, "count": count}
    return found


def may_be_mutex(memory, address):
    """Can these words be those of a mutex?"""
    words = memory.numbers(address, 5)
    return words and not words[4] & ~KINDS and words[1] < COUNT_MOST and (
        words[4] & (ROBUST | PI) or words[0] in (0, 1, 2))


def given_up(word):
    """A word on a thread's own stack, on which the thread sleeps for ever.

    The kernel refused a PI mutex to the thread, as the owner has ended or
    waits for the thread itself. pthread_mutex_lock() must not report this of
    a normal mutex, and so glibc sleeps instead.
    """
    found = Object("mutex", word,
                   "priority-inheritance mutex that it can never get")
    found.name, found.given_up = "", True
    return found


def looks_like_mutex(memory, address, value, tids):
    """Can a thread wait there for a mutex that another of these threads holds?
    """
    words = memory.numbers(address, 5)
    if not words or not may_be_mutex(memory, address):
        return False
    if words[4] & (ROBUST | PI):
        return words[0] & TID_MASK in tids and bool(value & TID_MASK)
    return value == 2 and words[2] in tids


def rwlock(memory, word):
    """A pthread_rwlock_t; threads sleep on one of its first four words."""
    # It begins at a multiple of 8.
    for offset in (12,) if word % 8 else (8, 0):
        words = memory.numbers(word - offset, 14)
        # The words of a real lock: "shared" is 0 or 1, and the flags exist.
        if words and words[7] in (0, 1) and words[12] < 3 and (
                words[0] >> 3 or words[0] & 3 or words[6]):
            break
    else:
        return Object("rwlock", word, "read-write lock")
    found = Object("rwlock", word - offset, "read-write lock")
    readers = words[0] >> 3
    found.owner = words[6] or None
    found.shared = bool(words[7])
    # In a phase of writing, the readers that wait are counted as well.
    found.numbers = {"readers": 0 if words[0] & WRITING else readers}
    if found.numbers["readers"] and not found.owner:
        found.details.append(f"it is locked for reading {times(readers)} (the"
                             " C library does not record by which threads)")
    return found


def looks_like_semaphore(memory, word, asleep):
    """Are these the words of a semaphore: value, sleepers, private or not?"""
    words = memory.numbers(word, 3)
    return words and words[:2] == (0, asleep) and words[2] in (0, 128)


def semaphore(memory, word):
    found = Object("semaphore", word)
    words = memory.numbers(word, 2)
    if words:
        found.numbers = {"value": words[0], "waiting": words[1]}
    return found


def barrier(memory, word):
    """A pthread_barrier_t, on whose second word threads sleep."""
    found = Object("barrier", word - 4)
    words = memory.numbers(word - 4, 5)
    if words:
        arrived = words[0] - words[1]
        found.numbers = {"arrived": arrived, "count": words[2]}
        found.shared = bool(words[3])
        found.details.append(arrivals(arrived, words[2]))
    return found


def condvar(words_of):
    """The object of a pthread_cond_t whose words were read."""
    assert isinstance(words_of, Condvar)
    found = Object("condvar", words_of.address, "condition variable")
    found.condvar, found.shared = words_of, words_of.shared
    posted = words_of.posted()
    if posted:
        found.details.append(not_taken(posted))
    if words_of.layout == OLD and words_of.destroyed:
        found.details.append(BEING_DESTROYED)
    return found


def tid_of(memory, address):
    """The id of the thread in whose struct pthread an address lies (x86-64).
    """
    for begin in range(address & -64, address - DESCRIPTOR, -64):
        if memory.descriptor_at(begin):
            return memory.number(begin + TID_AT)
    return None


def joined(memory, word, value):
    """The thread for whose end another one waits, or None.

    When a thread ends, the kernel clears the word on which the other sleeps:
    the thread's id, and since glibc 2.43 a state beside it.
    """
    now = memory.number(word)
    tid = value if value > MOST_STATES else tid_of(memory, word)
    if not tid:
        return None
    found = Object("thread", word)
    found.owner = tid if now else None
    found.is_free = not now
    found.name = str(tid)
    return found
