"""Helpers of the verbs for live topics: quantities, signals, a line of progress."""

from __future__ import annotations

import math
import re
import signal
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING

import typer

from strapdown._words import counted
from strapdown.cli._outcome import EXIT_INTERRUPTED, EXIT_OK, is_watched
from strapdown.webots.run.runner import ended_by_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = [
    "exit_code",
    "losses",
    "parse_bytes",
    "parse_split",
    "positive",
    "seconds",
    "showing",
    "stopped_by_signals",
]

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_SIZES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12} | {
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_TIMES = {"s": 1.0, "min": 60.0, "h": 3600.0}


def parse_bytes(text: str, option: str) -> int:
    """Return a size such as 200MB or 1GiB [bytes]."""
    value, unit = _quantity(text, option)
    if unit not in _SIZES:
        raise typer.BadParameter(f"expected a size such as 200MB, got {text!r}", param_hint=option)
    return round(value * _SIZES[unit])


def parse_split(texts: Sequence[str], option: str) -> tuple[int | None, float | None]:
    """Return the largest size [bytes] and age [s] of one file, parsed from 1GB and 60s."""
    size, time_s = None, None
    for text in texts:
        value, unit = _quantity(text, option)
        if unit in _TIMES and value:
            time_s = value * _TIMES[unit]
        elif unit in _SIZES and value:
            size = round(value * _SIZES[unit])
        else:
            raise typer.BadParameter(
                f"expected a size such as 1GB or a time such as 60s or 10min, got {text!r}",
                param_hint=option,
            )
    return size, time_s


def _quantity(text: str, option: str) -> tuple[float, str]:
    if not (match := _QUANTITY.fullmatch(text.strip())):
        raise typer.BadParameter(f"expected a number and a unit, got {text!r}", param_hint=option)
    return float(match[1]), match[2].lower()


def positive(value: float | None, option: str) -> float:
    """Return seconds or a rate, infinite if none is given; raise unless it is above 0."""
    if value is None:
        return math.inf
    if not value > 0.0:
        raise typer.BadParameter(f"expected more than 0, got {value}", param_hint=option)
    return value


def seconds(value: float, option: str) -> float:
    """Return seconds; raise unless they are finite, and 0 or more."""
    if not 0.0 <= value < math.inf:
        raise typer.BadParameter(f"expected 0 or more, got {value}", param_hint=option)
    return value


@contextmanager
def stopped_by_signals() -> Iterator[tuple[Event, list[int]]]:
    """Yield an event that the first Ctrl-C or SIGTERM sets, and the list of received signals."""
    stop = Event()
    with ended_by_signals(stop.set) as signals:
        yield stop, signals


def exit_code(signals: Sequence[int]) -> int:
    """Return the exit code of a live verb: 130 after Ctrl-C, 0 after SIGTERM."""
    return EXIT_INTERRUPTED if signal.SIGINT in signals else EXIT_OK


def losses(lost: int, malformed: int) -> list[str]:
    """Return a line for lost messages, and one for malformed ones."""
    lines = []
    if lost:
        lines.append(f"{counted(lost, 'message')} overwritten or not received")
    if malformed:
        lines.append(f"{counted(malformed, 'message')} could not be read")
    return lines


@contextmanager
def showing() -> Iterator[Callable[[str], object]]:
    """Yield a function that shows a line on a terminal, replacing the previous one."""
    if not is_watched():
        yield lambda _line: None
        return
    from rich.console import Console  # noqa: PLC0415 (only a terminal needs it)
    from rich.text import Text  # noqa: PLC0415 (as above)

    with Console(stderr=True).status("") as status:
        yield lambda line: status.update(Text(line))
