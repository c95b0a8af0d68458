# SPDX-License-Identifier: MIT
"""The faults with condition variables that are known by name."""

import collections

from drover_tools.why import condvar
from drover_tools.why.functions import own_frames
from drover_tools.why.findings import (
    LIKELY, STUCK, Finding, label, start)
from drover_tools.why.texts import count, verb

#: How the names of interpreters' files begin: all threads of their programs
#: look alike.
INTERPRETERS = ("python", "libpython", "libjvm", "java", "node", "ruby")


def lost_wakeups(case):
    """Condition variables in which sourceware bug 25847 has struck."""
    for found in case.objects:
        words = [thread.wait.futex for thread in found.waiters
                 if thread.wait.role == "condvar"]
        if found.kind != "condvar" or not found.condvar or found.shared:
            continue
        how = condvar.has_lost(found.condvar, words)
        if not how or not case.nobody_inside(found):
            continue
        stuck = set(found.waiters) <= case.likely
        traceless = not case.may_time_out()
        if how == "doubtful" and not stuck and not traceless:
            continue
        severity = (STUCK if how == "certain" else
                    case.severity(found.waiters) if stuck else LIKELY)
        sure = how == "certain" or stuck and traceless
        posted = found.condvar.posted()
        where = (f"a signal to {found} woke no thread" if posted
                 else f"the next signal to {found} will wake no thread")
        begin = "A" if sure else "Most likely a"
        nr = len(found.waiters)
        yield Finding(
            "lost-wakeup", severity,
            f"{begin} wake-up was lost because of bug 25847 of the C library:"
            f" {where}, and {count(nr, 'thread')} still {verb(nr, 'sleep')}.",
            [case.line(thread) for thread in found.waiters],
            "The program is not at fault. Use glibc 2.41 or later, or a"
            " distribution that has the fix; or run the program with `drover"
            " run`, which cannot lose a wake-up in this way.",
            found.waiters)


def condvars_in_use(case):
    """Signals and destroys that wait for waiters which cannot return."""
    for found in case.objects:
        blocked = [thread for thread in found.waiters
                   if thread.wait.role in ("signal", "destroy")]
        if not blocked or not found.condvar:
            continue
        words = found.condvar
        asleep = [thread for thread in found.waiters
                  if thread.wait.role == "condvar"]
        destroys = blocked[0].wait.role == "destroy"
        here = sum(destroys or words.slot_of(thread.wait.futex) == words.g1
                   for thread in asleep)
        counted = words.nr_waiters if destroys else words.refs[words.g1] >> 1
        more = case.foreign(found)
        if more is None or not case.nobody_inside(found):
            continue
        lines = [case.line(thread) for thread in blocked + asleep]
        if counted > here + more:
            missing = counted - here - more
            do = "does" if missing == 1 else "do"
            yield Finding(
                "waiters-gone", STUCK,
                f"Stuck: {label(blocked[0])} {blocked[0].wait.text}, and can"
                " never finish: the C library still counts"
                f" {count(missing, 'waiter')} that {do} not exist. Probably"
                f" {probable_end(found.shared, missing)}.", lines,
                "After fork(), let the child initialise the condition variable"
                " again before it uses it. If a process was killed that shared"
                " the condition variable, this cannot be repaired: make a new"
                " one. Or run the program with `drover run`: it hangs in"
                " neither of these two cases.", blocked + asleep)
        elif destroys and here and not words.posted() and not any(
                thread.wait.timed for thread in asleep):
            yield destroyed(case, found, blocked, asleep, STUCK)


def probable_end(shared, nr):
    """Why so many waiters may be gone: a guess from what is usual."""
    if shared:
        return ("it was" if nr == 1 else "they were") + (
            " killed while waiting")
    return ("it is a thread" if nr == 1 else "they are threads") + (
        " of the parent process, from before fork()")


def destroyed(case, found, destroyers, asleep, severity):
    """The finding about a destroyer that waits for waiters of the object."""
    nr, both = len(asleep), destroyers + asleep
    return Finding(
        "destroyed-in-use", severity,
        f"{start(severity)}: {label(destroyers[0])} is destroying {found}, and"
        f" cannot finish while {count(nr, 'thread')} still"
        f" {verb(nr, 'wait')} for it.", [case.line(thread) for thread in both],
        "Before the condition variable is destroyed, wake the threads that"
        " wait for it, and join them."
        + " C++ destroys a static object when main() returns."
        * case.has("libstdc++", "libc++"), both)


def condvars_awaited(case):
    """Destroyers of Drover's condvars that wait for waits with a predicate."""
    for found in case.objects:
        waiters = [thread for thread in found.waiters if thread in case.likely]
        destroyers = [thread for thread in waiters
                      if thread.wait.role == "drover destroy"]
        if destroyers:
            yield destroyed(case, found, destroyers,
                            [thread for thread in waiters
                             if thread not in destroyers],
                            case.severity(waiters))


def condvars(case):
    """Condition variables that no thread is left to signal."""
    for found in case.objects:
        waiters = [thread for thread in found.waiters if thread in case.likely]
        if found.kind != "condvar" or not waiters:
            continue
        nr, severity = len(waiters), case.severity(waiters)
        head = (f"{start(severity)}: {count(nr, 'thread')} {verb(nr, 'wait')}"
                f" for {found}")
        lines = [case.line(thread) for thread in waiters]
        rest = case.others_stuck(waiters)
        if signalled_in_part(found):
            yield Finding(
                "broadcast-needed", severity,
                f"{head}. A signal woke another thread that waited with"
                f" {'it' if nr == 1 else 'them'}, and no thread can send"
                f" another signal: {rest}.", lines,
                "A signal wakes one thread. If all threads wait for the same"
                " change, announce it by pthread_cond_broadcast().", waiters)
            continue
        held = [thread for thread in case.likely
                if case.graph.owner(thread) in waiters
                and thread.wait.object.kind in ("mutex", "rwlock")]
        if held:
            yield kept_lock(case, waiters, sorted(
                held, key=lambda thread: thread.tid), head, rest)
            continue
        never = found.condvar and not found.condvar.ever_signalled()
        yield Finding(
            "nobody-signals", severity, head
            + (". No signal has found a waiter there so far, and"
               if never else ", and")
            + f" no thread can signal it: {rest}.", lines,
            "Was the signal sent before the wait, or never? A signal to a"
            " condition variable for which no thread waits is not kept. If"
            " what the waiter tests changes without the mutex, the signal can"
            " come between the test and the wait. So lock the mutex for the"
            " change, and before each wait test with the mutex locked.",
            waiters)


def kept_lock(case, waiters, held, head, rest):
    """The finding about waiters one of which holds a lock that others need."""
    holder, lock = case.graph.owner(held[0]), held[0].wait.object
    more = sum(thread.wait.object is lock for thread in held) - 1
    need = f"and {count(more, 'more thread')} need" if more else "needs"
    return Finding(
        "nobody-signals", case.severity(waiters),
        f"{head}. During its wait {label(holder)} holds {lock}, which"
        f" {label(held[0])} {need}. No thread can signal the condition"
        f" variable: {rest}.",
        [case.line(thread) for thread in waiters + held],
        "A wait unlocks only the mutex that it is given. Before the wait,"
        " unlock every other lock that the signalling thread needs.", waiters)


def signalled_in_part(found):
    words = found.condvar
    if words:
        return (words.not_signalled()
                and words.orig_size > words.not_signalled()
                and any(words.slot_of(thread.wait.futex) == words.g1
                        for thread in found.waiters))
    return bool(found.numbers.get("was_signalled"))


def pools(case):
    """Workers of a pool that wait, inside their tasks, for other tasks."""
    groups = collections.defaultdict(list)
    for thread in case.likely:
        own = own_frames(thread)
        if (len(own) > 2 and own[-1].name not in (None, "main")
                and not own[-1].module.startswith(INTERPRETERS)
                and thread.wait.object
                and thread.wait.object.kind in ("condvar", "semaphore")):
            groups[own[-1].name, own[0].address].append(thread)
    for (name, _), workers in groups.items():
        if len(workers) < 2:
            continue
        severity = case.severity(workers)
        # Threads that wait for the same objects wait for what the workers do.
        objects = {thread.wait.object for thread in workers}
        threads = sorted((thread for thread in case.likely
                          if thread.wait.object in objects),
                         key=lambda thread: thread.tid)
        yield Finding(
            "pool-waits-for-itself", severity,
            f"{start(severity)}: {len(workers)} threads that run {name}()"
            " wait, and no thread can wake one:"
            f" {case.others_stuck(workers)}. A guess: each of them runs a task"
            " of a pool, and waits for another task of the same pool.",
            [case.line(thread) for thread in threads],
            "Do not let a task wait for another task of the same pool. Let it"
            " run other tasks while it waits, or let the other task start what"
            " comes after it.", threads)
