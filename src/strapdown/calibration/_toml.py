"""Files of plain values: TOML or JSON, with the same numbers to the last bit."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats._output import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

__all__ = ["plain", "read_values", "write_values"]


def write_values(
    content: Mapping[str, Any],
    path: str | PathLike[str],
    *,
    what: str,
    header: str = "",
    force: bool = False,
) -> None:
    """Write values to a file; what is None is left out.

    Parameters
    ----------
    content : mapping
        Numbers, texts, arrays, and tables of them.
    path : path-like
        Ending in ``.toml`` or ``.json``.
    what : str
        Noun for the content, in messages.
    header : str
        Comment at the begin of a TOML file.
    force : bool
        Replace an existing file.

    Raises
    ------
    FormatError
        The ending is another one.
    FileExistsError
        The file exists, and not ``force``.
    """
    path = Path(path)
    _require_ending(path, what)
    values = plain(content)
    if path.suffix.lower() == ".json":
        text = json.dumps(values, indent=1) + "\n"
    else:
        text = header + "\n".join(_lines(values)) + "\n"
    with replacing(path, force=force) as partial:
        partial.write_text(text, "utf-8")


def read_values(path: str | PathLike[str], *, what: str) -> Any:  # noqa: ANN401 (any JSON value)
    """Read values from a file that :func:`write_values` or an editor wrote.

    Raises
    ------
    FormatError
        The ending is another one, or the file has no such syntax.
    FileNotFoundError
        There is no such file.
    """
    path = Path(path)
    _require_ending(path, what)
    try:
        text = path.read_text("utf-8")
        return json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # both decoders raise kinds of ValueError
        raise FormatError(f"expected a {what}, got {error}", path=path) from error


def plain(value: Any) -> Any:  # noqa: ANN401 (any value of a field)
    """Return a value as numbers, texts, lists and tables, without what is None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value


def _require_ending(path: Path, what: str) -> None:
    if path.suffix.lower() not in {".toml", ".json"}:
        raise FormatError(f"expected a {what} file ending in .toml or .json", path=path)


def _lines(content: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the lines of a table: its values, then its tables."""
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    for key, value in content.items():
        if key not in tables:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in tables.items():
        if value:
            name = f"{prefix}{_key(key)}"
            yield f"\n[{name}]"
            yield from _lines(value, f"{name}.")


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if bare else json.dumps(key)


def _value(value: object) -> str:
    """Return a value as TOML; a matrix has one row per line."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        rows = "".join(f"    {_value(row)},\n" for row in value)
        return f"[\n{rows}]"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float):
        return repr(value)  # the shortest decimal that gives the same bits
    return json.dumps(value)
