# SPDX-License-Identifier: MIT
"""The libraries that are loaded into a program before its own."""

import os
import struct

from drover_tools.runs import plan
from drover_tools.why.elf import BadFile, Elf

#: AddressSanitizer's runtime ends a program in which another library is loaded
#: before it, and prints this complaint.
RUNTIME = "libasan.so"
COMPLAINT = "ASan runtime does not come first"


def runtime_of(path):
    """The runtime of AddressSanitizer that a program needs, or None.

    It is the name in the program, for which the loader searches the same
    folders if it stands in LD_PRELOAD.
    """
    try:
        return next((name for name in Elf(path).needs()
                     if name.startswith(RUNTIME)), None) if path else None
    except (OSError, BadFile, struct.error, IndexError):
        return None


def environment(libraries, path):
    """The caller's environment, with these libraries first in LD_PRELOAD.

    path: of the program's file, or None. Libraries that were in LD_PRELOAD
    stay there; only a drop-in does not.
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
