"""A PX4 log against itself: whether its raw samples give its own ``sensor_combined``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.errors import FormatError
from strapdown.formats._px4_raw import RAW, is_whole
from strapdown.messages.px4 import SensorCombined, SensorSelection
from strapdown.messages.px4_versions import release
from strapdown.px4.verification import LogParameters, Verification, verify

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from strapdown.formats.px4_log import Px4Log
    from strapdown.messages.uorb import UorbMessage

__all__ = ["verify_log"]

_CORRECTION: Final = "sensor_correction"


def verify_log(log: Px4Log) -> Verification:
    """Make the ``sensor_combined`` of a log again from its raw samples, and compare.

    Parameters
    ----------
    log : Px4Log
        With ``sensor_combined``, and FIFO packets or sensor messages at their full rate.

    Returns
    -------
    Verification

    Raises
    ------
    FormatError
        The log lacks one of these.
    """
    if not log.instances(SensorCombined.topic):
        raise FormatError("expected sensor_combined to compare with, got none", path=log.path)
    raw = {sensor: _raw(log, kinds) for sensor, kinds in RAW.items()}
    for sensor, messages in raw.items():
        if not messages:
            raise FormatError(
                f"expected the raw samples of the {sensor}, got none; log sensor_{sensor}_fifo "
                "(bits 8 and 9 of SDLOG_PROFILE)",
                path=log.path,
            )
    selection = correction = None
    if log.instances(SensorSelection.topic):
        selection = log.records(SensorSelection).records
    if log.instances(_CORRECTION):
        correction = log.rows(_CORRECTION)
    return verify(
        raw["gyro"],
        raw["accel"],
        log.records(SensorCombined).records,
        parameters=LogParameters(log.parameters, log.parameter_changes),
        selection=selection,
        correction=correction,
        px4_version=_version(log),
    )


def _raw(log: Px4Log, kinds: tuple[type[UorbMessage], ...]) -> list[NDArray[np.void]]:
    """Return the messages of every instance of the first kind that the log has in full."""
    for kind in kinds:
        whole = [number for number in log.instances(kind.topic) if is_whole(log, kind, number)]
        if whole:
            return [log.records(kind, number).records for number in whole]
    return []


def _version(log: Px4Log) -> tuple[int, int]:
    """Return the release of the autopilot; the latest that matters where it is not said."""
    said = log.info.get("ver_sw_release")
    return release(said)[:2] if isinstance(said, int) else (1, 16)
