"""Messages between two processes over ROS 1, beside rospy itself.

Run with ``python benchmarks/transport_ros1.py``; it needs Debian's ``python3-rosmaster`` and
``python3-sensor-msgs``, and starts a master of its own. Both peers carry `sensor_msgs/Imu`
through rospy, with ``tcp_nodelay``. The other peer is a program as the tutorials of rospy have
it: messages field by field, callbacks into a queue.

* ping-pong: two topics, each process answers at once; the round trip.
* flood: as fast as one process can send, in messages a second; with what arrived and, of
  strapdown, what was counted as lost.

The peers take turns in every repeat, and each figure is the median over the repeats.
"""

import json
import os
import queue
import socket
import statistics
import subprocess
import sys
import time
from typing import Protocol

from _machine import describe
from strapdown.transport.links.ros1.node import load

REPEATS, ROUNDS, FLOOD = 5, 2000, 20_000
LIMIT_S = 2.0
QUEUE = 1000


class Peer(Protocol):
    """One end: what it sends goes out on one topic, what it receives came on the other."""

    def send(self, number: int) -> None:
        """Send a message with this number as its stamp [ns]."""

    def receive(self, timeout_s: float) -> int | None:
        """Return the number of the next message."""

    def lost(self) -> int | None:
        """Return how many messages were counted as lost."""


class Ours:
    """Topics of strapdown."""

    def __init__(self, out: str, into: str) -> None:
        from strapdown.messages import Imu  # noqa: PLC0415 (each process loads its own peer)
        from strapdown.transport import Topic  # noqa: PLC0415 (as above)

        self._kind = Imu
        self._out = Topic(Imu, 2 * FLOOD, name=out, backend="ros1")
        self._into = Topic(Imu, 2 * FLOOD, name=into, backend="ros1")
        self._into.recv()

    def send(self, number: int) -> None:
        """Send a message."""
        self._out.send(self._kind(0.1, 0.2, 9.8, 0.01, 0.02, 0.03, number))

    def receive(self, timeout_s: float) -> int | None:
        """Return the number of the next message."""
        message = self._into.recv(timeout_s)
        return None if message is None else message.timestamp_ns

    def lost(self) -> int | None:
        """Return how many messages were counted as lost."""
        stats = self._into.stats()
        return stats.lost_transport + stats.lost_overwritten


class Plain:
    """A program of plain rospy."""

    def __init__(self, out: str, into: str) -> None:
        self._rospy = rospy = load()
        self._kind = load("sensor_msgs.msg").Imu
        rospy.init_node("plain", anonymous=True, disable_signals=True, disable_rosout=True)
        self._out = rospy.Publisher(out, self._kind, queue_size=QUEUE, tcp_nodelay=True)
        self._came: queue.SimpleQueue = queue.SimpleQueue()
        rospy.Subscriber(into, self._kind, self._came.put, tcp_nodelay=True)

    def send(self, number: int) -> None:
        """Send a message."""
        message = self._kind()
        message.header.stamp = self._rospy.Time(*divmod(number, 10**9))
        message.angular_velocity.x = 0.01
        message.angular_velocity.y = 0.02
        message.angular_velocity.z = 0.03
        message.linear_acceleration.x = 0.1
        message.linear_acceleration.y = 0.2
        message.linear_acceleration.z = 9.8
        self._out.publish(message)

    def receive(self, timeout_s: float) -> int | None:
        """Return the number of the next message."""
        try:
            return self._came.get(timeout=timeout_s).header.stamp.to_nsec()
        except queue.Empty:
            return None

    def lost(self) -> int | None:
        """Return how many messages were counted as lost."""
        return None


PEERS = {"strapdown": Ours, "rospy": Plain}


def near(peer: Peer) -> None:
    """Start the rounds, or the flood, whichever is asked for."""
    for line in sys.stdin:
        if line.strip() == "rounds":
            times = []
            for number in range(ROUNDS):
                start = time.perf_counter_ns()
                peer.send(number)
                peer.receive(LIMIT_S)
                times.append(time.perf_counter_ns() - start)
            say(statistics.median(times) / 1000.0)
        else:
            start = time.perf_counter()
            for number in range(FLOOD):
                peer.send(number)
            say(FLOOD / (time.perf_counter() - start))


def far(peer: Peer) -> None:
    """Answer every message, or count them."""
    for line in sys.stdin:
        if line.strip() == "rounds":
            for _ in range(ROUNDS):
                number = peer.receive(LIMIT_S)
                peer.send(0 if number is None else number)
            say(0)
        else:
            before = peer.lost()
            came, last = 0, time.perf_counter()
            start = None
            while peer.receive(LIMIT_S) is not None:
                came, last = came + 1, time.perf_counter()
                start = start or last
            lost = None if before is None else peer.lost() - before
            say([came, lost, came / (last - start) if start else 0.0])


def say(value: object) -> None:
    """Answer one line of JSON."""
    print(json.dumps(value), flush=True)


def start(kind: str, role: str) -> subprocess.Popen:
    """Start one end."""
    return subprocess.Popen(  # noqa: S603 (this script)
        [sys.executable, __file__, kind, role],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def ask(process: subprocess.Popen, what: str) -> None:
    """Give one end an order."""
    process.stdin.write(f"{what}\n")
    process.stdin.flush()


def measure() -> None:
    """Let the peers take turns, and print the table."""
    ends = {kind: (start(kind, "near"), start(kind, "far")) for kind in PEERS}
    processes = [process for pair in ends.values() for process in pair]
    for process in processes:
        process.stdout.readline()
    time.sleep(2.0)
    figures = {(kind, what): [] for kind in PEERS for what in ("rounds", "flood")}
    for _ in range(REPEATS):
        for (kind, what), rows in figures.items():
            one, other = ends[kind]
            ask(other, what)
            ask(one, what)
            rows.append([json.loads(each.stdout.readline()) for each in (one, other)])
    for process in processes:
        process.stdin.close()
        process.wait()
    print(f"medians of {REPEATS} repeats, in turns")
    print(f"{'':10}  round trip [us]  sent [1/s]  received [1/s]   came of {FLOOD}   counted lost")
    for kind in PEERS:
        show(kind, figures[kind, "rounds"], figures[kind, "flood"])


def show(kind: str, rounds: list, floods: list) -> None:
    """Print the row of a peer, whose losses have to be what did not come."""
    sent = statistics.median(rate for rate, _ in floods)
    came, lost, received = zip(*(answer for _, answer in floods), strict=True)
    counted = "-" if lost[0] is None else f"{statistics.median(lost):.0f}"
    print(
        f"{kind:10}  {statistics.median(median for median, _ in rounds):15.0f}  {sent:10.0f}"
        f"  {statistics.median(received):14.0f}  {statistics.median(came):14.0f}  {counted:>13}"
    )
    if lost[0] is not None and any(c + n != FLOOD for c, n in zip(came, lost, strict=True)):
        sys.exit(f"of {FLOOD} messages {came} came and {lost} were counted as lost")


def main() -> None:
    """Be one end, or start a master and all ends."""
    if len(sys.argv) > 1:
        kind, role = sys.argv[1:]
        names = (f"/{kind}/there", f"/{kind}/back")
        peer = PEERS[kind](*(name[1:] for name in (names if role == "near" else names[::-1])))
        say("ready")
        (near if role == "near" else far)(peer)
        return
    load()  # for its version
    print(describe("rospy"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    os.environ |= {"ROS_MASTER_URI": f"http://127.0.0.1:{port}", "ROS_IP": "127.0.0.1"}
    master = subprocess.Popen(  # noqa: S603 (a program of ROS)
        ["rosmaster", "--core", "-p", str(port)],  # noqa: S607 (where the system has it)
        stdout=subprocess.DEVNULL,
    )
    try:
        time.sleep(2.0)
        measure()
    finally:
        master.terminate()
        master.wait()


if __name__ == "__main__":
    main()
