# SPDX-License-Identifier: MIT
"""The part of the drover command that is written in Python.

A new sub-command NAME is a module NAME with a function main(arguments), which
returns the exit status. It is named in main.SUBCOMMANDS and, with a line of
help, in tools/drover/main.c. It may import command/, why/, runs/ and tables/
only.
"""
