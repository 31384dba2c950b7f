"""From samples to the measurement: a series at once, or a stream."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite, as_member, as_three
from strapdown._compile import compiled
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.integration.increments import require_positive
from strapdown.integration.preintegration import _kernels as kernels
from strapdown.integration.preintegration.measurement import (
    PreintegratedImu,
    PreintegrationReport,
    as_matrix,
    as_vector,
)
from strapdown.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import ArrayLike, FloatArray, IntArray
    from strapdown.series import ImuSeries

__all__ = ["ImuNoise", "Preintegrator", "Quadrature", "preintegrate"]


class Quadrature(StrEnum):
    """What samples are, and how they become the rotation and the velocity of a step."""

    TRAPEZOID = "trapezoid"
    """Values at their stamps with straight lines between them: each step knows its two samples
    only, so that pieces that share a sample compose to the whole exactly."""
    AM4 = "am4"
    """Values at their stamps; integrals by the four-point Adams-Moulton rule, which needs three
    samples before the step and falls back to fewer after the start, gaps and uneven spacing."""
    MEAN = "mean"
    """Means since the sample before; exact where both are constant in body axes over the step."""
    EULER = "euler"
    """As ``MEAN``, with the specific force kept in the axes at the start of the step: what common
    factor graph libraries do."""


_CODES: Final = {
    Quadrature.TRAPEZOID: kernels.TRAPEZOID,
    Quadrature.AM4: kernels.AM4,
    Quadrature.MEAN: kernels.MEAN,
    Quadrature.EULER: kernels.EULER,
}


@dataclass(frozen=True)
class ImuNoise:
    """Noise of an IMU as spectral densities, one number for all axes or one an axis.

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
        """Return the four, (4, 3)."""
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
        What is subtracted [rad/s], [m/s^2].
    scale_misalignment : (3, 3), optional
        M: the rate is ``(I + M) reading - gyro_bias``.
    noise : ImuNoise, optional
        By default none, and the covariance stays 0 but for gaps.
    quadrature : {"trapezoid", "am4", "mean", "euler"}
        What samples are, and how they become steps.
    max_gap_ns : int
        Longer steps are bridged with more noise [ns].

    Raises
    ------
    ShapeError, ValueRangeError, UnknownNameError
        A parameter has another shape, is not finite or out of range, or has no such name.

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

    def __init__(  # noqa: PLR0913 (what is optional is named)
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
        self._settings = np.concatenate(
            [
                (np.eye(3) + self._scale).ravel(),
                self._gyro_bias,
                self._accel_bias,
                (noise or ImuNoise()).densities().ravel() ** 2,
                [_CODES[as_member(Quadrature, quadrature, "quadrature")], max_gap_ns],
            ]
        )
        self._step = compiled(kernels.step)
        self._run = compiled(kernels.run)
        self.reset()

    def reset(self) -> None:
        """Forget every sample."""
        self._state = np.array(kernels.FRESH)
        self._account = np.array(kernels.FRESH_ACCOUNT, np.int64)

    def update(
        self, t_ns: int, angular_velocity: Sequence[float], specific_force: Sequence[float]
    ) -> None:
        """Take one sample; one that is unusable, or not later than the last, is left out.

        Parameters
        ----------
        t_ns : int
            Time of the sample [ns].
        angular_velocity, specific_force : sequence of 3 float
            [rad/s, body], [m/s^2, body].

        Raises
        ------
        ShapeError
            A vector has not three components.
        """
        wx, wy, wz = as_three(angular_velocity, "angular_velocity")
        fx, fy, fz = as_three(specific_force, "specific_force")
        self._step(self._state, self._account, self._settings, t_ns, wx, wy, wz, fx, fy, fz)

    def run(self, series: ImuSeries) -> None:
        """Take every sample of a series.

        Parameters
        ----------
        series : ImuSeries
            ``angular_velocity`` and ``specific_force`` [body].
        """
        self._run(
            self._state, self._account, self._settings,
            series.t_ns, series.angular_velocity, series.specific_force,
        )  # fmt: skip

    def result(self) -> PreintegratedImu:
        """Return the motion so far.

        Raises
        ------
        ValueRangeError
            There are no two samples to go between.
        """
        state, account = self._state, self._account
        report = PreintegrationReport(*account[kernels.STEPS :].tolist())
        if not report.steps:
            raise ValueRangeError(
                "expected two samples or more that are usable and in order, got at most one: "
                f"{report}"
            )
        # errors of the rotation about the axes at the end, which is where they are added
        to_end = np.eye(15)
        to_end[:3, :3] = quaternion.to_matrix(state[kernels.Q : kernels.V]).T
        jacobian = state[kernels.JACOBIAN : kernels.COVARIANCE].reshape(9, 15)
        covariance = to_end @ state[kernels.COVARIANCE :].reshape(15, 15) @ to_end.T
        return PreintegratedImu(
            t_start_ns=int(account[kernels.START]),
            t_end_ns=int(account[kernels.NOW]),
            delta_rotation=state[kernels.Q : kernels.V].copy(),
            delta_velocity=state[kernels.V : kernels.P].copy(),
            delta_position=state[kernels.P : kernels.RATES].copy(),
            jacobian=to_end[:9, :9] @ jacobian,
            combined_covariance=0.5 * (covariance + covariance.T),
            gyro_bias=self._gyro_bias,
            accel_bias=self._accel_bias,
            scale_misalignment=self._scale,
            report=report,
        )

    def cut(self) -> PreintegratedImu:
        """Return the motion so far, and begin the next at the last sample.

        The next step still knows the samples before the cut, so that pieces compose to the
        whole with every quadrature.

        Raises
        ------
        ValueRangeError
            As :meth:`result`.
        """
        done = self.result()
        history, stamps = self._state[kernels.RATES : kernels.JACOBIAN], self._account
        self.reset()
        self._state[kernels.RATES : kernels.JACOBIAN] = history
        self._account[: kernels.STEPS] = stamps[: kernels.STEPS]
        self._account[kernels.START] = done.t_end_ns
        return done


def preintegrate(  # noqa: PLR0913 (what is optional is named)
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

    Samples that are unusable or not in order are left out, and a step bridges them. Where a
    step is longer than ``max_gap_ns``, what happened is not known: its turn, half its push times
    the sine of that turn, and half the difference of the specific forces on both sides count as
    noise on top.

    Parameters
    ----------
    series : ImuSeries
        ``angular_velocity`` and ``specific_force`` [body]. Pieces that are to compose share
        the sample between them.
    gyro_bias, accel_bias : (3,), optional
        What is subtracted [rad/s], [m/s^2].
    scale_misalignment : (3, 3), optional
        M: the rate is ``(I + M) reading - gyro_bias``.
    noise : ImuNoise, optional
        By default none, and the covariance stays 0 but for gaps.
    quadrature : {"trapezoid", "am4", "mean", "euler"}
        What samples are, and how they become steps.
    max_gap_ns : int, optional
        By default five times the median step and at least 20 ms [ns].

    Returns
    -------
    PreintegratedImu

    Raises
    ------
    ValueRangeError
        There are no two samples to go between, or a parameter is not finite or out of range.
    ShapeError, UnknownNameError
        A parameter has another shape, or there is no such quadrature.
    """
    if max_gap_ns is None:
        max_gap_ns = _default_max_gap_ns(series.t_ns)
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


def _default_max_gap_ns(t_ns: IntArray) -> int:
    steps = np.diff(t_ns)
    steps = steps[steps > 0]
    return max(20 * NS_PER_MS, 5 * int(np.median(steps)) if len(steps) else 0)
