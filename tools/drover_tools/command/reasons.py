# SPDX-License-Identifier: MIT
"""Why one figure of a comparison may be better where another is worse."""

from drover_tools.tables import stats

#: A ratio this far from 1 says something.
SAYS = 0.05


def _ratio(ours, stock):
    """1 of nothing and nothing."""
    return (ours + 1) / (stock + 1)


def _more(ratio):
    return ratio > 1 + SAYS


def _less(ratio):
    return ratio < 1 - SAYS


def _of_switches(sleeps):
    """Less time, and more context switches."""
    text = "There are more context switches in less time"
    if _less(sleeps):
        return (f"{text}: fewer of them are sleeps. The others are threads"
                " that yield while they poll, which costs less than a sleep"
                " and a wake-up.")
    return (f"{text}: what a switch costs depends on who is next, and on"
            " whether a CPU has to be woken for it.")


def _of_calls(faster, switches, cpu, counter):
    """More futex calls in less time, or fewer in more."""
    text = ("It makes more futex calls in less time: " if faster
            else "It makes fewer futex calls in more time: ")
    if faster and _less(switches):
        text += ("a context switch costs more than a call that puts nobody to"
                 " sleep, and of switches there are fewer.")
    elif faster:
        text += ("a call that puts nobody to sleep and wakes nobody costs"
                 " little.")
    elif _more(cpu):
        text += ("threads poll instead of sleeping, which makes no call and"
                 " costs CPU time.")
    elif _more(switches):
        text += "there are more context switches, and those cost more."
    else:
        text += ("a thread that is moved instead of woken makes no call, and"
                 " runs later.")
    if counter == "strace":
        text += (" The calls are those of one more run, which strace slows and"
                 " so changes.")
    return text


def reasons(stock, ours, compared, futex, counter):
    """A sentence for each figure that contradicts the time.

    stock, ours: runs, compared: their ratios; futex: calls of both, if they
    were counted, and counter: what has counted them.
    """
    verdict = compared["seconds"]["verdict"]
    if verdict not in (stats.AHEAD, stats.BEHIND):
        return
    faster = verdict == stats.AHEAD
    cpu, switches = (compared[key]["ratio"] if compared[key] else 1.0
                     for key in ("cpu_seconds", "switches"))
    if (_more if faster else _less)(cpu):
        yield ("It uses more CPU time in less time: several threads run or"
               " poll at once, where before one waited for the other." if
               faster else "It uses less CPU time and takes longer: threads"
               " run one after the other, where before several ran at once.")
    if faster and _more(switches):
        yield _of_switches(_ratio(*(stats.median(
            {"runs": runs}, "voluntary_switches") for runs in (ours, stock))))
    if futex:
        calls = _ratio(*(futex[name] for name in reversed(list(futex))))
        if (_more if faster else _less)(calls):
            yield _of_calls(faster, switches, cpu, counter)
