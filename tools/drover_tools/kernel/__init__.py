# SPDX-License-Identifier: MIT
"""Measures the kernel series."""
