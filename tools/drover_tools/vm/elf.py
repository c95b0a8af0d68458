# SPDX-License-Identifier: MIT
"""The interpreter and the libraries that an ELF file needs."""

import os
import struct

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NULL, DT_NEEDED, DT_STRTAB = 0, 1, 5

#: The folders in which the loaders of glibc and musl look by default.
LIBRARY_DIRS = (
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
    "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/lib/x86_64-linux-musl",
)


class Elf:
    """The program headers and the dynamic section of one 64-bit ELF file."""

    def __init__(self, image):
        self._image = image
        self._headers = list(self._program_headers())

    @staticmethod
    def is_elf(image):
        return image[:5] == b"\x7fELF\x02"

    def _program_headers(self):
        """Yield (type, file offset, address, size in the file)."""
        offset, = struct.unpack_from("<Q", self._image, 32)
        size, count = struct.unpack_from("<HH", self._image, 54)
        for index in range(count):
            kind, _flags, start, address, _phys, length = struct.unpack_from(
                "<IIQQQQ", self._image, offset + index * size)
            yield kind, start, address, length

    def _string(self, offset):
        return self._image[offset:self._image.index(b"\0", offset)].decode()

    def _file_offset(self, address):
        for kind, start, base, length in self._headers:
            if kind == PT_LOAD and base <= address < base + length:
                return start + address - base
        raise ValueError(f"address {address:#x} is in no loaded segment")

    def interpreter(self):
        """The dynamic linker, or None for a static program or a library."""
        for kind, start, _address, _length in self._headers:
            if kind == PT_INTERP:
                return self._string(start)
        return None

    def needed(self):
        """The names of the libraries that the file is linked against."""
        entries = []
        for kind, start, _address, length in self._headers:
            if kind == PT_DYNAMIC:
                entries = list(struct.iter_unpack(
                    "<QQ", self._image[start:start + length]))
        tables = [value for tag, value in entries if tag == DT_STRTAB]
        if not tables:
            return []
        strings = self._file_offset(tables[0])
        return [self._string(strings + value)
                for tag, value in entries if tag == DT_NEEDED]


def find_library(name):
    """The host's path of the library called name, or None."""
    for folder in LIBRARY_DIRS:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    return None
