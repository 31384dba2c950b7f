"""What is imported when it is first asked for, so that a package costs what is used of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["LazyMapping", "lazy_names"]

T_co = TypeVar("T_co", covariant=True)


class LazyMapping(Mapping[str, T_co]):
    """A mapping whose keys are known, and whose values are imported when they are asked for.

    Parameters
    ----------
    package : str
        Where the values are.
    homes : mapping
        From each key to its value: a module of the package, or ``"module.name"``.
    """

    def __init__(self, package: str, homes: Mapping[str, str]) -> None:
        self._package = package
        self._homes = homes

    def __getitem__(self, key: str) -> T_co:
        module, _, name = self._homes[key].partition(".")
        home = import_module(f"{self._package}.{module}")
        return cast("T_co", getattr(home, name) if name else home)

    def __contains__(self, key: object) -> bool:
        return key in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package whose names load on first use.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping
        From each name to the module below the package that has it, or that it is.

    Returns
    -------
    load, list_names : callable
        What PEP 562 asks of a module.
    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(f"{package}.{homes[name]}")
        value = home if homes[name] == name else getattr(home, name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return load, list_names
