# SPDX-License-Identifier: MIT
"""Test of a release: tarball, packages, symbols, layouts, and the commands on
the pages for users; prints TAP.

O= in the environment is the build folder. --update rewrites the file of the
layouts, or writes the file that is named after it.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from drover_tools.tap import Tap
from drover_tools.tests.release import pages
from drover_tools.tree import BUILD, TOP

SYMBOLS = os.path.join(TOP, "debian", "libdrover1.symbols")
LAYOUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "layouts")
HEADERS = os.path.join(TOP, "lib", "include", "drover")
PACKAGES = ("libdrover1", "libdrover-dev", "drover-tools",
            "drover-kernel-source")
#: `make deb` needs these; tools/deps deb installs those that are missing.
DEB_TOOLS = ("dpkg-buildpackage", "dh", "lintian")
LIMIT = 600


def read(*path):
    """The text of a file."""
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def run(*words, cwd=TOP):
    """Run a command without the variables of a make that runs this test."""
    clean = {key: os.environ[key] for key in ("PATH", "HOME", "CC")
             if key in os.environ}
    return subprocess.run(words, cwd=cwd, env=clean, timeout=LIMIT,
                          check=False, capture_output=True, text=True)


def make(target, folder, **variables):
    """Make a target in a source tree. Return: whether it worked, output."""
    done = run("make", "-s", target,
               *(f"{key}={value}" for key, value in variables.items()),
               cwd=folder)
    return done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_symbols(tap):
    """The library exports the symbols in debian/libdrover1.symbols."""
    done = run("nm", "-D", "--defined-only", "--with-symbol-versions",
               os.path.join(BUILD, "lib", "libdrover.so.1"))
    found = sorted(line.split()[2].replace("@@", "@")
                   for line in done.stdout.splitlines() if " A " not in line)
    wanted = re.findall(r"^ (drover_\w+@\S+) ", read(SYMBOLS), re.M)
    tap.equal(found, sorted(wanted), "exported symbols")


def layouts():
    """Lines with size and alignment of each public type."""
    names = sorted({name for path in glob.glob(os.path.join(HEADERS, "*.h"))
                    for name in re.findall(r"^} (drover_\w+_t);", read(path),
                                           re.M)})
    source = "".join(f"#include <drover/{os.path.basename(path)}>\n" for path
                     in sorted(glob.glob(os.path.join(HEADERS, "*.h"))))
    source += "#include <stdio.h>\nint main(void) {\n" + "".join(
        f'printf("{name} %zu %zu\\n", sizeof({name}), _Alignof({name}));\n'
        for name in names) + "return 0; }\n"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "layouts")
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write(source)
        done = run(os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE",
                   f"-I{os.path.dirname(HEADERS)}", path + ".c", "-o", path)
        return run(path).stdout if done.returncode == 0 else done.stderr


def test_layouts(tap):
    """The layout of public types is as before, for compiled programs."""
    wanted = "".join(line for line in
                     read(LAYOUTS).splitlines(keepends=True)
                     if not line.startswith("#"))
    tap.equal(layouts(), wanted, "sizes and alignments of public types")


def version():
    """The version of the newest entry in debian/changelog."""
    return re.search(r"\((.*?)\)", read(TOP, "debian", "changelog")).group(1)


def test_version(tap):
    """The version is the same everywhere."""
    found = re.search(r"^VERSION := (.*)$", read(TOP, "lib", "Makefile"), re.M)
    tap.equal(found.group(1), version(), "lib/Makefile: the version")


def test_tarball(tap, folder):
    """Two tarballs have the same bytes, and so has one from the unpacked tree.
    """
    path = os.path.join(folder, f"drover-{version()}.tar.gz")
    found = []
    for tree, build in ((TOP, folder), (TOP, folder),
                        (path.removesuffix(".tar.gz"),
                         os.path.join(folder, "again"))):
        fine, said = make("dist", tree, O=build)
        if not fine:
            tap.ok(False, "make dist", said)
            return None
        with open(os.path.join(build, os.path.basename(path)), "rb") as file:
            found.append(file.read())
        run("tar", "-xf", path, cwd=folder)
    tap.ok(found[0] == found[1], "make dist: the same bytes twice")
    tap.ok(found[0] == found[2], "make dist: from its own tarball, too")
    return path.removesuffix(".tar.gz")


def test_packages(tap, tree):
    """The tarball builds packages, or else at least its programs."""
    missing = [tool for tool in DEB_TOOLS if not shutil.which(tool)]
    if missing:
        tap.skip("make deb", f"there is no {missing[0]}")
        tap.ok(*make("lib", tree), "the tarball builds its libraries")
        tap.ok(*make("tools", tree), "the tarball builds its programs")
        return
    fine, said = make("deb", tree)
    tap.ok(fine, "make deb: from the tarball, without errors of lintian", said)
    found = {os.path.basename(path).split("_")[0]: path for path in
             glob.glob(os.path.join(tree, "build", "deb", "*.deb"))}
    for name in PACKAGES:
        tap.ok(name in found and run("dpkg", "-c", found[name])
               .stdout.count("\n") > 5, f"make deb: {name}")


def test_manual(tap, folder):
    """The manual becomes HTML without a warning or a dead link."""
    for tool in ("sphinx-build", "mandoc"):
        if not shutil.which(tool):
            tap.skip("the manual", f"there is no {tool}")
            return
    fine, said = make("doc", TOP, O=folder)
    tap.ok(fine and os.path.exists(os.path.join(
        folder, "doc", "html", "index.html")), "make doc: the manual", said)


def main():
    """The exit status."""
    if "--update" in sys.argv[1:2]:
        with open((*sys.argv[2:], LAYOUTS)[0], "w", encoding="utf-8") as file:
            file.write("# SPDX-License-Identifier: MIT\n"
                       "# Type, size and alignment; tools/selftest release"
                       f" --update\n{layouts()}")
        return 0
    tap = Tap()
    test_symbols(tap)
    test_layouts(tap)
    test_version(tap)
    with tempfile.TemporaryDirectory() as folder:
        test_manual(tap, folder)
        tree = test_tarball(tap, folder)
        if tree:
            test_packages(tap, tree)
    pages.test_all(tap, TOP, BUILD)
    return tap.exit_status()
