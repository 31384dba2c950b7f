"""Nodes of a world as the library of a supervisor knows them.

It caches nodes, fields and counts, so that the server has to report which of them changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from strapdown.bridges.webots.supervisor_layouts import record
from strapdown.errors import StrapdownError
from strapdown.webots.file.node_types import NODE_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from strapdown.webots.port import Port

__all__ = ["NO_NODE", "Described", "KnownNodes"]

_COUNT_CHANGED, _NODE_REMOVED = 20, 97  # commands to a supervisor


class Described(NamedTuple):
    """Description of a node for the library."""

    number: int
    node_type: int
    tag: int
    """As a device of the supervisor; -1 for others."""
    parent: int
    is_proto: bool
    type_name: str
    def_name: str


NO_NODE: Final = Described(0, 0, -1, -1, is_proto=False, type_name="", def_name="")


class KnownNodes:
    """Nodes that the program of one supervisor asks for, and those that it knows.

    Parameters
    ----------
    port : Port
        Of its robot.
    robot : str
        Name of the robot.
    kinds : sequence of str
        Name of the node of each tag; it may grow.

    Attributes
    ----------
    notes : list of str
        What was refused, and why, in lines.
    """

    def __init__(self, port: Port, robot: str, kinds: Sequence[str]) -> None:
        self.notes: list[str] = []
        self._port, self._robot, self._kinds = port, robot, kinds
        self._tags: dict[Any, int] = {}
        self._known: set[int] = set()
        self._counts: dict[tuple[int, str], int] = {}
        self._history = port.supervise("history")

    def ask(self, method: str, *arguments: Any) -> Any:  # noqa: ANN401 (as the method says)
        """Call a supervisor's method; None, with a note, if it is refused."""
        try:
            return self._port.supervise(method, *arguments)
        except (StrapdownError, TypeError, ValueError, OSError) as error:
            self.notes.append(str(error))
            return None

    def field(self, number: int, index: int) -> tuple[str, str]:
        """Return name and type of a field of a node; empty if there is none."""
        name = self.name(number, index)
        kind, _ = (self.ask("field", number, name) if name else None) or ("", -1)
        return name, kind

    def name(self, number: int, index: int) -> str:
        """Return the name of a field of a node; empty if there is none."""
        names = self.ask("fields", number) or []
        return names[index] if 0 <= index < len(names) else ""

    def describe(self, number: int) -> Described:
        """Return the description of a node."""
        if len(self._tags) != len(self._kinds) - 1:
            self._tags = {
                self.ask("from_device", self._robot, tag): tag for tag in range(1, len(self._kinds))
            }
        base = self.ask("base_type", number) or ""
        name = self.ask("type", number) or ""
        parent = self.ask("parent", number)
        return Described(
            number,
            NODE_TYPES.get(base, 0),
            self._tags.get(number, -1),
            -1 if parent is None else parent,
            name != base,
            name,
            self.ask("def", number) or "",
        )

    def meet(self, number: int) -> None:
        """Report from now on if the node is removed."""
        self._known.add(number)

    def meet_field(self, number: int, name: str) -> int:
        """Return the count of a field, and report from now on if it changes; -1: it has none."""
        count = self._count(number, name)
        if count >= 0:
            self._counts[number, name] = count
        return count

    def changes(self) -> Iterator[bytes]:
        """Yield records of what changed since the last answer, of what the library knows."""
        history = self._port.supervise("history")
        if history == self._history:
            return
        self._history = history
        gone = {number for number in self._known if self.ask("from_id", number) is None}
        self._known -= gone
        for number in sorted(gone):
            yield record(_NODE_REMOVED, "I", number)
        for (number, name), count in list(self._counts.items()):
            if self.ask("from_id", number) is None:
                del self._counts[number, name]
            elif (now := self._count(number, name)) != count:
                self._counts[number, name] = now
                yield record(_COUNT_CHANGED, "isi", number, name, now)

    def _count(self, number: int, name: str) -> int:
        """Return the number of values, or of nodes; -1 for a single value of another type."""
        kind, count = self.ask("field", number, name) or ("", -1)
        if kind == "SFNode":
            return int(self.ask("get", number, name, None) is not None)
        return int(count)
