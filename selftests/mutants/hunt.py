# SPDX-License-Identifier: GPL-2.0-only
"""What mutation tests have in common, of the library and of the kernel.

A hunter brings prepare(tests), which sees that the source as it is passes all
tests, and hunt(mutant, prepared), which says what caught a mutant, or None.
"""

import argparse
import concurrent.futures
import fnmatch
import os
import signal
import subprocess
import sys
import threading

import mutants


class Broken(Exception):
    """Something that says nothing about the tests: it has to be mended."""


_lock = threading.Lock()
_running = set()                # [_lock]
_ended = threading.Event()      # [_lock] nothing is started any more


def command(arguments, folder, limit, last=None, env=None):
    """Run in a process group of its own; (exit status or None, output).

    It is ended after limit seconds, and at a line that begins with last. What
    it prints is added to folder/output.
    """
    process = _start(arguments, env)
    timer = threading.Timer(limit, _end_group, [process])
    timer.start()
    lines, complete = [], False
    try:
        for line in process.stdout:
            lines.append(line)
            if last and line.startswith(last):
                break
        else:
            complete = True
    finally:
        too_long = not timer.is_alive()
        timer.cancel()
        if not complete:
            _end_group(process)
        status = process.wait()
        _end_group(process)
        with _lock:
            _running.discard(process)
        process.stdout.close()
    with open(os.path.join(folder, "output"), "a", encoding="utf-8") as file:
        print("$", *arguments, f"\n{''.join(lines)}[status {status}]\n",
              file=file)
    return None if too_long else status, "".join(lines)


def _start(arguments, env):
    with _lock:
        if _ended.is_set():
            raise Broken("ended")
        process = subprocess.Popen(
            arguments, cwd=mutants.TOP, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
            env=dict(os.environ, **(env or {})), start_new_session=True)
        _running.add(process)
    return process


def _end_group(process):
    """Kill it and all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _end_all():
    """Kill what runs, and start nothing any more."""
    with _lock:
        _ended.set()
        for process in _running:
            _end_group(process)


def _comment(text):
    print("\n".join(f"# {line}" for line in str(text).splitlines()),
          flush=True)


def _report(number, mutant, future):
    """Print one result; whether the mutant was caught."""
    try:
        how = future.result()
    except (Broken, mutants.Unfit, OSError) as error:
        print(f"not ok {number} {mutant.name}")
        _comment(error)
        return False
    if how:
        print(f"ok {number} {mutant.name} # {how}", flush=True)
        return True
    print(f"not ok {number} {mutant.name}")
    _comment(f"{mutant.breaks}\nnot caught by {', '.join(mutant.tests)}")
    return False


def _hunt_all(chosen, hunt, prepared, parallel):
    """Whether all of them are caught; in their order, so many at a time."""
    with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
        try:
            futures = [pool.submit(hunt, each, prepared) for each in chosen]
            found = [_report(number, *pair) for number, pair
                     in enumerate(zip(chosen, futures), 2)]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            _end_all()
            raise
    return all(found)


def _run(chosen, what, prepare, hunt, parallel):
    """Hunt these mutants; whether all is as it should be."""
    print(f"TAP version 13\n1..{len(chosen) + 1}", flush=True)
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    try:
        prepared = prepare(tests)
    except (Broken, OSError) as error:
        print(f"not ok 1 {what} as it is")
        _comment(error)
        print("Bail out! without a mutation, all tests must pass")
        return False
    print(f"ok 1 {what} as it is passes {len(tests)} tests", flush=True)
    return _hunt_all(chosen, hunt, prepared, parallel)


def _choose(doc, known):
    """The mutants that the command line names, or all; whether to list them."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", metavar="NAME", nargs="*")
    options = parser.parse_args()
    chosen = [mutant for mutant in known for name in options.names or "*"
              if fnmatch.fnmatch(mutant.name, name)]
    if not chosen:
        parser.error("no mutant is called so; see --list")
    return chosen, options.list


def main(doc, folder, what, prepare, hunt, parallel=1):
    """The exit status: 0 if every mutant of the folder's lists was caught.

    doc: what --help says; what: such as "the library"
    """
    chosen, only_list = _choose(doc, mutants.read_all(folder))
    if only_list:
        for mutant in chosen:
            print(f"{mutant.name}: {mutant.breaks}; {', '.join(mutant.tests)}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return 0 if _run(chosen, what, prepare, hunt, parallel) else 1
