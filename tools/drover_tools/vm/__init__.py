# SPDX-License-Identifier: MIT
"""Guests in QEMU."""
