# SPDX-License-Identifier: MIT
"""How Sphinx makes HTML of the manual; tools/manual runs it."""

# pylint: disable=invalid-name,redefined-builtin
project = "Drover"
copyright = "2026, the Drover authors"
html_title = "Drover manual"
html_theme = "alabaster"
html_theme_options = {"description": "condition variables that move waiters",
                      "page_width": "64em", "fixed_sidebar": True}
html_static_path = ["static"]
html_copy_source = False
html_use_index = False
# Two hyphens begin an option, and are no dash.
smartquotes_action = "qe"
# "::" is what a terminal shows, not Python.
highlight_language = "none"
