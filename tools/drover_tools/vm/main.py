# SPDX-License-Identifier: MIT
"""Boot a kernel in QEMU, run a command in it, end with its exit status.

Without a command, a shell runs in the guest, which "exit" or Ctrl-A X ends.
One CMD is a shell command line; several are a program and its arguments.  The
exit status is that of the command; 124 if its time was over; 125 if the guest
failed (panic, hang, or a failure in its kernel log).  Documentation/vm.rst
says more.
"""

import argparse
import os
import shlex
import signal
import sys

from drover_tools.signals import leave_on
from drover_tools.tree import BUILD
from drover_tools.vm.guest import Guest, GuestError, GuestTimeout
from drover_tools.vm.terminal import Terminal

STATUS_TIMEOUT = 124
STATUS_FAILED = 125


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="vm", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    kernel = parser.add_mutually_exclusive_group()
    kernel.add_argument("--variant", default="drover",
                        help="boot none, mainline or drover (default)")
    kernel.add_argument("--kernel", metavar="BZIMAGE",
                        help="boot this kernel image")
    parser.add_argument("--cpus", type=int, default=1)
    parser.add_argument("--mem", type=int, default=2048, metavar="MB")
    parser.add_argument("--accel", default="auto",
                        choices=("auto", "kvm", "tcg", "icount"))
    parser.add_argument("--timeout", type=float, default=600, metavar="S",
                        help="end the command after S seconds (default 600)")
    parser.add_argument("--add", action="append", default=[],
                        metavar="HOST[:GUEST]",
                        help="put a file or folder into the guest's file"
                        " system (default GUEST: /root/NAME)")
    parser.add_argument("--get", action="append", default=[],
                        metavar="GUEST:HOST",
                        help="copy a file or folder to the host afterwards")
    parser.add_argument("--log", metavar="FILE",
                        help="write the kernel log to FILE")
    parser.add_argument("--build", default=BUILD, metavar="DIR",
                        help=argparse.SUPPRESS)
    parser.add_argument("-v", "--verbose", action="store_true",
                        help="print the kernel log on stderr")
    parser.add_argument("command", nargs="*", metavar="CMD")
    return parser.parse_args(arguments)


def addition(text):
    """HOST[:GUEST] as a pair; without GUEST in /root, where commands start."""
    host, _, guest = text.partition(":")
    name = os.path.basename(os.path.abspath(host))
    return host, guest or os.path.join("/root", name)


def command_line(words):
    return words[0] if len(words) == 1 else shlex.join(words)


def show(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def use(guest, options):
    """Run the command or the shell. Return: the exit status."""
    if not options.command:
        with Terminal() as terminal:
            return guest.shell(terminal)
    status, _ = guest.run(command_line(options.command),
                          timeout=options.timeout, sink=show)
    for pair in options.get:
        guest.get(*pair.split(":", 1))
    return status


def main():
    # These signals leave the context below, which ends QEMU.
    leave_on(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    options = parse(sys.argv[1:])
    try:
        with Guest(variant=options.variant, kernel=options.kernel,
                   cpus=options.cpus, mem=options.mem, accel=options.accel,
                   build=options.build, log=options.log,
                   additions=[addition(text) for text in options.add],
                   echo=options.verbose) as guest:
            return use(guest, options)
    except GuestTimeout as error:
        complain(error)
        return STATUS_TIMEOUT
    except GuestError as error:
        complain(error)
        return STATUS_FAILED
    except OSError as error:
        print(f"vm: {error}", file=sys.stderr)
        return STATUS_FAILED


def complain(error):
    if error.log:
        print("vm: from the kernel log:", file=sys.stderr)
        print(error.log, file=sys.stderr)
    print(f"vm: {error}", file=sys.stderr)
