# SPDX-License-Identifier: MIT
"""What goes wrong, by name: a function for each pattern."""

import collections

from drover_tools.why.findings import (
    NOTE, ORDER, WELL, Finding, count, label, start, verb)
from drover_tools.why.machine import SLEEPS
from drover_tools.why.patterns_condvar import (
    condvars, condvars_awaited, condvars_in_use, lost_wakeups, pools)

#: So many threads at one mutex are a convoy.
CONVOY = 8


def deadlocks(case):
    """Threads that wait for one another."""
    for cycle in case.graph.cycles(case.graph.threads):
        if not set(cycle) <= case.likely:
            continue
        lines = [case.line(thread) for thread in cycle]
        behind = sum(thread.wait.object.kind != "thread"
                     for thread in case.behind(cycle))
        if behind:
            lines.append(f"{count(behind, 'more thread')}"
                         f" {verb(behind, 'wait')} for one of these")
        held = [thread.wait.object for thread in cycle
                if thread.wait.object.robust_lost]
        if held:
            yield Finding(
                "robust-owner-died", case.severity(cycle),
                f"Stuck: {held[0]} was left by an owner that died, and the"
                " thread that took it over has neither repaired nor unlocked"
                " it.", lines,
                "pthread_mutex_lock() returned EOWNERDEAD, and has locked the"
                " mutex: call pthread_mutex_consistent(), and unlock it.",
                cycle)
        elif len(cycle) == 1:
            what = cycle[0].wait.object
            does = ("for its own end" if what.kind == "thread"
                    else f"for {what}, which it holds itself")
            yield Finding(
                "self-deadlock", case.severity(cycle),
                f"Deadlock: {label(cycle[0])} waits {does}.", lines,
                "Is there a way out of the function that does not unlock? Or"
                " is a function called with the mutex held that takes it?",
                cycle)
        else:
            joins = any(thread.wait.object.kind == "thread"
                        for thread in cycle)
            yield Finding(
                "deadlock", case.severity(cycle),
                f"Deadlock: {len(cycle)} threads wait for each other, and will"
                " for ever.", lines,
                "Do not hold a lock that a thread needs while you wait for its"
                " end." if joins else
                "Take these locks in the same order everywhere, or never hold"
                " one while you wait for another.", cycle)


def dead_holders(case):
    """The owner is no more."""
    for found in case.objects:
        waiters = [thread for thread in found.waiters
                   if thread.wait.owners and thread in case.likely]
        if found.kind not in ("mutex", "rwlock") or not waiters:
            continue
        owner = case.graph.owner(waiters[0])
        if not isinstance(owner, int):
            continue
        ended = case.graph.is_gone(owner)
        name = case.owner_name(waiters[0], owner)
        yield Finding(
            "holder-ended", case.severity(waiters),
            f"Stuck: {count(len(waiters), 'thread')}"
            f" {verb(len(waiters), 'wait')} for {found}, and its holder, "
            + (f"{'thread ' * (owner > 0)}{name}, has ended without unlocking"
               " it." if ended else f"{name}, is no thread of this process."),
            [case.line(thread) for thread in waiters],
            "Is there a way out of the code that does not unlock it: an error,"
            " an exception, the end of the thread?" if ended else
            "It was locked when the process was forked: call only exec() and"
            " such in the child of a program with threads, or use"
            " pthread_atfork().", waiters)


def given_up(case):
    """The kernel found a deadlock of PI mutexes."""
    waiters = [thread for thread in case.graph.threads
               if thread.wait.object and thread.wait.object.given_up]
    if waiters:
        behind = [thread for thread in case.graph.threads
                  if thread in case.likely and thread.wait.owners]
        yield Finding(
            "deadlock", case.severity(waiters),
            "Deadlock: the kernel has found one among PI mutexes (or one"
            f" whose owner is no more), and {label(waiters[0])} sleeps for"
            " ever.", [case.line(thread) for thread in waiters + behind],
            "Take the mutexes in the same order everywhere. With a mutex of"
            " the error-checking type, pthread_mutex_lock() returns EDEADLK"
            " instead.", waiters + behind)


def read_locks(case):
    """Locked for reading, and nobody is left to unlock."""
    for found in case.objects:
        waiters = [thread for thread in found.waiters if thread in case.likely
                   and not thread.wait.owners]
        if found.kind == "rwlock" and waiters:
            severity, nr = case.severity(waiters), len(waiters)
            yield Finding(
                "readers-stuck", severity,
                f"{start(severity)}: {count(nr, 'thread')}"
                f" {verb(nr, 'wait')} for {found}, which is locked for"
                " reading, and nobody is left to unlock it.",
                [case.line(thread) for thread in waiters],
                "Does a reader ask for the write lock, or for the read lock"
                " once more while a writer waits? Unlock it before.", waiters)


def short_barriers(case):
    for found in case.objects:
        waiters = [thread for thread in found.waiters if thread in case.likely]
        if found.kind == "barrier" and waiters and found.numbers:
            arrived, of = found.numbers["arrived"], found.numbers["count"]
            yield Finding(
                "barrier-short", case.severity(waiters),
                f"Stuck: {arrived} of {of} threads have come to {found}, and"
                " nobody is left to come.",
                [case.line(thread) for thread in waiters],
                "Is the barrier made for as many threads as there are, and"
                " does each get there on every way?", waiters)


def semaphores(case):
    """Nobody is left to post one."""
    waiters = [thread for thread in case.graph.threads if thread in case.likely
               and thread.wait.object.kind == "semaphore"]
    if not waiters:
        return
    severity, nr = case.severity(waiters), len(waiters)
    which = {thread.wait.object for thread in waiters}
    what = (f"{waiters[0].wait.object}, and nobody is left to post it"
            if len(which) == 1 else
            f"{len(which)} semaphores, and nobody is left to post one")
    yield Finding(
        "nobody-posts", severity,
        f"{start(severity)}: {count(nr, 'thread')} {verb(nr, 'wait')} for"
        f" {what}.", [case.line(thread) for thread in waiters],
        "Is there a way on which sem_post() is left out? In Python, a Lock is"
        " a semaphore: is one taken while another is held?", waiters)


def others(case):
    """Whatever they wait for, nobody is left.

    An idle worker of a pool is right to wait.
    """
    left = sorted((thread for thread in case.likely
                   if thread not in case.claimed
                   and thread.wait.role != "drover worker"
                   and not thread.wait.owners), key=lambda one: one.tid)
    if left:
        severity = case.severity(left)
        yield Finding(
            "nobody-left", severity,
            f"{start(severity)}: {count(len(left), 'thread')}"
            f" {verb(len(left), 'wait')}, and nobody is left to wake one.",
            [case.line(thread) for thread in left],
            "Which of these waits should have ended? The places are below.",
            left)


def held_across(case):
    """A holder that is itself asleep, outside; and convoys."""
    ends = collections.defaultdict(list)
    for thread in case.graph.threads:
        if thread in case.likely or not thread.wait.owners:
            continue
        seen, last, lock = set(), thread, None
        while not isinstance(last, (int, type(None))) and last not in seen:
            seen.add(last)
            if case.graph.owner(last) is None:
                break
            lock = last.wait.object
            last = case.graph.owner(last)
        if lock and lock.kind in ("mutex", "rwlock") and not isinstance(
                last, (int, type(None))):
            ends[last].append((thread, lock))
    for holder, waiting in ends.items():
        yield one_holder(case, holder, waiting)


def one_holder(case, holder, waiting):
    threads, lock = [thread for thread, _ in waiting], waiting[0][1]
    nr = len(threads)
    # The longest way there is says most.
    lines = max((case.chain(thread) for thread in threads), key=len)
    if nr > 1:
        lines.append(f"and {nr - 1} more that wait for {label(holder)}"
                     " in the end")
    asleep = holder.call is not None and holder.wait.role != "runs"
    where = ("" if holder.frames else
             " `drover why --exact` shows where the holder is.")
    if nr >= CONVOY:
        return Finding(
            "convoy", NOTE,
            f"A convoy: {nr} threads wait for {lock}, one behind the other."
            f" Its holder {label(holder)} {holder.wait.text}.", lines,
            "Hold the mutex for a shorter time, or split what it guards."
            + where, [holder] + threads)
    if asleep and holder.wait.object is None:
        what = ("sleeps" if holder.wait.role in SLEEPS else holder.wait.text)
        return Finding(
            "blocked-holder", NOTE,
            f"{count(nr, 'thread')} {verb(nr, 'wait')} for a lock whose holder"
            f" is blocked: {label(holder)} {what}, and holds {lock}.", lines,
            "Unlock before calls that may block.", [holder] + threads)
    return Finding(
        "contended", NOTE,
        f"{count(nr, 'thread')} {verb(nr, 'wait')} for {lock}, which"
        f" {label(holder)} holds.", lines, where.strip(), [holder] + threads)


def stopped(case):
    """By a signal, or by a debugger."""
    threads = [thread for thread in case.graph.threads
               if thread.state in "Tt"]
    if threads:
        yield Finding(
            "stopped", NOTE,
            f"Stopped by a signal or by a debugger: {len(threads)} of"
            f" {count(len(case.graph.threads), 'thread')}.", [],
            "kill -CONT lets a stopped process go on; a debugger does so when"
            " it is left.", threads)


def healthy(case):
    """Nothing is stuck."""
    threads = case.graph.threads
    idle = [thread for thread in threads if thread.wait.object
            and not thread.wait.owners]
    runs = [thread for thread in threads if thread.wait.text == "runs"]
    rest = len(threads) - len(idle) - len(runs)
    parts = [f"{count(len(runs), 'thread')} {verb(len(runs), 'run')}"
             * bool(runs),
             f"{count(len(idle), 'thread')} {verb(len(idle), 'wait')} for"
             " news from others" * bool(idle),
             f"{count(rest, 'thread')} {verb(rest, 'wait')} for something"
             " outside, for time, or for one of these" * bool(rest)]
    return Finding("well", WELL, "Nothing is known to be stuck: "
                   + ", ".join(filter(None, parts)) + ".", [], "", [])


#: The first of them that speaks of a thread explains it.
PATTERNS = (lost_wakeups, condvars_in_use, deadlocks, given_up, dead_holders,
            read_locks, short_barriers, pools, condvars_awaited, condvars,
            semaphores, others, held_across, stopped)


def find_all(case):
    """All findings, the worst first."""
    found = []
    for pattern in PATTERNS:
        for finding in list(pattern(case)):
            if finding.threads and set(finding.threads) <= case.claimed:
                continue
            case.claimed |= set(finding.threads)
            found.append(finding)
    found.sort(key=lambda finding: ORDER.index(finding.severity))
    return found or [healthy(case)]
