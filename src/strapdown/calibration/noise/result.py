"""Noise parameters of a sensor, and their exports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, get_args

from strapdown.calibration.noise import profile, targets
from strapdown.calibration.noise.channel import channel_noise, roughly
from strapdown.calibration.noise.curve import curves_of
from strapdown.errors import UnknownNameError, ValueRangeError

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.calibration.noise.channel import ChannelNoise
    from strapdown.calibration.noise.curve import AllanCurves, Curve
    from strapdown.calibration.noise.targets import Axes
    from strapdown.sensors import ImuSpec

__all__ = ["Intervals", "NoiseFit", "fit_noise"]

Intervals = Literal["fast", "bootstrap"]
Params = TypeVar("Params")

_COUNT: Final = 200
_MOST_PROCESSES: Final = 3


@dataclass(frozen=True)
class NoiseFit:
    """Noise parameters of every channel of a log at rest.

    Parameters
    ----------
    channels : tuple of ChannelNoise
    rate_hz : float
        Sampling rate [Hz].
    samples : int
    duration_s : float
        [s].
    """

    channels: tuple[ChannelNoise, ...]
    rate_hz: float
    samples: int
    duration_s: float

    def __getitem__(self, channel: str) -> ChannelNoise:
        """Return the noise of a channel by name.

        Raises
        ------
        UnknownNameError
            There is no such channel.
        """
        by_name = {each.channel: each for each in self.channels}
        if channel not in by_name:
            raise UnknownNameError("channel", channel, by_name)
        return by_name[channel]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Statements about channels whose model does not fit."""
        return tuple(each.warning for each in self.channels if each.warning)

    def to_spec(self, name: str = "imu") -> ImuSpec:
        """Return N, B and K of each axis as a specification for the simulator.

        A term that is absent on all axes of a triad stays None, which is unknown; on single axes it
        is 0. Gauss-Markov processes differ from axis to axis, and a ramp belongs to one log: the
        numbers are those of the fit without processes, and a ramp is left out.

        Parameters
        ----------
        name : str
            Of the sensor.

        Raises
        ------
        ShapeError
            The channels are not those of an IMU.
        """
        return profile.to_spec(self.channels, name, rate_hz=self.rate_hz)

    def to_sheet(self, name: str = "imu", *, source: str = "a log at rest") -> str:
        """Return a sensor profile in TOML.

        ``load_profile`` reads the same specification from it. SI units and a two-sided density
        keep the numbers exact; comments have them in the units of data sheets. What is not
        identified is listed as unknown, with the reason.

        Parameters
        ----------
        name : str
            Of the sensor.
        source : str
            The log with length, rate and date.

        Raises
        ------
        ShapeError
            The channels are not those of an IMU.
        """
        return profile.to_sheet(self.channels, name, source=self.provenance(source))

    def to_kalibr(
        self,
        *,
        topic: str = "/imu0",
        inflate: float = 1.0,
        axes: Axes = "worst",
        source: str = "a log at rest",
    ) -> str:
        """Return the text of an ``imu.yaml`` of kalibr.

        Its densities are N and K. A random walk that is not identified is written as the largest
        one that the curve allows, with a comment: a 0 would make every estimator overconfident.

        Parameters
        ----------
        topic : str
            ``rostopic`` of the file.
        inflate : float
            Factor on all four densities. Users of inexpensive sensors take 5 to 10, because motion,
            temperature and vibration add errors that a log at rest does not show.
        axes : {"worst", "mean"}
            One number of three axes.
        source : str
            The log with length, rate and date.

        Raises
        ------
        ShapeError
            The channels are not the six of an IMU.
        ValueRangeError
            White noise is not identified on an axis, or a factor is not positive.
        UnknownNameError
            There is no such choice of axes.
        """
        return targets.to_kalibr(
            self.channels,
            self.rate_hz,
            topic=topic,
            inflate=inflate,
            axes=axes,
            source=self.provenance(source),
        )

    def to_params(self, kind: type[Params], *, inflate: float = 1.0) -> Params:
        """Return the parameters of an estimator, with those that a log at rest determines.

        ====================  ============================================================
        class                 fields
        ====================  ============================================================
        ``NavigatorParams``   ``gyro_noise``, ``accel_noise``, ``gyro_walk``, ``accel_walk``
        ``ErrorStateParams``  ``gyro_noise``, ``accel_noise``, ``gyro_bias_walk``
        ``SmootherParams``    ``gyro_noise``, ``bias_walk``
        ``VqfParams``         ``rate_noise``
        ``ImuNoise``          ``gyro``, ``accel``, ``gyro_walk``, ``accel_walk`` of each axis
        ====================  ============================================================

        All others keep their defaults. One number of three axes is that of the worst. A random walk
        that is not identified is the largest one that the curve allows.

        Parameters
        ----------
        kind : type
            The class.
        inflate : float
            Factor on all of them: errors in motion are larger than those at rest.

        Raises
        ------
        UnknownNameError
            The class has no such parameters.
        ShapeError
            The channels are not those of an IMU.
        ValueRangeError
            White noise is not identified on an axis, or the factor is not positive.
        """
        return targets.to_params(self.channels, kind, inflate=inflate)

    def covariance(
        self,
        *,
        rate_hz: float | None = None,
        noise_bandwidth_hz: float | None = None,
        include_bias: bool = False,
    ) -> dict[str, FloatArray]:
        """Return the covariance (3, 3) of one sample, by quantity, for messages of ROS and horus.

        ``N^2 rate`` for white noise over the full band, or ``2 N^2 bandwidth`` for a filtered
        sensor; off the diagonal 0.

        Parameters
        ----------
        rate_hz : float, optional
            Of the samples; by default that of the log [Hz].
        noise_bandwidth_hz : float, optional
            Equivalent noise bandwidth of a filter in the sensor [Hz].
        include_bias : bool
            Add B^2, for consumers without a bias of their own.

        Returns
        -------
        dict of (3, 3)
            ``angular_velocity`` [(rad/s)^2] and ``specific_force`` [(m/s^2)^2]; never zeros, which
            mean unknown.

        Raises
        ------
        ShapeError
            The channels are not those of an IMU.
        ValueRangeError
            White noise is not identified on an axis, or a number is not positive.
        """
        return targets.covariance(
            self.channels,
            rate_hz=self.rate_hz if rate_hz is None else rate_hz,
            noise_bandwidth_hz=noise_bandwidth_hz,
            include_bias=include_bias,
        )

    def provenance(self, source: str) -> str:
        """Return the name of a log with its length and rate."""
        return f"{source}: {self.duration_s / 3600.0:.4g} h at {self.rate_hz:.6g} Hz"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and texts."""
        return {
            "rate_hz": self.rate_hz,
            "samples": self.samples,
            "duration_s": self.duration_s,
            "channels": {each.channel: each.to_dict() for each in self.channels},
        }


def fit_noise(
    result: AllanCurves,
    *,
    gauss_markov: int = _MOST_PROCESSES,
    bandwidth_hz: float | None = None,
    intervals: Intervals = "fast",
    seed: int = 0,
) -> NoiseFit:
    """Identify the noise terms of each channel and their coefficients.

    A non-negative least squares fit of the relative variance is the start. The squares of the
    logarithms of measured over modelled variance, weighted by their degrees of freedom with a cap
    of five medians, are minimised. Terms are added and removed while the Bayesian information
    criterion falls. The 95 % intervals include the correlation of neighbouring cluster times.
    Where the model does not fit, ``ChannelNoise.warning`` reports it, and the intervals
    include the size of its misfit.

    Parameters
    ----------
    result : AllanResult
        Of kind ``oadev``, ``adev`` or ``totdev``.
    gauss_markov : int
        Largest number of Gauss-Markov processes, 0 to 3.
    bandwidth_hz : float, optional
        Bandwidth of the sensor: cluster times below its reciprocal are bent by the filter and
        left out [Hz].
    intervals : {"fast", "bootstrap"}
        Linear propagation, or 200 fits to curves drawn from the model.
    seed : int
        Of the drawn curves.

    Raises
    ------
    UnknownNameError
        The deviation is not an Allan deviation, or there are no such intervals.
    ValueRangeError
        A number is outside its range.

    References
    ----------
    IEEE Std 952-2020, annex C; IEEE Std 1293-2018, annex B.
    """
    if intervals not in get_args(Intervals):
        raise UnknownNameError("intervals", intervals, get_args(Intervals))
    if not 0 <= gauss_markov <= _MOST_PROCESSES:
        raise ValueRangeError(f"expected gauss_markov from 0 to 3, got {gauss_markov}")
    if bandwidth_hz is not None and not bandwidth_hz > 0.0:
        raise ValueRangeError(f"expected bandwidth_hz above 0, got {bandwidth_hz}")
    first = [_from(curve, bandwidth_hz) for curve in curves_of(result)]
    models = [roughly(curve) for curve in first]
    curves = [_from(curve, bandwidth_hz) for curve in curves_of(result, models)]
    drawn = (_COUNT, seed) if intervals == "bootstrap" else None
    named = zip(result.channels, result.units, curves, strict=True)
    return NoiseFit(
        tuple(
            channel_noise(name, unit, curve, gauss_markov, 1.0 / result.rate_hz, drawn)
            for name, unit, curve in named
        ),
        result.rate_hz,
        result.samples,
        result.duration_s,
    )


def _from(curve: Curve, bandwidth_hz: float | None) -> Curve:
    """Return the part of a curve that the filter of a sensor does not bend."""
    return curve if bandwidth_hz is None else curve.from_time(1.0 / bandwidth_hz)
