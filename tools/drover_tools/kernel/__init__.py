# SPDX-License-Identifier: MIT
"""Benchmarks of the kernel series."""
