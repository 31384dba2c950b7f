"""InertialUnits: one as documented in the manual, and two as implemented in Webots."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._kernels.compilation import compiled
from strapdown.errors import UnknownNameError
from strapdown.geometry.products import entries_of, matrix_matrix
from strapdown.geometry.quaternion import from_matrix
from strapdown.webots.devices import formulas as kernels
from strapdown.webots.devices.measurement import Columnar, Memoryless, one_by_one, rows_of
from strapdown.webots.devices.output_stage import AXES, Output, draw
from strapdown.webots.file.conventions import AXES as WORLD_AXES
from strapdown.webots.profiles import Angles, DisabledAxis, InertialFrame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown._typing import FloatArray
    from strapdown.webots.devices.measurement import Row
    from strapdown.webots.devices.output_stage import Setting
    from strapdown.webots.file.node import Node
    from strapdown.webots.profiles import Profile
    from strapdown.webots.scene.scene import BodyStates

__all__ = ["CompassUnit", "MatrixUnit", "QuaternionUnit", "client_angles", "inertial_angles"]

_ANGLE_AXES: Final = ("xAxis", "zAxis", "yAxis")  # of roll, pitch and yaw
_UNIT_AXES: Final = {  # axes of the unit as columns, in forward, up and right axes
    "FUR": np.eye(3),
    "FLU": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
}
_LOSSES: Final = {
    DisabledAxis.ROTATION_AXIS: kernels.LOSE_AXES,
    DisabledAxis.ROTATION_AXIS_DEAD_ZONE: kernels.LOSE_AXES_DEAD_ZONE,
    DisabledAxis.ROLL: kernels.LOSE_ROLL,
}


def inertial_angles(profile: Profile, coordinate_system: str, q: Sequence[float]) -> list[float]:
    """Return roll, pitch and yaw of a quaternion, by the formulas of Webots' client library.

    Parameters
    ----------
    profile : Profile
        A profile whose InertialUnits send a quaternion.
    coordinate_system : str
        Coordinate system of the world.
    q : (4,)
        x, y, z, w, of any length.

    Returns
    -------
    list of 3 float
        [rad]; NaN where the quaternion has NaN, and where a sine is above 1.
    """
    return list(client_angles(profile.angles, coordinate_system)(*q))


def client_angles(
    angles: Angles, coordinate_system: str
) -> Callable[[float, float, float, float], tuple[float, float, float]]:
    """Return the client library's function from x, y, z and w to roll, pitch and yaw."""
    nue = angles is Angles.NUE or coordinate_system == "NUE"
    return kernels.nue_angles if nue else kernels.enu_angles


class CompassUnit(Memoryless):
    """InertialUnit with angles against north and the vertical, and an exact quaternion.

    Roll is positive with the right side down, pitch with the nose up, yaw from north to east.
    Values: roll, pitch, yaw [rad], and x, y, z, w of ``q_world_from_unit``.
    """

    width = 7

    def __init__(self, node: Node, setting: Setting, *, axes: str) -> None:
        if axes not in _UNIT_AXES:
            raise UnknownNameError("axes of an InertialUnit", axes, _UNIT_AXES)
        self._node = node
        self._gaussian = setting.gaussian
        self._frame = _frame(setting.conventions.north, setting.conventions.up)
        self._unit_axes = _UNIT_AXES[axes]
        self._turned = axes != "FUR"
        x, y, z, w = from_matrix(self._unit_axes).tolist()
        self._unit = -x, -y, -z, w
        self._world = tuple(from_matrix(self._frame).tolist())
        self._output = Output(node, setting, axes=_ANGLE_AXES)
        self.configure()

    def configure(self) -> None:
        """Read the fields of the node again."""
        self._output.configure()
        self._sigma = self._node.number("noise") * (0.5 * math.pi)

    def prepare(self, states: BodyStates) -> list[Row]:
        """Return the rotations from forward, up and right, and from the unit, of each state."""
        return list(zip(*map(rows_of, self._rotations(states)), strict=True))

    def take(self, row: Row, _dt_s: float) -> list[float]:
        """Return the reading at one state."""
        compass, m = row
        if not self._sigma:
            return self._output.apply(kernels.compass_sample(compass, m))
        sigma, draw_one = self._sigma, self._gaussian
        noises = sigma * draw_one(), sigma * draw_one(), sigma * draw_one()
        sample = kernels.noisy_compass_sample(compass, noises, self._world, self._unit)
        return self._output.apply(sample)

    def batch(self, states: BodyStates, dt_s: FloatArray) -> FloatArray:
        """Return the readings at N states."""
        if self._sigma and self._output.draws:  # draws depend on earlier values
            return one_by_one(self, states, dt_s)
        out = np.empty((len(dt_s), self.width))
        compass, rotations = self._rotations(states)
        if self._sigma:
            noises = self._sigma * draw(self._gaussian, 3 * len(out)).reshape(-1, 3)
            compiled(kernels.noisy_compass_samples)(compass, noises, self._world, self._unit, out)
        else:
            compiled(kernels.compass_samples)(compass, rotations, out)
        self._output.apply_rows(out[:, :3])
        return out

    def _rotations(self, states: BodyStates) -> tuple[FloatArray, FloatArray]:
        """Return the entries (9, N) of the rotations to north, up and east, and to the world."""
        R = states.R_world_from_body
        compass = matrix_matrix(R.transpose(0, 2, 1), self._frame).transpose(0, 2, 1)
        if self._turned:
            compass = matrix_matrix(compass, self._unit_axes)
        return entries_of(compass), entries_of(R)


class QuaternionUnit(Columnar):
    """InertialUnit with a quaternion, as in Webots since R2021a; the client computes angles.

    Values: x, y, z, w.
    """

    width = 4

    def __init__(self, node: Node, setting: Setting, *, noise_order: str) -> None:
        if noise_order not in {"zyx", "xyz"}:
            raise UnknownNameError("noise order", noise_order, ("zyx", "xyz"))
        self._node = node
        self._gaussian = setting.gaussian
        self._last_first = noise_order == "zyx"
        self._loss = _LOSSES[setting.profile.disabled_axis]
        self._frame = None
        if setting.profile.inertial_frame is InertialFrame.WRONG_SIDE:
            self._frame = _frame(*WORLD_AXES[setting.conventions.coordinate_system])
        self.configure()

    def configure(self) -> None:
        """Read the fields of the node again."""
        node = self._node
        roll, pitch, yaw = (float(node.flag(axis)) for axis in _ANGLE_AXES)
        whole = roll if self._loss == kernels.LOSE_ROLL else roll and pitch and yaw
        self._lost = kernels.KEEP_ALL if whole else self._loss
        self._kept = roll, pitch, yaw
        self._resolution = node.number("resolution")
        self._sigma = node.number("noise") * math.pi

    def take(self, row: Row, _dt_s: float) -> list[float]:
        """Return the reading at one state."""
        noises, sigma = kernels.QUIET, self._sigma
        if sigma:
            draw_one = self._gaussian
            noises = sigma * draw_one(), sigma * draw_one(), sigma * draw_one()
            if self._last_first:
                noises = noises[::-1]
        return list(kernels.inertial_sample(row, noises, self._lost, self._kept, self._resolution))

    def batch(self, states: BodyStates, dt_s: FloatArray) -> FloatArray:
        """Return the readings at N states."""
        noises = np.zeros((len(dt_s), 3))
        if self._sigma:
            noises = self._sigma * draw(self._gaussian, noises.size).reshape(-1, 3)
            if self._last_first:
                noises = np.ascontiguousarray(noises[:, ::-1])
        out = np.empty((len(dt_s), self.width))
        compiled(kernels.inertial_samples)(
            self._columns(states), noises, self._lost, self._kept, self._resolution, out
        )
        return out

    def _columns(self, states: BodyStates) -> FloatArray:
        R = states.R_world_from_body
        return entries_of(R if self._frame is None else matrix_matrix(R, self._frame.T))


class MatrixUnit(Columnar):
    """InertialUnit whose angles the simulator computes, as in Webots until R2020a; no noise.

    Values: roll, pitch, yaw [rad].
    """

    width = 3

    def __init__(self, node: Node, setting: Setting) -> None:
        gravity = np.array(setting.conventions.gravity_world)
        with np.errstate(invalid="ignore"):  # without gravity there is no up: NaN
            up = -gravity / np.linalg.norm(gravity)
        self._frame = _frame(setting.conventions.north, up)
        self._output = Output(node, setting, axes=_ANGLE_AXES, rounded=AXES)

    def configure(self) -> None:
        """Read the fields of the node again."""
        self._output.configure()

    def take(self, row: Row, _dt_s: float) -> list[float]:
        """Return the reading at one state."""
        return self._output.apply(kernels.matrix_angles(row))

    def batch(self, states: BodyStates, dt_s: FloatArray) -> FloatArray:
        """Return the readings at N states."""
        out = np.empty((len(dt_s), self.width))
        compiled(kernels.matrix_angle_rows)(self._columns(states), out)
        self._output.apply_rows(out)
        return out

    def _columns(self, states: BodyStates) -> FloatArray:
        return entries_of(matrix_matrix(states.R_world_from_body, self._frame.T))


def _frame(north: Sequence[float] | FloatArray, up: Sequence[float] | FloatArray) -> FloatArray:
    """Return north, up and east as columns."""
    return np.column_stack((north, up, np.cross(north, up)))
