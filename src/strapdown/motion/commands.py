"""Motion by commands: a vehicle that is commanded rates, or attitudes and velocities to reach.

The commands are those of :mod:`strapdown.motion.command_file`. Each of roll, pitch, yaw and of
the three components of body velocity follows a separate jerk-limited profile, a polynomial in
pieces. Attitude, angular velocity and acceleration, and specific force are therefore exact at
any instant, and do not depend on the rate of a sensor; only the position is integrated, once,
by Gauss-Legendre quadrature.
"""

from __future__ import annotations

import math
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite, as_member
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry import BodyFrame, WorldFrame, frames, quaternion
from strapdown.motion import _navigation as navigation
from strapdown.motion import command_file
from strapdown.motion._pieces import Panels, Pieces
from strapdown.motion._planning import Limits, Segment, planned
from strapdown.motion.analytic import from_euler
from strapdown.motion.command_file import Command, CommandType, InitialState
from strapdown.motion.earth import FlatEarth, Wgs84
from strapdown.motion.kinematics import Kinematics, columns, instants

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from strapdown._typing import ArrayLike, FloatArray

__all__ = [
    "Command",
    "CommandType",
    "InitialState",
    "Limits",
    "MotionCommands",
    "NavigationFrame",
    "Segment",
]

_LIMITS: Final = Limits()
_BLOCK: Final = 8192  # instants
_PANEL_TURN: Final = 0.25  # rad
_PANEL_WAY: Final = 2e3  # m
_PANEL_TURN_IN_A_BLEND: Final = 0.03  # rad; there the polynomials are of higher degree
_LEAST_PANELS_OF_A_BLEND: Final = 3
_MOST_PANELS: Final = 1_000_000


class NavigationFrame(StrEnum):
    """Model of the Earth under the commands of a file."""

    WGS84 = "wgs84"
    """The rotating ellipsoid: north, east and down are those of the moving point."""
    FLAT = "flat"
    """A plane with constant gravity."""


class MotionCommands:
    """A motion that carries out commands, one after the other.

    Rates are reached by a quintic blend and then held: after a time T, a variable has
    changed by ``rate T - (rate - rate before) blend_s / 2``. For all other commands each variable
    moves to its target within the limits, from its present rate and acceleration, and then
    holds it. The command ends when the last variable has arrived or its duration is over, and
    the next one begins with the state as it is then.

    The world is the Earth-fixed frame ENU at the initial point, the body is FLU; with
    ``Mounted(motion, earth=motion.earth)`` a sensor measures the Earth's rotation and gravity.

    Parameters
    ----------
    initial : InitialState
        At t = 0.
    commands : sequence of Command
        At least one that takes time.
    frame : {"wgs84", "flat"}
        Model of the Earth.
    limits : Limits, optional
        Limits of the vehicle.
    blend_s : float, optional
        Duration of a blend [s], or of a RATES command that is shorter; with 0, rates step.

    Raises
    ------
    ValueRangeError
        No command takes time, ``blend_s`` is negative, or the path comes near a pole or leads
        deep into the Earth.
    UnknownNameError
        There is no such frame.
    """

    def __init__(
        self,
        initial: InitialState,
        commands: Sequence[Command],
        *,
        frame: NavigationFrame | str = NavigationFrame.WGS84,
        limits: Limits = _LIMITS,
        blend_s: float = 0.1,
    ) -> None:
        if not 0.0 <= blend_s < math.inf:
            raise ValueRangeError(f"expected a finite blend_s >= 0, got {blend_s:g}")
        self._frame = as_member(NavigationFrame, frame, "navigation frame")
        self._initial = initial
        self._segments, self._variables = planned(initial, commands, limits, blend_s)
        self._path = self._integrated()

    @classmethod
    def from_rows(
        cls,
        initial: ArrayLike,
        rows: ArrayLike,
        *,
        frame: NavigationFrame | str = NavigationFrame.WGS84,
        limits: Limits = _LIMITS,
        blend_s: float = 0.1,
    ) -> MotionCommands:
        """Return the motion of numbers in the units of a motion-command file.

        Parameters
        ----------
        initial : (9,)
            Latitude, longitude [deg], height [m], body velocity [m/s, FRD], yaw, pitch, roll
            [deg].
        rows : (N, 9)
            Type, yaw, pitch, roll [deg] or [deg/s], body velocity [m/s] or [m/s^2], duration
            [s], whether satellites are in view.
        frame, limits, blend_s
            As :class:`MotionCommands`.

        Raises
        ------
        ShapeError, ValueRangeError, UnknownNameError
            As :class:`~strapdown.motion.command_file.Command`,
            :class:`~strapdown.motion.command_file.InitialState` and :class:`MotionCommands`.
        """
        table = as_finite(rows, "rows", (9,))
        if table.ndim != 2:
            raise ShapeError(f"expected rows of shape (N, 9), got {table.shape}")
        commands = [Command.from_row(row) for row in table]
        state = InitialState.from_row(initial)
        return cls(state, commands, frame=frame, limits=limits, blend_s=blend_s)

    @classmethod
    def from_file(
        cls,
        path: str | PathLike[str],
        *,
        frame: NavigationFrame | str = NavigationFrame.WGS84,
        limits: Limits = _LIMITS,
        blend_s: float = 0.1,
    ) -> MotionCommands:
        """Return the motion of a motion-command file.

        Parameters
        ----------
        path : path-like
            A file as :mod:`strapdown.motion.command_file` describes it.
        frame, limits, blend_s
            As :class:`MotionCommands`.

        Raises
        ------
        FormatError
            The file cannot be understood; line and column are named.
        ValueRangeError, UnknownNameError
            As :class:`MotionCommands`.
        """
        initial, commands = command_file.read(path)
        return cls(initial, commands, frame=frame, limits=limits, blend_s=blend_s)

    @property
    def start_s(self) -> float:
        """First instant [s]."""
        return 0.0

    @property
    def end_s(self) -> float:
        """Last instant [s]."""
        return self._segments[-1].end_s

    @property
    def breaks_s(self) -> FloatArray:
        """Instants (B,) [s] at which the polynomials change."""
        return self._variables.starts_s[1:].copy()

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Execution time of each command, and whether its target was reached."""
        return self._segments

    @property
    def earth(self) -> FlatEarth | Wgs84:
        """The Earth whose gravity and rotation belong to this motion."""
        if self._frame is NavigationFrame.FLAT:
            return FlatEarth()
        return Wgs84(*self._origin)

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s], in any order.

        Where a rate steps, this is the state after the step.

        Raises
        ------
        ShapeError, ValueRangeError
            The instants are no finite row within ``start_s`` ... ``end_s``.
        """
        t_s = instants(t_s, self)
        parts = [self._at(block) for block in _blocks(t_s)]
        if len(parts) == 1:
            return parts[0]
        fields = zip(*(vars(part).values() for part in parts), strict=True)
        return Kinematics(*map(np.concatenate, fields))

    @property
    def _origin(self) -> tuple[float, float, float]:
        return self._initial.latitude, self._initial.longitude, self._initial.height

    def _at(self, t_s: FloatArray) -> Kinematics:
        place = self._path.at(t_s)
        local = _local(self._variables, t_s)
        if self._frame is NavigationFrame.FLAT:
            return _in_enu_and_flu(local, place.T)
        latitude, longitude, height = place[3:] + np.array(self._origin)[:, None]
        local = _in_enu_and_flu(_carried(local, latitude, height), place[:3].T)
        q = navigation.q_world_from_enu(latitude, longitude, self._origin)
        return replace(
            local,
            q_world_from_body=quaternion.multiply(q, local.q_world_from_body),
            velocity_world=quaternion.rotate(q, local.velocity_world),
            acceleration_world=quaternion.rotate(q, local.acceleration_world),
        )

    def _integrated(self) -> Pieces:
        """Return x, y, z, and on the ellipsoid the changes of latitude, longitude and height."""
        panels = Panels(_panel_edges(self._variables, self.end_s))
        velocity = np.concatenate(
            [_local(self._variables, t_s).velocity_world for t_s in _blocks(panels.nodes_s)]
        )
        if self._frame is NavigationFrame.WGS84:
            return navigation.geographic(panels, velocity.T, self._origin)
        return panels.integral(_enu(velocity).T, np.zeros(3))


def _panel_edges(variables: Pieces, end_s: float) -> FloatArray:
    """Return a division of the pieces for which the quadrature is exact to rounding."""
    starts = variables.starts_s
    lengths = np.diff(starts, append=end_s)
    samples = starts[:, None] + lengths[:, None] * np.array([0.0, 0.3, 0.6, 0.9])
    values, rates, _ = np.abs(variables.derivatives(samples.ravel()))
    turns = rates[:3].sum(axis=0).reshape(samples.shape).max(axis=1) * lengths
    ways = values[3:].sum(axis=0).reshape(samples.shape).max(axis=1) * lengths
    blended = np.any(variables.coefficients[4:] != 0.0, axis=(0, 1))
    turn = np.where(blended, _PANEL_TURN_IN_A_BLEND, _PANEL_TURN)
    least = np.where(blended, _LEAST_PANELS_OF_A_BLEND, 1)
    counts = np.maximum(np.ceil(np.maximum(turns / turn, ways / _PANEL_WAY)), least)
    if not counts.sum() <= _MOST_PANELS:
        raise ValueRangeError(
            f"expected a path below 1e9 m and rotation below 1e5 rad, got about {ways.sum():.3g} m"
            f" and {turns.sum():.3g} rad; check the durations and their unit"
        )
    counts = counts.astype(np.int64)
    piece = np.repeat(np.arange(len(starts)), counts)
    within = np.arange(len(piece)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.append(starts[piece] + lengths[piece] * (within / counts[piece]), end_s)


def _local(variables: Pieces, t_s: FloatArray) -> Kinematics:
    """Return the state in NED and FRD, in the axes of the moving point; the position is empty.

    The acceleration is the time derivative of the components of velocity.
    """
    value, first, second = variables.derivatives(t_s)
    empty = np.empty((len(t_s), 0))
    state = from_euler(t_s, (empty,) * 3, (value[:3].T, first[:3].T, second[:3].T))
    velocity = value[3:].T
    velocity_rate = first[3:].T + _cross(state.angular_velocity, velocity)
    return replace(
        state,
        velocity_world=quaternion.rotate(state.q_world_from_body, velocity),
        acceleration_world=quaternion.rotate(state.q_world_from_body, velocity_rate),
    )


def _carried(local: Kinematics, latitude: FloatArray, height: FloatArray) -> Kinematics:
    """Add the rotation of the moving axes to a state: as seen from the Earth-fixed frame."""
    velocity = local.velocity_world
    rate, derivative = navigation.transport_rate(
        latitude, height, velocity.T, local.acceleration_world.T
    )
    q_body_from_ned = quaternion.conjugate(local.q_world_from_body)
    rate_body = quaternion.rotate(q_body_from_ned, rate.T)
    turning = quaternion.rotate(q_body_from_ned, derivative.T)
    return replace(
        local,
        angular_velocity=local.angular_velocity + rate_body,
        angular_acceleration=local.angular_acceleration
        + turning
        - _cross(local.angular_velocity, rate_body),
        acceleration_world=local.acceleration_world + _cross(rate.T, velocity),
    )


def _in_enu_and_flu(state: Kinematics, position: FloatArray) -> Kinematics:
    """Return a state in NED and FRD in the frames of the package."""
    return Kinematics(
        state.t_s,
        frames.convert_quaternion(
            state.q_world_from_body,
            world=(WorldFrame.NED, WorldFrame.ENU),
            body=(BodyFrame.FRD, BodyFrame.FLU),
        ),
        frames.convert_vector(state.angular_velocity, BodyFrame.FRD, BodyFrame.FLU),
        frames.convert_vector(state.angular_acceleration, BodyFrame.FRD, BodyFrame.FLU),
        position,
        _enu(state.velocity_world),
        _enu(state.acceleration_world),
    )


def _blocks(t_s: FloatArray) -> list[FloatArray]:
    """Return views of blocks of instants whose arrays stay in the cache; at least one."""
    return [t_s[i : i + _BLOCK] for i in range(0, max(len(t_s), 1), _BLOCK)]


def _enu(ned: FloatArray) -> FloatArray:
    return frames.convert_vector(ned, WorldFrame.NED, WorldFrame.ENU)


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the cross products of vectors (N, 3)."""
    ax, ay, az = a.T
    bx, by, bz = b.T
    return columns(len(a), ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)
