"""Tables for notebooks."""

from __future__ import annotations

from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["FieldsAsHtml", "html_table"]


class FieldsAsHtml:
    """Base of data classes that notebooks show as a table of their fields."""

    def _repr_html_(self) -> str:
        entries: Any = fields(self)  # type: ignore[arg-type]  # every subclass is a data class
        rows = [(entry.name, getattr(self, entry.name)) for entry in entries]
        return html_table(type(self).__name__, (), rows)


def html_table(caption: str, heading: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with every text escaped; without a heading there is none."""
    lines = [_row("td", row) for row in rows]
    if heading:
        lines.insert(0, _row("th", heading))
    return f"<table><caption>{escape(caption)}</caption>{''.join(lines)}</table>"


def _row(tag: str, cells: Sequence[object]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"
