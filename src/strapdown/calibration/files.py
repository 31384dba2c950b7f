"""Files of calibrations."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from strapdown.calibration._toml import plain, read_values, write_values
from strapdown.calibration.imu import ImuCalibration, Provenance
from strapdown.calibration.triad import TemperatureCurve, TriadCalibration
from strapdown.errors import FormatError, StrapdownError

if TYPE_CHECKING:
    from collections.abc import Mapping
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
    content = _to_dict(calibration)
    write_values(content, path, what="calibration", header=HEADER, force=force)


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
    content = read_values(path, what="calibration")
    try:
        return _from_dict(content)
    except FormatError as error:
        raise FormatError(error.message, path=path) from error


def _to_dict(calibration: ImuCalibration) -> dict[str, Any]:
    """Return a calibration as plain values; what is unknown is left out."""
    content: dict[str, Any] = {"format": FORMAT, "body": str(calibration.body)}
    for name in TRIADS:
        triad = getattr(calibration, name)
        if triad is not None:
            content[name] = plain(asdict(triad))
    content["gyro"]["g_sensitivity"] = calibration.g_sensitivity.tolist()
    content["provenance"] = plain(asdict(calibration.provenance))
    return content


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
