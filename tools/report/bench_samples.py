# SPDX-License-Identifier: MIT
"""Made-up results of `make bench`, for the tests of what reads them."""

import document
import plan

ROW = "turn-ring -n 8 -i 1250"


def run_of(number, ns, **more):
    """A run as the file has it."""
    return {"round": number, "seconds": ns / 1e6, "cpu_seconds": ns / 1e6,
            "voluntary_switches": 900, "involuntary_switches": 100,
            "operations": 1000, "ns_per_operation": ns, "spurious": 0,
            "futile": 0, **more}


def cell(contender, times, row=ROW, **more):
    """A cell as the file has it."""
    return {"place": "host", "cpus": 1, "row": row, "contender": contender,
            "variant": None, "command": f"run {contender}",
            "state": plan.COMPLETE, "reason": "",
            "runs": [run_of(number, ns) for number, ns in enumerate(times)],
            **more}


def mixed(contender, *times):
    """A cell of the load that changes, all rounds alike."""
    kinds = {name: {"operations": 10, "ns_per_operation": ns}
             for name, ns in zip(("free", "held", "each"), times)}
    made = cell(contender, [sum(times) / 3] * 9, row="mixed -n 32 -p 100 -c 1")
    for run in made["runs"]:
        run["kinds"] = kinds
    return made


def recorded():
    """A result with every kind of cell."""
    guest = {"place": "guest", "cpus": 4, "variant": "drover"}
    latency = {"nr": 3, "mean": 2000.0, "p50": 1023, "p90": 4095,
               "p99": 4095, "p999": 4095, "max": 4000,
               "buckets": [[1023, 2], [4095, 1]]}
    count = {"row": "pp -n 1 -i 1000 to 2000", "variant": "drover",
             "instructions": 4000, "switches": 1.0, "system_calls": 2.0,
             "commands": ["one", "two"]}
    nine = [100.0 + number for number in range(9)]
    return {
        "schema": 1, "licence": document.LICENCE, "state": "complete",
        "started": "2026-01-01 10:00:00+00:00",
        "finished": "2026-01-01 10:10:00+00:00",
        "settings": {"full": False, "minutes": 10, "rounds": 9, "limit": 120},
        "host": {"cpus": 2, "cpu_model": "A CPU", "memory_mb": 4096,
                 "system": "Debian", "kernel": "Linux 6.1", "load": 0.1,
                 "libc": "glibc 2.36"},
        "guest": {"cpus": [4], "mem_mb": 2048, "qemu": "7.2", "accel": "tcg"},
        "versions": {"kernels": {"host": "Linux 6.1", "drover": "Linux 6.12"},
                     "libraries": {"glibc": "glibc 2.36"}},
        "not_measured": [{"contender": "go", "reason": "not built: get it"}],
        "cells": [
            cell("glibc", nine), cell("nsync", [ns * 0.9 for ns in nine]),
            cell("drop-in", [ns * 0.5 for ns in nine]),
            cell("native", [ns * 2 for ns in nine]),
            cell("glibc", nine, **guest),
            cell("drop-in", [nine[8 - i] for i in range(9)], **guest),
            cell("native", nine[:2], **guest),
            cell("go", [], state=plan.FAILED, reason="exit status 1"),
            cell("glibc", nine, row="cond-perf -r 100 -n 200 -k"),
            mixed("native", 100, 300, 30),
            mixed("native-wake-all", 95, 400, 40),
            mixed("native-requeue", 200, 200, 20),
        ],
        "counts": [{**count, "contender": "glibc"},
                   {**count, "contender": "native", "instructions": 4100,
                    "system_calls": None}],
        "latencies": [{"place": "host", "cpus": 2, "row": "pp -n 1 -i 20000",
                       "contender": "glibc", "variant": None,
                       "command": "run it", "latency_ns": latency}],
    }
