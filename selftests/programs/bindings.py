# SPDX-License-Identifier: GPL-2.0-only
"""Which library a program's condition variables come from.

The dynamic linker says so itself, with LD_DEBUG=bindings: for each symbol that
it binds, which object needs it and which object it found it in.
"""

import os
import re

LINE = re.compile(rb"binding file (\S+) \[\d+\] to (\S+) \[\d+\]:"
                  rb" normal symbol `((?:pthread_cond_|cnd_)\w+)'")
WAITS = re.compile(r"wait|clockwait|timedwait")
WAKES = re.compile(r"signal|broadcast")


def read(folder):
    """All bindings of condvar functions: {(from, to, symbol)}."""
    found = set()
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            for line in file:
                match = LINE.search(line)
                if match:
                    found.add(tuple(part.decode()
                                    for part in match.groups()))
    return found


def verdict(bound, name, library):
    """(passed, name, lines): were all of them bound to the library?

    The attribute functions are not: glibc's attributes stay glibc's.
    """
    used = {b for b in bound if not b[2].startswith("pthread_condattr_")
            and os.path.basename(b[0]) != library}
    strays = sorted(b for b in used if os.path.basename(b[1]) != library)
    symbols = {symbol for _, to, symbol in used
               if os.path.basename(to) == library}
    users = {os.path.basename(user) for user, _, _ in used}
    wrong = [f"{user}: {symbol} is {to}'s" for user, to, symbol in strays]
    if not any(WAITS.search(symbol) for symbol in symbols):
        wrong.append("no wait was bound to the drop-in")
    if not any(WAKES.search(symbol) for symbol in symbols):
        wrong.append("neither signal nor broadcast was bound to the drop-in")
    lines = wrong or [f"{', '.join(sorted(symbols))}",
                      f"bound for {', '.join(sorted(users))}"]
    return not wrong, name, lines
