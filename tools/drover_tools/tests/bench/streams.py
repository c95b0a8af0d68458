# SPDX-License-Identifier: MIT
"""Test of stream-perf: its waits between tokens, and the faults it notices."""

import os

from drover_tools.tests.bench.running import FAULTY, run, test_json
from drover_tools.tree import BUILD


def test_stream(tap):
    """With the engine, only the read-back waits."""
    words = ["20", "-c", "3", "-b", "64", "-k", "0"]
    for impl, asked, elided in (("engine", 60, 60), ("by_hand", 0, 0),
                                ("sync_each", 60, None)):
        result = test_json(tap, "stream-perf", impl, words)
        if not result:
            continue
        tap.equal((result["operations"], result["asked"],
                   result["read_backs"]), (20, asked, 20),
                  f"stream-perf --impl={impl}: 20 tokens of 3 inputs")
        if elided is not None:
            tap.equal((result["elided"], result["waited"],
                       result["added_host"]), (elided, 0, 0),
                      f"stream-perf --impl={impl}: no wait but read-backs")
    for wrong, said in (("-b 6", "multiple of 4"), ("-B gpu", "'gpu'")):
        status, out, err = run("stream-perf", [*words, *wrong.split()])
        tap.ok((status, out) == (2, "") and said in err,
               f"stream-perf {wrong}", f"status {status}: {out}{err}")
    words.append("--impl=engine")
    status, out, err = run("stream-perf", words, preload=FAULTY,
                           FAULT="stale")
    tap.ok((status, out) == (3, "") and "was read back" in err,
           "stream-perf notices an input that has not come",
           f"status {status}: {out}{err}")
    test_cuda(tap, words)


def test_cuda(tap, words):
    status, out, err = run("stream-perf", [*words, "-B", "cuda"],
                           DROVER_CUDA_LIBRARY="/nowhere/libcuda.so")
    tap.ok((status, out) == (1, "") and "/nowhere/libcuda.so" in err,
           "stream-perf -B cuda names the driver that is missing",
           f"status {status}: {out}{err}")
    mock = os.path.join(BUILD, "lib", "libcuda-mock.so")
    if not os.path.exists(mock):
        tap.skip("stream-perf -B cuda", f"{mock} is not built")
        return
    status, out, err = run("stream-perf", [*words, "-B", "cuda"],
                           DROVER_CUDA_LIBRARY=mock)
    tap.ok(status == 0 and "3.00 elided, 0.00 waited" in out,
           "stream-perf -B cuda with a driver made of threads", out + err)
