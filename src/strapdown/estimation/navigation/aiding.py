"""Aiding of a navigator: measurements of its motion, with covariance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

import numpy as np

from strapdown._checks import as_finite, as_floats
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.estimation.navigation.errors import heading_slopes
from strapdown.estimation.navigation.state import SIZE
from strapdown.geometry import quaternion
from strapdown.geometry.vectors import three
from strapdown.inertial.navigation.mechanisation import Earth, gravity_at

if TYPE_CHECKING:
    from typing import Self

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.estimation.navigation.state import NavigatorMemory

__all__ = ["Aiding", "AidingResult", "Frame", "Kind"]

Kind = Literal["position", "velocity", "zero_rate", "heading", "gravity"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Frame = Literal["world", "body"]


class AidingResult(NamedTuple):
    """Result of an aiding.

    Parameters
    ----------
    t_ns : int
        Its stamp [ns].
    kind : str
        Kind of the measurement.
    nis : float
        Normalised innovation squared: chi-square with ``dof`` degrees of freedom if the model
        is correct.
    dof : int
        Number of measured values.
    accepted : bool
        False if it changed nothing, because it was beyond the gate, or before the end of the
        alignment.
    """

    t_ns: int
    kind: Kind
    nis: float
    dof: int
    accepted: bool


@dataclass(frozen=True, eq=False)
class Aiding:
    """A measurement of another source, at its own time.

    Create one with :meth:`position` and the other methods, named after the measured quantity.

    Parameters
    ----------
    t_ns : int
        Time of the measurement [ns].
    kind : str
        Kind of the measurement.
    value : (M,)
        The M measured values; zeros for the kinds that measure a zero.
    covariance : (M, M)
        Of the errors of the values.
    frame : {"world", "body"}
        Axes of a velocity.
    """

    t_ns: int
    kind: Kind
    value: FloatArray
    covariance: FloatArray
    frame: Frame = "world"

    @classmethod
    def position(cls, t_ns: int, position: ArrayLike, covariance: ArrayLike) -> Self:
        """Return an aiding with the position [m, world ENU].

        Parameters
        ----------
        t_ns : int
            [ns].
        position : (3,)
            [m, world].
        covariance : (3, 3), (3,) or float
            [m^2]; a vector is the diagonal, a number the variance of each axis.
        """
        return cls(t_ns, "position", _vector(position, "position"), _covariance(covariance, 3))

    @classmethod
    def velocity(
        cls, t_ns: int, velocity: ArrayLike, covariance: ArrayLike, frame: Frame = "world"
    ) -> Self:
        """Return an aiding with the velocity [m/s], in axes of the world (ENU) or the body (FLU).

        Parameters
        ----------
        t_ns : int
            [ns].
        velocity : (3,)
            [m/s].
        covariance : (3, 3), (3,) or float
            [m^2/s^2], in the same axes.
        frame : {"world", "body"}
            Axes of ``velocity``; those of the body suit wheels and zero sideways slip.
        """
        if frame not in {"world", "body"}:
            raise UnknownNameError("frame of a velocity", frame, ["world", "body"])
        value = _vector(velocity, "velocity")
        return cls(t_ns, "velocity", value, _covariance(covariance, 3), frame)

    @classmethod
    def zero_velocity(cls, t_ns: int, sigma: float = 0.01) -> Self:
        """Return an aiding with zero velocity, of standard deviation ``sigma`` [m/s]."""
        return cls.velocity(t_ns, (0.0, 0.0, 0.0), sigma**2)

    @classmethod
    def zero_rate(cls, t_ns: int, sigma: float = 0.005) -> Self:
        """Return an aiding with zero angular velocity, of standard deviation ``sigma`` [rad/s]."""
        return cls(t_ns, "zero_rate", np.zeros(3), _covariance(sigma**2, 3))

    @classmethod
    def heading(cls, t_ns: int, heading: float, sigma: float) -> Self:
        """Return an aiding with the heading of the forward axis.

        Parameters
        ----------
        t_ns : int
            [ns].
        heading : float
            Its angle from east towards north [rad].
        sigma : float
            [rad].
        """
        value = as_finite([heading], "heading", (1,))
        return cls(t_ns, "heading", value, _covariance(sigma**2, 1))

    @classmethod
    def gravity(cls, t_ns: int, sigma: float = 0.05) -> Self:
        """Return an aiding with a specific force of gravity alone, within ``sigma`` [m/s^2]."""
        return cls(t_ns, "gravity", np.zeros(3), _covariance(sigma**2, 3))

    def rows(
        self, known: NavigatorMemory, earth: Earth
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return rows (M, 15), residuals (M,) and variances (M,) of independent errors."""
        R = quaternion.to_matrix(known.orientation)
        rows = np.zeros((len(self.value), SIZE))
        if self.kind == "position":
            rows[:, :3] = np.eye(3)
            residual = self.value - np.array(known.position)
        elif self.kind == "velocity":
            velocity = np.array(known.velocity)
            if self.frame == "body":
                # R_true^T v_true = R^T (v + dv - phi x v)
                rows[:, 3:6], rows[:, 6:9] = R.T, R.T @ _skew(velocity)
                residual = self.value - R.T @ velocity
            else:
                rows[:, 3:6] = np.eye(3)
                residual = self.value - velocity
        elif self.kind == "zero_rate":
            spin = np.array([0.0, earth.rate_north, earth.rate_up])
            rows[:, 6:9], rows[:, 12:15] = R.T @ _skew(spin), np.eye(3)
            residual = np.array(known.last_rate) - R.T @ spin - np.array(known.gyro_bias)
        elif self.kind == "gravity":
            up = -np.array(gravity_at(earth, three(known.position)))
            rows[:, 6:9], rows[:, 9:12] = R.T @ _skew(up), np.eye(3)
            residual = np.array(known.last_force) - np.array(known.accel_bias) - R.T @ up
        else:
            x, y, z = R[:, 0].tolist()
            rows[0, 6:9] = heading_slopes(x, y, z)
            residual = (self.value - math.atan2(y, x) + math.pi) % (2.0 * math.pi) - math.pi
        return _whitened(rows, residual, self.covariance)


def _whitened(
    rows: FloatArray, residual: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return linear combinations of the numbers with independent errors."""
    variances, axes = np.linalg.eigh(covariance)
    return axes.T @ rows, axes.T @ residual, variances


def _vector(value: ArrayLike, name: str) -> FloatArray:
    vector = as_finite(value, name, (3,))
    if vector.ndim != 1:
        raise ShapeError(f"expected {name} of shape (3,), got {vector.shape}")
    return vector


def _covariance(value: ArrayLike, size: int) -> FloatArray:
    covariance = as_floats(value, "covariance", ())
    if covariance.ndim < 2:
        covariance = covariance * np.eye(size)
    if covariance.shape != (size, size):
        raise ShapeError(
            f"expected a covariance of shape ({size}, {size}), ({size},) or a variance,"
            f" got {np.shape(value)}"
        )
    if not np.isfinite(covariance).all() or not (
        np.allclose(covariance, covariance.T) and np.linalg.eigvalsh(covariance)[0] > 0.0
    ):
        raise ValueRangeError(
            f"expected a symmetric, positive definite covariance, got {covariance.tolist()}"
        )
    return covariance


def _skew(v: FloatArray) -> FloatArray:
    """Return the matrix of v x."""
    return np.asarray(np.cross(np.eye(3), v))
