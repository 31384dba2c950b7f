"""Parameters of estimators on the command line: ``--set`` and ``--params``."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar, cast

import typer

from strapdown.calibration._toml import read_values
from strapdown.errors import FormatError, UnknownNameError
from strapdown.samples.params import with_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Made = TypeVar("Made")

__all__ = ["ParamsFile", "changed", "changed_lines", "configured", "setting"]

ParamsFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--params", help="Parameters of the estimator: a .toml file of NAME = value."),
]
_FLAGS: Final = {"true": True, "false": False}


def setting(chosen: Callable[[Mapping[str, Any]], Callable[[], Any]]) -> Any:  # noqa: ANN401 (as the library's options)
    """Return the option ``--set``, which completes the names of parameters.

    Parameters
    ----------
    chosen : callable
        Returns the class of the estimator that the arguments of the verb select, or raises
        UnknownNameError.
    """

    def matches(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            params = chosen(ctx.params)().params
        except UnknownNameError:  # no such filter: there is nothing to complete
            return []
        return [f"{each.name}=" for each in fields(params) if each.name.startswith(incomplete)]

    return typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the estimator; repeatable. Takes precedence over --params.",
        autocompletion=matches,
    )


def configured(
    make: Callable[..., Made], file: Path | None, settings: Sequence[str] | None
) -> Made:
    """Return an estimator with the parameters of a file, then those of ``NAME=VALUE`` settings.

    Raises
    ------
    UnknownNameError
        The estimator has no such parameter.
    ValueRangeError
        A value is of another type, or outside its range.
    FormatError
        The file is not a flat table.
    """
    params = cast("Any", make()).params
    if file is not None:
        params = with_values(params, _read(file), str(file))
    if settings:
        params = with_values(params, _parsed(params, settings), "--set")
    return make(params)


def changed(estimator: object) -> dict[str, Any]:
    """Return the parameters of an estimator that differ from their defaults."""
    params, usual = _with_defaults(estimator)
    values = {each.name: getattr(params, each.name) for each in fields(params)}
    return {name: value for name, value in values.items() if value != getattr(usual, name)}


def changed_lines(estimator: object) -> list[str]:
    """Return a line with the parameters that differ from their defaults, if any."""
    _, usual = _with_defaults(estimator)
    found = [
        f"{name} {_shown(value)} (default {_shown(getattr(usual, name))})"
        for name, value in changed(estimator).items()
    ]
    return [f"parameters: {', '.join(found)}"] if found else []


def _with_defaults(estimator: object) -> tuple[Any, Any]:
    params = cast("Any", estimator).params
    return params, type(params)()


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _read(path: Path) -> dict[str, object]:
    """Return the values of a file by name."""
    content = read_values(path, what="table of parameters")
    tables = [name for name, value in content.items() if isinstance(value, dict)]
    if tables:
        raise FormatError(
            f"expected a flat table of parameters (NAME = value), got the table [{tables[0]}]",
            path=path,
        )
    return cast("dict[str, object]", content)


def _parsed(params: Any, settings: Sequence[str]) -> dict[str, object]:  # noqa: ANN401 (parameters of any estimator)
    """Return the values of settings by name, as the types of the parameters if possible."""
    values: dict[str, object] = {}
    for line in settings:
        name, equals, text = line.partition("=")
        if not (name and equals):
            raise typer.BadParameter(f"expected NAME=VALUE, got {line!r}", param_hint="'--set'")
        values[name.strip()] = _value(getattr(params, name.strip(), ""), text.strip())
    return values


def _value(usual: object, text: str) -> object:
    """Return a text as the type of the usual value, or unchanged if it does not express one."""
    if isinstance(usual, bool):
        return _FLAGS.get(text.lower(), text)
    if isinstance(usual, int | float):
        try:
            return type(usual)(text)
        except ValueError:
            return text
    return text
