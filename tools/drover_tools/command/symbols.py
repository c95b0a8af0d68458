# SPDX-License-Identifier: MIT
"""Names of addresses, by the symbols of ELF files, and by binutils if here."""

import bisect
import functools
import shutil
import struct
import subprocess

SHT_SYMTAB, SHT_DYNSYM = 2, 11
STT_OBJECT, STT_FUNC = 1, 2
SECTION = struct.Struct("=IIQQQQIIQQ")
SYMBOL = struct.Struct("=IBBHQQ")
LIMIT = 10


@functools.lru_cache(maxsize=64)
def _symbols(path):
    """(address, end, name) of functions and variables, sorted."""
    found = {}
    try:
        with open(path, "rb") as file:
            image = file.read()
        start, = struct.unpack_from("=Q", image, 40)
        size, count = struct.unpack_from("=HH", image, 58)
        sections = [SECTION.unpack_from(image, start + number * size)
                    for number in range(count)]
        for section in sections:
            if section[1] not in (SHT_SYMTAB, SHT_DYNSYM):
                continue
            names = sections[section[6]][4]
            for name, info, _, _, value, length in SYMBOL.iter_unpack(
                    image[section[4]:section[4] + section[5]]):
                if info & 15 in (STT_OBJECT, STT_FUNC) and value:
                    end = image.index(b"\0", names + name)
                    found[value] = (value, value + max(length, 1), image[
                        names + name:end].decode(errors="replace"))
    except (OSError, struct.error, IndexError, ValueError):
        pass
    return sorted(found.values())


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
    found = _symbols(path)
    at = bisect.bisect_right(found, (address, float("inf"))) - 1
    if at < 0 or not found[at][0] <= address < found[at][1]:
        return None
    text, offset = found[at][2], address - found[at][0]
    if text.startswith("_Z"):
        text = _said("c++filt", text) or text
    return text + (f"+{offset:#x}" if offset else "")


@functools.lru_cache(maxsize=1024)
def line(path, address):
    """file:line, or None."""
    text = _said("addr2line", "-e", path, hex(address)).split(" ")[0]
    file, _, number = text.rpartition(":")
    return f"{file.rsplit('/', 1)[-1]}:{number}" if number.isdigit() else None
