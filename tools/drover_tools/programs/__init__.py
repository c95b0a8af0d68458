# SPDX-License-Identifier: MIT
"""Real programs, unmodified, with and without the drop-in."""
