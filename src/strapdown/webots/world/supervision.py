"""Requests of supervisors to a world: read nodes, change fields, add and remove nodes."""

from __future__ import annotations

from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from strapdown.errors import DeviceError, StrapdownError, UnknownNameError, ValueRangeError
from strapdown.webots.file.node import Node, Value
from strapdown.webots.file.node_types import fields_of
from strapdown.webots.file.ranges import check_noise, check_read
from strapdown.webots.file.sample_worlds import WORLDS
from strapdown.webots.file.vrml import to_text
from strapdown.webots.file.world_file import has_physics
from strapdown.webots.world.node_state import center, center_velocity, is_body, present_fields, row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown.webots.devices.device import RobotState
    from strapdown.webots.scene.scene import BodyStates
    from strapdown.webots.world.supervised import Supervised

__all__ = ["Plain", "Supervision"]

Plain: TypeAlias = "bool | int | float | str | Sequence[Plain] | None"
"""Value exchanged between a supervisor and the world; nodes are numbers."""

_ROOT: Final = 0
"""Number of the group that contains all nodes of the file, and has no parent."""


class Supervision:
    """Executes the requests of supervisors on a world.

    Parameters
    ----------
    world : Supervised
    """

    def __init__(self, world: Supervised) -> None:
        self._world = world
        self._edits = 0
        """Number of changes of the tree or of a number of values."""
        self._nodes: list[Node] = [Node("Group"), *world.file.walk()]
        self._numbers = {node: number for number, node in enumerate(self._nodes)}
        self._methods: dict[str, Callable[..., Plain]] = {
            name.removeprefix("_do_"): getattr(self, name)
            for name in dir(self)
            if name.startswith("_do_")
        }

    def call(self, method: str, *arguments: Plain) -> Plain:
        """Execute a request of a supervisor.

        Nodes are passed and returned as numbers: 0 is the group of all nodes of the file. A
        field is identified by the number of its node and its name; ``index`` is the position in
        a field of many values, from the end if negative, and None for a field of one value.

        ======================================= ============================================
        ``root``                                the node 0
        ``self`` robot                          a robot by its name
        ``from_def`` name                       a node by its DEF name, or path of names
        ``from_id`` number                      the number, if there is such a node
        ``from_device`` robot, tag              a device of a robot
        ``from_proto_def`` node, name           None: bodies of PROTOs have no DEF names
        ``type`` node                           name of its PROTO, or else of its type
        ``base_type`` node                      name of its type
        ``def`` node                            its DEF name, or ""
        ``parent`` node                         its parent node
        ``export`` node                         its text
        ``fields`` node                         the names of its fields
        ``field`` node, name                    type such as SFVec3f, and count (-1: one value)
        ``get`` node, name, index               a value of a field, in the present state
        ``set`` node, name, index, value        changes it
        ``insert`` node, name, index, value     adds one of many; -1: at the end
        ``import`` node, name, index, text,     adds nodes; -1: at the end; EXTERNPROTO in the
        folder                                  text only reads files in the folder; None: any
        ``remove_item`` node, name, index       removes one of many, or the node of a field
        ``remove`` node                         removes a node
        ``position`` node                       [m] in the world; NaN without a pose
        ``orientation`` node                    rows of its rotation matrix to the world
        ``velocity`` node                       of the centre of mass [m/s], and angular [rad/s]
        ``set_velocity`` node, six numbers      changes it
        ``center_of_mass`` node                 [m] in the world, of everything fixed to it
        ``reset_physics`` node                  stops it and its descendants
        ``history``                             number of changes of the tree, and of resets
        ``simulation_reset``                    restarts the simulation
        ``simulation_quit`` status              ends the simulation
        ``world_save`` path or None             writes the world, unless it is a sample world;
                                                returns whether that succeeded
        ======================================= ============================================

        Returns
        -------
        bool, int, float, str, list or None
            None if the requested object does not exist.

        Raises
        ------
        UnknownNameError
            There is no such method, robot or field.
        DeviceError
            The node was removed from the world, or cannot be removed.
        TypeError, ValueRangeError
            A value or index does not fit.
        FormatError
            The text of a node is invalid.
        """
        if method not in self._methods:
            raise UnknownNameError("method of a supervisor", method, self._methods)
        return self._methods[method](*arguments)

    # -- finding nodes ---------------------------------------------------------------------------

    def _do_root(self) -> Plain:
        return _ROOT

    def _do_self(self, robot: str) -> Plain:
        return self._number(self._robot(robot).node)

    def _do_from_def(self, name: str) -> Plain:
        node = self._world.file.find_def(name)
        return None if node is None else self._number(node)

    def _do_from_id(self, number: int) -> Plain:
        return number if 0 <= number < len(self._nodes) and self._exists(number) else None

    def _do_from_device(self, robot: str, tag: int) -> Plain:
        devices = self._robot(robot).devices
        return self._number(devices[tag - 1].node) if 0 < tag <= len(devices) else None

    def _do_from_proto_def(self, number: int, name: str) -> Plain:
        del number, name
        return None

    # -- properties of a node --------------------------------------------------------------------

    def _do_type(self, number: int) -> Plain:
        node = self._node(number)
        return node.proto or node.type

    def _do_base_type(self, number: int) -> Plain:
        return self._node(number).type

    def _do_def(self, number: int) -> Plain:
        return self._node(number).def_name

    def _do_parent(self, number: int) -> Plain:
        node = self._node(number)
        if number == _ROOT:
            return None
        return _ROOT if node.parent is None else self._number(node.parent)

    def _do_export(self, number: int) -> Plain:
        return to_text(self._node(number))

    # -- fields ----------------------------------------------------------------------------------

    def _do_fields(self, number: int) -> Plain:
        node = self._node(number)
        return list(fields_of(node.type)) if node.known else []

    def _do_field(self, number: int, name: str) -> Plain:
        node = self._node(number)
        field = fields_of(node.type).get(name) if node.known else None
        if field is None:
            return None
        value = self._value(number, name)
        gravity = "SFVec3f" if isinstance(value, tuple) else "SFFloat"
        kind = gravity if field.kind == "SFGravity" else field.kind
        return kind, len(value) if isinstance(value, list) else -1

    def _do_get(self, number: int, name: str, index: int | None) -> Plain:
        value = self._value(number, name)
        if isinstance(value, list) and index is not None:
            return self._plain(value[_place(value, index, name)])
        return self._plain(value)

    def _do_set(self, number: int, name: str, index: int | None, value: Value) -> Plain:
        if index is not None:
            values = self._many(number, name)
            values[_place(values, index, name)] = value
            value = values
        return self._change(number, name, value)

    def _do_insert(self, number: int, name: str, index: int, value: Value) -> Plain:
        values = self._many(number, name)
        values.insert(_place(values, index, name, more=1), value)
        self._edits += 1
        return self._change(number, name, values)

    def _do_import(
        self, number: int, name: str, index: int | None, text: str, folder: str | None = None
    ) -> Plain:
        within = None if folder is None else Path(folder)
        nodes = self._world.file.read_nodes(text, within=within)
        self._edits += 1
        if index is not None:
            values = self._many(number, name)
            place = _place(values, index, name, more=1)
            self._put(number, name, [*values[:place], *nodes, *values[place:]])
        elif len(nodes) != 1 or self._value(number, name) is not None:
            raise DeviceError(
                f"expected one node for the empty field {name!r} of {self._node(number)}, got"
                f" {len(nodes)}, or the field is full; remove its value"
            )
        else:
            self._put(number, name, nodes[0])
        for top in nodes:
            for node in top.walk():
                for warning in (*check_read(node), *check_noise(node, self._world.profile)):
                    self._world.warn(node, warning)
            self._world.inserted(top)
        return None

    def _do_remove_item(self, number: int, name: str, index: int | None) -> Plain:
        self._edits += 1
        value: Value = None
        if index is None:
            item = self._value(number, name)
        else:
            values = self._many(number, name)
            item = values.pop(_place(values, index, name))
            value = values
        if not isinstance(item, Node):
            return self._change(number, name, value)
        if item is self._world.file.world_info:
            raise DeviceError("expected a node that can be removed, got WorldInfo")
        self._put(number, name, value)
        item.parent, item.parent_field = None, ""
        self._world.removed(item)
        return None

    def _do_remove(self, number: int) -> Plain:
        node = self._node(number)
        if number == _ROOT:
            raise DeviceError("expected a node that can be removed, got the root of the world")
        above = _ROOT if node.parent is None else self._number(node.parent)
        name = node.parent_field or "children"
        siblings = self._value(above, name)
        index = siblings.index(node) if isinstance(siblings, list) else None
        return self._do_remove_item(above, name, index)

    # -- pose and motion of a node ---------------------------------------------------------------

    def _do_position(self, number: int) -> Plain:
        state = self._state(self._node(number))
        return [nan] * 3 if state is None else row(state.position)

    def _do_orientation(self, number: int) -> Plain:
        state = self._state(self._node(number))
        return [nan] * 9 if state is None else row(state.R_world_from_body)

    def _do_center_of_mass(self, number: int) -> Plain:
        node = self._node(number)
        state = self._state(node)
        return [nan] * 3 if state is None else row(state.position[0] + center(node, state))

    def _do_velocity(self, number: int) -> Plain:
        node = self._node(number)
        state = self._state(node)
        if state is None:
            return [nan] * 6
        return [*row(center_velocity(node, state)), *row(state.angular_velocity)]

    def _do_set_velocity(self, number: int, velocity: list[float]) -> Plain:
        node = self._node(number)
        _finite(tuple(velocity), "velocity")
        self._take_over(node, "linearVelocity")
        node.set("linearVelocity", tuple(velocity[:3]))
        node.set("angularVelocity", tuple(velocity[3:]))
        self._world.changed(node, "linearVelocity")
        return None

    def _do_reset_physics(self, number: int) -> Plain:
        top = self._node(number)
        nodes = self._world.file.walk() if number == _ROOT else top.walk()
        for node in list(nodes):
            if is_body(node) and has_physics(node):
                self._do_set_velocity(self._number(node), [0.0] * 6)
        return None

    # -- the simulation --------------------------------------------------------------------------

    def _do_history(self) -> Plain:
        return [self._edits, self._world.resets]

    def _do_simulation_reset(self) -> Plain:
        self._world.reset()
        return None

    def _do_simulation_quit(self, status: int) -> Plain:
        self._world.quit(status)
        return None

    def _do_world_save(self, path: str | None) -> Plain:
        file = self._world.file
        target = file.path if path is None else Path(path)
        if target is None or target.resolve().parent == WORLDS.resolve():
            return False
        for node in file.walk():
            if is_body(node):
                self._take_over(node, "translation")
        try:
            target.write_text(file.to_text(), encoding="utf-8")
        except OSError:
            return False
        return True

    # -- inside ----------------------------------------------------------------------------------

    def _node(self, number: int) -> Node:
        if not isinstance(number, int) or not 0 <= number < len(self._nodes):
            raise DeviceError(
                f"expected the number of a node, got {number!r}; is there such a node?"
            )
        if not self._exists(number):
            raise DeviceError(
                f"expected a node of the world, got {self._nodes[number]}, which was removed"
            )
        return self._nodes[number]

    def _exists(self, number: int) -> bool:
        """Return whether a node is still in the tree."""
        node = self._nodes[number]
        for parent in node.ancestors():
            if not any(child is node for child in parent.children_nodes()):
                return False
            node = parent
        return number == _ROOT or any(node is top for top in self._world.file.nodes)

    def _number(self, node: Node) -> int:
        if node not in self._numbers:
            self._numbers[node] = len(self._nodes)
            self._nodes.append(node)
        return self._numbers[node]

    def _robot(self, name: str) -> RobotState:
        if name not in self._world.robots:
            raise UnknownNameError("robot", name, self._world.robots)
        return self._world.robots[name]

    def _plain(self, value: Value) -> Plain:
        if isinstance(value, Node):
            return self._number(value)
        if isinstance(value, list | tuple):
            return [self._plain(item) for item in value]
        return value

    def _value(self, number: int, name: str) -> Value:
        """Return the present value of a field."""
        if number == _ROOT and name == "children":
            return list(self._world.file.nodes)
        node = self._node(number)
        return present_fields(self._world.scene, node, name).get(name, node.get(name))

    def _many(self, number: int, name: str) -> list[Value]:
        value = self._value(number, name)
        if not isinstance(value, list):
            raise DeviceError(
                f"expected a field of many values, got {name!r} of {self._node(number)}"
            )
        return list(value)

    def _put(self, number: int, name: str, value: Value) -> None:
        if number == _ROOT and isinstance(value, list):
            self._world.file.nodes[:] = [item for item in value if isinstance(item, Node)]
        else:
            self._node(number).set(name, value)

    def _change(self, number: int, name: str, value: Value) -> Plain:
        node = self._node(number)
        _finite(value, name)
        self._take_over(node, name)
        before = node.get(name)
        node.set(name, value)
        try:
            self._world.changed(node, name)
        except StrapdownError:
            node.set(name, before)
            raise
        return None

    def _state(self, node: Node) -> BodyStates | None:
        """Return the present state of a node with a pose, as one row."""
        return self._world.scene.present(node) if node.is_a("Pose") else None

    def _take_over(self, node: Node, name: str) -> None:
        """Write the present state into the fields that belong to one that will be set."""
        present = present_fields(self._world.scene, node, name)
        for field, value in present.items():
            node.set(field, value)
        if present:
            self._world.changed(node, next(iter(present)))


def _place(values: list[Value], index: int, name: str, *, more: int = 0) -> int:
    """Return an index that may count from the end; ``more`` allows positions after the last."""
    count = len(values) + more
    place = index + count if index < 0 else index
    if not 0 <= place < count:
        raise ValueRangeError(f"expected an index below {count} for {name!r}, got {index}")
    return place


def _finite(value: Value, name: str) -> None:
    for item in value if isinstance(value, list | tuple) else [value]:
        if isinstance(item, list | tuple):
            _finite(item, name)
        elif isinstance(item, float) and not isfinite(item):
            raise ValueRangeError(f"expected finite numbers for {name!r}, got {item}")
