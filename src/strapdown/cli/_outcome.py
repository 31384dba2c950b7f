"""Outcome of a verb, as text, JSON and exit code."""

from __future__ import annotations

import math
import os
import sys
import traceback
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from json import dumps
from typing import TYPE_CHECKING, Any

from rich.console import Console

from strapdown._kernels.compilation import announce_compiling
from strapdown._words import printable, wording
from strapdown.errors import StrapdownError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.console import RenderableType

__all__ = [
    "Outcome",
    "exit_code",
    "expect_compiling",
    "is_watched",
    "quietly",
    "reserve_output",
    "run",
    "say",
    "until_unread",
]

WIDTH = 200

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_LOSSY = 3
EXIT_INTERRUPTED = 130


@dataclass(frozen=True)
class Outcome:
    """The result of a verb.

    Parameters
    ----------
    data : mapping
        Printed by ``--json``, together with ``exit`` and ``lost``.
    view : sequence of renderables
        The text output; plain strings are printed without markup.
    lost : sequence of str
        One line for each kind of data that was lost, dropped or repaired.
    code : int
        Exit code of a program that the verb ran; it takes precedence.
    aside : bool
        Print the view on standard error, because that program uses standard output.
    found : int
        Number of findings about the data; any gives the exit code of a loss.
    brief : str
        The result in one line, for a table of several recordings; by default the last line of
        the view.
    each : sequence of mappings, optional
        Printed by ``--json`` as a list, instead of ``data``: the results of several recordings.
    """

    data: Mapping[str, Any]
    view: Sequence[RenderableType]
    lost: Sequence[str] = ()
    code: int = EXIT_OK
    aside: bool = False
    found: int = 0
    brief: str = ""
    each: Sequence[Mapping[str, Any]] | None = None


def exit_code(outcome: Outcome, *, strict: bool) -> int:
    """Return the exit code of an outcome."""
    if (outcome.lost or outcome.found) and not outcome.code:
        return EXIT_FAILED if strict else EXIT_LOSSY
    return outcome.code


@dataclass
class _Manner:
    """Output switches of the running verb; shared with its threads."""

    quiet: bool = False
    json: bool = False
    hints: bool = True
    reserved: bool = False


_manner = _Manner()


def say(line: str) -> None:
    """Print a line on standard error, unless the verb is quiet."""
    if not _manner.quiet:
        with suppress(OSError):  # standard error is closed
            _tell(line)


def _say_compiling(name: str) -> None:
    hint = " (strapdown warm does it beforehand)" if _manner.hints else ""
    say(f"compiling {name} for this machine, once{hint}")


def expect_compiling() -> None:
    """Omit the hint at ``strapdown warm`` while this verb runs."""
    _manner.hints = False


def reserve_output() -> None:
    """Print view and JSON on standard error: this verb writes a file to standard output."""
    _manner.reserved = True


def is_watched() -> bool:
    """Whether progress is to be shown: on a terminal, and neither quiet nor JSON."""
    return not (_manner.quiet or _manner.json) and sys.stderr.isatty()


@contextmanager
def quietly() -> Iterator[None]:
    """Print nothing but the outcome: several recordings have one table."""
    before, _manner.quiet = _manner.quiet, True
    try:
        yield
    finally:
        _manner.quiet = before


@contextmanager
def until_unread() -> Iterator[None]:
    """Allow the reader of standard output to close it, which is no error."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(verb: Callable[[], Outcome], *, json: bool, quiet: bool, strict: bool, debug: bool) -> int:
    """Run a verb, print its outcome or its error, and return the exit code."""
    _manner.quiet, _manner.json = quiet, json
    _manner.hints, _manner.reserved = True, False
    try:
        with announce_compiling(_say_compiling):
            outcome = verb()
        code = exit_code(outcome, strict=strict)
        with until_unread():
            if json and outcome.each is not None:
                _print_json(outcome.each)
            elif json:
                _print_json({"exit": code, "lost": list(outcome.lost), **outcome.data})
            elif not quiet:
                _print_view(outcome.view, aside=outcome.aside or _manner.reserved)
            sys.stdout.flush()
    except (StrapdownError, OSError) as error:
        if debug:
            traceback.print_exc()
        return _fail(wording(error), EXIT_FAILED, as_json=json)
    except KeyboardInterrupt:
        return _fail("interrupted", EXIT_INTERRUPTED, as_json=json)
    for line in outcome.lost:
        _tell(f"lost: {line}")
    return code


def _fail(line: str, code: int, *, as_json: bool) -> int:
    line = " ".join(line.split())
    with suppress(OSError):  # standard output itself may have failed
        if as_json:
            _print_json({"exit": code, "error": printable(line)})
    _tell(f"strapdown: {line}")
    return code


def _tell(line: str) -> None:
    sys.stderr.write(printable(line) + "\n")


class _Console(Console):
    """A console that passes the error of a closed pipe to its caller."""

    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704 (called where the error is handled)


def _print_view(view: Sequence[RenderableType], *, aside: bool) -> None:
    # A table is never cut to the terminal: a wrapped line is better than a lost digit.
    console = _Console(highlight=False, width=WIDTH, stderr=aside)
    for item in view:
        if isinstance(item, str):
            console.print(printable(item), markup=False, soft_wrap=True)
        else:
            console.print(item)


def _print_json(data: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
    stream = sys.stderr if _manner.reserved else sys.stdout
    stream.write(dumps(_finite(data), indent=2, allow_nan=False) + "\n")


def _finite(value: Any) -> Any:  # noqa: ANN401 (any JSON value)
    """Replace NaN and infinity, which JSON does not know, by null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
