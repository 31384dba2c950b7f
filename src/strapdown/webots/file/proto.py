"""PROTOs in local files: parameters, and the body that they are inserted into."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from strapdown.errors import FormatError, UnsupportedError
from strapdown.webots.file.grounds import GROUNDS, ground
from strapdown.webots.file.node_types import coerce
from strapdown.webots.file.reader import MAX_NODES, Reader, decode, read_externproto, read_version
from strapdown.webots.file.releases import modernise, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from strapdown.webots.file.node import Node, Value

__all__ = ["Expander", "Proto", "local_addresses", "read_declaration", "read_proto"]

_DEVICE_PATH: Final = frozenset({"children", "device", "device2", "device3", "endPoint"})

_KEYWORDS: Final = frozenset(
    {"field", "vrmlField", "w3dField", "hiddenField", "deprecatedField", "unconnectedField"}
)
_MAX_LEVELS: Final = 64  # of nested PROTOs


@dataclass(frozen=True)
class Proto:
    """A PROTO: its name, its parameters, and the body of its instances."""

    name: str
    path: Path | None
    version: str
    """Release that its file was written for."""
    addresses: Mapping[str, str]
    """PROTOs that its file declares with EXTERNPROTO, by name."""
    parameters: Mapping[str, tuple[str, Value]]
    """Type and default of each parameter, by name."""
    reader: Reader
    body: int
    """Index of the token at which the root node begins."""

    def instantiate(self, given: Mapping[str, Value]) -> Node:
        """Return a node built from the body; parameters that are not given have their defaults.

        Raises
        ------
        FormatError
            The body is invalid.
        TypeError, ValueError
            A value does not fit its parameter.
        """
        values = {name: default for name, (_, default) in self.parameters.items()}
        for name, value in given.items():
            if name in self.parameters:
                try:
                    values[name] = cast("Value", coerce(self.parameters[name][0], value))
                except (TypeError, ValueError) as error:
                    raise type(error)(f"{self.name}.{name}: {error}") from None
        self.reader.restart(self.body, values)
        node = self.reader.node()
        if node is None:
            raise self.reader.error("a node as the body")
        self.reader.take("}")
        return modernise(node, self.version)


def read_proto(path: Path) -> Proto:
    """Read a PROTO file.

    Raises
    ------
    FormatError
        With line and column.
    UnsupportedError
        The PROTO is a template: a program would have to run to know its body.
    """
    text = decode(path.read_bytes(), path)
    if "%<" in text or "%{" in text:
        raise UnsupportedError(
            "expected a PROTO of fields, got a template, which is not run; write its result"
            " into the world",
            path=path,
        )
    reader = Reader(text, path=path)
    addresses: dict[str, str] = {}
    while read_externproto(reader, addresses):
        pass
    if reader.tokens[reader.at].text != "PROTO":
        raise reader.error("PROTO")
    addresses = local_addresses(addresses, path.parent)
    return read_declaration(reader, path=path, version=read_version(text), addresses=addresses)


def read_declaration(
    reader: Reader, *, path: Path | None, version: str, addresses: Mapping[str, str]
) -> Proto:
    """Read ``PROTO Name [ interface ] {`` at the position of a reader; the Proto keeps the reader.

    Raises
    ------
    FormatError
        With line and column.
    """
    reader.word("PROTO")
    name = reader.word("the name of the PROTO").text
    parameters = _interface(reader)
    reader.take("{")
    return Proto(name, path, version, addresses, parameters, reader, body=reader.at)


def _interface(reader: Reader) -> dict[str, tuple[str, Value]]:
    parameters: dict[str, tuple[str, Value]] = {}
    reader.take("[")
    while reader.tokens[reader.at].text != "]":
        keyword = reader.word("'field' or ']'")
        if keyword.text not in _KEYWORDS:
            raise reader.error("'field' or ']'", keyword)
        kind = reader.word("a field type").text
        if reader.tokens[reader.at].text == "{":
            reader.skip()  # the permitted values
        name = reader.word("the name of a parameter").text
        start = reader.tokens[reader.at]
        value = reader.value(name)
        try:
            parameters[name] = (kind, cast("Value", coerce(kind, value)))
        except (TypeError, ValueError) as error:
            raise reader.misfit(error, name, start) from None
    reader.take("]")
    return parameters


class _Place(NamedTuple):
    """Context of an instance: its file and its position in the tree."""

    path: Path | None
    addresses: Mapping[str, str]
    release: str
    level: int = 0
    carries: bool = False
    """Whether a robot could have a device at this position."""


class Expander:
    """Replaces instances of PROTOs by their bodies.

    Parameters
    ----------
    folders : iterable of Path
        Folders that are searched for PROTO files, with all folders below.
    release : str
        Release of the file that contains the instances.
    declared : mapping of str to Proto
        PROTOs that this file itself declares.

    Attributes
    ----------
    notices : list of str
        PROTOs and parameters without effect, one line for each name.
    """

    def __init__(
        self, folders: Iterable[Path], release: str, declared: Mapping[str, Proto]
    ) -> None:
        self._release = release
        self._declared = declared
        self.notices: list[str] = []
        self._folders = list(folders)
        self._files: dict[str, Path] | None = None
        self._protos: dict[Path, Proto] = {}
        self._noticed: set[str] = set()
        self._made = 0

    def expand(self, root: Node, addresses: Mapping[str, str], path: Path | None) -> Node:
        """Expand a node of a world and its descendants.

        Parameters
        ----------
        root : Node
            A node without a parent.
        addresses : mapping
            Addresses that EXTERNPROTO declares, as :func:`local_addresses` returns them.
        path : Path, optional
            The file of the world, for error messages.

        Returns
        -------
        Node
            The node, or the expanded instance if the node itself is one.

        Raises
        ------
        FormatError
            A PROTO file is invalid, or a PROTO contains itself.
        UnsupportedError
            A PROTO between a robot and its devices has no local file, or is a
            template.
        """
        return self._expand(root, _Place(path, addresses, self._release))

    def _expand(self, root: Node, place: _Place) -> Node:
        for node in list(_outermost_unknown(root)):
            carries = _carries_devices(node, root, carries=place.carries)
            new = self._instance(node, place._replace(carries=carries))
            if node is root:
                root = new
            elif new is not node and node.parent is not None:
                replace(node.parent, node.parent_field, node, new)
        return root

    def _instance(self, node: Node, place: _Place) -> Node:
        proto = self._find(node, place)
        if proto is None:
            return self._ground(node, place) if node.type in GROUNDS else node
        if place.level >= _MAX_LEVELS:
            raise FormatError(
                f"expected at most {_MAX_LEVELS} PROTOs in each other, got more; does"
                f" {proto.name} contain itself?",
                path=proto.path,
            )
        for name in node.fields.keys() - proto.parameters.keys():
            self._notice(f"{proto.name}.{name}", f"line {node.line}: no such parameter")
        try:
            made = proto.instantiate(node.fields)
        except (TypeError, ValueError) as error:
            raise FormatError(f"line {node.line}: {error}", path=place.path) from None
        self._made += sum(1 for _ in made.walk())
        if self._made > MAX_NODES:
            raise FormatError(
                f"line {node.line}: expected at most {MAX_NODES} nodes from PROTOs, got more",
                path=place.path,
            )
        addresses = {**place.addresses, **proto.addresses}
        inside = _Place(proto.path, addresses, proto.version, place.level + 1, place.carries)
        return _signed(self._expand(made, inside), node)

    def _ground(self, node: Node, place: _Place) -> Node:
        try:
            return _signed(ground(node, place.release), node)
        except (TypeError, ValueError) as error:
            raise FormatError(f"line {node.line}: {error}", path=place.path) from None

    def _find(self, node: Node, place: _Place) -> Proto | None:
        """Return the PROTO of a node; without one, add a notice and return None, or raise."""
        if node.type in self._declared:
            return self._declared[node.type]
        address = place.addresses.get(node.type, "")
        path = self._local(node.type, address)
        try:
            if path is not None:
                return self._read(path)
        except UnsupportedError as error:
            if place.carries:
                raise
            reason = str(error)
        else:
            reason = f"PROTO at {address!r} is not fetched" if address else "unknown node"
            if address and place.carries:
                raise UnsupportedError(
                    f"line {node.line}: expected a local file of PROTO {node.type}, which may"
                    f" contain devices of a robot, got {address!r}, which is not fetched; add the"
                    " folder of its file to the PROTO folders",
                    path=place.path,
                )
        effect = GROUNDS.get(node.type, "no effect")
        if node.parent is None and node.type not in GROUNDS:
            effect += ", nothing can rest on it"
        self._notice(node.type, f"line {node.line}: {effect}: {reason}")
        return None

    def _read(self, path: Path) -> Proto:
        if path not in self._protos:
            self._protos[path] = read_proto(path)
        return self._protos[path]

    def _local(self, name: str, address: str) -> Path | None:
        if address and "://" not in address and Path(address).is_file():
            return Path(address)
        if self._files is None:
            found = (path for folder in self._folders for path in sorted(folder.rglob("*.proto")))
            self._files = {}
            for path in found:
                self._files.setdefault(path.stem, path)
        return self._files.get(name)

    def _notice(self, name: str, text: str) -> None:
        if name not in self._noticed:
            self._noticed.add(name)
            self.notices.append(f"{name}: {text}")


def local_addresses(addresses: Mapping[str, str], folder: Path | None) -> dict[str, str]:
    """Return the addresses of PROTOs, relative ones resolved against the folder of their file."""
    return {
        name: address if "://" in address or folder is None else str(folder / address)
        for name, address in addresses.items()
    }


def _signed(made: Node, instance: Node) -> Node:
    """Return an expanded node with PROTO, DEF name and line of its instance."""
    made.proto = instance.type
    made.def_name = instance.def_name
    made.line = instance.line
    return made


def _outermost_unknown(root: Node) -> Iterator[Node]:
    """Yield the nodes of unknown type that are not inside another one."""
    todo = [root]
    while todo:
        node = todo.pop()
        if node.known:
            todo.extend(reversed(list(node.children_nodes())))
        else:
            yield node


def _carries_devices(node: Node, root: Node, *, carries: bool) -> bool:
    """Return whether a robot could have a device at a node; ``carries`` applies to the root."""
    while node is not root:
        if node.parent is None or node.parent_field not in _DEVICE_PATH:
            return False
        node = node.parent
        if node.is_a("Robot"):
            return True
    return carries
