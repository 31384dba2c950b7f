"""Commands of a supervisor with the library of Webots R2025a, executed on its port.

They follow the commands of a robot in the record of tag 0: one byte and its arguments, in the order
in which they are executed. The library waits for an answer to each of its calls; a missing record
means that there is no such node or value.
"""

from __future__ import annotations

from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from strapdown.bridges.webots.supervisor_layouts import (
    COMMANDS,
    VALUES,
    WITHOUT_EFFECT,
    Arguments,
    record,
    type_number,
)
from strapdown.bridges.webots.supervisor_nodes import NO_NODE, KnownNodes
from strapdown.webots.api.field import KINDS, MANY
from strapdown.webots.api.node import pose_matrix
from strapdown.webots.api.texts import INERT_CALL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.webots.port import Port, RobotInfo

__all__ = ["SupervisorCommands"]

_ROOT: Final = 0
_FAST: Final = 2
"""Number of the simulation mode without pauses, the only one."""

# Commands to a supervisor that have other numbers than the request.
_ANIMATION_STARTED, _ANIMATION_STOPPED, _FIELD = 16, 17, 87


class SupervisorCommands:
    """Commands of one supervisor.

    Parameters
    ----------
    port : Port
        Of its robot.
    info : RobotInfo
    kinds : sequence of str
        Name of the node of each tag; it may grow.
    confined : bool
        Whether worlds are only saved, and PROTO files that a text declares only read, in the folder
        of the project: the client may be remote.

    Attributes
    ----------
    has_quit : bool
        Whether it has ended the simulation.
    """

    def __init__(
        self, port: Port, info: RobotInfo, kinds: Sequence[str], *, confined: bool
    ) -> None:
        self.has_quit = False
        self._robot = info.name
        self._project = Path(info.project_path).absolute()
        own = self._project / "controllers" / info.controller
        self._folder = own if own.is_dir() else Path(info.world_path).absolute().parent
        self._confined = confined
        self._nodes = KnownNodes(port, info.name, kinds)
        self._answers: list[bytes] = []

    def configure(self) -> bytes:
        """Return the record that describes its own node."""
        node = self._nodes.describe(self._nodes.ask("self", self._robot))
        layout, is_internal = "IiBBss", False
        values = node.number, node.parent, node.is_proto, is_internal, node.type_name, node.def_name
        return record(0, layout, *values)

    def execute(self, payload: bytes) -> Sequence[str]:
        """Execute commands; the records of their answers are kept for :meth:`records`.

        Returns
        -------
        sequence of str
            What has no effect, and why, in lines.

        Raises
        ------
        TruncatedError
            A command is cut off.
        """
        self._nodes.notes = []
        self._arguments = arguments = Arguments(payload)
        while arguments.left:
            (command,) = arguments.take("B")
            if command in COMMANDS:
                layout, method = COMMANDS[command]
                getattr(self, f"_do_{method}")(command, *arguments.take(layout))
            elif command in WITHOUT_EFFECT:
                layout, call = WITHOUT_EFFECT[command]
                arguments.take(layout)
                if call:
                    self._report_inert(call)
            else:
                self._nodes.notes.append(f"skipped command {command} of a supervisor")
                arguments.skip()
        return self._nodes.notes

    def records(self) -> bytes:
        """Return the records of the next answer: changes of the world, and what was asked for."""
        answers, self._answers = self._answers, []
        return b"".join((*self._nodes.changes(), *answers))

    # -- finding nodes ---------------------------------------------------------------------------

    def _do_from_id(self, command: int, number: int) -> None:
        self._answer_node(command, self._nodes.ask("from_id", number))

    def _do_from_tag(self, command: int, tag: int) -> None:
        self._answer_node(command, self._nodes.ask("from_device", self._robot, tag))

    def _do_from_def(self, command: int, name: str, proto: int) -> None:
        asked = ("from_proto_def", proto, name) if proto > 0 else ("from_def", name)
        found = self._nodes.ask(*asked)
        if found is not None:
            self._nodes.meet(found)
        node = NO_NODE if found is None else self._nodes.describe(found)
        self._answer(command, "IIiiBs", *node[:-1])

    def _do_proto(self, command: int, number: int, derived: int) -> None:
        node = self._nodes.describe(number)
        if node.is_proto and derived < 0:
            count = len(self._nodes.ask("fields", number) or ())
            self._answer(command, "iBis", 0, 0, count, node.type_name)
        else:
            self._answer(command, "iBis", -1, 0, -1, "")

    # -- fields ----------------------------------------------------------------------------------

    def _do_field_count(self, command: int, number: int, _in_proto: int) -> None:
        self._answer(command, "i", len(self._nodes.ask("fields", number) or ()))

    def _do_field_from_name(
        self, command: int, number: int, proto: int, name: str, in_proto: int
    ) -> None:
        names = self._nodes.ask("fields", number) or []
        index = names.index(name) if name in names else -1
        self._do_field_from_index(command, number, proto, index, in_proto)

    def _do_field_from_index(
        self, _command: int, number: int, proto: int, index: int, in_proto: int
    ) -> None:
        name, kind = self._nodes.field(number, index)
        if not kind or (proto >= 0 and not (proto == 0 and self._nodes.describe(number).is_proto)):
            self._answer(_FIELD, "iiBiiis", -1, 0, 0, -1, -1, -1, "")
            return
        count = self._nodes.meet_field(number, name) if proto < 0 else -1
        internal = in_proto == 1 or proto >= 0
        values = index, type_number(kind), internal, count, number, index, name
        self._answer(_FIELD, "iiBiiis", *values)

    def _do_get_value(
        self, command: int, number: int, proto: int, index: int, _internal: int
    ) -> None:
        name, kind = self._nodes.field(number, index)
        if not kind:  # whether a position follows is unknown, too
            self._answer(command, "i", 0)
            self._arguments.skip()
            return
        place = self._arguments.take("i")[0] if kind.startswith("MF") else None
        value = self._nodes.ask("get", number, name, place)
        head = type_number(kind), number, proto, index
        if kind.endswith("Node"):
            if value is None:
                self._answer(command, "iiiiI", *head, 0)
            else:
                self._nodes.meet(value)
                self._answer(command, "iiiiIIiiBss", *head, *self._nodes.describe(value))
        elif value is None:
            self._answer(command, "i", 0)
        else:
            values = value if isinstance(value, list) else [value]
            self._answer(command, "iiii" + VALUES[kind[2:]], *head, *values)

    def _do_set_value(self, _command: int, number: int, index: int, kind: int, place: int) -> None:
        base = kind % MANY - 1
        if not 0 <= base < len(VALUES):
            self._nodes.notes.append(f"skipped a value of the unknown type {kind}")
            self._arguments.skip()
            return
        value = self._value(KINDS[base])
        name = self._nodes.name(number, index)
        if name:
            self._nodes.ask("set", number, name, None if place < 0 else place, value)

    def _do_insert_value(self, command: int, number: int, index: int, place: int) -> None:
        name, kind = self._nodes.field(number, index)
        if not kind:
            self._arguments.skip()
        elif not kind.endswith("Node"):
            self._nodes.ask("insert", number, name, place, self._value(kind[2:]))
        else:
            (text,) = self._arguments.take("s")
            is_single = kind == "SFNode"
            folder = str(self._project) if self._confined else None
            self._nodes.ask("import", number, name, None if is_single else place, text, folder)
            if is_single and (node := self._nodes.ask("get", number, name, None)) is not None:
                self._answer(command, "i", node)

    def _do_remove_value(self, _command: int, number: int, index: int, place: int) -> None:
        name = self._nodes.name(number, index)
        if name:
            self._nodes.ask("remove_item", number, name, None if place < 0 else place)

    def _do_track(self, _command: int, *arguments: int) -> None:
        """Do nothing: the library asks for what it is not sent."""
        if arguments[-1]:
            self._arguments.take("i")  # the period

    # -- a node ----------------------------------------------------------------------------------

    def _do_position(self, command: int, number: int) -> None:
        self._answer(command, "3d", *self._numbers("position", number, 3))

    def _do_orientation(self, command: int, number: int) -> None:
        self._answer(command, "9d", *self._numbers("orientation", number, 9))

    def _do_pose(self, command: int, base: int, number: int) -> None:
        poses = [
            (self._numbers("orientation", each, 9), self._numbers("position", each, 3))
            for each in ((number, base) if base else (number,))
        ]
        self._answer(command, "II16d", base, number, *pose_matrix(*poses))

    def _do_center_of_mass(self, command: int, number: int) -> None:
        self._answer(command, "3d", *self._numbers("center_of_mass", number, 3))

    def _do_velocity(self, command: int, number: int) -> None:
        self._answer(command, "6d", *self._numbers("velocity", number, 6))

    def _do_set_velocity(self, _command: int, number: int, *velocity: float) -> None:
        self._nodes.ask("set_velocity", number, list(velocity))

    def _do_set_joint_position(
        self, _command: int, number: int, position: float, index: int
    ) -> None:
        field = "jointParameters" if index == 1 else f"jointParameters{index}"
        parameters = self._nodes.ask("get", number, field, None)
        if parameters is None:
            self._report_inert("Node.setJointPosition")
        else:
            self._nodes.ask("set", parameters, "position", None, position)

    def _do_contact_points(self, command: int, number: int, descendants: int) -> None:
        self._report_inert("Node.getContactPoints")
        self._answer(command, "IBi", number, descendants, 0)

    def _do_static_balance(self, command: int, _number: int) -> None:
        self._report_inert("Node.getStaticBalance")
        self._answer(command, "B", 0)

    def _do_export(self, command: int, number: int) -> None:
        self._answer(command, "s", self._nodes.ask("export", number) or "")

    def _do_reset_physics(self, _command: int, number: int) -> None:
        self._nodes.ask("reset_physics", number)

    def _do_remove_node(self, _command: int, number: int) -> None:
        self._nodes.ask("remove", number)

    # -- the simulation --------------------------------------------------------------------------

    def _do_reset(self, _command: int) -> None:
        self._nodes.ask("simulation_reset")

    def _do_reset_all_physics(self, _command: int) -> None:
        self._nodes.ask("reset_physics", _ROOT)

    def _do_quit(self, _command: int, status: int) -> None:
        self._nodes.ask("simulation_quit", status)
        self.has_quit = True

    def _do_change_mode(self, _command: int, mode: int) -> None:
        if mode != _FAST:
            self._report_inert("Supervisor.simulationSetMode")

    def _do_save_world(self, command: int, has_path: int) -> None:
        path: str | None = None
        if has_path:
            target = (self._folder / self._arguments.take("s")[0]).resolve()
            if target.suffix != ".wbt" or not (
                target.is_relative_to(self._project.resolve()) or not self._confined
            ):
                self._nodes.notes.append(
                    f"expected a .wbt file{f' in {self._project}' * self._confined} to save the "
                    f"world to, got {target}; choose another"
                )
                self._answer(command, "B", 0)
                return
            path = str(target)
        self._answer(command, "B", self._nodes.ask("world_save", path) or 0)

    def _do_start_animation(self, _command: int, _path: str) -> None:
        self._report_inert("Supervisor.animationStartRecording")
        self._answer(_ANIMATION_STARTED, "B", 0)

    def _do_stop_animation(self, _command: int) -> None:
        self._answer(_ANIMATION_STOPPED, "B", 0)

    def _do_headset_is_used(self, command: int) -> None:
        self._answer(command, "B", 0)

    # -- inside ----------------------------------------------------------------------------------

    def _report_inert(self, call: str) -> None:
        self._nodes.notes.append(INERT_CALL.format(call))

    def _numbers(self, method: str, number: int, count: int) -> list[float]:
        return self._nodes.ask(method, number) or [nan] * count

    def _value(self, kind: str) -> Any:  # noqa: ANN401 (of the field)
        """Read a value of a field that is not a node."""
        values = self._arguments.take(VALUES[kind])
        if kind == "Bool":
            return bool(values[0])
        return values[0] if len(values) == 1 else values

    def _answer(self, command: int, layout: str, *values: Any) -> None:  # noqa: ANN401 (of the layout)
        self._answers.append(record(command, layout, *values))

    def _answer_node(self, command: int, number: int | None) -> None:
        """Describe a node; the root is known to the library."""
        if number:
            self._nodes.meet(number)
            node, is_internal = self._nodes.describe(number), False
            values = *node[:-2], is_internal, *node[-2:]
            self._answer(command, "IIiiBBss", *values)
