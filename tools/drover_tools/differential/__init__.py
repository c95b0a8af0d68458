# SPDX-License-Identifier: MIT
"""The differential test, which gives two kernels the same futex calls."""
