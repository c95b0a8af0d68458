# SPDX-License-Identifier: MIT
"""The folders of the project: its source, and its build folder."""

import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

#: O= in the environment, as make passes it on.
BUILD = os.path.abspath(os.environ.get("O") or os.path.join(TOP, "build"))
