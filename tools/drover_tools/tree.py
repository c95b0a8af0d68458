# SPDX-License-Identifier: MIT
"""Where the project's files are: its source, and what is built of it."""

import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

#: O= in the environment, as make passes it on.
BUILD = os.path.abspath(os.environ.get("O") or os.path.join(TOP, "build"))
