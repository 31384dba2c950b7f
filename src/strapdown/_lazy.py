"""Mappings whose values are imported on first use."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar, cast

from strapdown.errors import UnknownKeyError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LazyMapping"]

T_co = TypeVar("T_co", covariant=True)


class LazyMapping(Mapping[str, T_co]):
    """Mapping with known keys, whose values are imported on first access.

    Parameters
    ----------
    kind : str
        Noun for the keys, such as ``"filter"``, in the error message.
    package : str
        Package of the values.
    homes : mapping
        From each key to its value: a module of the package, or ``"module:name"``.

    Raises
    ------
    UnknownKeyError
        On access to a key that does not exist; the message gives the nearest.
    """

    def __init__(self, kind: str, package: str, homes: Mapping[str, str]) -> None:
        self._kind = kind
        self._package = package
        self._homes = homes

    def __getitem__(self, key: str) -> T_co:
        if key not in self._homes:
            raise UnknownKeyError(self._kind, key, self._homes)
        module, _, name = self._homes[key].partition(":")
        home = import_module(f"{self._package}.{module}")
        return cast("T_co", getattr(home, name) if name else home)

    def __contains__(self, key: object) -> bool:
        return key in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)
