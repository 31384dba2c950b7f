"""Worlds as files describe them: nodes, validation, robots and their devices."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING, Final

from strapdown.errors import DeviceError, FormatError, ValueRangeError
from strapdown.webots.file.conventions import horizontal, up_and_gravity
from strapdown.webots.file.node import Node, Scope
from strapdown.webots.file.node_types import fields_of
from strapdown.webots.file.proto import Expander, Proto, local_addresses
from strapdown.webots.file.proto_library import PROTOS, ProtoLibrary, folders_of_environment
from strapdown.webots.file.ranges import check_read
from strapdown.webots.file.reader import decode, read_version
from strapdown.webots.file.releases import is_older, modernise
from strapdown.webots.file.sample_worlds import find_world
from strapdown.webots.file.vrml import parse, to_text

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator
    from os import PathLike

__all__ = [
    "WorldFile",
    "carrier_of",
    "devices_of",
    "free_name",
    "has_physics",
    "read_world",
]

_DEVICE_FIELDS: Final = ("device", "device2", "device3", "children", "endPoint")

_INERT: Final = frozenset({"Charger", "Fluid", "ImmersionProperties", "Muscle", "Track"})

_NORTH_NEW: Final = (
    "The 'northDirection' field is deprecated, please use the 'coordinateSystem' field instead."
)
_NORTH_OLD: Final = (
    "The 'northDirection' field is deprecated, according to the 'coordinateSystem' field,"
    " the north is aligned along the x-axis."
)


@dataclass
class WorldFile:
    """Content of a world file; :class:`~strapdown.webots.World` simulates it."""

    path: Path | None
    release: str
    """Such as ``R2025a``."""
    nodes: list[Node]
    """Top-level nodes, in the order of the file."""
    notices: list[str] = field(default_factory=list)
    """Content of the file that has no effect, such as unknown nodes; one line for each name."""
    warnings: list[tuple[Node, str]] = field(default_factory=list)
    """Warnings of Webots when it loads the world, each with its node."""
    library: ProtoLibrary = field(default_factory=lambda: ProtoLibrary([]))
    """PROTO files that instances can be of."""
    addresses: dict[str, str] = field(default_factory=dict)
    """Addresses of PROTO files, by the name of the PROTO, as EXTERNPROTO declares them."""
    protos: dict[str, Proto] = field(default_factory=dict)
    """PROTOs that the file itself declares, by name."""

    @property
    def world_info(self) -> Node:
        """The first WorldInfo."""
        return next(node for node in self.nodes if node.type == "WorldInfo")

    @property
    def robots(self) -> list[Node]:
        """All robots, in the order of the file, including robots mounted on robots."""
        return [node for node in self.walk() if node.is_a("Robot")]

    @property
    def named_robots(self) -> dict[str, Node]:
        """All robots by name; a name that is already in use gets a number."""
        named: dict[str, Node] = {}
        for node in self.robots:
            named[free_name(node.text("name"), named)] = node
        return named

    def walk(self) -> Iterator[Node]:
        """Yield all nodes in the order of the file, except those below nodes of unknown type."""
        todo = list(reversed(self.nodes))
        while todo:
            node = todo.pop()
            yield node
            if node.known:
                todo.extend(reversed(list(node.children_nodes())))

    def find_def(self, name: str) -> Node | None:
        """Return the first node with a DEF name; ``A.B`` is the first ``B`` below the first ``A``.

        Nodes in the body of a PROTO have no DEF name.
        """
        nodes: Iterable[Node] = self.walk()
        found: Node | None = None
        for part in name.split("."):
            found = next((node for node in nodes if node.def_name == part), None)
            if found is None:
                return None
            nodes = [node for node in found.walk() if node is not found]
        return found

    def copy(self) -> WorldFile:
        """Return a copy of the world with copies of all nodes."""
        twins: dict[Node, Node] = {}
        nodes = [node.copy() for node in self.nodes]
        for node, twin in zip(self.nodes, nodes, strict=True):
            twins.update(zip(node.walk(), twin.walk(), strict=True))
        warnings = [(twins.get(node, node), text) for node, text in self.warnings]
        return replace(
            self,
            nodes=nodes,
            notices=list(self.notices),
            warnings=warnings,
            addresses=dict(self.addresses),
            protos=dict(self.protos),
        )

    def read_nodes(self, text: str, *, within: Path | None = None) -> list[Node]:
        """Read nodes in the context of this file; they are not added to it.

        Parameters
        ----------
        text : str
            Nodes, and declarations of PROTOs.
        within : Path, optional
            The only folder whose files EXTERNPROTO in the text may name; by default any.

        Raises
        ------
        FormatError
            With line and column in the text.
        ValueRangeError
            EXTERNPROTO names a file that is not in the folder.
        UnsupportedError
            As :func:`read_world`.
        """
        document = parse(text, path=self.path)
        addresses = local_addresses(
            document.externprotos, None if self.path is None else self.path.parent
        )
        if within is not None:
            _check_within(addresses.values(), within)
        self.addresses.update(addresses)
        self.protos.update(document.protos)
        scope = Scope(self.path, self.release, dict(self.addresses), frozenset(self.protos))
        context = self._context(document.nodes)
        with closing(Expander(self.library, self.protos, context)) as expander:
            nodes = [
                expander.expand(modernise(node, self.release), scope) for node in document.nodes
            ]
        self.notices += [notice for notice in expander.notices if notice not in self.notices]
        return nodes

    def _context(self, nodes: Iterable[Node]) -> dict[str, object]:
        """Return what templates can read of the world."""
        info = next((node for node in [*self.nodes, *nodes] if node.type == "WorldInfo"), None)
        old = "NUE" if is_older(self.release, "R2020b") else "ENU"
        system = old if info is None else info.fields.get("coordinateSystem", old)
        return {
            "world": "" if self.path is None else str(self.path),
            "project_path": "" if self.path is None else str(self.path.parent.parent),
            "webots_version": {"major": "R2025a", "revision": "0"},
            "webots_home": "",
            "temporary_files_path": "",
            "os": "linux",
            "coordinate_system": system,
        }

    def to_text(self) -> str:
        """Return the text of a file with this world, for R2025a."""
        return "\n".join(["#VRML_SIM R2025a utf8", *map(to_text, self.nodes)]) + "\n"


def read_world(
    source: str | PathLike[str],
    *,
    proto_dirs: Iterable[str | PathLike[str]] = (),
    keep_vectors: bool = False,
) -> WorldFile:
    """Read a world file (``.wbt``).

    Parameters
    ----------
    source : str or path-like
        A path, the name of a sample world, or the text itself, which begins with
        ``#VRML_SIM``.
    proto_dirs : iterable of path-like
        Folders, or zip or tar archives, with PROTO files. After them those in the environment
        variable STRAPDOWN_PROTO_PATH are searched, the folder ``protos`` next to that of the
        world, and the PROTOs of the package. Nothing is downloaded.
    keep_vectors : bool
        Whether a gravity vector and ``northDirection`` keep their meaning, as before R2020b.
        Otherwise they are converted to a coordinate system, as in later releases.

    Returns
    -------
    WorldFile
        With a WorldInfo (the first one is used), and every checked field in its range.

    Raises
    ------
    FormatError
        The source is no world file; with line and column where they help.
    UnsupportedError
        A PROTO between a robot and its devices has no local file, or is a
        template that cannot be evaluated.
    BackendMissingError
        Such a template needs an interpreter that is not installed.
    FileNotFoundError, UnknownNameError
        There is no such file, sample world, or folder of PROTOs.
    """
    if isinstance(source, str) and source.startswith("#VRML_SIM"):
        path, text = None, source
    else:
        path = find_world(source)
        text = decode(path.read_bytes(), path)
    release = read_version(text)
    if not release:
        raise FormatError(
            "line 1 column 1: expected '#VRML_SIM R2025a utf8' or another release, got"
            f" {text.partition(chr(10))[0][:40]!r}",
            path=path,
        )
    places = [*map(Path, proto_dirs), *folders_of_environment()]
    if path is not None and (near := path.resolve().parent.parent / "protos").is_dir():
        places.append(near)
    world = WorldFile(path, release, [], library=ProtoLibrary([*places, PROTOS]))
    world.nodes = nodes = world.read_nodes(text)
    if not any(node.type == "WorldInfo" for node in nodes):
        nodes.insert(0, Node("WorldInfo"))
    world.warnings += [
        (world.world_info, text) for text in _adopt_directions(world, keep_vectors=keep_vectors)
    ]
    inert: dict[str, str] = {}
    for node in world.walk():
        world.warnings += [(node, text) for text in check_read(node)]
        if node.type in _INERT:
            inert.setdefault(node.type, f"{node.type}: line {node.line}: no effect: not simulated")
        for name, text in _unknown_fields(node):
            inert.setdefault(name, text)
    world.notices += inert.values()
    return world


def _check_within(addresses: Iterable[str], folder: Path) -> None:
    """Check that local addresses are those of files in a folder."""
    for address in addresses:
        if "://" not in address and not Path(address).resolve().is_relative_to(folder.resolve()):
            raise ValueRangeError(
                f"expected EXTERNPROTO with a file in {folder}, got {address!r}; copy the file into"
                " that folder"
            )


def _unknown_fields(node: Node) -> Iterator[tuple[str, str]]:
    """Yield each field that a node type does not have: type and name, and the notice."""
    if not node.known:
        return
    known = fields_of(node.type)
    for name in node.fields:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; is it {near[0]}?" if near else ""
            yield (
                f"{node.type}.{name}",
                f"{node.type}: line {node.line}: no effect: unknown field {name!r}{hint}",
            )


def _adopt_directions(world: WorldFile, *, keep_vectors: bool) -> Iterator[str]:
    """Convert gravity, north and the coordinate system to the form that conventions read; warn."""
    info = world.world_info
    old = is_older(world.release, "R2020b")
    if old:
        info.fields.setdefault("coordinateSystem", "NUE")
        info.fields.setdefault("gravity", (0.0, -9.81, 0.0))
    yield from check_read(info)
    north = info.fields.get("northDirection")
    if north == ((1, 0, 0) if old else (0, 1, 0)):
        del info.fields["northDirection"]
        north = None
    if keep_vectors:
        if (
            north is not None
            and horizontal(info.vector("northDirection"), up_and_gravity(info)[0]) is None
        ):
            del info.fields["northDirection"]
            yield "The 'northDirection' field is parallel to gravity, and not used."
        return
    gravity = info.get("gravity")
    if isinstance(gravity, tuple):
        info.set("gravity", hypot(*gravity))
    if north is not None:
        del info.fields["northDirection"]
        if north == (0, 0, 1) and info.text("coordinateSystem") == "NUE":
            info.set("coordinateSystem", "EUN")
        else:
            yield _NORTH_OLD if old else _NORTH_NEW


def free_name(name: str, taken: Container[str]) -> str:
    """Return a name that is not taken: the given one, or else the first with a number.

    Examples
    --------
    >>> free_name("arm", {"arm", "arm(1)"})
    'arm(2)'
    """
    free, number = name, 0
    while free in taken:
        number += 1
        free = f"{name}({number})"
    return free


def devices_of(robot: Node) -> list[Node]:
    """Return the devices of a robot in the order of their tags, which start at 1.

    Depth first through ``children``; of a joint the devices come first, then its end point. A
    device precedes the devices mounted on it. Robots mounted on the robot are not searched.
    """
    devices: list[Node] = []
    todo = [robot]
    while todo:
        node = todo.pop()
        if node is not robot and node.is_a("Robot"):
            continue
        if node.is_a("Device"):
            devices.append(node)
        if node.known:
            below = [
                child
                for name in _DEVICE_FIELDS
                if name in node.fields
                for child in node.nodes(name)
            ]
            todo.extend(reversed(below))
    return devices


def carrier_of(device: Node) -> Node:
    """Return the nearest Solid (or node derived from it) above a device.

    Raises
    ------
    DeviceError
        There is none.
    """
    for node in device.ancestors():
        if node.is_a("Solid"):
            return node
    raise DeviceError(
        f"expected a Solid or Robot above {device}, got none (line {device.line}); move it into the"
        " children of one"
    )


def has_physics(node: Node) -> bool:
    """Return whether a Solid has a Physics node."""
    return node.node("physics") is not None
