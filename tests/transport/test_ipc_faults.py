"""Processes on a topic that are killed at any moment: peers go on, and nothing stays behind."""

from __future__ import annotations

import itertools
import os
import re
import shutil
from pathlib import Path
from uuid import uuid4

import pytest

pytestmark = pytest.mark.xdist_group("transport")

KILLS = 100

ROOTED = """
import random, shutil, signal, threading
from pathlib import Path
from strapdown.transport.links.ipc import _node
_node.ROOT = root = Path(sys.argv[1])
random.seed(7)

def files():
    '''All that the topic has in the file system, but for the 16 bytes that number processes.'''
    walk = os.walk(root)  # which passes by what vanishes meanwhile
    places = [Path(folder, name) for folder, _, names in walk for name in names]
    places += Path("/dev/shm").glob(root.name + "_*")
    return sorted(str(path) for path in places if path.is_file() or path.is_socket()
                  if not path.name.endswith(".global_mgmt"))

def leftover():
    '''Shared memory, and other files beyond the few that iceoryx2 may leave of all killed.'''
    shared = [path for path in files() if path.startswith("/dev/shm/")]
    return shared + [path for path in files() if path not in shared][20:]

def held():
    '''Descriptors and threads of this process, and files: a leak would be one a kill.'''
    return len(os.listdir("/proc/self/fd")), threading.active_count(), len(leftover())

def await_true(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()

def kill(child):
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]
"""

KILLED_PUBLISHERS = """
def publish():
    topic = Topic(Imu, name="imu", backend="ipc")
    for number in range(1_000_000):
        topic.send(imu(number))
        time.sleep(0.0005)

nursery_read, nursery_write = os.pipe()
nursery = os.fork()  # before this process has a topic
if nursery == 0:
    for _ in range(int(sys.argv[2])):
        child = os.fork()
        if child == 0:
            publish()
        os.read(nursery_read, 1)  # its first message has come
        time.sleep(random.random() * 0.01)
        kill(child)
    os._exit(0)

with Topic(Imu, name="imu", backend="ipc") as topic:
    next_seq, gaps, waits, before = {}, 0, [0.0], None
    last = time.monotonic()
    while True:
        got = topic.recv_with_info(0.2)
        if got is None:
            if os.waitpid(nursery, os.WNOHANG)[0]:
                break
            continue
        info = got[1]
        if info.publisher not in next_seq:
            os.write(nursery_write, b"x")
            waits.append(time.monotonic() - last)
            if len(next_seq) == 10:
                before = held()
        last = time.monotonic()
        gaps += info.seq != next_seq.get(info.publisher, 0)
        next_seq[info.publisher] = info.seq + 1
    stats = topic.stats()
    gone = await_true(lambda: topic.pub_count() == 0)
    await_true(lambda: all(now <= then + 3 for now, then in zip(held(), before)))
    after = held()
    say(len(next_seq), gaps, stats.received + stats.lost_overwritten, sum(next_seq.values()),
        sorted(waits)[-3], gone, before, after)
say(await_true(lambda: not leftover()), leftover())
"""

KILLED_SUBSCRIBERS = """
def subscribe(ready):
    topic = Topic(Imu, name="imu", backend="ipc")
    topic.recv(20.0)
    os.write(ready, b"x")
    while True:
        topic.recv(1.0)

read, write = os.pipe()
nursery = os.fork()
if nursery == 0:
    for _ in range(int(sys.argv[2])):
        child = os.fork()
        if child == 0:
            subscribe(write)
        os.read(read, 1)
        time.sleep(random.random() * 0.01)
        kill(child)
    os._exit(0)

with Topic(Imu, name="imu", backend="ipc") as topic:
    slowest, sent, before = [0.0], 0, None
    while not os.waitpid(nursery, os.WNOHANG)[0]:
        start = time.perf_counter()
        topic.send(imu(sent))
        slowest.append(time.perf_counter() - start)
        sent += 1
        if sent == 500:
            before = held()
        time.sleep(0.0005)
    gone = await_true(lambda: topic._ring.link.subscribers() == 0)
    await_true(lambda: all(now <= then + 3 for now, then in zip(held(), before)))
    say(sorted(slowest)[-3], gone, before, held())
say(await_true(lambda: not leftover()), leftover())
"""

KILLED_AT_ONCE = """
begun = time.monotonic()
for count in range(int(sys.argv[2])):
    child = os.fork()
    if child == 0:
        topic = Topic(Imu, name="imu", backend="ipc")
        topic.send(imu(0))
        topic.recv(1.0)
        os._exit(0)
    time.sleep(random.random() * 0.012)
    kill(child)
start = time.monotonic()
with Topic(Imu, name="imu", backend="ipc") as topic:
    topic.send(imu(1))
    say(topic.recv().timestamp_ns, time.monotonic() - start)
"""

UNFINISHED = """
topic = Topic(Imu, name="imu", backend="ipc")
services = list(root.glob("services/*.service"))
topic.close()
for path in services:
    path.touch(0o600)  # as the library leaves it when who creates it is killed
start = time.monotonic()
with Topic(Imu, name="imu", backend="ipc") as topic:
    say(len(services), topic.send(imu(1)), time.monotonic() - start)
"""

KILLED_IN_A_CALL = """
topic = Topic(Imu, name="imu", backend="ipc")
back = Topic(Imu, name="back", backend="ipc")
topic.send(imu(0))
got = back.recv(5.0 * int(sys.argv[2]))
topic.close()
back.close()
say(got is not None)
"""

LIVES_ON = """
topic = Topic(Imu, name="imu", backend="ipc")
topic.recv(0.0)
say("here")
with Topic(Imu, name="back", backend="ipc") as back:
    while True:
        topic.recv(0.1)
        back.send(imu(0))
"""

LEFT_BEHIND = """
def memory():
    return [path for path in Path("/dev/shm").glob(root.name + "_*.dynamic")]

def cut(path):
    '''Leave a file as it is between its creation and the next system call.'''
    os.truncate(path, 0)
    path.chmod(0o200)

ready_read, ready_write = os.pipe()
child = os.fork()
if child == 0:
    topic = Topic(Imu, name="imu", backend="ipc")
    os.write(ready_write, b".")
    time.sleep(60.0)
os.read(ready_read, 1)
kill(child)
if sys.argv[2] == "numbering":
    shutil.rmtree(root)
    for path in memory():
        path.unlink()
    cut(*Path("/dev/shm").glob(root.name + "_*.global_mgmt"))
elif sys.argv[2] == "creation":
    for path in memory():
        cut(path)
else:  # while it closed the topic: first its tags go, then the memory
    for path in [*root.glob("nodes/*/*.service_tag"), *memory()]:
        path.unlink()
from strapdown.transport.links.ipc import find_type
find_type(Ipc(), "imu", 0.0)
start = time.monotonic()
with Topic(Imu, name="imu", backend="ipc") as topic:
    say(topic.send(imu(1)), time.monotonic() - start)
say(len(memory()))
"""

CLOSED = """
topic = Topic(Imu, name="imu", backend="ipc")
link = topic._ring.link
topic.close()
say(link.publishers(), link.subscribers(), files())
"""

OLD = """
with Topic(Imu, name="imu", backend="ipc") as topic:
    topic.recv(0.0)
    for path in (root, *root.rglob("*")):
        os.utime(path, (0, 0))
    _node._renewed_s = -_node.RENEWAL_S
    say(await_true(lambda: all(path.stat().st_mtime for path in (root, *root.rglob("*")))))
"""

MANY = """
start_read, start_write = os.pipe()
children = []
for number in range(64):
    child = os.fork()
    if child == 0:
        os.close(start_write)
        os.read(start_read, 1)
        for _ in range(4):
            with Topic(Imu, name=f"imu/{number}", backend="ipc"):
                time.sleep(0.2 * random.random())
        os._exit(0)
    children.append(child)
os.close(start_write)
say([os.waitpid(child, 0)[1] for child in children])
"""

FORKED_WHILE_LOOKING = """
from strapdown.transport.links.ipc import find_type

def look():
    while True:
        find_type(Ipc(), "imu", 0.0)

threading.Thread(target=look, daemon=True).start()
time.sleep(0.2)
ends = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        find_type(Ipc(), "imu", 0.0)
        os._exit(0)
    ends.append(os.waitpid(child, 0)[1])
say(ends)
"""

LONG_LIVING = """
def churn(seed):
    random.seed(seed)
    while True:
        name = random.choice(["forth", "back", "other"])
        with Topic(Imu, name=name, backend="ipc") as topic:
            if name == "other":
                topic.send(imu(0))
            topic.recv(0.02 * random.random())

def topics():
    return [Topic(Imu, name=name, backend="ipc") for name in ("forth", "back")]

nursery = os.fork()
if nursery == 0:
    children, ends = [], set()
    for seed in range(int(sys.argv[2])):
        child = os.fork()
        if child == 0:
            churn(seed)
        children.append(child)
        if len(children) == 4:
            time.sleep(0.1 * random.random())
            ends.add(kill(children.pop(random.randrange(4))))
    ends.update(map(kill, children))
    os._exit(ends != {signal.SIGKILL})

echo = os.fork()
if echo == 0:
    forth, back = topics()
    while (message := forth.recv(20.0)) is not None:
        back.send(message)
    os._exit(1)

forth, back = topics()
number, longest, ended = 0, 0.0, (0, 0)
while not ended[0]:
    sent = time.monotonic()
    forth.send(imu(number))
    assert back.recv(20.0).timestamp_ns == number
    longest = max(longest, time.monotonic() - sent)
    ended = os.waitpid(nursery, os.WNOHANG)
    number += 1
    time.sleep(0.001)
kill(echo)
say(ended[1], number, longest)
"""

STOPPED = """
from strapdown.errors import TransportError
go_read, go_write = os.pipe()
child = os.fork()
if child == 0:
    os.read(go_read, 1)
    with _node.alone():
        os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
back = Topic(Imu, name="back", backend="ipc")
back.recv(5.0)
os.write(go_write, b"x")
os.waitpid(child, os.WUNTRACED)
back.recv_all()
say(back.recv(5.0) is not None)
try:
    Topic(Imu, name="imu", backend="ipc")
except TransportError as error:
    say(str(error))
start = time.monotonic()
back.close()
say(time.monotonic() - start)
kill(child)
with Topic(Imu, name="imu", backend="ipc") as topic:
    say(topic.send(imu(1)))
"""

TAKEN_IN_TURN = """
import fcntl
import threading
root.mkdir(mode=0o700)
lock = os.open(root, os.O_RDONLY)
fcntl.flock(lock, fcntl.LOCK_EX)
def take_turns():
    for _ in range(10):
        time.sleep(0.1)
        os.utime(lock)  # as each process does that takes it
    os.close(lock)
threading.Thread(target=take_turns).start()
start = time.monotonic()
with _node.alone(patience_s=0.5):
    say(time.monotonic() - start)
"""

DEAD_OF_ANOTHER_TYPE = """
child = os.fork()
if child == 0:
    topic = Topic(Pose3D, name="imu", backend="ipc")
    topic.send(Pose3D.identity())
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(child, 0)
with Topic(Imu, name="imu", backend="ipc") as topic:
    say(topic.send(imu(1)))
"""

KILLED_WHILE_RELIABLE = """
ready_read, ready_write = os.pipe()
child = os.fork()
if child == 0:
    topic = Topic(Imu, 8, name="imu", backend="ipc", reliability="reliable")
    topic.recv(20.0)
    os.write(ready_write, b"x")
    time.sleep(60.0)
with Topic(Imu, 8, name="imu", backend="ipc", reliability="reliable") as topic:
    topic.wait_for_subscriber(20.0)
    topic.send(imu(0))
    os.read(ready_read, 1)
    number, start = 1, time.monotonic()
    while topic.send_blocking(imu(number), 0.3):
        number += 1
    full = number
    kill(child)
    start = time.monotonic()
    say(full, topic.send_blocking(imu(number), 20.0), time.monotonic() - start)
"""


LAST_KILLED = """
ready_read, ready_write = os.pipe()
for name in ("imu", "imu/other"):
    child = os.fork()
    if child == 0:
        topic = Topic(Imu, name=name, backend="ipc")
        topic.recv(0.1)
        topic.send(imu(0))
        os.write(ready_write, b"x")
        time.sleep(60.0)
    os.read(ready_read, 1)
    kill(child)
left = leftover()
size = sum(os.path.getsize(path) for path in left)
with Topic(Imu, name="next", backend="ipc") as topic:
    topic.send(imu(1))
    gone = await_true(lambda: not set(left) & set(leftover()))
say(left, size, gone, leftover())
say([path.stat().st_size for path in Path("/dev/shm").glob(root.name + "_*")])
"""


@pytest.fixture
def root():
    """A place that no other process uses."""
    root = Path(f"/tmp/strapdown-t{os.getpid()}-{uuid4().hex[:8]}")  # noqa: S108 (as the package)
    yield root
    shutil.rmtree(root, ignore_errors=True)
    for path in Path("/dev/shm").glob(f"{root.name}_*"):  # noqa: S108 (as the package)
        path.unlink()


@pytest.mark.slow
def test_a_hundred_killed_publishers_cost_nothing_and_leave_nothing(peer, root):
    other = peer(ROOTED + KILLED_PUBLISHERS, root, KILLS)
    publishers, gaps, accounted, sent, wait_s, gone, before, after = other.hear()
    assert (publishers, gaps, gone) == (KILLS, 0, True)
    assert accounted == sent  # by the publishers' own numbers
    assert wait_s < 5.0
    assert all(now <= then + 3 for now, then in zip(after, before, strict=True))
    assert other.hear() == [True, []]


@pytest.mark.slow
def test_a_hundred_killed_subscribers_never_hold_the_publisher_and_leave_nothing(peer, root):
    other = peer(ROOTED + KILLED_SUBSCRIBERS, root, KILLS)
    slowest_s, gone, before, after = other.hear()
    assert slowest_s < 0.5
    assert gone
    assert all(now <= then + 3 for now, then in zip(after, before, strict=True))
    assert other.hear() == [True, []]


@pytest.mark.slow
def test_a_topic_opens_after_processes_were_killed_while_they_opened_it(peer, root):
    got, took_s = peer(ROOTED + KILLED_AT_ONCE, root, KILLS).hear()
    assert got == 1
    assert took_s < 10.0


@pytest.mark.slow
def test_a_service_that_was_never_finished_does_not_block_its_name(peer, root):
    count, sent, took_s = peer(ROOTED + UNFINISHED, root).hear()
    assert (count, sent) == (2, True)
    assert took_s < 15.0


@pytest.mark.slow
@pytest.mark.parametrize("others", [0, 1])
@pytest.mark.parametrize("call", ["ftruncate", "fchmod"])
def test_no_process_killed_in_a_system_call_blocks_its_topic(call, others, peer, root, need_peer):
    """These calls create and remove what processes share; the n-th of them is not executed."""
    need_peer("strace", strace := shutil.which("strace"), "apt-get install strace")
    for other in [peer(ROOTED + LIVES_ON, root) for _ in range(others)]:
        other.hear()
    for n in itertools.count(1):
        kill = ["-e", f"inject={call}:signal=SIGKILL:when={n}"]
        wrapped = [strace, "--quiet=all", "-f", "-o", "/dev/null", "-e", f"trace={call}", *kill]
        if peer(ROOTED + KILLED_IN_A_CALL, root, others, within=wrapped).process.stdout.readline():
            break
        assert peer(ROOTED + KILLED_IN_A_CALL, root, others).hear() == [others > 0], n
        if not others:
            shutil.rmtree(root)
    assert n > 2


@pytest.mark.parametrize("during", ["numbering", "creation", "removal"])
def test_what_a_process_left_when_it_was_killed_blocks_nobody(during, peer, root):
    other = peer(ROOTED + LEFT_BEHIND, root, during)
    sent, took_s = other.hear()
    assert sent
    assert took_s < 10.0
    assert other.hear() == [0]


@pytest.mark.slow
def test_a_process_that_is_stopped_while_it_opens_a_topic_is_reported(peer, root):
    peer(ROOTED + LIVES_ON, root).hear()
    other = peer(ROOTED + STOPPED, root)
    assert other.hear() == [True]  # messages go on
    assert re.search("expected other processes to open and close topics within", *other.hear())
    (closing_s,) = other.hear()
    assert closing_s < 5.0  # to open takes 10 s
    assert other.hear() == [True]


def test_a_closed_topic_has_left_before_others_may_open_it(peer, root):
    """Whatever refers to its services is gone with the link, though that may live on."""
    assert peer(ROOTED + CLOSED, root).hear() == [0, 0, []]


def test_files_of_a_topic_in_use_never_look_old(peer, root):
    """Else a cleaner of /tmp would part a process from those that start ten days later."""
    assert peer(ROOTED + OLD, root).hear() == [True]


def test_a_process_waits_as_long_as_others_take_turns(peer, root):
    assert peer(ROOTED + TAKEN_IN_TURN, root).hear()[0] > 0.9


@pytest.mark.slow
def test_as_many_processes_as_a_topic_takes_open_topics_of_their_own_at_once(peer, root):
    assert peer(ROOTED + MANY, root).hear() == [[0] * 64]


def test_a_process_forks_while_a_thread_looks_for_a_topic(peer, root):
    assert peer(ROOTED + FORKED_WHILE_LOOKING, root).hear() == [[0] * 20]


@pytest.mark.slow
def test_processes_that_are_killed_never_part_those_that_live_on(peer, root):
    code, messages, longest_s = peer(ROOTED + LONG_LIVING, root, 5 * KILLS).hear()
    assert code == 0
    assert messages > KILLS
    assert longest_s < 5.0


def test_a_dead_process_does_not_keep_a_name_for_its_type(peer, root):
    assert peer(ROOTED + DEAD_OF_ANOTHER_TYPE, root).hear() == [True]


def test_a_reliable_sender_goes_on_when_the_reader_that_blocks_it_is_killed(peer, root):
    full, sent, took_s = peer(ROOTED + KILLED_WHILE_RELIABLE, root).hear()
    assert 8 <= full <= 40
    assert sent
    assert took_s < 10.0


def test_what_the_last_killed_process_leaves_is_removed_by_the_next(peer, root):
    other = peer(ROOTED + LAST_KILLED, root)
    left, size, gone, after = other.hear()
    assert 0 < len(left) <= 3  # of the last one: nobody was there to remove it
    assert size < 2**17
    assert gone
    assert not after
    assert other.hear() == [[16]]  # which numbers processes
