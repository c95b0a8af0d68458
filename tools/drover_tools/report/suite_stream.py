# SPDX-License-Identifier: MIT
"""The three ways of stream-perf: its engine, by hand, and a synchronization
after each call.
"""

from drover_tools.report.cells import host_cells
from drover_tools.report.engine import Suite
from drover_tools.runs.plan import Contender, Row
from drover_tools.tables import sections
from drover_tools.tables.document import Heading, Text
from drover_tools.tables.results import Cells

WAYS = ("sync_each", "by_hand", "engine")
PER_TOKEN = (("asked", ("asked",)), ("elided", ("elided",)),
             ("waited", ("waited", "added_host")),
             ("read", ("read_backs",)))


def _per_token(keys):
    return lambda run: sum(run[key] for key in keys) / run["operations"]


COLUMNS = (("tokens/s", "tokens_per_second"), ("half, us", "median_token_us"),
           ("between", "host_us_between_tokens"),
           *((title, _per_token(keys)) for title, keys in PER_TOKEN))


class Stream(Suite):
    """`tools/measure stream`."""

    name, title = "stream", "Three ways to make tokens"
    needs = ("bin/stream-perf", "bin/drover-bench")
    rounds, minutes = 15, 60
    against = {"engine": "by_hand"}
    own = ("engine",)
    kept = ("tokens_per_second", "median_token_us", "host_us_between_tokens",
            *(key for _, keys in PER_TOKEN for key in keys))

    def arguments(self, parser):
        parser.add_argument("--tokens", type=int, default=300)
        parser.add_argument("words", nargs="*", metavar="OPTION",
                            help="an option of stream-perf, after --: -- -k"
                            " 1000")

    def cells(self, options, missing):
        row = Row(" ".join(["stream-perf", str(options.tokens),
                            *options.words]), own_program=True,
                  promised=True)
        return host_cells([row], [Contender(way, way) for way in WAYS],
                          options.host_cpus[-1:], options.build)

    def blocks(self, result):
        cells = Cells(result)
        yield Heading(1, self.title)
        yield from sections.machine(result)
        for row in result["rows"]:
            yield sections.implementations(cells, row, "engine",
                                           "ns per token", COLUMNS)
        yield Text("\"between\": us of the host from one result to the next"
                   " launch. The columns from \"asked\" on are per token.")
        yield from sections.not_measured(result)


SUITE = Stream()
