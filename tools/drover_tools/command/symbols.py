# SPDX-License-Identifier: MIT
"""Names of addresses: from ELF symbols, and from binutils if installed."""

import functools
import re
import shutil
import struct
import subprocess

from drover_tools.why.elf import BadFile, Elf

LIMIT = 10


@functools.lru_cache(maxsize=64)
def _elf(path):
    """The ELF file, or None if there is none."""
    try:
        return Elf(path)
    except (OSError, BadFile, struct.error):
        return None


def _said(*words):
    """The output of a command, or nothing if it is not installed or fails."""
    if not shutil.which(words[0]):
        return ""
    try:
        return subprocess.run(words, capture_output=True, text=True,
                              check=False, timeout=LIMIT).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


@functools.lru_cache(maxsize=1024)
def name(path, address):
    """A symbol and an offset, or None."""
    elf = _elf(path)
    try:
        found = elf and elf.name_at(address)
    except (struct.error, IndexError):      # the file is truncated
        found = None
    if not found:
        return None
    text, offset = found
    if text.startswith("_Z"):
        text = _said("c++filt", text) or text
    return text + (f"+{offset:#x}" if offset else "")


#: Folders of headers that are not the program's own.
HEADERS = ("/usr/include/", "/usr/lib/", "/include/c++/")
#: How the names of the C++ library's functions begin.
LIBRARY = ("std::", "__gnu_cxx::", "__gthread_", "_ZNSt", "_ZSt", "_ZNKSt",
           "_ZN9__gnu_cxx")


def short(text):
    """A function's name without result type, arguments and template arguments.
    """
    while (less := re.sub(r"<[^<>()]*>|\([^<>()]*\)", "", text)) != text:
        text = less
    return text.removesuffix(" const").rsplit(" ", 1)[-1] or text


def is_library(text):
    """Whether a function with this short name belongs to the C++ library."""
    return text.startswith(LIBRARY)


@functools.lru_cache(maxsize=1024)
def lines(path, address):
    """(function, file:line) of an address, the innermost inlined one first.

    Only functions in the program's own files are listed.
    """
    words = _said("addr2line", "-Cfi", "-e", path, hex(address)).splitlines()
    found = []
    for function, place in zip(words[::2], words[1::2]):
        file, _, number = place.split(" ")[0].rpartition(":")
        if (number.isdigit() and int(number) and file.strip("?")
                and not any(folder in file for folder in HEADERS)):
            found.append((short(function),
                          f"{file.rsplit('/', 1)[-1]}:{number}"))
    return found
