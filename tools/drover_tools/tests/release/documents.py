# SPDX-License-Identifier: MIT
"""The commands that the documents show, as a reader would type them."""

import glob
import os
import re
import shlex

#: Documents with commands.
DOCUMENTS = ("README.md", "Documentation/tutorial.rst", "Documentation/man/*",
             "CONTRIBUTING.md", "Documentation/*.rst")

#: The name of a program that a document may call.
PROGRAM = (r"(?:(?:build|scripts|selftests|tools|/opt|/tmp)/\S*\w"
           r"|(?:apt-get|bear|bpftrace|chrt|cd|clang-format|cp|docker|drover"
           r"|flatpak|gcc|gdb|git|grep|make|measure|mkdir|perf|pip|python3"
           r"|qemu-system-\w+|schedules|systemctl|[a-z]+-perf|drover-bench"
           r"|pp)(?![\w.:/(-]))")
#: The first line of a block of commands: variables, a program, arguments. A
#: table of a program's results has more than one blank after the first word.
FIRST = re.compile(rf"(?:\w+=\S+ *)*(?:{PROGRAM}(?! {{2,}}[^ #])|$)")
#: A command in the text; a program without arguments is only a name.
COMMAND = re.compile(rf"(?:\w+=\S+ )*{PROGRAM} \S.*")
#: The prompt. In a block that shows output, too, it begins each command.
PROMPT = re.compile(r"[$#] ")

FENCE = re.compile(r"```\w*|\.EX")
END = ("```", ".EE")


def _indent(line):
    return len(line) - len(line.lstrip())


def _begins(path, line, last, before):
    """Whether an indented block begins with a line.

    last: the line before it; before: the last one that is not empty
    """
    if not line or "/man/" in path:
        return False
    if path.endswith(".rst"):
        return (before.endswith("::") and _indent(line) > _indent(before)
                and (not before.lstrip().startswith(".. ")
                     or "code-block" in before))
    return not last and _indent(line.expandtabs()) >= 4


def blocks(path, text):
    """Each literal block of a document, as a list of (number, line)."""
    block, fenced, least, last, before = [], False, None, "", ""
    for number, line in [*enumerate(text.splitlines(), 1), (0, "-")]:
        if fenced and line not in END:
            block.append((number, line))
        elif least is not None and (not line or _indent(line) >= least):
            block.append((number, line[least:]))
        else:
            if block:
                yield block
            block, least = [], None
            fenced = not fenced and bool(FENCE.fullmatch(line))
            if not fenced and _begins(path, line, last, before):
                least = _indent(line)
                block = [(number, line[least:])]
        last, before = line, line.rstrip() or before


def _goes_on(words):
    """Whether a quotation goes on in the next line."""
    try:
        shlex.split(words, comments=True)
    except ValueError:
        return True
    return False


def in_blocks(path, text):
    """(number, command) of all commands in literal blocks."""
    text = text.replace("\\-", "-").replace("\\(aq", "'")
    for block in blocks(path, text):
        prompt = PROMPT.match(block[0][1])
        if not FIRST.match(block[0][1][2 if prompt else 0:]):
            continue
        begun, words = None, ""
        for number, line in block:
            if prompt and not PROMPT.match(line) or not line.strip():
                continue
            begun = begun or number
            words += line[2 if prompt else 0:].removesuffix("\\") + " "
            if not line.endswith("\\") and not _goes_on(words):
                yield begun, words
                begun, words = None, ""


def in_text(path, text):
    """(number, command) of the commands between other words."""
    if not path.endswith((".rst", ".md")):
        return
    ticks = "``" if path.endswith(".rst") else "`"
    at = 1
    for paragraph in re.split(r"(\n\n|^```.*?^```$)", text,
                              flags=re.M | re.S):
        for found in re.finditer(rf"(?<!`){ticks}([^`]+){ticks}(?!`)",
                                 paragraph):
            words = " ".join(found[1].split())
            if COMMAND.fullmatch(words) and not paragraph.startswith("```"):
                yield at + paragraph[:found.start()].count("\n"), words
        at += paragraph.count("\n")


def paths(top):
    """The paths of all documents, README first; those of one kind sorted."""
    return list(dict.fromkeys(
        os.path.relpath(path, top) for pattern in DOCUMENTS
        for path in sorted(glob.glob(os.path.join(top, pattern)))))


def commands(top, path):
    """(number, command) of all commands of a document of the tree."""
    with open(os.path.join(top, path), encoding="utf-8") as file:
        return read(path, file.read())


def read(path, text):
    """(number, command) of all commands of a document, in its order."""
    return sorted((number, " ".join(re.sub(r"(^| {2,}| (?=# ))#.*", "",
                                           words).split()))
                  for number, words in (*in_blocks(path, text),
                                        *in_text(path, text)))
