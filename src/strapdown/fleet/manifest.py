"""Results in a folder: a file for each unit of work, and the list of all."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from strapdown._html import html_table
from strapdown.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

__all__ = ["MANIFEST", "UNITS", "Manifest", "Row", "Unit", "write_whole"]

Row: TypeAlias = "Mapping[str, Any]"

MANIFEST: Final = "manifest.json"
UNITS: Final = "units"
TIMES: Final = "times.json"


@dataclass(frozen=True)
class Unit:
    """A unit of work.

    Parameters
    ----------
    name : str
        SHA-256 of input, configuration and version, in hexadecimal digits.
    item : object
        The item in types of JSON.
    error : str
        Message of the error; empty if the unit is done.
    """

    name: str
    item: Any
    error: str = ""


@dataclass(frozen=True)
class Manifest:
    """The units of work of a folder, in the order of the items.

    Parameters
    ----------
    folder : Path
        Contains ``manifest.json``, the rows of each unit in ``units/NAME.json``, and
        ``times.json``.
    task, version : str
        Name of the function, and version of its code.
    units : sequence of Unit
        Every item once.
    executed : int
        Units that this run has executed, failed ones included; the others were done before.
    skipped : set of str
        Names of the units that were done before.
    """

    folder: Path
    task: str
    version: str
    units: Sequence[Unit]
    executed: int = 0
    skipped: AbstractSet[str] = frozenset()

    @property
    def failed(self) -> list[Unit]:
        """Units with an error."""
        return [unit for unit in self.units if unit.error]

    def _repr_html_(self) -> str:
        counts = {
            "units": len(self.units),
            "executed": self.executed,
            "done before": len(self.skipped),
            "failed": len(self.failed),
        }
        tables = [html_table(f"{self.task} in {self.folder}", (), counts.items())]
        if self.failed:
            failed = [(str(unit.item), unit.error) for unit in self.failed]
            tables.append(html_table("Failed units", ("item", "error"), failed))
        return "".join(tables)

    def rows(self) -> Iterator[tuple[Unit, list[Row]]]:
        """Yield each unit with its rows, which are read from its file; a failed one has none."""
        for unit in self.units:
            rows = [] if unit.error else stored(self.folder, unit.name)
            if rows is None:
                raise FormatError(
                    "expected the rows of a finished unit, the file is gone or damaged; run again",
                    path=unit_path(self.folder, unit.name),
                )
            yield unit, rows

    def write(self) -> None:
        """Write ``manifest.json``, without anything that differs between runs of the same work."""
        content = {
            "task": self.task,
            "version": self.version,
            "units": [asdict(unit) for unit in self.units],
        }
        write_whole(self.folder / MANIFEST, json.dumps(content, indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path | str) -> Manifest:
        """Return the manifest of a folder.

        Raises
        ------
        FormatError
            There is none, or it is damaged.
        """
        path = Path(folder) / MANIFEST
        try:
            content = json.loads(path.read_text("utf-8"))
            units = [Unit(**unit) for unit in content["units"]]
            return cls(path.parent, content["task"], content["version"], units)
        except FileNotFoundError:
            raise FormatError("expected a folder of results, with this file", path=path) from None
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(f"expected a manifest ({error}); run again", path=path) from error


def unit_path(folder: Path, name: str) -> Path:
    """Return the file of a unit."""
    return folder / UNITS / f"{name}.json"


def stored(folder: Path, name: str) -> list[Row] | None:
    """Return the rows of a unit; None if there is no file with whole content."""
    try:
        rows: list[Row] = json.loads(unit_path(folder, name).read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return rows


def keep_times(folder: Path, seconds: Mapping[str, float]) -> None:
    """Add the run time of units [s] to ``times.json``."""
    path = folder / TIMES
    before: dict[str, float] = {}
    with suppress(FileNotFoundError, ValueError):
        before = json.loads(path.read_text("utf-8"))
    write_whole(path, json.dumps(before | dict(seconds), indent=1) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file by renaming, so that it is always whole, regardless of other writers."""
    with NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
    ) as file:
        try:
            file.write(text)
            file.close()
            os.chmod(file.name, 0o644)  # noqa: PTH101 (a temporary file is private)
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
