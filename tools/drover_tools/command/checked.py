# SPDX-License-Identifier: MIT
"""Checks that a library can be loaded before a program's C library."""

import os
import shutil
import stat
import struct

NOT_FOUND, CANNOT_RUN = 127, 126
PT_INTERP = 3
MACHINES = {0x03: "i386", 0x28: "arm", 0x3e: "x86-64", 0xb7: "arm64",
            0xf3: "riscv64", 0x16: "s390x", 0x15: "ppc64"}
#: So many scripts, each the interpreter of the one before, are followed.
DEPTH = 4


class Unfit(Exception):
    """The program cannot be measured; the text says why."""

    def __init__(self, text, status=CANNOT_RUN):
        super().__init__(text)
        self.status = status


def find(name):
    """The path of a command, as execvp() would find it."""
    path = name if "/" in name else shutil.which(name)
    if not path or not os.path.exists(path):
        raise Unfit(f"{name}: there is no such program", NOT_FOUND)
    if os.path.isdir(path):
        raise Unfit(f"{name}: is a folder")
    if not os.access(path, os.X_OK):
        raise Unfit(f"{name}: may not be run (no execute permission)")
    return path


def _interpreter(head):
    """The interpreter that a script names; NAME of #!/usr/bin/env NAME."""
    words = head[2:].split(b"\n", 1)[0].decode(errors="replace").split()
    if len(words) > 1 and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:]
                 if not word.startswith("-") and "=" not in word]
    return words[0] if words else ""


def _privileged(path):
    """Whether a program gains privileges: the loader preloads nothing then."""
    found = os.stat(path)
    if found.st_mode & stat.S_ISUID and found.st_uid != os.getuid():
        return True
    if found.st_mode & stat.S_ISGID and found.st_gid != os.getgid():
        return True
    return os.getuid() != 0 and "security.capability" in os.listxattr(path)


def _machine(head):
    """The bits, the byte order and the machine of an ELF file."""
    order = "<" if head[5] == 1 else ">"
    return head[4], head[5], struct.unpack_from(order + "H", head, 18)[0]


def _loader(head):
    """The path of the dynamic linker, or None."""
    start, = struct.unpack_from("=Q", head, 32)
    size, count = struct.unpack_from("=HH", head, 54)
    for number in range(count):
        kind, _, offset, _, _, length = struct.unpack_from(
            "=IIQQQQ", head, start + number * size)
        if kind == PT_INTERP:
            return head[offset:offset + length].rstrip(b"\0").decode()
    return None


def check(name, library):
    """Raise Unfit unless the library can be loaded with this program.

    Return: the path of the program, or of a script's interpreter; None if this
    user may run but not read it, so that the check cannot be done.
    """
    path = find(name)
    for _ in range(DEPTH):
        if not os.access(path, os.R_OK):
            return None
        with open(path, "rb") as file:
            head = file.read(1 << 16)
        if head[:2] != b"#!":
            break
        path = find(_interpreter(head))
    if head[:4] != b"\x7fELF":
        raise Unfit(f"{name}: is neither a program nor a script with #!")
    with open(library, "rb") as file:
        own = _machine(file.read(64))
    if _machine(head) != own:
        theirs = MACHINES.get(_machine(head)[2], "another machine")
        raise Unfit(f"{name}: is a program for {theirs}, and Drover here is"
                    f" for {MACHINES.get(own[2], 'this one')}")
    loader = _loader(head)
    if not loader:
        raise Unfit(f"{name}: is linked statically, so no library can take"
                    " the place of its C library")
    if os.path.basename(loader).startswith("ld-musl"):
        raise Unfit(f"{name}: uses musl, and Drover takes the place only of"
                    " glibc's functions")
    if _privileged(path):
        raise Unfit(f"{name}: gains privileges (setuid, setgid or"
                    " capabilities), so the loader ignores LD_PRELOAD")
    return path
