# SPDX-License-Identifier: GPL-2.0-only
"""xz, pigz and zstd with several threads: there and back again."""

import os

import inputs
from program import Program

MEGABYTE = 1 << 20
LIMIT = 120


class Compressor(Program):
    """Compresses and decompresses a text; both outputs are compared."""
    quick = True

    def __init__(self, name, package, size, pack, unpack):
        self.name = name
        self.commands = (name,)
        self.packages = (package,)
        self._size = size
        self._pack = pack
        self._unpack = unpack
        self._input = None

    def prepare(self, folder):
        self._input = os.path.join(folder, "input")
        inputs.text(self._input, self._size)

    def run(self, place):
        results = place.run(self._pack, LIMIT, self._input, "packed")
        results.update(place.run(self._unpack, LIMIT, place.path("packed"),
                                 "unpacked"))
        with open(self._input, "rb") as file:
            results["there and back"] = results["unpacked"] == file.read()
        place.forget("packed", "unpacked")
        return results

    def failures(self, results):
        yield from super().failures(results)
        if not results.get("there and back"):
            yield "without the drop-in: what was unpacked is not the input"


PROGRAMS = (
    Compressor("xz", "xz-utils", 3 * MEGABYTE,
               ["xz", "-T4", "-1", "--block-size=128KiB"],
               ["xz", "-d", "-T4"]),
    Compressor("pigz", "pigz", 12 * MEGABYTE,
               ["pigz", "-p4", "-3", "-b", "64"], ["pigz", "-d", "-p4"]),
    Compressor("zstd", "zstd", 24 * MEGABYTE,
               ["zstd", "-q", "-T4", "-3", "-B512KB"],
               ["zstd", "-q", "-d", "-T4"]),
)
