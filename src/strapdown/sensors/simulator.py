"""A simulated IMU on a motion, or in a user's loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from strapdown._checks import as_finite
from strapdown._kernels.compilation import compiled_is_quicker
from strapdown.errors import DeviceError, ShapeError, UnknownNameError, ValueRangeError
from strapdown.samples import SampleKind
from strapdown.sensors import _spec_checks as must
from strapdown.sensors._inputs import IdealInputs
from strapdown.sensors._metadata import about_spec
from strapdown.sensors._timeline import Timeline
from strapdown.sensors.filters import oversampling
from strapdown.sensors.measuring import measure
from strapdown.sensors.model import SensorModel
from strapdown.sensors.noise import GYRO, MAG, NoiseKey, seed_or_drawn, sensor_number
from strapdown.sensors.samples import Sample, Samples
from strapdown.sensors.spec import ImuSpec
from strapdown.sensors.temperature import TemperatureProfile
from strapdown.sensors.vibration import VibrationSignal
from strapdown.units import MICROTESLA, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from strapdown._typing import ArrayLike, ByteArray, FloatArray
    from strapdown.motion.source import InertialSource
    from strapdown.sensors.triad import TriadSpec
    from strapdown.sensors.vibration import Vibration
    from strapdown.series import Trajectory

__all__ = ["ImuSimulator"]

_NAME = "imu"
_FIELD = (0.0, 25.0 * MICROTESLA, -43.30127018922194 * MICROTESLA)
_SENSORS = must.whole(0, 2**32 - 1)
_STAMPS = must.whole(-(2**62), 2**62)
_AHEAD = 1024  # samples whose moments a stream prepares at once


class ImuSimulator:
    """A device with the errors of a specification.

    Three modes of use, with the same bits: :meth:`run` returns many samples along a motion,
    compiled; :meth:`step` the next one, in plain Python; and :meth:`feed` takes ideal inputs
    from a user's loop. Bits depend on specification, seed, sensor number and sample
    number only (and on the motion); not on chunks, threads, other sensors, or the start.

    A low-pass starts in the steady state of its first input. Means and increments that would
    begin before the motion does start with sample 1, one interval later. Increments have the
    errors of the mean rate over their interval, times the interval; so a least significant bit of
    a delta angle is ``resolution`` times the interval.

    Parameters
    ----------
    spec : ImuSpec
        The part. Terms of unknown parameters are off; :meth:`metadata` lists them.
    source : InertialSource, optional
        Inputs of the sensor, such as ``Mounted(motion)``. :meth:`feed` needs none.
    seed : int or None, optional
        Of the noise, 0 to 2**64 - 1; None draws one, which :meth:`metadata` contains.
    name : str, optional
        Of the sensor. The sensor number is a hash of it and of the name of the part, if the
        specification has one: sensors of another name, and other parts, have independent noise.
        ``imu0``, the first of several, has the noise of ``imu``.
    sensor : int, optional
        Another sensor number, 0 to 2**32 - 1.
    start_s : float, optional
        True instant of sample 0 [s].
    start_ns : int, optional
        The stamp of instant 0 [ns].
    magnetic_field_world : (3,), optional
        Around the sensor [T, world]; by default 50 uT, north with a dip of 60 degrees (ENU).
    temperature : TemperatureProfile or float, optional
        [degC]; without it the terms of temperature are off.
    vibration : Vibration, optional
        Added to the ideal inputs of a source.
    noise_start : {"stationary", "zero"}, optional
        Initial state of flicker and Gauss-Markov noise.
    include_bias : bool, optional
        Whether covariances contain the slow errors as well: turn-on bias, flicker and
        Gauss-Markov noise in their steady state, random walk since power-on.

    Raises
    ------
    ValueRangeError
        The seed, the sensor number or a filter does not fit; the source does not
        support the sampling, or starts after ``start_s``.
    UnknownNameError
        There is no such noise start.
    ShapeError
        The field does not have three components.
    TypeError
        An argument is of another kind.
    """

    def __init__(  # noqa: PLR0913 (one option a part of the world)
        self,
        spec: ImuSpec,
        source: InertialSource | None = None,
        *,
        seed: int | None = 0,
        name: str = _NAME,
        sensor: int | None = None,
        start_s: float = 0.0,
        start_ns: int = 0,
        magnetic_field_world: ArrayLike | None = None,
        temperature: TemperatureProfile | float | None = None,
        vibration: Vibration | None = None,
        noise_start: Literal["stationary", "zero"] = "stationary",
        include_bias: bool = False,
    ) -> None:
        must.instance(ImuSpec)(spec, "spec")
        must.instance(str)(name, "name")
        self.spec, self.source, self.name = spec, source, name
        number = (
            sensor_number(_stream(spec, name)) if sensor is None else _SENSORS(sensor, "sensor")
        )
        self.key = NoiseKey(seed_or_drawn(seed), number)
        self._window = oversampling(spec)
        filtered = any(triad.bandwidth for triad in (spec.gyro, spec.accel))
        if spec.sampling is SampleKind.PREINTEGRATED and (filtered or self._window > 1):
            raise ValueRangeError(
                f"expected neither filter nor oversampling with {str(spec.sampling)!r} samples, "
                f"got {'a filter' if filtered else f'{self._window} internal samples'}; "
                "sample 'integral' instead"
            )
        self._increments, self._needs_pose = spec.sampling.is_increment, spec.sampling.needs_pose
        self._dt_s = 1.0 / float(spec.rate_hz)
        self._start_s, self._start_ns = start_s, _STAMPS(start_ns, "start_ns")
        if temperature is not None and not isinstance(temperature, TemperatureProfile):
            temperature = TemperatureProfile(temperature)
        self._temperature = temperature
        self._field = None
        if spec.mag is not None:
            field = _FIELD if magnetic_field_world is None else magnetic_field_world
            self._field = as_finite(field, "magnetic_field_world", (3,))
        self._vibration = None
        if vibration is not None:
            self._vibration = VibrationSignal(vibration, spec.rate_hz * self._window, self.key)
        _require_one_of("noise start", noise_start, ("stationary", "zero"))
        self._noise_start, self._include_bias = noise_start, include_bias
        self._ahead_inputs: list[tuple[float, ...]] = []
        self._ahead_moments: list[tuple[Any, ...]] = []
        self._imu = self._model((spec.gyro, spec.accel), GYRO)
        self._mag = None if spec.mag is None else self._model((spec.mag,), MAG)
        self._begin(start_s, 0, 0)

    def _model(self, triads: Sequence[TriadSpec], channel: int) -> SensorModel:
        return SensorModel(
            triads,
            self.key,
            rate_hz=float(self.spec.rate_hz),
            channel=channel,
            oversampling=self._window,
            mean=self.spec.sampling.is_mean,
            stationary=self._noise_start == "stationary",
            temperature=None if self._temperature is None else self._temperature_at,
        )

    def _temperature_at(self, samples: FloatArray) -> FloatArray:
        """Return the temperature by sample number of the noise, which may continue over a reset."""
        t_s = self._timeline.start_s + np.maximum(samples - self._offset, 0.0) * self._dt_s
        return cast("TemperatureProfile", self._temperature).at(t_s)

    def _begin(self, start_s: float, offset: int, power_cycle: int) -> None:
        """Reset to the state before the first sample, without past inputs."""
        timeline = Timeline(
            self.spec,
            self.key,
            start_s=float(as_finite(start_s, "start_s", ())),
            start_ns=self._start_ns,
            window=self._window,
            temperature=self._temperature,
        )
        inputs = None
        if self.source is not None:
            inputs = IdealInputs(
                self.source,
                self.spec,
                timeline.clock,
                vibration=self._vibration,
                field_world=self._field,
            )
        self._timeline, self._inputs = timeline, inputs
        self._offset, self._power_cycle = offset, power_cycle
        self._next = 0 if inputs is None else inputs.first
        for model in self._models():
            model.reset(power_cycle)
        self._place()

    def _models(self) -> list[SensorModel]:
        return [self._imu] if self._mag is None else [self._imu, self._mag]

    def _place(self) -> None:
        """Set the models to the next sample, and discard data prepared for others."""
        for model in self._models():
            model.position = self._offset + self._next
        self._ahead = range(0)

    # -- samples -------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """Number of the next sample."""
        return self._next

    @property
    def variance(self) -> FloatArray:
        """Variance of the noise and rounding of a sample, gyro then accelerometer (6,).

        Slow errors are excluded; where noise depends on temperature, see the variances of samples.
        """
        return self._imu.variance

    def run(self, samples: int) -> Samples:
        """Return the next samples along the motion; many are computed by machine code.

        Parameters
        ----------
        samples : int
            Number of samples; :meth:`blocks` divides long runs.

        Returns
        -------
        Samples
            One row a sample, dropped ones included.

        Raises
        ------
        DeviceError
            There is no source, or inputs of :meth:`feed` wait for the end of their sample.
        ValueRangeError
            The motion ends before the last sample, or the number is negative.
        """
        start, stop = self._next, self._next + samples
        inputs = self._inputs_until(stop)
        measured = np.empty((6 if self._mag is None else 9, samples))
        clipping = np.zeros((2, samples), np.uint8)
        compiled = compiled_is_quicker(measure, samples * self._window)
        while self._next < stop:
            columns = inputs.columns(self._next, stop)
            count = columns.shape[1] // self._window
            rows = slice(self._next - start, self._next - start + count)
            measured[:6, rows], clipping[:, rows] = self._imu.run(columns[:6], compiled=compiled)
            if self._mag is not None:
                measured[6:, rows], _ = self._mag.run(columns[6:], compiled=compiled)
            self._next += count
        return self._collected(start, measured, clipping)

    def blocks(self, samples: int, *, block: int = 65536) -> Iterator[Samples]:
        """Yield the next samples block by block, in bounded memory.

        Parameters
        ----------
        samples : int
            Total number.
        block : int, optional
            Largest number at once.

        Raises
        ------
        DeviceError, ValueRangeError
            As :meth:`run`.
        """
        if samples < 0 or block < 1:
            raise ValueRangeError(
                f"expected 0 samples or more in blocks of 1 or more, got {samples} and {block}"
            )
        for done in range(0, samples, block):
            yield self.run(min(block, samples - done))

    def step(self) -> Sample:
        """Return the next sample along the motion, in plain Python.

        Raises
        ------
        DeviceError, ValueRangeError
            As :meth:`run`.
        """
        if self._next not in self._ahead or not self._ahead_inputs:
            inputs = self._inputs_until(self._next + 1)
            columns = inputs.columns(self._next, self._next + inputs.block)
            self._look_ahead(columns.shape[1] // self._window)
            self._ahead_inputs = list(zip(*columns.tolist(), strict=True))
        first = (self._next - self._ahead.start) * self._window
        taken = [self._take(x) for x in self._ahead_inputs[first : first + self._window]]
        return cast("Sample", taken[-1])

    def feed(
        self,
        angular_velocity: Sequence[float],
        specific_force: Sequence[float],
        magnetic_field: Sequence[float] = (),
    ) -> Sample | None:
        """Take the ideal inputs of one internal sample; return the sample that they complete.

        Inputs are at the internal rate, ``rate_hz`` times oversampling. With oversampling M
        every M-th call returns a sample, and the others None. The M-th input is the one at the
        sample's stamp, so the first M - 1 inputs of all lie before the first sample. Means and
        increments are those of the M inputs, so with M = 1 they are the input itself. NaN passes
        through as NaN, without effect on filters. Vibration is not added: it belongs to the
        inputs from the user's loop.

        Parameters
        ----------
        angular_velocity, specific_force, magnetic_field : 3 floats
            [rad/s], [m/s^2], [T], axes of the sensor; the field only where there is a
            magnetometer.

        Raises
        ------
        DeviceError
            The sampling needs the motion between the inputs.
        ShapeError
            An input does not have three numbers.
        """
        if self._needs_pose:
            raise DeviceError(
                f"expected a sampling that inputs at instants suffice for, "
                f"got {str(self.spec.sampling)!r}; give a source and use step()"
            )
        sizes = len(angular_velocity), len(specific_force), len(magnetic_field)
        if sizes != (3, 3, 0 if self._mag is None else 3):
            raise ShapeError(
                "expected 3 numbers of angular velocity and specific force, and of magnetic field "
                f"if there is a magnetometer, got {sizes}"
            )
        if self._next not in self._ahead:
            self._look_ahead(_AHEAD)
        inputs = [*map(float, (*angular_velocity, *specific_force, *magnetic_field))]
        sample = self._take(inputs)
        if sample is None:
            self._ahead_inputs = []  # so that a step checks the state from which it would continue
        return sample

    def _take(self, inputs: Sequence[float]) -> Sample | None:
        """Take one internal sample."""
        step = self._imu.step(inputs)
        field = None if self._mag is None else self._mag.step(inputs[6:])
        if step is None:
            return None
        i = self._next - self._ahead.start
        self._next += 1
        values, clipping = step
        gyro, accel = values[:3], values[3:]
        rates: tuple[list[float] | None, ...] = (gyro, accel, None, None)
        if self._increments:
            dt_s = self._dt_s
            rates = (None, None, [x * dt_s for x in gyro], [x * dt_s for x in accel])
        *stamps, temperature, flags = self._ahead_moments[i]
        magnetic_field = None if field is None else field.values
        return Sample._make((*stamps, *rates, magnetic_field, temperature, *clipping, flags))

    def _look_ahead(self, samples: int) -> None:
        """Prepare the moments of the next samples for a stream."""
        self._ahead = range(self._next, self._next + samples)
        self._ahead_inputs = []
        moments = self._timeline.moments(self._next, samples)
        columns = ([None] * samples if c is None else c.tolist() for c in moments)
        self._ahead_moments = list(zip(*columns, strict=True))

    def _inputs_until(self, stop: int) -> IdealInputs:
        """Return the inputs, if they reach sample ``stop - 1`` from here."""
        inputs = self._whole_inputs()
        if stop < self._next:
            raise ValueRangeError(f"expected 0 samples or more, got {stop - self._next}")
        if stop > self._next:
            inputs.require(stop - 1)
        return inputs

    def _whole_inputs(self) -> IdealInputs:
        """Return the inputs, if there is a source, and no sample is open."""
        if self._inputs is None:
            raise DeviceError("expected a source, got none; pass one, or use feed()")
        if self._imu.window_open:
            raise DeviceError(
                "expected whole samples before, got inputs that wait for the end of theirs; "
                "feed the rest or reset"
            )
        return self._inputs

    def _collected(self, start: int, measured: FloatArray, clipping: ByteArray) -> Samples:
        """Return samples with the measured values, one row an axis."""
        count = measured.shape[1]
        moments = self._timeline.moments(start, count)
        increments = self._increments
        if increments:
            measured[:6] *= self._dt_s
        gyro, accel = measured[:3].T, measured[3:6].T
        variance = self._imu.variance_at(self._offset + start, count)
        if self._include_bias:
            samples = (self._offset + moments.seq).astype(np.float64)
            variance = np.add(variance, self._imu.bias_variance(samples * self._dt_s))
        return Samples(
            **moments._asdict(),
            angular_velocity=None if increments else gyro,
            specific_force=None if increments else accel,
            delta_angle=gyro if increments else None,
            delta_velocity=accel if increments else None,
            magnetic_field=None if self._mag is None else measured[6:].T,
            gyro_clipping=clipping[0],
            accel_clipping=clipping[1],
            gyro_variance=variance[:, :3],
            accel_variance=variance[:, 3:],
            interval_ns=round(self._dt_s * NS_PER_S),
            name=self.name,
        )

    def truth(self, samples: Samples) -> Trajectory:
        """Return the true pose and velocity at the samples.

        Where jitter moves the first sample before the motion, it has the pose at the start.

        Raises
        ------
        DeviceError
            There is no source.
        """
        if self.source is None:
            raise DeviceError("expected a source, got none")
        t_s = np.maximum(samples.t_true_s, self.source.start_s)
        return self.source.truth(t_s, start_ns=self._start_ns)

    def instants(self, start: int, count: int) -> FloatArray:
        """Return the true instants of samples ``start``, ``start + 1``, ... (count,) [s]."""
        return self._timeline.clock.instants(start, count)

    # -- position ------------------------------------------------------------------------------

    def seek(self, sample: int) -> None:
        """Move to a sample: the next one equals that of a run from the start.

        A filter, or a carried rounding residue, needs all samples before; these are computed.

        Raises
        ------
        DeviceError
            Samples have to be computed, and there is no source.
        ValueRangeError
            The sample is before the first one, or after the end of the motion.
        """
        first = 0 if self._inputs is None else self._inputs.first
        if sample < first:
            raise ValueRangeError(f"expected a sample from {first} on, got {sample}")
        if self._inputs is not None and sample > first:
            self._inputs.require(sample - 1)
        if not any(model.has_memory for model in self._models()):
            for model in self._models():
                model.reset(self._power_cycle)
        elif sample != self._next or self._imu.window_open:
            self._whole_inputs()
            if sample < self._next:
                self._begin(self._timeline.start_s, self._offset, self._power_cycle)
            for _ in self.blocks(sample - self._next):
                pass
        self._next = sample
        self._place()

    def reset(
        self,
        *,
        start_s: float | None = None,
        noise: Literal["continue", "restart"] = "continue",
        power_cycle: bool = False,
    ) -> None:
        """Restart with sample 0: filters, differences, clock and queue are reset.

        Parameters
        ----------
        start_s : float, optional
            True instant of sample 0 [s]; by default the original one.
        noise : {"continue", "restart"}, optional
            Whether noise and time since power-on continue with the next sample number, or restart
            as well. The noise of clock, latency and vibration always restarts.
        power_cycle : bool, optional
            Whether to draw new values of the terms drawn at power-on.

        Raises
        ------
        UnknownNameError
            There is no such option for the noise.
        ValueRangeError
            ``start_s`` is not within the motion.
        """
        _require_one_of("way of the noise", noise, ("continue", "restart"))
        offset = self._offset + self._next if noise == "continue" else 0
        start_s = self._start_s if start_s is None else start_s
        self._begin(start_s, offset, self._power_cycle + power_cycle)

    def state(self) -> dict[str, Any]:
        """Return the position of the device, as JSON-able values."""
        return {
            "next": self._next,
            "offset": self._offset,
            "power_cycle": self._power_cycle,
            "start_s": self._timeline.start_s,
            "timeline": self._timeline.state(),
            "models": [model.state() for model in self._models()],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a position that :meth:`state` of a device with the same arguments returned."""
        self._begin(state["start_s"], state["offset"], state["power_cycle"])
        self._next = state["next"]
        self._timeline.restore(state["timeline"])
        for model, own in zip(self._models(), state["models"], strict=True):
            model.restore(own)

    def metadata(self) -> dict[str, Any]:
        """Return the metadata for a record of the run, as JSON-able values.

        Times: a mean or an increment is stamped at its end, ``interval_s`` after its start.
        ``group_delay_s`` is that of filter and window for low frequencies, None for a filter that
        blocks constants; stamps are not shifted by it.
        """
        off = [name for name, triad in self.spec.triads().items() if triad.temperature]
        return about_spec(self.spec, self._window) | {
            "name": self.name,
            "seed": self.key.seed,
            "sensor_number": self.key.sensor,
            "power_cycle": self._power_cycle,
            "noise_start": self._noise_start,
            "without_temperature": [] if self._temperature else off,
        }


def _stream(spec: ImuSpec, name: str) -> str:
    """Return the text whose hash is the sensor number."""
    name = _NAME if name == f"{_NAME}0" else name
    return name if spec.name == ImuSpec.name else f"{spec.name} {name}"


def _require_one_of(kind: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise UnknownNameError(kind, name, known)
