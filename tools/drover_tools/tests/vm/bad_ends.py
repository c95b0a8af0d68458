# SPDX-License-Identifier: MIT
"""Guests that panic, hang or complain, and runners that are killed."""

import os
import select
import signal
import subprocess

from drover_tools.vm import guest as guest_module, initramfs
from drover_tools.vm.errors import (GuestComplained, GuestDied, GuestMissing,
                                    GuestTimeout)
from drover_tools.vm.guest import Guest

PANIC = "echo c >/proc/sysrq-trigger"
WARNING = "WARNING: printed by the runner's selftest"

#: Stops the process that reads the host's requests: the guest goes on, but it
#: answers nothing.
DEAFEN = """
for pid in $(pidof init); do
    [ "$pid" = 1 ] || [ "$pid" = "$PPID" ] || kill -STOP "$pid"
done
exec sleep 1000
"""


def _catch(error, function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except error as caught:
        return caught
    raise AssertionError(f"no {error.__name__}")


def _gone(pidfd):
    """Whether the process ends within seconds."""
    ready, _, _ = select.select([pidfd], [], [], 10)
    return bool(ready)


def test_command_past_its_time_is_killed_and_the_guest_goes_on(bench):
    with Guest(**bench.boot) as guest:
        error = _catch(GuestTimeout, guest.run,
                       "echo begun; sleep 1000 & sleep 1000", timeout=1)
        assert error.output == b"begun\n"
        status, output = guest.run("pidof sleep; echo $((6*7))")
        assert (status, output) == (0, b"42\n")


def test_time_limit_is_status_124(bench):
    done = bench.vm("--timeout=1", "--", "echo begun; sleep 1000")
    assert (done.returncode, done.stdout) == (124, b"begun\n"), done


def test_panic_is_status_125_with_the_log(bench):
    done = bench.vm("--", f"{PANIC}; sleep 1000")
    assert done.returncode == 125, done
    assert b"Kernel panic - not syncing: sysrq triggered crash" in done.stderr


def test_warning_in_the_log_is_status_125(bench):
    done = bench.vm("--", f'echo "{WARNING}" >/dev/kmsg; echo over')
    assert (done.returncode, done.stdout) == (125, b"over\n"), done
    assert WARNING.encode() in done.stderr


def test_warning_is_the_fault_of_its_own_command_only(bench):
    with Guest(**bench.boot) as guest:
        error = _catch(GuestComplained, guest.run,
                       f'echo "{WARNING}" >/dev/kmsg; echo over')
        assert WARNING in error.log and error.output == b"over\n"
        assert guest.run("true") == (0, b"")


def test_warning_comes_through_a_lowered_log_level(bench):
    with Guest(**bench.boot) as guest:
        _catch(GuestComplained, guest.run,
               f'dmesg -n 1; echo "<7>{WARNING}" >/dev/kmsg')


def test_hanging_guest_dies_and_says_where(bench):
    usual = guest_module.ANSWER_TIMEOUT
    guest_module.ANSWER_TIMEOUT = 3
    try:
        with Guest(**bench.boot) as guest:
            error = _catch(GuestDied, guest.run, DEAFEN, timeout=1)
    finally:
        guest_module.ANSWER_TIMEOUT = usual
    assert "hangs" in str(error) and "Call Trace" in error.log, error.log


def test_guest_that_ends_without_verdict_is_status_125(bench):
    done = bench.vm("--", "poweroff -f; sleep 1000")
    assert done.returncode == 125, done
    assert b"QEMU ended" in done.stderr, done


def test_kernel_that_does_not_boot_is_status_125(bench):
    path = os.path.join(bench.scratch, "no-kernel")
    with open(path, "wb") as file:
        file.write(b"this is no kernel" * 1000)
    done = subprocess.run([*bench.command()[:1], f"--kernel={path}",
                           "--accel=tcg", "--", "true"],
                          capture_output=True, timeout=300, check=False)
    assert done.returncode == 125, done


def test_missing_kernel_says_what_to_make(bench):
    done = subprocess.run([*bench.command()[:1], "--variant=nosuch", "true"],
                          capture_output=True, timeout=300, check=False)
    assert done.returncode == 125 and b"make kernel" in done.stderr, done


def test_missing_qemu_says_what_to_install(bench):
    done = bench.vm("true", env={"PATH": "/nowhere"})
    assert done.returncode == 125 and b"apt-get" in done.stderr, done


def test_missing_busybox_says_what_to_install(bench):
    usual = initramfs.BUSYBOX
    initramfs.BUSYBOX = "/nowhere/busybox"
    try:
        error = _catch(GuestMissing, Guest, **bench.boot)
    finally:
        initramfs.BUSYBOX = usual
    assert "apt-get install busybox-static" in str(error)


def children(pid):
    """The processes that a program's first thread has started."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def _kill_runner(bench, number):
    """Kill a runner in the middle of a command. Return: its exit status."""
    with subprocess.Popen(bench.command("--", "echo begun; sleep 1000"),
                          stdout=subprocess.PIPE, bufsize=0) as runner:
        assert runner.stdout.readline() == b"begun\n"
        qemu, = children(runner.pid)
        pidfd = os.pidfd_open(qemu)
        runner.send_signal(number)
        assert _gone(pidfd), "QEMU is left behind"
        os.close(pidfd)
        return runner.wait(10)


def test_interrupted_runner_leaves_nothing(bench):
    assert _kill_runner(bench, signal.SIGINT) == 130


def test_terminated_runner_leaves_nothing(bench):
    assert _kill_runner(bench, signal.SIGTERM) == 143


def test_killed_runner_leaves_nothing(bench):
    assert _kill_runner(bench, signal.SIGKILL) == -signal.SIGKILL
