"""Files of a bag."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ROS1_MAGIC", "db3_parts", "is_ros1", "mcap_parts"]

ROS1_MAGIC: Final = b"#ROSBAG V"
"""First bytes of a ROS 1 bag."""


def is_ros1(path: Path) -> bool:
    """Return whether a file is a ROS 1 bag."""
    if path.is_dir():
        return False
    with path.open("rb") as file:
        return file.read(len(ROS1_MAGIC)) == ROS1_MAGIC


def db3_parts(path: Path) -> list[Path]:
    """Return the databases of a ROS 2 bag, in order."""
    return sorted(path.glob("*.db3"), key=_numbered) if path.is_dir() else [path]


def mcap_parts(path: Path) -> list[Path]:
    """Return the MCAP files of the folder of a ROS 2 bag, in order."""
    return sorted(path.glob("*.mcap"), key=_numbered) if path.is_dir() else []


def _numbered(path: Path) -> list[str | int]:
    """Return a sort key that orders part 10 after part 9."""
    return [int(text) if text.isdigit() else text for text in re.split(r"(\d+)", path.name)]
