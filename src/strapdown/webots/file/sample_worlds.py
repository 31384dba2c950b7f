"""Worlds that come with the package."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from strapdown.errors import UnknownNameError

__all__ = ["WORLDS", "find_world", "sample_worlds"]

WORLDS: Final = Path(__file__).parents[1] / "worlds"
"""Folder of the sample worlds."""


def sample_worlds() -> dict[str, Path]:
    """Return the sample worlds of the package, by name."""
    return {path.stem: path for path in sorted(WORLDS.glob("*.wbt"))}


def find_world(world: str | os.PathLike[str]) -> Path:
    """Return the file of a world, given as a path or as the name of a sample world.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    UnknownNameError
        A name without an ending is no sample world.
    """
    path = Path(world)
    if path.exists():
        return path
    samples = sample_worlds()
    if str(world) in samples:
        return samples[str(world)]
    if path.suffix:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    raise UnknownNameError("world file or sample world", str(world), samples)
