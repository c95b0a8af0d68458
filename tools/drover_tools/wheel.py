# SPDX-License-Identifier: MIT
"""`make wheel`: the command, the drop-in and the manual pages, for pip.

The programs in the wheel are built with glibc 2.31, that of Debian 11, so that
they run with any later one. They are built on this machine if its glibc is not
newer, and otherwise in a root file system like those of `make check-systems`,
which only root can make. On x86-64, Debian 11's compiler for arm64 makes a
second wheel.

The wheel has no Python module: the command is installed in bin/ of a virtual
environment, and the files that it looks for in lib/ and share/.
"""

import argparse
import base64
import email.utils
import hashlib
import os
import platform
import re
import shutil
import subprocess
import time
import zipfile

from drover_tools.tree import TOP

GLIBC, SUITE = (2, 31), "bullseye"
#: The machine of the second wheel: its name, compilers and packages.
OTHER, CROSS = "aarch64", "aarch64-linux-gnu-"
PACKAGES = ("g++-aarch64-linux-gnu", "gcc-aarch64-linux-gnu")
#: Builds and installs the parts as for a package. valgrind's headers are the
#: same for all machines, but a compiler for another machine does not find them
#: by itself.
BUILD = """
mkdir -p headers && ln -sfn /usr/include/valgrind headers/valgrind &&
set -- O="$PWD/build-{0}" DESTDIR="$PWD/staged-{0}" CFLAGS=-O2 \
    CPPFLAGS="-I$PWD/headers" CC={1}gcc CXX={1}g++ AR={1}ar &&
make -s lib tools "$@" && make -s install "$@" &&
cd staged-{0}/usr/local &&
{1}strip --strip-unneeded bin/drover lib/libdrover-pthread.so.1 \
    lib/drover/libdrover-stat.so lib/drover/wakeup"""
#: The installed files that are in the wheel: neither the files with which
#: programs are built, nor benchmarks.
FILES = re.compile(r"bin/drover|lib/libdrover-pthread\.so\.1"
                   r"|lib/drover/(__main__\.py|drover_tools/.*\.py"
                   r"|libdrover-stat\.so|wakeup)"
                   r"|share/drover/.*|share/man/man[17]/drover\.[17]")
METADATA = """Metadata-Version: 2.4
Name: drover
Version: {version}
Summary: Say which thread waits for which in a program that hangs, and run \
programs with condition variables that lose no wake-up
License-Expression: MIT
License-File: LICENSES/MIT.txt
Requires-Python: >=3.9
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Software Development :: Debuggers
Description-Content-Type: text/markdown

{readme}"""
WHEEL = """Wheel-Version: 1.0
Generator: drover
Root-Is-Purelib: false
Tag: {tag}
"""


def glibc():
    """The version of this machine's glibc; (99,) for another C library."""
    found = re.findall(r"\d+", platform.libc_ver()[1])
    return tuple(map(int, found[:2])) or (99,)


def machines():
    """{machine: prefix of its compilers} for which wheels are made."""
    found = {platform.machine(): ""}
    if platform.machine() == "x86_64" and (
            glibc() > GLIBC or shutil.which(f"{CROSS}g++")):
        found[OTHER] = CROSS
    return found


def built(tarball, build):
    """Build a tarball. Return: the folder of the built tree."""
    command = " && ".join(f"({BUILD.format(*one)})"
                          for one in machines().items())
    if glibc() <= GLIBC:
        tree = os.path.join(build, "wheel", "tree")
        shutil.rmtree(tree, ignore_errors=True)
        os.makedirs(tree)
        subprocess.run(["tar", "-x", "--strip-components=1", "-C", tree, "-f",
                        tarball], check=True)
        subprocess.run(["sh", "-c", command], cwd=tree, check=True)
        return tree
    systems = os.path.join(build, "systems")
    more = ["-p", ",".join(PACKAGES)] if OTHER in machines() else []
    done = subprocess.run(
        [os.path.join(TOP, "selftests", "systems", "run"), "-s", tarball, "-c",
         command, *more, SUITE], env={**os.environ, "O": build}, check=False,
        stdout=subprocess.DEVNULL)
    if done.returncode == 4:
        raise SystemExit("wheel: this C library is newer than glibc 2.31. To"
                         " make a file system with that version, run this as"
                         " root, and install mmdebstrap and util-linux")
    if done.returncode:
        raise SystemExit("wheel: the build failed;"
                         f" {systems}/{SUITE}.log says why")
    return os.path.join(systems, ",".join([SUITE, *more[1:]]), "tested")


def read(*path):
    """The bytes of a file."""
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def contents(tree, machine, version, tag):
    """(path in the wheel, bytes, executable or not) of all but RECORD."""
    info, data = f"drover-{version}.dist-info", f"drover-{version}.data"
    top = os.path.join(tree, f"staged-{machine}", "usr", "local")
    for folder, folders, names in os.walk(top):
        folders.sort()
        for path in sorted(os.path.join(folder, name) for name in names):
            name = os.path.relpath(path, top)
            if FILES.fullmatch(name):
                place = (f"scripts/{os.path.basename(name)}"
                         if name.startswith("bin/") else f"data/{name}")
                yield f"{data}/{place}", read(path), os.access(path, os.X_OK)
    readme = read(tree, "README.md").decode()
    yield (f"{info}/METADATA",
           METADATA.format(version=version, readme=readme).encode(), False)
    yield f"{info}/WHEEL", WHEEL.format(tag=tag).encode(), False
    yield (f"{info}/licenses/LICENSES/MIT.txt",
           read(tree, "LICENSES", "MIT.txt"), False)


def pack(path, files, info, moment):
    """Write a zip file with files and their list; moment: the time of all."""
    record = ""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        def add(name, text, can_run=False):
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = (0o100755 if can_run else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)

        for name, text, can_run in files:
            digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest())
            record += (f"{name},sha256={digest.decode().rstrip('=')},"
                       f"{len(text)}\n")
            add(name, text, can_run)
        add(f"{info}/RECORD", record + f"{info}/RECORD,,\n")


def changelog(tree):
    """(version, time) of the newest entry."""
    text = read(tree, "debian", "changelog").decode()
    version = re.search(r"\((.*?)\)", text).group(1)
    date = re.search(r"^ -- .*>  (.*)$", text, re.M).group(1)
    seconds = email.utils.parsedate_to_datetime(date).timestamp()
    return version, time.gmtime(seconds)[:6]


def main():
    """Print the paths of the wheels, this machine's first; the exit status."""
    parser = argparse.ArgumentParser(
        prog="wheel", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tarball", help="the tarball of `make dist`")
    parser.add_argument("build", help="the build folder, in which the wheels"
                        " go to wheel/")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    tree = built(os.path.abspath(options.tarball), build)
    version, moment = changelog(tree)
    folder = os.path.join(build, "wheel")
    os.makedirs(folder, exist_ok=True)
    for machine in machines():
        tag = f"py3-none-manylinux_{GLIBC[0]}_{GLIBC[1]}_{machine}"
        path = os.path.join(folder, f"drover-{version}-{tag}.whl")
        pack(path, contents(tree, machine, version, tag),
             f"drover-{version}.dist-info", moment)
        print(path)
    return 0
