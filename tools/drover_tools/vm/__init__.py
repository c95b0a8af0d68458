# SPDX-License-Identifier: MIT
"""Guests that QEMU runs."""
