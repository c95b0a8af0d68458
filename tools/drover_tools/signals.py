# SPDX-License-Identifier: MIT
"""How a tool ends by a signal."""

import signal
import sys


def leave_on(*numbers):
    """Leave through every context, so that nothing stays behind."""
    for number in numbers:
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))
