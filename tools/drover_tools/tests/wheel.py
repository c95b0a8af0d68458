# SPDX-License-Identifier: MIT
"""Test of `make wheel`: installed by pip, its command works; prints TAP.

O= in the environment: the build folder. It takes minutes, the first time for a
root file system of Debian 11. WHEEL=: one that was made before.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from drover_tools.tap import Tap
from drover_tools.tree import BUILD, TOP

LIMIT = 900
GLIBC = (2, 31)
#: A program that says that it runs, and then reads.
READS = "import sys; print(flush=True); sys.stdin.read()"
#: What looks at a wheel, and what it says of a good one.
LOOKS = {"auditwheel": (("show",), "manylinux_2_31"),
         "twine": (("check", "--strict"), "PASSED")}


def run(*words, **more):
    """Exit status, and all that was said."""
    done = subprocess.run(words, check=False, text=True, timeout=LIMIT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, **more)
    return done.returncode, done.stdout


def make(tap):
    """The path of the wheel, or None."""
    if os.environ.get("WHEEL"):
        return os.environ["WHEEL"]
    status, said = run("make", "-s", "wheel", f"O={BUILD}", cwd=TOP)
    if "be root" in said:
        tap.skip("make wheel", "needs root, or glibc 2.31")
        return None
    tap.ok(status == 0, "make wheel", said[-2000:])
    return said.strip().splitlines()[-1] if status == 0 else None


def test_symbols(tap, top):
    """It needs no later glibc, and valgrind's headers were there."""
    for path in [f"{top}/bin/drover", *glob.glob(f"{top}/lib/*.so.1"),
                 f"{top}/lib/drover/wakeup",
                 f"{top}/lib/drover/libdrover-stat.so"]:
        _, said = run("readelf", "-W", "--dyn-syms", path)
        late = [line for line in said.splitlines() if " UND " in line
                for found in re.findall(r"@GLIBC_(\d+)\.(\d+)", line)
                if tuple(map(int, found)) > GLIBC]
        tap.equal(late, [], f"{os.path.basename(path)}: glibc 2.31 has it")
        if "pthread" in path:
            tap.ok("_vgw" in said, "the drop-in is annotated for valgrind")


def test_command(tap, top):
    """What it is for, from where pip has put it."""
    drover = os.path.join(top, "bin", "drover")
    library = os.path.join(top, "lib", "libdrover-pthread.so.1")
    for said, words in ((library, ("run", "sh", "-c", 'echo "$LD_PRELOAD"')),
                        ("takes the place of", ("info",)),
                        ("1 pair of runs", ("compare", "-n", "1", "true")),
                        ("uses no condition variables", ("stat", "true"))):
        status, out = run(drover, *words)
        tap.ok(status == 0 and said in out, f"drover {words[0]}",
               f"status {status}: {out}")
    with subprocess.Popen([sys.executable, "-c", READS], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        status, out = run(drover, "why", str(process.pid))
        tap.ok(status == 0 and "1 thread" in out, "drover why",
               f"status {status}: {out}")
        process.stdin.close()
    pages = sorted(os.listdir(os.path.join(top, "share", "man", section))[0]
                   for section in ("man1", "man7"))
    tap.equal(pages, ["drover.1", "drover.7"], "manual pages")


def main():
    """The exit status."""
    tap = Tap()
    wheel = make(tap)
    for name, (words, good) in LOOKS.items() if wheel else ():
        if not shutil.which(name):
            tap.skip(name, f"there is no {name}")
            continue
        status, said = run(name, *words, wheel)
        tap.ok(status == 0 and good in said, f"{name} finds nothing wrong",
               said)
    with tempfile.TemporaryDirectory() as folder:
        top = os.path.join(folder, "venv")
        status, said = run(sys.executable, "-m", "venv", top)
        if wheel and status:
            tap.skip("pip install", "there is no venv: python3-venv")
        elif wheel:
            status, said = run(f"{top}/bin/pip", "install", "--no-index",
                               wheel)
            tap.ok(status == 0, "pip install", said)
            test_symbols(tap, top)
            test_command(tap, top)
            run(f"{top}/bin/pip", "uninstall", "-y", "drover")
            tap.ok(not glob.glob(f"{top}/**/*drover*", recursive=True),
                   "pip uninstall leaves nothing")
    return tap.exit_status()
