# SPDX-License-Identifier: MIT
"""Two guests that are given the same commands, and what they answer."""

import concurrent.futures
import difflib

from drover_tools.vm.errors import GuestError

PROGRAM = "/drover/differential/calls"
#: Seconds for one command, on a loaded machine.
LIMIT = 600
#: Lines around a difference that are shown.
CONTEXT = 12
MOST_LINES = 60


class Different(Exception):
    """The two kernels do not answer alike; says how."""


class Unfounded(Exception):
    """There is nothing to compare with; the first line says why."""


class Pair:
    """The first guest's kernel is the one that the other's is held against."""

    def __init__(self, guests, seed, apart=False):
        self.guests = guests        # by name, in order
        self.seed = seed
        self.apart = apart          # no two futexes in one bucket

    def run(self, first, sequences, show=False):
        """The lines that each prints, in order.

        What the first one cannot do either is no fault of the other. Every
        other hundred has the global hash.
        """
        command = (f"DROVER_VARIANT=guest {PROGRAM} seed={self.seed}"
                   f" first={first} sequences={sequences} show={int(show)}"
                   f" global={first // 100 % 2} apart={int(self.apart)}")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            one, other = (pool.submit(_run_one, name, guest, command)
                          for name, guest in self.guests.items())
        try:
            wanted = one.result()
        except (Different, GuestError) as error:
            raise Unfounded(f"{next(iter(self.guests))} fails by itself\n"
                            f"{text_of(error)}") from error
        return wanted, other.result()

    def compare(self, first, sequences):
        """Run some sequences; what was counted, if both answer alike."""
        one, other = self.run(first, sequences)
        if one == other:
            return dict(line.split("=") for line in one if "=" in line)
        number = next((i for i, pair in enumerate(zip(one, other))
                       if pair[0] != pair[1]), min(len(one), len(other)))
        raise Different(self._explain(first + min(number, sequences - 1)))

    def _explain(self, number):
        """One sequence, call by call."""
        one, other = self.run(number, 1, show=True)
        diff = list(difflib.unified_diff(one, other, *self.guests,
                                         lineterm="", n=CONTEXT))
        if not diff:
            diff = ["(by itself it makes no difference)"]
        return "\n".join([f"in sequence {number}, seed {self.seed}:",
                          *diff[:MOST_LINES]])


def _run_one(name, guest, command):
    status, output = guest.run(command, timeout=LIMIT)
    lines = output.decode(errors="replace").splitlines()
    if status:
        *before, why = lines[-CONTEXT:] or ["and nothing printed"]
        raise Different("\n".join([f"{name}: exit status {status}: {why}",
                                   *before]))
    return lines


def text_of(error):
    """What it says, below the end of the kernel log if it has that."""
    return f"{getattr(error, 'log', '') or ''}\n{error}".strip()
