# SPDX-License-Identifier: MIT
"""ggml's CPU part, built three times from one source, and models to run.

The source is that of llama.cpp, in a source distribution from PyPI, with our
patch. All that the patch changes is behind GGML_USE_DROVER, so the other two
builds are as ggml comes.
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
#: Where llama.cpp is in it.
INSIDE = f"llama_cpp_python-{VERSION}/vendor/llama.cpp/"
#: What writes models, and numpy with it.
GGUF = "gguf==0.19.0"

HERE = os.path.join(TOP, "tools", "ggml")
PATCH = os.path.join(HERE, "ggml.patch")
HEADERS = (os.path.join(TOP, "tools", "examples"),
           os.path.join(TOP, "lib", "include"))

#: Layers and words: the first fits into a cache of 18 MB, the second has as
#: many words as Qwen2, and 96 MB.
MODELS = {"small": (2, 2048), "large": (2, 151936)}

#: How each is built. The programs are those of the first, with any one's
#: library.
VARIANTS = ("openmp", "spin", "drover")
SETTINGS = ("-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON",
            "-DCMAKE_SKIP_RPATH=ON", "-DLLAMA_BUILD_TESTS=ON",
            "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_SERVER=OFF",
            "-DLLAMA_OPENSSL=OFF", "-DGGML_CCACHE=OFF")
PROGRAMS = ("llama-bench", "test-barrier")
STEP = re.compile(r"\[(\d+)/(\d+)\]")
LINE_SECONDS = 15


class Failed(Exception):
    """It could not be made; the text says why, and what to do."""


def tell(text):
    print(text, file=sys.stderr, flush=True)


class Ggml:
    """The folder where all of it is."""

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
        """LD_LIBRARY_PATH: whose ggml is used."""
        return ":".join([os.path.join(self.folder, each, "bin") for each in
                         dict.fromkeys((variant, VARIANTS[0]))]
                        + [self._library])

    def make(self):
        """All that is not there yet."""
        os.makedirs(self.folder, exist_ok=True)
        self._unpack(self._fetch())
        for variant in VARIANTS:
            self._compile(variant)
        self._compile_logits()
        for name, sizes in MODELS.items():
            self._write_model(name, *sizes)

    def _run(self, what, words, **more):
        """Run a command; what it prints goes to the log."""
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
        """The source distribution; one that is there already is taken."""
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
            raise Failed(f"{path} has the checksum {found}, and should have"
                         f" {SHA256}: remove it")
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
        """Change a source, or say why not."""
        done = subprocess.run(
            ["patch", "--strip=1", "--forward", "--batch", "--input", PATCH],
            cwd=source, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(
                f"{PATCH} does not fit the ggml in {source}, which is"
                f" another one than that of {PACKAGE} {VERSION}:\n"
                f"{done.stdout.strip()}\nDocumentation/using-with-ggml.rst"
                " says what it changes, and why, to do that by hand.")

    # The builds

    def _flags(self, variant):
        """How this one differs."""
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
        """One of them, in a folder of its own."""
        folder = os.path.join(self.folder, variant)
        if not os.path.exists(os.path.join(folder, "build.ninja")):
            self._run(f"cmake for {variant}", [
                "cmake", "-G", "Ninja", "-S", self._source, "-B", folder,
                *SETTINGS, *self._flags(variant)])
        self._ninja(variant, folder, PROGRAMS if variant == VARIANTS[0]
                    else ["ggml-cpu"])

    def _ninja(self, variant, folder, targets):
        """Run it, and say how long the rest takes."""
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
        """The program that tells whether two builds compute the same."""
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
        """A model of random weights."""
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
