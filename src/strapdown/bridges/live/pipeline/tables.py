"""File of a pipeline: one table a stage, read strictly; errors name the line."""

from __future__ import annotations

import math
import re
import tomllib
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar, overload

from strapdown._words import wording
from strapdown.errors import FormatError, StrapdownError, UnknownNameError
from strapdown.sensors.profiles._reader import lines_of_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    Value = TypeVar("Value")

__all__ = ["PipelineFile", "Table", "read_tables"]

_NAME = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")
_TOML_PLACE = re.compile(r"(?P<what>.*) \(at line (?P<line>\d+), column \d+\)", re.DOTALL)
_WORDS: Mapping[type, str] = {
    str: "a text",
    float: "a number",
    int: "a whole number",
    bool: "true or false",
}


class Table:
    """Table ``[KIND.NAME]`` of one stage, with its lines and the keys that were read.

    Parameters
    ----------
    kind, name : str
        From its header.
    values : mapping
        From its keys.
    file : PipelineFile
        Position in the file.
    """

    def __init__(self, kind: str, name: str, values: Mapping[str, Any], file: PipelineFile) -> None:
        self.kind, self.name = kind, name
        self.force, self.path, self.folder = file.force, file.path, file.folder
        self._values, self._file = values, file
        self._asked: dict[str, None] = {}

    @overload
    def get(self, key: str, kind: type[Value]) -> Value | None: ...

    @overload
    def get(self, key: str, kind: type[Value], default: Value) -> Value: ...

    def get(self, key: str, kind: type[Value], default: Value | None = None) -> Value | None:
        """Return the value of a key, or a default.

        Raises
        ------
        FormatError
            The value is of another kind.
        """
        self._asked[key] = None
        if key not in self._values:
            return default
        value = self._values[key]
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise self.error(f"expected {_WORDS[kind]}, got {value!r}", key)
        return value

    def need(self, key: str, kind: type[Value], why: str = "") -> Value:
        """Return the value of a key that must be there.

        Raises
        ------
        FormatError
            It is not, or it is of another kind.
        """
        value = self.get(key, kind)
        if value is None:
            near = get_close_matches(key, self._values, n=1)
            got = f"the key {near[0]!r}" if near else "none"
            wanted = f"{key} = {_WORDS[kind]}{why and f', {why}'}"
            raise self.error(f"expected {wanted}; got {got}", *near)
        return value

    def positive(self, key: str) -> float | None:
        """Return a number above 0, which may be infinite; None where the key is not there.

        Raises
        ------
        FormatError
            The value is none.
        """
        value = self.get(key, float)
        if value is not None and not value > 0.0:
            raise self.error(f"expected a positive {key}, got {value:g}", key)
        return value

    def texts(self, key: str) -> list[str]:
        """Return a text, or a list of texts, as a list; empty where the key is not there.

        Raises
        ------
        FormatError
            The value is neither.
        """
        self._asked[key] = None
        value = self._values.get(key, [])
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
            raise self.error(f"expected a text, or a list of texts, got {value!r}", key)
        return texts

    def floats(self, key: str, count: int) -> tuple[float, ...] | None:
        """Return a list of so many finite numbers; None where the key is not there.

        Raises
        ------
        FormatError
            The value is none.
        """
        self._asked[key] = None
        value = self._values.get(key)
        if value is None:
            return None
        numbers = value if isinstance(value, list) else []
        if len(numbers) != count or not all(
            type(each) in {int, float} and math.isfinite(each) for each in numbers
        ):
            raise self.error(f"expected a list of {count} numbers, got {value!r}", key)
        return tuple(map(float, numbers))

    def place(self, value: str) -> Path:
        """Return a path of the file, from the folder of the file."""
        return self.folder / value

    def place_or_name(self, value: str) -> str:
        """Return a path as :meth:`place` does where something is there, else the name it is."""
        path = self.place(value)
        return str(path) if path.exists() else value

    def finish(self) -> None:
        """Raise where the table has a key that nobody asked for.

        Raises
        ------
        FormatError
            It has; the message gives the nearest names.
        """
        for key in self._values:
            if key not in self._asked:
                raise self.error(str(UnknownNameError("key", key, self._asked)), key)

    def error(self, message: str, *keys: str) -> FormatError:
        """Return an error about this table, or about the first of these keys that it has."""
        key = next((key for key in keys if key in self._values), None)
        where = (self.kind, self.name, *([key] if key else []))
        return self._file.error(where, message)

    @contextmanager
    def about(self, *keys: str) -> Iterator[None]:
        """Add the position of a key to an error: the first key that the error mentions.

        Raises
        ------
        FormatError
            With the line, in place of any error of this package or the operating system.
        """
        try:
            yield
        except (StrapdownError, OSError) as error:
            text = wording(error)
            mentioned = sorted(keys, key=lambda key: key not in text)
            raise self.error(text, *mentioned) from error


class PipelineFile:
    """A file of a pipeline, and the lines of its keys.

    Parameters
    ----------
    text : str
        TOML: tables ``[KIND.NAME]``.
    folder : Path
        Where relative paths in it begin.
    path : Path, optional
        Where the text is from, for errors.
    force : bool
        Whether stages may replace files.
    """

    def __init__(self, text: str, *, folder: Path, path: Path | None, force: bool) -> None:
        self.text, self.folder, self.path, self.force = text, folder, path, force
        self._lines = lines_of_keys(text)

    def error(self, where: tuple[str, ...], message: str) -> FormatError:
        """Return an error at a path of keys, with the line of the nearest that is there."""
        heads = (where[:depth] for depth in range(len(where), 0, -1))
        line = next((self._lines[head] for head in heads if head in self._lines), 1)
        return FormatError(f"line {line}: {'.'.join(where)}: {message}", path=self.path)


def read_tables(file: PipelineFile, kinds: Mapping[str, object]) -> list[Table]:
    """Return the tables of a pipeline, in the order of the file.

    Raises
    ------
    FormatError
        With line and reason.
    """
    try:
        content = tomllib.loads(file.text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        place = _TOML_PLACE.fullmatch(str(error))
        line = place["line"] if place else 1 + file.text.rstrip().count("\n")
        said = place["what"] if place else str(error)
        raise FormatError(f"line {line}: expected TOML: {said}", path=file.path) from error
    tables: dict[str, Table] = {}
    for kind, named in content.items():
        if kind not in kinds:
            raise file.error((kind,), str(UnknownNameError("kind of part", kind, kinds)))
        if not isinstance(named, dict):
            raise file.error((kind,), f"expected a table [{kind}.NAME], got {named!r}")
        for name, values in named.items():
            if not isinstance(values, dict):
                line = f"expected a table [{kind}.NAME], got the key {name!r} in [{kind}]"
                raise file.error((kind, name), line)
            if not _NAME.fullmatch(name):
                line = f"expected a name of letters, digits and _ - /, got {name!r}"
                raise file.error((kind, name), line)
            if name in tables:
                line = f"expected another name, [{tables[name].kind}.{name}] has this one"
                raise file.error((kind, name), line)
            tables[name] = Table(kind, name, values, file)
    if not tables:
        raise FormatError("expected parts, such as [device.imu], got none", path=file.path)
    return list(tables.values())
