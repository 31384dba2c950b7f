"""Parser and writer for the text of world files: VRML with Webots' additions."""

from __future__ import annotations

import pathlib
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from strapdown.webots.file.node import Node, Value
from strapdown.webots.file.proto import Proto, read_declaration
from strapdown.webots.file.reader import Reader, read_externproto, read_version

if TYPE_CHECKING:
    from strapdown.webots.file.reader import Path

__all__ = ["Document", "Node", "Value", "parse", "to_text"]


@dataclass(slots=True)
class Document:
    """Content of a file."""

    version: str = ""
    """Version in the first line, such as ``R2025a``; empty if it has none."""
    nodes: list[Node] = field(default_factory=list)
    externprotos: dict[str, str] = field(default_factory=dict)
    """Addresses of PROTO files by the name of the PROTO, as written."""
    protos: dict[str, Proto] = field(default_factory=dict)
    """PROTOs that are declared in the text itself, by name."""


def parse(text: str, *, path: Path = None) -> Document:
    """Parse the text of a world, or a fragment of one.

    Parameters
    ----------
    text : str
        Statements ``EXTERNPROTO "address"`` (also ``IMPORTABLE``), PROTO declarations (see
        :mod:`strapdown.webots.file.proto`), and nodes.
    path : path-like, optional
        The file, for error messages.

    Returns
    -------
    Document
        Nodes of types that the catalogue does not contain are kept as written; their numbers stay
        int where written without a fraction, and vectors in brackets are flat lists. ``USE`` gives
        a copy without ``DEF`` names.

    Raises
    ------
    FormatError
        With line and column.
    """
    document = Document(read_version(text))
    reader = Reader(text, path=path)
    while (token := reader.tokens[reader.at]).kind != "end":
        if token.text == "PROTO":
            file = None if path is None else pathlib.Path(path)
            proto = read_declaration(
                copy(reader), path=file, version=document.version, addresses={}
            )
            document.protos[proto.name] = proto
            reader.at = proto.body - 1
            reader.skip()
        elif not read_externproto(reader, document.externprotos):
            node = reader.node()
            if node is None:
                raise reader.error("a node", token)
            document.nodes.append(node)
    return document


def to_text(node: Node, *, indent: int = 0) -> str:
    """Return a node as the text of a world file; :func:`parse` reads it to the same tree."""
    lines: list[str] = []
    _write_node(node, indent, lines, "  " * indent)
    return "\n".join(lines)


def _write_node(node: Node, level: int, lines: list[str], lead: str) -> None:
    define = f"DEF {node.def_name} " if node.def_name else ""
    lines.append(f"{lead}{define}{node.type} {{")
    for name, value in node.fields.items():
        lead = "  " * (level + 1)
        if isinstance(value, Node):
            _write_node(value, level + 1, lines, f"{lead}{name} ")
        elif isinstance(value, list) and any(isinstance(item, Node) for item in value):
            lines.append(f"{lead}{name} [")
            for item in value:
                if isinstance(item, Node):
                    _write_node(item, level + 2, lines, lead + "  ")
                else:
                    lines.append(f"{lead}  {_written(item)}")
            lines.append(f"{lead}]")
        else:
            lines.append(f"{lead}{name} {_written(value)}")
    lines.append("  " * level + "}")


def _written(value: Value) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, int | float):
        return repr(value).removesuffix(".0")
    if isinstance(value, tuple):
        return " ".join(map(_written, value))
    if isinstance(value, list):
        return "[ " + ", ".join(map(_written, value)) + " ]" if value else "[]"
    return "NULL"
