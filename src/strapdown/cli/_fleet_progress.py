"""Progress of a fleet on a terminal."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING

from strapdown._words import printable
from strapdown.cli._outcome import is_watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from strapdown.fleet import Progress

__all__ = ["watching"]


@contextmanager
def watching(what: str) -> Iterator[Callable[[Progress], object] | None]:
    """Yield a function that shows progress, rate and time left on a terminal; None without one."""
    if not is_watched():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 (only a terminal needs it)
    from rich.markup import escape  # noqa: PLC0415 (as above)
    from rich.progress import BarColumn, TextColumn  # noqa: PLC0415 (as above)
    from rich.progress import Progress as Bar  # noqa: PLC0415 (as above)

    text = "{task.description} {task.completed}/{task.total}"
    figures = "{task.fields[figures]}"
    columns = (TextColumn(text), BarColumn(), TextColumn(figures))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(printable(what)), total=None, figures="")

        def show(now: Progress) -> None:
            left = [] if math.isnan(now.left_s) else [f"{now.left_s:.0f} s left"]
            figures = ", ".join([f"{now.rate_per_s:.1f}/s", *left, f"{now.failed} failed"])
            done = now.skipped + now.executed
            bar.update(task, total=now.total, completed=done, figures=figures)

        yield show
