"""``strapdown webots explain``: conventions of the devices in a world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from strapdown.cli._outcome import Outcome
from strapdown.cli._webots import ProtoDirs
from strapdown.webots.file.sample_worlds import find_world
from strapdown.webots.run.explaining import TURN, TURNS, Explanation
from strapdown.webots.run.explaining import explain as explain_world

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

AXES = "xyz"


def explain(
    world: Annotated[str, typer.Argument(help="A .wbt file, or a sample world by name.")],
    *,
    proto_dir: ProtoDirs = None,
) -> Outcome:
    """Explain axes, angles and signs in a world, for each profile.

    Every InertialUnit is read with its robot as in the file, and with the
    robot turned by 0.1 rad: nose up, right side down, to the left; the nose
    is the x axis of the robot. A row thus shows each angle and its sign.

    Examples
    --------
    strapdown webots explain imu_robot

    strapdown webots explain my_world.wbt --proto-dir protos

    strapdown webots explain legacy_nue --json
    """
    explanation = explain_world(find_world(world), proto_dirs=proto_dir or ())
    return Outcome(_as_data(explanation), list(_view(explanation)))


def _view(explanation: Explanation) -> Iterator[RenderableType]:
    moved = "forces and contacts" if explanation.physics else "motions and motors; nothing falls"
    yield (
        f"{explanation.path.name}, {explanation.release}: {explanation.title or 'no title'}; "
        f"basic step {explanation.basic_time_step:g} ms; moved by {moved}"
    )
    for each in explanation.meanings:
        yield (
            f"{each.profile}: {each.coordinate_system}, up {_direction(each.up)}, "
            f"north {_direction(each.north)}, gravity {each.gravity:g} m/s^2"
        )
    devices = _table("robot", "tag", "kind", "name", "")
    for device in explanation.devices:
        role = "inert: accepts calls without effect" if device.inert else ""
        devices.add_row(
            escape(device.robot), str(device.tag), device.kind, escape(device.name), role
        )
    yield devices
    yield from _angles(explanation)
    yield from _at_rest(explanation)
    yield from explanation.messages


def _angles(explanation: Explanation) -> Iterator[RenderableType]:
    for robot, unit in explanation.meanings[0].angles:
        yield f"{robot}, {unit}: roll, pitch, yaw [rad]; turned by {TURN:g} rad"
        table = _table("profile", *TURNS)
        for each in explanation.meanings:
            readings = each.angles[robot, unit]
            table.add_row(each.profile, *(_triple(readings[turn]) for turn in TURNS))
        yield table


def _at_rest(explanation: Explanation) -> Iterator[RenderableType]:
    devices = list(explanation.meanings[0].at_rest)
    if devices:
        yield "at rest, with the robots as in the file [m/s^2, rad/s, 1]"
        table = _table("profile", *(f"{robot}, {name}" for robot, name in devices))
        for each in explanation.meanings:
            table.add_row(each.profile, *(_triple(each.at_rest[device]) for device in devices))
        yield table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(escape(column), no_wrap=True)
    return table


def _triple(values: Sequence[float]) -> str:
    return " ".join(f"{round(value, 3) + 0.0:7.3f}" for value in values)


def _direction(vector: Sequence[float]) -> str:
    """Return a unit vector as an axis if it is one, otherwise as numbers."""
    for axis, value in zip(AXES, vector, strict=True):
        if abs(value) > 1.0 - 1e-12:
            return f"{'-' if value < 0.0 else '+'}{axis}"
    return "(" + ", ".join(f"{value:.4g}" for value in vector) + ")"


def _as_data(explanation: Explanation) -> dict[str, Any]:
    return {
        "path": str(explanation.path),
        "release": explanation.release,
        "title": explanation.title,
        "basic_time_step": explanation.basic_time_step,
        "physics": explanation.physics,
        "devices": [vars(device) for device in explanation.devices],
        "profiles": [
            {
                "profile": each.profile,
                "coordinate_system": each.coordinate_system,
                "up": each.up,
                "north": each.north,
                "gravity": each.gravity,
                "angles": [
                    {"robot": robot, "device": name, **readings}
                    for (robot, name), readings in each.angles.items()
                ],
                "at_rest": [
                    {"robot": robot, "device": name, "values": values}
                    for (robot, name), values in each.at_rest.items()
                ],
            }
            for each in explanation.meanings
        ],
        "messages": explanation.messages,
    }
