"""Tokens of world and PROTO files, and the nodes that they form."""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

from strapdown.errors import FormatError
from strapdown.webots.file.node import Node, Value
from strapdown.webots.file.node_types import coerce, fields_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

__all__ = [
    "MAX_DEPTH",
    "MAX_NODES",
    "Path",
    "Reader",
    "Token",
    "decode",
    "read_externproto",
    "read_version",
]

MAX_DEPTH: Final = 128
"""Maximum nesting of nodes, so that functions that walk a tree may recurse."""

MAX_NODES: Final = 200_000
"""Maximum number of nodes from USE or PROTOs: a few lines could ask for 2**30 of them."""

_HEADER = re.compile(r"#VRML_SIM[ \t]+(?P<version>\S.*?)[ \t]+utf8\b")

_NUMBER = r"[-+]?\.?[0-9][0-9A-Za-z.+\-]*"
_TOKEN = re.compile(
    rf"""
    (?P<numbers>{_NUMBER}(?:[\s,]+{_NUMBER})*)
    | (?P<word>[^\s,\[\]{{}}"\#0-9+\-.%][^\s,\[\]{{}}"\#]*)
    | (?P<punctuation>[\[\]{{}}])
    | (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<comment>\#[^\n]*)
    | (?P<bad>[^\s,])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r'\\(["\\])')

Path: TypeAlias = "str | PathLike[str] | None"
"""A file, or None for a text from another source."""


class Token(NamedTuple):
    """A token of the text."""

    kind: str
    text: str
    start: int


class Reader:
    """Parses the tokens of a text.

    Parameters
    ----------
    text : str
        The whole text.
    path : path-like, optional
        Its file, for error messages.
    """

    def __init__(self, text: str, *, path: Path = None) -> None:
        self.text = text
        self.path = path
        self.tokens = [
            tuple.__new__(Token, (kind, match[0], match.start()))  # twice as fast as Token()
            for match in _TOKEN.finditer(text)
            if (kind := match.lastgroup) != "comment"
        ]
        self.tokens.append(Token("end", "the end of the text", len(text)))
        self.at = 0
        self.parameters: Mapping[str, Value] | None = None
        """Values for ``IS``, in the body of a PROTO."""
        self._defined: dict[str, Node] = {}
        self._copies = 0
        self._counted = (0, 1)

    def restart(self, at: int, parameters: Mapping[str, Value]) -> None:
        """Go back to a token, to read the body of a PROTO with other parameters."""
        self.at = at
        self.parameters = parameters
        self._defined = {}
        self._copies = 0
        self._counted = (0, 1)

    def skip(self) -> None:
        """Skip from an opening bracket or brace to its closing one."""
        opening = self.tokens[self.at]
        depth = 0
        while (token := self.tokens[self.at]).kind != "end":
            self.at += 1
            depth += (token.text in {"{", "["}) - (token.text in {"}", "]"})
            if depth == 0:
                return
        raise self.error(f"the end of {opening.text!r}", opening, got="none")

    def error(self, expected: str, token: Token | None = None, *, got: str = "") -> FormatError:
        """Return a FormatError at the current or another token."""
        token = token or self.tokens[self.at]
        before = self.text[: token.start]
        column = token.start - (before.rfind("\n") + 1) + 1
        got = got or (token.text if token.kind == "end" else repr(_short(token.text)))
        if token.kind == "bad" and token.text == '"':
            expected, got = "a closing quote", "the end of the text"
        return FormatError(
            f"line {before.count(chr(10)) + 1} column {column}: expected {expected}, got {got}",
            path=self.path,
            offset=len(before.encode("utf-8", "replace")),
        )

    def misfit(self, error: Exception, name: str, token: Token) -> FormatError:
        """Return the FormatError for a value that :func:`coerce` refused."""
        expected, _, got = str(error).removeprefix("expected ").rpartition(", got ")
        return self.error(f"{expected} as {name}", token, got=got)

    def word(self, expected: str) -> Token:
        """Read a word."""
        token = self.tokens[self.at]
        if token.kind != "word":
            raise self.error(expected)
        self.at += 1
        return token

    def take(self, mark: str) -> None:
        """Read a bracket or brace."""
        if self.tokens[self.at].text != mark:
            raise self.error(repr(mark))
        self.at += 1

    def string(self, expected: str) -> str:
        """Read a string."""
        token = self.tokens[self.at]
        if token.kind != "string":
            raise self.error(expected)
        self.at += 1
        return _ESCAPED.sub(r"\1", token.text[1:-1])

    def node(self, depth: int = 0) -> Node | None:
        """Read a node: ``DEF name Type {...}``, ``USE name``, ``Type {...}`` or ``NULL``."""
        token = self.word("a node")
        if token.text == "NULL":
            return None
        if token.text == "USE":
            return self._use(depth)
        name = ""
        if token.text == "DEF":
            name = self.word("a name after DEF").text
            token = self.word("a node type")
        if depth >= MAX_DEPTH:
            raise self.error(f"at most {MAX_DEPTH} levels of nodes", token)
        node = Node(token.text, line=self._line(token.start))
        if self.tokens[self.at].text != "{":
            raise self.error(f"'{{' after the node type {_short(token.text)!r}")
        self.at += 1
        if self.parameters is None:
            node.def_name = name
        while self.tokens[self.at].text != "}":
            self._field(node, depth)
        self.at += 1
        if name:
            self._defined[name] = node
        return node

    def _field(self, node: Node, depth: int) -> None:
        token = self.word(f"a field of {node.type} or '}}'")
        if token.text == "hidden":  # saved state of the running simulation
            self.word("a name after 'hidden'")
            while (state := self.tokens[self.at]).kind in {"numbers", "string"} or (
                state.text in {"TRUE", "FALSE"}
            ):
                self.at += 1
            return
        first = self.tokens[self.at]
        value = self.value(token.text, depth)
        if node.known:
            known = fields_of(node.type).get(token.text)
            if known is not None:
                try:
                    value = cast("Value", coerce(known.kind, value))
                except (TypeError, ValueError) as error:
                    raise self.misfit(error, f"{node.type}.{token.text}", first) from None
        node.put(token.text, value)

    def value(self, name: str, depth: int = 0) -> Value:
        """Read the value of a field."""
        token = self.tokens[self.at]
        if token.text == "[" and token.kind == "punctuation":
            self.at += 1
            values: list[Value] = []
            while self.tokens[self.at].text != "]":
                if self.tokens[self.at].kind == "numbers":
                    values.extend(self._numbers())
                else:
                    values.append(self._item(name, depth))
            self.at += 1
            return values
        if token.kind == "numbers":
            numbers = self._numbers()
            return numbers[0] if len(numbers) == 1 else tuple(numbers)
        return self._item(name, depth)

    def _item(self, name: str, depth: int) -> Value:
        token = self.tokens[self.at]
        if token.kind == "string":
            return self.string(name)
        if token.kind == "word":
            following = self.tokens[self.at + 1].text
            if token.text in {"DEF", "USE", "NULL"} or following == "{":
                return self.node(depth + 1)
            if token.text in {"TRUE", "FALSE"}:
                self.at += 1
                return token.text == "TRUE"
            if token.text == "IS" and self.parameters is not None:
                return self._is()
        raise self.error(f"a value of {_short(name)!r}")

    def _is(self) -> Value:
        self.at += 1
        token = self.word("the name of a parameter after IS")
        if self.parameters is None or token.text not in self.parameters:
            raise self.error("the name of a parameter of the PROTO", token)
        value = self.parameters[token.text]
        if isinstance(value, Node):
            return value.copy()
        if isinstance(value, list):
            return [item.copy() if isinstance(item, Node) else item for item in value]
        return value

    def _use(self, depth: int) -> Node:
        token = self.word("a name after USE")
        node = self._defined.get(token.text)
        if node is None:
            raise self.error("the name of a node that was defined before", token)
        copy = node.copy()
        self._copies += sum(1 for _ in copy.walk())
        if depth + _height(copy) > MAX_DEPTH or self._copies > MAX_NODES:
            limits = f"at most {MAX_DEPTH} levels and {MAX_NODES} copies of nodes"
            raise self.error(limits, token, got="more by USE")
        for twin in copy.walk():
            twin.def_name = ""
        return copy

    def _numbers(self) -> list[float]:
        values: list[float] = []
        while self.tokens[self.at].kind == "numbers":
            token = self.tokens[self.at]
            words = token.text.replace(",", " ").split()
            try:
                values += map(_number, words)
            except ValueError:
                raise self._bad_number(token) from None
            self.at += 1
        return values

    def _bad_number(self, run: Token) -> FormatError:
        for match in re.finditer(r"[^\s,]+", run.text):
            try:
                _number(match[0])
            except ValueError:
                token = Token("bad", match[0], run.start + match.start())
                return self.error("a finite number", token)
        return self.error("finite numbers", run)

    def _line(self, start: int) -> int:
        """Return the line of a position in the text; positions come in ascending order."""
        place, line = self._counted
        self._counted = (start, line + self.text.count("\n", place, start))
        return self._counted[1]


def read_version(text: str) -> str:
    """Return the version in the first line, such as ``R2025a``; empty if it has none."""
    header = _HEADER.match(text)
    return header["version"] if header else ""


def decode(data: bytes, path: Path) -> str:
    """Return the text of a file.

    Raises
    ------
    FormatError
        It is not valid UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"line {line}: expected UTF-8, got the byte {data[error.start]:#04x}",
            path=path,
            offset=error.start,
        ) from None


def read_externproto(reader: Reader, addresses: dict[str, str]) -> bool:
    """Read an ``EXTERNPROTO`` statement, and return whether the next token began one."""
    start = reader.tokens[reader.at]
    if start.text == "IMPORTABLE":
        reader.at += 1
        if reader.tokens[reader.at].text != "EXTERNPROTO":
            raise reader.error("EXTERNPROTO after IMPORTABLE")
    elif start.text != "EXTERNPROTO" or start.kind != "word":
        return False
    reader.at += 1
    address = reader.string("the address of a PROTO file")
    addresses[address.rpartition("/")[2].removesuffix(".proto")] = address
    return True


def _number(word: str) -> float:
    value = float(word)
    if word.lstrip("+-").isdecimal() and len(word) < 18 and word != "-0":
        return int(word)
    if not isfinite(value):
        raise ValueError
    return value


def _height(node: Node) -> int:
    return 1 + max(map(_height, node.children_nodes()), default=0)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
