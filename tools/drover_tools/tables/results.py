# SPDX-License-Identifier: MIT
"""The cells of a result, and their comparisons."""

from drover_tools.tables import stats


def where(cell):
    """A place in words: "host, 2 CPUs" """
    name = "host" if cell["place"] == "host" else cell["variant"]
    return f"{name}, {cell['cpus']} CPU{'s' * (cell['cpus'] > 1)}"


def place_of(cell):
    """The row, place and CPUs that compared cells have in common."""
    return cell["row"], cell["place"], cell["cpus"]


class Cells:
    """The measured cells of a result.

    A comparison is the result of stats.compare() with three more members.  to:
    the other contender; settled: it is of rounds that were made for it alone,
    and all of these are there; open: it is of the first rounds, and there are
    too few pairs or 1 lies in the interval
    """

    def __init__(self, result):
        self.all = [cell for cell in result["cells"] if cell["runs"]]
        self.rows = result["rows"]
        self.against = result["settings"]["against"]
        self._no_peers = {*result["settings"]["own"],
                          *result["settings"]["no_peers"]}
        self._rounds = result["settings"]["rounds"]
        settled = result["settled"] or {"rounds": 0, "from": None,
                                        "comparisons": []}
        self._from, self._more = settled["from"], settled["rounds"]
        self.asked = {(*place_of(one), one["contender"]): one
                      for one in settled["comparisons"]}
        self._by_key = {(*place_of(cell), cell["contender"]): cell
                        for cell in self.all}

    def find(self, like, contender):
        """The cell of another contender in the same place."""
        return self._by_key.get((*place_of(like), contender))

    def metric(self, cell):
        """The member of a cell's runs that is compared."""
        return self.rows[cell["row"]]["metric"]

    def places(self, cells=None):
        """One cell of each place and kernel, host first, fewer CPUs first."""
        seen = {}
        for cell in self.all if cells is None else cells:
            seen.setdefault((cell["place"] != "host", cell["cpus"],
                             cell["variant"] or ""), cell)
        return [seen[key] for key in sorted(seen)]

    def contenders(self, cells):
        """The names of contenders, in the order of measuring."""
        return list(dict.fromkeys(cell["contender"] for cell in cells))

    def peers(self, like):
        """The cells of peers in the place of a cell."""
        return [cell for cell in self.all if place_of(cell) == place_of(like)
                and cell["contender"] not in self._no_peers]

    def first_runs(self, cell):
        """The runs of a cell without those of settling."""
        return [run for run in cell["runs"] if self._from is None
                or run["round"] < self._from]

    def _settled(self, cell, other):
        """The comparison by the rounds that were made for it, if complete."""
        one, two = ([run for run in each["runs"]
                     if run["round"] >= self._from] for each in (cell, other))
        found = stats.compare(one, two, self.metric(cell))
        if not found or found["pairs"] < self._more:
            return None
        return {**found, "to": other["contender"], "settled": True,
                "open": False}

    def compare(self, cell, other):
        """The comparison of two cells, or None without a common round."""
        asked = self.asked.get((*place_of(cell), cell["contender"]))
        if asked and other["contender"] == asked["to"]:
            found = self._settled(cell, other)
            if found:
                return found
        found = stats.compare(self.first_runs(cell), self.first_runs(other),
                              self.metric(cell))
        return found and {
            **found, "to": other["contender"], "settled": False,
            "open": (found["verdict"] in (stats.TIE, stats.UNKNOWN)
                     or found["pairs"] < self._rounds)}

    def opponent(self, cell):
        """The cell with which a cell is compared; "best" is the fastest peer
        of the first rounds."""
        asked = self.asked.get((*place_of(cell), cell["contender"]))
        if asked:
            return self.find(cell, asked["to"])
        name = self.against.get(cell["contender"])
        if name != "best":
            return self.find(cell, name)
        return min(self.peers(cell), default=None, key=lambda one:
                   stats.median({"runs": self.first_runs(one)},
                                self.metric(one)))

    def to_opponent(self, cell):
        other = self.opponent(cell)
        return self.compare(cell, other) if other else None

    def to(self, cell, name):
        """The comparison with a contender of that name, or None."""
        other = self.find(cell, name)
        return self.compare(cell, other) if other else None

    def promised(self):
        """Cells of ours that must not be behind."""
        return [cell for cell in self.all if cell["contender"] in self.against
                and self.rows[cell["row"]]["promised"]]
