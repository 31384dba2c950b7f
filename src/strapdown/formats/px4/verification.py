"""Verification of a PX4 log: ``sensor_combined`` recomputed from its raw samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown.errors import FormatError
from strapdown.formats.px4.raw_topics import parameters_of, raw_messages, release_of, thermal_of
from strapdown.messages.px4 import SensorCombined, SensorSelection
from strapdown.px4.verification import Verification, verify

if TYPE_CHECKING:
    from strapdown.formats.px4.log import Px4Log

__all__ = ["verify_log"]


def verify_log(log: Px4Log) -> Verification:
    """Recompute the ``sensor_combined`` of a log from its raw samples, and compare.

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
    gyro, accel = raw_messages(log, "gyro"), raw_messages(log, "accel")
    for sensor, found in (("gyro", gyro), ("accel", accel)):
        if not found:
            raise FormatError(
                f"expected the raw samples of the {sensor}, got none; log sensor_{sensor}_fifo "
                "(bits 8 and 9 of SDLOG_PROFILE)",
                path=log.path,
            )
    selection = None
    if log.instances(SensorSelection.topic):
        selection = log.records(SensorSelection).records
    return verify(
        [raw.messages for raw in gyro],
        [raw.messages for raw in accel],
        log.records(SensorCombined).records,
        parameters=parameters_of(log),
        selection=selection,
        correction=thermal_of(log),
        px4_version=release_of(log),
    )
