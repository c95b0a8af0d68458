# SPDX-License-Identifier: MIT
"""How Sphinx makes HTML of the manual; tools/manual runs it."""

# pylint: disable=invalid-name,redefined-builtin
project = "Drover"
copyright = "2026, the Drover authors"
html_theme = "alabaster"
html_theme_options = {"description": "condition variables that move waiters",
                      "page_width": "64em", "fixed_sidebar": True}
html_static_path = ["static"]
html_copy_source = False
# "::" is what a terminal shows, not Python.
highlight_language = "none"
