"""Sensors on a motion, in memory."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from strapdown.calibration import AllanAccumulator
from strapdown.errors import ValueRangeError
from strapdown.motion import Mounted
from strapdown.sensors import Flag, ImuSimulator, ImuSpec, SpecWarning, load_profile
from strapdown.simulation._sources import at_rest, shared
from strapdown.simulation.motions import Ride, find_motion
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from strapdown._typing import FloatArray
    from strapdown.motion import InertialSource, Motion
    from strapdown.samples import SampleKind
    from strapdown.sensors import Samples
    from strapdown.sensors.units import Limit
    from strapdown.series import Trajectory

__all__ = ["Run", "Simulation", "find_sensor", "rest_deviation", "simulate"]


@dataclass(frozen=True, eq=False)
class Simulation:
    """Output of a simulated sensor, and the truth.

    Parameters
    ----------
    samples : Samples
        Everything: stamps of all clocks, values, flags. ``samples.series()`` is the
        :class:`~strapdown.series.ImuSeries`, ``samples.increments()`` the increments.
    metadata : dict
        Seed, unknown parameters, whose terms are off, and delays of filters; JSON-able, as
        :meth:`~strapdown.sensors.ImuSimulator.metadata` describes.
    """

    samples: Samples
    metadata: dict[str, Any]
    _truth_at: Callable[[FloatArray], Trajectory | None] = field(repr=False)

    @cached_property
    def truth(self) -> Trajectory | None:
        """Pose and velocity of the sensor at the true instant of each sample.

        Evaluated on first access; None where the motion has no pose.
        """
        return self._truth_at(self.samples.t_true_s)


def find_sensor(  # noqa: PLR0913 (one option a choice that a sheet leaves)
    sensor: ImuSpec | str | PathLike[str],
    *,
    rate_hz: float | None = None,
    sampling: SampleKind | str | None = None,
    gyro_range: float | None = None,
    accel_range: float | None = None,
    unstated_limits: Limit | str | None = None,
) -> ImuSpec:
    """Return a specification: unchanged, of a profile by name, of a TOML file, or ``"ideal"``.

    Parameters
    ----------
    sensor : ImuSpec, str or path-like
        The sensor to simulate.
    rate_hz : float, optional
        Output rate [Hz]; by default that of the specification, 200 Hz for profiles.
    sampling : SampleKind or name, optional
        Kind of the samples; by default that of the specification.
    gyro_range, accel_range : float, optional
        Full scale of a profile [rad/s], [m/s^2]; by default the largest. With the bits of the part
        it sets the size of a rounding step.
    unstated_limits : {"1sigma", "3sigma", "max"}, optional
        Meaning of plus-minus figures of a sheet that does not state it; off by default.

    Warns
    -----
    SpecWarning
        A noise density looks like a mistake of units.
    WhiteNoiseWarning
        No white noise is known of a part.

    Raises
    ------
    UnknownNameError
        There is no profile, sampling or meaning of that name.
    FormatError
        The file is no profile; file, line and key are named.
    ValueRangeError
        The part has no such rate or range, or a range comes without a profile.
    """
    ranges = {"gyro_range": gyro_range, "accel_range": accel_range}
    chosen = {name: value for name, value in ranges.items() if value is not None}
    asked = {"rate_hz": rate_hz, "sampling": sampling}
    changes: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    if chosen and (isinstance(sensor, ImuSpec) or sensor == "ideal"):
        raise ValueRangeError(f"expected a profile with {next(iter(chosen))}, got {sensor}")
    if isinstance(sensor, ImuSpec):
        return replace(sensor, **changes) if changes else sensor
    if sensor == "ideal":
        return ImuSpec(**changes)
    sheet = load_profile(sensor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)  # the error of the sheet names the line
        rate = {} if rate_hz is None else {"rate_hz": rate_hz}
        spec = sheet.spec(unstated_limits=unstated_limits, **chosen, **rate)
        return replace(spec, **changes)


def simulate(  # noqa: PLR0913 (one option a part of the run)
    motion: Ride | InertialSource | Motion | str | PathLike[str],
    sensor: ImuSpec | str | PathLike[str] = "ideal",
    duration_s: float | None = None,
    *,
    rate_hz: float | None = None,
    sampling: SampleKind | str | None = None,
    seed: int | None = 0,
    name: str = "imu",
    start_ns: int | None = None,
    **conditions: Any,  # noqa: ANN401 (handed on to ImuSimulator, which checks them)
) -> Simulation:
    """Simulate one sensor on a motion, in memory.

    Parameters
    ----------
    motion : str, path-like, Motion, InertialSource or Ride
        Motion of the sensor: a name of ``strapdown.motion.MOTIONS``, a file, a motion (the
        sensor is at its origin), or a source such as ``Mounted(motion, mount, earth)``.
        :func:`find_motion` has the options of files.
    sensor : ImuSpec, str or path-like
        A specification, the name of a profile, a TOML file, or ``"ideal"``.
    duration_s : float, optional
        Length [s]; by default all of a motion that ends, and 60 s of others.
    rate_hz : float, optional
        Output rate [Hz]; by default that of the specification, 200 Hz for profiles.
    sampling : SampleKind or name, optional
        Kind of the samples; by default that of the specification.
    seed : int, optional
        Key of the noise; None draws one, which the metadata contain.
    name : str
        Of the sensor; sensors of different names have different noise.
    start_ns : int, optional
        Stamp of time 0 of the motion [ns]; by default that of the motion, or 0.
    **conditions
        ``magnetic_field_world``, ``temperature``, ``vibration``, ``noise_start`` and
        ``include_bias``, as in :class:`~strapdown.sensors.ImuSimulator`.

    Returns
    -------
    Simulation
        Samples, truth by row, and metadata.

    Raises
    ------
    UnknownNameError, FormatError, ValueRangeError
        As :func:`find_motion` and :func:`find_sensor`; ValueRangeError also where the run is
        shorter than one sample.

    Examples
    --------
    >>> run = simulate("circle", "MPU-6050", 2.0, seed=7)
    >>> run.samples, run.metadata["seed"]
    (Samples(400 rates of 'imu'), 7)
    >>> run.truth.position_world[0].tolist()  # the circle begins in the east [m]
    [5.0, 0.0, 0.0]
    """
    spec = find_sensor(sensor, rate_hz=rate_hz, sampling=sampling)
    run = Run(as_ride(motion, duration_s), spec, (name,), seed, start_ns, conditions)
    (simulator,) = run.simulators
    samples = simulator.run(run.count)
    return Simulation(samples, simulator.metadata(), run.truth)


def rest_deviation(
    spec: ImuSpec, *, seed: int = 0, name: str = "imu", samples: int = 2**20
) -> dict[str, AllanAccumulator]:
    """Return the Allan deviation of a simulated sensor at rest.

    Parameters
    ----------
    spec : ImuSpec
        The sensor.
    seed : int
        Key of its noise.
    name : str
        Of the sensor.
    samples : int
        Number of samples.

    Returns
    -------
    dict of AllanAccumulator
        By name of the triad, in SI units; increments as mean rates.
    """
    simulator = ImuSimulator(spec, at_rest(), seed=seed, name=name)
    found = {triad: AllanAccumulator(float(spec.rate_hz)) for triad in spec.triads()}
    for block in simulator.blocks(samples):
        ready = block[(block.flags & Flag.NOT_READY) == 0]
        for triad, values in _rates(ready).items():
            found[triad].add(values)
    return found


class Run:
    """Simulators on one shared motion, starting at its first sample.

    Parameters
    ----------
    ride : Ride
        Their motion.
    spec : ImuSpec
        Specification of each.
    names : tuple of str
        One simulator each.
    seed : int or None
        Key of all noise.
    start_ns : int or None
        Stamp of time 0 [ns]; by default that of the ride.
    conditions : dict
        Arguments of every :class:`~strapdown.sensors.ImuSimulator`.

    Attributes
    ----------
    simulators : list of ImuSimulator
    count : int
        Samples of each that the ride has.

    Raises
    ------
    ValueRangeError
        The ride is shorter than one sample.
    """

    def __init__(  # noqa: PLR0917, PLR0913 (all that a run is made of)
        self,
        ride: Ride,
        spec: ImuSpec,
        names: tuple[str, ...],
        seed: int | None,
        start_ns: int | None,
        conditions: dict[str, Any],
    ) -> None:
        self._ride, self._rate_hz = ride, float(spec.rate_hz)
        self._start_ns = ride.start_ns if start_ns is None else start_ns
        source = ride.source if len(names) == 1 else shared(ride.source)
        self.simulators: list[ImuSimulator] = []
        for name in names:
            simulator = ImuSimulator(
                spec,
                source,
                seed=seed,
                name=name,
                start_s=ride.start_s,
                start_ns=self._start_ns,
                **conditions,
            )
            seed = simulator.key.seed  # without a seed, all share the one that was drawn
            self.simulators.append(simulator)
        self.count = min(_samples_within(ride, each) for each in self.simulators)
        if self.count < 1:
            raise ValueRangeError(
                f"expected a run of at least one sample, got {ride.duration_s:g} s "
                f"at {self._rate_hz:g} Hz"
            )

    def blocks(self, rows: int) -> Iterator[tuple[list[Samples], Trajectory | None]]:
        """Yield the next samples of each simulator, and the truth at their nominal instants."""
        first = self.simulators[0].position
        for start in range(first, first + self.count, rows):
            stop = min(start + rows, first + self.count)
            t_s = self._ride.start_s + np.arange(start, stop) / self._rate_hz
            yield [each.run(stop - start) for each in self.simulators], self.truth(t_s)

    def truth(self, t_s: FloatArray) -> Trajectory | None:
        """Return the truth at instants [s], or at the end of the motion that is nearest."""
        source = self._ride.source
        if not source.has_pose:
            return None
        t_s = np.clip(t_s, source.start_s, source.end_s)
        return source.truth(t_s, start_ns=self._start_ns).replace(name="truth")


def as_ride(motion: Any, duration_s: float | None) -> Ride:  # noqa: ANN401 (distinguished here)
    """Return the ride that a motion of any kind gives."""
    if isinstance(motion, Ride):
        if duration_s is None:
            return motion
        own = motion.source, motion.name, duration_s
        return Ride.of(*own, start_ns=motion.start_ns, notes=motion.notes)
    if isinstance(motion, str | PathLike):
        return find_motion(motion, duration_s=duration_s)
    source = motion if hasattr(motion, "inputs") else Mounted(motion)
    return Ride.of(source, type(motion).__name__, duration_s)


def _samples_within(ride: Ride, simulator: ImuSimulator) -> int:
    """Return the number of samples whose instants lie within the ride, by the device's clock."""
    rate_hz = float(simulator.spec.rate_hz)
    count = int(ride.duration_s * rate_hz * (1.0 + 1e-12))
    end_s = ride.source.end_s
    while count and math.isfinite(end_s):
        late_s = float(simulator.instants(simulator.position + count - 1, 1)[0]) - end_s
        if late_s <= 0.0:
            break
        count = max(count - math.ceil(late_s * rate_hz), 0)
    return count


def _rates(samples: Samples) -> dict[str, FloatArray]:
    """Return the values of each triad; increments as mean rates."""
    per_interval = NS_PER_S / samples.interval_ns
    rates = {
        "gyro": (samples.angular_velocity, samples.delta_angle),
        "accel": (samples.specific_force, samples.delta_velocity),
        "mag": (samples.magnetic_field, None),
    }
    found = {}
    for name, (rate, increment) in rates.items():
        if rate is not None:
            found[name] = rate
        elif increment is not None:
            found[name] = increment * per_interval
    return found
