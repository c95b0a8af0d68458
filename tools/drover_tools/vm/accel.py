# SPDX-License-Identifier: MIT
"""Chooses the accelerator that runs a kernel on this machine.

/dev/kvm may be there and open, and still QEMU may spin for ever or die at
once: only a boot proves that it works.  The answer is kept until the host
boots again or the kernel image changes.  If no candidate comes to the first
line of the kernel log, the answer is about the host, and holds for every
kernel.
"""

import json
import os
import sys

KVM = "/dev/kvm"

#: With KVM the same boot takes less than a second.
PROBE_SECONDS = 6

#: In the order of preference.
CANDIDATES = ("kvm", "kvm64")

FALLBACK = "tcg"


def choose(kernel, build, try_boot):
    """The best accelerator that has booted this kernel on this machine.

    try_boot(accel, seconds) returns why the kernel does not boot (None: it
    does) and the kernel log.
    """
    path = os.path.join(build, "vm", "accel.json")
    known = _read(path)
    for key in (_boot_id(), _image_id(kernel)):
        if key in known:
            return known[key]
    answer, about_host = _probe(try_boot)
    key = _boot_id() if about_host else _image_id(kernel)
    _write(path, {**known, key: answer})
    return answer


def _boot_id():
    """A name of this boot of this host."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def _image_id(kernel):
    """A name of this boot and of the kernel image."""
    image = os.stat(kernel)
    return f"{_boot_id()} {os.path.realpath(kernel)} {image.st_mtime_ns}"


def _probe(try_boot):
    """Return: the answer, and whether it holds for every kernel."""
    reasons, logs = [], ""
    if not os.access(KVM, os.R_OK | os.W_OK):
        reasons.append(f"{KVM} cannot be opened")
    else:
        _say(f"trying {KVM}, {PROBE_SECONDS} s at most for each CPU model")
        for candidate in CANDIDATES:
            reason, log = try_boot(candidate, PROBE_SECONDS)
            if not reason:
                return candidate, False
            reasons.append(reason.splitlines()[0])
            logs += log
    _say(f"emulating ({FALLBACK}), as KVM does not work here:"
         f" {'; '.join(reasons)}")
    return FALLBACK, not logs


def _say(text):
    print(f"vm: {text}", file=sys.stderr, flush=True)


def _read(path):
    try:
        with open(path, encoding="ascii") as file:
            return json.load(file)
    except (FileNotFoundError, ValueError):
        return {}


def _write(path, known):
    """Replace the file in one step: several runs may probe at a time."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    scratch = f"{path}.{os.getpid()}"
    with open(scratch, "w", encoding="ascii") as file:
        json.dump(known, file, indent=1)
    os.replace(scratch, path)
