"""Voting: one angular velocity and specific force from several IMUs on one body."""

from __future__ import annotations

import math
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown._checks import as_finite, as_params
from strapdown._kernels.records import values_of
from strapdown.detection.detector import DetectorState
from strapdown.detection.events import Event, Events
from strapdown.detection.voting.cycle import CHANGES, run
from strapdown.detection.voting.memory import BodyMemory, CycleRow, Imu, ImuRow, Sensor, Voted
from strapdown.detection.voting.params import SensorMount, VoterParams, VoterProfile
from strapdown.detection.voting.result import SensorState, Vote, VoteResult, VoterReport
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.geometry.frames import BodyFrame
from strapdown.messages.px4 import SensorSelection
from strapdown.samples.clock import Counts
from strapdown.samples.execution import BLOCK, Execution, Program
from strapdown.samples.sample import Sample, SampleColumns, as_three, numbers_of
from strapdown.series import ImuSeries
from strapdown.series.timebase import ordered, resample
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from strapdown._kernels.records import RecordArray
    from strapdown.samples import ImuSample

__all__ = ["Voter"]

_UNKNOWN: Final = 2e30  # replaces NaN in a saved state
_QUANTITIES: Final = ("gyro", "accel")
_VECTORS: Final = ("angular_velocity", "specific_force")
_MEMORY: Final = (Imu, Sensor, Sensor, BodyMemory, Counts, VoterParams.record())
_VOTE: Final = Program("voter", run, _MEMORY, CycleRow, ImuRow)


class Voter:
    """Vote among IMUs on one rigid body, in a stream or over recordings.

    Readings are interpolated to a common stamp, rotated into body axes and, with a lever arm r,
    transferred to the origin: ``f - alpha x r - w x (w x r)`` with the voted angular velocity w
    and its derivative alpha. Angular velocity and specific force are voted on separately.

    A sensor's *residual* is its distance from the component-wise median of those that have not
    failed, or from its partner if there are two. It is over the limit when

    * its mean over 0.1 s or 2 s exceeds ``4 sqrt(noise^2 + (scale |value|)^2) + bias``, with the
      noise after that low-pass;
    * its noise, computed from its changes, exceeds ``4 sqrt(noise^2 + (scale |change|)^2)``;
    * its component along the value (a wrong scale) exceeds ``2 scale |value| + 4 noise`` and the
      bias;
    * or the sensor repeats one value 8 times or more, or has none.

    After 0.1 s over the limit (less the time below it since) it is suspect, after 1 s it has
    failed, and after 10 s inside half the limits it has recovered. With three or more sensors, no
    output is farther than 3 sigma from the median in any component, so that a fault of one of
    them does not reach the output from its first sample on.

    The difference of two sensors does not identify the faulty one. A sensor that is missing,
    repeats itself or is clipped is faulty. While the direction of gravity is constant, so are the
    noisier one, the gyro that turns while the other rests, and the accelerometer whose norm is
    not gravity. In motion the specific force is propagated by the angular velocity (over
    ``slow_s``); a sensor is faulty if the propagated force departs from the measured one with it,
    and does not with the other. If none of these decides, the selection does not change, and
    there is an event ``disagree``.

    Events: ``suspect``, ``failed``, ``cleared`` (no longer suspect), ``recovered``, ``selected``,
    each with the value ``sensor``; ``disagree`` and ``agree``; the flag is ``gyro`` or ``accel``.

    Latency: none of the output, 0.1 s and 1 s of the states, up to 3 s more for two in motion.
    Memory: 100 numbers per sensor.

    Parameters
    ----------
    n : int
        Number of sensors, two or more.
    mounts : sequence of SensorMount, optional
        By default all are at the origin in body axes.
    profiles : sequence of VoterProfile, optional
        By default all have the defaults.
    params : VoterParams, optional

    Raises
    ------
    ValueRangeError
        ``n`` is below 2, a rotation is not of unit length, or a sigma not positive.
    ShapeError
        There is not one mount and profile per sensor.
    """

    def __init__(
        self,
        n: int,
        mounts: Sequence[SensorMount] | None = None,
        profiles: Sequence[VoterProfile] | None = None,
        params: VoterParams | None = None,
    ) -> None:
        if n < 2:
            raise ValueRangeError(f"expected n of at least 2 sensors, got {n}")
        mounts = [SensorMount()] * n if mounts is None else mounts
        profiles = [VoterProfile()] * n if profiles is None else profiles
        if len(mounts) != n or len(profiles) != n:
            raise ShapeError(
                f"expected {n} mounts and profiles, got {len(mounts)} and {len(profiles)}"
            )
        self.params = as_params(params, VoterParams)
        self._profiles = tuple(profiles)
        self._imus = [_imu(mount) for mount in mounts]
        sigmas = [(p.gyro_sigma_rad_s, p.accel_sigma_m_s2) for p in profiles]
        if not np.all(as_finite(sigmas, "sigmas", (2,)) > 0.0):
            raise ValueRangeError(f"expected sigmas of profiles above 0, got {sigmas}")
        self._size = n
        self._execution = Execution(_VOTE, *self._fresh(), sizes=(n, 1, n))

    def reset(self, state: DetectorState | None = None) -> None:
        """Reset to a saved state, or to the state before the first sample.

        Raises
        ------
        UnknownNameError
            The state belongs to a detector.
        ShapeError
            The state belongs to another number of sensors.
        """
        memory = self._fresh()
        if state is not None:
            _restore(memory, state)
        self._execution.replace(0, *memory)

    def _fresh(self) -> list[list[Any]]:
        """Return the state before the first sample, part by part."""
        profiles = self._profiles
        first = min(range(self._size), key=lambda i: profiles[i].priority)
        gyro = Voted(selected=first, held=self.params.hold_s)
        accel = Voted(selected=first, held=self.params.hold_s)
        return [
            [Imu(**known) for known in self._imus],
            [Sensor(sigma=float(p.gyro_sigma_rad_s), priority=p.priority) for p in profiles],
            [Sensor(sigma=float(p.accel_sigma_m_s2), priority=p.priority) for p in profiles],
            [BodyMemory(gyro=gyro, accel=accel)],
            [Counts()],
            [self.params.settings()],
        ]

    def _memory(self) -> list[list[Any]]:
        """Return the present state, part by part."""
        return [self._execution.records(which) for which in range(len(_MEMORY))]

    @property
    def state(self) -> DetectorState:
        """State that future results depend on, without the arguments of the constructor."""
        memory = self._memory()
        values = [v for record in _remembering(memory) for v in values_of(record.memory)]
        values += values_of(memory[3][0])
        known = (v if math.isfinite(v) else _UNKNOWN for v in values)
        return DetectorState("voter", tuple(known), memory[4][0].astuple())

    @property
    def gyro_states(self) -> tuple[SensorState, ...]:
        """State of each gyro."""
        return self._states(0)

    @property
    def accel_states(self) -> tuple[SensorState, ...]:
        """State of each accelerometer."""
        return self._states(1)

    def _states(self, quantity: int) -> tuple[SensorState, ...]:
        sensors = self._memory()[1 + quantity]
        return tuple(SensorState(sensor.memory.state) for sensor in sensors)

    @property
    def selected(self) -> tuple[int, int]:
        """Numbers of the selected gyro and accelerometer."""
        (body,) = self._memory()[3]
        return body.gyro.selected, body.accel.selected

    @property
    def report(self) -> VoterReport:
        """Counts of the cycles since the last reset."""
        _, gyros, accels, _, (counts,), _ = self._memory()
        return VoterReport(
            counts.duplicates + counts.backward,
            counts.restarts,
            tuple(sensor.memory.missing for sensor in gyros),
            tuple(sensor.memory.missing for sensor in accels),
        )

    def update(self, samples: Sequence[ImuSample | None]) -> Vote:
        """Vote on the newest sample of every sensor.

        Parameters
        ----------
        samples : sequence of ImuSample or None
            One per sensor, in sensor axes; None where there is no new one. A sample that is
            older than the newest by more than 1.5 cycles counts as missing.

        Raises
        ------
        ShapeError
            There are more or fewer samples than sensors.
        ValueRangeError
            A stamp does not fit in 64 bits.
        """
        if len(samples) != self._size:
            raise ShapeError(f"expected {self._size} samples, got {len(samples)}")
        latest = max((_stamp(each) for each in samples if each is not None), default=0)
        readings = [numbers_of(latest) if each is None else numbers_of(each) for each in samples]
        vote = self._execution.update([*chain.from_iterable(readings)])
        rate, force = (as_three(vote[name], name) for name in _VECTORS)
        events: tuple[Event, ...] = ()
        if vote["changes"]:
            rows, imu_rows = self._execution.rows()
            events = tuple(_events(rows, imu_rows[np.newaxis]))
        return Vote(int(vote["t_ns"]), rate, force, events)

    def run(self, series: Sequence[ImuSeries]) -> VoteResult:
        """Vote on recordings; equivalent to a loop of :meth:`update` where their stamps are equal.

        Parameters
        ----------
        series : sequence of ImuSeries
            One per sensor. The others are interpolated to the stamps of the first, and are
            missing in their gaps; samples out of order are left out.

        Raises
        ------
        ShapeError
            There are more or fewer series than sensors.
        """
        if len(series) != self._size:
            raise ShapeError(f"expected {self._size} series, got {len(series)}")
        alike = _brought_together(series)
        t_ns = alike[0].t_ns
        count, n = len(t_ns), self._size
        rows, imu_rows = np.zeros(count, CycleRow.dtype()), np.zeros((count, n), ImuRow.dtype())
        self._execution.prepare_for(_VOTE, count * n)
        for first in range(0, count, BLOCK):
            block = slice(first, min(first + BLOCK, count))
            samples = _samples(alike, block)
            self._execution.run(_VOTE, samples, rows[block], imu_rows[block].ravel())
        selected = rows["selected"].copy()
        changes = np.flatnonzero((np.diff(selected, axis=0, prepend=-1) != 0).any(axis=1))
        return VoteResult(
            ImuSeries(t_ns, rows["angular_velocity"], rows["specific_force"]),
            np.ascontiguousarray(imu_rows["states"].transpose(0, 2, 1)),
            selected,
            Events.of(list(_events(rows, imu_rows))),
            tuple(self._selection(int(t_ns[row]), *selected[row].tolist()) for row in changes),
        )

    @property
    def selection(self) -> SensorSelection:
        """PX4's message of the selection; publish it at the start and at ``selected`` events."""
        return self._selection(self._memory()[4][0].last_ns, *self.selected)

    def _selection(self, t_ns: int, gyro: int, accel: int) -> SensorSelection:
        return SensorSelection(
            timestamp=max(t_ns, 0) // NS_PER_US,
            accel_device_id=self._profiles[accel].accel_device_id,
            gyro_device_id=self._profiles[gyro].gyro_device_id,
        )


def _stamp(sample: ImuSample) -> int:
    """Return a stamp whose differences from others fit in 64 bits."""
    if not -(2**62) <= sample.t_ns < 2**62:
        raise ValueRangeError(f"expected t_ns in 63 bits of nanoseconds, got {sample.t_ns}")
    return sample.t_ns


def _brought_together(series: Sequence[ImuSeries]) -> list[ImuSeries]:
    """Resample all series to the stamps of the first."""
    inside = [ordered(each.in_frames(body=BodyFrame.FLU), "drop")[0] for each in series]
    t_ns = inside[0].t_ns
    return [
        each if np.array_equal(each.t_ns, t_ns) else resample(each, t_ns=t_ns)[0] for each in inside
    ]


def _samples(alike: Sequence[ImuSeries], rows: slice) -> RecordArray:
    """Return the samples of a range of rows, with those of all sensors in turn."""
    samples = np.zeros((rows.stop - rows.start, len(alike)), Sample.dtype())
    for i, each in enumerate(alike):
        columns = SampleColumns(each, use_magnetic_field=False)
        samples[:, i] = columns.block(rows.start, rows.stop)
    return samples.ravel()


def _imu(mount: SensorMount) -> dict[str, list[float]]:
    """Return the fields of an IMU with this mounting."""
    q = as_finite(mount.q_body_from_sensor, "q_body_from_sensor", (4,))
    if abs(float(np.linalg.norm(q)) - 1.0) > 1e-6:
        raise ValueRangeError(f"expected q_body_from_sensor of length 1, got {q}")
    arm = as_finite(mount.lever_arm_m, "lever_arm_m", (3,))
    return {"q_body_from_sensor": q.tolist(), "lever_arm": arm.tolist()}


def _remembering(memory: list[list[Any]]) -> list[Any]:
    """Return the records whose state is saved: IMUs, gyros, accelerometers."""
    return [record for part in memory[:3] for record in part]


def _restore(memory: list[list[Any]], state: DetectorState) -> None:
    """Write a saved state to the records."""
    if state.detector != "voter":
        raise UnknownNameError("state of a voter", state.detector, ["voter"])
    sizes = [len(values_of(record.memory)) for record in _remembering(memory)]
    expected = sum(sizes) + len(values_of(memory[3][0])), len(memory[4][0].astuple())
    if (len(state.values), len(state.account)) != expected:
        raise ShapeError(
            f"expected a voter state of {expected[0]} numbers, got {len(state.values)}"
        )
    left = (math.nan if value == _UNKNOWN else value for value in state.values)
    for record, size in zip(_remembering(memory), sizes, strict=True):
        record.memory = record.memory.of_values(islice(left, size))
    memory[3] = [BodyMemory.of_values(left)]
    memory[4] = [Counts.of_values(state.account)]


def _events(rows: RecordArray, imu_rows: RecordArray) -> Iterator[Event]:
    """Yield the changes in chronological order; a row of ``imu_rows`` belongs to each cycle."""
    for c in np.flatnonzero(rows["changes"]):
        row, changes = CycleRow.unpack(rows[c : c + 1])[0], imu_rows[c]["changes"].tolist()
        for q, name in enumerate(_QUANTITIES):
            quantity = (row.gyro, row.accel)[q]
            noted: list[tuple[int, int | None]] = [(quantity.dispute, None)]
            noted += [(change[q], sensor) for sensor, change in enumerate(changes)]
            noted.append((quantity.selection, row.selected[q]))
            for kind, sensor in noted:
                values = {} if sensor is None else {"sensor": float(sensor)}
                if kind:
                    now = row.t_ns
                    yield Event(CHANGES[kind - 1], now, now, now, values, frozenset({name}))
