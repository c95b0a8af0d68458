# SPDX-License-Identifier: MIT
"""A running process as /proc shows it: only read, and not stopped."""

import bisect
import collections
import ctypes
import os
import pwd
import struct

from drover_tools.why.machine import this_machine

Mapping = collections.namedtuple(
    "Mapping", "start end rights offset device inode path")

#: The offset of the robust list in struct pthread of x86-64.
ROBUST_LIST_AT = 736


class Refused(Exception):
    """The process cannot be read; the text says what would allow it."""


class Thread:
    """A thread as it was seen."""

    def __init__(self, tid):
        self.tid = tid          # as this process sees it
        self.inner = tid        # as the program sees it, in a container
        self.name = ""
        self.state = "?"
        self.switches = None    # how often it has gone to sleep
        self.call = None        # the system call's number; None: not asleep
        self.arguments = [0] * 6
        self.registers = {}     # those that are known, by DWARF number
        self.frames = []        # stacks.py
        self.wait = None        # calls.py


class Mappings:
    """The memory map."""

    def __init__(self, mappings):
        self.all = sorted(mappings)
        self._starts = [mapping.start for mapping in self.all]

    def at(self, address):
        """The mapping of an address, or None."""
        at = bisect.bisect_right(self._starts, address) - 1
        found = self.all[at] if at >= 0 else None
        return found if found and address < found.end else None


def parse_mapping(line):
    """One line of /proc/PID/maps."""
    words = line.rstrip("\n").split(None, 5)
    start, end = (int(word, 16) for word in words[0].split("-"))
    return Mapping(start, end, words[1], int(words[2], 16), words[3],
                   int(words[4]), words[5] if len(words) > 5 else "")


def text_of(path, missing=""):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return missing


def printable(text):
    """A name without characters that would control a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def fields_of(text):
    """The lines of a status file."""
    return dict(line.split(":\t", 1) for line in text.splitlines()
                if ":\t" in line)


def why_refused(pid, user, error, command):
    """One sentence, with the one thing that would allow the look.

    user: the owner of the process; command: the sub-command that asks
    """
    yama = text_of("/proc/sys/kernel/yama/ptrace_scope").strip() or "0"
    if not isinstance(error, PermissionError):
        return f"process {pid} has just ended"
    if yama == "3":
        return ("this system lets no user look at a process before the next"
                " boot (kernel.yama.ptrace_scope is 3)")
    if os.geteuid() == 0:
        return (f"the kernel does not let this container look at process"
                f" {pid}: the container needs CAP_SYS_PTRACE (docker run"
                " --cap-add SYS_PTRACE)")
    if user != os.geteuid():
        try:
            owner = pwd.getpwuid(user).pw_name
        except KeyError:
            owner = str(user)
        return (f"process {pid} belongs to the user {owner}:"
                f" run sudo drover {command} {pid}")
    if yama != "0":
        return (f"this system lets only its parent look at process {pid}"
                f" (kernel.yama.ptrace_scope is {yama}):"
                f" run sudo drover {command} {pid}")
    return (f"process {pid} has more rights than you, or has asked not to"
            f" be looked at: run sudo drover {command} {pid}")


class Memory:
    """Numbers in a process's memory; subclasses define read()."""

    def read(self, address, size):
        raise NotImplementedError

    def descriptor_at(self, begin):
        """begin, if a struct pthread of x86-64 begins there, or else None.

        The structure has its own address at its offsets 0 and 16.
        """
        words = self.numbers(begin, 3, "Q")
        return begin if words and words[0] == words[2] == begin else None

    def numbers(self, address, count, code="I"):
        """So many numbers at an address, or None if they cannot be read."""
        layout = struct.Struct(f"={count}{code}")
        data = self.read(address, layout.size)
        return layout.unpack(data) if data else None

    def number(self, address, code="I"):
        found = self.numbers(address, 1, code)
        return found[0] if found else None


class Process(Memory):
    """A running process."""

    def __init__(self, pid):
        self.folder = f"/proc/{pid}"
        status = fields_of(text_of(f"{self.folder}/status"))
        if not status:
            raise Refused(f"there is no process {pid}")
        self.pid = int(status["Tgid"])
        # If the first thread has ended, its folder has no memory any more.
        self.folder = next((f"/proc/{tid}" for tid in self.tids()
                            if "VmSize" in fields_of(text_of(
                                f"/proc/{tid}/status"))), None)
        if not self.folder:
            raise Refused(f"process {pid} "
                          + ("has ended, and its parent has not asked for its"
                             " exit status yet" if status["State"][0] in "ZX"
                             else "is a thread of the kernel"))
        if not os.path.exists(f"{self.folder}/syscall"):
            raise Refused("this kernel does not say which system call a thread"
                          " is in: run a kernel that has /proc/PID/syscall")
        self.name = printable(status["Name"])
        self.inner_pid = int(status.get("NSpid", str(pid)).split()[-1])
        self.caught = int(status["SigCgt"], 16)
        self._files = {}
        try:
            self._memory = os.open(f"{self.folder}/mem", os.O_RDONLY)
            self.maps = self._read_maps()
            with open(f"{self.folder}/exe", "rb") as file:
                if file.read(5) != b"\x7fELF\2":
                    raise Refused(f"process {pid} runs a program that is not"
                                  " of 64 bits")
        except OSError as error:
            raise Refused(why_refused(
                pid, int(status["Uid"].split()[0]), error, "why")) from None
        self.root = f"{self.folder}/root"
        try:
            self.program = os.readlink(f"{self.folder}/exe")
        except OSError:
            self.program = ""
        self.machine = this_machine()
        self.stopped = 0        # seconds; exact.py

    def close(self):
        os.close(self._memory)

    def _read_maps(self):
        with open(f"{self.folder}/maps", encoding="utf-8",
                  errors="surrogateescape") as file:
            return Mappings(map(parse_mapping, file))

    def read(self, address, size):
        """Memory, or None."""
        try:
            data = os.pread(self._memory, size, address)
        except (OSError, OverflowError):
            return None
        return data if len(data) == size else None

    def tids(self):
        try:
            return sorted(map(int, os.listdir(f"/proc/{self.pid}/task")))
        except OSError:
            raise Refused(f"process {self.pid} has ended") from None

    def _status(self, tid):
        return fields_of(text_of(f"/proc/{self.pid}/task/{tid}/status"))

    def threads(self):
        """All threads; of each, the switches are read before the call."""
        found = []
        for tid in self.tids():
            thread = Thread(tid)
            status = self._status(tid)
            if not status:
                continue
            thread.name = printable(status["Name"])
            thread.state = status["State"][0]
            thread.inner = int(status.get("NSpid", str(tid)).split()[-1])
            thread.switches = int(status.get("voluntary_ctxt_switches", 0))
            self._read_call(thread)
            found.append(thread)
        return found

    def _read_call(self, thread):
        words = text_of(f"/proc/{self.pid}/task/{thread.tid}/syscall").split()
        if len(words) == 9 and thread.state not in "Tt":
            thread.call = int(words[0])
            numbers = [int(word, 16) for word in words[1:]]
            thread.arguments = numbers[:6]
            thread.registers = {self.machine.stack_pointer: numbers[6],
                                self.machine.program_counter: numbers[7]}

    def descriptor(self, thread):
        """The address of a thread's struct pthread, or None.

        The C library has told the kernel the address of a list in it.
        """
        head, size = ctypes.c_size_t(), ctypes.c_size_t()
        call = self.machine.get_robust_list
        if call is None or ctypes.CDLL(None).syscall(
                call, thread.tid, ctypes.byref(head), ctypes.byref(size)):
            return None
        return self.descriptor_at(head.value - ROBUST_LIST_AT)

    def asleep_since(self, thread):
        """Has a thread slept since threads() saw it?

        The call is read before the count of switches: to read the call, the
        kernel waits until a thread that is about to sleep does sleep, and by
        then it has counted this sleep.
        """
        again = Thread(thread.tid)
        self._read_call(again)
        status = self._status(thread.tid)
        return (thread.call is not None and again.call == thread.call
                and again.registers == thread.registers
                and again.arguments == thread.arguments
                and status.get("State", "?")[0] in "SD"
                and int(status.get("voluntary_ctxt_switches", -1))
                == thread.switches)

    def newcomers(self, threads):
        """The program's numbers of the threads that are not in a list."""
        known = {thread.tid for thread in threads}
        return {int(self._status(tid).get("NSpid", str(tid)).split()[-1])
                for tid in self.tids() if tid not in known}

    def look_again(self, thread):
        """A thread's system call at this moment: (number, first argument)."""
        again = Thread(thread.tid)
        self._read_call(again)
        return again.call, again.arguments[0]

    def exists(self, inner):
        """Is there a thread, of any process, with this number of the program?
        """
        if self.inner_pid == self.pid:
            return os.path.exists(f"/proc/{inner}")
        return os.path.exists(f"{self.root}/proc/{inner}")

    def may_be_owner(self, inner, address):
        """Can a thread of another process hold a mutex in shared memory?

        In another PID namespace the thread may have another number.
        """
        def space(pid):
            try:
                return os.readlink(f"/proc/{pid}/ns/pid")
            except OSError:
                return None

        others, _ = self.others_that_map(self.maps.at(address))
        return self.exists(inner) or any(
            space(pid) != space(self.pid) for pid, _ in others)

    def path_of(self, mapping):
        """The path by which the file of a mapping can be read."""
        if mapping.path.endswith(" (deleted)"):
            return (f"{self.folder}/map_files/"
                    f"{mapping.start:x}-{mapping.end:x}")
        return self.root + mapping.path

    def file(self, number):
        """The name of an open file, or of a pipe or socket."""
        if number not in self._files:
            try:
                self._files[number] = os.readlink(f"{self.folder}/fd/{number}")
            except OSError:
                self._files[number] = ""
        return self._files[number]

    def others_that_map(self, mapping):
        """(processes that map the same memory, whether all could be read)."""
        found, complete = [], True
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == self.pid:
                continue
            try:
                with open(f"/proc/{name}/maps", encoding="utf-8",
                          errors="surrogateescape") as file:
                    lines = [line for line in file
                             if f" {mapping.inode} " in line]
            except PermissionError:
                complete = complete and not self._is_kin(name)
                continue
            except OSError:
                continue
            for other in map(parse_mapping, lines):
                if (other.device, other.inode) == (mapping.device,
                                                   mapping.inode):
                    found.append((int(name), other))
        return found, complete

    def _is_kin(self, name):
        """May a process that cannot be read share memory with this one?"""
        def facts(pid):
            head, _, tail = text_of(f"/proc/{pid}/stat").rpartition(")")
            words = tail.split()
            return head.partition("(")[2], words[3:4], words[1:2]

        (own, session, parent), (its, other, _) = facts(self.pid), facts(name)
        return own == its or session == other or (
            parent == [name] and name != "1")

    def foreign_sleepers(self, mapping, address, size):
        """How many threads of other processes sleep there, or None if unknown.
        """
        processes, complete = self.others_that_map(mapping)
        count = 0
        for pid, other in processes:
            low = (address - mapping.start + mapping.offset - other.offset
                   + other.start)
            try:
                tids = os.listdir(f"/proc/{pid}/task")
            except OSError:
                continue
            for tid in tids:
                words = text_of(f"/proc/{pid}/task/{tid}/syscall").split()
                if not words:
                    complete = False
                elif len(words) == 9 and low <= int(words[1], 16) < low + size:
                    count += 1
        return count if complete else None
