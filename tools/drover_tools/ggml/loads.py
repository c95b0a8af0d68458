# SPDX-License-Identifier: MIT
"""What ggml is given to do, and one run of it."""

import contextlib
import dataclasses
import json
import os
import re
import time

from drover_tools.runs import process, system

#: Rounds of test-barrier's graph of 2000 nodes, and runs of llama-bench's
#: test after one to warm up.
ROUNDS, REPEATS = 10, 2
PER_NODE = re.compile(r"([0-9.e+]+) nsec per-node")
#: Of llama-bench: weights as they are in the file. Where they are repacked for
#: AMX, a virtual machine may refuse the instructions.
PLAIN = ("--repack", "0")
#: Tokens of llama-bench's tests: read at once, and made one after the other.
TESTS = {"pp512": (512, 0), "tg128": (0, 128)}
PRIORITY = ("chrt", "--fifo", "1")
HOG = ("sh", "-c", "while :; do :; done")


@dataclasses.dataclass(frozen=True)
class Load:
    """A row: a test with so many threads, beside so many processes.

    model: "" for test-barrier; fifo: the threads are SCHED_FIFO.
    """

    test: str
    model: str
    threads: int
    beside: int = 0
    fifo: bool = False

    @property
    def company(self):
        """What else is about."""
        if self.fifo:
            return "SCHED_FIFO"
        return f"beside {self.beside}" if self.beside else "quiet"

    @property
    def name(self):
        """As the row is called."""
        return " ".join(filter(None, (self.test, self.model))) + (
            f", {self.threads} thread{'s' * (self.threads > 1)},"
            f" {self.company}")

    @property
    def operations(self):
        """Nodes or tokens that a run of its program computes."""
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
        """Nodes or tokens a second, of what it has printed."""
        if not self.model:
            return 1e9 / float(PER_NODE.search(output)[1])
        return json.loads(output)[0]["avg_ts"]


@contextlib.contextmanager
def beside(number, environment):
    """Processes that compute meanwhile."""
    with contextlib.ExitStack() as stack:
        for _ in range(number):
            stack.callback(process.end, process.spawn(
                HOG, environment, os.sched_getaffinity(0), os.devnull))
        yield


def run(ggml, load, variant, limit):
    """One run; what it took."""
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
