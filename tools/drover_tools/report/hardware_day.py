# SPDX-License-Identifier: MIT
"""Test and measure everything on a machine that is lent for eight minutes.

This needs gcc, make and python3, and for streams a CUDA driver; with g++ and
libgomp there are further peers.  A step for which the machine lacks something
is skipped, and the report says so.  The steps build the project, run the tests
of streams and stream-perf on the CUDA driver, and measure barriers, pools and
condition variables.  hardware-day.md gets all output, and the JSON files of
the measurements lie beside it.

DROVER_CUDA_LIBRARY in the environment names the driver (libcuda.so.1).  ggml
is measured if build/ggml, built by `measure ggml`, was copied to the machine.
"""

import argparse
import collections
import os
import shutil
import signal
import subprocess
import sys
import time

from drover_tools.report.measure import NAMES
from drover_tools.runs import machine, process
from drover_tools.tree import BUILD, TOP

MINUTES = 8
TESTS = ("on_device", "random_programs")
PASSED, FAILED, SKIPPED = "passed", "FAILED", "skipped"

#: Asks a driver for its name and version, in a process of its own, as the
#: driver may hang.
ASK_DRIVER = """
import ctypes, sys
driver = ctypes.CDLL(sys.argv[1])
result = driver.cuInit(0)
if result:
    sys.exit(f"cuInit: error {result}")
try:
    version, name = ctypes.c_int(), ctypes.create_string_buffer(200)
    driver.cuDriverGetVersion(ctypes.byref(version))
    driver.cuDeviceGetName(name, 200, 0)
    print(f"{name.value.decode()}, CUDA {version.value // 1000}."
          f"{version.value % 1000 // 10}")
except AttributeError:
    print("it has no name")
"""

Step = collections.namedtuple("Step", "name state seconds said")


def first_line(path):
    """The first line of a file, or nothing."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return ""


def cores(cpus):
    """How many different cores these CPUs are on."""
    return len({first_line(f"/sys/devices/system/cpu/cpu{cpu}/topology/"
                           "thread_siblings_list") or str(cpu)
                for cpu in cpus})


def wait_for(program, limit):
    """Wait for a program. Return: (its output, whether it was ended).

    SIGTERM comes first: tools/measure then saves what it has measured.
    """
    for seconds, number in ((limit, signal.SIGTERM), (10, signal.SIGKILL)):
        try:
            said = program.communicate(timeout=seconds)[0]
            return said, number == signal.SIGKILL
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, number)
    return program.communicate()[0], True


class Day:
    """The steps, with their output; no step runs beyond the end."""

    def __init__(self, options):
        self.options, self.steps = options, []
        self.end = time.monotonic() + options.minutes * 60
        self.driver = os.environ.get("DROVER_CUDA_LIBRARY") or "libcuda.so.1"
        self.no_driver = ""
        self.about = []

    def left(self):
        return max(self.end - time.monotonic(), 0)

    def add(self, name, state, said, seconds=0.0):
        self.steps.append(Step(name, state, seconds, said.strip()))
        last = said.strip().splitlines()[-1:] or [""]
        print(f"{name}: {state} ({seconds:.0f} s) {last[0][:100]}",
              flush=True)
        return state == PASSED

    def run(self, name, words, seconds, **environment):
        """Run a program as a step. Return: whether it passed."""
        limit = min(seconds, self.left())
        if limit < 1:
            return self.add(name, SKIPPED, "no time is left")
        start = time.monotonic()
        try:
            with subprocess.Popen(
                    words, cwd=TOP, env={**os.environ, **environment},
                    text=True, errors="replace", start_new_session=True,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT) as program:
                said, late = wait_for(program, limit)
            state = FAILED if program.returncode else PASSED
            said += f"\nended after {limit:.0f} s" if late else ""
        except OSError as error:
            state, said = FAILED, str(error)
        return self.add(name, state, said, time.monotonic() - start)

    # The steps, in order

    def build(self):
        jobs = f"-j{os.cpu_count()}"
        tests = [f"{BUILD}/selftests/stream/{test}" for test in TESTS]
        return (self.run("build", ["make", "-s", jobs, "lib", "tools"], 180,
                         O=BUILD)
                and self.run("build the tests",
                             ["make", "-s", jobs, "-C", "selftests",
                              f"O={BUILD}", *tests], 90))

    def describe(self):
        """Describe the machine, and measure what waking a thread costs."""
        host, cpus = machine.host(), sorted(os.sched_getaffinity(0))
        self.about = [
            f"{host['cpu_model']}, {host['cpus']} CPUs on {cores(cpus)}"
            f" cores, {host['memory_mb']} MB, load {host['load']}",
            f"{host['kernel']}, {host['libc']}, {host['system']}"]
        program = os.path.join(BUILD, "lib", "drover", "wakeup")
        self.about += [
            f"a wake-up by CPU {cpus[0]} on CPU {cpu}:"
            f" {process.wake_up(program, cpus[0], cpu)} ns"
            for cpu in sorted({cpus[0], *cpus[1:2], cpus[-1]})]
        done = subprocess.run([sys.executable, "-c", ASK_DRIVER, self.driver],
                              capture_output=True, text=True, timeout=60,
                              check=False)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:]
            self.no_driver = (last or ["it ends without a message"])[0]
        self.about.append(
            f"no CUDA driver: {self.no_driver}" if self.no_driver else
            f"CUDA driver {self.driver}: {done.stdout.strip()}"
            f" {first_line('/proc/driver/nvidia/version')}".rstrip())
        self.add("the machine", PASSED, "\n".join(self.about))

    def streams(self):
        """Tests of streams on the CUDA driver."""
        on = {"DROVER_CUDA_LIBRARY": self.driver}
        programs = os.path.join(BUILD, "selftests", "stream")
        example = os.path.join(BUILD, "ggml_sched")
        if self.no_driver:
            for name in (*TESTS, "ggml_sched.c"):
                self.add(name, SKIPPED, self.no_driver)
            return
        self.run("on_device", [os.path.join(programs, "on_device")], 60,
                 LD_PRELOAD=self.driver, **on)
        self.run("random_programs",
                 [os.path.join(programs, "random_programs"), "programs=0",
                  "cuda=500"], 60, LD_PRELOAD=self.driver, **on)
        if self.run("build ggml_sched.c",
                    ["gcc", "-std=c11", "-D_GNU_SOURCE", "-O1",
                     "tools/examples/ggml_sched.c", "-Ilib/include",
                     f"-L{BUILD}/lib", "-ldrover", "-ldl",
                     f"-Wl,-rpath,{BUILD}/lib", "-o", example], 30):
            self.run("ggml_sched.c", [example, "cuda"], 20, **on)

    def measure(self, suite, name, minutes, *words, **environment):
        """Run a suite of tools/measure; its result gets the name given."""
        minutes = min(minutes, self.left() / 60 - 0.1)
        if minutes < 0.1:
            self.add(f"measure {name}", SKIPPED, "no time is left")
            return
        dash = words.index("--") if "--" in words else len(words)
        common = ["--host-only", f"--minutes={minutes:.2f}",
                  f"--build={BUILD}", *words[:dash]]
        self.run(f"measure {name}",
                 ["tools/measure", suite, *common, *words[dash:]],
                 minutes * 60 + 60, **environment)
        found = os.path.join(BUILD, "results", f"{suite}.json")
        if os.path.exists(found):
            shutil.copy(found, os.path.join(self.options.out,
                                            f"{name}.json"))

    def ggml(self):
        """Run ggml's own benchmarks, if they were copied here."""
        folder = os.path.join(BUILD, "ggml")
        if not os.path.isdir(folder) or "ggml" not in NAMES:
            self.add("measure ggml", SKIPPED, f"{folder} is missing")
        else:
            self.measure("ggml", "ggml", 1.5, "--threads=2 4 8 16")

    def measure_all(self):
        if self.no_driver:
            self.add("measure stream-cuda", SKIPPED, self.no_driver)
        else:
            self.measure("stream", "stream-cuda", 1.0, "--runs=15",
                         "--tokens=200", "--", "-B", "cuda",
                         DROVER_CUDA_LIBRARY=self.driver)
        self.measure("hardware", "hardware", 2.5)
        self.measure("stream", "stream-cpu", 0.5, "--tokens=200")
        self.ggml()

    # The report

    def write(self):
        path = os.path.join(self.options.out, "hardware-day.md")
        with open(path, "w", encoding="utf-8") as file:
            print("# Hardware day, " + time.strftime("%Y-%m-%d %H:%M %Z"),
                  file=file)
            print(*(f"\n- {line}" for line in self.about), sep="", file=file)
            print("\n| step | | seconds |\n|---|---|---|", file=file)
            for step in self.steps:
                print(f"| {step.name} | {step.state} | {step.seconds:.0f} |",
                      file=file)
            for step in self.steps:
                if step.said:
                    print(f"\n## {step.name}: {step.state}\n\n```\n"
                          f"{step.said}\n```", file=file)
        print(f"Saved: {path}")


def parse():
    parser = argparse.ArgumentParser(
        prog="hardware-day", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--out", metavar="DIR", type=os.path.abspath,
                        default=os.path.join(BUILD, "results",
                                             "hardware-day"))
    parser.add_argument("--short", action="store_true",
                        help="describe the machine and run the tests only")
    return parser.parse_args()


def main():
    day = Day(parse())
    os.makedirs(day.options.out, exist_ok=True)
    try:
        if day.build():
            day.describe()
            day.streams()
            if not day.options.short:
                day.measure_all()
    finally:
        day.write()
    return 1 if any(step.state == FAILED for step in day.steps) else 0
