"""``strapdown bridge``: messages of one live topic passed on to another."""

from __future__ import annotations

import dataclasses
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from strapdown._words import counted, printable
from strapdown.bridges.relay import Relay, RelayReport
from strapdown.cli._live import exit_code, positive, showing, stopped_by_signals
from strapdown.cli._outcome import Outcome
from strapdown.messages import Imu, RosImu
from strapdown.transport.address import await_type, open_topic, parse_address

if TYPE_CHECKING:
    from strapdown.transport.address import Address

ROS = ("ros1", "ros2")


def bridge(
    source: Annotated[str, typer.Argument(help="The live topic to receive, as ros1:/imu/data.")],
    target: Annotated[str, typer.Argument(help="The live topic to send to, such as ipc:imu.")],
    *,
    duration: Annotated[
        float | None, typer.Option(help="Seconds to go on; by default until Ctrl-C.")
    ] = None,
    frame_id: Annotated[
        str, typer.Option("--frame-id", help="What the headers of ROS messages say.")
    ] = "",
) -> Outcome:
    """Pass messages on from one live topic to another, in another dialect.

    Imu, RosImu and VehicleImu convert into each other; other types pass between
    topics of one type. Options stand behind the name: ipc:pose?type=Pose3D. From
    ROS to ROS headers are kept. A bridge back needs other topics, or messages
    would go round for ever. Ctrl-C and SIGTERM end it.

    Exit codes: 3 messages were lost or refused; 130 Ctrl-C; 0 SIGTERM.

    The fields of --json: source, target, types, received, sent, refused, malformed,
    left_out (fields that the target cannot hold, with messages that used them), seconds.

    Examples
    --------
    strapdown bridge ros1:/imu/data ipc:imu

    strapdown bridge horus:imu ros2:/imu/data --frame-id imu_link

    strapdown bridge ipc:imu "zenoh:imu?listen=tcp/127.0.0.1:7447" --duration 60
    """
    limit_s = positive(duration, "'--duration'")
    ends = parse_address(source), _named(parse_address(target), frame_id)
    if len({(end.backend, end.name.removeprefix("/")) for end in ends}) == 1:
        raise typer.BadParameter(f"expected two topics, got {printable(source)} twice")
    with ExitStack() as stack:
        stop, signals = stack.enter_context(stopped_by_signals())
        show = stack.enter_context(showing())
        kind, waited = await_type(
            ends[0], stop=stop, waiting=lambda: _say(f"waiting for {ends[0]}")
        )
        if kind is None:
            return Outcome({"received": 0, "sent": 0}, ["nothing came"], (), exit_code(signals))
        kinds = _types(kind, *ends)
        history = None if waited else 0
        receiver = stack.enter_context(open_topic(ends[0], kinds[0], history=history))
        sender = stack.enter_context(open_topic(ends[1], kinds[1]))
        relay = Relay(receiver, sender, frame_id=frame_id)
        names = [each.__name__ for each in kinds]
        _say(f"passing on {ends[0]} ({names[0]}) to {ends[1]} ({names[1]})")
        began = time.monotonic()
        report = relay.run(
            stop,
            duration=limit_s,
            progress=(lambda now: show(_line(now, time.monotonic() - began)))
            if sys.stderr.isatty()
            else None,
        )
        seconds = time.monotonic() - began
    data = {
        "source": source,
        "target": target,
        "types": names,
        "received": report.received,
        "sent": report.sent,
        "refused": report.refused,
        "malformed": report.malformed,
        "left_out": dict(report.left_out),
        "seconds": seconds,
    }
    notes = [
        f"left out: {field} of {counted(count, 'message')}, {names[1]} cannot hold it"
        for field, count in report.left_out.items()
    ]
    return Outcome(data, [_line(report, seconds), *notes], _losses(report), exit_code(signals))


def _named(target: Address, frame_id: str) -> Address:
    """Return a target whose backend names this frame, where there is one to name."""
    fields = {field.name for field in dataclasses.fields(target.backend)}
    if not frame_id or "frame_id" not in fields:
        if frame_id and target.msg_type is not RosImu:
            raise typer.BadParameter(
                f"it works for {', '.join(ROS)} and RosImu, got {target}",
                param_hint="'--frame-id'",
            )
        return target
    backend = dataclasses.replace(target.backend, frame_id=frame_id)  # type: ignore[call-arg]  # it has the field
    return dataclasses.replace(target, backend=backend)


def _types(kind: type, source: Address, target: Address) -> tuple[type, type]:
    """Return what is received and what is sent."""
    both_ros = source.backend.name in ROS and target.backend.name in ROS
    if both_ros and source.msg_type is None and kind is Imu:
        kind = RosImu  # which holds the header, too
    return kind, target.msg_type or kind


def _line(report: RelayReport, seconds: float) -> str:
    lost = f", {report.lost} lost" if report.lost else ""
    rate = report.received / seconds if seconds else 0.0
    return f"{counted(report.received, 'message')}, {rate:.1f}/s, {report.sent} sent{lost}"


def _losses(report: RelayReport) -> list[str]:
    lost = []
    if report.lost:
        lost.append(f"{counted(report.lost, 'message')} gave way, or did not arrive")
    if report.malformed:
        lost.append(f"{counted(report.malformed, 'message')} could not be read")
    if report.refused:
        lost.append(f"{counted(report.refused, 'message')} could not be sent: {report.problem}")
    return lost


def _say(line: str) -> None:
    typer.echo(printable(line), err=True)
