# SPDX-License-Identifier: MIT
"""The texts about a call, a wait and a place in memory."""

from drover_tools.why.machine import ON_FILES, SLEEPS
from drover_tools.why.stacks import plain_name

#: The verb for a thread that is in one of these functions, or that waits for
#: an object of that kind.
DOES = {"barrier": "waits at", "thread": "waits for the end of",
        "signal": "is signalling", "destroy": "is destroying",
        "drover destroy": "is destroying",
        "once": "waits until another thread has run"}
#: Calls that wait for a signal, and the functions that make them.
FOR_SIGNALS = {"pause": "pause", "rt_sigsuspend": "sigsuspend",
               "rt_sigtimedwait": "sigtimedwait"}
#: What /proc/PID/fd says of a file without a path, and what it is.
FILES = {"pipe:": "a pipe", "socket:": "a socket",
         "anon_inode:[eventfd]": "an eventfd",
         "anon_inode:[timerfd]": "a timerfd",
         "anon_inode:inotify": "an inotify instance"}


def count(number, what):
    return f"{number} {what}{'s' * (number != 1)}"


def times(number):
    return "once" if number == 1 else f"{number} times"


def verb(number, plural):
    """A verb for a number of subjects: waits for 1, or else wait."""
    return plural + "s" * (number == 1)


def of_call(source, name, number, thread):
    """The system call that a thread is in."""
    if name in SLEEPS:
        return "is in sleep() or a similar call"
    if name in FOR_SIGNALS:
        return f"waits in {FOR_SIGNALS[name]}() for a signal such as SIGINT"
    if name in ON_FILES:
        return f"is in {name}() of {of_file(source, thread.arguments[0])}"
    return f"is in {name}()" if name else f"is in system call {number}"


def of_file(source, number):
    """What a file descriptor stands for."""
    path = source.file(number)
    what = next((what for begin, what in FILES.items()
                 if path.startswith(begin)), path)
    descriptor = f"file descriptor {number}"
    return f"{what} ({descriptor})" if what else descriptor


def action(wait, found):
    """What a thread does with an object: the words around the object's name.
    """
    function = "" if wait.guess else wait.function or ""
    if wait.role == "rwlock":
        for part, aim in (("wrlock", "writing"), ("rdlock", "reading")):
            if part in function:
                return "waits to lock", f" for {aim}"
    if wait.role == "signal" and function.startswith(("pthread_", "cnd_")):
        return f"is in {function}() of", ""
    return DOES.get(wait.role) or DOES.get(found.kind, "waits for"), ""


def of_wait(code, wait, found):
    """A wait for an object."""
    before, after = action(wait, found)
    what = f"thread {found.name}" if found.kind == "thread" else str(found)
    text = f"{before} {what}{after}"
    if wait.until:
        symbol = code.name_at(wait.until)
        text += (f" until {plain_name(symbol[0])}() is true" if symbol
                 else " until its predicate is true")
    if wait.timed:
        text += (f", for {wait.left:.1f} s at most"
                 if wait.left is not None else ", for a limited time")
    return text


def of_address(source, threads, address):
    """An address without a symbol, and the place where it lies."""
    mapping = source.maps.at(address)
    text = hex(address)
    if not mapping:
        return text
    pointer = source.machine.stack_pointer
    for thread in threads:
        top = thread.registers.get(pointer, 0)
        if mapping.start <= top <= address < mapping.end:
            return f"{text} (on the stack of thread {thread.tid})"
    place = mapping.path.rsplit("/", 1)[-1].strip("[]")
    if mapping.path.startswith("/dev/zero"):
        place = "shared memory"
    return f"{text} (in {place})" if place else text
