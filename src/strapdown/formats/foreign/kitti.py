"""KITTI: the folder ``oxts`` of a drive, one file of 30 numbers per sample.

``ax ay az`` [m/s^2] and ``wx wy wz`` [rad/s] are in axes forward, left, up; roll, pitch and yaw
[rad] give the attitude in ENU, with the yaw counted from east.

References
----------
A. Geiger et al., Vision meets robotics: The KITTI dataset, Int. J. Robotics Research 32(11), 2013;
``dataformat.txt`` of the data set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats.foreign.stamps import ns_from_iso8601
from strapdown.formats.recording import Recording
from strapdown.formats.reports import ReadReport
from strapdown.geometry import EulerConvention, euler
from strapdown.series import ImuSeries, Trajectory

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read", "sniff"]

_WIDTH: Final = 30
_ATTITUDE: Final = slice(3, 6)
_FORCE: Final = slice(11, 14)
_RATE: Final = slice(17, 20)


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (one signature for all formats)
    """Return whether a folder is that of a drive, or its ``oxts``."""
    return path.is_dir() and (_root(path) / "timestamps.txt").is_file()


def read(path: Path, *, salvage: bool) -> Recording:
    """Read the samples of a drive.

    Parameters
    ----------
    path : Path
        The folder of the drive, or its folder ``oxts``.
    salvage : bool
        Count samples that are missing or damaged and leave them out, instead of raising an error.

    Returns
    -------
    Recording
        ``imu["imu"]`` and ``trajectories["reference"]``, the attitude of the receiver.

    Raises
    ------
    FormatError
        A sample or a stamp is damaged.
    """
    root = _root(path)
    stamps = (root / "timestamps.txt").read_text("utf-8").split("\n")
    times: list[int] = []
    values: list[list[float]] = []
    lost = 0
    for number, text in enumerate(line for line in stamps if line.strip()):
        file = root / "data" / f"{number:010d}.txt"
        try:
            values.append(_sample(file))
            times.append(ns_from_iso8601(text))
        except (OSError, ValueError) as error:
            if not salvage:
                reason = f"expected sample {number} of the drive: {error}"
                raise FormatError(reason, path=file) from error
            del values[len(times) :]
            lost += 1
    if not times:
        raise FormatError(f"expected samples in {root / 'data'}, got none", path=root)
    rows, t_ns = np.array(values), np.array(times)
    q = euler.to_quaternion(rows[:, _ATTITUDE], EulerConvention.ZYX)
    imu = ImuSeries(t_ns, rows[:, _RATE], rows[:, _FORCE])
    truth = Trajectory(t_ns, q, name="reference")
    report = ReadReport("kitti", len(t_ns), lost, notes=("axes FLU, attitude in ENU",))
    return Recording(path, report, {"imu": imu}, {"reference": truth})


def _sample(path: Path) -> list[float]:
    """Return the numbers of one sample.

    Raises
    ------
    OSError, ValueError
        There is no such file, or it does not hold the numbers.
    """
    row = [float(cell) for cell in path.read_text("ascii").split()]
    if len(row) != _WIDTH:
        raise ValueError(f"expected {_WIDTH} numbers, got {len(row)}")
    return row


def _root(path: Path) -> Path:
    return path / "oxts" if (path / "oxts").is_dir() else path
