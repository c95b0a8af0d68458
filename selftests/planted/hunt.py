# SPDX-License-Identifier: GPL-2.0-only
"""What looking for planted bugs has in common, whatever they are planted in.

A hunter brings prepare(tests), which sees that what has no bug passes all
tests, and hunt(bug, prepared), which says how a bug was found, or None.
"""

import argparse
import concurrent.futures
import os
import signal
import subprocess
import sys
import threading

import bugs


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
            arguments, cwd=bugs.TOP, stdin=subprocess.DEVNULL, text=True,
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


def _report(number, bug, future):
    """Print one result; whether the bug was found."""
    try:
        how = future.result()
    except (Broken, bugs.Unfit, OSError) as error:
        print(f"not ok {number} {bug.name}")
        _comment(error)
        return False
    if how:
        print(f"ok {number} {bug.name} # {how}", flush=True)
        return True
    print(f"not ok {number} {bug.name}")
    _comment(f"{bug.breaks}\nnot found by {', '.join(bug.tests)}")
    return False


def _hunt_all(chosen, hunt, prepared, parallel):
    """Whether all of them are found; in their order, so many at a time."""
    with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
        try:
            futures = [pool.submit(hunt, bug, prepared) for bug in chosen]
            found = [_report(number, bug, future) for number, (bug, future)
                     in enumerate(zip(chosen, futures), 2)]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            _end_all()
            raise
    return all(found)


def _run(chosen, what, prepare, hunt, parallel):
    """Hunt these bugs; whether all is as it should be."""
    print(f"TAP version 13\n1..{len(chosen) + 1}", flush=True)
    tests = sorted({test for bug in chosen for test in bug.tests})
    try:
        prepared = prepare(tests)
    except (Broken, OSError) as error:
        print(f"not ok 1 {what} as it is")
        _comment(error)
        print("Bail out! without a bug planted, all tests must pass")
        return False
    print(f"ok 1 {what} as it is passes {len(tests)} tests", flush=True)
    return _hunt_all(chosen, hunt, prepared, parallel)


def _choose(doc, known):
    """The bugs that the command line names, or all; whether to list them."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", metavar="NAME", nargs="*")
    options = parser.parse_args()
    for name in set(options.names) - {bug.name for bug in known}:
        parser.error(f"no bug is called {name}; see --list")
    return [bug for bug in known
            if not options.names or bug.name in options.names], options.list


def main(doc, folder, what, prepare, hunt, parallel=1):
    """The exit status: 0 if every bug of the folder's lists was found.

    doc: what --help says; what: such as "the library"
    """
    chosen, only_list = _choose(doc, bugs.read_all(folder))
    if only_list:
        for bug in chosen:
            print(f"{bug.name}: {bug.breaks}; {', '.join(bug.tests)}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return 0 if _run(chosen, what, prepare, hunt, parallel) else 1
