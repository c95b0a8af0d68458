# SPDX-License-Identifier: MIT
"""`make check`: runs all tests, on this machine and in guests."""
