# SPDX-License-Identifier: GPL-2.0-only
"""Models and their twins, and what Spin says of them."""

import dataclasses
import os
import re
import shutil
import signal
import subprocess
import threading
import time

#: A run is of one of these sizes; without any it is between the two.
SIZES = ("quick", "long")

#: Lines that go on begin with a tab.
DECLARATION = re.compile(r"^ \* @(run|twin)\b(.*(?:\n \*\t.*)*)$", re.M)
#: What pan says that is wrong. The last word of an assertion is its name.
VIOLATION = re.compile(r"pan:\d+: (?:assertion violated .*?(\w+)\)? \(at depth|"
                       r"(invalid end state)|(acceptance cycle))")


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one run may use: CPU time, megabytes, steps of the longest path."""
    seconds: int = 600
    megabytes: int = 4000
    depth: int = 2000000


LONG = Limits(seconds=3600, megabytes=6000)


@dataclasses.dataclass(frozen=True)
class Job:
    """One run of Spin: a model, or a twin that has to fail."""
    path: str
    name: str
    defines: tuple
    size: str
    breaks: str = ""
    why: str = ""

    @property
    def title(self):
        """The name in the results."""
        return (f"{self.name} fails by {self.breaks}" if self.breaks
                else self.name)

    @property
    def file_name(self):
        """A name for its folder."""
        return re.sub(r"[^\w-]+", "_", self.name)


@dataclasses.dataclass
class Outcome:
    """What a run of Spin found."""
    problem: str
    states: int = 0
    memory: float = 0
    seconds: float = 0
    trail: str = ""


def declarations(path):
    """The jobs that a model's comment asks for."""
    model = os.path.basename(path).removesuffix(".pml")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for kind, rest in DECLARATION.findall(text):
        head, _, why = rest.replace("\n *\t", " ").partition(":")
        words = head.split()
        why = " ".join(why.split())
        size = words.pop(0) if words and words[0] in SIZES else ""
        defines = tuple(word for word in words if word.startswith("-D"))
        words = [word for word in words if not word.startswith("-D")]
        name = model + "".join(" " + define[2:] for define in defines)
        if kind == "twin":
            twin, breaks = words
            yield Job(path, f"{name} without {twin}",
                      defines + (f"-DBUSTED_{twin}=0,",), size, breaks,
                      why)
        else:
            yield Job(path, name, defines, size)


def all_jobs(folder):
    """The jobs of all models of a folder, each model's before its twins."""
    return [job for name in sorted(os.listdir(folder))
            if name.endswith(".pml")
            for job in sorted(declarations(os.path.join(folder, name)),
                              key=lambda job: bool(job.breaks))]


class Spin:
    """Runs jobs, and ends what it has started when it is told to stop."""

    def __init__(self, build, limits=None):
        self.build = build
        self.limits = limits
        self.running = set()
        self.lock = threading.Lock()

    def stop(self):
        """End all that runs."""
        with self.lock:
            for process in self.running:
                os.killpg(process.pid, signal.SIGKILL)

    def command(self, folder, words, limit):
        """Run a command for @limit seconds of CPU time.

        Its output, the CPU time, and None or why it did not end well.
        """
        path = os.path.join(folder, "output")
        with open(path, "w", encoding="utf-8") as file:
            process = subprocess.Popen(
                ["sh", "-c", 'ulimit -t "$0"; exec "$@"', str(limit),
                 *words], cwd=folder, stdout=file, stderr=subprocess.STDOUT,
                start_new_session=True)
        with self.lock:
            self.running.add(process)
        status, usage = self.wait(process)
        with open(path, encoding="utf-8", errors="replace") as file:
            output = file.read()
        seconds = usage.ru_utime + usage.ru_stime
        if seconds >= limit or status == -signal.SIGKILL:
            return output, seconds, f"stopped after {seconds:.0f} s of CPU time"
        if status:
            return output, seconds, f"{words[0]}: exit status {status}"
        return output, seconds, None

    def wait(self, process):
        """Wait for a command; its status and usage."""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        with self.lock:
            self.running.discard(process)
        return process.returncode, usage

    def run(self, job):
        """Generate, compile and run the verifier of one job."""
        folder = os.path.join(self.build, job.file_name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        with open(job.path, encoding="utf-8") as file:
            liveness = re.search(r"^ltl ", file.read(), re.M)
        is_long = job.size == "long"
        limits = self.limits or (LONG if is_long else Limits())
        compile_flags = [
            # The optimizer takes longer than it saves, but in minutes.
            "-w", "-O1" if is_long else "-O0", "-DCOLLAPSE",
            f"-DMEMLIM={limits.megabytes}", "-DVECTORSZ=1024",
            *(["-DNFAIR=3"] if liveness else ["-DSAFETY", "-DNOFAIR"])]
        output, used = "", 0
        for words in (["spin", "-a", *job.defines, job.path],
                      ["gcc", *compile_flags, "-o", "pan", "pan.c"],
                      ["./pan", f"-m{limits.depth}", "-n",
                       "-w24" if is_long else "-w20",
                       *(["-a", "-f"] if liveness else [])]):
            output, seconds, problem = self.command(folder, words,
                                                    limits.seconds)
            used += seconds
            if problem:
                break
        return judge(job, folder, output, problem, used)


def judge(job, folder, output, problem, seconds):
    """Was the run what it should be?"""
    states = re.search(r"^ *(\d+) states, stored", output, re.M)
    memory = re.search(r"([\d.]+)\ttotal actual memory usage", output)
    outcome = Outcome(problem or "", seconds=seconds)
    outcome.states = int(states.group(1)) if states else 0
    outcome.memory = float(memory.group(1)) if memory else 0
    trails = [name for name in os.listdir(folder) if name.endswith(".trail")]
    if trails:
        outcome.trail = os.path.join(folder, trails[0])
    found = VIOLATION.search(output)
    broken = next(filter(None, found.groups()), "") if found else ""
    if problem:
        outcome.problem = f"{problem}\n{output[-2000:]}"
    elif job.breaks:
        if not broken:
            outcome.problem = "the twin does not fail: is the guard needed?"
        elif broken.replace(" ", "_") != job.breaks:
            outcome.problem = f"fails, but by {broken}"
        elif not trails:
            outcome.problem = "fails without a trail"
    elif broken:
        outcome.problem = f"{broken} is violated"
    elif "errors: 0" not in output or not states:
        outcome.problem = f"no verdict:\n{output[-2000:]}"
    elif re.search(r"search not completed|depth too small", output, re.I):
        outcome.problem = "the search was not complete"
    return outcome
