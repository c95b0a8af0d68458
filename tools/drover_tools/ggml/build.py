# SPDX-License-Identifier: MIT
"""Builds ggml's CPU part three times from one source, and makes models.

The source is that of llama.cpp, in a source distribution from PyPI, with our
patch. All that the patch changes is behind GGML_USE_DROVER, so the other two
builds are those of unmodified ggml.
"""

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time

from drover_tools.runs.progress import clock
from drover_tools.tree import TOP

PACKAGE, VERSION = "llama-cpp-python", "0.3.36"
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
#: The folder of llama.cpp in the source distribution.
INSIDE = f"llama_cpp_python-{VERSION}/vendor/llama.cpp/"
#: The package that writes models; it brings numpy.
GGUF = "gguf==0.19.0"

HERE = os.path.join(TOP, "tools", "ggml")
PATCH = os.path.join(HERE, "ggml.patch")
HEADERS = (os.path.join(TOP, "tools", "examples"),
           os.path.join(TOP, "lib", "include"))

#: The layers and words of each model: the first fits into a cache of 18 MB,
#: the second has as many words as Qwen2, and 96 MB.
MODELS = {"small": (2, 2048), "large": (2, 151936)}

#: The builds. The programs are those of the first one; they run with the
#: library of each.
VARIANTS = ("openmp", "spin", "drover")
SETTINGS = ("-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON",
            "-DCMAKE_SKIP_RPATH=ON", "-DLLAMA_BUILD_TESTS=ON",
            "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_SERVER=OFF",
            "-DLLAMA_OPENSSL=OFF", "-DGGML_CCACHE=OFF")
PROGRAMS = ("llama-bench", "test-barrier")
STEP = re.compile(r"\[(\d+)/(\d+)\]")
LINE_SECONDS = 15


class Failed(Exception):
    """A step failed; the text says why, and what to do."""


def tell(text):
    print(text, file=sys.stderr, flush=True)


class Ggml:
    """The folder of ggml's source, builds and models."""

    def __init__(self, build):
        self.folder = os.path.join(build, "ggml")
        self._library = os.path.join(build, "lib")
        self._source = os.path.join(self.folder, "source")
        self._log = os.path.join(self.folder, "build.log")

    def model(self, name):
        """The path of a model."""
        return os.path.join(self.folder, f"{name}.gguf")

    def program(self, name):
        """The path of a program."""
        if name == "logits":
            return os.path.join(self.folder, name)
        return os.path.join(self.folder, VARIANTS[0], "bin", name)

    def libraries(self, variant):
        """The LD_LIBRARY_PATH with which a variant's ggml is used."""
        return ":".join([os.path.join(self.folder, each, "bin") for each in
                         dict.fromkeys((variant, VARIANTS[0]))]
                        + [self._library])

    def make(self):
        """Make everything that is missing."""
        os.makedirs(self.folder, exist_ok=True)
        self._unpack(self._fetch())
        for variant in VARIANTS:
            self._compile(variant)
        self._compile_logits()
        for name, sizes in MODELS.items():
            self._write_model(name, *sizes)

    def _run(self, what, words, **more):
        """Run a command, whose output goes to the log."""
        with open(self._log, "a", encoding="utf-8") as log:
            done = subprocess.run(words, stdout=log, check=False,
                                  stderr=subprocess.STDOUT, **more)
        if done.returncode:
            raise Failed(f"{what} failed: see {self._log}")

    def _python(self):
        """An interpreter of our own, into which packages may be installed."""
        folder = os.path.join(self.folder, "venv")
        python = os.path.join(folder, "bin", "python")
        if not os.path.exists(f"{folder}/bin/pip"):
            self._run("python3 -m venv", [sys.executable, "-m", "venv",
                                          "--clear", folder])
        return python

    # The source

    def _fetch(self):
        """Fetch the source distribution, unless it is there."""
        path = os.path.join(self.folder,
                            f"llama_cpp_python-{VERSION}.tar.gz")
        if not os.path.exists(path):
            tell(f"Fetching {PACKAGE} {VERSION}, 77 MB: about a minute.")
            self._run(f"pip download {PACKAGE}", [
                self._python(), "-m", "pip", "download", "--no-deps",
                "--no-binary", PACKAGE, "--dest", self.folder,
                f"{PACKAGE}=={VERSION}"])
        with open(path, "rb") as file:
            found = hashlib.sha256(file.read()).hexdigest()
        if found != SHA256:
            raise Failed(f"{path} has the checksum {found}, but should have"
                         f" {SHA256}: remove the file and try again")
        return path

    def _unpack(self, path):
        """Unpack and patch, unless that was done with the same patch."""
        with open(PATCH, "rb") as file:
            wanted = hashlib.sha256(SHA256.encode() + file.read()).hexdigest()
        stamp = os.path.join(self._source, "patched")
        with contextlib.suppress(FileNotFoundError), open(
                stamp, encoding="utf-8") as file:
            if file.read() == wanted:
                return
        tell("Unpacking and patching.")
        shutil.rmtree(self._source, ignore_errors=True)
        with tarfile.open(path) as archive:
            for member in archive:
                if member.name.startswith(INSIDE):
                    member.name = member.name[len(INSIDE):]
                    archive.extract(member, self._source)
        self.patch(self._source)
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(wanted)

    @staticmethod
    def patch(source):
        """Patch a source, or raise Failed with the reason."""
        done = subprocess.run(
            ["patch", "--strip=1", "--forward", "--batch", "--input", PATCH],
            cwd=source, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(
                f"{PATCH} does not fit the ggml in {source}, which is not"
                f" that of {PACKAGE} {VERSION}:\n"
                f"{done.stdout.strip()}\nTo make the changes by hand, read"
                " Documentation/using-with-ggml.rst, which describes them.")

    # The builds

    def _flags(self, variant):
        """The settings that differ between the variants."""
        if variant == "openmp":
            return ["-DGGML_OPENMP=ON"]
        flags = ["-DGGML_OPENMP=OFF"]
        if variant == "drover":
            includes = " ".join(f"-I{folder}" for folder in HEADERS)
            flags += [f"-DCMAKE_C_FLAGS=-DGGML_USE_DROVER {includes}",
                      f"-DCMAKE_SHARED_LINKER_FLAGS=-L{self._library}",
                      "-DCMAKE_CXX_STANDARD_LIBRARIES=-ldrover"]
        return flags

    def _compile(self, variant):
        """Build a variant in a folder of its own."""
        folder = os.path.join(self.folder, variant)
        if not os.path.exists(os.path.join(folder, "build.ninja")):
            self._run(f"cmake for {variant}", [
                "cmake", "-G", "Ninja", "-S", self._source, "-B", folder,
                *SETTINGS, *self._flags(variant)])
        self._ninja(variant, folder, PROGRAMS if variant == VARIANTS[0]
                    else ["ggml-cpu"])

    def _ninja(self, variant, folder, targets):
        """Run ninja, and print how long the rest takes."""
        start = told = time.monotonic()
        with open(self._log, "a", encoding="utf-8") as log, subprocess.Popen(
                ["ninja", "-C", folder, *targets], text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as ninja:
            for line in ninja.stdout:
                log.write(line)
                step, now = STEP.match(line), time.monotonic()
                if step and now - told >= LINE_SECONDS:
                    told = now
                    done, whole = map(int, step.groups())
                    tell(f"Building ggml with {variant}: {done} of {whole},"
                         f" {clock((now - start) / done * (whole - done))}"
                         " left")
        if ninja.returncode:
            raise Failed(f"ninja for {variant} failed: see {self._log}")

    def _compile_logits(self):
        """Compile the program that shows whether builds compute the same."""
        program = self.program("logits")
        source = os.path.join(HERE, "logits.c")
        if (os.path.exists(program) and os.path.getmtime(program)
                > os.path.getmtime(source)):
            return
        libraries = os.path.join(self.folder, VARIANTS[0], "bin")
        self._run("logits.c", [
            os.environ.get("CC", "gcc"), "-O2", "-Wall", source,
            f"-I{self._source}/include", f"-I{self._source}/ggml/include",
            f"-L{libraries}", "-lllama", "-lggml-base",
            f"-Wl,-rpath-link,{self.libraries(VARIANTS[0])}", "-o", program])

    def _write_model(self, name, layers, words):
        """Write a model of random weights."""
        path = self.model(name)
        if os.path.exists(path):
            return
        tell(f"Writing the {name} model: {layers} layers, {words} words.")
        python = self._python()
        self._run(f"pip install {GGUF}", [python, "-m", "pip", "install",
                                          GGUF])
        self._run("random_model.py", [
            python, os.path.join(HERE, "random_model.py"), path + ".part",
            str(layers), str(words)])
        os.rename(path + ".part", path)
