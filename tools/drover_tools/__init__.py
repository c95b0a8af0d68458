# SPDX-License-Identifier: MIT
"""The project's tools, each a sub-package or a module.

The programs beside this folder only call a function of this package. The
installed drover command has only command/, why/, runs/ and tables/, which
therefore import nothing else of this package.
"""
