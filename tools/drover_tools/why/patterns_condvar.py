# SPDX-License-Identifier: MIT
"""What goes wrong with condition variables, by name."""

import collections

from drover_tools.why import condvar
from drover_tools.why.functions import own_frames
from drover_tools.why.findings import (
    LIKELY, STUCK, Finding, count, label, start, verb)

#: Files in whose programs all threads look alike.
INTERPRETERS = ("python", "libpython", "libjvm", "java", "node", "ruby")


def lost_wakeups(case):
    """Sourceware bug 25847 has struck."""
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
        where = (f"a signal to {found} went to nobody" if posted
                 else f"the next signal to {found} will go to nobody")
        guess = "" if sure else " (most likely)"
        yield Finding(
            "lost-wakeup", severity,
            f"A wake-up was lost, by bug 25847 of the C library{guess}:"
            f" {where}, and {count(len(found.waiters), 'thread')}"
            f" {verb(len(found.waiters), 'sleep')} on.",
            [case.line(thread) for thread in found.waiters],
            "Use glibc 2.41 or later, or a distribution that has the fix; or"
            " run the program by `drover run`, which cannot lose a wake-up"
            " that way. The program itself is not to blame.",
            found.waiters)


def condvars_in_use(case):
    """A signaller or destroyer that waits for waiters which cannot leave."""
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
        who = label(blocked[0])
        lines = [case.line(thread) for thread in blocked + asleep]
        if counted > here + more:
            missing = counted - here - more
            does = "destroys" if destroys else "signals"
            yield Finding(
                "waiters-gone", STUCK,
                f"Stuck: {who} {does} {found}, and waits until"
                f" {count(missing, 'waiter')} {verb(missing, 'leave')} it;"
                f" but there is no such thread any more.", lines,
                "They were killed, or are threads of the process that this"
                " one was forked from. Make the condition variable anew in the"
                " child of a fork; after a process was killed nobody can"
                " repair one that it shared. With `drover run` neither hangs.",
                blocked + asleep)
        elif destroys and here and not words.posted() and not any(
                thread.wait.timed for thread in asleep):
            yield destroyed(case, found, blocked, asleep, STUCK)


def destroyed(case, found, destroyers, asleep, severity):
    """Its destroyer waits for those who wait there, and they for a signal."""
    nr, both = len(asleep), destroyers + asleep
    return Finding(
        "destroyed-in-use", severity,
        f"{start(severity)}: {label(destroyers[0])} destroys {found}, while"
        f" {count(nr, 'thread')} still {verb(nr, 'wait')} there.",
        [case.line(thread) for thread in both],
        "Wake these threads and join them before the condition variable ends;"
        " a static object of C++ ends when main() returns.", both)


def condvars_awaited(case):
    """The destroyer of one of Drover's waits for waits with a predicate."""
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
    """Nobody is left to signal."""
    for found in case.objects:
        waiters = [thread for thread in found.waiters if thread in case.likely]
        if found.kind != "condvar" or not waiters:
            continue
        nr, severity = len(waiters), case.severity(waiters)
        head = (f"{start(severity)}: {count(nr, 'thread')} {verb(nr, 'wait')}"
                f" for {found}")
        lines = [case.line(thread) for thread in waiters]
        if signalled_in_part(found):
            yield Finding(
                "broadcast-needed", severity,
                f"{head}; a signal woke one of those that waited together, and"
                " nobody is left to wake the rest.", lines,
                "If one change is news for all of them, use"
                " pthread_cond_broadcast().", waiters)
            continue
        held = [thread for thread in case.likely
                if case.graph.owner(thread) in waiters
                and thread.wait.object.kind in ("mutex", "rwlock")]
        if held:
            lines += [case.line(thread) for thread in held]
            yield Finding(
                "nobody-signals", severity,
                f"{head}, while holding a lock that"
                f" {count(len(held), 'other thread')}"
                f" {verb(len(held), 'need')}; and nobody is left to signal"
                " it.", lines,
                "A wait unlocks only the mutex that it is given. Unlock all"
                " others that the thread needs which is to signal.", waiters)
            continue
        never = (found.condvar and not found.condvar.ever_signalled())
        yield Finding(
            "nobody-signals", severity,
            f"{head}, and nobody is left to signal it.", lines,
            ("No signal has ever found a thread there. " if never else "")
            + "The signal came before the wait, or never: change the condition"
            " with the mutex held, and look at it, with the mutex held, before"
            " each wait.", waiters)


def signalled_in_part(found):
    words = found.condvar
    if words:
        return (words.not_signalled()
                and words.orig_size > words.not_signalled()
                and any(words.slot_of(thread.wait.futex) == words.g1
                        for thread in found.waiters))
    return bool(found.numbers.get("was_signalled"))


def pools(case):
    """Workers that wait, inside of their tasks, for other tasks."""
    groups = collections.defaultdict(list)
    for thread in case.likely:
        own = own_frames(thread)
        if (len(own) > 2 and own[-1].name not in (None, "main")
                and not own[-1].module.startswith(INTERPRETERS)
                and thread.wait.object
                and thread.wait.object.kind in ("condvar", "semaphore")):
            groups[own[-1].name, own[0].address].append(thread)
    for (name, _), threads in groups.items():
        if len(threads) < 2:
            continue
        threads.sort(key=lambda thread: thread.tid)
        severity = case.severity(threads)
        yield Finding(
            "pool-waits-for-itself", severity,
            f"{start(severity)}: {len(threads)} threads that run {name}() wait"
            " inside of their tasks, and nobody is left to wake one. (A guess:"
            " a pool that waits for itself.)",
            [case.line(thread) for thread in threads],
            "A task must not wait for another one of the same pool: let it"
            " run tasks meanwhile, or let the other one go on where it ends.",
            threads)
