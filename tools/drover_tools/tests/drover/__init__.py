# SPDX-License-Identifier: MIT
"""Tests of the drover command."""
