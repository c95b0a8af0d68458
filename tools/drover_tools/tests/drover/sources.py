# SPDX-License-Identifier: MIT
"""The programs that tests of the drover command compile."""

import os

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURE = os.path.join(HERE, "fixture.c")
PRINTED = os.path.join(HERE, "printed.c")
LATE = os.path.join(HERE, "late.c")
ORDERED = os.path.join(HERE, "ordered.c")
SITES = os.path.join(HERE, "sites.cc")
WOKEN = os.path.join(HERE, "woken.c")
