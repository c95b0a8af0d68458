# SPDX-License-Identifier: MIT
"""gdb's printers for condvars, mutexes, barriers and pools.

Use: gdb -x drover_gdb.py. The members of the structures come from the
library's debug information; the headers of the structures explain the bits of
the words. pthread_cond_t is printed in the same way if the drop-in is loaded.
"""

import gdb

GROUP_BITS = ("released", "moved", "no sleepers")
MUTEX_FLAGS = ("recursive", "errorcheck", "PI", "robust", "shared")
TID_MASK = 0x3fffffff
WORDS = ("free", "locked", "locked, with sleepers")
COND_SHARED, COND_AWAITED = 1, 1 << 31


def number(value):
    """The value as a number; it may be atomic."""
    return int(value.cast(gdb.lookup_type("unsigned long")))


def field(value, name):
    return number(value[name])


def inside(value, name):
    """The same memory as a structure that only the library knows."""
    kind = gdb.lookup_type(f"struct {name}")
    return value.address.cast(kind.pointer()).dereference()


def flags_of(bits, names):
    """Names of the bits that are set."""
    return [name for at, name in enumerate(names) if bits >> at & 1]


def group_text(group):
    """A group of waiters in words: group.h."""
    state = field(group, "state")
    signalled = state >> 3 & (1 << 23) - 1
    parts = [f"{state >> 32} waiting", f"{signalled} signalled"]
    return ", ".join(parts + flags_of(state, GROUP_BITS))


def groups_of(cond):
    """(name, group) of each group of a private condvar: cond.h."""
    kind = gdb.lookup_type("struct group").pointer()
    low = field(cond, "closed_low")
    closed = low & 1 and field(cond, "closed_high") << 32 | low & ~3
    for name, at in (("closed", closed), ("open", field(cond, "open"))):
        if at:
            group = gdb.Value(at).cast(kind).dereference()
            # A recycled group belongs to another condvar, or to none.
            if field(group, "owner") == int(cond.address):
                yield name, group


def predicates_of(cond):
    """The predicates that threads wait for, the oldest wait first: await.c."""
    at = field(cond, "await_high") << 32 | field(cond, "await_low")
    while field(cond, "flags") & COND_AWAITED and at:
        awaiter = gdb.Value(at).cast(
            gdb.lookup_type("struct awaiter").pointer()).dereference()
        text = str(awaiter["predicate"])        # its address, and <its name>
        yield text.partition("<")[2].rstrip(">") or text
        at = field(awaiter, "next")


def shared_text(cond):
    """Both groups of a shared condvar in words: shared.h."""
    state = number(cond["shared"]["state"])
    young, old, signalled = (state >> at & (1 << 13) - 1 for at in (0, 13, 26))
    return f"{young + old} waiting, {signalled} signalled"


class Cond:
    """A condition variable."""

    def __init__(self, value):
        self._cond = inside(value, "cond")

    def to_string(self):
        cond = self._cond
        if field(cond, "flags") & COND_SHARED:
            return "condvar, shared: " + shared_text(cond)
        found = [f"{name} group: {group_text(group)}"
                 for name, group in groups_of(cond)]
        found += [f"one thread waits until {name}"
                  for name in predicates_of(cond)]
        return "condvar: " + ("; ".join(found) or "no thread waits")


class Mutex:
    """A drover_mutex_t."""

    def __init__(self, value):
        self._mutex = inside(value, "mutex")

    def to_string(self):
        mutex = self._mutex
        word, owner = field(mutex, "word"), field(mutex, "owner")
        names = flags_of(field(mutex, "flags"), MUTEX_FLAGS)
        if "PI" in names or "robust" in names:
            text = f"locked by thread {word & TID_MASK}" if word else WORDS[0]
        else:
            text = WORDS[word] if word < len(WORDS) else f"{word:#x}"
            if owner:
                text += (f" by thread {owner}" if "shared" in names else
                         f" by the library's thread {owner}")
        count = field(mutex, "count")
        if count:
            text += f", {count + 1} times"
        return f"mutex, {' '.join(names)}: {text}" if names else (
            f"mutex: {text}")


class Barrier:
    """A drover_barrier_t."""

    def __init__(self, value):
        self._barrier = inside(value, "barrier")

    def to_string(self):
        barrier = self._barrier
        count = field(barrier, "count")
        if not count:
            return "barrier: not initialised"
        gate = field(barrier, "gate")
        of = barrier["near" if count == 2 else "far"]
        missing = (gate >> 32) - (field(of, "arrived") >> 32)
        arrived, asleep = count - (missing & 0xffffffff), gate & 1
        return (f"barrier of {count}, arrived: {arrived}"
                + ", some may sleep" * asleep)


class Pool:
    """A drover_pool_t."""

    def __init__(self, value):
        self._pool = value.cast(gdb.lookup_type("struct drover_pool"))

    def to_string(self):
        pool = self._pool
        ending = ("", ", draining", ", cancelling")[field(pool, "ending")]
        return (f"pool: {field(pool, 'nr_workers')} workers,"
                f" {field(pool, 'nr_idle')} idle,"
                f" {field(pool, 'nr_queued')} tasks queued{ending}")


PRINTERS = {"drover_cond_t": Cond, "cond": Cond, "drover_mutex_t": Mutex,
            "mutex": Mutex, "drover_barrier_t": Barrier, "barrier": Barrier,
            "drover_pool_t": Pool, "drover_pool": Pool}


def find(value):
    """The printer of a value, or None."""
    kind = value.type.unqualified()
    name = kind.name or kind.strip_typedefs().tag
    if name == "pthread_cond_t":
        return Cond(value) if gdb.lookup_static_symbol(
            "drop_in_cond_wait") else None
    found = PRINTERS.get(name)
    # Without the library's debug information the types are unknown.
    try:
        return found(value) if found else None
    except gdb.error:
        return None


def ask_first(objfile):
    """Print by find(), before the object file's own printers.

    glibc has printers until 2.33; one of them is for pthread_cond_t.
    """
    objfile.pretty_printers.insert(0, find)


for loaded in gdb.objfiles():
    ask_first(loaded)
gdb.events.new_objfile.connect(lambda event: ask_first(event.new_objfile))
