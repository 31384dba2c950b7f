"""Topics among the processes of one host: what only the backend ``ipc`` promises."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from uuid import uuid4

import pytest

from strapdown.errors import TransportError
from strapdown.messages import Imu, Pose3D, RosImu
from strapdown.transport import Ipc, Topic
from strapdown.transport.links import ipc

pytestmark = pytest.mark.xdist_group("transport")

LIMIT_S = 20.0  # of waits that take milliseconds

OPEN_AND_SEND = """
from strapdown.messages import *
name, count = sys.argv[1], int(sys.argv[2])
with Topic(Imu, name=name, backend="ipc") as topic:
    for number in range(count):
        topic.send(imu(number))
    say("sent")
    hear()
"""
OPEN_SLOWLY_AND_SEND = """
import time
from strapdown.transport.links.ipc._service import Service
open_port = Service.publisher
def publisher(service):
    time.sleep(0.4)  # as on a machine that is busy
    return open_port(service)
Service.publisher = publisher
"""
SEND_TO_SUBSCRIBER = OPEN_AND_SEND.replace("for", "topic.wait_for_subscriber(9)\n    for", 1)
ROOTED = """
from pathlib import Path
from strapdown.errors import TransportError
from strapdown.transport.links.ipc import _node
_node.ROOT = Path(sys.argv[2])
"""


@pytest.fixture
def root():
    """A place that no other process uses, for scripts that begin with `ROOTED`."""
    root = Path(f"/tmp/strapdown-t{os.getpid()}-{uuid4().hex[:8]}")  # noqa: S108 (as the package)
    yield root
    shutil.rmtree(root, ignore_errors=True)
    for path in Path("/dev/shm").glob(f"{root.name}_*"):  # noqa: S108 (as above)
        path.unlink()


@pytest.fixture
def name() -> str:
    """A name that no other test has."""
    return f"t{os.getpid()}_{uuid4().hex[:8]}"


def numbers(topic, count: int) -> list[int]:
    """Receive so many messages, and return their numbers."""
    got = [topic.recv(LIMIT_S) for _ in range(count)]
    return [message.timestamp_ns for message in got]


def await_true(condition) -> None:
    """Wait until something has become true."""
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_nothing_goes_through_shared_memory_while_nobody_listens_elsewhere(name):
    with Topic(Imu, name=name, backend="ipc") as topic:
        link = topic._ring.link
        for _ in range(2000):
            topic.send(Imu.new())
        time.sleep(0.25)  # and after being tended
        assert not link.active
        assert link._service.publishers() == 0


def test_what_waits_in_the_queue_outlives_the_process_that_sent_it(name, peer):
    with Topic(Imu, name=name, backend="ipc") as topic:
        other = peer(OPEN_AND_SEND, name, 5)
        other.hear()
        other.say("end")
        assert other.end() == 0
        assert numbers(topic, 5) == [0, 1, 2, 3, 4]
        assert topic.stats().publishers == 0


def test_a_port_that_took_long_to_open_stays_until_the_subscribers_have_met_it(name, peer):
    with Topic(Imu, name=name, backend="ipc") as topic:
        other = peer(OPEN_SLOWLY_AND_SEND + OPEN_AND_SEND, name, 5)
        other.hear()
        other.say("end")
        assert other.end() == 0
        assert numbers(topic, 5) == [0, 1, 2, 3, 4]


def test_a_queue_that_overflows_before_the_first_look_counts_what_it_lost(name, peer):
    with Topic(Imu, name=name, backend="ipc") as topic:
        other = peer(SEND_TO_SUBSCRIBER, name, 3000)
        other.hear()
        assert numbers(topic, 1024) == list(range(1976, 3000))
        assert topic.recv() is None
        stats = topic.stats()
        assert (stats.received, stats.lost_overwritten, stats.lost_transport) == (1024, 1976, 0)


def test_who_joins_later_gets_the_past_and_others_get_nothing_twice(name, peer):
    follow = """
topic = Topic(Imu, name=sys.argv[1], backend="ipc")
say([topic.recv(20.0).timestamp_ns for _ in range(int(sys.argv[2]))], topic.recv(0.3) is None)
hear()
"""
    with Topic(Imu, 8, name=name, backend="ipc") as topic:
        for number in range(10):
            topic.send(Imu(0, 0, 0, 0, 0, 0, number))
        first = peer(follow, name, 10)
        assert topic.wait_for_subscriber(LIMIT_S)
        second = peer(follow, name, 8)  # the history of the first is in its queue, or past
        await_true(lambda: topic._ring.link.subscribers() == 2)
        for number in (10, 11):
            topic.send(Imu(0, 0, 0, 0, 0, 0, number))
        assert first.hear() == [list(range(2, 12)), True]
        got, _ = second.hear()
        assert got[0] in (2, 3, 4)
        assert got == list(range(got[0], got[0] + 8))


def test_who_joins_later_gets_nothing_of_the_past_if_it_asks_for_nothing(name, peer):
    late = """
topic = Topic(Imu, 32, name=sys.argv[1], backend="ipc", history=0)
seen = topic.recv(20.0).timestamp_ns
stats = topic.stats()
say(seen, stats.received, stats.lost_overwritten + stats.lost_transport)
"""
    with Topic(Imu, 32, name=name, backend="ipc") as topic:
        for number in range(20):
            topic.send(Imu(0, 0, 0, 0, 0, 0, number))
        other = peer(late, name)
        assert topic.wait_for_subscriber(LIMIT_S)
        time.sleep(0.3)
        topic.send(Imu(0, 0, 0, 0, 0, 0, 20))
        assert other.hear() == [20, 1, 0]


def test_a_process_that_only_sends_does_not_count_as_a_subscriber(name, peer):
    with Topic(Imu, name=name, backend="ipc") as topic:
        topic.try_recv()
        other = peer(OPEN_AND_SEND, name, 1)
        other.hear()
        assert numbers(topic, 1) == [0]
        assert topic._ring.link.subscribers() == 0


def test_messages_of_varying_size_pass_whole(name, peer):
    script = """
from strapdown.messages import *
with Topic(RosImu, name=sys.argv[1], backend="ipc") as topic:
    topic.wait_for_subscriber(20.0)
    for frame in ("", "imu_link", "x" * 3000):
        topic.send(RosImu(frame_id=frame))
    hear()
"""
    with Topic(RosImu, name=name, backend="ipc") as topic:
        peer(script, name)
        got = [topic.recv(LIMIT_S) for _ in range(3)]
        assert [message.frame_id for message in got] == ["", "imu_link", "x" * 3000]


def test_another_reliability_on_a_live_name_is_a_clash_that_names_both(name, peer):
    with Topic(Imu, name=name, backend="ipc"):
        script = """
try:
    Topic(Imu, name=sys.argv[1], backend="ipc", reliability="reliable")
except TransportError as error:
    say(str(error))
"""
        (text,) = peer("from strapdown.errors import TransportError" + script, name).hear()
        assert "sensor" in text
        assert "reliable" in text


def test_a_name_is_free_for_another_type_once_all_have_left(name, peer):
    other = peer(OPEN_AND_SEND, name, 1)
    other.hear()
    with pytest.raises(TransportError, match=r"carries Imu .* got Pose3D"):
        Topic(Pose3D, name=name, backend="ipc")
    other.say("end")
    assert other.end() == 0
    Topic(Pose3D, name=name, backend="ipc").close()


def test_the_longest_names_work_between_processes(name, peer):
    name = name.ljust(255, "x")
    with Topic(Imu, name=name, backend="ipc") as topic:
        peer(OPEN_AND_SEND, name, 3).hear()
        assert numbers(topic, 3) == [0, 1, 2]


def test_the_type_on_a_topic_is_found_and_none_where_nobody_is(name, peer):
    assert ipc.find_type(Ipc(), name, 0.05) is None
    peer(
        OPEN_AND_SEND.replace("Imu,", "Pose3D,").replace("imu(number)", "Pose3D.identity()"),
        name,
        1,
    )
    assert ipc.find_type(Ipc(), name, LIMIT_S) is Pose3D


@pytest.mark.slow
def test_a_process_that_waits_for_nothing_uses_hardly_any_processor_time(name, peer):
    script = """
topic = Topic(Imu, name=sys.argv[1], backend="ipc")
topic.recv(0.2)
before = time.process_time()
topic.recv(2.0)
say((time.process_time() - before) / 2.0)
"""
    (share,) = peer(script, name).hear()
    assert share < 0.05  # on a quiet machine below 0.005


@pytest.mark.slow
def test_many_threads_that_wait_on_one_handle_share_its_messages(name, peer):
    script = OPEN_AND_SEND.replace("with", "hear()\nwith")
    with Topic(Imu, name=name, backend="ipc") as topic:
        other = peer(script, name, 400)
        got: list[int] = []

        def work() -> None:
            while (message := topic.recv(1.0)) is not None:
                got.append(message.timestamp_ns)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        other.say("go")
        for thread in threads:
            thread.join()
        assert sorted(got) == list(range(400))


def test_files_are_for_their_owner_alone_whatever_the_umask(name, root, peer):
    script = """
os.umask(0)
topic = Topic(Imu, name=sys.argv[1], backend="ipc")
topic.recv(0.05)
say([(str(path), path.stat().st_mode) for place in (_node.ROOT, Path("/dev/shm"))
     for path in [*place.glob(_node.ROOT.name + "*"), *_node.ROOT.rglob("*"), _node.ROOT]])
"""
    (files,) = peer(ROOTED + script, name, root).hear()
    assert len(files) > 5
    for path, mode in files:
        assert not mode & (0o027 if stat.S_ISDIR(mode) else 0o077), path


def test_a_directory_of_another_user_is_refused(name, peer, tmp_path):
    other_user = tmp_path / "strapdown-0"
    other_user.mkdir()
    os.chown(other_user, 12345, -1)
    script = """
try:
    Topic(Imu, name=sys.argv[1], backend="ipc")
except TransportError as error:
    say(str(error))
"""
    (text,) = peer(ROOTED + script, name, other_user).hear()
    assert "got one of user 12345" in text


def test_without_iceoryx2_the_error_says_how_to_get_it(name):
    script = f"""
import sys
sys.modules["iceoryx2"] = None
from strapdown.messages import Imu
from strapdown.transport import Topic
Topic(Imu, name={name!r}, backend="ipc")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "BackendMissingError: ipc backend" in done.stderr.splitlines()[-1]
    assert "pip install 'strapdown'" in done.stderr.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("reliability", ["sensor", "reliable"])
def test_of_a_flood_every_message_is_received_or_counted(name, peer, reliability):
    script = """
with Topic(Imu, name=sys.argv[1], backend="ipc", reliability=sys.argv[2]) as topic:
    topic.wait_for_subscriber(20.0)
    for number in range(100_000):
        topic.send(imu(number))
    hear()
"""
    with Topic(Imu, name=name, backend="ipc", reliability=reliability) as topic:
        peer(script, name, reliability)
        last = received = -1
        while last < 99_999:
            message = topic.recv(LIMIT_S)
            assert message.timestamp_ns > last
            last = message.timestamp_ns
            received += 1
        stats = topic.stats()
        assert stats.received == received + 1
        assert stats.received + stats.lost_overwritten == 100_000
        assert reliability == "sensor" or stats.lost_overwritten == 0


@pytest.mark.slow
def test_a_sender_never_waits_for_a_slow_reader_and_keeps_no_more_memory(name, peer):
    script = """
import resource
with Topic(Imu, name=sys.argv[1], backend="ipc") as topic:
    topic.wait_for_subscriber(20.0)
    message, slowest = imu(0), []
    for number in range(100_000):
        start = time.perf_counter()
        topic.send(message)
        slowest.append(time.perf_counter() - start)
        if number == 20_000:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    slowest.sort()
    say(slowest[99_000], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    hear()
"""
    with Topic(Imu, name=name, backend="ipc") as topic:
        topic.try_recv()
        p99_s, grown_kib = peer(script, name).hear()
        assert p99_s < 0.005
        assert grown_kib < 16 * 1024
        assert len(topic.recv_all()) == 1024
        assert topic.stats().lost_overwritten == 100_000 - 1024
