# SPDX-License-Identifier: MIT
"""Test that ggml computes the same with Drover's barrier; prints TAP.

It fetches ggml, builds it three times, and runs two rows of `make bench-ggml`.
"""

import os
import subprocess
import tempfile

from drover_tools.ggml import loads
from drover_tools.ggml.build import MODELS, PATCH, VARIANTS, Failed, Ggml
from drover_tools.runs import process, system
from drover_tools.tap import Tap
from drover_tools.tree import BUILD

THREADS = (1, 2, 3, 8)
LIMIT = 120


def test_patch(tap):
    """The patch refuses another version of ggml, with a reason."""
    with tempfile.TemporaryDirectory() as source:
        folder = os.path.join(source, "ggml/src/ggml-cpu")
        os.makedirs(folder)
        with open(f"{folder}/ggml-cpu.c", "w", encoding="utf-8") as file:
            file.write("int other;\n")
        try:
            Ggml.patch(source)
            said = "nothing"
        except Failed as error:
            said = str(error)
    tap.ok(f"{PATCH} does not fit" in said and "using-with-ggml" in said,
           "another ggml than the patch is for is refused", said)


def checksum(ggml, variant, model, threads):
    """(checksum of a model's output, or nothing; the error)"""
    done = subprocess.run(
        [ggml.program("logits"), ggml.model(model), str(threads)],
        env=system.environment(LD_LIBRARY_PATH=ggml.libraries(variant)),
        capture_output=True, text=True, timeout=LIMIT, check=False)
    return done.stdout.strip(), done.stderr.strip()[-200:]


def main():
    """Build, compare, and run two rows. Return: the exit status."""
    tap, ggml = Tap(), Ggml(BUILD)
    test_patch(tap)
    try:
        ggml.make()
    except Failed as error:
        tap.ok(False, "ggml is built", str(error))
        return tap.exit_status()
    # Threads that spin take minutes if there are more of them than CPUs.
    cpus = len(os.sched_getaffinity(0))
    for model in MODELS:
        for threads in THREADS:
            found = {checksum(ggml, variant, model, threads)
                     for variant in VARIANTS
                     if variant != "spin" or threads <= cpus}
            tap.ok(len(found) == 1 and all(sum_ for sum_, _ in found),
                   f"{model} model, {threads} threads: the same to the last"
                   " bit", str(found))
    for load in (loads.Load("tg128", "small", 2),
                 loads.Load("test-barrier", "", 4)):
        try:
            rate = loads.run(ggml, load, "drover", LIMIT)["rate"]
            tap.ok(rate > 0, f"{load.name}: {rate:.0f} a second")
        except (process.Failed, process.TooSlow) as error:
            tap.ok(False, load.name, str(error) or "it takes too long")
    return tap.exit_status()
