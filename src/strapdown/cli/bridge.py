"""``strapdown bridge``: forwarding of messages from one live topic to another."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from strapdown._words import counted, printable
from strapdown.bridges.live.relay import Relay, RelayReport
from strapdown.cli._live import exit_code, losses, positive, showing, stopped_by_signals
from strapdown.cli._outcome import Outcome, is_watched, say
from strapdown.messages import Imu, RosImu
from strapdown.transport.address import await_type, open_topic, parse_address
from strapdown.transport.backends import Ros1, Ros2
from strapdown.transport.links.ros2 import domain_of

if TYPE_CHECKING:
    from threading import Event

    from strapdown.transport.address import Address
    from strapdown.transport.backends import Backend


def bridge(
    source: Annotated[
        str, typer.Argument(help="The live topic to receive, such as ros1:/imu/data.")
    ],
    target: Annotated[str, typer.Argument(help="Live topic to send to, such as ipc:imu.")],
    *,
    duration: Annotated[
        float | None, typer.Option(help="Seconds, including waiting; by default until Ctrl-C.")
    ] = None,
    frame_id: Annotated[
        str, typer.Option("--frame-id", help="frame_id in the headers of ROS messages.")
    ] = "",
) -> Outcome:
    """Forward messages from one live topic to another, and convert them.

    Imu, RosImu and VehicleImu are converted into each other; other types need
    a target of the same type. Options follow the name: ipc:pose?type=Pose3D.
    From ROS to ROS headers are kept. A bridge in the opposite direction needs
    other topics, so that messages do not circulate. Ctrl-C and SIGTERM end it.

    Exit codes: 3 messages were lost or refused; 130 Ctrl-C; 0 SIGTERM.

    The fields of --json: source, target, types, received, sent, refused, malformed,
    left_out (fields that the target cannot hold, with messages that used them), seconds.

    Examples
    --------
    strapdown bridge ros1:/imu/data ipc:imu

    strapdown bridge horus:imu ros2:/imu/data --frame-id imu_link

    strapdown bridge ipc:imu "zenoh:imu?listen=tcp/127.0.0.1:7447" --duration 60
    """
    until_s = time.monotonic() + positive(duration, "'--duration'")
    ends = parse_address(source), _named(parse_address(target), frame_id)
    if _place(ends[0]) == _place(ends[1]):
        raise typer.BadParameter(f"expected two topics, got {printable(source)} twice")
    names, report, seconds = [], RelayReport(), 0.0
    with ExitStack() as stack:
        stop, signals = stack.enter_context(stopped_by_signals())
        kind, waited = await_type(
            ends[0], stop=stop, waiting=lambda: say(f"waiting for {ends[0]}"), until_s=until_s
        )
        if kind is not None:
            kinds = _types(kind, *ends)
            names = [each.__name__ for each in kinds]
            history = None if waited else 0
            receiver = stack.enter_context(open_topic(ends[0], kinds[0], history=history))
            sender = stack.enter_context(open_topic(ends[1], kinds[1]))
            relay = Relay(receiver, sender, frame_id=frame_id)
            say(f"forwarding {ends[0]} ({names[0]}) to {ends[1]} ({names[1]})")
            report, seconds = _run(relay, stop, until_s)
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


def _run(relay: Relay, stop: Event, until_s: float) -> tuple[RelayReport, float]:
    """Forward messages; return the report and the duration [s]."""
    began = time.monotonic()
    with showing() as show:
        report = relay.run(
            stop,
            duration=until_s - began,
            progress=(lambda now: show(_line(now, time.monotonic() - began)))
            if is_watched()
            else None,
        )
    return report, time.monotonic() - began


def _named(target: Address, frame_id: str) -> Address:
    """Return the target with this frame_id, if its backend supports one."""
    if frame_id and isinstance(target.backend, Ros1 | Ros2):
        return replace(target, backend=replace(target.backend, frame_id=frame_id))
    if frame_id and target.msg_type is not RosImu:
        raise typer.BadParameter(
            f"it works for ros1, ros2 and RosImu, got {printable(str(target))}",
            param_hint="'--frame-id'",
        )
    return target


def _place(end: Address) -> tuple[Backend, str]:
    """Return the identity of a topic: backend and name, without frame_id and quality of service."""
    backend = end.backend
    if isinstance(backend, Ros2):
        backend = Ros2(backend.rmw, domain_of(backend), connect=backend.connect)
    elif isinstance(backend, Ros1):
        backend = Ros1()
    return backend, end.name.removeprefix("/")


def _types(kind: type, source: Address, target: Address) -> tuple[type, type]:
    """Return the received and the sent type."""
    both_ros = all(isinstance(end.backend, Ros1 | Ros2) for end in (source, target))
    if both_ros and source.msg_type is None and kind is Imu:
        kind = RosImu  # includes the header
    return kind, target.msg_type or kind


def _line(report: RelayReport, seconds: float) -> str:
    lost = f", {report.lost} lost" if report.lost else ""
    rate = report.received / seconds if seconds else 0.0
    return f"{counted(report.received, 'message')}, {rate:.1f}/s, {report.sent} sent{lost}"


def _losses(report: RelayReport) -> list[str]:
    lost = losses(report.lost, report.malformed)
    if report.refused:
        lost.append(f"{counted(report.refused, 'message')} could not be sent: {report.problem}")
    return lost
