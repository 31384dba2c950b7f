"""Completion of names on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["completed"]


def completed(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function that gives the names with a certain beginning.

    In a list with commas it completes the last name and keeps those before it.
    """

    def matches(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names if name.startswith(last)]

    return matches
