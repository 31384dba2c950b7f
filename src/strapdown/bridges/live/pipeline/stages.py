"""Parts that convert messages: a calibration, a sensor model, a filter."""

from __future__ import annotations

from dataclasses import fields, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np

from strapdown.bridges.live.fusion import BLOCK, fuse_topic, incoming, poses
from strapdown.bridges.live.pipeline.part import Part
from strapdown.calibration import load_calibration
from strapdown.errors import UnknownNameError
from strapdown.estimation import FILTERS
from strapdown.messages import CovarianceStatus, Imu, Pose3D, conversion
from strapdown.samples import SampleKind
from strapdown.sensors import Flag, ImuSimulator
from strapdown.simulation import find_sensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import ExitStack

    from strapdown.bridges.live.pipeline.tables import Table
    from strapdown.estimation.filter import RecursiveFilter
    from strapdown.estimation.params import FilterParams

    Params = TypeVar("Params", bound=FilterParams)

__all__ = ["CalibrateStage", "FilterStage", "SensorStage", "params_of"]

_REST: Final = (0.0, 0.0, 0.0)


class CalibrateStage(Part):
    """A calibration of the sensor."""

    TAKES = Imu
    gives = Imu

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
        """Give as many messages as samples come."""
        super().join(parts)
        self.rate_hz = parts[0].rate_hz

    def work(self) -> None:
        """Calibrate every message."""
        for source in self.inlets.values():
            for messages in incoming(source, stop=self.stop):
                began_s = perf_counter()
                for message in self._calibrated(messages):
                    self.give(message)
                self.passed(len(messages), perf_counter() - began_s)

    def _calibrated(self, messages: Sequence[Imu]) -> Iterator[Imu]:
        # One row is given twice: a product with a vector is rounded differently from one with a
        # matrix, and the bits should not depend on the size of a block.
        rows = conversion.series_from_imu([*messages, messages[-1]])
        calibrated = self._calibration.apply(rows, temperature=self._temperature)
        for record in conversion.imu_from_series(calibrated)[:-1]:
            yield Imu.from_record(record)


class SensorStage(Part):
    """A sensor model: each message is taken for what a perfect sensor would read.

    The input is held between two messages; noise and filters of the sensor run at their own rate
    regardless.
    """

    TAKES = Imu
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


class FilterStage(Part):
    """An orientation filter."""

    TAKES = Imu
    gives = Pose3D

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        name = table.get("filter", str, "eskf")
        with table.about("filter"):
            if name not in FILTERS:
                raise UnknownNameError("filter", name, FILTERS)
        kind = cast("type[RecursiveFilter[Any]]", FILTERS[name])
        self._filter = kind(params_of(table, kind().params))

    def join(self, parts: Sequence[Part]) -> None:
        """Give as many poses as samples come."""
        super().join(parts)
        self.rate_hz = parts[0].rate_hz

    def open(self, stack: ExitStack) -> None:  # noqa: ARG002 (nothing is to be closed)
        """Compile the filter ahead of the first message."""
        at_rest = Imu(0.0, 0.0, 9.81, *_REST)
        for messages in ([at_rest], [at_rest] * BLOCK):
            for _ in poses(self._filter, messages):
                pass
        self._filter.reset()

    def work(self) -> None:
        """Answer every message by a pose."""
        if self.outlet is None:
            return
        for source in self.inlets.values():
            fuse_topic(source, self.outlet, self._filter, stop=self.stop, answered=self.passed)

    def losses(self) -> list[str]:
        """Return what the filter left out."""
        return [*super().losses(), *self._filter.report.losses()]
