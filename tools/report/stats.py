# SPDX-License-Identifier: MIT
"""From interleaved runs to ratios with an interval, and who is ahead.

Runs of the same round follow each other, so whatever the machine did meanwhile
met both alike: ratios are of pairs, one for each round, and the ratio of two
contenders is the median of those.
"""

import math
import statistics

from figures import spread

AHEAD, BEHIND, TIE, UNKNOWN = "ahead", "behind", "tie", "unknown"

#: Of goals.
MET, MISSED = "met", "MISSED"

#: Two-sided 95 % of Student's t, by degrees of freedom.
T95 = {2: 4.303, 3: 3.182, 4: 2.776}


def sign_interval(values):
    """A 95 % interval of the median that assumes nothing of the values.

    Between the k-th least and the k-th greatest, where k is as large as the
    binomial distribution lets it be; needs six values.
    """
    ordered, n = sorted(values), len(values)
    below, k = 0.0, 0
    while k < n // 2:
        below += math.comb(n, k) / 2 ** n
        if 2 * below > 0.05:
            break
        k += 1
    return (ordered[k - 1], ordered[n - k]) if k else None


def small_interval(values):
    """With three to five values: Student's, of their logarithms."""
    logs = [math.log(value) for value in values]
    middle = statistics.fmean(logs)
    half = (T95[len(values) - 1] * statistics.stdev(logs)
            / math.sqrt(len(values)))
    return math.exp(middle - half), math.exp(middle + half)


def interval(values):
    """95 %, or None if there are too few values to say."""
    if len(values) >= 6:
        return sign_interval(values)
    return small_interval(values) if len(values) >= 3 else None


def verdict(bounds):
    """Of a ratio of times, by its interval: less is ahead."""
    if bounds is None:
        return UNKNOWN
    low, high = bounds
    return AHEAD if high < 1 else BEHIND if low > 1 else TIE


def judge(ratio, bounds, most):
    """Of a goal, a ratio of at most so much, by the ratio and its interval."""
    if ratio <= most:
        return MET
    return TIE if bounds and bounds[0] <= most else MISSED


def pair_ratios(cell, other, key="ns_per_operation"):
    """One for each round that both have run."""
    theirs = {run["round"]: run[key] for run in other["runs"]}
    return [run[key] / theirs[run["round"]] for run in cell["runs"]
            if theirs.get(run["round"])]


def compare(cell, other, key="ns_per_operation"):
    """Ratio, interval and verdict, or None without a common round."""
    values = pair_ratios(cell, other, key)
    if not values:
        return None
    bounds = interval(values)
    return {"ratio": statistics.median(values), "interval": bounds,
            "pairs": len(values), "verdict": verdict(bounds),
            "to": other["contender"]}


def figures(cell):
    """Of one cell: medians over its runs."""
    runs = cell["runs"]

    def median(value):
        return statistics.median(value(run) for run in runs)

    return {
        "ns": median(lambda run: run["ns_per_operation"]),
        "spread": spread([run["ns_per_operation"] for run in runs]),
        "seconds": median(lambda run: run["seconds"]),
        "cpu_ns": median(lambda run: run["cpu_seconds"] * 1e9
                         / run["operations"]),
        "switches": median(lambda run: (run["voluntary_switches"]
                                        + run["involuntary_switches"])
                           / run["operations"]),
        "cpu_over_wall": median(lambda run: run["cpu_seconds"]
                                / run["seconds"] if run["seconds"] else 0),
    }


def same_place(cell, cells):
    """All cells of its row, place, CPUs and kernel, itself included."""
    return [other for other in cells if other["runs"] and all(
        other[key] == cell[key] for key in ("row", "place", "cpus",
                                            "variant"))]


def is_peer(cell, own, no_peers=("go",)):
    """Whether native Drover is held against it."""
    return cell["contender"] not in own and cell["contender"] not in no_peers


def best_peer(cells, own):
    """Of cells of one place, the fastest that is not the project's own."""
    peers = [cell for cell in cells if is_peer(cell, own)]
    return min(peers, default=None, key=lambda cell: figures(cell)["ns"])
