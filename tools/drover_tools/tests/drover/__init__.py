# SPDX-License-Identifier: MIT
"""The tests of the drover command."""
