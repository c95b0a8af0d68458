# SPDX-License-Identifier: MIT
"""The QEMU process: its command line, its ports, and its end in any case."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess

from drover_tools.vm.errors import GuestMissing

QEMU = "qemu-system-x86_64"

#: A PC without devices that only take time to probe.
MACHINE = "q35,sata=off,smbus=off,i8042=off,usb=off,vmport=off"

#: ignore_loglevel: the log has all lines, also if a test changes the level.
#: devkmsg=on: lines that are written to /dev/kmsg have no rate limit.
#: panic=-1 and -no-reboot: QEMU ends at once when the guest panics.
#: tsc=reliable: a loaded host must not push the guest to a slower clock in
#: the middle of a measurement.
#: no_timer_check: without it the kernel panics at boot if a few ticks in a row
#: are late, as they may be on a loaded host.
#: Stalls are reported after 120 s, not 20: on a loaded host an emulated CPU
#: may not run for that long.
#: panic_print=64: a panic shows where each CPU was.
#: numa=fake=2: two nodes, in a kernel with NUMA.
APPEND = ("console=ttyS0 ignore_loglevel printk.devkmsg=on printk.time=1"
          " panic=-1 tsc=reliable no_timer_check"
          " rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60"
          " panic_print=64 numa=fake=2")

ACCELERATORS = {
    "kvm": ("-accel", "kvm", "-cpu", "host"),
    "kvm64": ("-accel", "kvm", "-cpu", "kvm64"),
    "tcg": ("-accel", "tcg,thread=multi"),
    "icount": ("-accel", "tcg,thread=single",
               "-icount", "shift=0,sleep=off", "-rtc", "clock=vm"),
}

PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None, use_errno=True).prctl


def find_qemu():
    path = shutil.which(QEMU)
    if not path:
        raise GuestMissing(f"{QEMU} is not installed; run:"
                           " apt-get install qemu-system-x86")
    return path


def _die_with(parent):
    """A function for the child: SIGKILL ends it when the parent ends.

    The child gets a process group of its own, so that Ctrl-C goes only to the
    parent, which decides what to do.
    """
    def set_up():
        os.setpgid(0, 0)
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:      # the parent ended before the prctl
            os.kill(os.getpid(), signal.SIGKILL)
    return set_up


class Qemu:
    """A running QEMU.  The kernel log, the initramfs and the ports are open
    files that QEMU inherits: it leaves nothing on disk.

    By PR_SET_PDEATHSIG, QEMU dies with the thread that started it, so that
    thread has to live long enough.

    acpi: False for a kernel without ACPI. Such a kernel finds its CPUs in the
    MP table, which has one CPU of each package: so each CPU gets a package of
    its own.
    """

    def __init__(self, kernel, initramfs_fd, log_fd, cpus, mem, accel,
                 acpi=True):
        self.agent_port, agent_end = socket.socketpair()
        self.monitor_port, monitor_end = socket.socketpair()
        ends = (agent_end.fileno(), monitor_end.fileno())
        command = [find_qemu(), "-nodefaults", "-no-user-config",
                   "-display", "none", "-no-reboot", "-machine", MACHINE,
                   *ACCELERATORS[accel], "-m", f"{mem}M", "-smp",
                   f"{cpus}" if acpi else f"{cpus},sockets={cpus}",
                   "-kernel", kernel, "-initrd", f"/dev/fd/{initramfs_fd}",
                   "-append", APPEND,
                   "-chardev",
                   f"file,id=log,path=/dev/fd/{log_fd},append=on",
                   "-serial", "chardev:log",
                   "-chardev", f"socket,id=agent,fd={ends[0]}",
                   "-serial", "chardev:agent",
                   "-chardev", f"socket,id=qmp,fd={ends[1]}",
                   "-mon", "chardev=qmp,mode=control"]
        with agent_end, monitor_end:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(initramfs_fd, log_fd, *ends),
                preexec_fn=_die_with(os.getpid()))

    @property
    def pid(self):
        return self._process.pid

    def wait(self, seconds):
        """Return: whether QEMU has ended, or ends within these seconds."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def words(self):
        """The output of QEMU itself, after it has ended."""
        return self._process.stdout.read().decode(errors="replace").strip()

    def kill(self):
        """Kill QEMU, as the guest has nothing to save, and wait for it."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def close(self):
        self.kill()
        for file in (self._process.stdout, self.agent_port, self.monitor_port):
            file.close()
