# SPDX-License-Identifier: MIT
"""The project's tools: one sub-package or module for each, see there.

The programs beside this folder have nothing but the name of what they call.
What the installed drover command uses is in command/, why/, runs/ and tables/,
which therefore import nothing else of this package.
"""
