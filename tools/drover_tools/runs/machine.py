# SPDX-License-Identifier: MIT
"""The description of a machine that stands above a table."""

import functools
import os
import platform
import re
import subprocess


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _find(pattern, text, missing="unknown"):
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1).strip().strip('"') if found else missing


def host():
    """A description of this machine."""
    return {
        "cpu_model": _find(r"^model name\s*:\s*(.*)", _read("/proc/cpuinfo")),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_mb": int(_find(r"^MemTotal:\s*(\d+)", _read("/proc/meminfo"),
                               "0")) // 1024,
        "system": _find(r"^PRETTY_NAME=(.*)", _read("/etc/os-release")),
        "kernel": f"{platform.system()} {platform.release()}",
        "libc": os.confstr("CS_GNU_LIBC_VERSION") or "not glibc",
        "load": round(os.getloadavg()[0], 2),
    }


@functools.lru_cache
def qemu_version():
    """The version of the QEMU that guests run in."""
    try:
        done = subprocess.run(["qemu-system-x86_64", "--version"], check=True,
                              capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return _find(r"version (\S+)", done.stdout)
