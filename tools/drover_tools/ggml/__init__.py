# SPDX-License-Identifier: MIT
"""ggml, in which Drover's barrier is measured: how it is made and run."""
