"""PROTOs in local files: parameters, and the body that they are inserted into."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace as dataclass_replace
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from strapdown.errors import BackendMissingError, FormatError, UnsupportedError
from strapdown.webots.file.grounds import GROUNDS, ground
from strapdown.webots.file.node import Scope
from strapdown.webots.file.node_types import coerce
from strapdown.webots.file.proto_library import PROTO_PATH, PROTOS, ProtoLibrary, ProtoSource
from strapdown.webots.file.reader import MAX_NODES, Reader, decode, read_externproto, read_version
from strapdown.webots.file.releases import modernise, replace
from strapdown.webots.file.templates import Evaluator, field_values, is_template, language_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

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
    language: str = ""
    """Language of the program in the body, ``lua`` or ``javascript``; empty if it has none."""

    def instantiate(
        self, given: Mapping[str, Value], evaluator: Evaluator, context: Mapping[str, object]
    ) -> Node:
        """Return a node built from the body; parameters that are not given have their defaults.

        Parameters
        ----------
        given : mapping
            Values of parameters, by name.
        evaluator : Evaluator
            Runs the program of a template.
        context : mapping
            The object ``context`` of the program.

        Raises
        ------
        FormatError
            The body is invalid.
        UnsupportedError, BackendMissingError
            The program of a template cannot be evaluated.
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
        if self.language:
            return self._evaluated(values, evaluator, context)
        return self._body(self.reader, self.body, values)

    def _evaluated(
        self, values: Mapping[str, Value], evaluator: Evaluator, context: Mapping[str, object]
    ) -> Node:
        body = self.reader.text[self.reader.tokens[self.body].start :]
        names = {
            "fields": field_values(self.parameters, values),
            "context": {**context, "proto": "" if self.path is None else str(self.path)},
        }
        text = evaluator.evaluate(body, self.language, names, self.path)
        try:
            return self._body(Reader(text, path=self.path), 0, values)
        except FormatError as error:
            raise FormatError(f"in the result of the template: {error}") from None

    def _body(self, reader: Reader, at: int, values: Mapping[str, Value]) -> Node:
        reader.restart(at, values)
        node = reader.node()
        if node is None:
            raise reader.error("a node as the body")
        reader.take("}")
        return modernise(node, self.version)


def read_proto(source: ProtoSource) -> Proto:
    """Read a PROTO file.

    Raises
    ------
    FormatError
        With line and column.
    """
    path = source.path
    text = decode(source.read(), path)
    reader = Reader(text, path=path)
    addresses: dict[str, str] = {}
    while read_externproto(reader, addresses):
        pass
    if reader.tokens[reader.at].text != "PROTO":
        raise reader.error("PROTO")
    addresses = local_addresses(addresses, path.parent)
    version = read_version(text)
    proto = read_declaration(reader, path=path, version=version, addresses=addresses)
    return dataclass_replace(proto, language=language_of(text)) if is_template(text) else proto


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
    """Position of an instance in the tree."""

    level: int
    """How many PROTOs it is in."""
    carries: bool
    """Whether a robot could have a device here."""


class Expander:
    """Replaces instances of PROTOs by their bodies.

    Parameters
    ----------
    library : ProtoLibrary
        The PROTO files.
    declared : mapping of str to Proto
        PROTOs that the file of the world itself declares.
    context : mapping
        What templates can read of the world, such as its path.

    Attributes
    ----------
    notices : list of str
        PROTOs and parameters without effect, one line for each name.
    """

    def __init__(
        self,
        library: ProtoLibrary,
        declared: Mapping[str, Proto],
        context: Mapping[str, object],
    ) -> None:
        self._library = library
        self._declared = declared
        self._context = context
        self._evaluator = Evaluator()
        self.notices: list[str] = []
        self._protos: dict[Path, Proto] = {}
        self._noticed: set[str] = set()
        self._made = 0

    def close(self) -> None:
        """End the process that evaluated templates, if there is one."""
        self._evaluator.close()

    def expand(self, root: Node, scope: Scope) -> Node:
        """Expand a node of a world and its descendants.

        Parameters
        ----------
        root : Node
            A node without a parent.
        scope : Scope
            The file of the world.

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
            template that cannot be evaluated.
        BackendMissingError
            Such a template needs an interpreter that is not installed.
        """
        return self._expand(root, scope, _Place(level=0, carries=False))

    def _expand(self, root: Node, scope: Scope, place: _Place) -> Node:
        for node in list(_outermost_unknown(root)):
            carries = _carries_devices(node, root, carries=place.carries)
            new = self._instance(node, node.scope or scope, place._replace(carries=carries))
            if node is root:
                root = new
            elif new is not node and node.parent is not None:
                replace(node.parent, node.parent_field, node, new)
        return root

    def _instance(self, node: Node, scope: Scope, place: _Place) -> Node:
        proto = self._find(node, scope, place)
        if proto is None:
            return _substitute(node, scope) if node.type in GROUNDS else node
        if place.level >= _MAX_LEVELS:
            raise FormatError(
                f"expected at most {_MAX_LEVELS} PROTOs in each other, got more; does"
                f" {proto.name} contain itself?",
                path=proto.path,
            )
        for name in node.fields.keys() - proto.parameters.keys():
            self._notice(f"{proto.name}.{name}", f"line {node.line}: no such parameter")
        _remember_scope(node, scope)
        try:
            made = proto.instantiate(
                node.fields, self._evaluator, {**self._context, "id": self._made + 1}
            )
        except (UnsupportedError, BackendMissingError) as error:
            if place.carries:
                raise
            self._without_effect(node, str(error))
            return node
        except (TypeError, ValueError) as error:
            raise FormatError(f"line {node.line}: {error}", path=scope.path) from None
        self._made += sum(1 for _ in made.walk())
        if self._made > MAX_NODES:
            raise FormatError(
                f"line {node.line}: expected at most {MAX_NODES} nodes from PROTOs, got more",
                path=scope.path,
            )
        inside = place._replace(level=place.level + 1)
        return _signed(self._expand(made, _scope_of(proto, scope), inside), node)

    def _find(self, node: Node, scope: Scope, place: _Place) -> Proto | None:
        """Return the PROTO of a node; without one, add a notice and return None, or raise."""
        if node.type in scope.declared:
            return self._declared[node.type]
        address = scope.addresses.get(node.type, "")
        source = self._library.find(node.type, address)
        if source is not None:
            if "://" in address and PROTOS in source.path.parents:
                self._notice(
                    node.type,
                    f"line {node.line}: PROTO at {address!r} is not fetched: a simpler one of"
                    " strapdown with the same devices is used",
                )
            return self._read(source)
        if address and place.carries:
            raise UnsupportedError(
                f"line {node.line}: expected a local file of PROTO {node.type}, which may"
                f" contain devices of a robot, got {address!r}, which is not fetched; add the"
                f" folder or archive of its file with --proto-dir (proto_dirs) or {PROTO_PATH}",
                path=scope.path,
            )
        self._without_effect(
            node, f"PROTO at {address!r} is not fetched" if address else "unknown node"
        )
        return None

    def _without_effect(self, node: Node, reason: str) -> None:
        effect = GROUNDS.get(node.type, "no effect")
        if node.parent is None and node.type not in GROUNDS:
            effect += ", nothing can rest on it"
        self._notice(node.type, f"line {node.line}: {effect}: {reason}")

    def _read(self, source: ProtoSource) -> Proto:
        if source.path not in self._protos:
            self._protos[source.path] = read_proto(source)
        return self._protos[source.path]

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


def _scope_of(proto: Proto, around: Scope) -> Scope:
    """Return the scope of the body of a PROTO: what its file declares, and else what is around."""
    return Scope(
        proto.path,
        proto.version,
        {**around.addresses, **proto.addresses},
        around.declared - proto.addresses.keys(),
    )


def _remember_scope(instance: Node, scope: Scope) -> None:
    """Let the nodes given to an instance keep the scope of their own file."""
    for node in instance.walk():
        if not node.known and node.scope is None:
            node.scope = scope


def _substitute(node: Node, scope: Scope) -> Node:
    """Return the Solid in place of a ground without a local file."""
    try:
        return _signed(ground(node, scope.release), node)
    except (TypeError, ValueError) as error:
        raise FormatError(f"line {node.line}: {error}", path=scope.path) from None


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
