# SPDX-License-Identifier: MIT
"""Give two kernels the same futex calls, and test that they answer alike.

    tools/differential                      mainline and drover
    tools/differential mainline BZIMAGE     mainline and a kernel of yours
    tools/differential --apart mainline BZIMAGE
                    the same with no two futexes in one bucket, so that the
                    order within buckets does not show

Both kernels run in guests with one CPU each, whose clock counts instructions,
so that a busy machine changes nothing. The program `calls` makes the calls
(see calls.h): sequences that are drawn from a seed, with sleeping waiters of
all kinds. The test compares all answers, the threads that each call has woken,
and at the end of each sequence the places of all waiters, which it finds by
wakes. It prints TAP, and shows a difference call by call.
"""

import argparse
import os

from drover_tools.differential.pair import (PROGRAM, Different, Pair,
                                            Unfounded, text_of)
from drover_tools.tap import Tap
from drover_tools.tree import BUILD
from drover_tools.vm.guest import Guest, GuestError

#: So many sequences are in one command, which takes a second or two.
CHUNK = 100
#: Lets a kernel that loops panic after four seconds of the clock that counts
#: instructions. That is a minute at most; the limit of a command is ten.
PANIC_ON_LOOP = ("cd /proc/sys/kernel && echo 1 >softlockup_panic &&"
                 " echo 2 >watchdog_thresh")


def boot(name, options):
    """Boot a guest of a variant, or of a kernel image."""
    image = name if os.path.sep in name else None
    program = os.path.join(options.build, "differential", "calls")
    try:
        guest = Guest(variant=name, kernel=image, cpus=1, mem=512,
                      accel=options.accel, build=options.build,
                      additions=[(program, PROGRAM)])
        if options.accel == "icount":
            guest.run(PANIC_ON_LOOP)
    except GuestError as error:
        raise Unfounded(f"{name}: {error}") from error
    return guest


def run(options):
    """Compare until enough calls were made. Return: the sum of all counts."""
    totals, first = {}, 0
    one = boot(options.kernels[0], options)
    with one, boot(options.kernels[1], options) as other:
        pair = Pair(dict(zip(options.kernels, (one, other))),
                    options.seed, options.apart)
        while totals.get("calls", 0) < options.calls:
            for name, value in pair.compare(first, CHUNK).items():
                totals[name] = totals.get(name, 0) + int(value)
            first += CHUNK
    totals["sequences"] = first
    return totals


def report(tap, totals, options):
    """Print the counts, and test that they are large enough for a verdict."""
    rare = [name for name, value in totals.items()
            if not value and not (options.apart and name == "same_bucket")]
    tap.ok(not rare, "every kind of call was made", f"never made: {rare}")
    tap.ok(totals["busy_calls"] >= totals["calls"] // 10, "one call in ten, or"
           " more, was made with two or more waiters asleep")
    print(*(f"# {name}: {value}" for name, value in totals.items()), sep="\n")


def main():
    """The exit status: 0 if no difference was found, 1 if one was.

    2 if nothing can be compared, as a guest does not boot or the first kernel
    fails by itself.
    """
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", metavar="VARIANT|BZIMAGE")
    parser.add_argument("--calls", type=int, default=10000, metavar="N",
                        help="make at least N calls (default 10000)")
    parser.add_argument("--apart", action="store_true",
                        help="put no two futexes into one bucket")
    parser.add_argument("--seed", type=int, default=1,
                        help="draw the sequences from this seed (default 1)")
    parser.add_argument("--build", default=BUILD, metavar="DIR")
    parser.add_argument("--accel", default="icount",
                        choices=("auto", "kvm", "tcg", "icount"))
    options = parser.parse_args()
    options.kernels = options.kernels or ["mainline", "drover"]
    if len(set(options.kernels)) != 2:
        parser.error("name two different kernels, or none")
    tap = Tap()
    print(f"# seed {options.seed}", flush=True)
    alike = f"{' and '.join(options.kernels)} answer alike"
    try:
        totals = run(options)
    except Unfounded as error:
        why, *text = str(error).splitlines()
        print(*(f"# {line}" for line in text), f"Bail out! {why}", sep="\n")
        return 2
    except (Different, GuestError) as error:
        tap.ok(False, alike, text_of(error))
    else:
        tap.ok(True, alike)
        report(tap, totals, options)
    return tap.exit_status()
