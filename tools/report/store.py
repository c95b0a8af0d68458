#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Files under build/results."""

import json
import os


def write(path, text):
    """Replace a file in one step: nobody sees half of it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    scratch = f"{path}.{os.getpid()}"
    with open(scratch, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(scratch, path)


def write_json(path, data):
    write(path, json.dumps(data, indent=1) + "\n")


def _is_table(value):
    return isinstance(value, list) and bool(value) \
        and isinstance(value[0], dict)


def _lines(value, indent):
    """JSON with a line for each object in a list, not for each word."""
    if _is_table(value):
        items = (",\n" + " " * (indent + 1)).join(map(json.dumps, value))
        return f"[\n{' ' * (indent + 1)}{items}\n{' ' * indent}]"
    if isinstance(value, dict) and (not indent or any(
            map(_is_table, value.values()))):
        items = (",\n" + " " * (indent + 1)).join(
            f"{json.dumps(key)}: {_lines(each, indent + 1)}"
            for key, each in value.items())
        return f"{{\n{' ' * (indent + 1)}{items}\n{' ' * indent}}}"
    return json.dumps(value)


def write_lines(path, data):
    """For large results: neither one line nor one for each number."""
    write(path, _lines(data, 0) + "\n")


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)
