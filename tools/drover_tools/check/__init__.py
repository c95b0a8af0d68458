# SPDX-License-Identifier: MIT
"""`make check`, which runs all tests on this machine and in guests."""
