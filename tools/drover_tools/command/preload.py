# SPDX-License-Identifier: MIT
"""What is loaded into a program before its own libraries."""

import os
import struct

from drover_tools.runs import plan
from drover_tools.why.elf import BadFile, Elf

#: It ends a program in which anything comes before it.
RUNTIME = "libasan.so"
#: What it says then.
COMPLAINT = "ASan runtime does not come first"


def runtime_of(path):
    """AddressSanitizer's, if the program asks for that; by the name it uses.

    The loader looks for a name without a slash where the program would.
    """
    try:
        return next((name for name in Elf(path).needs()
                     if name.startswith(RUNTIME)), None) if path else None
    except (OSError, BadFile, struct.error, IndexError):
        return None


def environment(libraries, path):
    """The caller's, with these first, unless there are none.

    path: the program's, if that is known. What was to be loaded stays, except
    the drop-in.
    """
    found = dict(os.environ)
    others = [word for word in found.pop("LD_PRELOAD", "").replace(
        ":", " ").split() if os.path.basename(word) != plan.DROP_IN]
    words = [*libraries, *others]
    runtime = runtime_of(path) if libraries else None
    if runtime:
        words = [runtime] + [word for word in words
                             if RUNTIME not in os.path.basename(word)]
    return {**found, "LD_PRELOAD": ":".join(words)} if words else found
