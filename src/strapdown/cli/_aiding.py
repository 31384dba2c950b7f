"""Fixes and barometer of ``strapdown navigate``: their source, clock and mounting, and results."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import strapdown.formats as files
from strapdown.cli._streams import as_file
from strapdown.errors import FormatError
from strapdown.estimation.navigation.gnss import (
    BAROMETER_SIGMA,
    barometer_aiding,
    gnss_aiding,
    with_accuracy,
)
from strapdown.evaluation import outages
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from pathlib import Path

    from strapdown._typing import BoolArray, IntArray
    from strapdown.estimation.navigation import Aiding, NavigationResult
    from strapdown.formats import Recording
    from strapdown.series import BarometerSeries, GnssSeries, ImuSeries

__all__ = ["Receiver", "Usage", "receiver_of", "usage_of"]

_NOWHERE: Final = (
    "the place on the Earth is unknown: its gravity and rotation are those of 45 deg north, and "
    "longitudes count from the origin"
)
_DELAY: Final = "EKF2_GPS_DELAY"
_PLACES: Final = ("EKF2_GPS_POS_X", "EKF2_GPS_POS_Y", "EKF2_GPS_POS_Z")
_IMU_PLACES: Final = ("EKF2_IMU_POS_X", "EKF2_IMU_POS_Y", "EKF2_IMU_POS_Z")
"""Parameters of PX4: delay of a receiver [ms], places of antenna and IMU [m, FRD]."""


@dataclass(frozen=True)
class Receiver:
    """Fixes for a navigator.

    Parameters
    ----------
    topic : str
        Their topic, and the file where it is not that of the IMU.
    fixes : GnssSeries
        On the clock of the IMU, less their latency, during the samples of the IMU.
    latency, velocity_latency : float
        By how much the stamps of their positions, and of their velocities, were late [s].
    lever_arm : (3,)
        From the IMU to the antenna [m, FLU].
    barometer : BarometerSeries, optional
        During the samples of the IMU.
    notes : list of str
        For the user.
    """

    topic: str
    fixes: GnssSeries
    latency: float
    velocity_latency: float
    lever_arm: tuple[float, float, float]
    barometer: BarometerSeries | None = None
    notes: list[str] = field(default_factory=list)

    def aiding(self, origin: tuple[float, float, float]) -> list[Aiding]:
        """Return the aiding of a navigator whose world has this origin."""
        found = gnss_aiding(
            self.fixes,
            origin,
            lever_arm=self.lever_arm,
            velocity_latency=self.velocity_latency - self.latency,
        )
        if self.barometer is not None:
            found += barometer_aiding(self.barometer, BAROMETER_SIGMA)
        return sorted(found, key=lambda each: each.t_ns)


def receiver_of(
    recording: Recording,
    imu: ImuSeries,
    file: Path | None,
    *,
    topic: str | None,
    lever_arm: tuple[float, float, float] | None,
    latency: float | None,
    velocity_latency: float | None,
) -> Receiver:
    """Return the fixes of a recording, or of another file, on the clock of its IMU.

    Raises
    ------
    FormatError
        There are no fixes, or a track states no covariance; their clock has no relation to that of
        the IMU, or none is during the samples of the IMU.
    """
    source = recording
    if file is not None:
        source = files.open(as_file(file), on_error="salvage")
    topic, fixes, notes = _chosen(source, topic)
    if file is not None:
        notes += source.report.notes
        if not recording.knows_1970 or not source.knows_1970:
            raise FormatError(
                "expected an IMU and fixes whose clocks count from 1970, the recording does not "
                "state when its clock began; convert it with stamps since 1970 first",
                path=recording.path,
            )
        shift_ns = (source.clock_offset_ns or 0) - (recording.clock_offset_ns or 0)
        fixes = fixes.replace(t_ns=fixes.t_ns + shift_ns)
    delay, arm, of_log = _mounting(recording)
    notes += of_log if latency is None or lever_arm is None else []
    delay, arm = delay if latency is None else latency, arm if lever_arm is None else lever_arm
    fixes = fixes.replace(t_ns=fixes.t_ns - round(delay * NS_PER_S))
    usable, assumed = with_accuracy(fixes[fixes.has_fix])
    notes += [assumed] if assumed else []
    inside = _during(usable.t_ns, imu)
    if not inside.any():
        raise FormatError(_apart(usable.t_ns, imu.t_ns), path=file or recording.path)
    barometer = next(iter(recording.barometers.values()), None)
    if barometer is not None:
        barometer = barometer[_during(barometer.t_ns, imu)]
    name = topic if file is None else f"{topic} of {file}"
    moving = delay if velocity_latency is None else velocity_latency
    return Receiver(name, usable[inside], delay, moving, arm, barometer or None, notes)


def _chosen(source: Recording, topic: str | None) -> tuple[str, GnssSeries, list[str]]:
    """Return name, fixes and notes of a topic: of a receiver, or of a track with positions."""
    if topic is not None and topic in source.trajectories:
        return topic, _of_track(source, topic), [_NOWHERE]
    name = source.gnss_topic(topic)
    others = sorted(source.gnss.keys() - {name})
    notes = [f"fixes {name}; --gnss-topic chooses another: {', '.join(others)}"] if others else []
    return name, source.gnss[name], notes if topic is None else []


def _of_track(source: Recording, topic: str) -> GnssSeries:
    """Return the positions of a track, whose place on the Earth is unknown, as fixes.

    Raises
    ------
    FormatError
        It has no positions, or states no covariance.
    """
    from strapdown.series import GnssSeries  # noqa: PLC0415 (only this makes fixes)

    track = source.trajectories[topic].in_frames(world="ENU")
    if track.position_world is None or track.position_covariance is None:
        missing = "positions" if track.position_world is None else "covariances of its positions"
        raise FormatError(
            f"expected {missing} to aid navigation with {topic}, got none", path=source.path
        )
    known = np.flatnonzero(np.isfinite(track.position_world).all(axis=1))
    return GnssSeries.from_local_enu(
        track.t_ns,
        track.position_world,
        (math.radians(45.0), 0.0, 0.0),
        track.position_covariance,
        velocity_world=track.velocity_world,
        velocity_covariance=track.velocity_covariance,
    )[known]


def _mounting(recording: Recording) -> tuple[float, tuple[float, float, float], list[str]]:
    """Return latency [s] and lever arm [m, FLU] by the parameters of a PX4 log, with a note."""
    values = {} if recording.log is None else recording.log.parameters
    delay = float(values.get(_DELAY, 0.0)) * 1e-3
    forward, right, down = (
        float(values.get(antenna, 0.0)) - float(values.get(own, 0.0))
        for antenna, own in zip(_PLACES, _IMU_PLACES, strict=True)
    )
    arm = forward, 0.0 - right, 0.0 - down
    if not delay and not any(arm):
        return delay, arm, []
    place = " ".join(f"{each:g}" for each in arm)
    return delay, arm, [f"parameters of the log: latency {delay:g} s, lever arm {place} m"]


def _during(t_ns: IntArray, imu: ImuSeries) -> BoolArray:
    return np.asarray((t_ns >= imu.t_ns.min()) & (t_ns <= imu.t_ns.max()))


def _apart(fixes_ns: IntArray, imu_ns: IntArray) -> str:
    if not len(fixes_ns):
        return "expected fixes with a position, got none"
    behind = (int(fixes_ns.min()) - int(imu_ns.min())) / NS_PER_S
    return (
        f"expected fixes during the samples of the IMU, got none: they begin {abs(behind):.3f} s "
        f"{'after' if behind > 0.0 else 'before'} it; --latency shifts their stamps"
    )


@dataclass(frozen=True)
class Usage:
    """Result of the aiding of a run.

    Parameters
    ----------
    kinds : dict of str to dict
        By kind: numbers ``used`` and ``refused``, and ``nis``, the mean of the normalised
        innovation squared by degree of freedom, 1 where the model is right.
    outages : list of (int, int)
        Begin and end of the times without a used fix [ns].
    """

    kinds: dict[str, dict[str, Any]]
    outages: list[tuple[int, int]]

    def lines(self) -> list[str]:
        """Return the account as text."""
        lines = [
            f"{kind.replace('_', ' ')}: {of['used']} used, {of['refused']} refused, mean NIS "
            f"{of['nis']:.2f} a value"
            for kind, of in self.kinds.items()
        ]
        if self.outages:
            longest = max(end - begin for begin, end in self.outages) / NS_PER_S
            lines.append(f"outages of fixes: {len(self.outages)}, the longest {longest:.1f} s")
        return lines


def usage_of(result: NavigationResult) -> Usage:
    """Return the account of the aiding of a run."""
    kinds: dict[str, dict[str, Any]] = {}
    for kind in dict.fromkeys(each.kind for each in result.aiding):
        of = [each for each in result.aiding if each.kind == kind]
        used = sum(each.accepted for each in of)
        mean = float(np.mean([each.nis / each.dof for each in of]))
        kinds[kind] = {"used": used, "refused": len(of) - used, "nis": mean}
    used_ns = [each.t_ns for each in result.aiding if each.kind == "position" and each.accepted]
    return Usage(kinds, outages(np.array(used_ns, np.int64), result.t_ns))
