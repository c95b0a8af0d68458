# SPDX-License-Identifier: MIT
"""Ratios of interleaved runs, with intervals, and their verdicts.

Runs of the same round follow each other, so that other work of the machine
disturbs both alike. So each round has a pair of runs and a ratio, and the
ratio of two contenders is the median of these.
"""

import math
import statistics

AHEAD, BEHIND, TIE, UNKNOWN = "ahead", "behind", "tie", "unknown"

#: The words for goals.
MET, MISSED = "met", "MISSED"

#: Two-sided 95 % of Student's t, by degrees of freedom.
T95 = {2: 4.303, 3: 3.182, 4: 2.776}


def sign_interval(values, doubt=0.05):
    """An interval of the median that assumes nothing about the values.

    It lies between the k-th least and the k-th greatest value, where k is as
    large as the binomial distribution allows. For 95 % it needs six values.
    """
    ordered, n = sorted(values), len(values)
    below, k = 0.0, 0
    while k < n // 2:
        below += math.comb(n, k) / 2 ** n
        if 2 * below > doubt:
            break
        k += 1
    return (ordered[k - 1], ordered[n - k]) if k else None


def small_interval(values):
    """An interval of three to five values: Student's, of their logarithms."""
    logs = [math.log(value) for value in values]
    middle = statistics.fmean(logs)
    half = (T95[len(values) - 1] * statistics.stdev(logs)
            / math.sqrt(len(values)))
    return math.exp(middle - half), math.exp(middle + half)


def interval(values, doubt=0.05):
    """An interval, or None if there are too few values.

    doubt: how often it may be wrong, which only six values or more can choose
    """
    if len(values) >= 6:
        return sign_interval(values, doubt)
    return small_interval(values) if len(values) >= 3 else None


def verdict(bounds):
    """The verdict on a ratio of times, by its interval: less is ahead."""
    if bounds is None:
        return UNKNOWN
    low, high = bounds
    return AHEAD if high < 1 else BEHIND if low > 1 else TIE


def judge(ratio, bounds, most):
    """The word for a goal, which is a ratio of at most so much."""
    if ratio <= most:
        return MET
    return TIE if bounds and bounds[0] <= most else MISSED


def spread(values):
    """Half the distance from the least to the greatest, over the median."""
    middle = statistics.median(values)
    return (max(values) - min(values)) / 2 / middle if middle else 0.0


def pair_ratios(runs, others, key):
    """The ratio of each round that both have run."""
    theirs = {run["round"]: run[key] for run in others}
    return [run[key] / theirs[run["round"]] for run in runs
            if theirs.get(run["round"])]


def compare(runs, others, key, doubt=0.05):
    """A ratio with its interval and verdict, or None without a common round.
    """
    values = pair_ratios(runs, others, key)
    if not values:
        return None
    bounds = interval(values, doubt)
    return {"ratio": statistics.median(values), "interval": bounds,
            "pairs": len(values), "verdict": verdict(bounds)}


def mean(values):
    """The geometric mean."""
    return math.exp(statistics.fmean(map(math.log, values)))


def median(cell, key):
    """The median over a cell's runs; key: a member, or a function of a run."""
    take = key if callable(key) else lambda run: run[key]
    return statistics.median(map(take, cell["runs"]))


def switches(run):
    return run["voluntary_switches"] + run["involuntary_switches"]


def figures(cell, key="ns_per_operation"):
    """The medians of a cell over its runs."""
    return {
        "value": median(cell, key),
        "spread": spread([run[key] for run in cell["runs"]]),
        "seconds": median(cell, "seconds"),
        "cpu_ns": median(cell, lambda run: run["cpu_seconds"] * 1e9
                         / run["operations"]),
        "switches": median(cell, lambda run: switches(run)
                           / run["operations"]),
        "cpu_over_wall": median(cell, lambda run: run["cpu_seconds"]
                                / (run["seconds"] or 1)),
    }
