# SPDX-License-Identifier: MIT
"""Tests of measuring and reports."""
