# SPDX-License-Identifier: MIT
"""What programs need of the system: commands, packages, an environment."""

import os
import shutil

#: Not for the programs: neither the caller's debugging nor its own library.
FOREIGN = ("LD_PRELOAD", "LD_BIND_NOW", "LD_DEBUG", "LD_DEBUG_OUTPUT",
           "JAVA_TOOL_OPTIONS", "PYTHONPATH", "PYTHONHOME", "RUBYOPT",
           "NODE_OPTIONS", "NOTIFY_SOCKET")


def have(command):
    """The path of a command, if it is installed."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return shutil.which(command, path=path)


def missing(commands, files, packages):
    """Why a program cannot be run here, or None."""
    lacking = [name for name in commands if not have(name)]
    lacking += [path for path in files if not os.path.exists(path)]
    if not lacking:
        return None
    return (f"{' '.join(lacking)} is missing: apt-get install"
            f" --no-install-recommends {' '.join(packages)}")


def environment(library=None, **more):
    """The same for all runs; with a library, that is preloaded."""
    found = {name: value for name, value in os.environ.items()
             if name not in FOREIGN}
    found.update(LC_ALL="C.UTF-8", TZ="UTC0", **more)
    if library:
        found["LD_PRELOAD"] = library
    return found
