# SPDX-License-Identifier: MIT
"""The part of the drover command that is written in Python.

A new sub-command NAME is a module NAME with a function main(arguments), which
returns the exit status. main.SUBCOMMANDS names it, and tools/drover/main.c has
a line of help for it. A sub-command imports only command/, why/, runs/ and
tables/.
"""
