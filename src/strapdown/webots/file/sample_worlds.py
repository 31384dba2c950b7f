"""Worlds that come with the package."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from strapdown.errors import UnknownNameError

__all__ = ["WORLDS", "find_world", "sample_worlds"]

WORLDS: Final = Path(__file__).parents[1] / "worlds"
"""Their folder."""


def sample_worlds() -> dict[str, Path]:
    """Return the worlds that come with the package, by name."""
    return {path.stem: path for path in sorted(WORLDS.glob("*.wbt"))}


def find_world(world: str | os.PathLike[str]) -> Path:
    """Return the file of a world, which may be the name of one that comes with the package.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    UnknownNameError
        What has no ending is not the name of a sample, either.
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
