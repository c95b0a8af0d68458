# SPDX-License-Identifier: MIT
"""Boot a kernel in QEMU and run commands in it.

    with Guest(variant="drover", cpus=4) as guest:
        status, output = guest.run("cond-perf -r 100 -n 200", timeout=120)

Several guests may be booted at the same time: a guest and its clock stand
still, except while one of the guest's commands runs.
"""

import base64
import contextlib
import functools
import os
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import time

from drover_tools.tree import BUILD
from drover_tools.vm import accel as accelerator, initramfs
from drover_tools.vm.agent import Agent, AgentGone, AgentSilent, Answer
from drover_tools.vm.errors import (GuestComplained, GuestDied, GuestError,
                                    GuestMissing, GuestTimeout)
from drover_tools.vm.kernel_log import KernelLog
from drover_tools.vm.qemu import Qemu
from drover_tools.vm.qmp import Monitor, MonitorGone

#: Seconds until a booting guest must be ready.  An emulated debug kernel takes
#: a minute on a loaded machine, and with icount several minutes.
BOOT_TIMEOUT = {"kvm": 60, "kvm64": 60, "tcg": 300, "icount": 600}

#: Seconds that a guest may take to answer after its command was killed, and to
#: panic after an NMI.
ANSWER_TIMEOUT = 60
PANIC_TIMEOUT = 3

#: For so many seconds after a boot the guest's clock is compared with the
#: host's, and the guest is booted again up to so many times if it is too fast.
CLOCK_SECONDS = 0.5
CLOCK_TRIES = 5

#: So many bytes of a file are sent in one command; see agent.MAX_COMMAND.
PUT_CHUNK = 9000


def kernel_path(variant, build=BUILD):
    """The image that `make kernel` builds for a variant, as drover-6.12."""
    name, dash, base = variant.partition("-")
    path = os.path.join(build, "kernel" + dash + base, name, "bzImage")
    if not os.path.exists(path):
        raise GuestMissing(f"{path} is missing; run: make kernel")
    return path


def has_acpi(kernel):
    """Whether a kernel has ACPI, by the configuration beside its image."""
    path = os.path.join(os.path.dirname(os.path.abspath(kernel)), "config")
    if not os.path.exists(path):
        return True
    with open(path, encoding="utf-8") as file:
        return "CONFIG_ACPI=y\n" in file


def _applets():
    """The commands of the host's busybox, which the guest gets."""
    if not os.path.exists(initramfs.BUSYBOX):
        raise GuestMissing(f"{initramfs.BUSYBOX} is missing; run:"
                           " apt-get install busybox-static")
    done = subprocess.run([initramfs.BUSYBOX, "--list"], check=True,
                          capture_output=True, text=True)
    return done.stdout.split()


def _ignore(_output):
    """A sink for output that is not needed."""


class Guest:
    """One booted guest.

    variant or kernel: the kernel to boot; additions: pairs (host, guest) of
    paths of files to put into the guest's file system; log: a path for the
    kernel log; echo: whether to copy the kernel log to stderr
    """

    def __init__(self, variant="drover", cpus=1, mem=2048, accel="auto",
                 build=BUILD, kernel=None, additions=(), log=None,
                 echo=False, boot_timeout=None):
        self.kernel = kernel or kernel_path(variant, build)
        self.cpus = cpus
        self.log = KernelLog(log, echo)
        self._stack = contextlib.ExitStack()
        self._stack.callback(self.log.close)
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            if accel == "auto":
                accel = accelerator.choose(
                    self.kernel, build,
                    functools.partial(_try_boot, self.kernel, build))
            self.accel = accel
            self._start(mem, build, additions)
            self._boot(boot_timeout or BOOT_TIMEOUT[accel])
            for _ in range(CLOCK_TRIES):
                if self._clock_is_true():
                    break
                self._qemu.close()
                self._start(mem, build, additions)
                self._boot(boot_timeout or BOOT_TIMEOUT[accel])
            undo.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.close()

    def close(self):
        """End the guest.  It leaves nothing behind."""
        self._stack.close()

    @property
    def pid(self):
        """The process id of this guest's QEMU."""
        return self._qemu.pid

    def _start(self, mem, build, additions):
        fd = os.memfd_create("initramfs")
        with os.fdopen(fd, "wb") as image:
            initramfs.make(image, build, _applets(), additions)
            image.flush()
            self._qemu = Qemu(self.kernel, fd, self.log.fd, self.cpus, mem,
                              self.accel, acpi=has_acpi(self.kernel))
        self._stack.callback(self._qemu.close)
        self._agent = Agent(self._qemu.agent_port)

    def _boot(self, seconds):
        with self._answering("booting", []):
            self._monitor = Monitor(self._qemu.monitor_port)
            self._stack.callback(self._monitor.close)
            try:
                self._agent.wait(Answer("ready"), time.monotonic() + seconds,
                                 _ignore)
            except AgentSilent:
                self._hung(f"not ready {seconds} s after its start", [])
            self._wait_for_log("ready")
            self._monitor.execute("stop")
        self.check_log()

    def _clock_is_true(self):
        """Does a second of the guest last a second at least?

        A kernel that boots on a loaded host may find that its time stamp
        counter is several times slower than it is; then its time runs too
        fast. A clock that counts instructions cannot be wrong.
        """
        if self.accel == "icount":
            return True
        start = time.monotonic()
        self._do(f"sleep {CLOCK_SECONDS}")
        return time.monotonic() - start > 0.9 * CLOCK_SECONDS

    def run(self, command, timeout=600, sink=None):
        """Run a shell command. Return: its exit status and its output.

        sink: a function that gets each piece of the output as it comes
        """
        pieces = []

        def keep(data):
            pieces.append(data)
            if sink:
                sink(data)

        with self._answering(command, pieces), self._resumed():
            answer = self._agent.request("run", command)
            try:
                status = self._agent.wait(answer, time.monotonic() + timeout,
                                          keep)
            except AgentSilent:
                self._time_over(f"{command!r} took more than {timeout} s",
                                answer, keep, pieces)
            output = b"".join(pieces)
            self._wait_for_log(answer.nonce, output)
        self.check_log(output)
        return status, output

    def shell(self, terminal):
        """Give the guest's port to a shell until it ends; see terminal.py."""
        self.run(f"stty -F /dev/ttyS1 {terminal.size()}")
        with self._answering("shell", []), self._resumed():
            status = terminal.connect(self._agent,
                                      self._agent.request("shell"))
        self.check_log()
        return status

    def put(self, host, guest):
        """Copy a file or folder of the host into the running guest.

        This is slow, some 50 kB/s in an emulated guest: large files should be
        additions.
        """
        with tempfile.TemporaryFile() as file:
            with tarfile.open(fileobj=file, mode="w") as archive:
                archive.add(host, arcname=os.path.basename(guest))
            file.seek(0)
            self._do("rm -f /run/put")
            for chunk in iter(lambda: file.read(PUT_CHUNK), b""):
                text = base64.encodebytes(chunk).decode()
                self._do(f"base64 -d >>/run/put <<'EOF'\n{text}EOF")
        folder = shlex.quote(os.path.dirname(guest) or "/")
        self._do(f"mkdir -p {folder} && tar -x -C {folder} -f /run/put"
                 " && rm /run/put")

    def get(self, guest, host):
        """Copy a file or folder of the guest to the host."""
        folder, name = os.path.split(guest.rstrip("/"))
        packed = self._do(f"tar -c -C {shlex.quote(folder or '/')}"
                          f" {shlex.quote(name)}")
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "packed")
            with open(path, "wb") as file:
                file.write(packed)
            with tarfile.open(path) as archive:
                archive.extractall(scratch + "/tree")
            os.makedirs(os.path.dirname(os.path.abspath(host)), exist_ok=True)
            shutil.move(os.path.join(scratch, "tree", name), host)

    def _do(self, command):
        """Run a command that fails only if the caller made a mistake."""
        status, output = self.run(command)
        if status:
            raise GuestError(f"{command[:60]}: exit status {status}",
                             output=output)
        return output

    def _wait_for_log(self, mark, output=b""):
        """Wait for all lines that the kernel printed before an answer.

        The guest has to run: with PREEMPT_RT, a thread of the guest prints.
        """
        if not self.log.wait_for(f"drover-vm: {mark}", ANSWER_TIMEOUT):
            raise GuestDied("the kernel log stopped", self.log.excerpt(),
                            output)

    def check_log(self, output=b""):
        """Raise GuestComplained if the kernel log has a new failure."""
        found = self.log.new_failures()
        if found:
            raise GuestComplained(f"in the kernel log: {found[0]}",
                                  self.log.excerpt(found[0]), output)

    @contextlib.contextmanager
    def _resumed(self):
        """The guest's clock runs only inside this."""
        self._monitor.execute("cont")
        yield
        self._monitor.execute("stop")

    @contextlib.contextmanager
    def _answering(self, doing, pieces):
        """A context in which the end of QEMU becomes GuestDied."""
        try:
            yield
        except (AgentGone, MonitorGone) as error:
            self._qemu.kill()
            raise self._death(doing, pieces) from error

    def _death(self, doing, pieces):
        found = self.log.new_failures()
        words = self._qemu.words()
        first = found[0] if found else None
        return GuestDied(f"the guest died ({doing}):"
                         f" {first or words or 'QEMU ended'}",
                         self.log.excerpt(first), b"".join(pieces))

    def _time_over(self, what, answer, sink, pieces):
        """Kill the command; a guest that answers can run the next one."""
        deadline = time.monotonic() + ANSWER_TIMEOUT
        try:
            killed = self._agent.request("kill")
            self._agent.wait(answer, deadline, sink)
            self._agent.wait(killed, deadline, _ignore)
        except AgentSilent:
            self._hung(f"{what}, and nothing answers", pieces)
        output = b"".join(pieces)
        self._wait_for_log(killed.nonce, output)
        self._monitor.execute("stop")
        self.check_log(output)
        raise GuestTimeout(what, self.log.excerpt(), output)

    def _hung(self, what, pieces):
        """Let an NMI make the kernel panic, which shows where it hangs."""
        self._monitor.execute("inject-nmi")
        self._qemu.wait(PANIC_TIMEOUT)
        self._qemu.kill()
        found = self.log.new_failures()
        raise GuestDied(f"the guest hangs ({what})",
                        self.log.excerpt(found[0] if found else None),
                        b"".join(pieces))


def _try_boot(kernel, build, accel, seconds):
    """The try_boot() of accel.choose()."""
    try:
        with Guest(kernel=kernel, build=build, accel=accel, mem=512,
                   boot_timeout=seconds) as guest:
            guest.run("true", timeout=seconds)
    except (GuestDied, GuestTimeout) as error:
        return f"{accel}: {error}", error.log
    return None, ""
