"""Running estimate of the gyro bias at rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite, as_params
from strapdown.calibration.imu import ImuCalibration, Provenance
from strapdown.calibration.in_use.bias_track import BiasTrack
from strapdown.calibration.in_use.rest_interval import (
    Place,
    Refusal,
    RestBlock,
    RestInterval,
    RestParams,
    measured,
)
from strapdown.calibration.triad import TriadCalibration, bias_covariance
from strapdown.detection import StillnessDetector
from strapdown.errors import ValueRangeError
from strapdown.geometry.wgs84 import as_latitude
from strapdown.samples import ImuSample
from strapdown.samples.sample import MAX_FORCE, MAX_RATE, usable
from strapdown.series.series import require_series
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from strapdown._typing import BoolArray, FloatArray
    from strapdown.detection import StillnessParams
    from strapdown.series import ImuSeries

__all__ = ["RestCalibrator"]

_BLOCK_NS: Final = NS_PER_S // 2
_LONGEST: Final = 20  # blocks of an interval: a longer rest gives several
_SHORTEST: Final = 4  # blocks


class RestCalibrator:
    """Estimate the gyro bias whenever the sensor is at rest.

    The accelerometer shows rest (:class:`~strapdown.detection.StillnessDetector`, kind
    ``variance``). The mean rate of each interval of 2 to 10 s is an estimate of the bias, unless it
    is larger than any bias, or the specific force changes its direction, or the magnetic field
    turns about the vertical. Without a magnetometer a slow even turn about the vertical cannot be
    distinguished from a bias; the standard deviation of that direction covers 0.05 deg/s. Half
    seconds next to motion are left out. :class:`BiasTrack` fuses the intervals.

    Parameters
    ----------
    params : RestParams, optional
    stillness : StillnessParams, optional
        Of kind ``variance``, whose defaults are used without it.
    latitude, heading : float, optional
        Latitude, and heading of the forward axis from north towards east in all intervals
        [rad]. The Earth's rate is subtracted as far as they determine it; the rest is in the
        variance.

    Raises
    ------
    ValueRangeError
        The latitude is outside -pi/2 ... pi/2, or a value is not finite.

    Examples
    --------
    >>> from strapdown.samples import ImuSample
    >>> calibrator = RestCalibrator()
    >>> for k in range(800):  # 8 s at 100 Hz
    ...     sample = ImuSample(k * 10_000_000, (0.01, 0.0, -0.02), (0.0, 0.0, 9.81))
    ...     interval = calibrator.update(sample)
    >>> calibrator.finish().gyro_bias.round(4).tolist()
    [0.01, 0.0, -0.02]
    """

    def __init__(
        self,
        params: RestParams | None = None,
        *,
        stillness: StillnessParams | None = None,
        latitude: float | None = None,
        heading: float | None = None,
    ) -> None:
        as_finite([latitude or 0.0, heading or 0.0], "latitude, heading", (2,))
        as_latitude(latitude or 0.0)
        self.params = as_params(params, RestParams)
        self.place = Place(latitude, heading)
        self._detector = StillnessDetector("variance", stillness)
        window_ns = round(self._detector.params.window_s * NS_PER_S)
        self._margin = -(-window_ns // _BLOCK_NS)  # blocks before motion that may contain some
        self.reset()

    def reset(self) -> None:
        """Reset to the state before the first sample."""
        self._detector.reset()
        self._track = BiasTrack(self.params.track)
        self._common = np.full(3, np.inf)
        self._clear_block()
        self._blocks: list[RestBlock] = []
        self._shock = False
        self.refused: Counter[Refusal] = Counter()

    @property
    def gyro_bias(self) -> FloatArray:
        """Bias (3,) [rad/s, FLU]; NaN before the first interval."""
        return self._track.bias

    @property
    def gyro_bias_sigma(self) -> FloatArray:
        """Its standard deviation (3,) [rad/s, FLU]; infinite before the first interval.

        On each axis at least the least common part of an interval.
        """
        sigma: FloatArray = np.maximum(self._track.sigma, self._common)
        return sigma

    def calibration(self) -> ImuCalibration:
        """Return a calibration with the bias so far, in FLU.

        Raises
        ------
        ValueRangeError
            There was no interval at rest.
        """
        if self._track.t_ns is None:
            raise ValueRangeError(
                "expected an interval at rest, got none so far; leave the sensor still for 6 s"
            )
        gyro = TriadCalibration(
            bias=self.gyro_bias, covariance=bias_covariance(self.gyro_bias_sigma)
        )
        return ImuCalibration(gyro=gyro, provenance=Provenance(method="rest"))

    def update(self, sample: ImuSample) -> RestInterval | None:
        """Process one sample, and return the interval at rest that it completes.

        Parameters
        ----------
        sample : ImuSample
            In FLU body axes.
        """
        self._detector.update(sample)
        w, f, m = sample.vectors()
        if not (usable(w, MAX_RATE) and usable(f, MAX_FORCE)):
            return None
        return self._add([sample.t_ns], [self._detector.still], [(*w, *f, *m)])

    def run(self, series: ImuSeries) -> list[RestInterval]:
        """Process a series; the same as a loop of :meth:`update`.

        Parameters
        ----------
        series : ImuSeries
            In any body frame.

        Returns
        -------
        list of RestInterval
            In FLU.
        """
        require_series(series)
        found: list[RestInterval | None] = []
        series = series.in_frames(body="FLU")
        backward = (np.flatnonzero(np.diff(series.t_ns) < 0) + 1).tolist()
        for start, stop in pairwise([0, *backward, len(series)]):
            # the first sample may restart the detector, and ends what belongs to stamps before it
            found += [self.update(sample) for sample in _samples(series[start : start + 1])]
            found += self._run_ordered(series[start + 1 : stop])
        return [interval for interval in found if interval]

    def finish(self) -> RestInterval | None:
        """End the data: return the interval at rest that lasts to the end."""
        found = self._end_block() if self._t_ns else None
        last = self._end_interval(self._blocks)  # too short where the block ended another
        self._blocks = []
        return last or found

    def _clear_block(self) -> None:
        """Begin a block: stamps and vectors of its samples, and whether all are at rest."""
        self._t_ns: list[int] = []
        self._rows: list[Sequence[float]] = []
        self._block_is_still = True

    def _run_ordered(self, series: ImuSeries) -> list[RestInterval | None]:
        """Process a series in FLU whose stamps do not go back."""
        still = self._still(series)
        field = series.magnetic_field
        vectors = [series.angular_velocity, series.specific_force]
        vectors.append(np.full((len(series), 3), np.nan) if field is None else field)
        numbers = np.hstack(vectors)
        known = (np.abs(numbers[:, :6]) < [MAX_RATE] * 3 + [MAX_FORCE] * 3).all(axis=1)
        t_ns, still, numbers = series.t_ns[known], still[known], numbers[known]
        edges = [0, *(np.flatnonzero(np.diff(t_ns // _BLOCK_NS)) + 1).tolist(), len(t_ns)]
        blocks = (slice(*edge) for edge in pairwise(edges) if len(t_ns))
        return [
            self._add(t_ns[rows].tolist(), still[rows].tolist(), numbers[rows].tolist())
            for rows in blocks
        ]

    def _add(
        self, t_ns: list[int], still: list[bool], rows: Sequence[Sequence[float]]
    ) -> RestInterval | None:
        """Add samples of one block; return the interval that the end of the one before completes.

        Rows have angular velocity, specific force and magnetic field, the first two usable.
        """
        found = None
        if self._t_ns and self._t_ns[0] // _BLOCK_NS != t_ns[0] // _BLOCK_NS:
            found = self._end_block()
        self._t_ns += t_ns
        self._block_is_still &= all(still)
        self._rows += rows
        return found

    def _still(self, series: ImuSeries) -> BoolArray:
        """Return whether each sample is at rest, as a loop of updates of the detector would."""
        detector = self._detector
        events = list(detector.run(series))
        state = detector.state
        unfinished = detector.finish()
        detector.reset(state)
        still = np.zeros(len(series), np.bool_)
        for event in [*events, unfinished]:
            if event:
                first = int(np.searchsorted(series.t_ns, event.t_decided_ns))
                still[first : int(np.searchsorted(series.t_ns, event.t_end_ns, "right"))] = True
        return still

    def _end_block(self) -> RestInterval | None:
        """Process the samples of a block."""
        t_ns, numbers, still = self._t_ns, np.array(self._rows), self._block_is_still
        self._clear_block()
        peak2 = np.square(numbers[:, 3:6]).sum(axis=1).max()
        self._shock |= bool(peak2 > self.params.shock_m_s2**2)
        if not still or len(t_ns) < 2:
            blocks, self._blocks = self._blocks, []
            return self._end_interval(blocks[: -self._margin])
        w, f, m = np.split(numbers.mean(axis=0), 3)
        variance = numbers[:, :6].var(axis=0, ddof=1)
        self._blocks.append(RestBlock(t_ns[0], t_ns[-1], len(t_ns), w, f, m, variance))
        if len(self._blocks) < _LONGEST + self._margin:
            return None
        whole, self._blocks = self._blocks[:_LONGEST], self._blocks[_LONGEST:]
        return self._end_interval(whole)

    def _end_interval(self, blocks: list[RestBlock]) -> RestInterval | None:
        """Fuse the bias of an interval, if it is long enough and at rest."""
        if len(blocks) < _SHORTEST:
            return None
        found = measured(blocks, self.params, self.place)
        if isinstance(found, Refusal):
            self.refused[found] += 1
            return None
        event = self._track.update(
            found.t_end_ns, found.gyro_bias, found.gyro_bias_sigma, shock=self._shock
        )
        self._shock = False
        if event and event.kind == "bias_jump":
            self._common = found.common_sigma
        self._common = np.minimum(self._common, found.common_sigma)
        return replace(found, event=event)


def _samples(series: ImuSeries) -> Iterator[ImuSample]:
    """Yield the samples of a series in FLU."""
    for row in range(len(series)):
        m = series.magnetic_field
        yield ImuSample(
            int(series.t_ns[row]),
            series.angular_velocity[row],
            series.specific_force[row],
            None if m is None else m[row],
        )
