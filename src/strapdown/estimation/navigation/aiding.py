"""Aiding of a navigator: measurements of its motion, with covariance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

import numpy as np

from strapdown._checks import as_finite, as_floats
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.inertial.navigation import NavigationStart

if TYPE_CHECKING:
    from typing import Self

    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["Aiding", "AidingResult", "Frame", "Kind"]

Kind = Literal[
    "position",
    "velocity",
    "zero_rate",
    "heading",
    "gravity",
    "magnetic_field",
    "altitude",
    "forward_speed",
    "non_holonomic",
    "pose",
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Frame = Literal["world", "body"]

_ZERO: Final = (0.0, 0.0, 0.0)
_FORWARD: Final = (1.0, 0.0, 0.0)


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

    Create one with :meth:`position` and the other methods, named after the measured quantity. The
    world is ENU and the body FLU, also where the samples have other axes. The stamps of a source
    with a constant latency are to be corrected by it.

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
    lever_arm : (3,)
        From the sensor to the point whose position or velocity is measured [m, body].
    axis : (3,)
        Direction in the body whose heading is measured.
    """

    t_ns: int
    kind: Kind
    value: FloatArray
    covariance: FloatArray
    frame: Frame = "world"
    lever_arm: FloatArray = field(default_factory=lambda: np.array(_ZERO))
    axis: FloatArray = field(default_factory=lambda: np.array(_FORWARD))

    @classmethod
    def position(
        cls, t_ns: int, position: ArrayLike, covariance: ArrayLike, *, lever_arm: ArrayLike = _ZERO
    ) -> Self:
        """Return an aiding with the position [m, world ENU].

        Parameters
        ----------
        t_ns : int
            [ns].
        position : (3,)
            [m, world].
        covariance : (3, 3), (3,) or float
            [m^2]; a vector is the diagonal, a number the variance of each axis.
        lever_arm : (3,), optional
            From the sensor to the point with this position, as an antenna [m, body].
        """
        value, arm = _vector(position, "position"), _vector(lever_arm, "lever_arm")
        return cls(t_ns, "position", value, _covariance(covariance, 3), lever_arm=arm)

    @classmethod
    def velocity(
        cls,
        t_ns: int,
        velocity: ArrayLike,
        covariance: ArrayLike,
        frame: Frame = "world",
        *,
        lever_arm: ArrayLike = _ZERO,
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
        lever_arm : (3,), optional
            From the sensor to the point with this velocity [m, body].
        """
        if frame not in {"world", "body"}:
            raise UnknownNameError("frame of a velocity", frame, ["world", "body"])
        value, arm = _vector(velocity, "velocity"), _vector(lever_arm, "lever_arm")
        return cls(t_ns, "velocity", value, _covariance(covariance, 3), frame, arm)

    @classmethod
    def zero_velocity(cls, t_ns: int, sigma: float = 0.01) -> Self:
        """Return an aiding with zero velocity, of standard deviation ``sigma`` [m/s]."""
        return cls.velocity(t_ns, (0.0, 0.0, 0.0), sigma**2)

    @classmethod
    def zero_rate(cls, t_ns: int, sigma: float = 0.005) -> Self:
        """Return an aiding with zero angular velocity, of standard deviation ``sigma`` [rad/s]."""
        return cls(t_ns, "zero_rate", np.zeros(3), _covariance(sigma**2, 3))

    @classmethod
    def heading(
        cls, t_ns: int, heading: float, sigma: float, *, axis: ArrayLike = _FORWARD
    ) -> Self:
        """Return an aiding with the heading of the forward axis, or of another one.

        Parameters
        ----------
        t_ns : int
            [ns].
        heading : float
            Its angle from east towards north [rad].
        sigma : float
            [rad].
        axis : (3,), optional
            Direction in the body that has this heading, as that from one antenna to another.
        """
        value = as_finite([heading], "heading", (1,))
        return cls(t_ns, "heading", value, _covariance(sigma**2, 1), axis=_direction(axis, "axis"))

    @classmethod
    def magnetic_field(
        cls, t_ns: int, magnetic_field: ArrayLike, sigma: float, *, declination: float = 0.0
    ) -> Self:
        """Return an aiding with the heading of the magnetic field.

        Its dip and strength are not used.

        Parameters
        ----------
        t_ns : int
            [ns].
        magnetic_field : (3,)
            Calibrated, in any unit [body].
        sigma : float
            Of the heading of its horizontal part [rad].
        declination : float, optional
            Angle of magnetic north from true north towards east [rad].
        """
        value = as_finite([0.5 * math.pi - declination], "declination", (1,))
        axis = _direction(magnetic_field, "magnetic_field")
        return cls(t_ns, "magnetic_field", value, _covariance(sigma**2, 1), axis=axis)

    @classmethod
    def gravity(cls, t_ns: int, sigma: float = 0.05) -> Self:
        """Return an aiding with a specific force of gravity alone, within ``sigma`` [m/s^2]."""
        return cls(t_ns, "gravity", np.zeros(3), _covariance(sigma**2, 3))

    @classmethod
    def altitude(cls, t_ns: int, altitude: float, sigma: float) -> Self:
        """Return an aiding with the altitude of a barometer, whose bias is estimated.

        Parameters
        ----------
        t_ns : int
            [ns].
        altitude : float
            Above the origin, within ``altitude_bias_sigma`` of
            ``NavigatorParams`` [m].
        sigma : float
            Standard deviation of its noise [m].
        """
        value = as_finite([altitude], "altitude", (1,))
        return cls(t_ns, "altitude", value, _covariance(sigma**2, 1))

    @classmethod
    def forward_speed(
        cls, t_ns: int, speed: float, sigma: float, *, lever_arm: ArrayLike = _ZERO
    ) -> Self:
        """Return an aiding with the velocity along the forward axis, as that of a wheel.

        Parameters
        ----------
        t_ns : int
            [ns].
        speed : float
            [m/s]; negative backwards.
        sigma : float
            [m/s].
        lever_arm : (3,), optional
            From the sensor to the point with this speed [m, body].
        """
        value, arm = as_finite([speed], "speed", (1,)), _vector(lever_arm, "lever_arm")
        return cls(t_ns, "forward_speed", value, _covariance(sigma**2, 1), "body", arm)

    @classmethod
    def non_holonomic(
        cls, t_ns: int, sigma: ArrayLike = 0.1, *, lever_arm: ArrayLike = _ZERO
    ) -> Self:
        """Return an aiding with no velocity to the left and up, as of a car that does not slip.

        Parameters
        ----------
        t_ns : int
            [ns].
        sigma : float or (2,)
            Of both, or of left and up [m/s].
        lever_arm : (3,), optional
            From the sensor to a point that does not slip: the rear axle [m, body].
        """
        covariance = _covariance(np.square(as_floats(sigma, "sigma", ())), 2)
        arm = _vector(lever_arm, "lever_arm")
        return cls(t_ns, "non_holonomic", np.zeros(2), covariance, "body", arm)

    @classmethod
    def pose(
        cls,
        t_ns: int,
        position: ArrayLike,
        q_world_from_body: ArrayLike,
        covariance: ArrayLike,
        *,
        lever_arm: ArrayLike = _ZERO,
    ) -> Self:
        """Return an aiding with position and orientation, as of a camera or a motion capture.

        Parameters
        ----------
        t_ns : int
            [ns].
        position : (3,)
            [m, world].
        q_world_from_body : (4,)
            x y z w.
        covariance : (6, 6), (6,) or float
            Of position and rotation about the axes of the world [m, rad].
        lever_arm : (3,), optional
            From the sensor to the point with this position [m, body].
        """
        start = NavigationStart(q_world_from_body, position_world=position)
        value = np.concatenate([start.position_world, start.q_world_from_body])
        arm = _vector(lever_arm, "lever_arm")
        return cls(t_ns, "pose", value, _covariance(covariance, 6), lever_arm=arm)


def _vector(value: ArrayLike, name: str) -> FloatArray:
    vector = as_finite(value, name, (3,))
    if vector.ndim != 1:
        raise ShapeError(f"expected {name} of shape (3,), got {vector.shape}")
    return vector


def _direction(value: ArrayLike, name: str) -> FloatArray:
    """Return a vector of unit length."""
    vector = _vector(value, name)
    size = np.linalg.norm(vector)
    if not size > 0.0:
        raise ValueRangeError(f"expected {name} with a direction, got a zero vector")
    return np.asarray(vector / size)


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
