"""Gyro bias at rest, for streams and recordings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_params
from strapdown._words import counted
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
from strapdown.detection import Events, StillnessDetector, StillnessParams, quiet_noise
from strapdown.errors import ValueRangeError
from strapdown.geometry.wgs84 import as_latitude
from strapdown.series.series import require_series
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.samples import ImuSample
    from strapdown.series import ImuSeries

__all__ = ["RestCalibration", "RestCalibrator", "rest_calibration"]

_BLOCK_NS: Final = NS_PER_S // 2
_LONGEST: Final = 20  # blocks of an interval: a longer rest gives several
_SHORTEST: Final = 4  # blocks
_NOISIEST_M_S2: Final = 0.1  # accelerometer noise beyond which a recording was never at rest
_UNSEEN: Final = "without a magnetometer a slow turn about the vertical would count as bias"


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
        The latitude is outside -pi/2 ... pi/2, or the heading is not finite.

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
        if latitude is not None:
            as_latitude(latitude)
        if not np.isfinite([latitude or 0.0, heading or 0.0]).all():
            raise ValueRangeError(f"expected finite latitude and heading, got {heading}")
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
        self._block: list[tuple[IntArray, BoolArray, FloatArray]] = []
        self._blocks: list[RestBlock] = []
        self._shock = False
        self.refused: Counter[Refusal] = Counter()

    @property
    def gyro_bias(self) -> FloatArray:
        """Bias (3,) [rad/s, FLU]; NaN before the first interval."""
        return self._track.bias

    @property
    def gyro_bias_sigma(self) -> FloatArray:
        """Its standard deviation (3,) [rad/s, FLU]; infinite before the first interval."""
        return self._track.sigma

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
        numbers = np.array(sample.vectors()).reshape(1, 9)
        return self._add(np.array([sample.t_ns]), np.array([self._detector.still]), numbers)

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
        backward = np.flatnonzero(np.diff(series.t_ns) < 0) + 1
        for start, stop in zip([0, *backward], [*backward, len(series)], strict=True):
            found += self._run_ordered(series[int(start) : int(stop)])
        return [interval for interval in found if interval]

    def finish(self) -> RestInterval | None:
        """End the data: return the interval at rest that lasts to the end."""
        found = self._end_block() if self._block else None
        last = self._end_interval(self._blocks)
        self._blocks = []
        return last or found

    def _run_ordered(self, series: ImuSeries) -> list[RestInterval | None]:
        """Process a series in FLU whose stamps do not go back."""
        still = self._still(series)
        field = series.magnetic_field
        vectors = [series.angular_velocity, series.specific_force]
        vectors.append(np.full((len(series), 3), np.nan) if field is None else field)
        numbers = np.hstack(vectors)
        edges = np.flatnonzero(np.diff(series.t_ns // _BLOCK_NS)) + 1
        parts = (np.split(column, edges) for column in (series.t_ns, still, numbers))
        return [self._add(*part) for part in zip(*parts, strict=True)]

    def _add(self, t_ns: IntArray, still: BoolArray, numbers: FloatArray) -> RestInterval | None:
        """Add samples of one block; return the interval that the end of the one before completes.

        Samples without a rate or a specific force are left out.
        """
        known = np.isfinite(numbers[:, :6]).all(axis=1)
        if not known.any():
            return None
        found = None
        if self._block and self._block[0][0][0] // _BLOCK_NS != t_ns[0] // _BLOCK_NS:
            found = self._end_block()
        self._block.append((t_ns[known], still[known], numbers[known]))
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
        t_ns, still, numbers = (np.concatenate(c) for c in zip(*self._block, strict=True))
        self._block = []
        peak2 = np.square(numbers[:, 3:6]).sum(axis=1).max()
        self._shock |= bool(peak2 > self.params.shock_m_s2**2)
        if not still.all() or len(t_ns) < 2:
            blocks, self._blocks = self._blocks, []
            return self._end_interval(blocks[: -self._margin])
        w, f, m = np.split(numbers.mean(axis=0), 3)
        variance = numbers[:, :3].var(axis=0, ddof=1)
        self._blocks.append(RestBlock(int(t_ns[0]), int(t_ns[-1]), len(t_ns), w, f, m, variance))
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
        return replace(found, event=event)


@dataclass(frozen=True, eq=False, kw_only=True)
class RestCalibration:
    """Result of :func:`rest_calibration`.

    Parameters
    ----------
    calibration : ImuCalibration
        With the gyro bias at the end of the recording.
    warnings : tuple of str
        Findings, each with the next step.
    intervals : tuple of RestInterval
        Intervals at rest, in FLU.
    refused : mapping of Refusal to int
        Number of intervals that were not used.
    """

    calibration: ImuCalibration
    warnings: tuple[str, ...]
    intervals: tuple[RestInterval, ...]
    refused: Counter[Refusal]

    @property
    def events(self) -> Events:
        """Jumps and drifts of the bias."""
        return Events.of(interval.event for interval in self.intervals if interval.event)

    def lines(self) -> list[str]:
        """Return the result for people."""
        gyro = self.calibration.gyro
        rest_s = sum(i.t_end_ns - i.t_start_ns for i in self.intervals) / NS_PER_S
        used = f"{counted(len(self.intervals), 'interval')} at rest, {rest_s:.0f} s"
        refused = ", ".join(f"{count} by {reason}" for reason, count in self.refused.items())
        bias, sigma = gyro.bias / RAD_PER_DEG, gyro.sigma_bias / RAD_PER_DEG
        pairs = zip("xyz", bias, sigma, strict=True)
        return [
            used + (f"; refused: {refused}" if refused else ""),
            "gyro bias: " + ", ".join(f"{a} {b:+.4f} +- {s:.4f}" for a, b, s in pairs) + " deg/s",
        ]

    def to_dict(self) -> dict[str, object]:
        """Return the figures in types of JSON."""
        gyro = self.calibration.gyro
        return {
            "gyro_bias_rad_s": gyro.bias.tolist(),
            "gyro_bias_sigma_rad_s": gyro.sigma_bias.tolist(),
            "intervals": len(self.intervals),
            "refused": {str(reason): count for reason, count in self.refused.items()},
            "events": self.events.to_dict(),
            "warnings": list(self.warnings),
        }


def rest_calibration(
    series: ImuSeries,
    params: RestParams | None = None,
    *,
    latitude: float | None = None,
    heading: float | None = None,
) -> RestCalibration:
    """Calibrate the gyro bias from the parts of a recording at rest.

    Parameters
    ----------
    series : ImuSeries
        With 6 s at rest or more.
    params : RestParams, optional
    latitude, heading : float, optional
        As in :class:`RestCalibrator`.

    Returns
    -------
    RestCalibration

    Raises
    ------
    ValueRangeError
        There is no interval at rest; the message counts those that were refused.
    """
    require_series(series)
    calibrator = RestCalibrator(
        params, stillness=_stillness(series), latitude=latitude, heading=heading
    )
    found = calibrator.run(series)
    last = calibrator.finish()
    intervals = (*found, last) if last else tuple(found)
    refused = calibrator.refused
    if not intervals:
        reasons = ", ".join(f"{count} by {reason}" for reason, count in refused.items())
        raise ValueRangeError(
            f"expected an interval at rest of 6 s, got none in {len(series)} samples"
            f"{' (refused: ' * bool(reasons)}{reasons}{')' * bool(reasons)}; leave the sensor "
            "still on a firm support"
        )
    calibration = calibrator.calibration()
    warnings = _warnings(intervals, refused)
    notes = () if series.magnetic_field is not None else (_UNSEEN,)
    sigma = float(calibration.gyro.sigma_bias.max())
    provenance = Provenance(
        method="rest", residuals={"gyro bias sigma rad/s": sigma}, notes=(*warnings, *notes)
    )
    return RestCalibration(
        calibration=replace(calibration, provenance=provenance).in_frame(series.body),
        warnings=warnings,
        intervals=intervals,
        refused=refused,
    )


def _stillness(series: ImuSeries) -> StillnessParams:
    """Return parameters of stillness for the noise of a recording, if that is more than usual."""
    usual = StillnessParams.of("variance")
    try:
        noise = quiet_noise(series, "variance").accel_sigma_m_s2
    except ValueRangeError:  # too short, or without noise
        return usual
    sigma = min(max(noise, usual.accel_sigma_m_s2), _NOISIEST_M_S2)
    return replace(usual, accel_sigma_m_s2=sigma)


def _warnings(intervals: tuple[RestInterval, ...], refused: Counter[Refusal]) -> tuple[str, ...]:
    """Return the findings, each with the next step."""
    findings = {
        "more intervals were refused than used: leave the sensor still on a firm support": (
            refused.total() > len(intervals)
        ),
        "the bias jumped or drifted within the recording, and the last value is given: see the "
        "events": any(interval.event for interval in intervals),
    }
    return tuple(text for text, found in findings.items() if found)
