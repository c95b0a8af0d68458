# SPDX-License-Identifier: MIT
"""Tests of guests."""
