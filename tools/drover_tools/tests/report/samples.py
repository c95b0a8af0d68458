# SPDX-License-Identifier: MIT
"""Made-up results for the tests."""

from drover_tools.report import store
from drover_tools.runs import plan
from drover_tools.tables.document import LICENCE

ROW = "turn-ring -n 8 -i 1250"


def run_of(number, ns, **more):
    """A run as the file has it."""
    return {"round": number, "seconds": ns / 1e6, "cpu_seconds": ns / 1e6,
            "voluntary_switches": 900, "involuntary_switches": 100,
            "operations": 1000, "ns_per_operation": ns, "spurious": 0,
            "futile": 0, **more}


def cell_of(contender, times, **more):
    """A cell as the file has it."""
    return {"place": "host", "cpus": 1, "row": ROW, "contender": contender,
            "variant": None, "command": "true", "state": plan.COMPLETE,
            "reason": "", "runs": [run_of(number, ns) for number, ns
                                   in enumerate(times)], **more}


def result_of(**times):
    """A measurement of one row; times: of up to nine rounds."""
    return {
        "schema": store.SCHEMA, "licence": LICENCE, "suite": "bench",
        "state": "complete", "started": "2026-01-01", "finished": "then",
        "settings": {"rounds": 9, "minutes": 10, "limit": 120, "policy": "",
                     "against": {"drop-in": "glibc", "native": "best"},
                     "own": ["drop-in", "native"], "no_peers": ["go"]},
        "host": {"cpus": 2, "cpu_model": "A CPU", "memory_mb": 4096,
                 "system": "Debian", "kernel": "Linux 6.1", "load": 0.1,
                 "libc": "glibc 2.36"},
        "guest": None, "versions": {"kernels": {}, "libraries": {}},
        "rows": {ROW: {**store.ROW, "group": "turn-ring", "promised": True}},
        "not_measured": [], "settled": None,
        "cells": [cell_of(name.replace("_", "-"), each)
                  for name, each in times.items()]}
