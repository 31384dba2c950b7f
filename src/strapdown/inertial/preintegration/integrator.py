"""Preintegration of a series or a stream of samples."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite, as_member
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.inertial.increments import longest_step_ns, require_positive
from strapdown.inertial.preintegration import recursion
from strapdown.inertial.preintegration.measurement import (
    PreintegratedImu,
    PreintegrationReport,
    as_matrix,
    as_vector,
)
from strapdown.samples.execution import Execution, Program
from strapdown.samples.sample import SampleColumns, numbers_of
from strapdown.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.series import ImuSeries

__all__ = ["ImuNoise", "Preintegrator", "Quadrature", "preintegrate"]


class Quadrature(StrEnum):
    """Kind of the samples, and rule for the rotation and velocity of a step."""

    TRAPEZOID = "trapezoid"
    """Values at their stamps, linear between them. A step depends on its two samples only, so
    that pieces that share a sample compose to the whole exactly."""
    AM4 = "am4"
    """Values at their stamps; integrals by the four-point Adams-Moulton rule, which needs three
    samples before the step and falls back to fewer after the start, gaps and uneven spacing."""
    MEAN = "mean"
    """Means since the sample before; exact if both are constant in body axes over the step."""
    EULER = "euler"
    """As ``MEAN``, with the specific force in the axes at the start of the step, as in common
    factor graph libraries."""


_NUMBERS: Final = list(Quadrature)
_PROGRAM: Final = Program(
    "preintegration",
    recursion.take_samples,
    (recursion.Preintegrated, recursion.PreintegrationCounts, recursion.PreintegrationSettings),
    recursion.SampleOutcome,
    weight=5.0,
)


@dataclass(frozen=True)
class ImuNoise:
    """Noise of an IMU as spectral densities, one number for all axes or one for each.

    Parameters
    ----------
    gyro : float or (3,)
        White noise, angle random walk [rad/s/sqrt(Hz)].
    accel : float or (3,)
        White noise, velocity random walk [m/s^2/sqrt(Hz)].
    gyro_walk : float or (3,)
        Random walk of the bias [rad/s^2/sqrt(Hz)].
    accel_walk : float or (3,)
        Random walk of the bias [m/s^3/sqrt(Hz)].

    Raises
    ------
    ValueRangeError, ShapeError
        A density is negative or not finite, or has another shape.
    """

    gyro: float | Sequence[float] = 0.0
    accel: float | Sequence[float] = 0.0
    gyro_walk: float | Sequence[float] = 0.0
    accel_walk: float | Sequence[float] = 0.0

    def __post_init__(self) -> None:
        self.densities()

    def densities(self) -> FloatArray:
        """Return the four densities for each axis, (4, 3)."""
        rows = []
        for name in ("gyro", "accel", "gyro_walk", "accel_walk"):
            row = as_finite(getattr(self, name), name, ())
            if row.shape not in {(), (3,)}:
                raise ShapeError(f"expected {name} as one number or (3,), got {row.shape}")
            if np.any(row < 0.0):
                raise ValueRangeError(f"expected {name} of 0 or more, got {row}")
            rows.append(np.broadcast_to(row, (3,)))
        return np.array(rows)


class Preintegrator:
    """Preintegrate a stream of samples.

    Parameters
    ----------
    gyro_bias, accel_bias : (3,), optional
        Biases, subtracted from the readings [rad/s], [m/s^2].
    scale_misalignment : (3, 3), optional
        M: the rate is ``(I + M) reading - gyro_bias``.
    noise : ImuNoise, optional
        By default none, and the covariance stays 0 except for gaps.
    quadrature : {"trapezoid", "am4", "mean", "euler"}
        Kind of the samples, and rule of integration.
    max_gap_ns : int
        Longer steps are bridged with additional noise [ns].

    Raises
    ------
    ShapeError, ValueRangeError, UnknownNameError
        A parameter has another shape, is not finite, out of range, or an unknown name.

    Examples
    --------
    >>> from strapdown.geometry import quaternion
    >>> integrator = Preintegrator()
    >>> for t_ns in (0, 10_000_000, 20_000_000):
    ...     integrator.update(t_ns, (0.0, 0.0, 0.5), (0.0, 0.0, 9.80665))
    >>> measured = integrator.result()
    >>> measured.dt, round(float(quaternion.to_rotation_vector(measured.delta_rotation)[2]), 9)
    (0.02, 0.01)
    """

    def __init__(
        self,
        *,
        gyro_bias: ArrayLike = (0.0, 0.0, 0.0),
        accel_bias: ArrayLike = (0.0, 0.0, 0.0),
        scale_misalignment: ArrayLike | None = None,
        noise: ImuNoise | None = None,
        quadrature: Quadrature | str = Quadrature.TRAPEZOID,
        max_gap_ns: int = 100 * NS_PER_MS,
    ) -> None:
        require_positive("max_gap_ns", max_gap_ns)
        self._gyro_bias = as_vector(gyro_bias, "gyro_bias")
        self._accel_bias = as_vector(accel_bias, "accel_bias")
        self._scale = as_matrix(scale_misalignment, "scale_misalignment")
        gyro, accel, gyro_walk, accel_walk = (noise or ImuNoise()).densities() ** 2
        self._settings = recursion.PreintegrationSettings(
            correction=(np.eye(3) + self._scale).tolist(),
            gyro_bias=self._gyro_bias.tolist(),
            accel_bias=self._accel_bias.tolist(),
            gyro_noise=gyro.tolist(),
            accel_noise=accel.tolist(),
            gyro_walk=gyro_walk.tolist(),
            accel_walk=accel_walk.tolist(),
            quadrature=_NUMBERS.index(as_member(Quadrature, quadrature, "quadrature")),
            max_gap_ns=int(max_gap_ns),
        )
        memory = recursion.Preintegrated(), recursion.PreintegrationCounts(), self._settings
        self._execution = Execution(_PROGRAM, *memory)

    def reset(self) -> None:
        """Reset to the state before the first sample."""
        self._begin(recursion.Preintegrated(), recursion.PreintegrationCounts())

    def _begin(
        self, motion: recursion.Preintegrated, counts: recursion.PreintegrationCounts
    ) -> None:
        with self._execution.lock:
            self._execution.replace(0, motion, counts)

    def update(
        self, t_ns: int, angular_velocity: Iterable[float], specific_force: Iterable[float]
    ) -> None:
        """Process one sample; one that is unusable, or not later than the last, is left out.

        Parameters
        ----------
        t_ns : int
            Time of the sample [ns].
        angular_velocity, specific_force : sequence of 3 float
            [rad/s, body], [m/s^2, body].

        Raises
        ------
        ShapeError
            A vector does not have three components.
        """
        numbers = numbers_of(t_ns, angular_velocity, specific_force)
        with self._execution.lock:
            self._execution.update(numbers)

    def run(self, series: ImuSeries) -> None:
        """Process every sample of a series.

        Parameters
        ----------
        series : ImuSeries
            ``angular_velocity`` and ``specific_force`` [body].
        """
        columns = SampleColumns(series, use_magnetic_field=False)
        with self._execution.lock:
            for _rows in self._execution.through(columns):
                pass  # only the final state is used

    def result(self) -> PreintegratedImu:
        """Return the motion so far.

        Raises
        ------
        ValueRangeError
            There are less than two usable samples.
        """
        motion, counts = self._motion()
        names = [entry.name for entry in fields(PreintegrationReport)]
        report = PreintegrationReport(**{name: getattr(counts, name) for name in names})
        if not report.steps:
            raise ValueRangeError(
                "expected two samples or more that are usable and in order, got at most one: "
                f"{report}"
            )
        # express rotation errors in the axes at the end
        to_end = np.eye(15)
        to_end[:3, :3] = quaternion.to_matrix(np.array(motion.orientation)).T
        covariance = to_end @ np.array(motion.covariance) @ to_end.T
        return PreintegratedImu(
            t_start_ns=counts.start_ns,
            t_end_ns=counts.now_ns,
            delta_rotation=np.array(motion.orientation),
            delta_velocity=np.array(motion.velocity),
            delta_position=np.array(motion.position),
            jacobian=to_end[:9, :9] @ np.array(motion.jacobian),
            combined_covariance=0.5 * (covariance + covariance.T),
            gyro_bias=self._gyro_bias,
            accel_bias=self._accel_bias,
            scale_misalignment=self._scale,
            report=report,
        )

    def cut(self) -> PreintegratedImu:
        """Return the motion so far, and start the next piece at the last sample.

        The next step still uses the samples before the cut, so that pieces compose to the whole
        with every quadrature.

        Raises
        ------
        ValueRangeError
            As for :meth:`result`.
        """
        done = self.result()
        motion, counts = self._motion()
        self._begin(
            recursion.Preintegrated(rates=motion.rates, forces=motion.forces),
            recursion.PreintegrationCounts(
                now_ns=counts.now_ns, start_ns=done.t_end_ns, h1_ns=counts.h1_ns, h2_ns=counts.h2_ns
            ),
        )
        return done

    def _motion(self) -> tuple[recursion.Preintegrated, recursion.PreintegrationCounts]:
        with self._execution.lock:
            return self._execution.memory(0), self._execution.memory(1)


def preintegrate(
    series: ImuSeries,
    *,
    gyro_bias: ArrayLike = (0.0, 0.0, 0.0),
    accel_bias: ArrayLike = (0.0, 0.0, 0.0),
    scale_misalignment: ArrayLike | None = None,
    noise: ImuNoise | None = None,
    quadrature: Quadrature | str = Quadrature.TRAPEZOID,
    max_gap_ns: int | None = None,
) -> PreintegratedImu:
    """Preintegrate a series from its first usable sample to its last.

    Samples that are unusable or not in order are left out and bridged by the next step. In a
    step longer than ``max_gap_ns`` the motion is unknown, and its covariance is larger. The
    standard deviation of its rotation is the angle of the rotation itself. That of its velocity
    is half the sum of the velocity change times this angle (at most 1 rad), and the change of
    the specific force times the duration.

    Parameters
    ----------
    series : ImuSeries
        ``angular_velocity`` and ``specific_force`` [body]. Consecutive pieces for
        :func:`~strapdown.inertial.compose` must share a sample.
    gyro_bias, accel_bias : (3,), optional
        Biases, subtracted from the readings [rad/s], [m/s^2].
    scale_misalignment : (3, 3), optional
        M: the rate is ``(I + M) reading - gyro_bias``.
    noise : ImuNoise, optional
        By default none, and the covariance stays 0 except for gaps.
    quadrature : {"trapezoid", "am4", "mean", "euler"}
        Kind of the samples, and rule of integration.
    max_gap_ns : int, optional
        By default five times the median step and at least 20 ms [ns].

    Returns
    -------
    PreintegratedImu

    Raises
    ------
    ValueRangeError
        There are less than two usable samples, or a parameter is not finite or out of range.
    ShapeError, UnknownNameError
        A parameter has another shape, or the quadrature is unknown.
    """
    if max_gap_ns is None:
        max_gap_ns = longest_step_ns(series.t_ns, 5)
    integrator = Preintegrator(
        gyro_bias=gyro_bias,
        accel_bias=accel_bias,
        scale_misalignment=scale_misalignment,
        noise=noise,
        quadrature=quadrature,
        max_gap_ns=max_gap_ns,
    )
    integrator.run(series)
    return integrator.result()
