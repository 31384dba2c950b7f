"""ROS 2 bags, written through rosbags: a folder with one SQLite database and its metadata.

Types, topics and serialisation are those of :mod:`strapdown.formats.mcap.writer`. Every release
of ROS 2 plays such a bag without a further package; releases since Iron also play MCAP files.

References
----------
rosbag2, version 9 of its metadata, https://github.com/ros2/rosbag2
"""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from strapdown.formats._output import refuse
from strapdown.formats.bag.ros1_writer import BagBlocks, rows_as_bytes
from strapdown.formats.reports import WriteReport

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rosbags.interfaces import Connection

    from strapdown._typing import ByteArray
    from strapdown.formats.recording import Recording
    from strapdown.messages.ros_types import RosType

__all__ = ["ros2_bag_writer", "write"]

_METADATA = "metadata.yaml"


def write(path: Path, recording: Recording, *, force: bool = False) -> WriteReport:
    """Write a recording: all topics, in the order of their stamps.

    Raises
    ------
    FileExistsError
        The path exists, and not ``force``; or it is no ROS 2 bag.
    ValueRangeError
        A stamp is negative, or another number does not fit its field.
    """
    with ros2_bag_writer(path, force=force) as blocks:
        blocks.write(recording)
    return WriteReport("rosbag2", blocks.messages, tuple(blocks.lost), tuple(blocks.notes))


@contextmanager
def ros2_bag_writer(path: Path, *, force: bool = False) -> Iterator[BagBlocks]:
    """Open a bag that takes a recording block by block.

    Raises
    ------
    FileExistsError
        The path exists, and not ``force``; or it is no ROS 2 bag.
    """
    from rosbags.rosbag2 import StoragePlugin, Writer  # noqa: PLC0415 (only bags need it)

    with (
        _replacing_folder(path, force=force) as folder,
        Writer(folder, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer,
    ):

        def connect(topic: str, kind: RosType) -> Connection:
            return writer.add_connection(
                topic, kind.name, msgdef=kind.definition, rihs01=kind.rihs01
            )

        yield BagBlocks(writer, connect, _as_they_are)


def _as_they_are(payloads: ByteArray, _kind: RosType, _first: int) -> list[bytes]:
    return rows_as_bytes(payloads)


@contextmanager
def _replacing_folder(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield a path for a folder; on success synchronise it and rename it to ``path``."""
    refuse(path, force=force)
    if path.exists() and not (path / _METADATA).is_file():
        text = "is no ROS 2 bag and is not replaced; choose another name"
        raise FileExistsError(errno.EEXIST, text, str(path))
    partial = path.with_name(path.name + ".partial")
    if force:
        shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir()
    except FileExistsError:
        text = "is being written, or remains of a writer that was killed; remove it"
        raise FileExistsError(errno.EEXIST, text, str(partial)) from None
    try:
        inner = partial / path.name  # the database has the name of the bag
        yield inner
        for file in inner.iterdir():
            with file.open("rb") as stream:
                os.fsync(stream.fileno())
        if path.exists():
            path.rename(partial / "replaced")
        inner.rename(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
