"""Layout of a scan in the buffer of an IIO device."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path
    from typing import Self

__all__ = ["Element", "Scan"]

_TYPE: Final = re.compile(r"(be|le):([su])(\d+)/(\d+)>>(\d+)")


@dataclass(frozen=True)
class Element:
    """One channel of a scan, as its attribute ``_type`` describes it.

    Parameters
    ----------
    order : {"big", "little"}
    is_signed : bool
    bits, size, shift : int
        Bits of the value, bytes that it occupies, and bits to shift right.

    Examples
    --------
    >>> Element.parse("le:s12/16>>4").value(bytes.fromhex("f0ff"))
    -1
    """

    order: Literal["little", "big"]
    is_signed: bool
    bits: int
    size: int
    shift: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the element of ``[be|le]:[s|u]bits/storagebits>>shift``.

        Raises
        ------
        ValueError
            The text has another form.
        """
        match = _TYPE.fullmatch(text.strip())
        if match is None or int(match[4]) not in {8, 16, 32, 64} or int(match[3]) > int(match[4]):
            raise ValueError(f"expected a type such as le:s16/16>>0, got {text.strip()!r}")
        order: Literal["little", "big"] = "big" if match[1] == "be" else "little"
        return cls(order, match[2] == "s", int(match[3]), int(match[4]) // 8, int(match[5]))

    def value(self, data: bytes) -> int:
        """Return the value in its bytes."""
        raw = int.from_bytes(data, self.order) >> self.shift & (1 << self.bits) - 1
        negative = self.is_signed and raw >> self.bits - 1
        return raw - (1 << self.bits) if negative else raw


@dataclass(frozen=True)
class Scan:
    """The enabled channels of a device, each aligned to its size.

    Parameters
    ----------
    places : tuple of (str, int, Element)
        Name, first byte and layout, in the order of their indices.
    size : int
        Bytes of a scan.
    """

    places: tuple[tuple[str, int, Element], ...]
    size: int

    @classmethod
    def enabled(cls, folder: Path, wanted: Collection[str]) -> Self:
        """Enable these channels, and no others.

        Parameters
        ----------
        folder : Path
            ``scan_elements``.
        wanted : collection of str
            Names of the channels.

        Raises
        ------
        ValueError
            A type is malformed, or no channel is there.
        OSError
            An attribute cannot be written.
        """
        channels = []
        for path in folder.glob("*_en"):
            name = path.name.removesuffix("_en")
            path.write_text("1" if name in wanted else "0")
            if name in wanted:
                index = int((folder / f"{name}_index").read_text())
                element = Element.parse((folder / f"{name}_type").read_text())
                channels.append((index, name, element))
        if not channels:
            raise ValueError(f"expected channels in {folder}, got none")
        places, end, widest = [], 0, 1
        for _, name, element in sorted(channels, key=lambda each: each[:2]):
            at = -(-end // element.size) * element.size
            places.append((name, at, element))
            end, widest = at + element.size, max(widest, element.size)
        return cls(tuple(places), -(-end // widest) * widest)

    @property
    def names(self) -> list[str]:
        """Names of the channels."""
        return [name for name, _, _ in self.places]

    def values(self, data: bytes) -> dict[str, int]:
        """Return the raw values at the beginning of bytes, by channel."""
        return {name: e.value(data[at : at + e.size]) for name, at, e in self.places}
