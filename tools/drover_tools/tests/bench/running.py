# SPDX-License-Identifier: MIT
"""Runs benchmark programs, and has the members that a result must have."""

import json
import os
import subprocess

from drover_tools.tree import BUILD

FAULTY = os.path.join(BUILD, "obj", "tools", "bench", "faulty-cond.so")
DROP_IN = os.path.join(BUILD, "lib", "libdrover-pthread.so.1")
LIMIT = 60
BENCH = "drover-bench"

COMMON_FIELDS = {
    "bench": str, "impl": str, "library": str, "version": str, "kernel": str,
    "cpus": int, "stack": int, "threads": int, "seconds": float,
    "cpu_seconds": (int, float), "voluntary_switches": int,
    "involuntary_switches": int, "operations": int, "spurious": int,
    "futile": int, "ns_per_operation": (int, float),
}
FIELDS = {
    "cond-perf": {"rounds": int, "keep": bool, "other": bool,
                  "switches_per_waiter_round": (int, float)},
    "pp": {"games": int, "iterations": int,
           "switches_per_handoff": (int, float)},
    "broadcast": {"rounds": int, "keep": bool, "section_ns": int,
                  "work_ps": int,
                  "switches_per_waiter_round": (int, float)},
    "turn-random": {"turns": int, "separate": bool, "await": bool,
                    "switches_per_turn": (int, float)},
    "items": {"items": int, "section_ns": int, "work_ps": int, "await": bool,
              "switches_per_item": (int, float)},
    "queue": {"producers": int, "consumers": int, "items": int, "await": bool,
              "unlocked": bool, "capacity": int,
              "switches_per_item": (int, float)},
    "turn-ring": {"turns": int, "broadcast": bool,
                  "switches_per_turn": (int, float)},
    "latch": {"rounds": int, "keep": bool,
              "switches_per_waiter_round": (int, float)},
    "signal-nobody": {"call": str, "calls": int,
                      "switches_per_call": (int, float)},
    "timedwait": {"waits": int, "expired": bool,
                  "switches_per_wait": (int, float)},
    "mixed": {"phase_ms": int, "cycles": int, "kinds": dict,
              "switches_per_waiter_round": (int, float)},
    "pool-perf": {**{key: int for key in (
        "period_us", "loops", "parts", "forks", "part_ns", "work_ps",
        "peak_kb")},
                  **{key: (int, float) for key in (
                      "first_us", "total_us", "average_us",
                      "requests_per_second", "cpu", "cpu_us_per_request",
                      "idle_cpu", "min_us", "max_us", "p50_us", "p90_us",
                      "p95_us", "p99_us", "switches_per_request")}},
    "barrier-perf": {"nodes": int, "rounds": (int, float), "work": int,
                     "hogs": int, "us_per_iteration": (int, float),
                     "ns_per_node": (int, float),
                     "switches_per_node": (int, float)},
    "stream-perf": {"backend": str, **{key: int for key in (
        "inputs", "bytes", "kernel_us", "work_ps", "asked", "elided", "waited",
        "added_host", "read_backs")},
                    **{key: (int, float) for key in (
                        "tokens_per_second", "median_token_us",
                        "host_us_between_tokens",
                        "switches_per_token")}},
}


def run(program, words, prefix=(), preload=None, **environment):
    """Run a program. Return: (exit status or None if it hangs, stdout, stderr)
    """
    settings = dict(os.environ, **environment)
    command = [*prefix, os.path.join(BUILD, "bin", program), *words]
    if preload:
        command = ["env", f"LD_PRELOAD={preload}", *command]
    try:
        done = subprocess.run(command, timeout=LIMIT, text=True,
                              env=settings, capture_output=True)
    except subprocess.TimeoutExpired:
        return None, "", ""
    return done.returncode, done.stdout, done.stderr


def test_json(tap, program, impl, words, more=(), prefix=()):
    """Test that the output is one object with the right members; return it."""
    command = [*prefix, *words, f"--impl={impl}", "--json"]
    name = " ".join([program, *command])
    status, out, err = run(BENCH if prefix else program, command)
    try:
        result = json.loads(out)
    except ValueError as error:
        tap.ok(False, name, f"status {status}, {error}: {out!r} {err!r}")
        return None
    wanted = {**COMMON_FIELDS, **FIELDS[program], **dict(more)}
    wrong = [key for key, kind in wanted.items()
             if not isinstance(result.get(key), kind)]
    unknown = sorted(set(result) - set(wanted))
    tap.ok(status == 0 and not wrong and not unknown, name,
           f"status {status}, wrong {wrong}, unknown {unknown}: {out}")
    return result
