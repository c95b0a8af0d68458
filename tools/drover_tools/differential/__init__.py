# SPDX-License-Identifier: MIT
"""Gives two kernels the same futex calls."""
