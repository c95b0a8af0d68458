# SPDX-License-Identifier: GPL-2.0-only
"""Programs under test: compressors, encoders and language runtimes."""

import os

import inputs
import system

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
MEGABYTE = 1 << 20
LIMIT = 300


class Program:
    """A program of Debian's, and the work it is given.

    name, packages and commands are what it is called, where it is found and
    what must be there; quick, whether it is part of `make check`.
    """
    name = ""
    packages = ()
    commands = ()
    quick = False

    def missing(self):
        """Why it cannot be run here, or None."""
        return system.missing(self.commands, self.files(), self.packages)

    def files(self):
        """Files that must be there, beside the commands."""
        return ()

    def prepare(self, folder):
        """Make the input, the same every time, in a folder."""

    def run(self, place):
        """Do the work in a place; the results by name."""
        raise NotImplementedError

    def failures(self, results):
        """What is wrong with the results even without the drop-in."""
        for name, value in results.items():
            if name.endswith("exit status") and value != 0:
                errors = results.get(name.replace("exit status", "errors"))
                yield f"without the drop-in: {name} {value}: {errors}"
            if name == "time limit":
                yield f"without the drop-in: {value}"


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


class X264(Program):
    """Frame threads; the output does not depend on their timing."""
    name = "x264"
    packages = commands = ("x264",)
    quick = True

    def prepare(self, folder):
        self._input = os.path.join(folder, "input.y4m")
        inputs.film(self._input, 320, 192, 40)

    def run(self, place):
        results = place.run(
            ["x264", "--no-progress", "--threads", "6", "--preset",
             "veryfast", "--output", "film.264", self._input], LIMIT)
        results["film"] = place.read("film.264")
        results.pop("output: errors")       # tells how fast it was
        return results


class Ffmpeg(Program):
    """Decodes and encodes with frame and slice threads; sums of frames."""
    name = "ffmpeg"
    packages = commands = ("ffmpeg",)

    SOURCE = "testsrc2=size=640x352:rate=25:duration=4"

    def run(self, place):
        base = ["ffmpeg", "-nostdin", "-v", "error", "-threads", "4",
                "-filter_threads", "4"]
        exact = ["-fflags", "+bitexact", "-flags:v", "+bitexact"]
        results = {}
        for codec, options in (("ffv1", ["-level", "3", "-slices", "12"]),
                               ("mpeg4", ["-g", "12"])):
            results.update(place.run(
                [*base, "-f", "lavfi", "-i", self.SOURCE, "-threads", "4",
                 "-vf", "unsharp,hqdn3d", "-c:v", codec, *options, *exact,
                 "-f", "nut", f"{codec}.nut"], LIMIT, output=codec))
            results[f"{codec} film"] = place.read(f"{codec}.nut")
            results.update(place.run(
                [*base, "-i", f"{codec}.nut", *exact, "-f", "framemd5", "-"],
                LIMIT, output=f"{codec} frames"))
            place.forget(f"{codec}.nut")
        return results


class Python(Program):
    """Threads that fight for the interpreter lock, which has a condvar."""
    name = "python3"
    packages = ("python3",)
    quick = True
    script = "threads.py"

    def files(self):
        return (PYTHON,)

    def run(self, place):
        return place.run([PYTHON, "-I", "-B",
                          os.path.join(HERE, "work", self.script)], LIMIT,
                         OPENBLAS_NUM_THREADS="4")


class Numpy(Python):
    """The same beside OpenBLAS's own pool of threads."""
    name = "numpy"
    packages = ("python3-numpy", "libopenblas0-pthread")
    script = "blas.py"

    def files(self):
        return (PYTHON, "/usr/lib/python3/dist-packages/numpy",
                "/usr/lib/x86_64-linux-gnu/openblas-pthread")


class Java(Program):
    """Monitors, parked threads, timed waits, collections: all are condvars."""
    name = "java"
    packages = ("default-jdk-headless",)
    commands = ("java", "javac")

    def run(self, place):
        return place.run(["java", "-Xmx128m", "-XX:-UsePerfData",
                          "-XX:+UseParallelGC", "-XX:ParallelGCThreads=3",
                          os.path.join(HERE, "work", "Threads.java")], LIMIT)


PROGRAMS = (
    Compressor("xz", "xz-utils", 3 * MEGABYTE,
               ["xz", "-T4", "-1", "--block-size=128KiB"],
               ["xz", "-d", "-T4"]),
    Compressor("pigz", "pigz", 12 * MEGABYTE,
               ["pigz", "-p4", "-3", "-b", "64"], ["pigz", "-d", "-p4"]),
    Compressor("zstd", "zstd", 24 * MEGABYTE,
               ["zstd", "-q", "-T4", "-3", "-B512KB"],
               ["zstd", "-q", "-d", "-T4"]),
    X264(), Ffmpeg(), Python(), Numpy(), Java())
