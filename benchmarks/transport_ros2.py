"""Messages between two processes in the form of ROS 2, over DDS, beside Cyclone DDS itself.

Run with ``python benchmarks/transport_ros2.py``. Both peers carry `sensor_msgs/msg/Imu`, and
use the same library and the same qualities of service. The other peer is a program as the
library's own documentation has it: types field by field, write, wait and take.

* ping-pong: two topics, each process answers at once; the round trip.
* flood: as fast as one process can send, in messages a second; with what arrived and what was
  counted as lost.

The peers take turns in every repeat, and each figure is the median over the repeats.
"""

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol

from cyclonedds.core import InstanceState, ReadCondition, SampleState, ViewState, WaitSet
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, float64, int32, uint32
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic as DdsTopic
from cyclonedds.util import duration

from _machine import describe
from strapdown.messages import Imu
from strapdown.transport import Ros2, Topic
from strapdown.transport.links.ros2.dds import LOOPBACK

REPEATS, ROUNDS, FLOOD = 5, 2000, 20_000
DOMAIN = 99
LIMIT_S = 5.0
NINE: Any = array[float64, 9]


@dataclass
class Time(IdlStruct, typename="builtin_interfaces.msg.dds_.Time_"):
    """Of a header."""

    sec: int32
    nanosec: uint32


@dataclass
class Header(IdlStruct, typename="std_msgs.msg.dds_.Header_"):
    """Of a message."""

    stamp: Time
    frame_id: str


@dataclass
class Quaternion(IdlStruct, typename="geometry_msgs.msg.dds_.Quaternion_"):
    """An orientation."""

    x: float64
    y: float64
    z: float64
    w: float64


@dataclass
class Vector3(IdlStruct, typename="geometry_msgs.msg.dds_.Vector3_"):
    """A vector."""

    x: float64
    y: float64
    z: float64


@dataclass
class RosImu(IdlStruct, typename="sensor_msgs.msg.dds_.Imu_"):
    """The message."""

    header: Header
    orientation: Quaternion
    orientation_covariance: NINE
    angular_velocity: Vector3
    angular_velocity_covariance: NINE
    linear_acceleration: Vector3
    linear_acceleration_covariance: NINE


class End(Protocol):
    """One end of a topic."""

    def send(self, seq: int) -> None:
        """Send a message with a number."""

    def receive(self, seconds: float) -> list[int]:
        """Wait for messages and return their numbers; none where time is over."""

    def is_matched(self) -> bool:
        """Tell whether the other process is there."""

    def lost(self) -> int:
        """Count what was lost."""


class Ours:
    """A topic of this package."""

    def __init__(self, name: str) -> None:
        self.topic = Topic(Imu, 32768, name=name, backend=Ros2(domain=DOMAIN))

    def send(self, seq: int) -> None:
        """Send a message."""
        self.topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, float(seq), time.time_ns()))

    def receive(self, seconds: float) -> list[int]:
        """Wait for a message."""
        got = self.topic.recv(seconds)
        return [] if got is None else [int(got.gyro_z)]

    def is_matched(self) -> bool:
        """Tell whether the other process is there."""
        return self.topic.pub_count() > 0 and self.topic.sub_count() > 0

    def lost(self) -> int:
        """Count what was lost."""
        stats = self.topic.stats()
        return stats.lost_overwritten + stats.lost_transport


class Cyclone:
    """Cyclone DDS, as its documentation uses it."""

    def __init__(self, name: str) -> None:
        participant = DomainParticipant(DOMAIN)
        old = Policy.DataRepresentation(
            use_cdrv0_representation=True, use_xcdrv2_representation=False
        )
        ignore = Policy.IgnoreLocal.Participant
        topic = DdsTopic(participant, f"rt/{name}", RosImu)
        reliable = Policy.Reliability.Reliable(0)
        self.writer = DataWriter(
            participant, topic, Qos(reliable, Policy.History.KeepLast(10), old, ignore)
        )
        effort = Policy.Reliability.BestEffort
        self.reader: Any = DataReader(
            participant, topic, Qos(effort, Policy.History.KeepLast(1024), old, ignore)
        )
        self.waitset = WaitSet(participant)
        states = SampleState.Any | ViewState.Any | InstanceState.Any
        self.waitset.attach(ReadCondition(self.reader, states))

    def send(self, seq: int) -> None:
        """Send a message."""
        sec, nanosec = divmod(time.time_ns(), 1_000_000_000)
        unknown = [0.0] * 9
        message = RosImu(
            Header(Time(sec, nanosec), ""),
            Quaternion(0.0, 0.0, 0.0, 1.0),
            unknown,
            Vector3(0.0, 0.0, float(seq)),
            unknown,
            Vector3(0.0, 0.0, 9.81),
            unknown,
        )
        self.writer.write(message)

    def receive(self, seconds: float) -> list[int]:
        """Wait for messages."""
        self.waitset.wait(duration(seconds=seconds))
        taken = self.reader.take(256)
        return [int(one.angular_velocity.z) for one in taken if isinstance(one, RosImu)]

    def is_matched(self) -> bool:
        """Tell whether the other process is there."""
        return bool(self.reader.matched_pub and self.writer.matched_sub)

    def lost(self) -> int:
        """Count what was lost, as far as the library tells."""
        return int(self.reader.get_sample_lost_status().total_count)


PEERS: dict[str, Callable[[str], End]] = {"strapdown": Ours, "cyclonedds": Cyclone}


def other_end(peer: str, name: str, pipe: Connection) -> None:
    """Answer what comes, and flood when asked."""
    there, back = PEERS[peer](name), PEERS[peer](f"{name}_back")
    pipe.send("open")
    while True:
        if pipe.poll():
            for seq in range(pipe.recv()):
                back.send(seq)
            pipe.send("done")
            pipe.recv()
            return
        for seq in there.receive(0.05):
            back.send(seq)


def run(peer: str, name: str) -> tuple[float, float, float, int, int]:
    """Return median and 99th percentile of the round trip, and the flood."""
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    there, back = PEERS[peer](name), PEERS[peer](f"{name}_back")
    process = context.Process(target=other_end, args=(peer, name, theirs), daemon=True)
    process.start()
    theirs.close()
    pipe.recv()
    while not (there.is_matched() and back.is_matched()):
        time.sleep(0.01)
    time.sleep(0.3)
    times = []
    for seq in range(ROUNDS):
        start = time.perf_counter()
        there.send(seq)
        while seq not in back.receive(LIMIT_S):
            pass
        times.append(time.perf_counter() - start)
    times.sort()
    start = time.perf_counter()
    pipe.send(FLOOD)
    received = 0
    while not pipe.poll():
        received += len(back.receive(0.05))
    rate = FLOOD / (time.perf_counter() - start)
    while got := back.receive(0.5):
        received += len(got)
    pipe.recv()
    lost = back.lost()
    pipe.send("end")
    process.join()
    return times[ROUNDS // 2] * 1e6, times[ROUNDS * 99 // 100] * 1e6, rate, received, lost


def main() -> None:
    """Print the table."""
    os.environ["CYCLONEDDS_URI"] = LOOPBACK
    print(describe("cyclonedds"))
    print(f"medians of {REPEATS} repeats: {ROUNDS} rounds, a flood of {FLOOD} messages\n")
    results: dict[str, list[tuple[float, float, float, int, int]]] = {peer: [] for peer in PEERS}
    for repeat in range(REPEATS):
        for peer in PEERS:
            results[peer].append(run(peer, f"bench_{peer}_{repeat}"))
    print(f"{'peer':<12}{'round trip':>12}{'p99':>10}{'sent':>12}{'received':>10}{'counted':>9}")
    for peer, rows in results.items():
        median, slow, rate, received, lost = map(statistics.median, zip(*rows, strict=True))
        print(
            f"{peer:<12}{median:>9.0f} us{slow:>7.0f} us{rate:>10.0f}/s"
            f"{received:>10.0f}{lost:>9.0f}"
        )


if __name__ == "__main__":
    main()
