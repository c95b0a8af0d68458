# SPDX-License-Identifier: MIT
"""The functions that each thread is in, from return addresses."""

import ctypes
import functools
import os
import re
import struct

from drover_tools.why import dwfl
from drover_tools.why.elf import PAGE, BadFile, Elf

#: So many bytes of a stack are read at most.
STACK_BYTES = 16384
#: A search ends after so many return addresses.
GUESSES = 12
#: The suffixes that compilers give to copies and parts of a function.
CLONE = re.compile(r"\.(constprop|isra|part|cold|lto_priv|llvm|abi0|_omp_fn)"
                   r"\b.*")

#: A stub of x86-64: perhaps endbr64, then a jump to the address in a word.
STUB = re.compile(rb"(?:\xf3\x0f\x1e\xfa)?\xf2?\xff\x25(....)", re.S)


class Frame:
    """A function that a thread is in."""

    def __init__(self, address, name, path, guess, depth=None):
        self.address = address      # inside the call's instruction
        self.name = name            # or None
        self.path = path            # of the file that it is in
        self.guess = guess          # found by a search
        self.depth = depth          # of its return address, if that is known

    @property
    def module(self):
        return os.path.basename(self.path)


class Code:
    """The names of functions, from libdw or from symbols of the ELF files."""

    def __init__(self, source, library):
        self._source = source
        self._files = {}            # path to (Elf, bias) or None
        self._places = {}           # path to where it can be read
        self._names, self._lines = {}, {}
        self.dwfl = library and dwfl.Dwfl(library, source, self._modules())
        self.stacks = Stacks(source, self)

    def _modules(self):
        """(path, bias) of all files with code; the program's comes first."""
        for mapping in self._source.maps.all:
            if "x" in mapping.rights:
                self._file(mapping)
        found = [(path, loaded[1]) for path, loaded in self._files.items()
                 if loaded and loaded[1] is not None]
        found.sort(key=lambda one: one[0] != self._source.program)
        return [(self._places[path], bias) for path, bias in found]

    def _file(self, mapping):
        """(Elf, bias) of a mapping's file, or None."""
        path = mapping.path
        if path not in self._files:
            self._files[path] = None
            self._places[path] = self._source.path_of(mapping)
            if path.startswith("/"):
                try:
                    elf = Elf(self._places[path])
                    self._files[path] = elf, elf.bias(mapping)
                except (OSError, BadFile, struct.error):
                    pass
        return self._files[path]

    def files(self):
        """(path, Elf) of all loaded files."""
        if not self._files:
            self._modules()
        return [(path, loaded[0]) for path, loaded in self._files.items()
                if loaded]

    def has(self, *beginnings):
        """Is a file loaded whose name has one of these beginnings?"""
        return any(os.path.basename(path).startswith(beginnings)
                   for path, _ in self.files())

    def is_musl(self):
        """Does the program use musl, whose objects have other words?"""
        return any(os.path.basename(path) == "libc.so" or "ld-musl" in path
                   for path, _ in self.files())

    def name_at(self, address):
        """(symbol, offset), or None."""
        if address not in self._names:
            self._names[address] = self._find_name(address)
        return self._names[address]

    def _find_name(self, address):
        if self.dwfl:
            return self.dwfl.name_at(address)
        mapping = self._source.maps.at(address)
        loaded = mapping and self._file(mapping)
        if not loaded or loaded[1] is None:
            return None
        return loaded[0].name_at(address - loaded[1])

    def line_at(self, address):
        """file:line of a place in the code, or None."""
        if address not in self._lines:
            found = self.dwfl and self.dwfl.line_at(address)
            self._lines[address] = found and (
                f"{os.path.basename(found[0])}:{found[1]}")
        return self._lines[address]

    def frame(self, address, guess, depth=None):
        mapping = self._source.maps.at(address)
        found = self.name_at(address)
        return Frame(address, found and plain_name(found[0]),
                     mapping.path if mapping else "", guess, depth)

    def is_return(self, address):
        """Does code have a call instruction just before the address?"""
        mapping = self._source.maps.at(address)
        if not mapping or "x" not in mapping.rights:
            return False
        before = self._source.read(address - 8, 8)
        if not before:
            return False
        if self._source.machine.saved_return is not None:
            word = struct.unpack("=I", before[4:])[0]
            return word >> 26 == 0x25 or word & 0xfffffc1f == 0xd63f0000
        # call rel32; call *register or *memory, in 2, 3, 4, 6 or 7 bytes
        return before[3] == 0xe8 or any(
            before[8 - length] == 0xff and before[9 - length] & 0x38 == 0x10
            for length in (2, 3, 4, 6, 7))

    def called(self, frame):
        """A frame of the function that a frame's function has called, or None.

        The called function may have jumped to another one, which has taken its
        place on the stack and may have no symbol. Only calls of x86-64 are
        known here: those to an address, which may be that of a stub, and those
        to an address that is in a word.
        """
        after = frame.address + 1
        code = self._source.read(after - 6, 6)
        if not code or self._source.machine.saved_return is not None:
            return None
        distance = struct.unpack("=i", code[2:])[0]
        target = after + distance
        if code[:2] == b"\xff\x15":
            target = self._source.number(target, "Q")
        elif code[1] == 0xe8:
            target = self._behind_stub(target)
        else:
            return None
        return self.frame(target, frame.guess) if target else None

    def _behind_stub(self, target):
        """The address to which a stub of the procedure linkage table jumps."""
        code = self._source.read(target, 16) or b""
        found = STUB.match(code)
        if not found:
            return target
        distance = struct.unpack("=i", found.group(1))[0]
        return self._source.number(target + found.end() + distance, "Q")


def plain_name(symbol):
    """A symbol's name without its version and the compiler's suffixes."""
    symbol = symbol.split("@")[0]
    if symbol.startswith("_Z"):
        return demangle(symbol)
    return CLONE.sub("", symbol)


@functools.lru_cache(maxsize=None)
def demangle(symbol):
    """A name of C++ or Rust, without its parameters."""
    try:
        function = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    except (OSError, AttributeError):
        return symbol
    function.restype = ctypes.c_void_p
    text = function(symbol.encode(), None, None, None)
    if not text:
        return symbol
    name = ctypes.string_at(text).decode(errors="replace")
    ctypes.CDLL(None).free(ctypes.c_void_p(text))
    return without_parameters(name)


def without_parameters(name):
    """The name before the pair of parentheses at its end."""
    depth, end = 0, name.rfind(")")
    for at in range(end, -1, -1):
        depth += (name[at] == ")") - (name[at] == "(")
        if not depth:
            return name[:at] or name
    return name


class Stacks:
    """Finds the frames of threads; equal stacks are unwound only once."""

    def __init__(self, source, code):
        self._source, self._code = source, code
        self._known = {}            # program counter: the stacks seen there

    def find(self, thread):
        """Fill in thread.frames, the innermost first."""
        machine = self._source.machine
        at = thread.registers.get(machine.program_counter)
        top = thread.registers.get(machine.stack_pointer)
        if at is None or top is None:
            return
        stack = self._stack(top)
        for places, frames in self._known.get(at, ()):
            if all(stack[offset:offset + 8] == value
                   for offset, value in places):
                thread.frames = frames
                return
        found, end = [], 0
        if self._code.dwfl:
            found = self._code.dwfl.unwind(thread)
            end = max((place + 8 - top for _, place in found
                       if place is not None), default=0)
        if not found:
            found = [(at, None)]
        frames = [self._code.frame(address - (number > 0), False)
                  for number, (address, _) in enumerate(found)]
        places = [(place - top, struct.pack("=Q", address))
                  for address, place in found if place is not None]
        complete = len(places) == len(found) - 1
        if len(found) < 3:
            guesses = self._search(stack, end)
            frames += guesses
            places += [(frame.depth, struct.pack("=Q", frame.address + 1))
                       for frame in guesses]
        if complete and places:
            self._known.setdefault(at, []).append((places, frames))
        thread.frames = frames

    def _stack(self, top):
        """The bytes of a stack, up to a page that cannot be read."""
        found, end = b"", top + STACK_BYTES
        while top < end:
            size = PAGE - top % PAGE
            data = self._source.read(top, size)
            if not data:
                break
            found, top = found + data, top + size
        return found

    def _search(self, stack, begin):
        """The frames of all words that look like return addresses."""
        found = []
        words = struct.iter_unpack("=Q", stack[begin:len(stack) & ~7])
        for number, (address,) in enumerate(words):
            if self._code.is_return(address):
                found.append(self._code.frame(address - 1, True,
                                              begin + 8 * number))
                if len(found) == GUESSES:
                    break
        return found
