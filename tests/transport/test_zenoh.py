"""Topics between processes by zenoh, with zenoh itself at the other end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from strapdown.errors import BackendMissingError, TransportError
from strapdown.messages import Imu, Pose3D
from strapdown.transport import Topic
from strapdown.transport.backends import Zenoh

pytestmark = pytest.mark.xdist_group("transport")

CHILD = """
import sys, time
from strapdown.messages import Imu
from strapdown.transport import Topic
from strapdown.transport.backends import Zenoh

def imu(number):
    return Imu(float(number), 0.0, 9.81, 0.0, 0.0, 0.1, number)

endpoint, name = sys.argv[1:3]
topic = Topic(Imu, name=name, backend=Zenoh(connect=(endpoint,)), reliability={reliability!r})
assert topic.wait_for_subscriber(10.0)
"""
SENDER = CHILD + "for number in range({count}):\n    topic.send(imu(number))\n{end}\n"


@pytest.fixture(scope="module")
def zenoh(need_peer):
    need_peer("zenoh", find_spec("zenoh"), "pip install 'strapdown[network]'")
    return import_module("zenoh")


@pytest.fixture
def endpoint(zenoh, monkeypatch):
    assert zenoh.Config
    # Sessions here wait for others less long than the half second that they wait by default.
    settings = import_module("strapdown.transport.links.zenoh._session")._OURS
    monkeypatch.setitem(settings, "scouting/delay", 100)
    return f"tcp/127.0.0.1:{free_port()}"


@pytest.fixture
def name():
    return f"t{os.getpid()}-{uuid4().hex[:8]}"


@pytest.fixture
def child():
    """Start Python programs, and end those that are left."""
    started = []

    def start(script, *arguments, **options):
        process = subprocess.Popen(
            [sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True, **options
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def plain(zenoh):
    """Open sessions of zenoh's own."""
    sessions = []

    def connect(to):
        config = zenoh.Config()
        config.insert_json5("connect/endpoints", json.dumps([to]))
        config.insert_json5("listen/endpoints", "[]")
        config.insert_json5("scouting/multicast/enabled", "false")
        config.insert_json5("open/return_conditions/connect_scouted", "false")  # or 0.5 s pass
        session = zenoh.open(config)
        sessions.append(session)
        assert until(session.info.peers_zid)
        return session

    yield connect
    for session in sessions:
        session.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def imu(number):
    return Imu(float(number), 0.0, 9.81, 0.0, 0.0, 0.1, number)


def receive(name, backend, msg_type=Imu):
    with Topic(msg_type, name=name, backend=backend) as topic:
        return topic.recv()


def until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def drain(topic, quiet_s=0.5):
    """Receive until nothing has come for a while."""
    numbers = []
    while (message := topic.recv(timeout=quiet_s)) is not None:
        numbers.append(message.timestamp_ns)
    return numbers


def settled(topic, sent):
    """Wait until every message that was sent has been accounted for; return the counts."""

    def is_settled():
        drain(topic, 0.05)
        counts = topic.stats()
        return counts.received + counts.lost_overwritten + counts.lost_transport == sent

    is_closed = until(is_settled)
    counts = topic.stats()
    assert is_closed, f"{counts} of {sent}"
    return counts


def resources():
    """Count the open files and the threads of this process."""
    return [sum(1 for _ in Path("/proc/self", kind).iterdir()) for kind in ("fd", "task")]


def sockets_of(pid):
    """Return the TCP sockets that listen, and how many others of the network there are."""
    inodes = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = link.readlink()
        except FileNotFoundError:
            continue
        if str(target).startswith("socket:"):
            inodes.add(str(target)[8:-1])
    listening, others = [], 0
    for protocol in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{pid}/net/{protocol}").read_text("ascii").splitlines()[1:]:
            fields = line.split()
            if fields[9] in inodes:
                if fields[3] == "0A":
                    listening.append(fields[1])
                else:
                    others += 1
    return listening, others


@pytest.mark.usefixtures("zenoh")
def test_without_endpoints_a_topic_stays_within_the_process(name, monkeypatch):
    for variable in ("STRAPDOWN_ZENOH_CONNECT", "STRAPDOWN_ZENOH_LISTEN"):
        monkeypatch.delenv(variable, raising=False)
    before = sockets_of(os.getpid())
    with (
        Topic(Imu, name=name, backend="zenoh") as one,
        Topic(Imu, name=name, backend="zenoh") as two,
    ):
        one.send(imu(7))
        assert two.recv(timeout=1.0).timestamp_ns == 7
        assert sockets_of(os.getpid()) == before


def test_only_the_endpoint_that_was_named_listens(endpoint, name):
    before = sockets_of(os.getpid())[0]
    with Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))):
        new = [address for address in sockets_of(os.getpid())[0] if address not in before]
        port = int(endpoint.rpartition(":")[2])
        assert new == [f"0100007F:{port:04X}"]
    assert until(lambda: sockets_of(os.getpid())[0] == before)


def test_endpoints_come_from_the_environment(endpoint, name, monkeypatch):
    monkeypatch.setenv("STRAPDOWN_ZENOH_LISTEN", endpoint)
    with (
        Topic(Imu, name=name, backend="zenoh") as one,
        Topic(Imu, name=name, backend=Zenoh(connect=(endpoint,))) as two,
    ):
        assert one.wait_for_subscriber(5.0)
        one.send(imu(3))
        assert two.recv(timeout=5.0).timestamp_ns == 3


def test_a_missing_package_names_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "zenoh", None)
    with pytest.raises(BackendMissingError, match=r"pip install 'strapdown\[network\]'"):
        receive("imu", "zenoh")


@pytest.mark.usefixtures("zenoh")
@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"listen": ("tcp/127.0.0.1:1", "nonsense")}, TransportError, r"must be .*: nonsense$"),
        ({"connect": "tcp/127.0.0.1:1"}, TypeError, r"tuple .*\('tcp/127.0.0.1:1',\)$"),
        ({"config": "/nowhere/zenoh.json5"}, FileNotFoundError, "nowhere"),
    ],
)
def test_bad_endpoints_and_files_are_refused(options, error, reason, name):
    backend = Zenoh(**options)
    with pytest.raises(error, match=reason):
        receive(name, backend)


@pytest.mark.usefixtures("zenoh")
@pytest.mark.parametrize("text", ["{mode: 'peer', connect: [}", "{mode: 'pear'}", "\x00"])
def test_bad_settings_are_refused_in_one_line(text, name, tmp_path):
    settings = tmp_path / "zenoh.json5"
    settings.write_text(text, "utf-8")
    with pytest.raises(TransportError, match=r"zenoh\.json5: .") as caught:
        receive(name, Zenoh(config=str(settings)))
    assert "\n" not in str(caught.value)
    assert "cargo" not in str(caught.value)


def test_an_endpoint_that_is_taken_is_refused(endpoint, name):
    with Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))) as one:
        one.recv()
        other = Zenoh(listen=(endpoint, "tcp/127.0.0.1:0"))
        with pytest.raises(TransportError, match="in use"):
            receive(name, other)


def test_an_endpoint_can_be_used_again_while_it_is_being_closed(endpoint, monkeypatch):
    sessions = import_module("strapdown.transport.links.zenoh._session")
    closing, end = threading.Event(), sessions.within

    def end_slowly(seconds, action):
        closing.set()
        time.sleep(0.2)
        end(seconds, action)

    monkeypatch.setattr(sessions, "within", end_slowly)
    where = sessions.Endpoints(listen=(endpoint,))
    first = sessions.join(where)
    leaving = threading.Thread(target=sessions.leave, args=(where,))
    leaving.start()
    assert closing.wait(5.0)
    assert sessions.join(where) is not first
    leaving.join()
    sessions.leave(where)


def test_who_is_interrupted_while_joining_leaves_nothing_behind(endpoint, name, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    link = import_module("strapdown.transport.links.zenoh.link")
    monkeypatch.setattr(link.ZenohLink, "_later", interrupt)
    before = sockets_of(os.getpid())[0]
    with pytest.raises(KeyboardInterrupt):
        receive(name, Zenoh(listen=(endpoint,)))
    assert sockets_of(os.getpid())[0] == before
    assert until(lambda: f"zenoh {name}" not in [each.name for each in threading.enumerate()])


def test_messages_go_both_ways_with_every_field(endpoint, name):
    message = Imu.from_bytes(struct.pack("<37dQ", *np.arange(1.0, 38.0), 2**63 + 1))
    with (
        Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))) as one,
        Topic(Imu, name=name, backend=Zenoh(connect=(endpoint,))) as two,
    ):
        for sender, receiver in ((one, two), (two, one)):
            assert sender.wait_for_subscriber(5.0)
            sender.send(message)
            assert sender.recv(timeout=1.0) == message
            assert receiver.recv(timeout=5.0) == message
        assert one.recv() is None
        assert until(lambda: one.pub_count() == two.pub_count() == 2)


def test_who_joins_late_gets_what_is_retained(endpoint, name):
    with Topic(Imu, 8, name, backend=Zenoh(listen=(endpoint,))) as one:
        for number in range(20):
            one.send(imu(number))
        with Topic(Imu, 8, name, backend=Zenoh(connect=(endpoint,))) as two:
            assert two.wait_for_publisher(5.0)
            one.send(imu(20))
            assert drain(two)[-7:] == list(range(14, 21))
            counts = two.stats()
            assert (counts.lost_transport, counts.duplicates, counts.out_of_order) == (0, 0, 0)


def test_a_flood_is_accounted_for_to_the_last_message(endpoint, name, child):
    count = 50_000
    with Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))) as topic:
        assert topic.recv() is None
        process = child(
            SENDER.format(reliability="sensor", count=count, end="time.sleep(60)"), endpoint, name
        )
        assert topic.wait_for_publisher(10.0)
        counts = settled(topic, count)
        assert counts.received > 0
        assert (counts.duplicates, counts.out_of_order, counts.malformed) == (0, 0, 0)
        assert process.poll() is None


@pytest.mark.slow
def test_who_floods_and_leaves_tells_how_much_it_was(endpoint, name, child):
    with Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))) as topic:
        assert topic.recv() is None
        process = child(
            SENDER.format(reliability="sensor", count=30_000, end="topic.close()"), endpoint, name
        )
        settled(topic, 30_000)
        assert process.wait(10.0) == 0
        assert until(lambda: topic.pub_count() == 0)


def test_nothing_is_lost_where_senders_wait(endpoint, name, child):
    count = 5_000
    with Topic(Imu, 64, name, backend=Zenoh(listen=(endpoint,)), reliability="reliable") as topic:
        assert topic.recv() is None
        process = child(
            SENDER.format(reliability="reliable", count=count, end="topic.close()"), endpoint, name
        )
        numbers = []
        while len(numbers) < count and (message := topic.recv(timeout=10.0)) is not None:
            numbers.append(message.timestamp_ns)
            if len(numbers) % 50 == 0:
                time.sleep(0.005)
        assert numbers == list(range(count))
        counts = topic.stats()
        assert counts.lost_overwritten == counts.lost_transport == 0
        assert process.wait(20.0) == 0


def test_a_killed_publisher_leaves_no_hole_in_the_ledger(endpoint, name, child):
    with Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))) as topic:
        assert topic.recv() is None
        endless = CHILD.format(reliability="sensor") + (
            "number = 0\nwhile True:\n    topic.send(imu(number)); number += 1\n"
        )
        process = child(endless, endpoint, name)
        assert topic.recv(timeout=10.0).timestamp_ns == 0
        time.sleep(0.3)
        process.kill()
        assert until(lambda: topic.pub_count() == 0, 2.0)
        last = ([0, *drain(topic)])[-1]
        counts = topic.stats()
        assert counts.received + counts.lost_overwritten + counts.lost_transport == last + 1
        before = counts.lost_transport
        child(SENDER.format(reliability="sensor", count=10, end="time.sleep(60)"), endpoint, name)
        assert topic.wait_for_publisher(10.0)
        message, info = topic.recv_with_info(timeout=1.0)
        assert (message.timestamp_ns, info.seq) == (0, 0)
        assert drain(topic) == list(range(1, 10))
        assert topic.stats().lost_transport == before


def test_another_type_on_a_name_is_refused_naming_both(endpoint, name):
    with Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))) as one:
        one.recv()
        there = Zenoh(connect=(endpoint,))
        with Topic(Pose3D, name=f"{name}/pose", backend=there) as other:
            assert other.recv() is None
            zenoh_topics = import_module("strapdown.transport.links.zenoh")
            assert zenoh_topics.find_type(there, name, 5.0) is Imu
            with pytest.raises(TransportError, match=r"carries 'Imu' elsewhere, got Pose3D"):
                receive(name, there, Pose3D)


def test_another_type_that_comes_while_a_topic_is_opened_is_refused(
    endpoint, name, plain, monkeypatch
):
    link = import_module("strapdown.transport.links.zenoh.link")
    ask, tokens = link._types, []

    def ask_before_the_other_opens(session, topic):
        found = ask(session, topic)
        if not tokens:
            assert not found
            tokens.append(other.liveliness().declare_token(f"strapdown/v1/Pose3D/{name}/@lv/s/00"))
            assert until(lambda: ask(session, topic))
        return found

    with Topic(Imu, name=f"{name}/imu", backend=Zenoh(listen=(endpoint,))) as topic:
        topic.recv()
        other = plain(endpoint)
        monkeypatch.setattr(link, "_types", ask_before_the_other_opens)
        with pytest.raises(TransportError, match=r"carries 'Pose3D' elsewhere, got Imu"):
            receive(name, Zenoh(listen=(endpoint,)))
        assert until(lambda: ask(other, name) == {"Pose3D"}), "it has left again"


def test_a_type_is_shown_without_what_a_terminal_would_obey(endpoint, name, plain, caplog):
    with Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))) as topic:
        topic.recv()
        token = f"strapdown/v1/\x1b[31mRed/{name}/@lv/p/00"
        with plain(endpoint).liveliness().declare_token(token):
            assert until(lambda: "elsewhere" in caplog.text)
    assert r"carries '\x1b[31mRed' elsewhere" in caplog.messages[-1]


def test_the_type_of_a_topic_can_be_found(endpoint, name):
    zenoh_topics = import_module("strapdown.transport.links.zenoh")
    there = Zenoh(connect=(endpoint,))
    with Topic(Pose3D, name=name, backend=Zenoh(listen=(endpoint,))) as one:
        one.recv()
        assert zenoh_topics.find_type(there, name, 5.0) is Pose3D
        assert zenoh_topics.find_type(there, f"{name}x", 0.1) is None


def test_zenoh_itself_reads_key_payload_and_attachment(endpoint, name, plain, zenoh):
    with Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))) as topic:
        topic.recv()
        session, got = plain(endpoint), []
        subscriber = session.declare_subscriber(f"strapdown/v1/Imu/{name}", got.append)
        time.sleep(0.3)
        before = time.time_ns()
        topic.send(imu(1))
        topic.send(imu(2))
        assert until(lambda: len(got) == 2)
        subscriber.undeclare()
        for number, sample in enumerate(got):
            assert struct.unpack("<37dQ", sample.payload.to_bytes())[-1] == number + 1
            seq, sent_ns, gid = zenoh.ext.z_deserialize(
                tuple[zenoh.ext.Int64, zenoh.ext.Int64, list[zenoh.ext.UInt8]], sample.attachment
            )
            assert seq == number
            assert before - 10**9 < sent_ns < time.time_ns() + 10**9
            assert len(gid) == 16
        answers = [reply.ok for reply in session.get(f"strapdown/v1/Imu/{name}/@wm/*")]
        assert [struct.unpack("<QQ", answer.payload.to_bytes()) for answer in answers] == [(0, 2)]
        assert str(answers[0].key_expr).endswith(bytes(gid).hex())


def test_malformed_messages_are_counted_and_left_out(endpoint, name, plain):
    with Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))) as topic:
        topic.recv()
        session = plain(endpoint)
        time.sleep(0.3)
        key = f"strapdown/v1/Imu/{name}"
        label = struct.pack("<qqB16s", 0, 0, 16, bytes(16))
        for payload, attached in (
            (bytes(304), None),
            (bytes(304), b"short"),
            (bytes(304), b"\x0fsequence_number" + bytes(17)),
            (bytes(303), label),
        ):
            session.put(key, payload, attachment=attached)
        list(session.get(f"{key}/@in/*", payload=b"?", timeout=5.0))
        session.put(
            key, bytes(imu(9)), attachment=struct.pack("<qqB16s", 0, 0, 16, bytes(15) + b"1")
        )
        assert topic.recv(timeout=5.0).timestamp_ns == 9
        assert topic.recv() is None
        assert topic.stats().malformed == 5


class Wire:
    """A way to a port that can be cut and joined again."""

    def __init__(self, target):
        self.target = target
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.is_cut = False
        self.ends = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        self.is_cut = True
        for end in self.ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        with suppress(OSError):
            while True:
                near, _ = self.server.accept()
                if self.is_cut:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self.target))
                self.ends += [near, far]
                for one, two in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=(one, two), daemon=True).start()

    @staticmethod
    def _pump(source, target):
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.cut()
        for end in (self.server, *self.ends):
            end.close()


def test_a_connection_that_was_cut_comes_back_and_the_gap_is_known(endpoint, name):
    wire = Wire(int(endpoint.rpartition(":")[2]))
    with (
        Topic(Imu, 64, name, backend=Zenoh(listen=(endpoint,))) as one,
        Topic(Imu, 64, name, backend=Zenoh(connect=(f"tcp/127.0.0.1:{wire.port}",))) as two,
    ):
        assert one.wait_for_subscriber(5.0)
        received = []

        def send(numbers):
            for number in numbers:
                one.send(imu(number))
                time.sleep(0.002)
                while (message := two.recv()) is not None:
                    received.append(message.timestamp_ns)

        send(range(100))
        wire.cut()
        assert until(lambda: two.pub_count() == 0, 5.0)
        send(range(100, 400))
        wire.is_cut = False
        assert two.wait_for_publisher(5.0)
        send(range(400, 500))
        received += drain(two)
        assert received == sorted(set(received))
        assert set(range(400, 500)) <= set(received)
        assert not set(range(110, 300)) & set(received)
        counts = two.stats()
        assert counts.received + counts.lost_overwritten + counts.lost_transport == 500
        assert counts.duplicates == 0
    wire.close()


@pytest.fixture(params=["router", "process"])
def hub(request, endpoint, name, run_router):
    """An endpoint where a router listens, or a process with another topic."""
    if request.param == "router":
        with run_router(endpoint):
            yield endpoint
    else:
        with Topic(Imu, name=f"{name}/other", backend=Zenoh(listen=(endpoint,))) as other:
            other.recv()
            yield endpoint


@pytest.mark.parametrize(
    "reliability", [pytest.param("sensor", marks=pytest.mark.slow), "reliable"]
)
def test_two_that_only_connect_hear_each_other_through_what_listens(hub, name, child, reliability):
    sender = SENDER.format(reliability=reliability, count=5000, end="topic.close()")
    with Topic(Imu, name=name, backend=Zenoh(connect=(hub,)), reliability=reliability) as topic:
        topic.recv()
        process = child(sender, hub, name)
        counts = settled(topic, 5000)
        assert counts.lost_transport == 0 or reliability == "sensor"
        assert process.wait(10.0) == 0
        assert until(lambda: topic.pub_count() == 0)


def test_who_connects_before_anybody_is_there_is_heard_later(endpoint, name, caplog):
    with Topic(Imu, name=name, backend=Zenoh(connect=(endpoint,))) as early:
        early.send(imu(3))
        assert "no zenoh peer" in caplog.text
        with Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))) as late:
            assert late.recv(timeout=10.0).timestamp_ns == 3


@pytest.mark.slow
def test_a_router_that_comes_back_leaves_no_hole_in_the_ledger(endpoint, name, child, run_router):
    end = "print('sent', flush=True); time.sleep(60)"
    sender = SENDER.format(reliability="sensor", count=3000, end=end)
    sender = sender.replace("send(imu(number))", "send(imu(number)); time.sleep(0.002)")
    with ExitStack() as routers:
        routers.enter_context(run_router(endpoint))
        with Topic(Imu, name=name, backend=Zenoh(connect=(endpoint,))) as topic:
            topic.recv()
            process = child(sender, endpoint, name)
            assert until(lambda: topic.recv() is not None)
            routers.close()
            assert until(lambda: topic.pub_count() == 0)
            routers.enter_context(run_router(endpoint))
            assert topic.wait_for_publisher(10.0)
            assert process.stdout.readline() == "sent\n"
            assert drain(topic)[-1] == 2999
            assert settled(topic, 3000).duplicates == 0


@pytest.fixture
def certificates(tmp_path, need_peer):
    """An authority, and a certificate of this host from it."""
    need_peer("openssl", shutil.which("openssl"), "apt install openssl")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=tmp_path, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    (tmp_path / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1", "ascii")
    openssl(
        "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority"
    )  # fmt: skip
    openssl("req", *key[:-2], "-keyout", "host.key", "-out", "host.csr", "-subj", "/CN=localhost")
    openssl(
        "x509", "-req", "-in", "host.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
        "-days", "2", "-extfile", "names", "-out", "host.pem",
    )  # fmt: skip
    return tmp_path


@pytest.mark.slow
def test_settings_of_zenoh_bring_tls_and_its_refusal(endpoint, name, certificates):
    where = endpoint.replace("tcp/127.0.0.1", "tls/localhost")

    def settings(file, **tls):
        path = certificates / file
        tls = {key: str(certificates / value) for key, value in tls.items()}
        path.write_text(json.dumps({"transport": {"link": {"tls": tls}}}), "utf-8")
        return str(path)

    host = {"listen_private_key": "host.key", "listen_certificate": "host.pem"}
    listening = Zenoh(listen=(where,), config=settings("listen.json5", **host))
    trusting = settings("trust.json5", root_ca_certificate="ca.pem")
    doubting = settings("doubt.json5", root_ca_certificate="host.pem")
    before = sockets_of(os.getpid())[0]
    with Topic(Imu, name=name, backend=listening) as one:
        assert len([each for each in sockets_of(os.getpid())[0] if each not in before]) == 1
        with Topic(Imu, name=name, backend=Zenoh(connect=(where,), config=trusting)) as two:
            assert one.wait_for_subscriber(5.0)
            one.send(imu(5))
            assert two.recv(timeout=5.0).timestamp_ns == 5
        with Topic(Imu, name=name, backend=Zenoh(connect=(where,), config=doubting)) as two:
            assert not two.wait_for_publisher(0.5)


def test_a_fork_is_told_that_zenoh_does_not_survive_it(endpoint, name, child):
    script = CHILD.format(reliability="sensor") + (
        "import os\n"
        "from strapdown.errors import TransportError\n"
        "if os.fork() == 0:\n"
        "    try:\n"
        "        topic.send(imu(0)); topic.recv(timeout=1.0)\n"
        "    except TransportError as error:\n"
        "        print(error, flush=True)\n"
        "    os._exit(0)\n"
        "os.wait(); topic.send(imu(1)); print('parent goes on', flush=True)\n"
    )
    with Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))) as topic:
        assert topic.recv() is None
        process = child(script, endpoint, name)
        assert topic.recv(timeout=20.0).timestamp_ns == 1
        output, _ = process.communicate(timeout=10.0)
        assert "zenoh does not survive a fork" in output
        assert "parent goes on" in output


def test_a_program_that_forgets_to_close_ends(endpoint, name, child):
    with Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))) as topic:
        assert topic.recv() is None
        process = child(SENDER.format(reliability="sensor", count=3, end=""), endpoint, name)
        assert process.wait(20.0) == 0
        assert drain(topic) == [0, 1, 2]


@pytest.mark.slow
def test_a_hundred_killed_peers_leave_nothing_behind(endpoint, name, child):
    script = (
        "import os, signal, sys, time\n"
        "from strapdown.messages import Imu\n"
        "from strapdown.transport import Topic\n"
        "from strapdown.transport.backends import Zenoh\n"
        "import zenoh\n"
        "import strapdown.transport.links.zenoh.link\n"
        "backend = Zenoh(connect=(sys.argv[1],))\n"
        "for turn in range(100):\n"
        "    if os.fork() == 0:\n"
        "        topic = Topic(Imu, name=sys.argv[2], backend=backend)\n"
        "        assert topic.recv(timeout=10.0) is not None\n"
        "        for number in range(10):\n"
        "            topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, turn))\n"
        "        time.sleep(0.02)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    os.wait()\n"
    )
    with Topic(Imu, 4096, name, backend=Zenoh(listen=(endpoint,))) as topic:
        assert topic.recv() is None
        topic.send(imu(-1 % 2**64))
        process = child(script, endpoint, name)
        turns, before = [], None
        while process.poll() is None:
            if before is None and 20 in turns:  # zenoh has started all its threads by then
                before = resources()
            topic.send(imu(2**63))
            while (message := topic.recv(timeout=0.05)) is not None:
                turns.append(message.timestamp_ns)
        turns = [turn for turn in [*turns, *drain(topic)] if turn < 2**63]
        assert turns == sorted(turns)
        assert set(turns) == set(range(100))
        assert until(lambda: topic.pub_count() == topic.sub_count() == 1)
        after = resources()
        assert after[0] <= before[0] + 2
        assert after[1] <= before[1] + 2
        child(SENDER.format(reliability="sensor", count=5, end="time.sleep(60)"), endpoint, name)
        assert until(lambda: topic.pub_count() == 2)
        assert [topic.recv(timeout=1.0).timestamp_ns for _ in range(5)] == list(range(5))


def test_a_topic_that_is_closed_leaves_no_thread_of_its_own(endpoint, name):
    with Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))) as topic:
        topic.send(imu(0))
        assert f"zenoh {name}" in {thread.name for thread in threading.enumerate()}
    assert f"zenoh {name}" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("", id="open"),
        pytest.param("topic.close()", id="closed"),
        pytest.param(
            "del topic\nwhile 'zenoh-closing' not in threads():\n    time.sleep(0.001)",
            id="forgotten-and-being-closed",
        ),
    ],
)
def test_no_thread_of_a_topic_is_left_when_the_interpreter_ends(endpoint, name, child, end):
    script = (
        "import atexit, sys, threading, time\n"
        "threads = lambda: [thread.name for thread in threading.enumerate()]\n"
        "atexit.register(lambda: print(threads()))\n"  # the first one is called last
        "from strapdown.messages import Imu\n"
        "from strapdown.transport import Topic, Zenoh\n"
        "topic = Topic(Imu, name=sys.argv[2], backend=Zenoh(listen=(sys.argv[1],)))\n"
        "topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1))\n"
    )
    process = child(script + end, endpoint, name)
    assert process.stdout.read() == "['MainThread']\n"
    assert process.wait(10.0) == 0


@pytest.mark.slow
def test_a_publisher_never_waits_for_a_subscriber_that_is_stopped(endpoint, name, child):
    listener = (
        CHILD.format(reliability="sensor")
        + "topic.recv(); print('here', flush=True); time.sleep(60)"
    )
    with Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))) as topic:
        process = child(listener, endpoint, name)
        assert process.stdout.readline().strip() == "here"
        os.kill(process.pid, signal.SIGSTOP)
        longest = 0.0
        for number in range(20_000):
            start = time.perf_counter()
            topic.send(imu(number))
            longest = max(longest, time.perf_counter() - start)
        assert longest < 1.0
        start = time.monotonic()
    assert time.monotonic() - start < 10.0
