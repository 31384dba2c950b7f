"""The check of the built site finds what it is there for."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def faults(monkeypatch, tmp_path):
    """What is found on a page of a site of two, the other of which has an anchor ``there``."""
    monkeypatch.syspath_prepend(DOCS)
    check_site = import_module("check_site")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "other.html").write_text('<h1 id="there">Other</h1><a href="..">Up</a>')

    def faults_of(page: str) -> list[str]:
        (tmp_path / "index.html").write_text(page)
        return list(check_site.faults_of_pages(tmp_path))

    return faults_of


@pytest.mark.parametrize(
    "page",
    [
        '<a href="below/other.html#there">a page</a>',
        '<h1 id="here">Here</h1><a href="#here">itself</a><a href="#">its top</a>',
        '<a href="https://example.org/">a page elsewhere</a>',
    ],
)
def test_links_that_lead_somewhere_are_no_faults(faults, page):
    assert faults(page) == []


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<a href="gone.html">x</a>', "index.html: gone.html: no such file"),
        ('<a href="#gone">x</a>', "index.html: #gone: no such anchor"),
        (
            '<a href="below/other.html#gone">x</a>',
            "index.html: below/other.html#gone: no such anchor",
        ),
        ('<img src="gone.png">', "index.html: gone.png: no such file"),
        ('<script src="//example.org/x.js"></script>', "index.html loads //example.org/x.js"),
        (
            '<link rel="stylesheet" href="https://example.org/x.css">',
            "index.html loads https://example.org/x.css",
        ),
    ],
)
def test_a_link_that_leads_nowhere_or_loads_from_elsewhere_is_a_fault(faults, page, fault):
    assert faults(page) == [fault]


def test_a_style_that_loads_from_elsewhere_is_a_fault(faults, tmp_path):
    (tmp_path / "x.css").write_text("@import url(https://example.org/font.css);")
    assert faults("") == ["x.css loads https://example.org/font.css"]
