# SPDX-License-Identifier: MIT
"""Tests of drover stat and drover top."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

from drover_tools.tests.drover.sources import FIXTURE, SITES, WOKEN

LIMIT = 60


def compile_fixture(folder):
    """fixture.c, with symbols."""
    path = os.path.join(folder, "fixture")
    subprocess.run([os.environ.get("CC", "gcc"), "-O1", "-g", "-pthread",
                    "-o", path, FIXTURE], check=True)
    return path


def test_usage(tap, run):
    """Wrong usage: one line, and status 2."""
    for line in ("stat", "stat -x true", "stat --json /nowhere/file true",
                 "top", "top one", "top -d 0 1", "top -x 1", "top 1 2"):
        status, out, err = run(*line.split())
        tap.ok((status, out, err.count("\n")) == (2, "", 1),
               f"usage: drover {line}", f"status {status}: {out}{err}")
    for wanted, line in ((127, "stat /nowhere/program"), (126, "stat /"),
                         (1, "top 99999999"), (1, f"top {os.getpid()}")):
        status, out, err = run(*line.split())
        tap.ok((status, out, err.count("\n")) == (wanted, "", 1),
               f"drover {line.split()[0]}: status {wanted}",
               f"status {status}: {out}{err}")


def test_refused(tap, run):
    """The message for a process that may not be read says what would help."""
    try:
        with open("/proc/1/maps", encoding="utf-8") as file:
            file.read(1)
        tap.skip("top 1", "process 1 may be read here")
    except PermissionError:
        status, out, err = run("top", "1")
        wanted = ("CAP_SYS_PTRACE" if os.getuid() == 0 else "sudo drover top")
        tap.ok((status, out) == (1, "") and wanted in err
               and "another user's" not in err,
               "top 1: what would allow it", f"{status}: {out}{err}")


def test_status(tap, run):
    """A program's exit status and output are unchanged."""
    status, out, err = run("stat", "sh", "-c", "echo out; exit 7")
    tap.ok((status, out) == (7, "out\n") and "no condition variables" in err,
           "stat: the program's exit status", f"status {status}: {out}{err}")
    status, _, err = run("stat", "sh", "-c", "kill -9 $$")
    tap.equal(status, 128 + 9, "stat: the program's signal")


def counted(run, fixture, folder, *words, **environment):
    """(output, condition variables of each process by name)"""
    told = os.path.join(folder, "told.json")
    status, out, err = run("stat", "--json", told, *words, fixture,
                           "stock" if "--stock" in words else "drop-in",
                           **environment)
    assert status == 3, f"status {status}: {out}{err}"
    with open(told, encoding="utf-8") as file:
        processes = json.load(file)["processes"]
    return err, [{one["name"].split("+")[0]: one for one in each["condvars"]}
                 for each in processes]


def test_counts(tap, run, fixture, folder):
    """The calls of the fixture are counted, with and without the drop-in."""
    for words, settings in (((), {"DROVER_POLICY": "requeue,spin=0"}),
                            (("--stock",), {})):
        text, found = counted(run, fixture, folder, *words, **settings)
        who = "the C library" if words else "Drover"
        tap.ok(len(found) == 2, f"stat, {who}: the child by itself", text)
        parent, child = found
        for name, wanted in (
                ("gate", {"waits": 4, "broadcasts": 1, "signals": 0,
                          "released": 4, "over": 0, "sampled": 4,
                          "moved": 0 if words else 4,
                          "again": 4 if words else 0}),
                ("late", {"waits": 3, "over": 3, "released": 0}),
                ("never", {"waits": 1, "over": 1, "released": 0}),
                ("arrived", {"signals": 5}), ("c11", {"signals": 1})):
            got = {key: parent[name][key] for key in wanted}
            tap.equal(got, wanted, f"stat, {who}: {name}")
        tap.equal({name: one["signals"] for name, one in child.items()},
                  {"gate": 2}, f"stat, {who}: the child's signals")
        tap.ok(sum(parent["gate"]["latency_log2_ns"]) == 4
               and "From release to return" not in text,
               f"stat, {who}: four returns make no histogram", text)
        tap.ok("wait_at_gate (fixture" in text and "open_gate" in text,
               f"stat, {who}: call sites", text)
        tap.ok("find the mutex held" not in text,
               f"stat, {who}: there is no prediction", text)


def said_of(run, program, *words):
    """(rows of the table by name, details by name, all output)"""
    status, out, err = run("stat", *words, program)
    assert status == 0, f"status {status}: {out}{err}"
    _, table, *details = err.strip().split("\n\n")
    return ({line.split("  ")[0]: line.split("  ", 1)[-1].split()
             for line in table.splitlines()[1:]},
            {text.split(":\n")[0]: text for text in details}, err)


def test_woken(tap, run, folder):
    """Broadcasts for one thread and for all are told apart; condvars without
    a name share a line."""
    program = os.path.join(folder, "woken")
    subprocess.run([os.environ.get("CC", "gcc"), "-O1", "-g", "-pthread",
                    "-o", program, WOKEN], check=True)
    for words in ((), ("--stock",)):
        who = "the C library" if words else "Drover"
        table, details, err = said_of(run, program, *words)
        tap.equal((table["tokens"][0], table["tokens"][4]), ("84", "60"),
                  f"stat, {who}: threads that wait again at once")
        tap.ok("Of 4.0 threads that a broadcast woke, 2.9 waited again at"
               " once.\n  If they found nothing to do, they were woken in"
               " vain, and a signal would do." in details["tokens"],
               f"stat, {who}: a signal would do", err)
        tap.ok("threads that a broadcast woke, 0.0 waited again at once"
               in details["news"] and "a signal would do"
               not in details["news"],
               f"stat, {who}: a broadcast is needed", err)
        tap.ok("99 % below" in details["news"],
               f"stat, {who}: many returns make a histogram", err)
        many = [name for name in table if name.startswith("main woken.c:")]
        tap.ok(len(many) == 1 and "30 of them" in many[0] and len(table) == 3
               and "62 condition variables, of which 30 had no waiters"
               in " ".join(err.split()),
               f"stat, {who}: many condvars in one line", err)
        tap.ok(list(table)[:2] == ["tokens", "news"],
               f"stat, {who}: those with the most waits come first", err)
    subprocess.run(["strip", program], check=True)
    _, _, err = said_of(run, program)
    tap.ok("??" not in err and "(woken)" in err,
           "stat: a program without symbols has addresses", err)


def test_sites(tap, run, folder):
    """Calls of the C++ library count as the program's own."""
    if not shutil.which("addr2line"):
        tap.skip("stat: C++", "there is no addr2line")
        return
    for option in ("-O0", "-O2"):
        program = os.path.join(folder, "sites")
        subprocess.run([os.environ.get("CXX", "g++"), option, "-g",
                        "-pthread", "-o", program, SITES], check=True)
        for words in ((), ("--stock",)):
            _, _, err = said_of(run, program, *words)
            tap.ok(all(re.search(rf"{name} \(sites, sites.cc:\d+\)", err)
                       for name in ("consume", "be_late", "produce"))
                   and "condition_variable" not in err.replace(
                       "condition variable", ""),
                   f"stat {' '.join(words)}: C++, {option}", err)


def test_polls(tap, run, fixture, folder):
    """Polls are counted."""
    _, found = counted(run, fixture, folder, DROVER_POLICY="spin=0")
    polls = sum(one["paid"] + one["in_vain"] for one in found[0].values())
    tap.equal(polls, 0, "stat: without polling, no polls are counted")
    _, found = counted(run, fixture, folder, DROVER_POLICY="spin=10")
    polls = sum(one["paid"] + one["in_vain"] for one in found[0].values())
    tap.ok(polls > 0, "stat: polls are counted", found)


def test_top(tap, run, drover, fixture):
    """top shows a program that runs, which Ctrl-C then ends."""
    with subprocess.Popen(
            [drover, "stat", "--stock", fixture, "stock", "stay"], text=True,
            start_new_session=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        pid = int(process.stdout.readline())
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            path = next(line.split()[-1] for line in file
                        if "drover-stat." in line)
        status, out, err = run("top", "-n", "1", "-d", "0.2", str(pid))
        line = next((line for line in out.splitlines()
                     if line.startswith("gate")), "gate 0 0").split()
        tap.ok(status == 0 and int(line[2]) > 0,
               "top: shows the present calls", f"status {status}: {out}{err}")
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT)
    tap.ok(process.returncode == 128 + signal.SIGINT and "gate" in err,
           "stat: Ctrl-C ends the program, and the counts are printed",
           f"status {process.returncode}: {out}{err}")
    tap.ok(not os.path.exists(path) and not os.path.exists(f"/proc/{pid}"),
           "stat: leaves neither file nor process")


def test_all(tap, run, drover):
    """Run all tests; run(): runs drover for its exit status and output."""
    test_usage(tap, run)
    test_refused(tap, run)
    test_status(tap, run)
    with tempfile.TemporaryDirectory() as folder:
        fixture = compile_fixture(folder)
        test_counts(tap, run, fixture, folder)
        test_woken(tap, run, folder)
        test_sites(tap, run, folder)
        test_polls(tap, run, fixture, folder)
        test_top(tap, run, drover, fixture)
