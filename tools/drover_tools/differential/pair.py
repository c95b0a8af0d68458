# SPDX-License-Identifier: MIT
"""Two guests that get the same commands, and the comparison of their answers.
"""

import concurrent.futures
import difflib

from drover_tools.vm.errors import GuestError

PROGRAM = "/drover/differential/calls"
#: Seconds for one command, on a loaded machine.
LIMIT = 600
#: So many lines around a difference are shown, and so many lines in all.
CONTEXT = 12
MOST_LINES = 60


class Different(Exception):
    """The two kernels do not answer alike; the text shows the difference."""


class Unfounded(Exception):
    """Nothing can be compared; the first line says why."""


class Pair:
    """Two guests; the kernel of the first one is the reference."""

    def __init__(self, guests, seed, apart=False):
        self.guests = guests        # by name, in order
        self.seed = seed
        self.apart = apart          # no two futexes in one bucket

    def run(self, first, sequences, show=False):
        """Run sequences in both guests. Return: the lines of each.

        If the reference fails, the other kernel is not at fault: Unfounded.
        Every other hundred of sequences uses the global hash.
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
        """Run sequences, and raise Different if the answers differ.

        Return: the counts.
        """
        one, other = self.run(first, sequences)
        if one == other:
            return dict(line.split("=") for line in one if "=" in line)
        number = next((i for i, pair in enumerate(zip(one, other))
                       if pair[0] != pair[1]), min(len(one), len(other)))
        raise Different(self._explain(first + min(number, sequences - 1)))

    def _explain(self, number):
        """The difference in one sequence, call by call."""
        one, other = self.run(number, 1, show=True)
        diff = list(difflib.unified_diff(one, other, *self.guests,
                                         lineterm="", n=CONTEXT))
        if not diff:
            diff = ["(this sequence makes no difference when it runs alone)"]
        return "\n".join([f"in sequence {number}, seed {self.seed}:",
                          *diff[:MOST_LINES]])


def _run_one(name, guest, command):
    status, output = guest.run(command, timeout=LIMIT)
    lines = output.decode(errors="replace").splitlines()
    if status:
        *before, why = lines[-CONTEXT:] or ["nothing was printed"]
        raise Different("\n".join([f"{name}: exit status {status}: {why}",
                                   *before]))
    return lines


def text_of(error):
    """The text of an error, below the end of the kernel log if it has one."""
    return f"{getattr(error, 'log', '') or ''}\n{error}".strip()
