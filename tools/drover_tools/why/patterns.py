# SPDX-License-Identifier: MIT
"""The faults that are known by name: a function for each pattern."""

import collections

from drover_tools.why.findings import (
    NOTE, ORDER, WELL, Finding, count, label, start, verb)
from drover_tools.why.machine import SLEEPS
from drover_tools.why.patterns_condvar import (
    condvars, condvars_awaited, condvars_in_use, lost_wakeups, pools)

#: So many threads that wait for one mutex are a convoy.
CONVOY = 8
#: What a thread of a healthy process does, and what several threads do.
DOINGS = {
    "runs": ("runs", "run"),
    "idle": ("waits until another thread wakes it",
             "wait until other threads wake them"),
    "behind": ("waits until another thread unlocks a lock or ends",
               "wait until other threads unlock locks or end"),
    "outside": ("waits for something outside the process, such as input or a"
                " time",
                "wait for something outside the process, such as input or a"
                " time"),
    "has ended": ("has ended", "have ended"),
}


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
                         f" {verb(behind, 'wait')} for one of these, or for"
                         " a thread that does")
        held = [thread.wait.object for thread in cycle
                if thread.wait.object.robust_lost]
        if held:
            yield Finding(
                "robust-owner-died", case.severity(cycle),
                f"Stuck: a thread ended while it held {held[0]}, and the"
                " thread that locked it next has neither repaired nor"
                " unlocked it.", lines,
                "A pthread_mutex_lock() that returns EOWNERDEAD has locked the"
                " mutex. Call pthread_mutex_consistent() then, and unlock the"
                " mutex afterwards.", cycle)
        elif len(cycle) == 1:
            what = cycle[0].wait.object
            does = ("for its own end" if what.kind == "thread"
                    else f"for {what}, which it holds itself")
            yield Finding(
                "self-deadlock", case.severity(cycle),
                f"Deadlock: {label(cycle[0])} waits {does}.", lines,
                "Is there a way out of a function that does not unlock? Or"
                " does the function, while it holds the lock, call another one"
                " that takes the lock?", cycle)
        else:
            joins = any(thread.wait.object.kind == "thread"
                        for thread in cycle)
            none = "neither" if len(cycle) == 2 else "none of them"
            yield Finding(
                "deadlock", case.severity(cycle),
                f"Deadlock: {len(cycle)} threads wait for each other, and"
                f" {none} can ever go on.", lines,
                "Do not join a thread while you hold a lock that it needs."
                if joins else
                "Take these locks in the same order everywhere, or never hold"
                " one while you wait for another.", cycle)


def dead_holders(case):
    """Locks whose owner has ended, or is not a thread of this process."""
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
            f" {verb(len(waiters), 'wait')} for {found}. It was locked by"
            f" {name}, which "
            + ("has ended without unlocking it." if ended
               else "is not a thread of this process."),
            [case.line(thread) for thread in waiters],
            "Is there a way out of the code that does not unlock it: an error,"
            " an exception, the end of the thread?" if ended else
            "It was locked when fork() made this process. If a program has"
            " threads, let its child call only exec() and other functions that"
            " signal handlers may call, or use pthread_atfork().", waiters)


def given_up(case):
    """Threads to which the kernel has refused a PI mutex."""
    waiters = [thread for thread in case.graph.threads
               if thread.wait.object and thread.wait.object.given_up]
    if waiters:
        behind = [thread for thread in case.graph.threads
                  if thread in case.likely and thread.wait.owners]
        yield Finding(
            "deadlock", case.severity(waiters),
            f"Deadlock: {label(waiters[0])} sleeps for ever. The kernel"
            " refused it a PI mutex, as the holder has ended or waits for this"
            " thread.", [case.line(thread) for thread in waiters + behind],
            "Take the mutexes in the same order everywhere. With a mutex of"
            " the error-checking type, pthread_mutex_lock() returns EDEADLK"
            " instead.", waiters + behind)


def read_locks(case):
    """Locks that are locked for reading, and that no thread can unlock."""
    for found in case.objects:
        waiters = [thread for thread in found.waiters if thread in case.likely
                   and not thread.wait.owners]
        if found.kind == "rwlock" and waiters:
            severity, nr = case.severity(waiters), len(waiters)
            yield Finding(
                "readers-stuck", severity,
                f"{start(severity)}: {count(nr, 'thread')}"
                f" {verb(nr, 'wait')} for {found}. It is locked for reading,"
                " and no thread is left that could unlock it.",
                [case.line(thread) for thread in waiters],
                "Does a thread that holds the read lock ask for the write"
                " lock, or, while a writer waits, for the read lock again? It"
                " has to unlock first.", waiters)


def short_barriers(case):
    for found in case.objects:
        waiters = [thread for thread in found.waiters if thread in case.likely]
        if found.kind == "barrier" and waiters and found.numbers:
            arrived, of = found.numbers["arrived"], found.numbers["count"]
            have = "has" if arrived == 1 else "have"
            severity = case.severity(waiters)
            yield Finding(
                "barrier-short", severity,
                f"{start(severity)}: {found} needs {count(of, 'thread')}, of"
                f" which {arrived} {have} arrived, and no thread is left that"
                " could arrive.", [case.line(thread) for thread in waiters],
                "Was the barrier initialised with the right number of threads?"
                " Does each thread reach it on every path through the code,"
                " also after an error?", waiters)


def semaphores(case):
    """Semaphores that no thread is left to post."""
    waiters = [thread for thread in case.graph.threads if thread in case.likely
               and thread.wait.object.kind == "semaphore"]
    if not waiters:
        return
    severity, nr = case.severity(waiters), len(waiters)
    which = {thread.wait.object for thread in waiters}
    what = (f"{waiters[0].wait.object}, and no thread is left that could post"
            " it" if len(which) == 1 else
            f"{len(which)} semaphores, and no thread is left that could post"
            " one of them")
    yield Finding(
        "nobody-posts", severity,
        f"{start(severity)}: {count(nr, 'thread')} {verb(nr, 'wait')} for"
        f" {what}.", [case.line(thread) for thread in waiters],
        "Is there a path through the code that leaves out sem_post()? A Lock"
        " of Python is a semaphore, too: does a thread take one while it holds"
        " another?", waiters)


def others(case):
    """The stuck threads that no other pattern is about.

    An idle worker of a pool waits rightly.
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
            f" {verb(len(left), 'wait')}, and no thread is left that could"
            " wake one.", [case.line(thread) for thread in left],
            "Which of these waits should have ended? The list of all threads"
            " shows where in the code each one waits.", left)


def held_across(case):
    """Holders that can go on, and the threads that wait for each of them."""
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
    # The longest chain of holders tells most.
    lines = max((case.chain(thread) for thread in threads), key=len)
    more = nr + 1 - len(lines)
    if more > 0:
        lines.append(f"{count(more, 'more thread')} {verb(more, 'wait')} for"
                     f" {label(holder)}, or for a thread that does")
    asleep = holder.call is not None and holder.wait.role != "runs"
    where = ("" if holder.frames else
             " `drover why --exact` shows where the holder is.")
    if nr >= CONVOY:
        return Finding(
            "convoy", NOTE,
            f"A convoy: {nr} threads wait for {lock}, and only one of them can"
            f" go on at a time. {label(holder)} holds it now, and"
            f" {holder.wait.text}.", lines,
            "Hold the lock for a shorter time, or split the data that it"
            " guards among several locks." + where, [holder] + threads)
    if asleep and holder.wait.object is None:
        what = ("sleeps" if holder.wait.role in SLEEPS else holder.wait.text)
        return Finding(
            "blocked-holder", NOTE,
            f"{count(nr, 'thread')} {verb(nr, 'wait')} until {label(holder)}"
            f" unlocks {lock}. But {holder.tid} does not run: it {what}.",
            lines, "Unlock before calls that may block.", [holder] + threads)
    return Finding(
        "contended", NOTE,
        f"{count(nr, 'thread')} {verb(nr, 'wait')} until {label(holder)}"
        f" unlocks {lock}.", lines, where.strip(), [holder] + threads)


def stopped(case):
    """Threads that a signal or a debugger has stopped."""
    threads = [thread for thread in case.graph.threads
               if thread.state in "Tt"]
    if threads:
        yield Finding(
            "stopped", NOTE,
            f"A signal (such as SIGSTOP) or a debugger has stopped"
            f" {len(threads)} of {count(len(case.graph.threads), 'thread')}.",
            [], "`kill -CONT PID` lets a stopped process go on. A debugger"
            " lets it go on when you leave the debugger.", threads)


def healthy(case):
    """The finding if there is no other: what the threads do."""
    nr = collections.Counter(map(doing, case.graph.threads))
    parts = [f"{count(nr[what], 'thread')} {does[nr[what] > 1]}"
             for what, does in DOINGS.items() if nr[what]]
    return Finding("well", WELL, "No stuck thread was found: "
                   + ", ".join(parts) + ".", [], "", [])


def doing(thread):
    """Which of DOINGS a thread of a healthy process does."""
    wait = thread.wait
    if wait.text in ("runs", "has ended"):
        return wait.text
    if wait.owners:
        return "behind"
    return "idle" if wait.object else "outside"


#: Of several findings about the same threads, only the first is kept.
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
