"""Devices that measure their position: GPS and Altimeter."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from strapdown.geometry.products import matrix_vector
from strapdown.webots.devices.geodetic import east_north_up, geodetic_converter
from strapdown.webots.devices.measurement import Columnar, one_by_one
from strapdown.webots.devices.output_stage import rounding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray
    from strapdown.webots.devices.measurement import Row
    from strapdown.webots.devices.output_stage import Setting
    from strapdown.webots.file.node import Node
    from strapdown.webots.scene.scene import BodyStates

__all__ = ["Altimeter", "Gps"]


class Gps(Columnar):
    """GPS with position, speed and velocity in the world.

    Values: position [m], speed [m/s], velocity [m/s]. In a world with the coordinate system WGS84
    the position is latitude and longitude [deg] and altitude [m].

    Parameters
    ----------
    node, world_info : Node
    setting : Setting
    has_physics : bool
        Whether the velocity is that of the point, and not a difference of positions.
    noise : list of 3 float
        State of the correlated noise, which several devices may share.
    """

    width = 7

    def __init__(
        self,
        node: Node,
        world_info: Node,
        setting: Setting,
        *,
        has_physics: bool,
        noise: list[float],
    ) -> None:
        self._node = node
        self._world_info = world_info
        self._round = rounding(setting.profile)
        self._tangent = setting.profile.tangent_plane
        self._system = setting.conventions.coordinate_system
        self._gaussian = setting.gaussian
        self._has_physics = has_physics
        self._noise = noise
        self._before: Sequence[float] | None = None
        self.configure()

    def configure(self) -> None:
        """Read the fields of the node and of the WorldInfo again."""
        node, info = self._node, self._world_info
        self._reference = info.vector("gpsReference")
        self._geodetic = (
            geodetic_converter(self._reference, self._rounded, tangent=self._tangent)
            if info.text("gpsCoordinateSystem") == "WGS84"
            else None
        )
        self._accuracy = node.number("accuracy")
        self._correlation = node.number("noiseCorrelation")
        self._resolution = node.number("resolution")
        self._speed_noise = node.number("speedNoise")
        self._speed_resolution = node.number("speedResolution")

    def start(self, row: Row) -> None:  # noqa: ARG002 (as the method says)
        """Discard the previous position: a first sample has no speed without Physics."""
        self._before = None

    def take(self, row: Sequence[float], dt_s: float) -> list[float]:
        """Return the reading at one state."""
        position = row[:3]
        if self._has_physics:
            velocity = list(row[3:])
        elif self._before is None:
            velocity = [math.nan] * 3
        else:
            velocity = [(p - q) / dt_s for p, q in zip(position, self._before, strict=True)]
        self._before = position
        measured = self._measured(list(position), dt_s)
        speed = math.sqrt(velocity[0] ** 2 + velocity[1] ** 2 + velocity[2] ** 2)
        if self._speed_noise > 0.0:
            speed *= 1.0 + self._speed_noise * self._gaussian()
        if self._speed_resolution != -1.0:
            speed = self._round(speed, self._speed_resolution)
        return [*measured, speed, *velocity]

    def batch(self, states: BodyStates, dt_s: FloatArray) -> FloatArray:
        """Return the readings at N states."""
        return one_by_one(self, states, dt_s)

    def _measured(self, position: list[float], dt_s: float) -> list[float]:
        """Return a position with its reference, noise and resolution."""
        if self._geodetic is None:
            position = [p + offset for p, offset in zip(position, self._reference, strict=True)]
        if self._accuracy:
            self._disturb(position, dt_s)
        if self._geodetic is not None:
            return [*self._geodetic(east_north_up(position, self._system))]
        return [self._rounded(value) for value in position]

    def _rounded(self, value: float) -> float:
        return value if self._resolution == -1.0 else self._round(value, self._resolution)

    def _disturb(self, measured: list[float], dt_s: float) -> None:
        """Add noise to a position: a first-order autoregression for each component."""
        keep = self._correlation**dt_s if self._correlation else 0.0
        fresh = math.sqrt(1.0 - keep * keep)
        for i in range(3):
            self._noise[i] = keep * self._noise[i] + fresh * self._gaussian()
            measured[i] += self._accuracy * self._noise[i]

    def _columns(self, states: BodyStates) -> FloatArray:
        return np.concatenate((states.position.T, states.velocity.T))


class Altimeter(Columnar):
    """Altimeter with the height above the reference [m].

    The parameters are those of :class:`Gps`.
    """

    width = 1

    def __init__(self, node: Node, world_info: Node, setting: Setting) -> None:
        self._node = node
        self._world_info = world_info
        self._up = np.array(setting.conventions.up)
        self._round = rounding(setting.profile)
        self._gaussian = setting.gaussian
        self.configure()

    def configure(self) -> None:
        """Read the fields of the node and of the WorldInfo again."""
        reference = self._world_info.vector("gpsReference")
        geodetic = self._world_info.text("gpsCoordinateSystem") == "WGS84"
        self._reference = reference[2] if geodetic else float(self._up @ reference)
        self._accuracy = self._node.number("accuracy")
        self._resolution = self._node.number("resolution")

    def take(self, row: Sequence[float], _dt_s: float) -> list[float]:
        """Return the reading at one state."""
        height = row[0] + self._reference
        if self._accuracy:
            height += self._accuracy * self._gaussian()
        if self._resolution != -1.0:
            height = self._round(height, self._resolution)
        return [height]

    def batch(self, states: BodyStates, dt_s: FloatArray) -> FloatArray:
        """Return the readings at N states."""
        return one_by_one(self, states, dt_s)

    def _columns(self, states: BodyStates) -> FloatArray:
        return matrix_vector(states.position, self._up)[np.newaxis]
