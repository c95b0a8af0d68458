# SPDX-License-Identifier: MIT
"""Test of `make wheel`: pip installs it, and the command works; prints TAP.

In the environment, O= is the build folder, and WHEEL= names wheels that were
made before. The test takes minutes, the first time to make a root file system
of Debian 11. The wheel for arm64 is unpacked, and its programs run in QEMU
with Debian 11's C library, if both are there.
"""

import glob
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from drover_tools.tap import Tap
from drover_tools.tree import BUILD, TOP

LIMIT = 900
GLIBC = (2, 31)
#: A program that prints a line when it runs, and then reads.
READS = "import sys; print(flush=True); sys.stdin.read()"
#: readelf's names of machines.
MACHINES = {"x86_64": "X86-64", "aarch64": "AArch64"}
#: Programs that check a wheel, their arguments, and their word for a good one.
LOOKS = {"auditwheel": (("show",), "manylinux_2_31"),
         "twine": (("check", "--strict"), "PASSED")}


def run(*words, **more):
    """The exit status of a command, and all its output."""
    done = subprocess.run(words, check=False, text=True, timeout=LIMIT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, **more)
    return done.returncode, done.stdout


def make(tap):
    """The paths of the wheels, this machine's first."""
    if os.environ.get("WHEEL"):
        return os.environ["WHEEL"].split()
    status, said = run("make", "-s", "wheel", f"O={BUILD}", cwd=TOP)
    if "run this as root" in said:
        tap.skip("make wheel", "needs root, or glibc 2.31")
        return []
    tap.ok(status == 0, "make wheel", said[-2000:])
    return re.findall(r"^\S+\.whl$", said, re.M) if status == 0 else []


def test_symbols(tap, top, machine):
    """The programs need no later glibc, and have lines for valgrind.

    top: the folder that has lib/, and bin/ or scripts/
    """
    for path in sorted({os.path.realpath(path) for name in (
            "*/drover", "**/libdrover*.so*", "**/wakeup")
            for path in glob.glob(f"{top}/{name}", recursive=True)}):
        if os.path.isdir(path):     # lib/drover
            continue
        _, said = run("readelf", "-W", "-h", "--dyn-syms", path)
        tap.ok(machine in said, f"{os.path.basename(path)}: for {machine}",
               said[:1000])
        late = [line for line in said.splitlines() if " UND " in line
                for found in re.findall(r"@GLIBC_(\d+)\.(\d+)", line)
                if tuple(map(int, found)) > GLIBC]
        tap.equal(late, [], f"{os.path.basename(path)}: glibc 2.31 has all"
                  " that it needs")
        if "pthread" in path:
            tap.ok("_vgw" in said, "the drop-in is annotated for valgrind")


def test_command(tap, top):
    """The command works from the folder into which pip has put it."""
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


def test_other(tap, wheel, folder):
    """The wheel for the other machine."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    top = glob.glob(f"{folder}/*.data")[0]
    test_symbols(tap, top, "AArch64")
    emulator = shutil.which("qemu-aarch64-static") or shutil.which(
        "qemu-aarch64")
    libraries = [path for path in glob.glob(
        f"{BUILD}/systems/*/usr/aarch64-linux-gnu")
        if os.path.exists(f"{path}/lib/libc.so.6")]
    if not emulator or not libraries:
        tap.skip("arm64: its programs", "there is no qemu-user, or no C"
                 " library for arm64 in a root file system of make wheel")
        return
    wakeup = glob.glob(f"{top}/data/lib/drover/wakeup")[0]
    os.chmod(wakeup, 0o755)
    preload = f"LD_PRELOAD={top}/data/lib/libdrover-pthread.so.1"
    for more in ((), ("-E", preload)):
        status, said = run(emulator, "-L", libraries[0], *more, wakeup,
                           "1000", "0", "0")
        tap.ok(status == 0 and said.strip().isdigit(), "arm64: wakeup"
               + ", with the drop-in" * bool(more), f"status {status}: {said}")


def test_looks(tap, wheel):
    """auditwheel and twine find nothing wrong."""
    for name, (words, good) in LOOKS.items():
        if not shutil.which(name):
            tap.skip(name, f"there is no {name}")
            continue
        status, said = run(name, *words, wheel)
        tap.ok(status == 0 and good in said, f"{name} finds nothing wrong",
               said)


def test_installed(tap, wheel, top):
    """Install the wheel; top: a folder for a virtual environment."""
    if run(sys.executable, "-m", "venv", top)[0]:
        tap.skip("pip install", "there is no venv: python3-venv")
        return
    status, said = run(f"{top}/bin/pip", "install", "--no-index", wheel)
    tap.ok(status == 0, "pip install", said)
    test_symbols(tap, top, MACHINES.get(platform.machine(), ""))
    test_command(tap, top)
    run(f"{top}/bin/pip", "uninstall", "-y", "drover")
    tap.ok(not glob.glob(f"{top}/**/*drover*", recursive=True),
           "pip uninstall leaves nothing")


def main():
    """The exit status."""
    tap = Tap()
    for number, wheel in enumerate(make(tap)):
        test_looks(tap, wheel)
        with tempfile.TemporaryDirectory() as folder:
            if number:
                test_other(tap, wheel, folder)
            else:
                test_installed(tap, wheel, os.path.join(folder, "venv"))
    return tap.exit_status()
