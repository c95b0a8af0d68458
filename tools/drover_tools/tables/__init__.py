# SPDX-License-Identifier: MIT
"""Statistics of measurements, and tables of them."""
