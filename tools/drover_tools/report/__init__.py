# SPDX-License-Identifier: MIT
"""Measures suites of benchmarks, and makes reports of that."""
