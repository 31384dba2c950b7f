"""IMU topics whose rows are means over intervals, recognised by their messages or names."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from strapdown.errors import FormatError
from strapdown.px4.vehicle_imu import Mode
from strapdown.samples import SampleKind

if TYPE_CHECKING:
    from strapdown.formats.recording import Recording
    from strapdown.px4.vehicle_imu import PipelineSettings

__all__ = ["with_kinds"]

_AT_THEIR_END: Final = re.compile(r"(^|/)highres_imu(/id\d+)?$")
_IN_THEIR_MIDDLE: Final = re.compile(r"(^|/)(sensor_combined|vehicle_imu)(\.\d+)?$")


def with_kinds(
    settings: PipelineSettings, recording: Recording, topic: str, *, anyway: bool
) -> tuple[PipelineSettings, tuple[str, ...]]:
    """Choose between instants and means for the samples of a topic, unless the settings do.

    Returns
    -------
    PipelineSettings
        With both kinds set to mean, where the rows are known to be means and the mode uses kinds.
    tuple of str
        A line about the choice, if any.

    Raises
    ------
    FormatError
        The rows are means stamped at the middle of intervals that the file does not contain, and
        ``anyway`` is false.
    """
    is_said = settings.gyro_kind is not None and settings.accel_kind is not None
    is_inside = _IN_THEIR_MIDDLE.search(topic) is not None
    is_mean = is_inside or _AT_THEIR_END.search(topic) or topic in recording.report.coverage
    if is_said or not is_mean:
        return settings, ()
    if is_inside and not anyway:
        raise FormatError(
            f"expected samples, got mean rates in {topic} without their intervals; integrate the "
            "recording that they come from, or set their kind (--kind)",
            path=recording.path,
            topic=topic,
        )
    if settings.mode is Mode.PX4:  # the autopilot treats all samples alike
        return settings, ()
    note = (
        f"{topic} holds means: each is taken over the time from the previous stamp to its own, "
        "which requires every window; --kind overrides this"
    )
    mean = SampleKind.MEAN
    kinds = settings.gyro_kind or mean, settings.accel_kind or mean
    return replace(settings, gyro_kind=kinds[0], accel_kind=kinds[1]), (note,)
