# SPDX-License-Identifier: MIT
"""The loads for ggml, and one run of a load."""

import contextlib
import dataclasses
import json
import os
import re
import time

from drover_tools.runs import process, system

#: The rounds of test-barrier's graph of 2000 nodes, and the runs of a test of
#: llama-bench after one to warm up.
ROUNDS, REPEATS = 10, 2
PER_NODE = re.compile(r"([0-9.e+]+) nsec per-node")
#: An option of llama-bench: weights stay as in the file. If they are repacked
#: for AMX, a virtual machine may refuse the instructions.
PLAIN = ("--repack", "0")
#: The tokens that a test of llama-bench reads at once, and those that it makes
#: one after the other.
TESTS = {"pp512": (512, 0), "tg128": (0, 128)}
PRIORITY = ("chrt", "--fifo", "1")
HOG = ("sh", "-c", "while :; do :; done")


@dataclasses.dataclass(frozen=True)
class Load:
    """A row: a test with so many threads, beside so many processes.

    model: "" for test-barrier; fifo: the threads are SCHED_FIFO
    """

    test: str
    model: str
    threads: int
    beside: int = 0
    fifo: bool = False

    @property
    def company(self):
        """The other processes, or the threads' scheduling policy, in words."""
        if self.fifo:
            return "SCHED_FIFO"
        return f"beside {self.beside}" if self.beside else "quiet"

    @property
    def name(self):
        """The name of the row."""
        return " ".join(filter(None, (self.test, self.model))) + (
            f", {self.threads} thread{'s' * (self.threads > 1)},"
            f" {self.company}")

    @property
    def operations(self):
        """The number of nodes or tokens that one run computes."""
        if not self.model:
            return ROUNDS * 2000
        read, made = TESTS[self.test]
        return (REPEATS + 1) * read + REPEATS * made + (made > 0)

    def words(self, ggml):
        """The command line."""
        begin = [*PRIORITY] * self.fifo
        if not self.model:
            return [*begin, ggml.program("test-barrier"), str(self.threads),
                    str(ROUNDS)]
        read, made = TESTS[self.test]
        return [*begin, ggml.program("llama-bench"), "-m",
                ggml.model(self.model), "-t", str(self.threads), "-p",
                str(read), "-n", str(made), "-r", str(REPEATS), "-o", "json",
                *PLAIN]

    def rate(self, output):
        """The nodes or tokens a second, from the output of a run."""
        if not self.model:
            return 1e9 / float(PER_NODE.search(output)[1])
        return json.loads(output)[0]["avg_ts"]


@contextlib.contextmanager
def beside(number, environment):
    """A context with processes that compute."""
    with contextlib.ExitStack() as stack:
        for _ in range(number):
            stack.callback(process.end, process.spawn(
                HOG, environment, os.sched_getaffinity(0), os.devnull))
        yield


def run(ggml, load, variant, limit):
    """Run a load once. Return: its time, its rate and the resources used."""
    environment = system.environment(
        LD_LIBRARY_PATH=ggml.libraries(variant))
    words = load.words(ggml)
    output, errors = (os.path.join(ggml.folder, name)
                      for name in ("output", "errors"))
    with beside(load.beside, environment):
        start = time.monotonic()
        status, used = process.finish(process.spawn(
            words, environment, os.sched_getaffinity(0), errors, output),
                                      limit)
        seconds = time.monotonic() - start
    process.check(status, words, errors)
    # test-barrier prints to stderr.
    with open(output if load.model else errors, encoding="utf-8") as file:
        rate = load.rate(file.read())
    found = process.used_by(used)
    return {"seconds": seconds, **found, "operations": load.operations,
            "rate": rate, "ns_per_operation": 1e9 / rate,
            "cpu_us": found["cpu_seconds"] * 1e6 / load.operations}
