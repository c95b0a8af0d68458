# SPDX-License-Identifier: MIT
"""Builds and runs ggml, in which Drover's barrier is measured."""
