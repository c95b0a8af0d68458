# SPDX-License-Identifier: MIT
"""Files under build/results, and the form of those with measurements."""

import json
import os

from drover_tools.tree import TOP

SCHEMA = 3

#: The members of a row, with their defaults.
ROW = {"group": "", "title": "", "promised": False,
       "metric": "ns_per_operation", "paced": False, "goals": []}

NUMBER = (int, float)
NONE = type(None)
RUN = {"round": int, "seconds": NUMBER, "cpu_seconds": NUMBER,
       "voluntary_switches": int, "involuntary_switches": int}
CELL = {"place": str, "cpus": int, "row": str, "contender": str,
        "variant": (str, NONE), "command": str, "state": str, "reason": str,
        "runs": [RUN]}
COMPARISON = {"row": str, "place": str, "cpus": int, "contender": str,
              "to": str}
#: The members that each object of a result must have, with their types. A list
#: with one item stands for any number of such items.
RESULT = {
    "schema": int, "licence": str, "suite": str, "state": str,
    "started": str, "finished": str,
    "settings": {"rounds": int, "minutes": NUMBER, "limit": NUMBER,
                 "policy": str, "against": dict, "own": list,
                 "no_peers": list},
    "host": {"cpu_model": str, "cpus": int, "memory_mb": int, "system": str,
             "kernel": str, "libc": str, "load": NUMBER},
    "guest": (dict, NONE), "versions": {"kernels": dict, "libraries": dict},
    "rows": dict, "not_measured": [{"contender": str, "reason": str}],
    "cells": [CELL], "settled": (dict, NONE)}
#: The members that a result may have.
OPTIONAL = {
    "regime": dict,
    "counts": [{"row": str, "contender": str, "variant": str,
                "instructions": NUMBER, "switches": NUMBER,
                "commands": list}]}
SETTLED = {"rounds": int, "from": int, "state": str,
           "comparisons": [COMPARISON]}
WORDS = {"state": ("complete", "interrupted", "pending", "incomplete",
                   "failed"), "place": ("host", "guest"), "schema": (SCHEMA,)}


def errors(data, shape=None, where="$"):
    """The faults of a result, a line for each."""
    if shape is None:
        shape = {**RESULT, **{key: OPTIONAL[key] for key in OPTIONAL
                              if key in data}}
        if data.get("settled"):
            shape["settled"] = SETTLED
    if isinstance(shape, list):
        if not isinstance(data, list):
            yield f"{where}: not a list"
            return
        for number, item in enumerate(data):
            yield from errors(item, shape[0], f"{where}[{number}]")
    elif isinstance(shape, dict):
        if not isinstance(data, dict):
            yield f"{where}: not an object"
            return
        for name, inner in shape.items():
            if name not in data:
                yield f"{where}: {name} is missing"
            elif data[name] not in WORDS.get(name, (data[name],)):
                yield f"{where}.{name}: {data[name]!r} is not a known word"
            else:
                yield from errors(data[name], inner, f"{where}.{name}")
    elif not isinstance(data, shape) or (isinstance(data, bool)
                                         and shape is not bool):
        yield f"{where}: {data!r:.60} is of another type"


def write(path, text):
    """Replace a file in one step, so that no reader sees half of it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    scratch = f"{path}.{os.getpid()}"
    with open(scratch, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(scratch, path)


def _lines(value, indent):
    """JSON with one line for each object in a list."""
    between = ",\n" + " " * (indent + 1)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return (f"[\n{' ' * (indent + 1)}"
                + between.join(map(json.dumps, value)) + "]")
    if isinstance(value, dict) and any(isinstance(each, (dict, list))
                                       for each in value.values()):
        return f"{{\n{' ' * (indent + 1)}" + between.join(
            f"{json.dumps(key)}: {_lines(each, indent + 1)}"
            for key, each in value.items()) + "}"
    return json.dumps(value)


def write_lines(path, data):
    """Write JSON for keeping: short lines, and no paths of this machine."""
    write(path, _lines(data, 0).replace(TOP + "/", "") + "\n")


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)
