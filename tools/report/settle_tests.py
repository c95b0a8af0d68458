# SPDX-License-Identifier: MIT
"""Tests of `bench --settle` and `--resume`: called by selftest."""

import contextlib
import io
import json
import os
import tempfile
from types import SimpleNamespace

import bench_settle
import document
import machine
import places
import promises
import schema
import sections
import store
from bench_samples import ROW, cell, recorded, run_of
from bench_tests import BENCH, fake_build, run_tool
from results import Cells

UP = [100.0 + number for number in range(9)]
DOWN = UP[::-1]


def result_of(**times):
    """A measurement on this machine; times: of nine rounds, or fewer."""
    return {**recorded(), "host": machine.host(), "counts": [],
            "latencies": [], "cells": [cell(name.replace("_", "-"), each)
                                       for name, each in times.items()]}


class Place(contextlib.AbstractContextManager):
    """Each takes as long as it is told; may fail, or be interrupted."""

    def __init__(self, fails=(), error=None, stop=None, **times):
        self._times = times
        self._fails, self._error, self._stop = fails, error, stop
        self.order = []

    def __exit__(self, *_exception):
        """Nothing to leave."""

    def run(self, one, _limit):
        name = one.contender.name
        if len(self.order) == self._stop:
            raise KeyboardInterrupt
        self.order.append(name)
        if name in self._fails and self.order.count(name) > 3:
            raise self._error
        ns = self._times.get(name.replace("-", "_"), 100.0)
        return {**run_of(0, ns(len(self.order)) if callable(ns) else ns),
                "kernel": "Linux", "version": "1", "library": "lib/some.so"}


def settle(result, place, **more):
    """(whether all went well, what was said); changes the result."""
    out = io.StringIO()
    options = SimpleNamespace(**{"settle": 27, "suite": [], "limit": 1,
                                 "settle_cpus": [], **more})
    result["cells"] = [{**each, "command": "true"}
                       for each in result["cells"]]
    return bench_settle.settle(result, options, place, out), out.getvalue()


def runs_of(result):
    return {each["contender"]: len(each["runs"])
            for each in result["settled"]["cells"]}


def words(result):
    """The verdicts of the drop-in and of native."""
    (_, first, second, _), = promises.promised(Cells(result))
    return [promises.verdict_value(found).text for found in (first, second)]


def test_choice(tap):
    """What is open is measured again, and nothing else."""
    halves = [ns / 2 for ns in UP]
    result, place = result_of(glibc=UP, drop_in=halves, native=halves), Place()
    well, said = settle(result, place)
    tap.equal((well, place.order, "settled" in result), (True, [], False),
              "settle: all are ahead: nothing is measured")
    tap.ok("Nothing is open" in said, "settle: and that is said", said)
    result = result_of(glibc=UP, nsync=[ns * 2 for ns in UP], drop_in=DOWN,
                       native=halves)
    tap.equal(words(result), ["open (9 pairs)", "ahead"],
              "settle: open before")
    _, said = settle(result, Place(drop_in=200.0))
    tap.equal(runs_of(result), {"glibc": 27, "drop-in": 27},
              "settle: a tie gets 27 rounds, with whom it is compared with")
    tap.ok("Settling 1 comparisons: 27 rounds of 2 cells, about 0:0" in said,
           "settle: how long it takes is said before", said)
    tap.equal((words(result), Cells(result).to_opponent(
        result["cells"][2])["ratio"]), (["behind (27 pairs)", "ahead"], 2.0),
              "settle: the verdict is of the 27 alone")
    tap.equal([list(schema.errors(result, schema.load())), result["schema"]],
              [[], 2], "settle: as the schema says")
    wide = result_of(glibc=UP, drop_in=DOWN, native=halves)
    settle(wide, Place(drop_in=lambda n: 90.0 + n % 3 * 10))
    tap.equal(words(wide), ["tie (27 pairs)", "ahead"],
              "settle: then a tie is a tie")
    for place, change in (("guest", {"place": "guest"}),
                          ("another row", {"row": "timedwait -n 2 -i 5000"})):
        other = result_of(glibc=UP, drop_in=DOWN)
        for each in other["cells"]:
            each.update(change)
        tap.equal(bench_settle.find_open(other), [], f"settle: not: {place}")
    for chosen in ({"suites": ["pp"]}, {"cpu_counts": [2]}):
        tap.equal(bench_settle.find_open(
            result_of(glibc=UP, drop_in=DOWN), **chosen), [],
                  f"settle: not chosen: {chosen}")


def test_peers(tap):
    """Held against who was the best before, with others in sight."""
    result = result_of(glibc=[200.0] * 9, nsync=[100.0, 100.0],
                       musl=[110.0] * 9, cxx=[116.0] * 9, go=[50.0] * 9,
                       drop_in=[150.0] * 9, native=[90.0] * 9)
    tap.equal(words(result)[1], "open (2 pairs)", "settle: too few pairs")
    settle(result, Place(musl=80.0, native=90.0))
    tap.equal(runs_of(result), {"nsync": 27, "musl": 27, "native": 27},
              "settle: the best gets its pairs, and who was within 15 %")
    tap.equal([(one["contender"], one["to"], one["near"]) for one
               in result["settled"]["comparisons"]],
              [("native", "nsync", ["musl"])],
              "settle: the peer is chosen before")
    tap.equal(words(result)[1], "ahead (27 pairs)",
              "settle: who is the best in the 27 alone is not judged by")
    text = document.plain(sections.report(result))
    tap.ok("1.12 (1.12 to 1.12) musl !" in text
           and "In 1 more native is behind another peer" in text
           and "native / best peer, host  1" in text,
           "settle: but told", text)


def test_deaths(tap):
    """Who fails is not run again; the others go on."""
    for error, state in ((places.Failed("broken"), "failed"),
                         (places.TooSlow(), "incomplete")):
        result = result_of(glibc=UP, nsync=[ns / 2 for ns in UP],
                           musl=[ns / 1.9 for ns in UP], drop_in=DOWN,
                           native=[ns / 2 for ns in DOWN])
        place = Place(fails=("nsync",), error=error, drop_in=50.0)
        well, said = settle(result, place)
        found = runs_of(result)
        tap.equal((well, found["glibc"], found["drop-in"], found["nsync"],
                   place.order.count("nsync")), (False, 27, 27, 3, 4),
                  f"settle: {state}: not run again, others are")
        tap.ok(3 <= found["native"] <= 4 and 3 <= found["musl"] <= 4,
               f"settle: {state}: nor are those that only it needed", found)
        tap.equal(words(result), ["ahead (27 pairs)", "open (9 pairs)"],
                  f"settle: {state}: what cannot be compared stays open")
        tap.ok(f"bench: {state.upper()}: true" in said
               and "after 3 rounds of what was open"
               in document.plain(sections.report(result)),
               f"settle: {state}: it is told", said)
        tap.equal(list(schema.errors(result, schema.load())), [],
                  f"settle: {state}: as the schema says")
        again = Place()
        settle(result, again)
        tap.equal(again.order, [], f"settle: {state}: nor in a later session")


def test_interrupted(tap):
    """Completed later, without half a round and only once."""
    result = result_of(glibc=UP, drop_in=DOWN, native=[1.0] * 9)
    with contextlib.suppress(KeyboardInterrupt):
        settle(result, Place(stop=9, drop_in=50.0))
    tap.equal((runs_of(result), result["settled"]["state"], words(result)),
              ({"glibc": 4, "drop-in": 4}, "interrupted",
               ["open (9 pairs)", "ahead"]),
              "settle, interrupted: whole rounds are kept, none is judged")
    tap.equal(list(schema.errors(result, schema.load())), [],
              "settle, interrupted: as the schema says")
    result = json.loads(json.dumps(result))
    place = Place(drop_in=50.0)
    settle(result, place)
    tap.equal((len(place.order), runs_of(result), words(result)[0],
               result["settled"]["state"], len(result["settled"]["sessions"])),
              (46, {"glibc": 27, "drop-in": 27}, "ahead (27 pairs)",
               "complete", 2), "settle, resumed: only what is missing")
    tap.equal([run["round"] for each in result["settled"]["cells"]
               for run in each["runs"]], list(range(27)) * 2,
              "settle, resumed: each round once")
    place = Place()
    settle(result, place)
    tap.equal(place.order, [], "settle: once")
    for what, change, more in (
            ("other rounds", {}, {"settle": 9}),
            ("another machine", {"host": {**machine.host(), "cpus": 4096}},
             {})):
        try:
            settle({**result, **change}, Place(), **more)
            tap.ok(False, f"settle: refused: {what}")
        except bench_settle.Refused as error:
            tap.ok(True, f"settle: refused: {what}", error)


def test_command(tap):
    """Both in one go, and a stored measurement."""
    with tempfile.TemporaryDirectory() as folder:
        fake_build(folder)
        path = os.path.join(folder, "results", "bench.json")
        words_ = (BENCH, "--build", folder, "--suite=turn-ring",
                  "--host-only", "--host-cpus=1", "--rounds=3")
        status, out, err = run_tool(*words_)
        tap.ok(status == 0 and "drop-in / glibc, host     0      0    0       4"
               in out, "bench: the verdicts are printed", out + err)
        first = store.read_json(path)
        tap.ok("settled" not in first, "bench: not settled unasked")
        status, out, err = run_tool(BENCH, "--resume", path, "--settle=3")
        result = store.read_json(path)
        tap.equal((status, result["cells"] == first["cells"],
                   set(runs_of(result).values()),
                   list(schema.errors(result, schema.load()))),
                  (0, True, {3}, []), "bench --resume: added to the file")
        tap.ok("Settling 8 comparisons: 3 rounds of 12 cells" in err
               and "tie (3 pairs) =" in out,
               "bench --resume: and the verdicts", out + err)
        status, out, err = run_tool(*words_, "--settle=3")
        tap.ok(status == 0 and "Settling 8 comparisons" in err
               and "At most 20 minutes; then --settle" in err
               and store.read_json(path)["settled"]["state"] == "complete"
               and "drop-in / glibc, host     0      4    0       0" in out,
               "bench --settle: both in one go", out + err)
        status, _, err = run_tool(BENCH, "--resume", path, "--settle=4")
        tap.ok(status == 1 and "begun with 3 rounds" in err,
               "bench --resume: no other number of rounds", err)
        os.unlink(os.path.join(folder, "bin", "drover-bench"))
        os.unlink(path)
        status, _, err = run_tool(BENCH, "--resume", path)
        tap.ok(status == 1 and "run: make bench" in err,
               "bench --resume: nothing to settle: says what to do", err)
        store.write_lines(path, first)
        status, _, err = run_tool(BENCH, "--resume", path)
        tap.ok(status == 1 and "drover-bench is missing; run: make" in err,
               "bench --resume: nothing is built: says what to do", err)


TESTS = (test_choice, test_peers, test_deaths, test_interrupted,
         test_command)
