# SPDX-License-Identifier: MIT
"""The guest's file system: an uncompressed cpio archive ("newc" format).

The archive is written anew for each boot: a few MiB take some 20 ms.  It does
not depend on the kernel variant, and any user can make it.
"""

import os
import stat

from drover_tools.vm.elf import Elf, find_library
from drover_tools.vm.errors import GuestMissing

BUSYBOX = "/bin/busybox"
INIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "init")

#: Libraries that are opened by name at run time, so that no program lists
#: them: pthread_cancel() loads libgcc_s.  The others are for programs that
#: were made before glibc 2.34.
RUNTIME_LIBRARIES = ("libc.so.6", "libgcc_s.so.1", "libm.so.6",
                     "libpthread.so.0", "libdl.so.2", "librt.so.1")
LOADER = "/lib64/ld-linux-x86-64.so.2"

#: kselftest's runner limits each test's time by this path; busybox's own
#: timeout has neither --foreground nor the exit status 124.
HOST_PROGRAMS = ("/usr/bin/timeout",)

FOLDERS = ("dev", "proc", "sys", "tmp", "run", "root", "etc", "bin", "drover")

#: Files of build/ that only a linker or make reads are left out.
UNWANTED = (".o", ".a", ".d", ".cmd")


class Initramfs:
    """Files for the guest, which are collected by path and written at once."""

    def __init__(self):
        self._entries = {}      # guest path, no first "/": (mode, data)

    def add_folder(self, guest):
        """Add a folder and all folders above it."""
        guest = guest.strip("/")
        while guest and guest not in self._entries:
            self._entries[guest] = (stat.S_IFDIR | 0o755, b"")
            guest = os.path.dirname(guest)

    def add_bytes(self, guest, data, mode=0o644):
        guest = guest.strip("/")
        self.add_folder(os.path.dirname(guest))
        self._entries[guest] = (stat.S_IFREG | mode, data)

    def add_symlink(self, guest, target):
        guest = guest.strip("/")
        self.add_folder(os.path.dirname(guest))
        self._entries[guest] = (stat.S_IFLNK | 0o777, os.fsencode(target))

    def add_file(self, host, guest):
        """Add one file, and the libraries that it needs."""
        with open(host, "rb") as file:
            data = file.read()
        self.add_bytes(guest, data, os.stat(host).st_mode & 0o777)
        if Elf.is_elf(data):
            self._add_needed(host, Elf(data))

    def add(self, host, guest):
        """Add a file, or a folder with everything below it."""
        if not os.path.isdir(host):
            self.add_file(host, guest)
            return
        self.add_folder(guest)
        for name in sorted(os.listdir(host)):
            self._add_member(os.path.join(host, name),
                             os.path.join(guest, name))

    def _add_member(self, host, guest):
        """Add a member; a link to a file of the same folder stays a link."""
        if os.path.islink(host):
            target = os.readlink(host)
            if "/" not in target:
                self.add_symlink(guest, target)
                return
        if os.path.splitext(host)[1] not in UNWANTED:
            self.add(host, guest)

    def _add_needed(self, host, elf):
        loader = elf.interpreter()
        if loader and loader.strip("/") not in self._entries:
            self.add_host_file(loader)
        for name in elf.needed():
            if name != "libc.so":       # musl's, which is its loader as well
                self._add_library(name, host)

    def _add_library(self, name, wanted_by):
        if any(os.path.basename(path) == name for path in self._entries):
            return
        path = find_library(name)
        if path:
            self.add_host_file(path)
        elif not self._stands_beside(name, wanted_by):
            raise GuestMissing(
                f"{wanted_by} needs {name}, which this machine does not have;"
                f" add it with --add=PATH/{name}:/lib/{name}")

    @staticmethod
    def _stands_beside(name, wanted_by):
        """Whether RPATH finds a library in build/lib, all of which is copied.
        """
        folder = os.path.dirname(os.path.abspath(wanted_by))
        return any(os.path.exists(os.path.join(folder, way, name))
                   for way in (".", "../lib", "../../lib"))

    def add_host_file(self, path):
        """Add a file of this machine under its own path, if it is there."""
        if os.path.exists(path):
            self.add_file(path, path)

    def write(self, file):
        """Write the archive; folders come before the files in them."""
        for inode, guest in enumerate(sorted(self._entries), 1):
            mode, data = self._entries[guest]
            _write_member(file, inode, guest, mode, data)
        _write_member(file, 0, "TRAILER!!!", 0, b"")


def _write_member(file, inode, name, mode, data):
    """Write a member: a header of 13 hexadecimal fields, a name, and data."""
    name = os.fsencode(name) + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    fields = (inode, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(name), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    file.write(_padded(header + name) + _padded(data))


def _padded(data):
    return data + b"\0" * (-len(data) % 4)


def _add_busybox(image, applets):
    for applet in applets:
        image.add_symlink(f"/bin/{applet}", "busybox")
    image.add_file(BUSYBOX, "/bin/busybox")     # replaces a link
    image.add_symlink("/usr/bin/env", "/bin/busybox")


def _add_build(image, build):
    """Add the project's own programs, libraries and tests."""
    for folder, guest in (("bin", "/drover/bin"), ("lib", "/drover/lib"),
                          ("selftests", "/drover/selftests"),
                          ("kernel/kselftest", "/drover/kselftest")):
        host = os.path.join(build, folder)
        if os.path.isdir(host):
            image.add(host, guest)


def make(file, build, applets, additions=()):
    """Write the guest's file system for one boot into file.

    applets: the commands of busybox; additions: pairs (host, guest)
    """
    image = Initramfs()
    for folder in FOLDERS:
        image.add_folder(folder)
    image.add_bytes("/etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
    image.add_bytes("/etc/group", b"root:x:0:\n")
    _add_busybox(image, applets)
    for path in (LOADER, *HOST_PROGRAMS):
        image.add_host_file(path)
    for path in filter(None, map(find_library, RUNTIME_LIBRARIES)):
        image.add_file(path, path)
    _add_build(image, build)
    for host, guest in additions:
        image.add(host, guest)
    image.add_bytes("/init", _read(INIT), 0o755)
    image.write(file)


def _read(path):
    with open(path, "rb") as file:
        return file.read()
