# SPDX-License-Identifier: MIT
"""The blocks of a report, which become Markdown or plain text."""

import dataclasses
import textwrap

#: The licence of reports.
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
    """The text of a table's cell; mark: a verdict of stats.py, or nothing."""

    text: str
    mark: str = ""


@dataclasses.dataclass(frozen=True)
class Table:
    """A table, whose first column has names.  Cells are Value or str."""

    header: list
    rows: list


PLAIN_COLUMNS = 79

#: The sign after a value for each mark; it needs no colours.
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
    """The blocks as Markdown."""
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
    """The blocks as text for a terminal."""
    parts = ["\n".join(_plain_block(block)) for block in blocks]
    return "\n\n".join(part for part in parts if part) + "\n"
