# SPDX-License-Identifier: MIT
"""Why one figure of a comparison may be better where another is worse."""

from drover_tools.tables import stats

#: A ratio that is closer to 1 needs no reason.
SAYS = 0.05


def _ratio(ours, stock):
    """A ratio that is 1 if both numbers are 0."""
    return (ours + 1) / (stock + 1)


def _more(ratio):
    return ratio > 1 + SAYS


def _less(ratio):
    return ratio < 1 - SAYS


def _of_switches(sleeps):
    """The reason for more context switches in less time."""
    text = "There are more context switches in less time"
    if _less(sleeps):
        return (f"{text}: fewer of them are sleeps. In the others a thread"
                " yields while it polls, which costs less than a sleep and a"
                " wake-up.")
    return (f"{text}: the cost of a switch depends on which thread runs next,"
            " and on whether a CPU has to be woken for it.")


def _of_calls(faster, switches, cpu, counter):
    """The reason for more futex calls in less time, or fewer in more."""
    text = ("There are more futex calls in less time: " if faster
            else "There are fewer futex calls in more time: ")
    if faster and _less(switches):
        text += ("a context switch costs more than a call in which no thread"
                 " sleeps, and there are fewer switches.")
    elif faster:
        text += ("a call costs little if no thread sleeps in it and it wakes"
                 " none.")
    elif _more(cpu):
        text += ("threads poll instead of sleeping, which needs no call but"
                 " costs CPU time.")
    elif _more(switches):
        text += "there are more context switches, which cost more than calls."
    else:
        text += ("a thread that is moved instead of woken makes no call, and"
                 " runs later.")
    if counter == "strace":
        text += (" The calls were counted in one more run, which strace slows"
                 " down and so changes.")
    return text


def reasons(stock, ours, compared, futex, counter):
    """A sentence for each figure that contradicts the time.

    stock, ours: the runs; compared: their ratios; futex: the calls of both, if
    they were counted; counter: the tool that counted them.
    """
    verdict = compared["seconds"]["verdict"]
    if verdict not in (stats.AHEAD, stats.BEHIND):
        return
    faster = verdict == stats.AHEAD
    cpu, switches = (compared[key]["ratio"] if compared[key] else 1.0
                     for key in ("cpu_seconds", "switches"))
    if (_more if faster else _less)(cpu):
        yield ("The program uses more CPU time in less time: several threads"
               " run or poll at once that waited for each other before."
               if faster else "The program uses less CPU time and takes"
               " longer: threads run one after the other that ran at once"
               " before.")
    if faster and _more(switches):
        yield _of_switches(_ratio(*(stats.median(
            {"runs": runs}, "voluntary_switches") for runs in (ours, stock))))
    if futex:
        calls = _ratio(*(futex[name] for name in reversed(list(futex))))
        if (_more if faster else _less)(calls):
            yield _of_calls(faster, switches, cpu, counter)
