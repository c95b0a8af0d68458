# SPDX-License-Identifier: MIT
"""What numbers say of each other, and tables of that."""
