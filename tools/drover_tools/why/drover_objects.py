# SPDX-License-Identifier: MIT
"""Drover's own objects: lib/cond/group.h, lib/mutex, lib/barrier."""

from drover_tools.why.objects import Object, arrivals, not_taken

RELEASED, MOVED = 1, 2
TOKENS = (1 << 23) - 1
FLAGS = ("recursive ", "error-checking ", "priority-inheritance ", "robust ",
         "shared ")
PI, ROBUST, SHARED = 4, 8, 16
#: In struct cond: the flag of waits with a predicate; the offset of the flags.
AWAITED, FLAGS_AT = 1 << 31, 36
#: The offset of the condvar in struct awaiter, and the longest list of these.
OWN_AT, MOST_AWAITERS = 56, 1 << 16
#: In a barrier's gate.
ASLEEP = 1
TID_MASK = 0x3fffffff


def group(memory, word):
    """A group of waiters of a condvar, or None.

    A group lies at a multiple of 64: next, state, claim, refs and ahead,
    owner, mutex. Its members sleep on the low half of the state.
    """
    if word % 64 != 8:
        return None
    words = memory.numbers(word - 8, 7, "Q")
    owner = words and words[4]
    if not owner or not memory.read(owner, 48):
        return None
    return words


def is_closed(memory, owner, address):
    """Is that group the closed one of its condvar? A signal closes a group."""
    words = memory.numbers(owner, 12)
    return bool(words) and (words[11] << 32 | words[5] & ~3) == address


def condvar(memory, word):
    """The object for which a member of a group waits.

    Return: an Object of kind condvar; or the address of the mutex, if the
    waiter was moved there; or None.
    """
    found = group(memory, word)
    if not found:
        return None
    state, owner, mutex = found[1], found[4], found[5]
    if state & RELEASED and state & MOVED and mutex:
        return mutex
    awaited = awaited_by(memory, owner)
    if awaited:
        result = Object("condvar", awaited[0], "condition variable")
        result.numbers = {"predicate": awaited[1]}
        return result
    result = Object("condvar", owner, "condition variable")
    posted = state >> 3 & TOKENS
    result.numbers = {"waiting": state >> 32, "posted": posted,
                      "was_signalled": is_closed(memory, owner, word - 8)}
    if posted:
        result.details.append(not_taken(posted))
    return result


def awaited_by(memory, own):
    """(condvar, predicate) of a thread that waits with a predicate, or None.

    Such a thread sleeps on a condvar of its own, in its struct awaiter: next,
    predicate, arg, state, prev, mutex, of. The condvar that it waits for has
    the address of the first awaiter of its list.
    """
    awaiter = own - OWN_AT
    words = memory.numbers(awaiter, 7, "Q")
    condvar_words = words and memory.numbers(words[6], 12)
    if not condvar_words or not condvar_words[FLAGS_AT // 4] & AWAITED:
        return None
    at = condvar_words[4] | condvar_words[6] << 32
    for _ in range(MOST_AWAITERS):
        if at == awaiter:
            return words[6], words[1]
        at = memory.number(at, "Q") if at else None
        if not at:
            break
    return None


def destroyed(memory, word):
    """The condvar whose destroyer waits for waits with a predicate to end."""
    if (memory.number(word) or 0) & AWAITED:
        return Object("condvar", word - FLAGS_AT, "condition variable")
    return Object("futex", word)


def shared_condvar(word):
    """A condvar of several processes, whose waiters sleep on its fifth word.
    """
    found = Object("condvar", word - 16, "shared condition variable")
    found.shared = True
    return found


def kind_of(memory, address, value):
    """The kind of an object, if only the file of the function is known."""
    if group(memory, address):
        return "drover condvar"
    words = memory.numbers(address, 5)
    if words and value == 2 and words[2] < 32 and words[4] < 3:
        return "drover mutex"
    if words and value & ASLEEP and words[2]:
        return "drover barrier"
    return "futex"


def mutex(memory, address):
    """A drover_mutex_t; for an ordinary one the owner is libdrover's number.
    """
    found = Object("mutex", address)
    words = memory.numbers(address, 5)
    if words:
        flags = words[2]
        found.what = "".join(name for at, name in enumerate(FLAGS)
                             if flags >> at & 1) + "mutex"
        found.shared = bool(flags & SHARED)
        found.is_free = not words[0]
        if flags & (PI | ROBUST):
            found.owner = words[0] & TID_MASK or None
            found.robust_lost = words[4] == 1
        elif flags & SHARED:
            found.owner = words[1] or None
        else:
            found.numbers = {"number": words[1]}
    return found


def barrier(memory, gate):
    """A drover_barrier_t, on whose gate threads sleep."""
    found = Object("barrier", gate - 64)
    words = memory.numbers(gate, 3)
    if words and words[2]:
        count = words[2]
        arrived = memory.number(gate + (16 if count == 2 else 128), "Q")
        missing = words[1] - (arrived >> 32) & 0xffffffff
        found.numbers = {"arrived": count - missing, "count": count}
        found.details.append(arrivals(count - missing, count))
    return found
