"""Telemetry logs with a scale of RAW_IMU; ``strapdown.open`` reads them without one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from strapdown._checks import as_member
from strapdown.formats import OnError
from strapdown.formats.mavlink import reader

if TYPE_CHECKING:
    from os import PathLike

    from strapdown.formats import Recording
    from strapdown.formats.mavlink.conversion import RawScale

__all__ = ["read_tlog"]


def read_tlog(
    path: str | PathLike[str],
    *,
    on_error: OnError | str = OnError.STRICT,
    scale: RawScale | None = None,
) -> Recording:
    """Read a telemetry log of a ground station: a time stamp before every frame.

    Parameters
    ----------
    path : path-like
        A ``.tlog`` file.
    on_error : {"strict", "salvage"}
        Whether bytes that are no frame are raised, or counted in ``Recording.report``. Messages
        that are missing by their sequence numbers are counted in both.
    scale : RawScale, optional
        Of RAW_IMU. Without it RAW_IMU of ArduPilot is read in thousandths of g, rad/s and gauss,
        and that of others is left out, and counted.

    Returns
    -------
    Recording
        With the stamps of the messages; ``clock_offset_ns`` converts them to time since 1970.

    Raises
    ------
    FormatError
        Bytes are no frame; TruncatedError where the file ends inside one. In salvage, only
        where there is no frame at all.
    BackendMissingError
        pymavlink is not installed.
    UnknownNameError
        ``on_error`` is neither of the two.
    """
    salvage = as_member(OnError, on_error, "way to treat damage") is OnError.SALVAGE
    return reader.read(Path(path), salvage=salvage, scale=scale)
