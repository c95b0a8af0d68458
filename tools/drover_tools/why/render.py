# SPDX-License-Identifier: MIT
"""The findings as text, as JSON, and for Graphviz."""

import itertools
import textwrap

from drover_tools.why.functions import own_frames
from drover_tools.why.findings import LIKELY, STUCK, WELL, label
from drover_tools.why.objects import BEING_DESTROYED
from drover_tools.why.texts import count, verb

WIDTH = 79
#: So many lines of a finding, and so many functions of a stack, are shown.
LINES, DEEP = 12, 5
#: The longest name of a function.
NAME = 60
#: Objects of these kinds have a name for several of them.
PLURALS = {"mutex": "mutexes", "condvar": "condition variables",
           "rwlock": "read-write locks", "barrier": "barriers",
           "semaphore": "semaphores", "thread": "threads"}


def shortened(name):
    """A long name of C++ without its template arguments."""
    if len(name) <= NAME:
        return name
    kept, depth = [], 0
    for letter in name:
        depth -= letter == ">" and depth > 0
        if not depth:
            kept.append(letter)
        depth += letter == "<"
    return "".join(kept)[:NAME]


def place(code, frame):
    """A function, and the line in it."""
    if not frame:
        return ""
    line = code.line_at(frame.address)
    text = (f"{shortened(frame.name)}()" if frame.name
            else f"{frame.address:#x} in {frame.module or '?'}")
    return text + (f" {line}" if line else "") + "?" * frame.guess


def stack_of(code, thread):
    """The program's own functions, the innermost first."""
    own = own_frames(thread)
    shown = [place(code, frame) for frame in own[:DEEP]]
    return " < ".join(shown + ["..."] * (len(own) > DEEP))


def wrapped(text, first="", then=None):
    return textwrap.fill(text, WIDTH, initial_indent=first,
                         subsequent_indent=first if then is None else then,
                         break_long_words=False, break_on_hyphens=False)


def finding_text(finding):
    parts = [wrapped(finding.sentence)]
    if finding.lines:
        parts.append("")
        parts += [wrapped(line, "  ", "      ")
                  for line in finding.lines[:LINES]]
        if len(finding.lines) > LINES:
            parts.append(f"  and {len(finding.lines) - LINES} more")
    if finding.help:
        parts += ["", wrapped("What helps: " + finding.help, "  ", "  ")]
    return "\n".join(parts)


def folded(look):
    """(text, threads) of each group in the same wait at the same place."""
    groups = {}
    for thread in look.threads:
        wait = thread.wait
        key = (wait.object.what if wait.object else wait.text, wait.guess,
               tuple(frame.address for frame in thread.frames))
        groups.setdefault(key, []).append(thread)
    return [(wait_text(threads), threads) for threads in groups.values()]


def wait_text(threads):
    """The wait of the first thread, as an example for all of them."""
    wait = threads[0].wait
    text = wait.text + " (a guess)" * wait.guess
    for extra in wait.object.details if wait.object else ():
        if extra != BEING_DESTROYED or wait.role != "destroy":
            text += f"; {extra}"
    different = len({thread.wait.object for thread in threads})
    if different > 1:
        what = PLURALS.get(wait.object.kind, "objects")
        text += (f"; these {len(threads)} threads wait for {different}"
                 f" different {what}")
    return text


def threads_text(look, moved=None):
    lines = ["", f"The process has {count(len(look.threads), 'thread')}:"]
    for text, threads in folded(look):
        head = label(threads[0])
        if len(threads) > 1:
            head += f", and {len(threads) - 1} more like it:"
        if moved is not None:
            here = sum(thread.tid in moved for thread in threads)
            text += ("; did not move" if not here else "; moved"
                     if here == len(threads) else f"; {here} of them moved")
        lines.append(wrapped(f"{head} {text}", "  ", "      "))
        stack = stack_of(look.code, threads[0])
        if stack:
            lines.append(wrapped(f"in {stack}", "      ", "         "))
    return "\n".join(lines)


def languages(look):
    """Lines that name a better tool for a program's language."""
    said = []
    if look.code.has("libjvm"):
        nr = sum(any((frame.name or "").startswith("ObjectMonitor::enter")
                     for frame in thread.frames) for thread in look.threads)
        said.append(
            f"This is Java: `jstack {look.source.pid}` shows Java's own locks."
            + f" {nr} of the threads {verb(nr, 'wait')} to enter a"
              " synchronized block." * bool(nr))
    if look.code.has("libpython", "python"):
        said.append(
            f"This is Python: `py-spy dump --pid {look.source.pid}` or"
            " faulthandler shows the lines of the Python code.")
    return said


def remarks(look):
    """Lines about how the look was done."""
    said = []
    if look.code.is_musl():
        said.append("This program uses musl, whose locks are shown only as"
                    " futexes, the words that threads sleep on.")
    if look.source.stopped:
        said.append("The threads were stopped for"
                    f" {look.source.stopped * 1000:.0f} ms during this look.")
    if any(frame.guess for thread in look.threads for frame in thread.frames):
        said.append("A function with a question mark is a guess from a search"
                    " of the stack." + " Install elfutils' libdw (in Debian,"
                    " the package libdw1) to know the functions for certain."
                    * (not look.code.dwfl))
    return said


def heading(findings):
    """How many findings follow, if there is more than one."""
    faults = sum(one.severity in (STUCK, LIKELY) for one in findings)
    rest = len(findings) - faults
    if len(findings) == 1:
        return []
    if not faults:
        return [f"{rest} things were found that need not be faults."]
    text = f"{count(faults, 'fault')} {'was' if faults == 1 else 'were'} found"
    if rest:
        text += (f", and {count(rest, 'thing')} that need not be"
                 f" {'a fault' if rest == 1 else 'faults'}")
    return [text + "."]


def report(look, moved=None, seconds=0):
    """The whole report."""
    blocks = heading(look.findings) + list(map(finding_text, look.findings))
    said = "\n\n".join(blocks) + "\n"
    if moved is not None:
        nr = len(moved & {thread.tid for thread in look.threads})
        said += "\n" + wrapped(
            f"{nr} of {len(look.threads)} threads moved in {seconds:.1f} s.")
        said += "\n"
    said += "".join("\n" + wrapped(line) + "\n" for line in languages(look))
    said += threads_text(look, moved) + "\n"
    return said + "".join("\n" + wrapped(line) + "\n"
                          for line in remarks(look))


def object_json(found):
    return {"kind": found.kind, "what": found.what, "name": found.name,
            "address": hex(found.address), "owner": found.owner,
            "details": found.details, "guess": found.guess,
            "waiters": [thread.tid for thread in found.waiters]}


def thread_json(look, thread, moved):
    wait = thread.wait
    owner = look.graph.owner(thread)
    result = {
        "tid": thread.tid, "inner": thread.inner, "name": thread.name,
        "state": thread.state, "waits": wait.text, "guess": wait.guess,
        "stuck": thread in look.stuck,
        "object": hex(wait.object.address) if wait.object else None,
        "owner": getattr(owner, "tid", owner),
        "stack": [place(look.code, frame) for frame in thread.frames]}
    if moved is not None:
        result["moved"] = thread.tid in moved
    return result


def as_json(look, moved=None):
    """Everything as data, for programs."""
    return {
        "schema": 1, "pid": look.source.pid, "program": look.source.name,
        "verdict": look.findings[0].name,
        "severity": look.findings[0].severity,
        "stopped_seconds": look.source.stopped,
        "findings": [dict(finding._asdict(), threads=[
            thread.tid for thread in finding.threads])
            for finding in look.findings],
        "threads": [thread_json(look, thread, moved)
                    for thread in look.threads],
        "objects": list(map(object_json, look.objects))}


def quoted(words):
    return '"' + str(words).replace("\\", "\\\\").replace('"', '\\"') + '"'


def dot(look):
    """A graph of threads, objects and their holders; stuck threads are red."""
    lines = ["digraph why {", "  rankdir=LR;", "  node [shape=box];",
             f"  label={quoted(look.findings[0].sentence)};"]
    stuck = set(look.stuck)
    for thread in look.threads:
        colour = ", color=red" * (thread in stuck)
        inside = "" if thread.wait.object else f"\n{thread.wait.text}"
        lines.append(f"  {quoted(thread.tid)} "
                     f"[label={quoted(label(thread) + inside)}{colour}];")
    for number, found in enumerate(look.objects):
        if found.kind == "thread":
            continue
        lines.append(f"  o{number} [shape=ellipse, label={quoted(found)}];")
        lines += [f"  {quoted(thread.tid)} -> o{number};"
                  for thread in found.waiters]
        owner = look.graph.by_inner.get(found.owner)
        if owner:
            lines.append(f"  o{number} -> {quoted(owner.tid)};")
    for thread in look.threads:
        owner = look.graph.owner(thread)
        if thread.wait.object and thread.wait.object.kind == "thread" and (
                not isinstance(owner, (int, type(None)))):
            lines.append(f"  {quoted(thread.tid)} -> {quoted(owner.tid)};")
    return "\n".join(itertools.chain(lines, ["}", ""]))


def is_well(look):
    return look.findings[0].severity == WELL
