# SPDX-License-Identifier: MIT
"""The differences of processors: system calls, and registers in DWARF."""

import collections
import platform

Machine = collections.namedtuple(
    "Machine", "calls stack_pointer program_counter saved_return"
    " core_registers get_robust_list")

# Calls in which a thread may sleep. x86-64 has some that arm64 lacks.
_X86 = {
    0: "read", 1: "write", 7: "poll", 16: "ioctl", 17: "pread64",
    18: "pwrite64", 19: "readv", 20: "writev", 23: "select", 24: "sched_yield",
    34: "pause", 35: "nanosleep", 42: "connect", 43: "accept", 44: "sendto",
    45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 56: "clone", 57: "fork",
    58: "vfork", 61: "wait4", 65: "semop", 69: "msgsnd", 70: "msgrcv",
    72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync", 128:
    "rt_sigtimedwait", 130: "rt_sigsuspend", 202: "futex", 208: "io_getevents",
    219: "restart_syscall", 220: "semtimedop", 230: "clock_nanosleep",
    232: "epoll_wait", 242: "mq_timedsend", 243: "mq_timedreceive",
    247: "waitid", 257: "openat", 270: "pselect6", 271: "ppoll",
    281: "epoll_pwait", 288: "accept4", 295: "preadv", 296: "pwritev",
    299: "recvmmsg", 307: "sendmmsg", 318: "getrandom", 426: "io_uring_enter",
    435: "clone3", 441: "epoll_pwait2", 449: "futex_waitv"}
_ARM = {
    22: "epoll_pwait", 25: "fcntl", 29: "ioctl", 32: "flock", 56: "openat",
    63: "read", 64: "write", 65: "readv", 66: "writev", 67: "pread64",
    68: "pwrite64", 69: "preadv", 70: "pwritev", 72: "pselect6", 73: "ppoll",
    82: "fsync", 83: "fdatasync", 95: "waitid", 98: "futex", 101: "nanosleep",
    115: "clock_nanosleep", 124: "sched_yield", 128: "restart_syscall",
    133: "rt_sigsuspend", 137: "rt_sigtimedwait", 182: "mq_timedsend",
    183: "mq_timedreceive", 188: "msgrcv", 189: "msgsnd", 192: "semtimedop",
    193: "semop", 202: "accept", 203: "connect", 206: "sendto",
    207: "recvfrom", 211: "sendmsg", 212: "recvmsg", 220: "clone",
    242: "accept4", 243: "recvmmsg", 260: "wait4", 269: "sendmmsg",
    278: "getrandom", 426: "io_uring_enter", 435: "clone3",
    441: "epoll_pwait2", 449: "futex_waitv"}

#: Calls whose first argument is a file.
ON_FILES = frozenset(("read", "write", "readv", "writev", "pread64",
                      "pwrite64", "preadv", "pwritev", "ioctl", "accept",
                      "accept4", "connect", "sendto", "recvfrom", "sendmsg",
                      "recvmsg", "recvmmsg", "sendmmsg", "flock", "fcntl",
                      "fsync", "fdatasync"))
#: Calls that only pass time.
SLEEPS = frozenset(("nanosleep", "clock_nanosleep"))

# By the order of registers in a core file's NT_PRSTATUS: the number in DWARF,
# or the name that core.py knows it by.
_X86_CORE = (15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5, "call", 16,
             "cs", "flags", 7, "ss", "fs_base")
_ARM_CORE = tuple(range(32)) + ("pc", "flags")

MACHINES = {
    "x86_64": Machine(_X86, 7, 16, None, _X86_CORE, 274),
    "aarch64": Machine(_ARM, 31, 32, 30, _ARM_CORE, None),
}
#: For an unknown processor: its system calls have no names, only numbers.
UNKNOWN = Machine({}, None, None, None, (), None)


def this_machine():
    return MACHINES.get(platform.machine(), UNKNOWN)


def arguments_of(registers):
    """The six arguments of a system call, from registers by DWARF number."""
    if platform.machine() == "aarch64":
        return [registers[number] for number in range(6)]
    return [registers[number] for number in (5, 4, 1, 10, 8, 9)]
