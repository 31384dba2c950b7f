"""``strapdown mavlink send``: sending of a recorded IMU by MAVLink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from strapdown.bridges.mavlink import (
    Kind,
    MavlinkLink,
    RawScale,
    attitude_records_from_trajectory,
    records_from_series,
    records_from_vehicle_imu,
)
from strapdown.cli._common import Input, Topic, read_losses
from strapdown.cli._outcome import Outcome
from strapdown.cli._reading import open_input
from strapdown.messages.conversion import vehicle_imu_from_increments

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from strapdown.formats import Recording


def send(
    source: Input,
    *,
    to: Annotated[
        str, typer.Option(metavar="[HOST:]PORT", help="UDP address to send to.")
    ] = "127.0.0.1:14560",
    message: Annotated[Kind, typer.Option(help="The message to send.")] = Kind.HIL_SENSOR,
    topic: Topic = None,
    speed: Annotated[
        float, typer.Option(help="Recorded seconds per second; inf: as fast as possible.")
    ] = 1.0,
    raw_scale: Annotated[
        tuple[float, float, float] | None,
        typer.Option(
            metavar="ACCEL GYRO MAG", help="Scale of raw_imu per count \\[m/s^2, rad/s, T]."
        ),
    ] = None,
) -> Outcome:
    """Send an IMU, or the attitude, of a recording as MAVLink 2 at its recorded pace.

    Axes are converted to FRD, units to those of the message. Increments are
    sent as mean rates: highres_imu and scaled_imu stamped as by PX4, at the
    end of each window, hil_sensor at the middle. Missing quantities are
    marked as such (hil_sensor, highres_imu). UDP only: PX4's simulator link
    is TCP.

    Exit code 3: nobody listened at the address, or numbers were saturated.

    The fields of --json: input, to, message, messages, refused, saturated,
    wall_s.

    Examples
    --------
    strapdown mavlink send demo.mcap --to 127.0.0.1:14560

    strapdown mavlink send flight.ulg --message highres_imu --to 14550 --speed 2

    strapdown mavlink send demo.mcap --topic imu/data --message scaled_imu --speed inf
    """
    if message is Kind.RAW_IMU and raw_scale is None:
        raise typer.BadParameter(
            "raw_imu needs it: the message does not state its scale",
            param_hint="'--raw-scale'",
        )
    recording = open_input(source, topic=topic)
    scale = None if raw_scale is None else RawScale(*raw_scale)
    records = _records(message, recording, topic, scale)
    with MavlinkLink(to=to) as link:
        sent = link.send(message, records, speed=speed)
    data = {
        "input": str(source),
        "to": to,
        "message": message.name,
        "messages": sent.messages,
        "refused": sent.refused,
        "saturated": sent.saturated,
        "wall_s": sent.wall_s,
    }
    lost = read_losses(recording.report)
    if sent.refused:
        lost.append(f"{sent.refused} messages refused: nobody listens at {to}")
    if sent.saturated:
        lost.append(f"{sent.saturated} messages hold numbers that do not fit 16 bits: saturated")
    return Outcome(
        data, [f"sent {sent.messages} {message.name} to {to} in {sent.wall_s:.1f} s"], lost
    )


def _records(
    kind: Kind, recording: Recording, topic: str | None, scale: RawScale | None
) -> NDArray[np.void]:
    """Return the messages to send."""
    if kind in {Kind.ATTITUDE, Kind.ATTITUDE_QUATERNION}:
        return attitude_records_from_trajectory(recording.trajectory(topic), kind=kind)
    increments = recording.increments.get(topic or "")
    if topic is None and not recording.imu:
        increments = next(iter(recording.increments.values()), None)
    if increments is not None and kind not in {Kind.HIL_SENSOR, Kind.RAW_IMU}:
        return records_from_vehicle_imu(kind, vehicle_imu_from_increments(increments))
    return records_from_series(kind, recording.imu_series(topic), scale=scale)
