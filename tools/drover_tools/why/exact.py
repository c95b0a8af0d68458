# SPDX-License-Identifier: MIT
"""A process whose threads are stopped during the look."""

import contextlib
import ctypes
import os
import platform
import time

from drover_tools.why.machine import arguments_of
from drover_tools.why.process import Process, Refused

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
PTRACE_GETREGSET, NT_PRSTATUS = 0x4204, 1
WALL = 0x40000000
#: The instruction of arm64 that calls the kernel.
SVC = 0xd4000001
#: This event marks a stop that was asked for, and not caused by a signal.
PTRACE_EVENT_STOP = 128
#: How many seconds a thread may take to stop, before it is left alone: one in
#: a sleep that signals do not interrupt; and any other one, which stops as
#: soon as it gets a CPU.
PATIENCE, LONGEST = 0.5, 5
#: Results of a call that will go on after a stop: ERESTARTSYS and the like.
RESTARTS = {-number & (1 << 64) - 1 for number in (512, 513, 514, 516)}


class Vector(ctypes.Structure):
    """struct iovec"""
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def in_call(thread, words, memory, machine):
    """Set registers and call of a stopped thread from its NT_PRSTATUS.

    On arm64 the first argument and the result share a register. If the call
    will go on, the kernel has put the argument back, and the program counter
    points to the call's instruction again.
    """
    registers = dict(zip(machine.core_registers, words))
    if platform.machine() == "aarch64":
        registers[machine.program_counter] = registers["pc"]
        number, waits = registers[8], memory.number(registers["pc"]) == SVC
    else:
        number, waits = registers["call"], registers[0] in RESTARTS
    thread.registers = registers
    thread.arguments = arguments_of(registers)
    if waits and number < 1 << 31:
        thread.call = number


class Stopped(Process):
    """A Process that also has the registers of all threads.

    Until `prepared` is set, no thread is stopped: that first look reads all
    files that the next one needs, which then stops the threads for less time.
    """

    prepared = False

    def __init__(self, pid):
        super().__init__(pid)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int,
                                      ctypes.c_void_p, ctypes.c_void_p]
        self._libc.ptrace.restype = ctypes.c_long
        self._held = {}     # stopped thread ids, and the signal each will take
        self._began = 0

    def _ptrace(self, request, tid, address=None, data=None):
        if self._libc.ptrace(request, tid, address, data) < 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def _ask(self, tid):
        """Ask a thread to stop. Return: false if the thread has ended."""
        try:
            self._ptrace(PTRACE_SEIZE, tid)
            self._ptrace(PTRACE_INTERRUPT, tid)
        except ProcessLookupError:
            return False
        except PermissionError:
            status = self._status(tid)
            if status.get("State", "Z")[0] in "ZX":
                return False
            if int(status["TracerPid"]) == os.getpid():
                return True         # it was asked by an earlier call
            raise Refused(f"thread {tid} cannot be stopped, as a debugger or"
                          " tracer has it already: end that program, or look"
                          " without --exact") from None
        return True

    def _has_stopped(self, tid):
        """Has a thread stopped, or ended?"""
        try:
            pid, status = os.waitpid(tid, WALL | os.WNOHANG)
        except ChildProcessError:
            return True
        if pid and os.WIFSTOPPED(status):
            self._held[tid] = (0 if status >> 16 == PTRACE_EVENT_STOP
                               else os.WSTOPSIG(status))
        return bool(pid)

    def _stop(self, tids):
        """Stop these threads, any of which may have ended."""
        left = [tid for tid in tids if self._ask(tid)]
        began = time.monotonic()
        while left:
            left = [tid for tid in left if not self._has_stopped(tid)]
            passed = time.monotonic() - began
            if passed > LONGEST or passed > PATIENCE and all(
                    self._status(tid).get("State", "X")[0] in "DX"
                    for tid in left):
                break
            time.sleep(0.0001)

    def threads(self):
        """Stop and return all threads, until release() lets them go on."""
        if not self.prepared:
            return super().threads()
        self.release()
        self._began = time.monotonic()
        known = set()
        # A thread that is not stopped yet may create others.
        while not known.issuperset(self.tids()):
            new = set(self.tids()) - known
            known |= new
            self._stop(new)
        return [self._registers(thread) if thread.tid in self._held
                else thread for thread in super().threads()]

    def _registers(self, thread):
        words = (ctypes.c_uint64 * 40)()
        vector = Vector(ctypes.addressof(words), ctypes.sizeof(words))
        thread.state = "S"
        with contextlib.suppress(OSError):
            self._ptrace(PTRACE_GETREGSET, thread.tid, NT_PRSTATUS,
                         ctypes.addressof(vector))
            in_call(thread, words[:vector.length // 8], self, self.machine)
        return thread

    def release(self):
        """Let all threads go on, and take the signals that have come."""
        for tid, number in self._held.items():
            with contextlib.suppress(OSError):
                self._ptrace(PTRACE_DETACH, tid, data=number)
        if self._held:
            self.stopped = time.monotonic() - self._began
        self._held.clear()

    def asleep_since(self, thread):
        """Whether the thread is stopped, and so has not moved."""
        if not self.prepared:
            return super().asleep_since(thread)
        return thread.tid in self._held

    def look_again(self, thread):
        if not self.prepared:
            return super().look_again(thread)
        return thread.call, thread.arguments[0]

    def close(self):
        self.release()
        super().close()
