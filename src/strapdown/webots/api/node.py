"""Nodes of the scene tree, for supervisors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strapdown.webots.api.field import Field, FieldKey
from strapdown.webots.api.owner import session_of
from strapdown.webots.api.proto import Proto
from strapdown.webots.api.session import real
from strapdown.webots.file.node_types import NODE_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from strapdown.webots.api.owner import Owner

__all__ = ["ContactPoint", "Node", "pose_matrix"]


class ContactPoint:
    """Contact of a body with another.

    Parameters
    ----------
    point : sequence
        x, y, z [m] and the number of the node.
    """

    def __init__(self, point: Sequence[float]) -> None:
        self.point = list(point[:3])
        self.node_id = int(point[3])

    def getPoint(self) -> list[float]:
        """Return the point in the world [m]."""
        return self.point

    def getNodeId(self) -> int:
        """Return the number of the node."""
        return self.node_id


class Node:
    """Node of the scene tree.

    Supervisors create them; of the arguments, the last one given is used.

    Parameters
    ----------
    DEF : str, optional
        Its ``DEF`` name.
    tag : int, optional
        Its tag as a device of this robot; 0 for the robot.
    id : int, optional
        Its number.
    selected : bool, optional
        The node that a user has selected.
    ref : int, optional
        Its number, which is known to be valid.
    robot : Robot, optional
        The supervisor; by default the first robot of this process.
    """

    (
        NO_NODE, APPEARANCE, BACKGROUND, BILLBOARD, BOX, CAD_SHAPE, CAPSULE, COLOR, CONE,
        COORDINATE, CYLINDER, DIRECTIONAL_LIGHT, ELEVATION_GRID, FOG, GROUP, IMAGE_TEXTURE,
        INDEXED_FACE_SET, INDEXED_LINE_SET, MATERIAL, MESH, MUSCLE, NORMAL, PBR_APPEARANCE, PLANE,
        POINT_LIGHT, POINT_SET, POSE, SHAPE, SPHERE, SPOT_LIGHT, TEXTURE_COORDINATE,
        TEXTURE_TRANSFORM, TRANSFORM, VIEWPOINT, ROBOT, ACCELEROMETER, ALTIMETER, BRAKE, CAMERA,
        COMPASS, CONNECTOR, DISPLAY, DISTANCE_SENSOR, EMITTER, GPS, GYRO, INERTIAL_UNIT, LED, LIDAR,
        LIGHT_SENSOR, LINEAR_MOTOR, PEN, POSITION_SENSOR, PROPELLER, RADAR, RANGE_FINDER, RECEIVER,
        ROTATIONAL_MOTOR, SKIN, SPEAKER, TOUCH_SENSOR, VACUUM_GRIPPER, BALL_JOINT,
        BALL_JOINT_PARAMETERS, CHARGER, CONTACT_PROPERTIES, DAMPING, FLUID, FOCUS, HINGE_JOINT,
        HINGE_JOINT_PARAMETERS, HINGE_2_JOINT, IMMERSION_PROPERTIES, JOINT_PARAMETERS, LENS,
        LENS_FLARE, PHYSICS, RECOGNITION, SLIDER_JOINT, SLOT, SOLID, SOLID_REFERENCE, TRACK,
        TRACK_WHEEL, WORLD_INFO, ZOOM, MICROPHONE, RADIO,
    ) = range(88)  # fmt: skip

    def __init__(
        self,
        DEF: str | None = None,
        tag: int | None = None,
        id: int | None = None,
        selected: bool | None = None,
        ref: int | None = None,
        *,
        robot: Owner | None = None,
    ) -> None:
        self._session = session_of(robot)
        if ref is None:
            ref = self._look_up(DEF, tag, id, selected)
        self._ref = ref

    @classmethod
    def _made(cls, owner: Owner, ref: int | None) -> Self | None:
        """Return the node of a number; None for None."""
        return None if ref is None else cls(ref=ref, robot=owner)

    def _look_up(
        self, DEF: str | None, tag: int | None, id: int | None, selected: bool | None
    ) -> int | None:
        ref: int | None = None
        if id is not None:
            ref = self._ask("get_from_id", "from_id", id)
        elif tag is not None and tag != 0:
            ref = self._ask("get_from_device", "from_device", self._session.info.name, tag)
        elif tag is not None:
            ref = self._ask("get_self", "self", self._session.info.name)
        elif DEF is not None:
            ref = self._ask("get_from_def", "from_def", DEF)
        elif not selected:
            ref = self._ask("get_root", "root")
        return ref

    def _ask(self, call: str, method: str, *values: Any) -> Any:  # noqa: ANN401 (by the method)
        return self._session.supervise(f"node_{call}", method, *values)

    # -- identity --------------------------------------------------------------------------------

    def getId(self) -> int:
        """Return the number."""
        return self.id

    def getDef(self) -> str:
        """Return the ``DEF`` name; empty if it has none."""
        return self.DEF

    def getType(self) -> int:
        """Return the type, such as :attr:`SOLID`."""
        return self.type

    def getTypeName(self) -> str:
        """Return the name of the type, or of the PROTO."""
        return self.type_name

    def getBaseTypeName(self) -> str:
        """Return the name of the type; for a PROTO that of its root."""
        return self.base_type_name

    def getParentNode(self) -> Node | None:
        """Return the parent node."""
        return self._made(self, self._ask("get_parent_node", "parent", self._ref))

    def isProto(self) -> bool:
        """Return whether it is an instance of a PROTO."""
        return self.type_name != self.base_type_name

    def getProto(self) -> Proto[Self] | None:
        """Return the PROTO that it is an instance of, or None."""
        return Proto(self) if self.isProto() else None

    def getFromProtoDef(self, DEF: str) -> Node | None:
        """Return a node inside a PROTO by its ``DEF`` name."""
        ref = self._ask("get_from_proto_def", "from_proto_def", self._ref, DEF)
        return self._made(self, ref)

    def exportString(self) -> str:
        """Return the node as text of a world file."""
        return str(self._ask("export_string", "export", self._ref))

    @property
    def id(self) -> int:
        """Number."""
        return -1 if self._ref is None else self._ref

    @property
    def DEF(self) -> str:
        """``DEF`` name; empty if it has none."""
        return str(self._ask("get_def", "def", self._ref))

    @property
    def type(self) -> int:
        """Type, such as :attr:`SOLID`."""
        return NODE_TYPES.get(self.base_type_name, self.NO_NODE)

    @property
    def type_name(self) -> str:
        """Name of the type, or of the PROTO."""
        return str(self._ask("get_type_name", "type", self._ref))

    @property
    def base_type_name(self) -> str:
        """Name of the type; for a PROTO that of its root."""
        return str(self._ask("get_base_type_name", "base_type", self._ref))

    # -- fields ----------------------------------------------------------------------------------

    def getField(self, fieldName: str) -> Field[Self] | None:
        """Return a field; None if there is none."""
        found = self._ask("get_field", "field", self._ref, fieldName)
        return None if found is None else Field(FieldKey(self, fieldName, found[0]))

    def getFieldByIndex(self, index: int) -> Field[Self] | None:
        """Return a field by its index; None if there is none."""
        names = self._ask("get_field_by_index", "fields", self._ref)
        return self.getField(names[index]) if 0 <= index < len(names) else None

    def getNumberOfFields(self) -> int:
        """Return the number of fields."""
        return self.number_of_fields

    def getBaseNodeField(self, fieldName: str) -> Field[Self] | None:
        """Return a field of the root of a PROTO: as :meth:`getField`."""
        return self.getField(fieldName)

    def getBaseNodeFieldByIndex(self, index: int) -> Field[Self] | None:
        """Return a field of the root of a PROTO: as :meth:`getFieldByIndex`."""
        return self.getFieldByIndex(index)

    def getNumberOfBaseNodeFields(self) -> int:
        """Return the number of fields of the root of a PROTO."""
        return self.number_of_base_node_fields

    @property
    def number_of_fields(self) -> int:
        """Number of fields."""
        return len(self._ask("get_number_of_fields", "fields", self._ref))

    @property
    def number_of_base_node_fields(self) -> int:
        """Number of fields of the root of a PROTO."""
        return self.number_of_fields

    # -- pose and motion -------------------------------------------------------------------------

    def getPosition(self) -> list[float]:
        """Return the position in the world [m]."""
        return list(self._ask("get_position", "position", self._ref))

    def getOrientation(self) -> list[float]:
        """Return the rotation matrix to the world, row by row."""
        return list(self._ask("get_orientation", "orientation", self._ref))

    def getPose(self, fromNode: Node | None = None) -> list[float]:
        """Return the pose in the world or in another node as a 4 x 4 matrix, row by row."""
        nodes = (self,) if fromNode is None else (self, fromNode)
        return pose_matrix(*((node.getOrientation(), node.getPosition()) for node in nodes))

    def enablePoseTracking(self, samplingPeriod: int, fromNode: Node | None = None) -> None:
        """Do nothing: poses are always the present ones."""

    def disablePoseTracking(self, fromNode: Node | None = None) -> None:
        """Do nothing: there is no tracking."""

    def getCenterOfMass(self) -> list[float]:
        """Return the centre of mass in the world [m]."""
        return list(self._ask("get_center_of_mass", "center_of_mass", self._ref))

    def getVelocity(self) -> list[float]:
        """Return linear [m/s] and angular [rad/s] velocity in the world."""
        return list(self._ask("get_velocity", "velocity", self._ref))

    def setVelocity(self, velocity: Sequence[float]) -> None:
        """Set linear [m/s] and angular [rad/s] velocity in the world."""
        self._ask("set_velocity", "set_velocity", self._ref, [real(value) for value in velocity])

    def setJointPosition(self, position: float, index: int = 1) -> None:
        """Set the position of a joint about its first, second or third axis [rad or m]."""
        parameters = self.getField("jointParameters" + ("" if index == 1 else str(index)))
        node = None if parameters is None else parameters.getSFNode()
        field = None if node is None else node.getField("position")
        if field is None:
            self._session.inert("Node.setJointPosition")
        else:
            field.setSFFloat(real(position))

    # -- actions ---------------------------------------------------------------------------------

    def remove(self) -> None:
        """Remove the node from the world."""
        self._ask("remove", "remove", self._ref)

    def resetPhysics(self) -> None:
        """Stop the node and its descendants."""
        self._ask("reset_physics", "reset_physics", self._ref)

    def saveState(self, stateName: str) -> None:
        """Save the present state under a name; without effect."""
        self._session.inert("Node.saveState")

    def loadState(self, stateName: str) -> None:
        """Restore a saved state; without effect."""
        self._session.inert("Node.loadState")

    def restartController(self) -> None:
        """Restart the controller of a robot; without effect."""
        self._session.inert("Node.restartController")

    def addForce(self, force: Sequence[float], relative: bool) -> None:
        """Apply a force during a step; without effect."""
        self._session.inert("Node.addForce")

    def addForceWithOffset(
        self, force: Sequence[float], offset: Sequence[float], relative: bool
    ) -> None:
        """Apply a force at a point during a step; without effect."""
        self._session.inert("Node.addForceWithOffset")

    def addTorque(self, torque: Sequence[float], relative: bool) -> None:
        """Apply a torque during a step; without effect."""
        self._session.inert("Node.addTorque")

    def getContactPoints(self, includeDescendants: bool = False) -> list[ContactPoint]:
        """Return the contact points of the node: none."""
        self._session.inert("Node.getContactPoints")
        return []

    def enableContactPointsTracking(
        self, samplingPeriod: int, includeDescendants: bool = False
    ) -> None:
        """Do nothing: there are no contact points."""

    def disableContactPointsTracking(self, includeDescendants: bool = False) -> None:
        """Do nothing: there is no tracking."""

    def getStaticBalance(self) -> bool:
        """Return whether it is statically balanced on its contacts: False, it has none."""
        self._session.inert("Node.getStaticBalance")
        return False

    def moveViewpoint(self) -> None:
        """Move the viewpoint to the node; without effect."""

    def setVisibility(self, fromNode: Node, visible: bool) -> None:
        """Show or hide the node; without effect."""


def pose_matrix(
    pose: tuple[Sequence[float], Sequence[float]],
    base: tuple[Sequence[float], Sequence[float]] | None = None,
) -> list[float]:
    """Return a pose in the world or in another pose as a 4 x 4 matrix, row by row.

    Parameters
    ----------
    pose, base : (9,) and (3,) float
        Rotation matrix to the world, row by row, and position [m].
    """
    matrix, position = _rows(pose[0]), list(pose[1])
    if base is not None:
        columns = list(zip(*_rows(base[0]), strict=True))
        position = [a - b for a, b in zip(position, base[1], strict=True)]
        position = [_dot(column, position) for column in columns]
        matrix = [[_dot(a, b) for b in zip(*matrix, strict=True)] for a in columns]
    rows = [[*row, value] for row, value in zip(matrix, position, strict=True)]
    return [*rows[0], *rows[1], *rows[2], 0.0, 0.0, 0.0, 1.0]


def _rows(values: Sequence[float]) -> list[Sequence[float]]:
    return [values[0:3], values[3:6], values[6:9]]


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))
