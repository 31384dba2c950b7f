"""Files of calibrations: TOML or JSON, with the same numbers to the last bit."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.calibration.imu import ImuCalibration, Provenance
from strapdown.calibration.triad import TemperatureCurve, TriadCalibration
from strapdown.errors import FormatError, StrapdownError
from strapdown.formats._output import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

__all__ = ["load_calibration", "save_calibration"]

FORMAT: Final = "strapdown calibration 1"
TRIADS: Final = ("accel", "gyro", "magnetometer")
HEADER: Final = """\
# Calibration of an inertial measurement unit:
#   specific force    f = accel.matrix (s - accel.bias)                          [m/s^2]
#   angular velocity  w = gyro.matrix (s - gyro.bias - gyro.g_sensitivity f)     [rad/s]
#   magnetic field    m = magnetometer.matrix (s - magnetometer.bias)
# s are readings in unit_in, or in SI units where it is empty. Axes: body.
# Covariances are those of the bias, then of the matrix row by row.

"""


def save_calibration(
    calibration: ImuCalibration, path: str | PathLike[str], *, force: bool = False
) -> None:
    """Write a calibration to a file.

    Parameters
    ----------
    calibration : ImuCalibration
        What to write.
    path : path-like
        Ending in ``.toml`` or ``.json``.
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
    _require_ending(path)
    content = _to_dict(calibration)
    if path.suffix.lower() == ".json":
        text = json.dumps(content, indent=1) + "\n"
    else:
        text = HEADER + "\n".join(_toml_lines(content)) + "\n"
    with replacing(path, force=force) as partial:
        partial.write_text(text, "utf-8")


def load_calibration(path: str | PathLike[str]) -> ImuCalibration:
    """Read a calibration from a file that :func:`save_calibration` or an editor wrote.

    Parameters
    ----------
    path : path-like
        Ending in ``.toml`` or ``.json``.

    Raises
    ------
    FormatError
        It is no calibration; the message names the entry.
    FileNotFoundError
        There is no such file.
    """
    path = Path(path)
    _require_ending(path)
    try:
        text = path.read_text("utf-8")
        content = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # both decoders raise kinds of ValueError
        raise FormatError(f"expected a calibration, got {error}", path=path) from error
    try:
        return _from_dict(content)
    except FormatError as error:
        raise FormatError(error.message, path=path) from error


def _require_ending(path: Path) -> None:
    if path.suffix.lower() not in {".toml", ".json"}:
        raise FormatError("expected a calibration file ending in .toml or .json", path=path)


def _to_dict(calibration: ImuCalibration) -> dict[str, Any]:
    """Return a calibration as plain values; what is unknown is left out."""
    content: dict[str, Any] = {"format": FORMAT, "body": str(calibration.body)}
    for name in TRIADS:
        triad = getattr(calibration, name)
        if triad is not None:
            content[name] = _plain(asdict(triad))
    content["gyro"]["g_sensitivity"] = calibration.g_sensitivity.tolist()
    content["provenance"] = _plain(asdict(calibration.provenance))
    return content


def _plain(value: Any) -> Any:  # noqa: ANN401 (any value of a field)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value


def _from_dict(content: Mapping[str, Any]) -> ImuCalibration:
    """Return the calibration of a file's content.

    Raises
    ------
    FormatError
        An entry is missing, unknown, or of the wrong kind.
    """
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else type(content).__name__
        raise FormatError(f"expected format = {FORMAT!r}, got {found!r}")
    rest = {key: value for key, value in content.items() if key != "format"}
    known: dict[str, Any] = {"body": rest.pop("body", "FLU")}
    gyro = rest.get("gyro")
    if isinstance(gyro, dict) and "g_sensitivity" in gyro:
        rest["gyro"] = {key: value for key, value in gyro.items() if key != "g_sensitivity"}
        known["g_sensitivity"] = gyro["g_sensitivity"]
    for name in TRIADS:
        if name in rest:
            known[name] = _triad(rest.pop(name), name)
    if "provenance" in rest:
        provenance = dict(_table(rest.pop("provenance"), "provenance"))
        provenance["notes"] = tuple(provenance.get("notes", ()))
        known["provenance"] = _made(Provenance, provenance, "provenance")
    if rest:
        raise FormatError(f"expected entries of a calibration, got {', '.join(map(repr, rest))}")
    calibration: ImuCalibration = _made(ImuCalibration, known, "calibration")
    return calibration


def _triad(content: object, name: str) -> TriadCalibration:
    table = dict(_table(content, name))
    if "temperature" in table:
        where = f"{name}.temperature"
        table["temperature"] = _made(
            TemperatureCurve, dict(_table(table["temperature"], where)), where
        )
    triad: TriadCalibration = _made(TriadCalibration, table, name)
    return triad


def _table(content: object, where: str) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        raise FormatError(f"expected a table [{where}], got {content!r}")
    return content


def _made(kind: type, entries: dict[str, Any], where: str) -> Any:  # noqa: ANN401 (of that kind)
    try:
        return kind(**entries)
    except (StrapdownError, TypeError) as error:
        text = str(error).replace(f"{kind.__name__}.__init__() ", "")
        raise FormatError(f"[{where}]: {text}") from error


def _toml_lines(content: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the lines of a table: its values, then its tables."""
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    for key, value in content.items():
        if key not in tables:
            yield f"{_toml_key(key)} = {_toml_value(value)}"
    for key, value in tables.items():
        if value:
            name = f"{prefix}{_toml_key(key)}"
            yield f"\n[{name}]"
            yield from _toml_lines(value, f"{name}.")


def _toml_key(key: str) -> str:
    bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if bare else json.dumps(key)


def _toml_value(value: object) -> str:
    """Return a value as TOML; a matrix has one row per line."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        rows = "".join(f"    {_toml_value(row)},\n" for row in value)
        return f"[\n{rows}]"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, float):
        return repr(value)  # the shortest decimal that gives the same bits
    return json.dumps(value)
