# SPDX-License-Identifier: MIT
"""Make HTML of Documentation/, with its manual pages, in FOLDER/html.

usage: tools/manual FOLDER
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import urllib.parse

from drover_tools.tree import TOP

DOCUMENTS = os.path.join(TOP, "Documentation")


def write_page(path, folder):
    """Write a manual page as a document that contains HTML."""
    name, section = os.path.basename(path).split(".")
    with open(path, encoding="utf-8") as file:
        # In examples, mandoc drops empty lines, and splits indented ones.
        text = re.sub(r"^(?=[ \t])", r"\\&",
                      file.read().replace("\n\n", "\n.sp\n"), flags=re.M)
    done = subprocess.run(["mandoc", "-Thtml", "-Ofragment"], input=text,
                          check=True, capture_output=True, text=True)
    body = re.search(r'<div class="manual-text">(.*)</div>', done.stdout,
                     re.S).group(1)
    # The title of the document is the only h1.
    body = re.sub(r"(?<=<h|/h)[12](?=[ >])",
                  lambda found: str(int(found[0]) + 1), body)
    body = re.sub(r"<b>(drover\w*)</b>\s*\((\d)\)",
                  r'<a class="reference" href="\1.\2.html">\1(\2)</a>', body)
    title = f"{name}({section})"
    with open(os.path.join(folder, f"{name}.{section}.rst"), "w",
              encoding="utf-8") as file:
        file.write(f"{title}\n{'=' * len(title)}\n\n.. raw:: html\n\n"
                   + "".join(f"   {line}\n" for line in body.splitlines()))


def dead_links(folder):
    """The links of pages to files or places that do not exist."""
    pages = {}
    for path in glob.glob(os.path.join(folder, "**", "*.html"),
                          recursive=True):
        with open(path, encoding="utf-8") as file:
            pages[path] = file.read()
    for path, text in pages.items():
        for link in set(re.findall(r'(?:href|src)="([^"]+)"', text)):
            url = urllib.parse.urlparse(link)
            if url.scheme:
                continue
            other = os.path.normpath(os.path.join(
                os.path.dirname(path), urllib.parse.unquote(url.path))
                ) if url.path else path
            place = re.search(rf'(?:id|name)="{re.escape(url.fragment)}"',
                              pages.get(other, ""))
            if not os.path.exists(other) or url.fragment and not place:
                yield f"{os.path.relpath(path, folder)}: {link}"


def main():
    """The exit status."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    source, html = (os.path.join(sys.argv[1], name)
                    for name in ("source", "html"))
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    shutil.copytree(DOCUMENTS, source)
    for path in sorted(glob.glob(os.path.join(DOCUMENTS, "man", "*.[137]"))):
        write_page(path, os.path.join(source, "man"))
    done = subprocess.run(["sphinx-build", "-q", "-W", "-n", "--keep-going",
                           "-b", "html", source, html], check=False)
    dead = list(dead_links(html)) if done.returncode == 0 else []
    for link in dead:
        print(f"dead link: {link}", file=sys.stderr)
    if done.returncode or dead:
        return 1
    print(os.path.join(html, "index.html"))
    return 0
