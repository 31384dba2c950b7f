"""Description of a device for its controller.

Parameters in :class:`~strapdown.webots.port.DeviceInfo`, by kind:

====================================  ===========================================================
Accelerometer, Gyro, Compass          ``lookup_table`` (flat, three numbers a row)
InertialUnit                          ``noise``, ``coordinate_system``
GPS                                   ``coordinate_system`` (0 local, 1 WGS84)
PositionSensor                        ``rotational``
RotationalMotor, LinearMotor          ``rotational``, ``min_position``, ``max_position``,
                                      ``max_velocity``, ``acceleration``, ``max_force``,
                                      ``control_pid``, ``position``, ``velocity``, ``multiplier``
DistanceSensor                        ``type``, ``min``, ``max``, ``aperture``, ``lookup_table``
LightSensor                           ``lookup_table``
TouchSensor                           ``type``, ``lookup_table``
Camera, RangeFinder, Display          ``width``, ``height``
====================================  ===========================================================

All others have none. Devices of a joint also have ``joint``, the tags of all devices on its
axis. A ``type`` is its number in the controller interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strapdown.webots.file.node_types import NODE_TYPES, fields_of
from strapdown.webots.port import DeviceInfo

if TYPE_CHECKING:
    from strapdown.webots.file.node import Node

__all__ = ["MOTORS", "describe"]

MOTORS = {"RotationalMotor", "LinearMotor"}
DISTANCE_TYPES = ("generic", "infra-red", "sonar", "laser")
TOUCH_TYPES = ("bumper", "force", "force-3d")


def describe(
    node: Node, tag: int, *, coordinate_system: str, wgs84: bool, position: float
) -> DeviceInfo:
    """Return the description of a device for its controller.

    Parameters
    ----------
    node : Node
        The device.
    tag : int
        Tag of the device on its robot.
    coordinate_system : str
        Coordinate system of the world: ``NUE``, ``ENU`` or ``EUN``.
    wgs84 : bool
        Whether a GPS of this world gives geodetic coordinates.
    position : float
        Present position of the joint of a motor [rad or m].
    """
    kind = node.type
    parameters: dict[str, Any] = {}
    if kind == "InertialUnit":
        parameters = {"noise": node.number("noise"), "coordinate_system": coordinate_system}
    elif kind == "GPS":
        parameters = {"coordinate_system": int(wgs84)}
    elif kind == "PositionSensor":
        joint = node.parent
        parameters = {"rotational": joint is None or joint.type != "SliderJoint"}
    elif kind in MOTORS:
        parameters = _motor(node, position)
    elif kind in {"Camera", "RangeFinder", "Display"}:
        parameters = {side: node.get(side) for side in ("width", "height")}
    elif kind in {"Accelerometer", "Gyro", "Compass", "LightSensor"}:
        parameters = {"lookup_table": _flat_table(node)}
    elif kind == "TouchSensor":
        parameters = {"type": _index(node, TOUCH_TYPES), "lookup_table": _flat_table(node)}
    elif kind == "DistanceSensor":
        parameters = _distance_sensor(node)
    if node.parent is not None and node.parent_field.startswith("device"):
        together = node.parent.nodes(node.parent_field)
        first = tag - together.index(node)
        parameters["joint"] = tuple(range(first, first + len(together)))
    model = node.text("model") if "model" in fields_of(kind) else ""
    return DeviceInfo(tag, kind, NODE_TYPES[kind], node.text("name"), model, parameters)


def _motor(node: Node, position: float) -> dict[str, Any]:
    """Return the parameters of a motor."""
    rotational = node.type == "RotationalMotor"
    velocity = node.number("maxVelocity")
    return {
        "rotational": rotational,
        "min_position": node.number("minPosition"),
        "max_position": node.number("maxPosition"),
        "max_velocity": velocity,
        "acceleration": node.number("acceleration"),
        "max_force": node.number("maxTorque" if rotational else "maxForce"),
        "control_pid": node.vector("controlPID"),
        "position": position,
        "velocity": velocity,
        "multiplier": node.number("multiplier"),
    }


def _distance_sensor(node: Node) -> dict[str, Any]:
    """Return the parameters of a DistanceSensor; its range is that of the table's outputs."""
    table = _flat_table(node)
    outputs = table[1::3] or [0.0]
    return {
        "type": _index(node, DISTANCE_TYPES),
        "min": min(outputs),
        "max": max(outputs),
        "aperture": node.number("aperture"),
        "lookup_table": table,
    }


def _flat_table(node: Node) -> list[float]:
    """Return the lookup table as one list of 3 N numbers."""
    return [value for row in node.vectors("lookupTable") for value in row]


def _index(node: Node, types: tuple[str, ...]) -> int:
    """Return the number of the node's ``type``; 0 if it is none of them."""
    name = node.text("type")
    return types.index(name) if name in types else 0
