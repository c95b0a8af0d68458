# SPDX-License-Identifier: MIT
"""The faults that are known by name: a function for each pattern."""

import collections

from drover_tools.why.findings import (
    NOTE, ORDER, WELL, Finding, label, owner_name, start)
from drover_tools.why.patterns_condvar import (
    condvars, condvars_awaited, condvars_in_use, lost_wakeups, pools)
from drover_tools.why.texts import action, count, times, verb

#: So many threads that wait for one mutex are a convoy.
CONVOY = 8
#: The verbs for a thread of a healthy process, and for several threads.
DOINGS = {
    "runs": ("runs", "run"),
    "idle": ("waits for another thread to wake it, as an idle thread does",
             "wait for other threads to wake them, as idle threads do"),
    "behind": ("waits until another thread unlocks a lock or ends",
               "wait until other threads unlock locks or end"),
    "outside": ("waits for something outside the process, such as input or a"
                " time",
                "wait for something outside the process, such as input or a"
                " time"),
    "has ended": ("has ended", "have ended"),
}


def api_of(thread):
    """How the names of the functions of a thread's mutex begin."""
    return "drover" if thread.wait.role == "drover mutex" else "pthread"


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
                         f" {verb(behind, 'wait')}, directly or through"
                         " others, for a lock that one of these holds")
        lost = [thread for thread in cycle if thread.wait.object.robust_lost]
        if lost:
            heir, api = label(case.graph.owner(lost[0])), api_of(lost[0])
            yield Finding(
                "robust-owner-died", case.severity(cycle),
                f"Stuck: a thread ended while it held {lost[0].wait.object}."
                f" {heir} locked the mutex next, and has neither called"
                f" {api}_mutex_consistent() nor unlocked it.", lines,
                f"A {api}_mutex_lock() that returns EOWNERDEAD has locked the"
                f" mutex. Call {api}_mutex_consistent() then, and unlock the"
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
        how = ("." if owner < 0 else
               ", which has ended without unlocking it." if ended else
               ", which is not a thread of this process.")
        yield Finding(
            "holder-ended", case.severity(waiters),
            f"Stuck: {count(len(waiters), 'thread')}"
            f" {verb(len(waiters), 'wait')} for {found}. It was locked by"
            f" {owner_name(owner)}{how}",
            [case.line(thread) for thread in waiters],
            "Is there a way out of the code that does not unlock it: an error,"
            " an exception, the end of the thread?" if ended else
            "It was locked when fork() made this process. If a program has"
            " threads, let its child call only exec() and other functions that"
            " signal handlers may call, or use pthread_atfork().", waiters)


def given_up(case):
    """Threads to which the kernel has refused a priority-inheritance mutex.

    The words in memory do not show which mutex it is. The kernel looks for a
    circle along such mutexes only: if the holder waits for the thread, it
    waits for such a mutex.
    """
    waiters = [thread for thread in case.graph.threads
               if thread.wait.object and thread.wait.object.given_up]
    if not waiters:
        return
    behind = [thread for thread in case.graph.threads
              if thread in case.likely and thread.wait.owners]
    behind.sort(key=lambda thread: not thread.wait.inherits)
    holders = [thread for thread in case.behind(waiters[:1])
               if thread.wait.inherits]
    guess = (f" A guess: {label(holders[0])} holds it."
             if len(holders) == 1 else "")
    yield Finding(
        "deadlock", case.severity(waiters),
        f"Deadlock: {label(waiters[0])} {waiters[0].wait.text}: the mutex's"
        " holder has ended, or is this thread itself, or waits for this"
        f" thread.{guess}",
        [case.line(thread) for thread in waiters + behind],
        "Take the mutexes in the same order everywhere. With a mutex of"
        f" the error-checking type, {api_of(waiters[0])}_mutex_lock() returns"
        " EDEADLK instead.", waiters + behind)


def read_locks(case):
    """Locks that are locked for reading, and that no thread can unlock."""
    for found in case.objects:
        waiters = [thread for thread in found.waiters if thread in case.likely
                   and not thread.wait.owners]
        if found.kind != "rwlock" or not waiters:
            continue
        severity, nr = case.severity(waiters), len(waiters)
        does = {action(thread.wait, found) for thread in waiters}
        does, aim = does.pop() if len(does) == 1 else ("waits for", "")
        does = does.replace("waits", verb(nr, "wait"))
        readers = found.numbers.get("readers")
        held = (f" It is locked for reading {times(readers)}, perhaps by"
                f" {'this thread itself' if nr == 1 else 'these threads'}."
                if readers else "")
        yield Finding(
            "readers-stuck", severity,
            f"{start(severity)}: {count(nr, 'thread')} {does} {found}{aim}."
            f"{held} No thread can unlock it: {case.others_stuck(waiters)}.",
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
                f" which {arrived} {have} arrived, and no more can arrive:"
                f" {case.others_stuck(waiters)}.",
                [case.line(thread) for thread in waiters],
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
    what = (f"{waiters[0].wait.object}, and no thread can post it"
            if len(which) == 1 else
            f"{len(which)} semaphores, and no thread can post one of them")
    locks = (" A Lock of Python is a semaphore, too: does a thread take one"
             " while it holds another?"
             if case.has("libpython", "python") else "")
    yield Finding(
        "nobody-posts", severity,
        f"{start(severity)}: {count(nr, 'thread')} {verb(nr, 'wait')} for"
        f" {what}: {case.others_stuck(waiters)}.",
        [case.line(thread) for thread in waiters],
        "Is there a path through the code that leaves out sem_post()?" + locks,
        waiters)


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
            f" {verb(len(left), 'wait')}, and no thread can wake one:"
            f" {case.others_stuck(left)}.",
            [case.line(thread) for thread in left],
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
    direct = all(thread.wait.object is lock for thread in threads)
    which = ("for this lock" if direct else
             f"for {label(holder)}, directly or through others")
    if more > 0:
        lines.append(f"{count(more, 'more thread')} {verb(more, 'wait')}"
                     f" {which}")
    wait = (f"{count(nr, 'thread')} {verb(nr, 'wait')}"
            + ", directly or through others," * (not direct))
    asleep = holder.call is not None and holder.wait.role != "runs"
    where = ("" if holder.frames else
             " `drover why --exact` shows where the holder is.")
    if nr >= CONVOY:
        return Finding(
            "convoy", NOTE,
            f"A convoy: {wait} for {lock}, and only one of them can go on at a"
            f" time. {label(holder)} holds it now, and {holder.wait.text}.",
            lines,
            "Hold the lock for a shorter time, or split the data that it"
            " guards among several locks." + where, [holder] + threads)
    if asleep and holder.wait.object is None:
        return Finding(
            "blocked-holder", NOTE,
            f"{wait} until {label(holder)} unlocks {lock}. But {holder.tid}"
            f" does not run: it {holder.wait.text}.",
            lines, "Unlock before calls that may block.", [holder] + threads)
    return Finding(
        "contended", NOTE,
        f"{wait} until {label(holder)} unlocks {lock}.", lines, where.strip(),
        [holder] + threads)


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
    said = ", and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    return Finding("well", WELL, f"No stuck thread was found: {said}.", [], "",
                   [])


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
