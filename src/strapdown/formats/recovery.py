"""Recovery of damaged recordings: a new file with all readable content, and a report.

An MCAP file becomes an MCAP file with the same bytes: intact chunks are copied unchanged, with
topics and types that strapdown does not read, and index and summary are rebuilt. The messages of
a ROS 1 bag are copied into a new bag. Any other file is read in salvage, and its series are
written.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import strapdown.formats as files
from strapdown._html import FieldsAsHtml
from strapdown._words import counted
from strapdown.errors import FormatError
from strapdown.formats._output import replacing
from strapdown.formats.bag.copying import BagCopy
from strapdown.formats.block_reader import BlockReader, NeedsWhole, WholeFile
from strapdown.formats.long_files import block_reader
from strapdown.formats.mcap import reader

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from strapdown.formats.mcap.copying import McapCopy

__all__ = ["RecoveryReport", "recover"]

RECOVERED: Final = "strapdown/recovered"
"""Name of the metadata record with the losses of an MCAP file."""
BUFFER: Final = 2**20
"""Bytes that are written at once: a tenth of a second of a recording is much less."""


@dataclass(frozen=True)
class RecoveryReport(FieldsAsHtml):
    """Report of a recovery.

    Parameters
    ----------
    format : str
        Of the damaged recording.
    messages : int
        Messages that were written.
    lost_messages : int
        Messages known to be lost; unreadable bytes may contain more.
    lost_bytes : int
        Bytes that could not be read.
    damage : tuple of str
        Damage, one line each.
    skipped : mapping of str to int
        Intact messages of types that the new file cannot hold, by topic.
    unheld : tuple of str
        Other content that it cannot hold, one line each.
    mended : tuple of str
        Damage without loss, such as a missing index, one line each.
    """

    format: str
    messages: int
    lost_messages: int = 0
    lost_bytes: int = 0
    damage: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    unheld: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()

    @property
    def lost(self) -> list[str]:
        """One line for each kind of loss."""
        lost = []
        if self.lost_messages:
            lost.append(f"{counted(self.lost_messages, 'message')} damaged")
        if self.lost_bytes:
            lost.append(f"{counted(self.lost_bytes, 'byte')} that cannot be read")
        lost += [
            f"{name}: {counted(count, 'message')} of a type that is not read"
            for name, count in self.skipped.items()
        ]
        return [*lost, *self.damage, *self.unheld]


def recover(
    source: str | PathLike[str], target: str | PathLike[str], *, force: bool = False
) -> RecoveryReport:
    """Write the readable content of a damaged recording to a new file.

    Parameters
    ----------
    source : path-like
        A recording, recognised by content; the index of a bag may be missing.
    target : path-like
        File to write; the ending selects the format.
    force : bool
        Replace a file that exists.

    Returns
    -------
    RecoveryReport

    Raises
    ------
    FormatError
        Nothing can be read.
    FileExistsError
        The target exists, and not ``force``. Other errors of the system pass through.
    """
    source, target = Path(source), Path(target)
    if target.exists() and target.samefile(source):
        raise FormatError("expected another file than the input to write to", path=target)
    head = b""
    if source.is_file():
        with source.open("rb") as file:
            head = file.read(16)
    ending = target.suffix.lower()
    if ending == ".mcap" and reader.sniff(head, source):
        return _recover_mcap(source, target, force=force)
    if ending == ".bag" and head.startswith(b"#ROSBAG V2.0"):
        return _recover_bag(source, target, force=force)
    return _recover_series(source, target, force=force)


def _recover_series(source: Path, target: Path, *, force: bool) -> RecoveryReport:
    blocks = block_reader(source, on_error="salvage")
    if blocks is not None:
        with suppress(NeedsWhole):
            return _written(source, blocks, target, force=force)
    whole = WholeFile(files.open(source, on_error="salvage"))
    return _written(source, whole, target, force=force)


def _written(source: Path, blocks: BlockReader, target: Path, *, force: bool) -> RecoveryReport:
    """Write the rows of a file."""
    with files.block_writer(target, force=force) as writer:
        for block in blocks:
            writer.write(block)
        if not writer.messages:
            raise FormatError(
                f"expected something that {target.suffix} holds, got nothing", path=source
            )
    told = blocks.report
    return RecoveryReport(
        told.format,
        writer.messages,
        told.lost_messages,
        told.lost_bytes,
        told.damage,
        told.skipped,
        tuple(writer.lost),
    )


def _recover_mcap(source: Path, target: Path, *, force: bool) -> RecoveryReport:
    from strapdown.formats.mcap.copying import McapCopy  # noqa: PLC0415 (it needs mcap)

    with replacing(target, force=force) as partial, partial.open("wb", BUFFER) as stream:
        scan = McapCopy(source, stream)
        for _ in scan.batches():
            pass
        report = _copied("mcap", scan.messages, scan.lost_messages, scan)
        scan.finish((RECOVERED, {"source": source.name, "lost": "\n".join(report.lost)}))
    return report


def _recover_bag(source: Path, target: Path, *, force: bool) -> RecoveryReport:
    scan = BagCopy(source)
    scan.write(target, force=force)
    return _copied("rosbag1", scan.copied, scan.lost_messages + scan.undefined, scan)


def _copied(
    kind: str, messages: int, lost_messages: int, scan: McapCopy | BagCopy
) -> RecoveryReport:
    """Return the report of a copy: where nothing was lost, the damage counts as mended."""
    broken = tuple(scan.damage)
    if lost_messages or scan.lost_bytes:
        return RecoveryReport(kind, messages, lost_messages, scan.lost_bytes, broken)
    return RecoveryReport(kind, messages, mended=broken)
