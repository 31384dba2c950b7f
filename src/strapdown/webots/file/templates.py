"""Templates: PROTOs with a program in their body, in Lua or JavaScript, that writes the nodes.

A program is evaluated in a separate process (:mod:`~strapdown.webots.file.template_worker`) that
cannot open files, within limits of time and memory. Needs the extra ``proto``.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, Final

from strapdown.errors import BackendMissingError, UnsupportedError
from strapdown.webots.file.node import Node
from strapdown.webots.file.node_types import fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from strapdown.webots.file.node import Value

__all__ = ["Evaluator", "field_values", "is_template", "language_of", "program"]

DEADLINE_S: Final = 10.0
"""Processor time that a template may take [s]; robots of the public worlds take milliseconds."""

_PATIENCE: Final = 12.0  # multiple of this by the wall clock, on a busy machine

_MARKS: Final = {"lua": ("%{", "}%"), "javascript": ("%<", ">%")}
_PACKAGES: Final = {"lua": "lupa", "javascript": "quickjs"}

_TEXT: Final = re.compile(r'\\.|"|\#[^\n]*|%[<{]', re.DOTALL)
_IMPORT_ALL: Final = re.compile(r"import\s*\*\s*as\s+(\w+)\s+from\s*(['\"][^'\"]*['\"])")
_IMPORT_SOME: Final = re.compile(r"import\s*(\{[^}]*\})\s*from\s*(['\"][^'\"]*['\"])")

_KEYS: Final = {"SFVec2f": "xy", "SFVec3f": "xyz", "SFRotation": "xyza", "SFColor": "rgb"}


def is_template(text: str) -> bool:
    """Return whether the text of a PROTO file contains statements of a template."""
    return "%<" in text or "%{" in text


def language_of(text: str) -> str:
    """Return the language of a template: ``lua`` or ``javascript``.

    Examples
    --------
    >>> language_of("PROTO Can [ ] { Solid { %< if (true) { >% name 'can' %< } >% } }")
    'javascript'
    """
    stated = re.search(r"^#\s*template language:\s*(\w+)", text, re.MULTILINE)
    if stated:
        return stated[1].lower()
    return "javascript" if "%<" in text and "%{" not in text else "lua"


def program(body: str, language: str) -> str:
    """Return the program whose value is the text of a body.

    Parameters
    ----------
    body : str
        Text with statements; those in comments of the text have no effect.
    language : str
        As :func:`language_of` returns it.

    Examples
    --------
    >>> print(program("a %{ if x then }% b %{ end }%", "lua"))
    local __t={}
    __t[#__t+1]="a "
     if x then
    __t[#__t+1]=" b "
     end
    __t[#__t+1]=""
    return table.concat(__t)

    Raises
    ------
    ValueError
        A statement has no end.
    """
    lines = ["local __t={}"] if language == "lua" else ['(()=>{"use strict";let __t="";']
    for kind, text in _pieces(body, *_MARKS[language]):
        if language == "lua":
            if kind == "text":
                lines.append(f"__t[#__t+1]={_lua_string(text)}")
            else:
                lines.append(
                    f"__t[#__t+1]=tostring({text}\n)" if kind == "value" else text.rstrip()
                )
        elif kind == "text":
            lines.append(f"__t+={json.dumps(text)};")
        elif kind == "value":
            lines.append(f"__t+=({text.strip().rstrip(';')}\n);")
        else:
            lines.append(_with_imports(text))
    lines.append("return table.concat(__t)" if language == "lua" else "return __t;})()")
    return "\n".join(lines)


def _pieces(body: str, opening: str, closing: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a body: ``text``, ``code``, or ``value`` of an expression."""
    text: list[str] = []
    at, quoted = 0, False
    while match := _TEXT.search(body, at):
        text.append(body[at : match.start()])
        at = match.end()
        if match[0] == opening:
            yield "text", "".join(text)
            text.clear()
            end = body.find(closing, at)
            if end < 0:
                line = body.count("\n", 0, at) + 1
                raise ValueError(f"expected {closing!r} after line {line} of its body, got none")
            value = body.startswith("=", at)
            yield ("value" if value else "code"), body[at + value : end]
            at = end + len(closing)
        elif match[0].startswith("#") and not quoted:
            continue
        elif match[0].startswith("#"):
            text.append("#")
            at = match.start() + 1
        else:
            quoted ^= match[0] == '"'
            text.append(match[0])
    yield "text", "".join(text) + body[at:]


def _lua_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "\\r")
    return '"' + escaped.replace("\n", "\\n").replace("\0", "\\0") + '"'


def _with_imports(code: str) -> str:
    code = _IMPORT_ALL.sub(r"const \1 = __import(\2)", code)
    return _IMPORT_SOME.sub(
        lambda found: f"const {found[1].replace(' as ', ': ')} = __import({found[2]})", code
    )


def field_values(
    parameters: Mapping[str, tuple[str, Value]], values: Mapping[str, Value]
) -> dict[str, Any]:
    """Return the object ``fields`` of a template: value and default of each parameter.

    Vectors, rotations and colors become objects with the keys x y z, x y z a and r g b; nodes
    have the keys ``node_name`` and ``fields``.
    """
    return {
        name: {
            "value": _foreign(kind, values[name]),
            "defaultValue": _foreign(kind, default),
        }
        for name, (kind, default) in parameters.items()
    }


def _foreign(kind: str, value: Value) -> object:
    if kind.startswith("MF"):
        items = value if isinstance(value, list) else [value]
        return [_foreign("SF" + kind[2:], item) for item in items]
    if isinstance(value, Node):
        known = fields_of(value.type) if value.known else {}
        kinds = {name: (field.kind, field.default) for name, field in known.items()}
        for name, given in value.fields.items():
            kinds.setdefault(name, (_guessed(given), given))
        own = {name: value.fields.get(name, default) for name, (_, default) in kinds.items()}
        return {"node_name": value.type, "fields": field_values(kinds, own)}  # type: ignore[arg-type]
    if isinstance(value, tuple):
        return dict(zip(_KEYS.get(kind, "xyza"), value, strict=False))
    return value


def _guessed(value: Value) -> str:
    """Return a type for a field of an unknown node."""
    return "MF" if isinstance(value, list) else "SF"


class Evaluator:
    """Evaluates programs of templates, in one process that starts with the first of them.

    A program that took too long once is not started again.

    Parameters
    ----------
    deadline_s : float
        Processor time that a program may take [s]; then its process ends.
    """

    def __init__(self, deadline_s: float = DEADLINE_S) -> None:
        self._deadline_s = deadline_s
        self._late: set[str] = set()
        self._worker: subprocess.Popen[bytes] | None = None

    def evaluate(
        self, body: str, language: str, names: Mapping[str, Any], path: Path | None
    ) -> str:
        """Return the text of the body of an instance.

        Parameters
        ----------
        body : str
            Text of the body of the PROTO.
        language : str
            As :func:`language_of` returns it.
        names : mapping
            The objects ``fields`` and ``context`` of the program.
        path : Path
            The file of the PROTO, for error messages.

        Raises
        ------
        UnsupportedError
            The program is wrong, or needs too much time or memory, or something that is not
            available.
        BackendMissingError
            The interpreter is not installed.
        """
        if language not in _MARKS:
            raise UnsupportedError(
                f"expected a template in lua or javascript, got {language!r}", path=path
            )
        if language not in _installed():
            interpreter = f"the interpreter of templates in {language} ({_PACKAGES[language]})"
            raise BackendMissingError(interpreter, extra="proto")
        try:
            text = program(body, language)
        except ValueError as error:
            raise UnsupportedError(f"template: {error}", path=path) from None
        answer = self._ask(text, {"language": language, "program": text, **names})
        if "text" not in answer:
            raise UnsupportedError(
                f"expected a template that can be evaluated, got: {answer['error']}", path=path
            )
        return answer["text"]

    def close(self) -> None:
        """End the process."""
        if self._worker is not None:
            _end(self._worker)
            self._worker = None

    def _ask(self, text: str, request: Mapping[str, Any]) -> dict[str, str]:
        """Return the answer of the process to the request for a program."""
        too_late = {"error": f"a program that runs longer than {self._deadline_s:g} s"}
        if text in self._late:
            return too_late
        if self._worker is None:
            self._worker = _start(self._deadline_s)
        worker, patience_s = self._worker, 5.0 + _PATIENCE * self._deadline_s
        try:
            answer: dict[str, str] = json.loads(
                _exchange(worker, json.dumps(request).encode(), patience_s)
            )
        except TimeoutError:
            late = True
        except (OSError, ValueError):
            late = worker.wait(5.0) == -signal.SIGPROF
        else:
            return answer
        self.close()
        if late:
            self._late.add(text)
            return too_late
        return {"error": "a program that ended its process, which has little memory"}


def _installed() -> list[str]:
    return [language for language, package in _PACKAGES.items() if find_spec(package)]


def _start(deadline_s: float) -> subprocess.Popen[bytes]:
    program_path = Path(__file__).with_name("template_worker.py")
    return subprocess.Popen(  # noqa: S603 -- a program of this package
        [sys.executable, "-P", str(program_path), str(deadline_s), *_installed()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )


def _exchange(worker: subprocess.Popen[bytes], line: bytes, patience_s: float) -> bytes:
    """Return the line that answers a line; empty if the process ended."""
    if worker.stdin is None or worker.stdout is None:
        return b""
    writer = Thread(target=_write, args=(worker.stdin, line + b"\n"), daemon=True)
    writer.start()
    end = monotonic() + patience_s
    pieces: list[bytes] = []
    with selectors.DefaultSelector() as selector:
        selector.register(worker.stdout, selectors.EVENT_READ)
        while not pieces or not pieces[-1].endswith(b"\n"):
            if not selector.select(max(0.0, end - monotonic())):
                raise TimeoutError
            pieces.append(os.read(worker.stdout.fileno(), 1 << 20))
            if not pieces[-1]:
                break
    return b"".join(pieces)


def _write(stream: IO[bytes], data: bytes) -> None:
    with suppress(OSError, ValueError):  # the process ended; the reader notices
        while data:
            data = data[stream.write(data) :]


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    worker.wait()
    for stream in (worker.stdin, worker.stdout):
        if stream is not None:
            stream.close()
