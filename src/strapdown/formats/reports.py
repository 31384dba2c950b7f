"""Reports of reading and writing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from strapdown._html import FieldsAsHtml

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ReadReport", "WriteReport"]


@dataclass(frozen=True)
class ReadReport(FieldsAsHtml):
    """Report of reading a file: every loss is counted.

    Parameters
    ----------
    format : str
        Name of the format, such as ``"mcap"``.
    messages : int
        Messages or rows that were converted to samples.
    lost_messages : int
        Messages or rows that were left out as damaged.
    lost_bytes : int
        Bytes that could not be read.
    skipped : mapping of str to int
        Intact messages of types that strapdown does not read, by topic.
    notes : tuple of str
        Notes for the user, one line each.
    damage : tuple of str
        Damage in the file, one line each.
    coverage : mapping of str to float
        For streams of increments or mean rates whose intervals are known: their sum over the
        time from the first to the last. Below 1, part of the motion is missing.
    """

    format: str
    messages: int = 0
    lost_messages: int = 0
    lost_bytes: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()
    coverage: Mapping[str, float] = field(default_factory=dict)

    @property
    def lossless(self) -> bool:
        """Whether the whole content of the file was read."""
        return not self.losses()

    def losses(self) -> list[str]:
        """Return one line for each kind of loss; empty without losses."""
        lost = []
        if self.lost_messages:
            lost.append(f"{self.lost_messages} messages of the input are damaged")
        if self.lost_bytes:
            lost.append(f"{self.lost_bytes} bytes of the input cannot be read")
        return [*lost, *self.damage]


@dataclass(frozen=True)
class WriteReport(FieldsAsHtml):
    """Report of writing a file.

    Parameters
    ----------
    format : str
        Name of the format, such as ``"mcap"``.
    messages : int
        Messages or rows that were written.
    lost : tuple of str
        Content of the recording that the file cannot hold, one line each.
    notes : tuple of str
        Notes for the user, one line each.
    """

    format: str
    messages: int
    lost: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
