# SPDX-License-Identifier: MIT
"""Names of addresses, by the symbols of ELF files, and by binutils if here."""

import functools
import re
import shutil
import struct
import subprocess

from drover_tools.why.elf import BadFile, Elf

LIMIT = 10


@functools.lru_cache(maxsize=64)
def _elf(path):
    """The file, or None if it is not there or no ELF file."""
    try:
        return Elf(path)
    except (OSError, BadFile, struct.error):
        return None


def _said(*words):
    """What a program prints, or nothing if there is none."""
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
    except (struct.error, IndexError):      # a file that is cut off
        found = None
    if not found:
        return None
    text, offset = found
    if text.startswith("_Z"):
        text = _said("c++filt", text) or text
    return text + (f"+{offset:#x}" if offset else "")


#: Where code lies that a program has from others.
HEADERS = ("/usr/include/", "/usr/lib/", "/include/c++/")
#: What the C++ library's own functions are called.
LIBRARY = ("std::", "__gnu_cxx::", "__gthread_", "_ZNSt", "_ZSt", "_ZNKSt",
           "_ZN9__gnu_cxx")


def short(text):
    """A function's name without its result, arguments and templates'."""
    while (less := re.sub(r"<[^<>()]*>|\([^<>()]*\)", "", text)) != text:
        text = less
    return text.removesuffix(" const").rsplit(" ", 1)[-1] or text


def is_library(text):
    """Whether a function of that short name is the C++ library's."""
    return text.startswith(LIBRARY)


@functools.lru_cache(maxsize=1024)
def lines(path, address):
    """(function, file:line) of a place, from inlined functions outwards.

    Only of those that the program's own files have; nothing if none is known.
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
