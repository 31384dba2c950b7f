"""Readings of perfect sensors: the inputs of the error model at its internal samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.geometry import quaternion
from strapdown.samples import SampleKind
from strapdown.sensors.triad import BandwidthKind

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.motion.source import InertialSource
    from strapdown.sensors.clock import SampleClock
    from strapdown.sensors.spec import ImuSpec
    from strapdown.sensors.triad import TriadSpec
    from strapdown.sensors.vibration import VibrationSignal

__all__ = ["IdealInputs", "takes_mean"]

_BLOCK = 4096  # internal samples, about
_MOST = 2**15  # internal samples of one request to a source


def takes_mean(spec: ImuSpec, triad: TriadSpec) -> bool:
    """Return whether a sample of a triad is a mean over its interval."""
    boxcar = triad.bandwidth is not None and triad.bandwidth.kind is BandwidthKind.BOXCAR
    return boxcar or spec.sampling.is_mean


class IdealInputs:
    """A source, evaluated in blocks that begin at whole multiples of their size.

    The requests to the source do not depend on the chunks of a run, so its results are the same
    bits. One that is ``pointwise`` gives the same bits for any request, and is evaluated in larger
    blocks in a long run. Instants before its start, which only a filter's first window and
    jitter can reach, take the value at the start.

    Parameters
    ----------
    source : InertialSource
    spec : ImuSpec
    clock : SampleClock
        With the oversampling of the model.
    vibration : VibrationSignal or None
        Added to the inputs.
    field_world : (3,) or None
        Magnetic field around the sensor [T, world].
    """

    def __init__(
        self,
        source: InertialSource,
        spec: ImuSpec,
        clock: SampleClock,
        *,
        vibration: VibrationSignal | None,
        field_world: FloatArray | None,
    ) -> None:
        self._source, self._clock = source, clock
        self._sampling = spec.sampling
        self._means = takes_mean(spec, spec.gyro), takes_mean(spec, spec.accel)
        self._vibration = vibration
        self._field_world = field_world
        self._window = clock.oversampling
        self._nominal_s = 1.0 / float(clock.rate_hz * clock.oversampling)
        self.block = max(1, _BLOCK // self._window)
        pointwise = getattr(source, "pointwise", False)  # of the inputs; states may be unknown
        self._pointwise = pointwise and vibration is None and not self._sampling.needs_pose
        self._at, self._start, self._inputs = -1, 0, np.empty((0, 0))
        self._room = np.empty(0)  # buffer for many inputs at once, reused
        _require_known(source, spec, magnetic=field_world is not None)
        if not source.start_s <= clock.start_s <= source.end_s:
            raise ValueRangeError(
                f"expected start_s within the motion, {source.start_s:g} to {source.end_s:g} s, "
                f"got {clock.start_s:g} s"
            )
        whole = any(self._means) or self._sampling is SampleKind.PREINTEGRATED
        self.first = 0
        while whole and clock.edges(self.first, 1)[0] < source.start_s:
            self.first += 1

    def require(self, sample: int) -> None:
        """Check that the motion extends to a sample.

        Raises
        ------
        ValueRangeError
            It ends earlier.
        """
        t_s = self._clock.instants(sample, 1)[0]
        if not t_s <= self._source.end_s:
            raise ValueRangeError(
                f"expected samples until the motion ends at {self._source.end_s:g} s, "
                f"got sample {sample} at {t_s:g} s; simulate fewer samples"
            )

    def columns(self, sample: int, stop: int) -> FloatArray:
        """Return inputs from ``sample`` to ``stop``, or to an end of a block before.

        Returns
        -------
        (6 or 9, N M)
            Gyro, accelerometer, magnetometer; one column an internal sample.
        """
        if self._pointwise and stop - sample >= self.block:
            most = max(1, _MOST // self._window)
            whole = stop if stop - sample < 2 * most else sample + most
            shape = (6 if self._field_world is None else 9, (whole - sample) * self._window)
            if self._room.size < math.prod(shape):
                self._room = np.empty(math.prod(shape))
            room = self._room[: math.prod(shape)].reshape(shape)
            return np.concatenate(self._evaluated(sample, whole - sample), out=room)
        if sample // self.block != self._at:
            self._fill(sample // self.block)
        first, last = ((k - self._start) * self._window for k in (sample, stop))
        return self._inputs[:, first:last]

    def _fill(self, block: int) -> None:
        start = max(block * self.block, self.first)
        t_s = self._clock.instants(start, (block + 1) * self.block - start)
        count = int(np.searchsorted(t_s, self._source.end_s, side="right"))
        self._at, self._start = block, start
        self._inputs = np.concatenate(self._evaluated(start, count))

    def _evaluated(self, start: int, count: int) -> list[FloatArray]:
        """Return the inputs of output samples ``start``, ..., (3, count M) of each triad."""
        source = self._source
        edges_s = self._clock.edges(start, count)
        t_s = np.maximum(edges_s[1:], source.start_s)
        if self._sampling is SampleKind.PREINTEGRATED:
            rates = [increment / self._nominal_s for increment in source.preintegrated(edges_s)]
        else:
            rates = self._rates(edges_s, t_s)
        if self._sampling is SampleKind.VELOCITY_DIFFERENCE:
            rates[1] = self._differences(start, edges_s)
        if self._vibration is not None:
            shaking = self._vibration.at(start * self._window, t_s)
            rates = [rate + extra for rate, extra in zip(rates, shaking, strict=True)]
        if self._field_world is not None:
            q_sensor_from_world = quaternion.conjugate(source.truth(t_s).q_world_from_body)
            rates.append(quaternion.rotate(q_sensor_from_world, self._field_world))
        return [rate.T for rate in rates]

    def _rates(self, edges_s: FloatArray, t_s: FloatArray) -> list[FloatArray]:
        """Return values at instants, or means over the intervals before them, for each triad.

        The mean of an averaging device is over the actual interval; an integrating one
        gives the whole integral, which is divided by the nominal interval here and multiplied
        by it at the output.
        """
        if not any(self._means):
            return list(self._source.inputs(t_s))
        integrals = self._source.integrals(edges_s)
        integrating = self._sampling is SampleKind.INTEGRAL
        span_s = self._nominal_s if integrating else np.diff(edges_s)[:, None]
        means = [integral / span_s for integral in integrals]
        if all(self._means):
            return means
        points = self._source.inputs(t_s)
        return [
            own[not mean]
            for own, mean in zip(zip(means, points, strict=True), self._means, strict=True)
        ]

    def _differences(self, start: int, edges_s: FloatArray) -> FloatArray:
        """Return specific force from changes of velocity; sample 0 has none before it."""
        unknown = self._window if start == 0 else 0
        edges_s = np.maximum(edges_s[unknown:], self._source.start_s)
        change = self._source.velocity_change(edges_s) / np.diff(edges_s)[:, None]
        return np.concatenate((np.full((unknown, 3), np.nan), change))


def _require_known(source: InertialSource, spec: ImuSpec, *, magnetic: bool) -> None:
    """Check that a source supports a sampling."""
    if not hasattr(source, "inputs"):
        kind = type(source).__name__
        raise TypeError(f"expected an InertialSource, got {kind}; mount a motion: Mounted(motion)")
    if not source.has_pose and (magnetic or spec.sampling.needs_pose):
        what = "a magnetometer" if magnetic else f"sampling {str(spec.sampling)!r}"
        raise ValueRangeError(f"expected a source with a pose for {what}, got one of rates only")
    point = spec.sampling is SampleKind.POINT and not takes_mean(spec, spec.accel)
    if point and not source.has_acceleration:
        raise ValueRangeError(
            "expected a source with accelerations for point samples, got one without; "
            "sample increments or 'velocity_difference'"
        )
