"""What a verb hands back, and how it reaches a person, a script and the exit code."""

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

__all__ = ["Outcome", "expect_compiling", "is_watched", "run", "say", "until_unread"]

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
        What ``--json`` prints, beside ``exit`` and ``lost``.
    view : sequence of renderables
        What a person reads; plain strings are shown as they are.
    lost : sequence of str
        One line for everything that was lost, dropped or repaired.
    code : int
        Exit code of a program that the verb ran; it goes before all others.
    aside : bool
        Show the view on standard error, because standard output is that program's.
    """

    data: Mapping[str, Any]
    view: Sequence[RenderableType]
    lost: Sequence[str] = ()
    code: int = EXIT_OK
    aside: bool = False


@dataclass
class _Manner:
    """How the verb that runs was told to speak; its threads look here, too."""

    quiet: bool = False
    json: bool = False
    hints: bool = True


_manner = _Manner()


def say(line: str) -> None:
    """Tell on standard error what happens, unless the verb was told to be quiet."""
    if not _manner.quiet:
        with suppress(OSError):  # nobody reads any more
            _tell(line)


def _say_compiling(name: str) -> None:
    hint = " (strapdown warm does it beforehand)" if _manner.hints else ""
    say(f"compiling {name} for this machine, once{hint}")


def expect_compiling() -> None:
    """Leave out, while this verb runs, what does the compiling beforehand."""
    _manner.hints = False


def is_watched() -> bool:
    """Whether a terminal is there to show progress on, and it is wanted."""
    return not (_manner.quiet or _manner.json) and sys.stderr.isatty()


@contextmanager
def until_unread() -> Iterator[None]:
    """Print until whoever reads standard output has seen enough, which is no error."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(verb: Callable[[], Outcome], *, json: bool, quiet: bool, strict: bool, debug: bool) -> int:
    """Run a verb, print its outcome or its error, and return the exit code."""
    _manner.quiet, _manner.json, _manner.hints = quiet, json, True
    try:
        with announce_compiling(_say_compiling):
            outcome = verb()
        code = outcome.code
        if outcome.lost and not code:
            code = EXIT_FAILED if strict else EXIT_LOSSY
        with until_unread():
            if json:
                _print_json({"exit": code, "lost": list(outcome.lost), **outcome.data})
            elif not quiet:
                _print_view(outcome.view, aside=outcome.aside)
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
    with suppress(OSError):  # where standard output itself is what failed
        if as_json:
            _print_json({"exit": code, "error": printable(line)})
    _tell(f"strapdown: {line}")
    return code


def _tell(line: str) -> None:
    sys.stderr.write(printable(line) + "\n")


class _Console(Console):
    """A console that leaves it to others to decide what a closed pipe means."""

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


def _print_json(data: Mapping[str, Any]) -> None:
    sys.stdout.write(dumps(_finite(data), indent=2, allow_nan=False) + "\n")


def _finite(value: Any) -> Any:  # noqa: ANN401 (any JSON value)
    """Replace NaN and infinity, which JSON does not know, by null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
