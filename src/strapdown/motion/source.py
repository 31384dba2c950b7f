"""Protocol of the inputs of an inertial sensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.series import Trajectory

__all__ = ["InertialSource"]


class InertialSource(Protocol):
    """Angular velocity and specific force at a sensor, as pure functions of time.

    Gyro and accelerometer may have different axes. Instants are finite and within
    ``start_s`` ... ``end_s``; others raise ``ValueRangeError``.
    """

    @property
    def start_s(self) -> float:
        """First instant [s]; minus infinity where there is none."""
        ...

    @property
    def end_s(self) -> float:
        """Last instant [s]; infinity where there is none."""
        ...

    @property
    def has_pose(self) -> bool:
        """Whether :meth:`truth`, :meth:`preintegrated` and :meth:`velocity_change` are known."""
        ...

    @property
    def has_acceleration(self) -> bool:
        """Whether specific force at an instant is known; increments are known in any case."""
        ...

    def inputs(self, t_s: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the readings of perfect sensors at the instants ``t_s`` (N,) [s].

        Returns
        -------
        angular_velocity : (N, 3)
            [rad/s, axes of the gyro].
        specific_force : (N, 3)
            [m/s^2, axes of the accelerometer].
        """
        ...

    def integrals(self, edges_s: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Integrate :meth:`inputs` between neighbouring instants ``edges_s`` (N + 1,) [s].

        Each is integrated in the turning axes of its sensor, component by component, as an
        integrating sensor does.

        Returns
        -------
        delta_angle : (N, 3)
            [rad, axes of the gyro].
        delta_velocity : (N, 3)
            [m/s, axes of the accelerometer].
        """
        ...

    def preintegrated(self, edges_s: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the exact increments between neighbouring instants ``edges_s`` (N + 1,) [s].

        Rotation vectors, and changes of velocity less gravity, in the axes at the start of each
        interval; from the states at both ends, without quadrature.

        Returns
        -------
        delta_angle, delta_velocity : (N, 3)
            [rad], [m/s].
        """
        ...

    def velocity_change(self, edges_s: ArrayLike) -> FloatArray:
        """Return changes of velocity less gravity, in the axes at the END of each interval.

        Returns
        -------
        (N, 3)
            Between neighbouring instants ``edges_s`` (N + 1,) [m/s, axes of the accelerometer].
        """
        ...

    def truth(self, t_s: ArrayLike, *, start_ns: int = 0) -> Trajectory:
        """Return pose and velocity of the accelerometer at ``t_s`` (N,) [s]."""
        ...
