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


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)
