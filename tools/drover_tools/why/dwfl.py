# SPDX-License-Identifier: MIT
"""Stacks, names and lines from elfutils' libdw."""

import ctypes
import os

WORD = ctypes.c_uint64
POINTER = ctypes.c_void_p
#: So many frames of a stack are read at most.
DEEPEST = 64
GO_ON, ENOUGH = 0, 1

FindElf = ctypes.CFUNCTYPE(ctypes.c_int, POINTER)
NextThread = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER,
                              ctypes.POINTER(POINTER))
GetThread = ctypes.CFUNCTYPE(ctypes.c_bool, POINTER, ctypes.c_int, POINTER,
                             ctypes.POINTER(POINTER))
MemoryRead = ctypes.CFUNCTYPE(ctypes.c_bool, POINTER, WORD,
                              ctypes.POINTER(WORD), POINTER)
SetRegisters = ctypes.CFUNCTYPE(ctypes.c_bool, POINTER, POINTER)
Detach = ctypes.CFUNCTYPE(None, POINTER, POINTER)
OneFrame = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER)


class Callbacks(ctypes.Structure):
    """Dwfl_Callbacks"""
    _fields_ = [("find_elf", FindElf), ("find_debuginfo", POINTER),
                ("section_address", POINTER), ("debuginfo_path", POINTER)]


class ThreadCallbacks(ctypes.Structure):
    """Dwfl_Thread_Callbacks"""
    _fields_ = [("next_thread", NextThread), ("get_thread", GetThread),
                ("memory_read", MemoryRead), ("set_registers", SetRegisters),
                ("detach", Detach), ("thread_detach", Detach)]


PROTOTYPES = {
    "dwfl_begin": (POINTER, POINTER),
    "dwfl_report_elf": (POINTER, POINTER, ctypes.c_char_p, ctypes.c_char_p,
                        ctypes.c_int, WORD, ctypes.c_bool),
    "dwfl_report_end": (ctypes.c_int, POINTER, POINTER, POINTER),
    "dwfl_attach_state": (ctypes.c_bool, POINTER, POINTER, ctypes.c_int,
                          POINTER, POINTER),
    "dwfl_getthread_frames": (ctypes.c_int, POINTER, ctypes.c_int, OneFrame,
                              POINTER),
    "dwfl_thread_state_registers": (ctypes.c_bool, POINTER, ctypes.c_int,
                                    ctypes.c_uint, ctypes.POINTER(WORD)),
    "dwfl_thread_state_register_pc": (None, POINTER, WORD),
    "dwfl_frame_pc": (ctypes.c_bool, POINTER, ctypes.POINTER(WORD),
                      ctypes.POINTER(ctypes.c_bool)),
    "dwfl_addrmodule": (POINTER, POINTER, WORD),
    "dwfl_module_addrinfo": (ctypes.c_char_p, POINTER, WORD,
                             ctypes.POINTER(WORD), POINTER, POINTER, POINTER,
                             POINTER),
    "dwfl_module_getsrc": (POINTER, POINTER, WORD),
    "dwfl_lineinfo": (ctypes.c_char_p, POINTER, POINTER,
                      ctypes.POINTER(ctypes.c_int), POINTER, POINTER, POINTER),
}


def load():
    """The library, or None."""
    try:
        library = ctypes.CDLL("libdw.so.1")
        for name, (result, *arguments) in PROTOTYPES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError):
        return None
    # With this variable libdw would ask servers for debug information.
    os.environ.pop("DEBUGINFOD_URLS", None)
    return library


class Dwfl:
    """A process, or a core file, as libdw sees it.

    modules: (path, bias) of each mapped file; the program's comes first.
    """

    def __init__(self, library, source, modules):
        self._dw, self._source, self._thread = library, source, None
        # section_address is for kernel modules, debuginfo_path has a default.
        self._callbacks = Callbacks(
            FindElf(lambda module: -1),
            ctypes.cast(library.dwfl_standard_find_debuginfo, POINTER),
            None, None)
        self._dwfl = library.dwfl_begin(ctypes.byref(self._callbacks))
        for path, bias in modules:
            library.dwfl_report_elf(self._dwfl, os.fsencode(path),
                                    os.fsencode(path), -1, bias, True)
        library.dwfl_report_end(self._dwfl, None, None)
        self._thread_callbacks = ThreadCallbacks(
            NextThread(lambda dwfl, arg, at: 0), GetThread(self._get_thread),
            MemoryRead(self._memory_read), SetRegisters(self._set_registers),
            Detach(), Detach())
        self._attached = library.dwfl_attach_state(
            self._dwfl, None, 1, ctypes.byref(self._thread_callbacks), None)
        self._each_frame = OneFrame(self._frame)
        self._found, self._reads = [], {}

    def _get_thread(self, _dwfl, _tid, _arg, _at):
        return True

    def _memory_read(self, _dwfl, address, result, _arg):
        value = self._source.number(address, "Q")
        if value is None:
            return False
        result[0] = value
        self._reads[value] = address
        return True

    def _set_registers(self, thread, _arg):
        for number, value in self._thread.registers.items():
            if isinstance(number, int) and number < 32:
                self._dw.dwfl_thread_state_registers(thread, number, 1,
                                                     WORD(value))
        self._dw.dwfl_thread_state_register_pc(
            thread,
            self._thread.registers[self._source.machine.program_counter])
        return True

    def _frame(self, frame, _arg):
        address, exact = WORD(), ctypes.c_bool()
        if not self._dw.dwfl_frame_pc(frame, address, exact):
            return ENOUGH
        self._found.append((address.value, exact.value))
        return GO_ON if len(self._found) < DEEPEST else ENOUGH

    def unwind(self, thread):
        """[(address, where on the stack it was found or None)]."""
        self._thread, self._found, self._reads = thread, [], {}
        if self._attached:
            self._dw.dwfl_getthread_frames(self._dwfl, 1, self._each_frame,
                                           None)
        return [(address, None if exact else self._reads.get(address))
                for address, exact in self._found]

    def name_at(self, address):
        """(symbol, offset), or None."""
        module = self._dw.dwfl_addrmodule(self._dwfl, address)
        offset = WORD()
        symbol = (ctypes.c_uint64 * 3)()
        name = module and self._dw.dwfl_module_addrinfo(
            module, address, offset, ctypes.byref(symbol), None, None, None)
        # A symbol without a size is only the nearest one before the address.
        if not name or offset.value >= max(symbol[2], 1):
            return None
        return name.decode(errors="replace"), offset.value

    def line_at(self, address):
        """(path, line), or None."""
        module = self._dw.dwfl_addrmodule(self._dwfl, address)
        line = module and self._dw.dwfl_module_getsrc(module, address)
        number = ctypes.c_int()
        path = line and self._dw.dwfl_lineinfo(line, None, number, None, None,
                                               None)
        return (os.fsdecode(path), number.value) if path else None
