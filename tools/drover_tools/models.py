# SPDX-License-Identifier: MIT
"""Check the models of the protocol with Spin, exhaustively.

Each model must hold. Each of its busted twins, which is the same model without
one guard, must fail by the property that its declaration names. The first
comment of a model declares both:

    @run [quick|long] [-DNAME[=VALUE]]...
    @twin [quick|long] NAME PROPERTY [-DNAME[=VALUE]]...: what goes wrong

A file may have several models: "@model NAME [-DNAME[=VALUE]]..." begins one,
and all its runs and twins have these defines.

Spin stores every state in full (collapsed, not hashed), so "ok" is a proof for
the model. A run fails, too, if time, memory or depth stop it, or if it finds
another number of states than Documentation/models.rst has. The output is TAP.
For an unexpected failure, the trail, and the trail in words, are written to
build/results/models.
"""

import argparse
import concurrent.futures
import dataclasses
import glob
import os
import re
import shutil
import signal
import subprocess

from drover_tools.tap import Tap
from drover_tools.tree import BUILD, TOP

MODELS = os.path.join(TOP, "selftests", "models")

#: A line that continues a declaration begins with a tab.
DECLARATION = re.compile(r"^ \* @(model|run|twin)\b(.*(?:\n \*\t.*)*)$", re.M)
#: A failure that pan reports. The last word of an assertion is its name.
VIOLATION = re.compile(r"pan:\d+: (?:assertion violated .*?(\w+)\)?"
                       r" \(at depth|(invalid end state)|(acceptance cycle))")
STATES = re.compile(r"^ *(\d+) states, stored", re.M)
MEMORY = re.compile(r"([\d.]+)\ttotal actual memory usage")
#: The limits of one run: CPU time, megabytes, steps of the longest path.
LIMITS = {"seconds": 600, "megabytes": 4000, "depth": 2000000}
LONG_LIMITS = {"seconds": 3600, "megabytes": 6000, "depth": 2000000}


@dataclasses.dataclass(frozen=True)
class Job:
    """One run of Spin, of a model, or of a twin that has to fail."""
    path: str
    name: str
    defines: tuple
    size: str
    breaks: str = ""

    @property
    def title(self):
        """The name in the results."""
        return self.name + f" fails by {self.breaks}" * bool(self.breaks)

    @property
    def file_name(self):
        """The name of the job's folder."""
        return re.sub(r"[^\w-]+", "_", self.name)


def jobs_of(path):
    """The jobs that a file's comment declares; a model is before its twins."""
    with open(path, encoding="utf-8") as file:
        declared = DECLARATION.findall(file.read())
    model, common = os.path.basename(path).removesuffix(".pml"), ()
    for kind, rest in declared:
        words = rest.replace("\n *\t", " ").partition(":")[0].split()
        defines = tuple(word for word in words if word.startswith("-D"))
        words = [word for word in words if not word.startswith("-D")]
        if kind == "model":
            (model,), common = words, defines
            continue
        size = words.pop(0) if words and words[0] in ("quick", "long") else ""
        name = " ".join([model, *(define[2:] for define in defines)])
        twin, breaks = words or ("", "")
        if twin:
            name += f" without {twin}"
            defines += (f"-DBUSTED_{twin}=0,",)
        yield Job(path, name, common + defines, size, breaks)


def verify(job, limits, folder):
    """Make the verifier and run it. Return: (output, reason of a failure).

    The processes end when this program ends in any way.
    """
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    liveness = "-DLIVENESS" in job.defines
    is_long = job.size == "long"
    for words in (["spin", "-a", *job.defines, job.path],
                  # Optimization pays only for runs of minutes.
                  ["gcc", "-w", "-O1" if is_long else "-O0", "-DCOLLAPSE",
                   f"-DMEMLIM={limits['megabytes']}", "-DVECTORSZ=1024",
                   *(["-DNFAIR=3"] if liveness else ["-DSAFETY", "-DNOFAIR"]),
                   "-o", "pan", "pan.c"],
                  ["./pan", f"-m{limits['depth']}", "-n",
                   "-w24" if is_long else "-w20",
                   *(["-a", "-f"] if liveness else [])]):
        done = subprocess.run(
            ["setpriv", "--pdeathsig=KILL", "prlimit",
             f"--cpu={limits['seconds']}", *words], cwd=folder, text=True,
            errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            check=False)
        if done.returncode == -signal.SIGKILL:
            return done.stdout, (f"stopped after {limits['seconds']} s, or"
                                 " killed")
        if done.returncode:
            return done.stdout, f"{words[0]}: exit status {done.returncode}"
    return done.stdout, ""


def judge(job, output, wrong, said):
    """The fault of a run, or ""; said: its states, by the document."""
    found = VIOLATION.search(output)
    broken = next(filter(None, found.groups()), "") if found else ""
    states = STATES.search(output)
    if wrong:
        return f"{wrong}\n{output[-2000:]}"
    if job.breaks:
        if not broken:
            return "the twin does not fail: is the guard needed?"
        right = broken.replace(" ", "_") == job.breaks
        return "" if right else f"fails by another property: {broken}"
    if broken:
        return f"{broken} is violated"
    if "errors: 0" not in output or not states:
        return f"no verdict:\n{output[-2000:]}"
    if re.search(r"search not completed|depth too small", output, re.I):
        return "the search was not complete"
    if said not in (None, states.group(1)):
        return (f"models.rst says {said} states, but there are"
                f" {states.group(1)}")
    return ""


def explain(job, folder, results):
    """Keep the trail of a failure, and write it in words. Return: a line."""
    trails = glob.glob(os.path.join(folder, "*.trail"))
    if not trails:
        return "no trail"
    os.makedirs(results, exist_ok=True)
    kept = os.path.join(results, job.file_name + ".trail")
    shutil.copy(trails[0], kept)
    with open(kept + ".txt", "w", encoding="utf-8") as file:
        subprocess.run(["spin", "-k", kept, "-p", "-g", "-l", *job.defines,
                        job.path], cwd=results, stdout=file, check=False)
    return f"the steps to it: {kept}.txt"


def run(job, said=None, limits=None, build=BUILD):
    """Run a job. Return: (figures to print after "ok", fault or "")."""
    folder = os.path.join(build, "models", job.file_name)
    output, wrong = verify(
        job, limits or (LONG_LIMITS if job.size == "long" else LIMITS), folder)
    wrong = judge(job, output, wrong, said)
    if wrong:
        wrong += "\n" + explain(job, folder,
                                os.path.join(build, "results", "models"))
    states, memory = (found.group(1) if found else "0" for found in
                      (STATES.search(output), MEMORY.search(output)))
    return f"{states} states, {float(memory):.0f} MB", wrong


def run_all(jobs, at_once):
    """Run jobs and print the results. Return: the exit status."""
    with open(os.path.join(TOP, "Documentation", "models.rst"),
              encoding="utf-8") as file:
        said = {name: states.replace(",", "") for name, states in re.findall(
            r"^``([^`]+)`` +([\d,]+) ", file.read(), re.M)}
    tap = Tap()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        runs = {pool.submit(run, job, said.get(job.name)): job
                for job in sorted(jobs, key=lambda job: bool(job.breaks))}
        for done in concurrent.futures.as_completed(runs):
            figures, wrong = done.result()
            tap.ok(not wrong, f"{runs[done].title} # {figures}", wrong)
    return tap.exit_status() if jobs else 1


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="sizes", action="store_const",
                      const=("quick",), default=("quick", ""),
                      help="run only the jobs that take seconds")
    size.add_argument("--long", dest="sizes", action="store_const",
                      const=("quick", "", "long"),
                      help="run the large jobs, too")
    parser.add_argument("--only", metavar="MODEL", action="append",
                        help="run this model and its twins; may be repeated")
    parser.add_argument("--jobs", type=int, default=2,
                        help="run so many jobs at once (%(default)s)")
    parser.add_argument("--list", action="store_true",
                        help="list the jobs and run none")
    return parser.parse_args()


def main():
    """Run the jobs. Return: 0 if all ended as they should."""
    # SIGINT ends this program, and so all that it has started.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = parse()
    jobs = [job for path in sorted(glob.glob(os.path.join(MODELS, "*.pml")))
            for job in jobs_of(path) if job.size in options.sizes and
            (not options.only or job.name.split()[0] in options.only)]
    if options.list:
        print(*(job.title for job in jobs), sep="\n")
        return 0
    if not shutil.which("spin"):
        print("1..0 # SKIP spin is missing: run tools/deps models")
        return 4
    return run_all(jobs, options.jobs)
