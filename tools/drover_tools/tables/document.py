# SPDX-License-Identifier: MIT
"""A report's blocks, and the forms that they are written in."""

import dataclasses
import textwrap

#: Of what is written.
LICENCE = "SPDX-License-Identifier: MIT"


@dataclasses.dataclass(frozen=True)
class Heading:
    level: int
    text: str


@dataclasses.dataclass(frozen=True)
class Text:
    text: str


@dataclasses.dataclass(frozen=True)
class Value:
    """What stands in a table; mark: a verdict of stats.py, or nothing."""

    text: str
    mark: str = ""


@dataclasses.dataclass(frozen=True)
class Table:
    """First column: names.  Cells are Value or str."""

    header: list
    rows: list


PLAIN_COLUMNS = 79

#: Behind the value, so that it shows without colours too.
SIGNS = {"behind": " !", "tie": " =", "unknown": " ?", "ahead": "",
         "": ""}


def _value(cell):
    return cell if isinstance(cell, Value) else Value(cell)


def _markdown_block(block):
    if isinstance(block, Heading):
        yield "#" * block.level + " " + block.text
    elif isinstance(block, Text):
        yield block.text
    elif isinstance(block, Table):
        yield "| " + " | ".join(block.header) + " |"
        yield "|---" + "|--:" * (len(block.header) - 1) + "|"
        for row in block.rows:
            texts = []
            for cell in map(_value, row):
                text = (cell.text + SIGNS[cell.mark]).replace("|", "\\|")
                texts.append(f"**{text}**" if cell.mark == "behind" else text)
            yield "| " + " | ".join(texts) + " |"


def markdown(blocks):
    """The whole text."""
    parts = [f"<!-- {LICENCE} -->"]
    parts += ["\n".join(_markdown_block(block)) for block in blocks]
    return "\n\n".join(parts) + "\n"


def _plain_table(table):
    rows = [table.header] + [[cell.text + SIGNS[cell.mark] for cell
                              in map(_value, row)] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    words = [any(text[:1].isalpha() for text in column)
             for column in list(zip(*rows[1:])) or [()] * len(widths)]
    for row in rows:
        yield "  ".join(text.ljust(width) if left or not number
                        else text.rjust(width) for number, (text, width, left)
                        in enumerate(zip(row, widths, words))).rstrip()


def _plain_block(block):
    if isinstance(block, Heading):
        yield block.text
        yield "=" * len(block.text)
    elif isinstance(block, Text):
        yield from textwrap.wrap(block.text, PLAIN_COLUMNS)
    elif isinstance(block, Table):
        yield from _plain_table(block)


def plain(blocks):
    """For a terminal."""
    parts = ["\n".join(_plain_block(block)) for block in blocks]
    return "\n\n".join(part for part in parts if part) + "\n"
