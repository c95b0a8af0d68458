# SPDX-License-Identifier: MIT
"""Whether data fits a JSON schema: the part of the standard that ours uses."""

import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "bench.schema.json")

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool,
         "null": type(None), "integer": int, "number": (int, float)}
KEYWORDS = {"$schema", "$comment", "$ref", "$defs", "title", "description",
            "type", "properties", "required", "additionalProperties",
            "items", "enum", "minimum", "minItems", "maxItems"}


def load(path=BENCH):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _is(data, name):
    if isinstance(data, bool) and name in ("integer", "number"):
        return False
    return isinstance(data, TYPES[name])


def errors(data, schema, root=None, where="$"):
    """Lines that say what is wrong, and where."""
    root = root or schema
    unknown = set(schema) - KEYWORDS
    if unknown:
        raise ValueError(f"schema, at {where}: {sorted(unknown)}")
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        yield from errors(data, root["$defs"][name], root, where)
        return
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(data, kind) for kind in kinds):
        yield f"{where}: not {' or '.join(kinds)}: {data!r:.60}"
        return
    if "enum" in schema and data not in schema["enum"]:
        yield f"{where}: {data!r:.60} is none of {schema['enum']}"
    if "minimum" in schema and _is(data, "number") \
            and data < schema["minimum"]:
        yield f"{where}: {data} is less than {schema['minimum']}"
    if isinstance(data, dict):
        yield from _object_errors(data, schema, root, where)
    if isinstance(data, list):
        yield from _array_errors(data, schema, root, where)


def _object_errors(data, schema, root, where):
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in data:
            yield f"{where}: {name} is missing"
    others = schema.get("additionalProperties", True)
    for name, value in data.items():
        if name in known:
            yield from errors(value, known[name], root, f"{where}.{name}")
        elif others is False:
            yield f"{where}: {name} is not known"
        elif isinstance(others, dict):
            yield from errors(value, others, root, f"{where}.{name}")


def _array_errors(data, schema, root, where):
    if not (schema.get("minItems", 0) <= len(data)
            <= schema.get("maxItems", len(data))):
        yield f"{where}: {len(data)} items"
    for number, item in enumerate(data):
        if "items" in schema:
            yield from errors(item, schema["items"], root,
                              f"{where}[{number}]")
