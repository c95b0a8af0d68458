# SPDX-License-Identifier: MIT
"""Tests of the benchmark programs."""
