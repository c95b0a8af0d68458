# SPDX-License-Identifier: MIT
"""Installed beside the package: `python3 FOLDER compare PROGRAM`."""

import sys

from drover_tools.command.main import main

sys.exit(main())
