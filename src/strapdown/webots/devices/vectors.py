"""Devices that measure a vector in their own axes: Accelerometer, Gyro and Compass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.geometry.products import entries_of, matrix_vector
from strapdown.webots.devices import formulas as kernels
from strapdown.webots.devices.measurement import Columnar, Memoryless, rows_of
from strapdown.webots.file.world_file import carrier_of, has_physics
from strapdown.webots.scene.shapes import Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown._typing import BoolArray, FloatArray
    from strapdown.webots.devices.measurement import Row
    from strapdown.webots.devices.output_stage import Output
    from strapdown.webots.file.node import Node
    from strapdown.webots.scene.scene import BodyStates

__all__ = [
    "Constant",
    "DifferenceAccelerometer",
    "ExactAccelerometer",
    "Vector",
    "in_sensor",
    "lever_to_translation",
]

_POSE: Final = 9  # entries of a rotation; those of a velocity follow


class Vector(Columnar):
    """Vector sensor without a state.

    Parameters
    ----------
    measure : callable
        Returns the vectors (N, 3) of states, in sensor axes.
    output : Output
    """

    width = 3

    def __init__(self, measure: Callable[[BodyStates], FloatArray], output: Output) -> None:
        self._measure = measure
        self._output = output

    def configure(self) -> None:
        """Read the fields of the node again."""
        self._output.configure()

    def take(self, row: Row, _dt_s: float) -> list[float]:
        """Return the reading at one state."""
        return self._output.apply(row)

    def batch(self, states: BodyStates, _dt_s: FloatArray) -> FloatArray:
        """Return the readings at N states."""
        values = self._measure(states)
        self._output.apply_rows(values)
        return values

    def _columns(self, states: BodyStates) -> FloatArray:
        return self._measure(states).T


class DifferenceAccelerometer:
    """Accelerometer with the difference of velocities over the period, and gravity.

    The velocity is zero before the first refresh, and is kept while the device is disabled and
    over a reset: a device that is enabled at velocity v first reads v / dt too much.

    Parameters
    ----------
    gravity : (3,)
        [m/s^2, world], points down.
    output : Output
    lever : (3,)
        From the sensor to the point whose velocity is used [m, sensor].
    """

    width = 3

    def __init__(
        self, gravity: tuple[float, float, float], output: Output, lever: FloatArray | None = None
    ) -> None:
        self._gravity = gravity
        self._output = output
        self._lever = lever
        self.before: Sequence[float] = (0.0, 0.0, 0.0)
        """Velocity at the last refresh [m/s, world]."""

    def configure(self) -> None:
        """Read the fields of the node again."""
        self._output.configure()

    def start(self, row: Row) -> None:
        """Keep the velocity of the last refresh."""

    def reset(self) -> None:
        """Keep the velocity of the last refresh."""

    def prepare(self, states: BodyStates) -> list[Row]:
        """Return rotation and velocity of each state."""
        return list(zip(*map(rows_of, self._columns(states)), strict=True))

    def take(self, row: Row, dt_s: float) -> list[float]:
        """Return the reading at one state."""
        m, velocity = row
        before, self.before = self.before, velocity
        return self._output.apply(
            kernels.difference_force(m, velocity, before, dt_s, self._gravity)
        )

    def batch(self, states: BodyStates, dt_s: FloatArray) -> FloatArray:
        """Return the readings at N states."""
        values = self.forces(states, dt_s)
        self._output.apply_rows(values)
        return values

    def forces(self, states: BodyStates, dt_s: FloatArray) -> FloatArray:
        """Return the values of refreshes at N states, (N, 3), before the last stage."""
        m, velocity = self._columns(states)
        before = np.column_stack((self.before, velocity))
        self.before = before[:, -1].tolist()
        columns = kernels.difference_force(
            [*m], [*velocity], [*before[:, :-1]], dt_s, self._gravity
        )
        return np.stack(columns).T

    def _columns(self, states: BodyStates) -> tuple[FloatArray, FloatArray]:
        """Return rotations (9, N) and velocities (3, N)."""
        velocity = states.velocity
        if self._lever is not None:
            lever = matrix_vector(states.R_world_from_body, self._lever)
            velocity = velocity + np.cross(states.angular_velocity, lever)
        return entries_of(states.R_world_from_body), velocity.T


class ExactAccelerometer:
    """Accelerometer with specific force, from velocities where the acceleration is unknown.

    The parameters are those of :class:`DifferenceAccelerometer`. A first period without a call of
    :meth:`start` is read as one without acceleration.
    """

    width = 3

    def __init__(self, gravity: tuple[float, float, float], output: Output) -> None:
        self._gravity = np.array(gravity)
        self._output = output
        self._difference = DifferenceAccelerometer(gravity, output)
        self._started = False

    def configure(self) -> None:
        """Read the fields of the node again."""
        self._output.configure()

    def prepare(self, states: BodyStates) -> list[Row]:
        """Return forces and velocities; rotations for forces if the acceleration is unknown."""
        forces = self._specific_force(states)
        rows = list(zip(rows_of(forces.T), rows_of(states.velocity.T), strict=True))
        unknown = _unknown(forces)
        if unknown.any():
            differences = self._difference.prepare(states)
            for row in np.flatnonzero(unknown):
                rows[row] = differences[row]
        return rows

    def start(self, row: Row) -> None:
        """Start a period with a velocity."""
        self._difference.before = row[1]
        self._started = True

    def take(self, row: Row, dt_s: float) -> list[float]:
        """Return the reading at one state."""
        first, velocity = row
        if len(first) == _POSE:
            if not self._started:
                self.start(row)
            return self._difference.take(row, dt_s)
        self._difference.before = velocity
        self._started = True
        return self._output.apply(first)

    def batch(self, states: BodyStates, dt_s: FloatArray) -> FloatArray:
        """Return the readings at N states."""
        values = self._specific_force(states)
        if len(values):
            if not self._started:
                self.start(((), states.velocity[0].tolist()))
            unknown = _unknown(values)
            if unknown.any():
                values[unknown] = self._difference.forces(states, dt_s)[unknown]
            self._difference.before = states.velocity[-1].tolist()
            self._output.apply_rows(values)
        return values

    def reset(self) -> None:
        """Discard the previous velocity."""
        self._started = False

    def _specific_force(self, states: BodyStates) -> FloatArray:
        return in_sensor(states, states.acceleration - self._gravity)


class Constant(Memoryless):
    """Measurement with a constant value.

    Parameters
    ----------
    value : float
        Value of all three components.
    """

    width = 3

    def __init__(self, value: float) -> None:
        self._value = value

    def configure(self) -> None:
        """Do nothing: there are no fields."""

    def prepare(self, states: BodyStates) -> list[Row]:
        """Return empty rows: a refresh needs no input."""
        return [()] * len(states.position)

    def take(self, _row: Row, _dt_s: float) -> list[float]:
        """Return the constant values."""
        return [self._value] * 3

    def batch(self, states: BodyStates, _dt_s: FloatArray) -> FloatArray:
        """Return the constant values for N states."""
        return np.full((len(states.position), 3), self._value)


def in_sensor(states: BodyStates, vectors: FloatArray) -> FloatArray:
    """Return world vectors (N, 3) or (3,) in sensor axes, (N, 3)."""
    return matrix_vector(states.R_world_from_body.transpose(0, 2, 1), vectors)


def lever_to_translation(sensor: Node) -> FloatArray | None:
    """Return the point at which R2020a measures an Accelerometer, from the sensor [m, sensor].

    It is the point of the body at the ``translation`` that the sensor would have as a child of
    the Solid that owns the body. Nested Solids with Physics share one body. None: the point is
    that of the sensor.
    """
    body = carrier_of(sensor)
    for node in body.ancestors():
        if node.is_a("Joint"):
            break
        if node.is_a("Solid"):
            if not has_physics(node):
                break
            body = node
    path = [sensor]
    while path[-1].parent is not body and path[-1].parent is not None:
        path.append(path[-1].parent)
    frame = Frame()
    for node in reversed(path):
        frame = frame.inner(node)
    lever = np.array(sensor.vector("translation")) - frame.origin
    return frame.R.T @ lever if lever.any() else None


def _unknown(forces: FloatArray) -> BoolArray:
    """Return which of (N, 3) forces are unknown."""
    return np.isnan(forces[:, 0] + forces[:, 1] + forces[:, 2])
