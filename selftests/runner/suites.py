# SPDX-License-Identifier: GPL-2.0-only
"""Which test programs there are, and what they need around them."""

import dataclasses
import glob
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))


@dataclasses.dataclass(frozen=True)
class Suite:
    """The programs of one object."""
    object: str

    @property
    def label(self):
        """How it is called in results."""
        return self.object

    def environment(self, sanitizer=None):
        """Variables for a program of this suite.

        Plain pthread programs load the drop-in themselves, and
        AddressSanitizer insists on being the first library.
        """
        if self.object == "pthread" and sanitizer:
            return {"LD_PRELOAD": sanitizer}
        return {}


#: In a test's source: the APIs it is built for, the first of them its own.
APIS = re.compile(r"^ \* APIs: drover (.*)$", re.MULTILINE)


def tests():
    """The names of all test programs, <object>/<program>, built or not."""
    names = set()
    for path in (glob.glob(os.path.join(TOP, "selftests", "*", "*.c"))
                 + glob.glob(os.path.join(TOP, "selftests", "*", "*.cc"))):
        folder, test = os.path.splitext(path)[0].split(os.sep)[-2:]
        names.add(f"{folder}/{test}")
        with open(path, encoding="utf-8") as file:
            apis = " ".join(APIS.findall(file.read()))
        for api in apis.split():
            names.add(api if "/" in api else
                      f"attack/{api}_{test}" if folder == "attack" else
                      f"{api}/{test}")
    return names


#: Their futex calls never reach the kernel: a guest could add nothing.
HOST_ONLY = ("attack",)


def programs(build, name):
    """The built test programs of one object."""
    folder = os.path.join(build, "selftests", name)
    return sorted(path for path in
                  (os.path.join(folder, file) for file in os.listdir(folder))
                  if os.access(path, os.X_OK) and os.path.isfile(path))


def suites(build):
    """All suites, in the order of their names."""
    folder = os.path.join(build, "selftests")
    return [Suite(name) for name in sorted(os.listdir(folder))
            if os.path.isdir(os.path.join(folder, name))
            and programs(build, name)]
