# SPDX-License-Identifier: MIT
"""A report's blocks, and the forms that they are written in."""

import dataclasses
import html
import textwrap

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


@dataclasses.dataclass(frozen=True)
class Figure:
    """A plot, kept as name.svg and name.png."""

    name: str
    title: str


@dataclasses.dataclass(frozen=True)
class Commands:
    lines: list


PLAIN_COLUMNS = 79

#: Behind the value, so that it shows without colours too.
SIGNS = {"behind": " !", "tie": " =", "unknown": " ?", "ahead": "",
         "": ""}


def _value(cell):
    return cell if isinstance(cell, Value) else Value(cell)


def _markdown_table(table):
    yield "| " + " | ".join(table.header) + " |"
    yield "|---" + "|--:" * (len(table.header) - 1) + "|"
    for row in table.rows:
        texts = []
        for cell in map(_value, row):
            text = (cell.text + SIGNS[cell.mark]).replace("|", "\\|")
            texts.append(f"**{text}**" if cell.mark == "behind" else text)
        yield "| " + " | ".join(texts) + " |"


def _markdown_block(block):
    if isinstance(block, Heading):
        yield "#" * block.level + " " + block.text
    elif isinstance(block, Text):
        yield block.text
    elif isinstance(block, Table):
        yield from _markdown_table(block)
    elif isinstance(block, Figure):
        yield f"![{block.title}]({block.name}.png)"
    elif isinstance(block, Commands):
        yield "<details><summary>The commands</summary>"
        yield ""
        yield from (f"    {line}" for line in block.lines)
        yield ""
        yield "</details>"


def markdown(blocks):
    """The whole text."""
    parts = [f"<!-- {LICENCE} -->"]
    parts += ["\n".join(_markdown_block(block)) for block in blocks]
    return "\n\n".join(parts) + "\n"


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto;
       max-width: 75em; padding: 0 1em; color: #1b1b1b; background: #fff; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums;
        display: block; overflow-x: auto; }
th, td { padding: .15em .7em; text-align: right; white-space: nowrap;
         border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
.behind { background: #fbd5d0; font-weight: bold; }
.tie { background: #f3f0d7; }
.ahead { background: #dcefdc; }
img { max-width: 100%; }
pre { background: #f5f5f5; padding: .6em; overflow-x: auto; font-size: 12px; }
"""


def _html_table(table):
    yield "<table><thead><tr>"
    yield "".join(f"<th>{html.escape(text)}</th>" for text in table.header)
    yield "</tr></thead><tbody>"
    for row in table.rows:
        yield "<tr>" + "".join(
            (f'<td class="{cell.mark}">' if cell.mark else "<td>")
            + html.escape(cell.text + SIGNS[cell.mark]) + "</td>"
            for cell in map(_value, row)) + "</tr>"
    yield "</tbody></table>"


def _html_block(block):
    if isinstance(block, Heading):
        yield (f"<h{block.level}>{html.escape(block.text)}"
               f"</h{block.level}>")
    elif isinstance(block, Text):
        yield f"<p>{html.escape(block.text)}</p>"
    elif isinstance(block, Table):
        yield from _html_table(block)
    elif isinstance(block, Figure):
        title = html.escape(block.title)
        yield (f'<figure><img src="{block.name}.svg" alt="{title}">'
               f"<figcaption>{title}</figcaption></figure>")
    elif isinstance(block, Commands):
        yield "<details><summary>The commands</summary><pre>"
        yield html.escape("\n".join(block.lines))
        yield "</pre></details>"


def _plain_table(table):
    rows = [table.header] + [[cell.text + SIGNS[cell.mark] for cell
                              in map(_value, row)] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width
                        in zip(row, widths)).rstrip()


def _plain_block(block):
    if isinstance(block, Heading):
        yield block.text
        yield "=" * len(block.text)
    elif isinstance(block, Text):
        yield from textwrap.wrap(block.text, PLAIN_COLUMNS)
    elif isinstance(block, Table):
        yield from _plain_table(block)


def plain(blocks):
    """For a terminal: without figures and commands."""
    parts = ["\n".join(_plain_block(block)) for block in blocks]
    return "\n\n".join(part for part in parts if part) + "\n"


def page(blocks, title):
    """The whole page; plots lie beside it."""
    parts = [f"<!DOCTYPE html>\n<!-- {LICENCE} -->",
             '<html lang="en"><head><meta charset="utf-8">',
             '<meta name="viewport" content="width=device-width">',
             f"<title>{html.escape(title)}</title>",
             f"<style>{STYLE}</style></head><body>"]
    parts += ["\n".join(_html_block(block)) for block in blocks]
    return "\n".join(parts) + "\n</body></html>\n"
