"""Attitude and rates in a terminal, for machines without a browser."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from strapdown.viewer.bodies import as_text
from strapdown.viewer.model import ViewModel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

    from rich.console import RenderableType

    from strapdown.viewer.sources import Source

__all__ = ["drawn", "show_in_terminal"]

_PERIOD_S: Final = 0.1
_BAR: Final = 31
"""Characters of a bar; the middle one is zero."""
_LIMITS: Final = {
    "angular velocity": 5.0,
    "specific force": 20.0,
    "attitude": 180.0,
    "magnetic field": 100.0,
}


def show_in_terminal(
    sources: Sequence[Source], *, stop: Event, console: Console | None = None
) -> None:
    """Draw values and bars of sources ten times a second; recordings are played once.

    Parameters
    ----------
    sources : sequence of Source
        One below the other.
    stop : Event
        Ends the drawing within 0.1 s.
    console : Console, optional
        By default standard output.
    """
    model = ViewModel(sources, loops=False)
    model.is_playing = True
    before = monotonic()
    with Live(drawn(model), console=console, auto_refresh=False) as live:
        while model.is_playing and not stop.wait(_PERIOD_S):
            now = monotonic()
            model.advance(now - before)
            before = now
            live.update(drawn(model), refresh=True)


def drawn(model: ViewModel) -> RenderableType:
    """Return the values of every source at the cursor, with bars."""
    parts: list[RenderableType] = []
    for row, source in enumerate(model.sources):
        title = Text(f"{source.name}  {source.frames()}", style="bold")
        if not model.is_live:
            title.append(f"  {model.cursor_s:.2f} s of {model.extent_s[1]:.2f}", style="not bold")
        health = Text("  ")
        for figure in source.health():
            health.append(f"{figure.name} {figure.value}  ", style="" if figure.is_good else "red")
        table = Table.grid(padding=(0, 1))
        for name, unit, labels, values in model.values(row):
            for label, value in zip(labels, values, strict=True):
                bar = _bar(value, _LIMITS[name]) if name in _LIMITS else ""
                number = Text(f"{as_text(value):>10}")
                table.add_row(Text(name), Text(label), number, Text(unit), bar)
        parts += [title, health, table]
    return Group(*parts)


def _bar(value: float, limit: float) -> str:
    """Return a bar from the middle to a value; one beyond the limit ends in an arrow."""
    half = _BAR // 2
    if value != value:  # noqa: PLR0124 (NaN)
        return " " * _BAR
    length = min(round(abs(value) / limit * half), half)
    tip = "█" * length if abs(value) <= limit else "█" * (half - 1) + ("▶" if value > 0 else "◀")
    left = tip[::-1].rjust(half) if value < 0 else " " * half
    right = tip.ljust(half) if value >= 0 else " " * half
    return f"{left}│{right}"
