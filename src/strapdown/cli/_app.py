"""Command group: verbs listed in a table and imported when they run."""

from __future__ import annotations

import inspect
import keyword
import os
import signal
import sys
from copy import copy
from functools import partial
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from strapdown._version import __version__
from strapdown.cli._outcome import run
from strapdown.cli._reading_options import READING, reading
from strapdown.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown.cli._many import Endings
    from strapdown.cli._outcome import Outcome

__all__ = ["main"]

# Every version of the library keeps these classes in another private module.
Context: TypeAlias = Any
Command: TypeAlias = Any

VERBS = {
    "demo": "Run the whole chain on simulated motion: sensor, topic, filter, file, picture.",
    "sim": "Simulate a sensor, or many, on a motion: a name, a trajectory, a world.",
    "sensors": "List the sensor profiles, or show one: numbers, sources, and what is unknown.",
    "info": "Print the contents of a recording: topics, rates, gaps, frames.",
    "check": "Check units, axes, signs and stamps of a recording.",
    "import": "Recognise the columns of a table of another program, and keep their meaning.",
    "convert": "Convert a recording to the format that the output's ending names.",
    "integrate": "Integrate samples into vehicle_imu, or measure the drift of an integrator.",
    "fuse": "Estimate attitude from a recording or live; compare filters and a reference.",
    "odometry": "Estimate position too: worn on a foot, or open loop from a start at rest.",
    "navigate": "Estimate position from an IMU and a GNSS receiver: the track of a vehicle.",
    "joint": "Estimate the angles of a joint from a sensor on each of its segments.",
    "detect": "Find falls, impacts, stillness and faults of sensors in a recording.",
    "plot": "Draw a recording.",
    "view": "Show recordings and live topics in the browser: attitude, charts, timeline.",
    "evaluate": "Compare an estimated attitude or position with a reference.",
    "study": "Simulate many runs, estimate and evaluate them, in several processes.",
    "report": "Draw the results of a study as one page.",
    "bench": "Measure this library on public data sets, next to others.",
    "allan": "Characterise the noise of a sensor from a log at rest.",
    "calibrate": "Calibrate a sensor from poses, turns, or its use.",
    "warm": "Compile machine code beforehand, so that long recordings need not wait for it.",
    "webots": "Run Webots controllers in Webots worlds, without Webots.",
    "run": "Run a pipeline: from device, log or topic through filters to topics and files.",
    "cat": "Print messages, of a file or live.",
    "record": "Record live topics to a file that survives a crash.",
    "play": "Play a recording to live topics, at its recorded pace or faster.",
    "recover": "Save the intact messages of a damaged recording.",
    "bridge": "Forward messages from one live topic to another, and convert them.",
    "ros1": "Register simulated devices at a ROS 1 master.",
    "mavlink": "Exchange IMU messages with autopilots and ground stations, by UDP.",
}
GROUPS = {
    "bench": {
        "accuracy": "Measure the accuracy of every filter and smoother on public data sets.",
    },
    "webots": {
        "run": "Run a controller in a world, and record the measurements of its sensors.",
        "serve": "Serve a world to controllers that were built for Webots.",
        "explain": "Explain axes, angles and signs in a world, for each profile.",
    },
    "ros1": {
        "serve": "Serve a simulated robot with the topics and services of Webots' ROS node.",
    },
    "mavlink": {
        "send": "Send an IMU of a recording at its recorded pace.",
        "record": "Record received IMU messages, or those of a telemetry log.",
        "hil": "Simulate a robot of a Webots world for an autopilot, as hardware in the loop.",
    },
}
"""Verbs with subcommands, each in ``cli/GROUP_VERB.py``."""
READERS = {
    "info", "check", "convert", "integrate", "fuse", "odometry", "navigate", "joint", "detect",
    "plot", "evaluate", "allan", "calibrate", "cat", "send", "view",
}  # fmt: skip
"""Verbs that read recordings, with the options of ``cli/_reading_options.py``."""
MANY: dict[str, Endings] = {
    "info": {},
    "check": {},
    "convert": {"target": ""},
    "fuse": {"output": ".csv", "picture": ".png"},
    "odometry": {"output": ".csv", "picture": ".png"},
    "detect": {"output": ".json", "picture": ".png"},
}
"""Verbs that take several recordings, with the endings of outputs in a folder."""

EPILOG = (
    "Exit codes: 0 done; 1 failed (one line states the reason); 2 usage; "
    "3 done, but data was lost, dropped or repaired; 130 interrupted."
)

SOURCES, TARGET, WORKERS = "sources", "target", "workers"
"""Arguments: several recordings, of a verb that joins them; the file to write; processes."""
SWITCHES = {
    "json": "Print one JSON object, with the exit code and the losses.",
    "quiet": "Print errors and losses only.",
    "strict": "Exit with code 1 instead of 3 if data was lost; the output is still written.",
    "debug": "Show the traceback of an error.",
}


class Verb(TyperCommand):
    """A verb that asks for the file to write where the only file given has taken its place."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            values, _, _ = self.make_parser(ctx).parse_args(args=given)
            alone = values.get(TARGET)
            if alone and not values.get(SOURCES) and getattr(error.param, "name", "") == SOURCES:
                other = ".csv" if alone.endswith(".mcap") else ".mcap"
                example = f"{ctx.command_path} {alone} {Path(alone).with_suffix(other).name}"
                ctx.fail(f"Missing argument 'TARGET', such as in: {example}")
            raise


class VerbGroup(TyperGroup):
    """A group whose verbs are imported when they run, not when they are listed."""

    def list_commands(self, ctx: Context) -> list[str]:  # noqa: ARG002 (signature of the library)
        """Return the names of the verbs in the order of the table."""
        return list(self._verbs)

    def get_command(self, ctx: Context, cmd_name: str) -> Command:  # noqa: ARG002 (as above)
        """Return a placeholder with the one-line help, which is enough to list the verb."""
        return (
            TyperCommand(cmd_name, help=self._verbs[cmd_name]) if cmd_name in self._verbs else None
        )

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command, list[str]]:
        """Import the verb that is about to run, or fail with the nearest names."""
        if args[0] not in self._verbs and not ctx.resilient_parsing:
            ctx.fail(str(UnknownNameError("command", args[0], self._verbs)))
        name, _stand_in, rest = super().resolve_command(ctx, args)
        return name, self._load(name) if name else None, rest

    @property
    def _verbs(self) -> dict[str, str]:
        return GROUPS.get(self.name or "", VERBS)

    def _load(self, name: str) -> Command:
        """Return the command of a verb, or a group of verbs."""
        is_top = self._verbs is VERBS
        if is_top and name in GROUPS:
            group = typer.Typer(cls=VerbGroup, name=name, help=VERBS[name], **_LOOKS)
            group.callback(invoke_without_command=True)(_nothing)
            return typer.main.get_command(group)
        module = name if is_top else f"{self.name}_{name}"
        module += "_" * keyword.iskeyword(name)
        verb = getattr(import_module(f"strapdown.cli.{module}"), module if is_top else name)
        app = typer.Typer(add_completion=False, rich_markup_mode="rich")
        app.command(name=name, epilog=EPILOG, cls=Verb)(
            _as_command(verb, reads=name in READERS, endings=MANY.get(name))
        )
        return typer.main.get_command(app)


def _nothing() -> None:
    """Do nothing: the callback of a group without options."""


def _as_command(
    verb: Callable[..., Outcome], *, reads: bool, endings: Endings | None
) -> Callable[..., None]:
    """Return a verb as a command, with the common options and an exit code.

    With ``endings`` it takes several recordings.
    """

    def command(**arguments: object) -> None:
        switches = {name: bool(arguments.pop(name)) for name in SWITCHES}
        options: dict[str, Any] = dict.fromkeys(READING)
        if reads:
            options = {name: arguments.pop(name, None) for name in READING}
        call: Callable[[], Outcome] = partial(verb, **arguments)
        if endings is not None:
            call = _over_many(verb, arguments, options, endings, strict=switches["strict"])
        with reading(**options):
            code = run(call, **switches)
        raise typer.Exit(code)

    signature = inspect.signature(verb, eval_str=True)
    parameters = list(signature.parameters.values())
    common: dict[str, Any] = {
        name: _option(bool, (f"--{name}",), text) for name, text in SWITCHES.items()
    }
    if reads:
        taken = {f"--{parameter.name}" for parameter in parameters}
        for name, (kind, spellings, text) in READING.items():
            free = tuple(spelling for spelling in spellings if spelling not in taken)
            common[name] = _option(kind | None, free, text)
    if endings is not None:
        parameters[0] = _several(parameters[0])
        common[WORKERS] = _option(int, ("--workers",), "Processes for several recordings.", least=1)
    for name, annotation in common.items():
        default = False if name in SWITCHES else 1 if name == WORKERS else None
        parameters.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
            )
        )
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__doc__ = verb.__doc__
    return command


def _over_many(
    verb: Callable[..., Outcome],
    arguments: dict[str, Any],
    options: Mapping[str, Any],
    endings: Endings,
    *,
    strict: bool,
) -> Callable[[], Outcome]:
    """Return the call of a verb that takes several recordings, for one or for each of them."""
    workers = arguments.pop(WORKERS)
    argument = next(iter(inspect.signature(verb).parameters))
    sources = arguments[argument] or []
    named = [arguments[name] for name in endings if arguments[name] is not None]
    is_each = len(sources) > 1 or any("{}" in str(path) for path in named)
    if sources and is_each and not arguments.get("merge"):
        from strapdown.cli._many import run_each  # noqa: PLC0415 (only with several recordings)

        how: dict[str, Any] = {"endings": endings, "workers": workers, "strict": strict}
        return partial(run_each, verb, argument, sources, arguments, options, **how)
    if argument != SOURCES:
        arguments[argument] = sources[0] if sources else None
    return partial(verb, **arguments)


def _several(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return the parameter for one recording as a parameter for several."""
    if parameter.name == SOURCES:
        return parameter
    kind, argument = get_args(parameter.annotation)
    argument = copy(argument)
    argument.help = f"{argument.help} Several recordings give a table."
    several = list[Path] if kind is Path else list[Path] | None
    return parameter.replace(annotation=Annotated[several, argument])


def _option(kind: object, names: tuple[str, ...], text: str, *, least: int | None = None) -> object:
    """Return the annotation of an option."""
    return Annotated[kind, typer.Option(*names, help=text, min=least)]


_LOOKS: dict[str, Any] = {
    "add_completion": False,
    "epilog": EPILOG,
    "no_args_is_help": True,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": "rich",
}

app = typer.Typer(
    cls=VerbGroup,
    name="strapdown",
    help="Simulate, convert, fuse, evaluate and draw inertial data of many formats.",
    **{**_LOOKS, "add_completion": True},
)


@app.callback(invoke_without_command=True)
def _options(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),  # noqa: FBT001, FBT003 (the library's form of a switch)
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def _terminate(number: int, _frame: object) -> None:
    """Exit through every ``with`` block, so that no partial file remains."""
    raise SystemExit(128 + number)


def main() -> None:
    """Run the command line and exit with its code."""
    signal.signal(signal.SIGTERM, _terminate)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed; a file opened later must not get its descriptor
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (for good)
            setattr(sys, name, nowhere)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    app()
