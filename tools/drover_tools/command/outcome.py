# SPDX-License-Identifier: MIT
"""How runs ended, and what it means if two of them ended differently."""

import dataclasses

from drover_tools.command import preload
from drover_tools.runs import process

WITHOUT, WITH = "without Drover", "with it"


def how(status):
    """An exit status in words."""
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def minutes(number):
    """1 minute, 0.5 minutes"""
    return f"{number:g} minute{'s' * (number != 1)}"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The end of one run.

    status: the exit status, or None if the run was ended at the time limit
    said: its standard error; digest: the hash of its standard output
    """

    status: int = None
    seconds: float = 0.0
    said: str = ""
    digest: str = ""

    @property
    def fine(self):
        """Whether the run ended by itself and with exit status 0."""
        return self.status == 0

    def words(self, limit):
        """The outcome in words; limit: the time limit, in minutes."""
        if self.status is None:
            return f"did not end in {minutes(limit)}"
        if self.status:
            last = process.last_line(self.said)
            return f"failed ({how(self.status)}: {last})"
        return f"ended well in {self.seconds:.2g} s"


def same(first, second):
    """Whether the two ended alike."""
    return ((first.fine, first.status is None)
            == (second.fine, second.status is None))


def wrong(name, stock, ours, limit):
    """What is wrong with the first runs without and with Drover, or None."""
    if preload.COMPLAINT in ours.said and preload.COMPLAINT not in stock.said:
        return (f"{name} starts a program that is built with"
                " AddressSanitizer, whose runtime has to be loaded first: run"
                " drover with that program itself")
    if stock.fine and ours.fine:
        return None
    what = ("please report it" if stock.fine else
            "that is the difference" if ours.fine else
            "there is nothing to compare")
    if stock.status is None and ours.status is None:
        what = "give the program more time (-m), or less to do"
    if stock.words(limit) == ours.words(limit):
        return f"{name} {stock.words(limit)} {WITHOUT} and {WITH}: {what}"
    return (f"{name} {stock.words(limit)} {WITHOUT}, and"
            f" {ours.words(limit)} {WITH}: {what}")


def now_and_then(name, stocks, ours):
    """What is said if runs of the same kind ended differently."""
    def failed(outcomes):
        number = sum(not each.fine for each in outcomes)
        return f"{number} of {len(outcomes)} runs"

    last = next(process.last_line(each.said) for each in (*stocks, *ours)
                if not each.fine)
    return (f"{name} fails now and then: in {failed(stocks)} {WITHOUT} and in"
            f" {failed(ours)} {WITH} ({last}), so there is nothing to compare")
