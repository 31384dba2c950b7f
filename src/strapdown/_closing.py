"""Context managers that close."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Closing"]


class Closing(ABC):
    """A context manager that closes at the end, whether there was an error or not."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> object:
        """Release every resource."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
