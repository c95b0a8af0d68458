# SPDX-License-Identifier: GPL-2.0-only
"""Language runtimes: CPython with native threads beside its own, and a JVM."""

import os

from program import Program

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
LIMIT = 300


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


PROGRAMS = (Python(), Numpy(), Java())
