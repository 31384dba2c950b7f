"""Settings of Sphinx: ``sphinx-build -W --keep-going -b html docs site``."""  # noqa: INP001

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from numpydoc.xref import DEFAULT_LINKS

from strapdown import __version__

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import make_reference  # noqa: E402 (beside this file)

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "strapdown"
author = "The strapdown authors"
version = release = __version__
copyright = author  # noqa: A001 (Sphinx's name)

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc"]
root_doc = "index"

myst_heading_anchors = 3

autosummary_generate = False  # numpydoc brings autosummary; make_reference has its part
autodoc_typehints = "none"  # docstrings have types, shapes and units
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # autodoc does
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # but for these; what others document is text here
numpydoc_xref_aliases = {word: word for word in DEFAULT_LINKS} | make_reference.classes()
nitpicky = True
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "strapdown"
html_static_path = ["style"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {"show_toc_level": 2}
html_sidebars = {"reference/strapdown.*.*": []}  # hundreds of entries on hundreds of pages

CONTENTS = {"guides/README", "handbook", "filters/README", "project/README"}
"""Pages whose lists and tables of pages are the order of the site, below their headings."""
HEADING = re.compile(r"^## (.*)\n", re.MULTILINE)
LISTS = re.compile(r"^[*|].*", re.MULTILINE)
PAGES = re.compile(r"\]\((\w[\w/]*\.md)\)")


def add_contents(_app: Sphinx, page: str, source: list[str]) -> None:
    """Make a table of contents of the pages that a page lists below each heading."""
    if page in CONTENTS:
        _, *parts = HEADING.split(f"## \n{source[0]}")
        for heading, text in zip(parts[::2], parts[1::2], strict=True):
            if pages := PAGES.findall("\n".join(LISTS.findall(text))):
                source[0] += toctree(heading, pages)


def toctree(caption: str, pages: list[str]) -> str:
    """Return a hidden table of contents in Markdown."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "```{toctree}", *options, "", *pages, "```", ""])


def setup(app: Sphinx) -> None:
    """Write the reference before Sphinx looks for pages, and order the pages."""
    app.connect("config-inited", lambda *_: make_reference.write(DOCS / "reference"))
    app.connect("source-read", add_contents)
