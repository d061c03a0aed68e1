# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings for the site: docs/*.md as they are, beside the READMEs and the commands' reference, which
tools/build_docs.sh puts into one folder. Warnings are errors; links that leave docs/ go to the source tree."""
import os

project = "hone"
author = "the hone developers"
copyright = author
release = os.environ.get("HONE_VERSION", "")
extensions = ["myst_parser"]
html_theme = "furo"
html_title = f"hone {release}"
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["site"]
# Files of the project that documents name, which are no pages: their names stay, without a link.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]
