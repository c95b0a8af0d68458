# SPDX-License-Identifier: MIT
"""What of the drover command is written in Python; it is installed with it.

A new sub-command NAME is a module NAME with a function main(arguments), which
returns the exit status. It is named in main.SUBCOMMANDS and, with a line of
help, in tools/drover/main.c. It may import command/, why/, runs/ and tables/
only.
"""
