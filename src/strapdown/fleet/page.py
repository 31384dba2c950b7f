"""Pages of results: one HTML file that needs no other."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["page"]

_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
td, th { border-bottom: 1px solid #ccc; padding: .2rem .7rem; text-align: left; }
img { max-width: 100%; }
"""


def page(title: str, parts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a page: a heading, and parts in HTML."""
    title = escape(title)
    yield f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    yield f"<style>{_STYLE}</style></head><body><h1>{title}</h1>"
    yield from parts
    yield "</body></html>\n"
