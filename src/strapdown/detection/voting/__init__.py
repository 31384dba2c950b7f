"""Voting: one angular velocity and specific force from several IMUs on one body."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown._checks import as_finite
from strapdown._compile import compiled
from strapdown.detection.detector import DetectorParams, DetectorState
from strapdown.detection.events import Event, Events
from strapdown.detection.voting import _kernels as kernels
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.geometry.frames import BodyFrame
from strapdown.series import ImuSeries
from strapdown.timebase import ordered, resample
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray, IntArray
    from strapdown.samples import ImuSample

__all__ = [
    "Mount",
    "SensorState",
    "Vote",
    "VoteResult",
    "Voter",
    "VoterParams",
    "VoterProfile",
    "VoterReport",
]

_CYCLES: Final = 1 << 14  # between which a batch collects its log
_KINDS: Final = (
    "suspect", "failed", "cleared", "recovered", "selected", "disagree", "agree",
)  # fmt: skip
_UNKNOWN: Final = 2e30  # stands for NaN in a saved state
_ABSENT: Final = (math.nan, math.nan, math.nan)
_QUANTITIES: Final = ("gyro", "accel")


@dataclass(frozen=True)
class Mount:
    """Where a sensor sits on the body.

    Parameters
    ----------
    q_body_from_sensor : (4,)
        Turns sensor axes into body axes, x y z w, of unit length.
    lever_arm_m : (3,)
        From the origin of the body to the sensor [m, body].
    """

    q_body_from_sensor: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    lever_arm_m: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class VoterProfile:
    """What is known about a sensor.

    Parameters
    ----------
    gyro_sigma_rad_s, accel_sigma_m_s2 : float
        Noise of one sample of an axis.
    priority : int
        The sensor with the lowest is selected first; among equals the earlier one.
    """

    gyro_sigma_rad_s: float = 0.1 * RAD_PER_DEG
    accel_sigma_m_s2: float = 0.02
    priority: int = 0


@dataclass(frozen=True)
class VoterParams(DetectorParams):
    """What can be set.

    Parameters
    ----------
    fast_s, slow_s : float
        Time constants of the low-passes of residuals.
    gyro_bias_rad_s, accel_bias_m_s2 : float
        How far two good sensors may be apart at rest.
    scale : float
        Relative difference of their scales, one sigma.
    suspect_s, failed_s : float
        Over a limit for so long a sensor is suspect, or has failed.
    recover_s : float
        Inside half the limits for so long it is well again.
    hold_s : float
        The selection does not leave a suspect sooner after it has changed.
    gravity_m_s2 : float
        What a good accelerometer reads at rest.
    blend : bool
        Put out the mean of the good sensors, weighted by their noise, and not the selected one.
    noise_free : bool
        Sensors are simulated without noise: values may repeat.

    Raises
    ------
    ValueRangeError
        A value is not finite and positive.
    """

    fast_s: float = 0.1
    slow_s: float = 2.0
    gyro_bias_rad_s: float = 0.5 * RAD_PER_DEG
    accel_bias_m_s2: float = 0.3
    scale: float = 0.01
    suspect_s: float = 0.1
    failed_s: float = 1.0
    recover_s: float = 10.0
    hold_s: float = 1.0
    gravity_m_s2: float = STANDARD_GRAVITY
    blend: bool = field(default=False, metadata={"zero": True})
    noise_free: bool = field(default=False, metadata={"zero": True})


class SensorState(IntEnum):
    """How a sensor is."""

    OK = 0
    SUSPECT = 1
    FAILED = 2


class Vote(NamedTuple):
    """What the body feels, and what has changed.

    Parameters
    ----------
    t_ns : int
        Stamp to which the sensors were brought [ns]: the oldest of those that are not late.
    angular_velocity, specific_force : tuple of 3 float
        [rad/s], [m/s^2], body axes, at the origin of the body; NaN where no sensor measures.
    events : tuple of Event
        Changes with this cycle.
    """

    t_ns: int
    angular_velocity: tuple[float, float, float]
    specific_force: tuple[float, float, float]
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, eq=False)
class VoteResult:
    """What came of a vote on recordings.

    Parameters
    ----------
    series : ImuSeries
        The voted samples, N rows, body axes.
    states : (N, 2, n) int64
        :class:`SensorState` of the gyro and the accelerometer of each sensor.
    selected : (N, 2) int64
        Number of the sensor that is selected for angular velocity and specific force.
    events : Events
        Changes, in their order.
    """

    series: ImuSeries
    states: IntArray
    selected: IntArray
    events: Events


@dataclass(frozen=True)
class VoterReport:
    """An account of the cycles.

    Parameters
    ----------
    dropped : int
        Cycles whose common stamp repeats or goes back by up to a second.
    restarts : int
        Jumps of the common stamp by more than a second.
    missing_gyro, missing_accel : tuple of int
        For each sensor the cycles in which it was late, absent, not finite or implausible.
    """

    dropped: int
    restarts: int
    missing_gyro: tuple[int, ...]
    missing_accel: tuple[int, ...]


class Voter:
    """Vote among IMUs on one rigid body, in a stream or over recordings.

    Readings are interpolated to a common stamp, turned into body axes and, where there is a lever
    arm r, brought to the origin: ``f - alpha x r - w x (w x r)`` with the voted angular velocity w
    and its derivative alpha. Angular velocity and specific force are voted on separately.

    A sensor's *residual* is its distance from the component-wise median of those that have not
    failed, or from its partner if there are two. It is over the limit when

    * its mean over 0.1 s or 2 s exceeds ``4 sqrt(noise^2 + (scale |value|)^2) + bias``, with the
      noise behind that low-pass;
    * its noise, taken from its changes, exceeds ``4 sqrt(noise^2 + (scale |change|)^2)``;
    * its part along the value, a wrong scale, exceeds ``2 scale |value| + 4 noise`` and the bias;
    * or the sensor repeats one value 8 times or more, or gives none.

    After 0.1 s over the limit (less the time since) it is suspect, after 1 s it has failed, and
    10 s inside half the limits make it well. Of three or more, no output is farther than 3 sigma
    from the median in any component: whatever one of them does, the output stays with the others
    from the first sample on.

    Two cannot tell who is wrong. A sensor that is missing or repeats itself is; and while
    the direction of gravity stays as it is, the noisier one, the gyro that turns while the other
    rests, and the accelerometer whose norm is not gravity. If none of that decides, the present
    one is kept, and an event ``disagree`` says so.

    Events: ``suspect``, ``failed``, ``cleared`` (suspect no more), ``recovered``, ``selected``,
    each with the value ``sensor``; ``disagree`` and ``agree``; the flag is ``gyro`` or ``accel``.

    Latency: none to the output, 0.1 s and 1 s to the states. Memory: 75 numbers a sensor.

    Parameters
    ----------
    n : int
        Number of sensors, two or more.
    mounts : sequence of Mount, optional
        By default all sit at the origin in body axes.
    profiles : sequence of VoterProfile, optional
        By default all have the defaults.
    params : VoterParams, optional

    Raises
    ------
    ValueRangeError
        ``n`` is below 2, a rotation is not of unit length, or a sigma not positive.
    ShapeError
        There is not one mount and profile a sensor.
    """

    def __init__(
        self,
        n: int,
        mounts: Sequence[Mount] | None = None,
        profiles: Sequence[VoterProfile] | None = None,
        params: VoterParams | None = None,
    ) -> None:
        if n < 2:
            raise ValueRangeError(f"expected n of at least 2 sensors, got {n}")
        mounts = [Mount()] * n if mounts is None else mounts
        profiles = [VoterProfile()] * n if profiles is None else profiles
        if len(mounts) != n or len(profiles) != n:
            raise ShapeError(
                f"expected {n} mounts and profiles, got {len(mounts)} and {len(profiles)}"
            )
        self.params = params or VoterParams()
        self._mounts = np.array([_pose(mount) for mount in mounts])
        sigmas = [(p.gyro_sigma_rad_s, p.accel_sigma_m_s2) for p in profiles]
        self._noise = np.ascontiguousarray(as_finite(sigmas, "sigmas", (2,)).T)
        if not np.all(self._noise > 0.0):
            raise ValueRangeError(f"expected sigmas of profiles above 0, got {sigmas}")
        self._rank = np.array([p.priority for p in profiles], np.int64)
        self._settings = np.array(self.params.settings())
        self._size = n
        self._cycle = compiled(kernels.cycle)
        self.reset()

    def reset(self, state: DetectorState | None = None) -> None:
        """Go back to a saved state, or to the beginning.

        Raises
        ------
        UnknownNameError
            The state belongs to a detector.
        ShapeError
            The state belongs to another number of sensors.
        """
        n = self._size
        self._rows = np.zeros((2 * n, kernels.ROW))
        self._shared = np.zeros(kernels.SHARED_SIZE)
        for quantity in range(2):
            at = quantity * kernels.SHARED
            self._shared[at + kernels.SELECTED] = np.argmin(self._rank)
            self._shared[at + kernels.HOLD] = self.params.hold_s
        self._account = np.zeros(kernels.FIRST_STAMP + 3 * n, np.int64)
        self._before = np.full((n, 6), math.nan)
        self._readings = np.full((n, 6), math.nan)
        self._stamps = np.zeros(n, np.int64)
        self._here = np.zeros((n, 7))
        self._output = np.full(6, math.nan)
        self._log = np.zeros((4 * n + 8, kernels.LOG), np.int64)
        if state is not None:
            self._restore(state)

    @property
    def state(self) -> DetectorState:
        """All that the future depends on, except what the voter was made with."""
        parts = (self._rows, self._shared, self._before, self._output)
        values = np.concatenate([part.ravel() for part in parts])
        known = np.nan_to_num(values, nan=_UNKNOWN, posinf=_UNKNOWN, neginf=_UNKNOWN)
        return DetectorState("voter", tuple(known.tolist()), tuple(self._account.tolist()))

    def _restore(self, state: DetectorState) -> None:
        if state.detector != "voter":
            raise UnknownNameError("state of a voter", state.detector, ["voter"])
        parts = (self._rows, self._shared, self._before, self._output)
        ends = np.cumsum([part.size for part in parts])
        if (len(state.values), len(state.account)) != (ends[-1], len(self._account)):
            raise ShapeError(
                f"expected a voter state of {ends[-1]} numbers, got {len(state.values)}"
            )
        for part, values in zip(parts, np.split(np.array(state.values), ends[:-1]), strict=True):
            part[...] = values.reshape(part.shape)
        for part in (self._before, self._output):
            part[part == _UNKNOWN] = math.nan
        self._account[:] = state.account

    @property
    def gyro_states(self) -> tuple[SensorState, ...]:
        """State of each gyro."""
        return self._states(0)

    @property
    def accel_states(self) -> tuple[SensorState, ...]:
        """State of each accelerometer."""
        return self._states(1)

    def _states(self, quantity: int) -> tuple[SensorState, ...]:
        rows = self._rows[quantity * self._size : (quantity + 1) * self._size]
        return tuple(SensorState(int(state)) for state in rows[:, kernels.STATE])

    @property
    def selected(self) -> tuple[int, int]:
        """Numbers of the gyro and the accelerometer that are selected."""
        gyro, accel = self._shared[[kernels.SELECTED, kernels.SHARED + kernels.SELECTED]]
        return int(gyro), int(accel)

    @property
    def report(self) -> VoterReport:
        """An account of the cycles since the beginning."""
        numbers, n = self._account.tolist(), self._size
        gyro, accel = (kernels.FIRST_STAMP + k * n for k in (1, 2))
        return VoterReport(
            numbers[kernels.DROPPED],
            numbers[kernels.RESTARTS],
            tuple(numbers[gyro:accel]),
            tuple(numbers[accel : accel + n]),
        )

    def update(self, samples: Sequence[ImuSample | None]) -> Vote:
        """Take the newest sample of every sensor.

        Parameters
        ----------
        samples : sequence of ImuSample or None
            One a sensor, in sensor axes; None where none has come. One that is older than the
            newest by more than 1.5 cycles counts as missing.

        Raises
        ------
        ShapeError
            There are more or fewer samples than sensors.
        ValueRangeError
            A stamp does not fit in 64 bits.
        """
        if len(samples) != self._size:
            raise ShapeError(f"expected {self._size} samples, got {len(samples)}")
        latest = max((s.t_ns for s in samples if s is not None), default=0)
        for i, sample in enumerate(samples):
            if sample is None:
                self._readings[i] = math.nan
                self._stamps[i] = latest
                continue
            if not -(2**62) <= sample.t_ns < 2**62:
                raise ValueRangeError(f"expected t_ns in 63 bits of ns, got {sample.t_ns}")
            self._readings[i] = (
                *(sample.angular_velocity or _ABSENT),
                *(sample.specific_force or _ABSENT),
            )
            self._stamps[i] = sample.t_ns
        found = self._cycle(
            self._rows, self._shared, self._account, self._settings, self._noise, self._rank,
            self._mounts, self._before, self._stamps, self._readings, self._here, self._output,
            self._log,
        )  # fmt: skip
        wx, wy, wz, ax, ay, az = self._output.tolist()
        rows = self._log[:found].tolist() if found else ()
        events = tuple(_as_event(*row) for row in rows)
        return Vote(int(self._account[kernels.COMMON_NS]), (wx, wy, wz), (ax, ay, az), events)

    def run(self, series: Sequence[ImuSeries]) -> VoteResult:
        """Vote on recordings; the same as a loop of :meth:`update` where their stamps are equal.

        Parameters
        ----------
        series : sequence of ImuSeries
            One a sensor. The others are interpolated to the stamps of the first, and are
            missing where they have a gap; samples out of order are left out.

        Raises
        ------
        ShapeError
            There are more or fewer series than sensors.
        """
        if len(series) != self._size:
            raise ShapeError(f"expected {self._size} series, got {len(series)}")
        inside = [ordered(each.in_frames(body=BodyFrame.FLU), "drop")[0] for each in series]
        t_ns = inside[0].t_ns
        alike = [
            each if np.array_equal(each.t_ns, t_ns) else resample(each, t_ns=t_ns)[0]
            for each in inside
        ]
        readings = np.stack(
            [np.hstack([each.angular_velocity, each.specific_force]) for each in alike], axis=1
        )
        stamps = np.ascontiguousarray(np.repeat(t_ns[:, None], self._size, axis=1))
        rows, n = len(t_ns), self._size
        outputs = np.full((rows, 6), math.nan)
        outputs[:1] = self._output
        states, selected = np.zeros((rows, 2 * n), np.int64), np.zeros((rows, 2), np.int64)
        log = np.zeros((_CYCLES, kernels.LOG), np.int64)
        events: list[Event] = []
        at = 0
        while at < rows:
            at, found = compiled(kernels.run)(
                self._rows, self._shared, self._account, self._settings, self._noise, self._rank,
                self._mounts, self._before, stamps, readings, self._here, outputs, states,
                selected, log, at, len(self._log),
            )  # fmt: skip
            events += [_as_event(*row) for row in log[:found].tolist()]
        if rows:
            self._output = outputs[-1].copy()
        voted = ImuSeries(t_ns, outputs[:, :3], outputs[:, 3:])
        return VoteResult(voted, states.reshape(rows, 2, n), selected, Events.of(events))


def _pose(mount: Mount) -> FloatArray:
    """Return rotation matrix and lever arm, (12,)."""
    q = as_finite(mount.q_body_from_sensor, "q_body_from_sensor", (4,))
    if abs(float(np.linalg.norm(q)) - 1.0) > 1e-6:
        raise ValueRangeError(f"expected q_body_from_sensor of length 1, got {q}")
    arm = as_finite(mount.lever_arm_m, "lever_arm_m", (3,))
    return np.concatenate([quaternion.to_matrix(q).ravel(), arm])


def _as_event(t_ns: int, kind: int, quantity: int, sensor: int) -> Event:
    """Return a logged change."""
    values = {"sensor": float(sensor)} if sensor >= 0 else {}
    return Event(_KINDS[kind], t_ns, t_ns, t_ns, values, frozenset({_QUANTITIES[quantity]}))
