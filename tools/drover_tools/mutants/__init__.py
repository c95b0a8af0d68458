# SPDX-License-Identifier: MIT
"""Mutation tests of the library and of the kernel series."""
