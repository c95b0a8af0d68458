# SPDX-License-Identifier: MIT
"""Running programs: what is run, where, and what it used."""
