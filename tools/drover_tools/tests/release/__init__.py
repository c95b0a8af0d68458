# SPDX-License-Identifier: MIT
"""Tests of what is handed out."""
