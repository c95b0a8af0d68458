# SPDX-License-Identifier: MIT
"""Names of addresses, by the symbols of ELF files, and by binutils if here."""

import functools
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


@functools.lru_cache(maxsize=1024)
def line(path, address):
    """file:line, or None."""
    text = _said("addr2line", "-e", path, hex(address)).split(" ")[0]
    file, _, number = text.rpartition(":")
    return f"{file.rsplit('/', 1)[-1]}:{number}" if number.isdigit() else None
