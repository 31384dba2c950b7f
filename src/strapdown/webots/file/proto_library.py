"""PROTO files in folders and archives, found by their names."""

from __future__ import annotations

import errno
import lzma
import os
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from strapdown.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["PROTOS", "PROTO_PATH", "ProtoLibrary", "ProtoSource", "folders_of_environment"]

PROTO_PATH: Final = "STRAPDOWN_PROTO_PATH"
"""Environment variable with folders and archives of PROTO files, separated as in PATH."""

PROTOS: Final = Path(__file__).parents[1] / "protos"
"""Folder of the PROTOs of the package."""

_DAMAGE: Final = (
    OSError, EOFError, zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError,
    KeyError,  # a link to a member that the archive does not have
    RuntimeError,  # an encrypted member, an unknown compression, or links in a circle
)  # fmt: skip
_MAX_FILE: Final = 32 * 2**20
_MAX_ARCHIVE: Final = 256 * 2**20


@dataclass(frozen=True)
class ProtoSource:
    """A PROTO file in a folder or an archive."""

    path: Path
    """Its path; of a member of an archive, the path of the archive followed by its name."""
    read: Callable[[], bytes]
    """Returns its content."""


def folders_of_environment() -> list[Path]:
    """Return the folders and archives that STRAPDOWN_PROTO_PATH lists."""
    return [Path(item) for item in os.environ.get(PROTO_PATH, "").split(os.pathsep) if item]


class ProtoLibrary:
    """PROTO files in folders, with all folders below, and in zip and tar archives.

    Parameters
    ----------
    places : iterable of Path
        Folders and archives; of several files with one name, those of earlier places are preferred.
    """

    def __init__(self, places: Iterable[Path]) -> None:
        self._places = list(places)
        self._files: dict[str, list[ProtoSource]] | None = None

    def find(self, name: str, address: str = "") -> ProtoSource | None:
        """Return the file of a PROTO, or None.

        Parameters
        ----------
        name : str
            Name of the PROTO.
        address : str
            Address in ``EXTERNPROTO``, of any scheme. A local file at this address is the answer.
            Otherwise it decides between files with the same name: the longest common end wins.

        Raises
        ------
        FormatError
            A damaged archive.
        """
        if address and "://" not in address and Path(address).is_file():
            return ProtoSource(Path(address), Path(address).read_bytes)
        if self._files is None:
            self._files = {}
            for place in self._places:
                for source in _sources(place):
                    self._files.setdefault(source.path.stem, []).append(source)
        found = self._files.get(name)
        return max(found, key=lambda source: _common_end(source.path, address)) if found else None


def _common_end(path: Path, address: str) -> int:
    pairs = zip(reversed(path.parts), reversed(PurePosixPath(address).parts), strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), 99)


def _sources(place: Path) -> Iterator[ProtoSource]:
    if place.is_dir():
        for path in sorted(place.rglob("*.proto")):
            yield ProtoSource(path, path.read_bytes)
    elif place.is_file():
        try:
            members = _members(place)
        except _DAMAGE as error:
            raise FormatError(
                f"expected a folder, or a zip or tar archive, with PROTO files: {error}", path=place
            ) from None
        for name, data in sorted(members.items()):
            yield ProtoSource(place / name, lambda data=data: data)  # type: ignore[misc]
    else:
        raise FileNotFoundError(errno.ENOENT, "No such folder or archive of PROTOs", str(place))


def _members(archive: Path) -> dict[str, bytes]:
    """Return the PROTO files in an archive, by name."""
    members: dict[str, bytes] = {}
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as pack:
            for info in pack.infolist():
                if info.filename.endswith(".proto"):
                    _add(members, archive, info.filename, info.file_size)
                    members[info.filename] = pack.read(info)
        return members
    with tarfile.open(archive) as pack:
        for member in pack:
            stream = pack.extractfile(member) if member.name.endswith(".proto") else None
            if stream is not None:
                _add(members, archive, member.name, member.size)
                members[member.name] = stream.read()
    return members


def _add(members: dict[str, bytes], archive: Path, name: str, size: int) -> None:
    if size > _MAX_FILE or size + sum(map(len, members.values())) > _MAX_ARCHIVE:
        raise FormatError(
            f"expected PROTO files of at most {_MAX_FILE >> 20} MiB each and"
            f" {_MAX_ARCHIVE >> 20} MiB in all, got more at {name!r}",
            path=archive,
        )
