"""Controllers of the robots of a world, and their environment variables."""

from __future__ import annotations

import os
import re
import sys
from configparser import ConfigParser
from configparser import Error as IniError
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from strapdown.errors import FormatError, UnknownNameError, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from strapdown.webots.file.node import Node
    from strapdown.webots.file.world_file import WorldFile

__all__ = ["Program", "environment", "find_programs"]

ENDING = ".py"
PATHS = "environment variables with paths"
VARIABLES = (
    "environment variables",
    "environment variables for macOS" if sys.platform == "darwin" else
    "environment variables for Linux",
)  # fmt: skip
ANY_PYTHON = re.compile(rb"#!\s*/usr/(bin/env\s+|(local/)?bin/)python(3(\.\d+)?)?\s*$")
""":file:`#!` lines that request no specific Python."""


@dataclass(frozen=True)
class Program:
    """A controller, and the robot that it drives.

    Parameters
    ----------
    robot : str
        Name of the robot.
    script : Path
        The Python file.
    args : tuple of str
        Arguments after the script in ``sys.argv``.
    """

    robot: str
    script: Path
    args: tuple[str, ...] = ()


def find_programs(
    world: WorldFile,
    script: str | os.PathLike[str] | None = None,
    *,
    robot: str | None = None,
    args: Sequence[str] = (),
) -> tuple[list[Program], list[str]]:
    """Find the controllers of a world's robots.

    Each robot names its controller, which is the file ``../controllers/NAME/NAME.py`` relative to
    the world's folder. A given script replaces the controller of one robot.

    Parameters
    ----------
    world : WorldFile
        World of the robots.
    script : path-like, optional
        Controller of one robot; the others keep theirs.
    robot : str, optional
        Robot that the script controls; without a script, the only robot whose controller runs.
    args : sequence of str
        Arguments of the script, appended to those in the world.

    Returns
    -------
    list of Program
        Programs in the order of the robots.
    list of str
        One line for each robot without a controller, and for each controller that requests
        another Python, which it does not get.

    Raises
    ------
    UnknownNameError
        There is no such robot.
    ValueRangeError
        A script was given for a world with several robots, or arguments without a script; or no
        robot has a controller.
    FormatError
        The script is not a Python file.
    FileNotFoundError
        There is no such script.
    """
    robots = world.named_robots
    names = list(robots)
    if robot is not None and robot not in names:
        raise UnknownNameError("robot", robot, names)
    if args and script is None:
        raise ValueRangeError(f"expected a controller before its arguments, got {args[0]!r} alone")
    if not names:
        hidden = "; ".join(each for each in world.notices if "PROTO" in each)
        raise ValueRangeError(
            f"the world has no robot that can be read{hidden and f' ({hidden})'}; put PROTO files"
            " that contain one into the folder ../protos next to the world, or pass --proto-dir"
        )
    if script is not None:
        robot = robot or _only(names)
    programs, idle = [], []
    for name, node in robots.items():
        if script is not None and name == robot:
            programs.append(Program(name, _checked(Path(script)), (*_own_args(node), *args)))
        elif script is None and robot not in {None, name}:
            idle.append(f"robot {name!r} has no controller in this run")
        elif (found := _named(world, node)).is_file():
            programs.append(Program(name, found, _own_args(node)))
        else:
            missing = found.stem if found.stem.startswith("<") else f"there is no {found}"
            idle.append(f"robot {name!r} has no controller: {missing}")
    if not programs:
        raise ValueRangeError(f"{'; '.join(idle)}; pass CONTROLLER.py")
    return programs, [*idle, *filter(None, map(_other_python, programs))]


def environment(program: Program, instance: str) -> dict[str, str]:
    """Return the environment variables of a controller.

    The variables of this process, those that Webots sets for a controller, and those of a file
    ``runtime.ini`` next to it; ``$(NAME)`` there is replaced by the variable of that name, and
    relative paths start at its folder.

    Parameters
    ----------
    program : Program
        The controller.
    instance : str
        Folder of this run, with a trailing slash.

    Raises
    ------
    FormatError
        ``runtime.ini`` cannot be read.
    """
    variables = dict(os.environ) | {
        "WEBOTS_ROBOT_NAME": program.robot,
        "WEBOTS_INSTANCE_PATH": instance,
        "PYTHONIOENCODING": "UTF-8",
    }
    parser, ini = _runtime_ini(program)
    for section in (PATHS, *VARIABLES):
        if parser.has_section(section):
            for name, value in parser.items(section):
                filled = _filled(value.strip('"'), variables)
                variables[name] = _paths(filled, ini.parent) if section == PATHS else filled
    return variables


def _runtime_ini(program: Program) -> tuple[ConfigParser, Path]:
    """Read ``runtime.ini``; without a file the result is empty."""
    ini = program.script.parent / "runtime.ini"
    parser = ConfigParser(interpolation=None, comment_prefixes=(";", "#"), strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    try:
        parser.read(ini, "utf-8")
    except (IniError, UnicodeDecodeError) as error:
        raise FormatError(f"expected an INI file, {error}", path=ini) from error
    return parser, ini


def _other_python(program: Program) -> str:
    """Return a line about a controller that requests another Python; empty for any other."""
    parser, ini = _runtime_ini(program)
    with program.script.open("rb") as file:
        first = file.readline()
    if parser.has_section("python"):
        wish = f"section [python] of {ini}"
    elif first.startswith(b"#!") and not ANY_PYTHON.match(first):
        wish = f"{first.decode(errors='replace').strip()!r} in {program.script}"
    else:
        return ""
    return f"robot {program.robot!r}: {wish} has no effect: {sys.executable} runs the controller"


def _filled(value: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$\((\w+)\)", lambda match: variables.get(match[1], ""), value)


def _paths(value: str, folder: Path) -> str:
    """Return a list of paths made absolute, without empty ones."""
    return os.pathsep.join(str((folder / each).resolve()) for each in value.split(":") if each)


def _only(names: Sequence[str]) -> str:
    """Return the only robot."""
    if len(names) != 1:
        raise ValueRangeError(
            f"expected --robot in a world with {len(names)} robots, one of: {', '.join(names)}"
        )
    return names[0]


def _checked(script: Path) -> Path:
    """Return a script that exists and is Python."""
    script = script.absolute()
    if not script.is_file():
        raise FileNotFoundError(2, "No such controller", str(script))
    if script.suffix != ENDING:
        raise FormatError("expected a Python controller (.py)", path=script)
    return script


def _named(world: WorldFile, robot: Node) -> Path:
    """Return the path of the controller that a robot of a world names."""
    name = str(robot.get("controller"))
    folder = world.path.absolute().parent.parent if world.path else Path.cwd()
    return folder / "controllers" / name / f"{name}{ENDING}"


def _own_args(robot: Node) -> tuple[str, ...]:
    """Return the controller arguments of a robot in the world."""
    args = cast("str | Sequence[str]", robot.get("controllerArgs"))
    return tuple(args.split() if isinstance(args, str) else args)
