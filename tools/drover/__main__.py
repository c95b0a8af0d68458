# SPDX-License-Identifier: MIT
"""Installed beside the package, and called as `python3 FOLDER compare ...`."""

import sys

from drover_tools.command.main import main

sys.exit(main())
