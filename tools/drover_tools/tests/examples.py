# SPDX-License-Identifier: MIT
"""Test that compiles the examples as a user would, and runs them; prints TAP.

O= in the environment is the build folder, whose libdrover is used.
"""

import os
import shutil
import subprocess
import tempfile

from drover_tools.tap import Tap
from drover_tools.tree import BUILD, TOP

SOURCES = os.path.join(TOP, "tools", "examples")
LIB = os.path.join(BUILD, "lib")
WARNINGS = ("-Wall", "-Wextra", "-Werror")

#: The output of ggml_sched.c, on each backend.
SCHED = ("34430 7272 2129 38298 44115 49946 44593 51923 \n"
         "events waited for by the device or given: 8;"
         " waits of the host that the library added: 0\n")

#: The output of each example.
EXAMPLES = {
    "barrier.c": "sum after 1000 steps: 192108\n",
    "barrier.cc": "phases: 100, early: 0, a count of 0 is refused\n",
    "ggml_sched.c": SCHED,
    "ggml_graph.c": "teams of 1 to 4 threads: 0 results differ\n",
    "onnxruntime_pool.cc": "sum: 5995010\n",
    "pool.c": "sum: 2499975000.0, last: 24999.8, fibonacci(18): 2584\n",
    "pool.cc": "not a number: none\nsum: 42, 999 squared: 998001\n",
    "thundering_herd.c": "3203762688\n",
    "token-loop.c": "0 0 14816 56895 59478 27641 11750 5075 16405 5302 \n"
                    "synchronizations: 20 asked for, 0 waited for;"
                    " read-backs: 10\n",
}


def compile_example(name, program):
    """Compile as the example's comment says. Return: status, errors."""
    if name.endswith(".cc"):
        command = [os.environ.get("CXX", "g++"), "-std=c++17"]
    else:
        command = [os.environ.get("CC", "gcc"), "-std=c11", "-D_GNU_SOURCE"]
    done = subprocess.run(
        [*command, *WARNINGS, "-O1", os.path.join(SOURCES, name),
         f"-I{TOP}/lib/include", f"-L{LIB}", "-ldrover", "-pthread",
         f"-Wl,-rpath,{LIB}", "-o", program], capture_output=True,
        text=True, check=False)
    return done.returncode, done.stderr


def cmake(folder, *settings):
    """Build the example with CMake and run it. Return: the output."""
    project = os.path.join(SOURCES, "cmake")
    for words in (["cmake", "-S", project, "-B", folder, *settings],
                  ["cmake", "--build", folder], [f"{folder}/example"]):
        done = subprocess.run(words, capture_output=True, text=True,
                              timeout=120, check=False)
        if done.returncode:
            return done.stdout + done.stderr
    return done.stdout


def test_cmake(tap, folder):
    """CMake finds the installed library, and can build it as a part."""
    installed = os.path.join(folder, "installed")
    done = subprocess.run(
        ["make", "-s", "-C", os.path.join(TOP, "lib"), f"O={BUILD}",
         f"PREFIX={installed}", f"LIBDIR={installed}/lib", "DESTDIR=",
         "install"], capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 0, "make install", done.stderr)
    test_pkg_config(tap, folder, installed)
    for name, setting in (("find_package", f"-DCMAKE_PREFIX_PATH={installed}"),
                          ("add_subdirectory", f"-DDROVER_SOURCE={TOP}")):
        tap.equal(cmake(os.path.join(folder, name), setting),
                  EXAMPLES["barrier.c"], f"CMake: {name}()")


def test_pkg_config(tap, folder, installed):
    """pkg-config names what a program needs to compile and to link."""
    if not shutil.which("pkg-config"):
        tap.skip("pkg-config", "there is none")
        return
    program = os.path.join(folder, "pkg-config.out")
    done = subprocess.run(
        f"{os.environ.get('CC', 'gcc')} -std=c11 -D_GNU_SOURCE"
        f" {SOURCES}/barrier.c -o {program} -Wl,-rpath,{installed}/lib"
        f" $(pkg-config --cflags --libs drover) && {program}",
        shell=True, capture_output=True, text=True, check=False, env={
            **os.environ, "PKG_CONFIG_PATH": f"{installed}/lib/pkgconfig"})
    tap.equal(done.stdout + done.stderr, EXAMPLES["barrier.c"],
              "pkg-config drover")


def test_mock(tap, folder):
    """The backend for ggml works with a CUDA driver made of threads."""
    mock = os.path.join(LIB, "libcuda-mock.so")
    name = "ggml_sched.c cuda prints the same"
    if not os.path.exists(mock):
        tap.skip(name, f"{mock} is not built")
        return
    done = subprocess.run(
        [os.path.join(folder, "ggml_sched.c.out"), "cuda"],
        env={**os.environ, "DROVER_CUDA_LIBRARY": mock}, capture_output=True,
        text=True, timeout=60, check=False)
    tap.equal((done.returncode, done.stdout + done.stderr), (0, SCHED), name)


def main():
    """Compile and run all examples. Return: the exit status."""
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for name, wanted in EXAMPLES.items():
            if name.endswith(".cc") and not shutil.which("g++"):
                tap.skip(name, "there is no C++ compiler")
                continue
            program = os.path.join(folder, name + ".out")
            status, said = compile_example(name, program)
            tap.ok(status == 0 and not said, f"{name} compiles", said)
            if status:
                continue
            done = subprocess.run([program], capture_output=True, text=True,
                                  timeout=60, check=False)
            tap.equal((done.returncode, done.stdout + done.stderr),
                      (0, wanted), f"{name} prints what it should")
        test_mock(tap, folder)
        if not shutil.which("cmake"):
            tap.skip("CMake", "there is no cmake")
        else:
            test_cmake(tap, folder)
    return tap.exit_status()
