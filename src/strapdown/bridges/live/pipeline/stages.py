"""Parts that convert messages: a calibration, a sensor model, a filter."""

from __future__ import annotations

from dataclasses import fields, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np

from strapdown.bridges.live.field_join import FieldJoin
from strapdown.bridges.live.fusion import BLOCK, incoming, poses, poses_of_series
from strapdown.bridges.live.pipeline.aided import AidedStage
from strapdown.bridges.live.pipeline.part import Part
from strapdown.calibration import load_calibration
from strapdown.errors import UnknownNameError
from strapdown.estimation import FILTERS
from strapdown.messages import CovarianceStatus, Imu, MagneticField, conversion
from strapdown.samples import SampleKind
from strapdown.sensors import Flag, ImuSimulator
from strapdown.series import ImuSeries
from strapdown.simulation import find_sensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import ExitStack

    from strapdown._typing import FloatArray
    from strapdown.bridges.live.pipeline.tables import Table
    from strapdown.estimation.filter import RecursiveFilter
    from strapdown.estimation.params import FilterParams
    from strapdown.messages import Pose3D

    Params = TypeVar("Params", bound=FilterParams)

__all__ = ["CalibrateStage", "FilterStage", "SensorStage", "params_of"]

_REST: Final = (0.0, 0.0, 0.0)


class CalibrateStage(Part):
    """A calibration of the sensor, for messages of the IMU or of its magnetometer."""

    TAKES = (Imu, MagneticField)
    gives: type[Any] | None = Imu

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        path = table.place(table.need("file", str))
        with table.about("file"):
            self._calibration = load_calibration(path)
        self._temperature = table.get("temperature", float)
        if self._calibration.needs_temperature and self._temperature is None:
            line = f"expected temperature = a number [deg C], on which {path.name} depends"
            raise table.error(line, "file")

    def join(self, parts: Sequence[Part]) -> None:
        """Give as many messages as samples come, of their type."""
        super().join(parts)
        self.gives, self.rate_hz = parts[0].gives, parts[0].rate_hz

    def work(self) -> None:
        """Calibrate every message."""
        for source in self.inlets.values():
            for messages in incoming(source, stop=self.stop):
                began_s = perf_counter()
                for message in self._calibrated(messages):
                    self.give(message)
                self.passed(len(messages), perf_counter() - began_s)

    def _calibrated(self, messages: Sequence[Any]) -> Iterator[Imu | MagneticField]:
        # One row is given twice: a product with a vector is rounded differently from one with a
        # matrix, and the bits should not depend on the size of a block.
        messages = [*messages, messages[-1]]
        if self.gives is MagneticField:
            field = self._apply(_series_of_fields(messages)).magnetic_field
            for message, vector in zip(messages[:-1], cast("FloatArray", field), strict=False):
                yield replace(message, magnetic_field=tuple(vector.tolist()))
            return
        calibrated = self._apply(conversion.series_from_imu(messages))
        for record in conversion.imu_from_series(calibrated)[:-1]:
            yield Imu.from_record(record)

    def _apply(self, rows: ImuSeries) -> ImuSeries:
        return self._calibration.apply(rows, temperature=self._temperature)


def _series_of_fields(messages: Sequence[MagneticField]) -> ImuSeries:
    """Return rows that have a magnetic field only."""
    stamps = np.array([each.header_stamp_ns for each in messages], np.int64)
    field = np.array([each.magnetic_field for each in messages])
    unknown = np.full_like(field, np.nan)
    return ImuSeries(stamps, unknown, unknown, magnetic_field=field)


class SensorStage(Part):
    """A sensor model: each message is taken for what a perfect sensor would read.

    The input is held between two messages; noise and filters of the sensor run at their own rate
    regardless.
    """

    TAKES = (Imu,)
    gives = Imu

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        with table.about("sensor"):
            spec = find_sensor(table.place_or_name(table.need("sensor", str)))
        self._spec = replace(spec, sampling=SampleKind.POINT, mag=None)
        self.seed = table.get("seed", int, 0)
        self.rate_hz = table.positive("rate")

    def join(self, parts: Sequence[Part]) -> None:
        """Take the rate of the preceding stage, unless the table states it."""
        super().join(parts)
        self.rate_hz = self.rate_hz or parts[0].rate_hz
        if self.rate_hz is None:
            line = f"expected a rate, messages a second, for that of {parts[0].name!r} is not known"
            raise self.table.error(line)
        with self.table.about("rate", "sensor", "seed"):
            spec = replace(self._spec, rate_hz=self.rate_hz)
            self._imu = ImuSimulator(spec, seed=self.seed, name=self.name)
        gyro, accel = self._imu.variance[:3], self._imu.variance[3:]
        self._noise = {
            "angular_velocity": np.diag(gyro).ravel(),
            "linear_acceleration": np.diag(accel).ravel(),
        }

    def open(self, stack: ExitStack) -> None:  # noqa: ARG002 (nothing is to be closed)
        """Compile the model ahead of the first message."""
        self._imu.feed(_REST, _REST)
        self._imu.reset(noise="restart")

    def work(self) -> None:
        """Answer every message."""
        for source in self.inlets.values():
            self.follow(source, self._take)

    def _take(self, message: Imu) -> None:
        perfect = message.angular_velocity.tolist(), message.linear_acceleration.tolist()
        sample = self._imu.feed(*perfect)
        while sample is None:
            sample = self._imu.feed(*perfect)
        if sample.flags & Flag.DROPPED:
            return
        message.angular_velocity = cast("list[float]", sample.angular_velocity)
        message.linear_acceleration = cast("list[float]", sample.specific_force)
        for name, noise in self._noise.items():
            if getattr(message, f"{name}_status") is not CovarianceStatus.ABSENT:
                covariance = getattr(message, f"{name}_covariance")
                covariance += noise
        self.give(message)


def params_of(table: Table, params: Params) -> Params:
    """Return the parameters of an estimator with those that a table states by name."""
    for field in fields(params):
        usual = getattr(params, field.name)
        value = table.get(field.name, str if isinstance(usual, str) else type(usual))
        if value is not None:
            with table.about(field.name):
                params = replace(params, **{field.name: value})
    return params


class FilterStage(AidedStage):
    """An orientation filter, with a magnetometer or without."""

    SOURCES = range(1, 3)
    OPTIONAL = (MagneticField,)

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        name = table.get("filter", str, "eskf")
        with table.about("filter"):
            if name not in FILTERS:
                raise UnknownNameError("filter", name, FILTERS)
        kind = cast("type[RecursiveFilter[Any]]", FILTERS[name])
        self._filter = kind(params_of(table, kind().params))
        self._fields: list[MagneticField] = []
        self._magnetometer = FieldJoin()

    def open(self, stack: ExitStack) -> None:  # noqa: ARG002 (nothing is to be closed)
        """Compile the filter ahead of the first message."""
        at_rest = Imu(0.0, 0.0, 9.81, *_REST)
        for messages in ([at_rest], [at_rest] * BLOCK):
            for _ in poses(self._filter, messages):
                pass
        self._filter.reset()

    def aid(self, message: MagneticField) -> int:
        """Use a sample of the magnetometer."""
        self._fields.append(message)
        return message.header_stamp_ns

    def poses(self, messages: Sequence[Imu]) -> Iterator[Pose3D]:
        """Yield a pose for each message, in a pipeline without pacing one block later."""
        if not self._aids:
            return poses(self._filter, messages)
        fields, self._fields = self._fields, []
        if self.waits:
            rows = conversion.series_from_imu(messages)
            return poses_of_series(self._filter, self._magnetometer.take(rows, fields))
        stamps = np.array([each.timestamp_ns for each in messages], np.int64)
        return poses(self._filter, messages, self._magnetometer.at_once(stamps, fields))

    def finish(self) -> Iterator[Pose3D]:
        """Yield the poses of the last block."""
        if self._aids:
            if self.waits:
                yield from self.poses([])
            self.notes += self._magnetometer.notes()

    def losses(self) -> list[str]:
        """Return what the filter left out."""
        field = self._magnetometer.losses() if self._aids else []
        return [*super().losses(), *field, *self._filter.report.losses()]
