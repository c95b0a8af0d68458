# SPDX-License-Identifier: MIT
"""Tests of the sentences of `drover why`: each claims what it can know."""

import os
import struct
from unittest import mock

from drover_tools.tests.drover.why_run import Running, why
from drover_tools.why import (
    findings, graph, objects, patterns, patterns_condvar, render, texts)
from drover_tools.why.calls import Wait
from drover_tools.why.process import Memory, Thread

#: Programs, and words of the report on each.
SAID = {
    "abba": ["waits for the mutex 'journal', which"],
    "forgotten_unlock": [", now ended, left locked"],
    "blocking_read": ["is in read() of a pipe (file descriptor 3)",
                      "1 more thread waits for this lock"],
    "signal_before_wait": ["'started'. No signal has found a waiter there so"
                           " far, and no thread can signal it: there is no"
                           " other thread."],
    "signal_for_all": ["no thread can send another signal: the only other"
                       " thread is stuck, too."],
    "pool": ["can wake one: the only other thread is stuck, too. A guess:"],
    "barrier_short": ["of which 3 have arrived, and no more can arrive: the"],
    "robust": ['"robust" locked the mutex next, and has neither called'],
    "pi_chain": [" bytes into 'mutexes', which", "directly or through others",
                 '"pi_chain" is in sleep() or a similar call',
                 "these 2 threads wait for 2 different mutexes"],
    "convoy": ["  63 more threads wait for this lock"],
    "pi_deadlock": ["A guess: {} holds it."],
    "rwlock_upgrade": ["It is locked for reading 2 times, perhaps by these"],
    "nested_monitor": ['"take" holds the mutex \'outer\', which {} "put"'
                       " needs. No thread can signal the condition variable:"
                       " the 2 other threads are stuck, too."],
    "idle_pool": ["to wake them, as idle threads do, and 1 thread waits for"],
}
#: No report on these programs, which are in C, has one of these words.
NOT_SAID = ("C++", "Python", " were found", "no thread is left")


class Words(Memory):
    """Memory that begins with these words of 32 bits, and then has zeros."""

    def __init__(self, *words):
        self._data = struct.pack(f"={len(words)}I", *words).ljust(256, b"\0")

    def read(self, address, size):
        return self._data[address:address + size]


def stuck_thread(tid, text, found, inherits=False):
    """A thread that waits for an object."""
    thread = Thread(tid)
    thread.name, thread.state = f"name {tid}", "S"
    thread.wait = Wait(text)
    thread.wait.object, thread.wait.inherits = found, inherits
    found.waiters.append(thread)
    if found.owner:
        thread.wait.owners = [found.owner]
    return thread


def case_of(*threads, has=()):
    """The case of a process with these stuck threads, and these libraries."""
    found = {thread.wait.object for thread in threads}
    return findings.Case(graph.Graph(threads, None), found, threads, threads,
                         None, None, None,
                         lambda *names: not set(names).isdisjoint(has))


def test_reports(tap, folder):
    """The reports on real programs have the words, and name one fault each."""
    for name, wanted in SAID.items():
        path = os.path.join(folder, name)
        with Running(path) as running:
            pid = running.stuck()
            _, out, _ = why(pid)
            joined = " ".join(out.split())
            for words in wanted:
                parts = " ".join(words.split()).split("{}")
                tap.ok(all(part in joined for part in parts),
                       f"{name}: {words.strip()}", out)
            tap.ok(not any(words in joined for words in NOT_SAID),
                   f"{name}: says no more than it should", out)


def test_refused(tap):
    """If two threads may hold the mutex of a third, none is named."""
    refused = objects.given_up(64)
    second, third = objects.Object("mutex", 128), objects.Object("mutex", 192)
    second.owner, third.owner = 1, 2
    first = stuck_thread(1, "waits for a mutex", refused)
    holder = stuck_thread(2, "waits", second, True)
    joiner = stuck_thread(3, "waits for the end of thread 1", second)
    other = stuck_thread(4, "waits", third, True)
    for threads, guess in (
            ((first, joiner, holder), 'A guess: 2 "name 2" holds it.'),
            ((first, holder, other), ""), ((first, joiner), "")):
        said = next(patterns.given_up(case_of(*threads)))
        tap.equal(said.sentence.partition("this thread.")[2].strip(), guess,
                  f"a refused mutex, {len(threads)} threads: "
                  + ("one may hold it" if guess else "no holder is named"))
    tap.ok(said.threads == [first, joiner], "the joiner is shown", said)


def test_others(tap):
    """Threads that have ended are not among the others."""
    found = objects.Object("semaphore", 64)
    threads = [stuck_thread(tid, "waits", found) for tid in range(1, 5)]
    threads[1].state, said = "Z", []
    for nr in (2, 3, 4):
        said.append(case_of(*threads[:nr]).others_stuck(threads[:1]))
    tap.equal(said, ["there is no other thread",
                     "the only other thread is stuck, too",
                     "the 2 other threads are stuck, too"],
              "the other threads are counted")


def test_read_lock(tap):
    """Readers are counted only if it is not the turn of writers."""
    for word, readers in ((2 << 3, 2), (2 << 3 | 3, 0)):
        found = objects.rwlock(Words(word), 8)
        tap.equal((found.numbers["readers"], len(found.details)),
                  (readers, bool(readers)), f"{readers} read locks")
        found.symbol = "table", 0
        thread = stuck_thread(1, "waits", found)
        thread.wait.role, thread.wait.function = "rwlock", (
            "pthread_rwlock_timedwrlock")
        said = next(patterns.read_locks(case_of(thread))).sentence
        tap.equal(said, "Stuck: 1 thread waits to lock the read-write lock"
                  " 'table' for writing."
                  + " It is locked for reading 2 times, perhaps by this thread"
                  " itself." * bool(readers)
                  + " No thread can unlock it: there is no other thread.",
                  f"{readers} read locks: the sentence")
        thread.wait.guess = True
        tap.equal(texts.action(thread.wait, found), ("waits for", ""),
                  "a guessed function does not show the aim")


def test_languages(tap):
    """Advice for a language is given if a program has its library."""
    semaphore = objects.Object("semaphore", 64)
    condvar = objects.Object("condvar", 128)
    threads = [stuck_thread(1, "waits", semaphore),
               stuck_thread(2, "waits", condvar)]
    threads[1].wait.role = "drover destroy"
    for library, pattern, words in (
            ("libpython", patterns.semaphores, "A Lock of Python"),
            ("libstdc++", patterns_condvar.condvars_awaited, "C++ destroys")):
        said = [words in next(pattern(case_of(*threads, has=has))).help
                for has in ((), (library,))]
        tap.equal(said, [False, True], f"advice for users of {library}")


def test_heading(tap):
    """Several findings are counted before the first."""
    def heading(*severities):
        return render.heading([findings.Finding(
            "name", severity, "", [], "", []) for severity in severities])

    fault, likely, note = findings.STUCK, findings.LIKELY, findings.NOTE
    tap.equal([heading(fault), heading(fault, likely), heading(fault, note),
               heading(note, note)],
              [[], ["2 faults were found."],
               ["1 fault was found, and 1 thing that need not be a fault."],
               ["2 things were found that need not be faults."]],
              "several findings are counted")


def test_names(tap):
    """Objects, functions and files have names that say what they are."""
    found = objects.Object("mutex", 64)
    said = [str(found)]
    for found.symbol in (("m", 0), ("m", 1), ("m", 40)):
        said.append(str(found))
    tap.equal(said, ["the mutex 0x40", "the mutex 'm'",
                     "the mutex 1 byte into 'm'",
                     "the mutex 40 bytes into 'm'"], "the names of objects")
    thread = stuck_thread(1, "waits", found)
    found.owner, found.robust_lost = 1, True
    thread.wait.owners = [1]
    for thread.wait.role, name in (("mutex", "pthread_mutex_consistent()"),
                                   ("drover mutex",
                                    "drover_mutex_consistent()")):
        said = next(patterns.deadlocks(case_of(thread)))
        tap.ok(f" called {name} nor" in said.sentence and name in said.help,
               f"{thread.wait.role}: {name}", said)
    source = mock.Mock()
    files = {"pipe:[7]": "a pipe (file descriptor 5)",
             "anon_inode:[eventfd]": "an eventfd (file descriptor 5)",
             "/tmp/x": "/tmp/x (file descriptor 5)", "": "file descriptor 5"}
    for source.file.return_value, what in files.items():
        tap.equal(texts.of_file(source, 5), what, what)


def test_gone(tap):
    """The owner of a mutex of libdrover that has ended has only a number."""
    found = objects.Object("mutex", 64)
    found.owner, found.symbol = -2, ("left", 0)
    thread = stuck_thread(7, "waits for the mutex 'left'", found)
    case = case_of(thread)
    case.graph.is_gone = lambda inner: True
    said = next(patterns.dead_holders(case))
    gone = "a thread that is gone (number 2 of those that used libdrover)"
    tap.equal((said.sentence, said.lines),
              ("Stuck: 1 thread waits for the mutex 'left'. It was locked by"
               f" {gone}.", [f'7 "name 7" waits for the mutex \'left\', which'
                             f" {gone} left locked"]),
              "a holder that is gone")


def test_all(tap, folder):
    """Run all tests; the programs are in the folder."""
    test_reports(tap, folder)
    for test in (test_refused, test_others, test_read_lock, test_languages,
                 test_heading, test_names, test_gone):
        test(tap)
