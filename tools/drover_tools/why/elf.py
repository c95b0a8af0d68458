# SPDX-License-Identifier: MIT
"""Names in ELF files, in pure Python, as libdw may not be installed."""

import bisect
import mmap
import struct

SHT_SYMTAB, SHT_DYNSYM = 2, 11
PT_LOAD, PT_DYNAMIC, PT_NOTE, PF_X, ET_CORE = 1, 2, 4, 1, 4
DT_NEEDED, DT_STRTAB = 1, 5
PAGE = 4096
STT_OBJECT, STT_FUNC, STT_GNU_IFUNC = 1, 2, 10
SECTION = struct.Struct("=IIQQQQIIQQ")
SEGMENT = struct.Struct("=IIQQQQQQ")
SYMBOL = struct.Struct("=IBBHQQ")
DYNAMIC = struct.Struct("=qQ")


class BadFile(Exception):
    """The file is not an ELF file of 64 bits."""


class Elf:
    """A program, a library or a core file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            try:
                self.image = mmap.mmap(file.fileno(), 0,
                                       access=mmap.ACCESS_READ)
            except ValueError:
                raise BadFile(f"{path} is empty") from None
        if self.image[:5] != b"\x7fELF\x02":
            raise BadFile(f"{path} is not an ELF file of 64 bits")
        (self.kind, self.machine, _, _, self._segments_at, self._sections_at,
         _, _, _, self._nr_segments, _, self._nr_sections,
         _) = struct.unpack_from("=HHIQQQIHHHHHH", self.image, 16)
        self._table = self._starts = None

    def segments(self):
        """Tuples: (type, flags, offset, address, _, size, memory size, _)."""
        return [SEGMENT.unpack_from(self.image,
                                    self._segments_at + 56 * number)
                for number in range(self._nr_segments)]

    def needs(self):
        """The names of the libraries that the file needs."""
        parts = self.segments()
        tags = [pair for kind, _, offset, _, _, size, _, _ in parts
                if kind == PT_DYNAMIC for pair in DYNAMIC.iter_unpack(
                    self.image[offset:offset + size])]
        names = dict(tags).get(DT_STRTAB, 0)
        for kind, _, offset, address, _, size, _, _ in parts:
            if kind == PT_LOAD and address <= names < address + size:
                start = names - address + offset
                return [self.text(start + value) for tag, value in tags
                        if tag == DT_NEEDED]
        return []

    def text(self, offset):
        """The string at an offset, which a zero ends."""
        end = self.image.find(b"\0", offset)
        return self.image[offset:end].decode(errors="replace")

    def bias(self, mapping):
        """The difference between addresses in memory and those in the file.

        Segments may share a page of the file: their rights differ.
        """
        for kind, flags, offset, address, _, size, _, _ in self.segments():
            begin = offset & -PAGE
            if (kind == PT_LOAD and begin <= mapping.offset < offset + size
                    and bool(flags & PF_X) == ("x" in mapping.rights)):
                return mapping.start - mapping.offset - address + offset
        return None

    def _sections(self):
        return [SECTION.unpack_from(self.image,
                                    self._sections_at + 64 * number)
                for number in range(self._nr_sections)]

    def _symbols(self, kinds):
        """(name, type, section, address, size) of all symbols."""
        sections = self._sections()
        for section in sections:
            if section[1] not in kinds:
                continue
            names = sections[section[6]][4]
            table = self.image[section[4]:section[4] + section[5]]
            for name, info, _, index, value, size in SYMBOL.iter_unpack(table):
                yield (self.text(names + name), info & 15, index, value,
                       size)

    def name_at(self, address):
        """(symbol, offset) of an address in the file, or None."""
        if self._table is None:
            self._table = sorted(
                (value, value + max(size, 1), name)
                for name, kind, index, value, size in self._symbols(
                    (SHT_SYMTAB, SHT_DYNSYM))
                if index and kind in (STT_OBJECT, STT_FUNC, STT_GNU_IFUNC))
            self._starts = [entry[0] for entry in self._table]
        at = bisect.bisect_right(self._starts, address) - 1
        while at >= 0 and self._table[at][0] == self._table[at - 1][0]:
            at -= 1
        if at < 0 or address >= self._table[at][1]:
            return None
        return self._table[at][2], address - self._table[at][0]

    def wants(self):
        """The names that the file uses from other files."""
        return {name for name, _, index, _, _ in self._symbols((SHT_DYNSYM,))
                if not index}

    def notes(self):
        """(name, type, data) of a core file's notes."""
        for kind, _, offset, _, _, size, _, _ in self.segments():
            end = offset + size if kind == PT_NOTE else 0
            while offset + 12 <= end:
                nr_name, nr_data, number = struct.unpack_from(
                    "=III", self.image, offset)
                name = self.image[offset + 12:offset + 12 + nr_name]
                offset += 12 + (nr_name + 3) // 4 * 4
                yield (name.rstrip(b"\0"), number,
                       self.image[offset:offset + nr_data])
                offset += (nr_data + 3) // 4 * 4
