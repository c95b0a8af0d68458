# SPDX-License-Identifier: MIT
"""Commands, packages and the environment that programs need."""

import os
import shutil

#: Variables of the caller that would change how the programs run.
FOREIGN = ("LD_PRELOAD", "LD_BIND_NOW", "LD_DEBUG", "LD_DEBUG_OUTPUT",
           "JAVA_TOOL_OPTIONS", "PYTHONPATH", "PYTHONHOME", "RUBYOPT",
           "NODE_OPTIONS", "NOTIFY_SOCKET")


def have(command):
    """The path of a command, if it is installed."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return shutil.which(command, path=path)


def missing(commands, files, packages):
    """The reason why a program cannot run here, or None."""
    lacking = [name for name in commands if not have(name)]
    lacking += [path for path in files if not os.path.exists(path)]
    if not lacking:
        return None
    return (f"{' '.join(lacking)} is missing: apt-get install"
            f" --no-install-recommends {' '.join(packages)}")


def environment(library=None, **more):
    """The environment of all runs; library: is preloaded, if given."""
    found = {name: value for name, value in os.environ.items()
             if name not in FOREIGN}
    found.update(LC_ALL="C.UTF-8", TZ="UTC0", **more)
    if library:
        found["LD_PRELOAD"] = library
    return found
