"""Voting: one angular velocity and specific force from several IMUs on one body."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite
from strapdown._compile import compiled
from strapdown.detection.detector import DetectorState
from strapdown.detection.events import Event, Events
from strapdown.detection.voting import _kernels as kernels
from strapdown.detection.voting import layout
from strapdown.detection.voting.params import Mount, VoterParams, VoterProfile
from strapdown.detection.voting.result import SensorState, Vote, VoteResult, VoterReport
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.geometry.frames import BodyFrame
from strapdown.intake import clipping_codes, sample_values
from strapdown.intake._kernels import BACKWARD, DUPLICATES
from strapdown.messages.px4 import SensorSelection
from strapdown.series import ImuSeries
from strapdown.timebase import ordered, resample
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray, IntArray
    from strapdown.samples import ImuSample

__all__ = ["Voter"]

_CHANGES: Final = 1 << 14  # that a batch logs before they are collected
_KINDS: Final = (
    "suspect", "failed", "cleared", "recovered", "selected", "disagree", "agree",
)  # fmt: skip
_UNKNOWN: Final = 2e30  # stands for NaN in a saved state
_NOTHING: Final = (*[math.nan] * 6, 0.0)  # the reading of a sensor that is missing
_QUANTITIES: Final = ("gyro", "accel")


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

    Two cannot tell by their difference who is wrong. A sensor that is missing, repeats itself or is
    clipped is. While the direction of gravity stays as it is, so are the noisier one, the gyro that
    turns while the other rests, and the accelerometer whose norm is not gravity. In motion the
    specific force is carried along by the angular velocity (over ``slow_s``), and the sensor
    is wrong with which it departs from the measured one, if with the other it does not. If none of
    that decides, the present one is kept, and an event ``disagree`` says so.

    Events: ``suspect``, ``failed``, ``cleared`` (suspect no more), ``recovered``, ``selected``,
    each with the value ``sensor``; ``disagree`` and ``agree``; the flag is ``gyro`` or ``accel``.

    Latency: none to the output, 0.1 s and 1 s to the states, of two in motion up to 3 s more.
    Memory: 100 numbers a sensor.

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
        self._profiles = tuple(profiles)
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
        self._rows = np.zeros((2 * n, layout.ROW))
        self._shared = np.zeros(layout.SHARED_SIZE)
        self._shared[layout.STEPS] = -1.0
        for quantity in range(2):
            at = quantity * layout.SHARED
            self._shared[at + layout.SELECTED] = np.argmin(self._rank)
            self._shared[at + layout.HOLD] = self.params.hold_s
        self._account = np.zeros(layout.FIRST_STAMP + 3 * n, np.int64)
        self._before = np.full((n, 6), math.nan)
        self._readings = np.full((n, 7), math.nan)
        self._stamps = np.zeros(n, np.int64)
        self._here = np.zeros((n, layout.HERE))
        self._output = np.full(6, math.nan)
        self._log = np.zeros((4 * n + 8, layout.LOG), np.int64)
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
        return tuple(SensorState(int(state)) for state in rows[:, layout.STATE])

    @property
    def selected(self) -> tuple[int, int]:
        """Numbers of the gyro and the accelerometer that are selected."""
        gyro, accel = self._shared[[layout.SELECTED, layout.SHARED + layout.SELECTED]]
        return int(gyro), int(accel)

    @property
    def report(self) -> VoterReport:
        """An account of the cycles since the beginning."""
        numbers, n = self._account.tolist(), self._size
        gyro, accel = (layout.FIRST_STAMP + k * n for k in (1, 2))
        return VoterReport(
            numbers[DUPLICATES] + numbers[BACKWARD],
            numbers[layout.RESTARTS],
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
                self._readings[i] = _NOTHING
                self._stamps[i] = latest
                continue
            t_ns, rate, force, _, clipped = sample_values(sample)
            if not -(2**62) <= t_ns < 2**62:
                raise ValueRangeError(f"expected t_ns in 63 bits of nanoseconds, got {t_ns}")
            self._readings[i] = (*rate, *force, clipped)
            self._stamps[i] = t_ns
        found = self._cycle(
            self._rows, self._shared, self._account, self._settings, self._noise, self._rank,
            self._mounts, self._before, self._stamps, self._readings, self._here, self._output,
            self._log,
        )  # fmt: skip
        wx, wy, wz, ax, ay, az = self._output.tolist()
        rows = self._log[:found].tolist() if found else ()
        events = tuple(_as_event(*row) for row in rows)
        return Vote(int(self._account[layout.COMMON_NS]), (wx, wy, wz), (ax, ay, az), events)

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
        t_ns, readings = _brought_together(series)
        rows, n = len(t_ns), self._size
        stamps = np.ascontiguousarray(np.repeat(t_ns[:, None], n, axis=1))
        outputs = np.full((rows, 6), math.nan)
        outputs[:1] = self._output
        states, selected = np.zeros((rows, 2 * n), np.int64), np.zeros((rows, 2), np.int64)
        log = np.zeros((_CHANGES, layout.LOG), np.int64)
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
        changes = np.flatnonzero((np.diff(selected, axis=0, prepend=-1) != 0).any(axis=1))
        return VoteResult(
            ImuSeries(t_ns, outputs[:, :3], outputs[:, 3:]),
            states.reshape(rows, 2, n),
            selected,
            Events.of(events),
            tuple(self._selection(int(t_ns[row]), *selected[row].tolist()) for row in changes),
        )

    @property
    def selection(self) -> SensorSelection:
        """PX4's message of what is selected; publish it at the start and at ``selected`` events."""
        return self._selection(int(self._account[layout.COMMON_NS]), *self.selected)

    def _selection(self, t_ns: int, gyro: int, accel: int) -> SensorSelection:
        return SensorSelection(
            timestamp=max(t_ns, 0) // NS_PER_US,
            accel_device_id=self._profiles[accel].accel_device_id,
            gyro_device_id=self._profiles[gyro].gyro_device_id,
        )


def _brought_together(series: Sequence[ImuSeries]) -> tuple[IntArray, FloatArray]:
    """Return the stamps of the first, and the readings of all at these, (N, n, 7)."""
    inside = [ordered(each.in_frames(body=BodyFrame.FLU), "drop")[0] for each in series]
    t_ns = inside[0].t_ns
    alike = [
        each if np.array_equal(each.t_ns, t_ns) else resample(each, t_ns=t_ns)[0] for each in inside
    ]
    columns = [
        np.column_stack(
            [
                each.angular_velocity,
                each.specific_force,
                clipping_codes(each.gyro_clipping, each.accel_clipping, len(t_ns)),
            ]
        )
        for each in alike
    ]
    return t_ns, np.stack(columns, axis=1)


def _pose(mount: Mount) -> FloatArray:
    """Return rotation and lever arm, (7,)."""
    q = as_finite(mount.q_body_from_sensor, "q_body_from_sensor", (4,))
    if abs(float(np.linalg.norm(q)) - 1.0) > 1e-6:
        raise ValueRangeError(f"expected q_body_from_sensor of length 1, got {q}")
    arm = as_finite(mount.lever_arm_m, "lever_arm_m", (3,))
    return np.concatenate([q, arm])


def _as_event(t_ns: int, kind: int, quantity: int, sensor: int) -> Event:
    """Return a logged change."""
    values = {"sensor": float(sensor)} if sensor >= 0 else {}
    return Event(_KINDS[kind], t_ns, t_ns, t_ns, values, frozenset({_QUANTITIES[quantity]}))
