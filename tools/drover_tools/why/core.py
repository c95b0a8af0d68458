# SPDX-License-Identifier: MIT
"""A core file: the threads and the memory of a process that has ended."""

import bisect
import os
import struct

from drover_tools.why.elf import ET_CORE, PT_LOAD, BadFile, Elf
from drover_tools.why.exact import in_call
from drover_tools.why.machine import this_machine
from drover_tools.why.process import Mapping, Mappings, Memory, Refused, Thread

NT_PRSTATUS, NT_PRPSINFO, NT_FILE = 1, 3, 0x46494c45
#: The offsets of the registers and of the thread id in NT_PRSTATUS.
REGISTERS_AT, TID_AT = 112, 32
NAME_AT = 40
READABLE, WRITABLE, EXECUTABLE = 4, 2, 1


class Core(Memory):
    """A core file with the interface of a Process."""

    stopped, caught = 0, 0

    def __init__(self, path):
        try:
            self._elf = Elf(path)
        except (OSError, BadFile) as error:
            raise Refused(f"{path} cannot be read: {error}") from None
        if self._elf.kind != ET_CORE:
            raise Refused(f"{path} is not a core file")
        self.machine = this_machine()
        self._segments = sorted(
            (address, size, offset, flags, whole) for
            kind, flags, offset, address, _, size, whole, _
            in self._elf.segments() if kind == PT_LOAD)
        self._starts = [segment[0] for segment in self._segments]
        self._files, states = {}, []
        self.name, self.program, mapped = "", "", []
        for name, number, data in self._elf.notes():
            if name != b"CORE":
                continue
            if number == NT_PRSTATUS:
                states.append(data)
            elif number == NT_PRPSINFO:
                self.name = data[NAME_AT:NAME_AT + 16].split(b"\0")[0].decode(
                    errors="replace")
            elif number == NT_FILE:
                mapped = list(mapped_files(data))
        self.maps = Mappings(self._mappings(mapped))
        self.program = mapped[0][3] if mapped else ""
        self._threads = list(map(self._thread, states))
        self.pid = self._threads[0].tid if self._threads else 0
        self.inner_pid = self.pid

    def _thread(self, data):
        thread = Thread(struct.unpack_from("=i", data, TID_AT)[0])
        thread.state, thread.name = "S", self.name
        nr = len(self.machine.core_registers) or 1
        in_call(thread, struct.unpack_from(f"={nr}Q", data, REGISTERS_AT),
                self, self.machine)
        return thread

    def _mappings(self, mapped):
        files = {start: (offset, path) for start, _, offset, path in mapped}
        ranges = [(start, end) for start, end, _, _ in mapped]
        for start, _, _, flags, whole in self._segments:
            offset, path = files.pop(start, (0, ""))
            rights = "".join(name if flags & bit else "-" for name, bit in (
                ("r", READABLE), ("w", WRITABLE), ("x", EXECUTABLE))) + "p"
            yield Mapping(start, start + whole, rights, offset, "", 0, path)
        for start, end in ranges:
            if start in files:  # not in the core file, so it may be code
                offset, path = files[start]
                yield Mapping(start, end, "r-xp", offset, "", 0, path)

    def read(self, address, size):
        """Read memory from the core file, or from a file that was mapped."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at >= 0:
            start, length, offset, _, _ = self._segments[at]
            if address + size <= start + length:
                offset += address - start
                return self._elf.image[offset:offset + size]
        mapping = self.maps.at(address)
        if not mapping or not mapping.path.startswith("/"):
            return None
        try:
            if mapping.path not in self._files:
                self._files[mapping.path] = Elf(mapping.path)
        except (OSError, BadFile):
            return None
        offset = address - mapping.start + mapping.offset
        data = self._files[mapping.path].image[offset:offset + size]
        return data if len(data) == size else None

    def threads(self):
        return self._threads

    def path_of(self, mapping):
        return mapping.path

    def descriptor(self, thread):
        begin = thread.registers.get("fs_base")
        return begin and self.descriptor_at(begin)

    def exists(self, inner):
        return False

    def may_be_owner(self, inner, address):
        return True

    def newcomers(self, _threads):
        return set()

    def asleep_since(self, thread):
        return True

    def look_again(self, thread):
        return thread.call, thread.arguments[0]

    def file(self, number):
        return ""

    def others_that_map(self, mapping):
        return [], False

    def foreign_sleepers(self, mapping, address, size):
        return None

    def close(self):
        pass


def mapped_files(data):
    """(start, end, offset, path) of NT_FILE."""
    number, page = struct.unpack_from("=QQ", data)
    names = data[16 + 24 * number:].split(b"\0")
    for at in range(number):
        start, end, offset = struct.unpack_from("=QQQ", data, 16 + 24 * at)
        yield start, end, offset * page, os.fsdecode(names[at])
