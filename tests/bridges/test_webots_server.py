"""Sessions with a server over UNIX sockets and TCP, as controllers have them."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from pathlib import Path
from struct import pack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strapdown.bridges.webots import loop
from strapdown.bridges.webots.instance import Instance, instances_folder
from strapdown.bridges.webots.server import Server
from strapdown.errors import TransportError

LOCAL = ("127.0.0.1", 0)
NO_TABLE = [[]]
QUIT = {(0, 2): None}


def period(ms):
    return pack("<BH", 1, ms)


def eventually(happens):
    """Wait for what another thread does."""
    for _ in range(400):
        if happens():
            return True
        time.sleep(0.005)
    return False


@pytest.fixture
def running(serve):
    return serve(address=LOCAL)


class TestASession:
    def test_a_controller_learns_about_its_robot(self, running, transport):
        answer = running.connect(transport).begin()
        robot = answer.data[0, 0]
        assert (robot["name"], robot["version"], robot["node_type"]) == ("rob", "R2025a", 34)
        assert robot["devices"] == [(46, "imu", ""), (35, "acc", ""), (45, "gyro", "")]
        assert (robot["step"], robot["time"], robot["html"], robot["mode"]) == (32.0, 0.0, 1, 2)
        assert answer.data[1, 0] == [0.0, "ENU"]
        assert answer.data[2, 0] == answer.data[3, 0] == NO_TABLE
        assert answer.delay == 0

    def test_samples_come_in_tag_order_at_their_times(self, running, transport):
        client = running.connect(transport)
        client.begin()
        records = ((1, period(32)), (2, period(64)), (3, period(50)))
        assert client.exchange(32, *records).order == [(0, 4), (1, 54)]
        second = client.exchange(32)
        assert second.order == [(0, 4), (1, 54), (2, 51), (3, 53)]
        assert second.data[0, 4] == 0.064
        assert second.data[2, 51] == [64.0, 128.0, -64.0]
        assert client.exchange(160).data[2, 51] == [192.0, 384.0, -192.0]

    def test_a_step_of_zero_exchanges_and_lets_time_stand(self, running, transport):
        client = running.connect(transport)
        client.begin()
        client.exchange(32)
        assert client.exchange(0, (2, period(32))) == (0, {}, [])
        assert client.exchange(32).order == [(0, 4), (2, 51)]

    def test_requests_may_come_byte_by_byte(self, running, transport):
        client = running.connect(transport)
        client.send(client.request(0, (0, pack("<BH", 35, 0))), piece=1)
        assert client.receive().order[0] == (0, 0)
        client.send(client.request(32, (2, period(32))), piece=1)
        assert client.receive().order == [(0, 4), (2, 51)]

    def test_two_requests_in_one_write_get_two_answers(self, running, transport):
        client = running.connect(transport)
        client.begin()
        client.send(client.request(32, (2, period(32))) + client.request(32))
        assert client.receive().data[2, 51] == [32.0, 64.0, -32.0]
        assert client.receive().data[2, 51] == [64.0, 128.0, -64.0]

    def test_motor_commands_and_custom_data_reach_the_port(self, serve, describe_device):
        motor = dict.fromkeys(
            ("min_position", "max_position", "max_velocity", "acceleration", "max_force"), 0.0
        ) | {"control_pid": (10, 0, 0), "position": 0, "velocity": 0, "multiplier": 1}
        device = describe_device(1, "RotationalMotor", 57, "m", rotational=True, **motor)
        running = serve({"rob": (device,)})
        client = running.ipc()
        client.begin()
        custom = pack("<BH", 37, 3) + b"hi\0"
        client.exchange(32, (0, custom), (1, pack("<Hd", 1, 0.5)))
        commands = running.world.ports["rob"].commands
        assert commands == [(0, "custom_data", ("hi",)), (1, "position", (0.5,))]

    def test_news_reach_the_controller(self, running, describe_device):
        client = running.ipc()
        client.begin()
        port = running.world.ports["rob"]
        port.news = [
            describe_device(4, "Compass", 39, "c", lookup_table=[1.0, 2.0, 3.0]),
            describe_device(1, "InertialUnit", 46, "imu", noise=0.5, coordinate_system="NUE"),
        ]
        port.custom_data = "new"
        answer = client.exchange(32)
        assert answer.data[0, 11] == "new"
        assert answer.data[0, 15] == [(39, "c", "")]
        assert answer.data[4, 0] == [[1.0, 2.0, 3.0]]
        assert answer.data[1, 0] == [0.5, "NUE"]

    def test_the_description_of_a_robot_is_empty(self, running, transport):
        client = running.connect(transport)
        client.begin()
        assert client.exchange(0, (0, pack("<BH", 46, 1) + b"\0")).data == {(0, 46): ""}

    def test_waiting_for_a_key_ends_after_its_time_without_one(self, running, transport):
        client = running.connect(transport)
        client.begin()
        start = time.monotonic()
        assert client.exchange(0, (0, pack("<Bii", 80, 4, 60))).data == {}
        assert client.receive().data == {(0, 80): 0}
        assert time.monotonic() - start >= 0.06
        assert client.exchange(32).data == {(0, 4): 0.032}

    def test_text_for_the_console_is_logged(self, running):
        client = running.ipc()
        client.begin()
        text = b"one\ntwo\n\0"
        client.exchange(0, (0, pack("<BBI", 30, 1, len(text)) + text))
        assert running.log[-2:] == ["[rob] one", "[rob] two"]

    def test_an_unknown_command_is_logged_once(self, running):
        client = running.ipc()
        client.begin()
        for _ in range(3):
            client.exchange(32, (0, bytes([54])))
        assert running.log[1:] == ["robot 'rob': skipped command 54 of a robot"]


class TestLeaving:
    def test_a_program_that_ends_is_answered_and_frees_its_robot(self, running, transport):
        for turn in range(1, 4):
            client = running.connect(transport)
            client.begin()
            client.exchange(32)
            client.exit()
            assert eventually(lambda turn=turn: running.world.ports["rob"].closed == turn)
        assert running.world.now == 96
        assert running.log.count("robot 'rob': left") == 3

    def test_a_controller_that_comes_back_finds_sensors_disabled(self, running, transport):
        first = running.connect(transport)
        first.begin()
        first.exchange(32, (2, period(32)))
        first.exit()
        second = running.connect(transport)
        assert second.begin().data[0, 0]["time"] == 0.032
        assert second.exchange(32).data == {(0, 4): 0.064}

    def test_a_broken_connection_frees_its_robot(self, running, transport):
        client = running.connect(transport)
        client.begin()
        client.send(client.request(32)[:5])
        client.peer.close()
        again = running.connect(transport)
        assert again.begin().data[0, 0]["name"] == "rob"
        assert "robot 'rob': connection lost" in running.log

    def test_the_end_of_the_simulation_quits(self, serve, transport):
        running = serve(end_ms=64, address=LOCAL)
        client = running.connect(transport)
        client.begin()
        assert client.exchange(32).data == {(0, 4): 0.032}
        last = client.exchange(32)
        assert last == (0, {(0, 4): 0.064} | QUIT, [(0, 4), (0, 2)])
        client.goodbye()
        running.thread.join(5.0)
        assert not running.thread.is_alive()

    def test_a_controller_may_take_its_time_after_the_end(self, serve, transport):
        running = serve(end_ms=32, address=LOCAL)
        client = running.connect(transport)
        client.begin()
        client.exchange(32)
        time.sleep(0.1)
        assert running.thread.is_alive()
        assert client.exchange(0).data == {}
        client.goodbye()

    def test_a_controller_that_ignores_the_end_does_not_hold_the_server(self, serve, monkeypatch):
        monkeypatch.setattr(loop, "PATIENCE_S", 0.05)
        monkeypatch.setattr(loop, "LINGER_S", 0.05)
        running = serve(end_ms=32)
        client = running.ipc()
        client.begin()
        client.exchange(32)
        running.thread.join(5.0)
        assert not running.thread.is_alive()

    def test_a_server_that_stops_quits_unasked(self, running, transport):
        client = running.connect(transport)
        client.begin()
        running.server.stop()
        head = "01 00 07 00 00 00 07 00 00 00 00" if transport == "tcp" else "0b 00 00 00"
        expected = bytes.fromhex(head) + pack("<iHB", 0, 0, 2)
        assert client.exactly(len(expected)) == expected
        client.goodbye()
        running.thread.join(5.0)
        assert not running.path.exists()


class TestConnecting:
    def test_who_comes_before_the_serving_waits_for_it(self, scripted, three_devices):
        with Server(number=os.getpid() * 1000 + 994, log=[].append) as server:
            server.open(["rob"])
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(f"{server.instance_path}ipc/rob/extern")
                peer.sendall(pack("<iI", 8, 0))
                world = scripted({"rob": three_devices})
                thread = threading.Thread(
                    target=server.serve, args=(["rob"], world.ports.__getitem__, world)
                )
                thread.start()
                assert b"rob\0R2025a\0" in peer.recv(1000)
                server.stop()
                thread.join()

    def test_both_doors_of_a_robot_lead_to_it(self, running):
        for door in ("intern", "extern"):
            client = running.ipc(door)
            assert client.begin().data[0, 0]["name"] == "rob"
            client.exit()

    def test_a_second_controller_is_refused(self, running):
        first = running.ipc()
        first.begin()
        assert running.ipc().closed
        assert running.hello()[1] == b"FORBIDDEN"
        assert running.hello(None)[1] == b"FORBIDDEN"
        assert first.exchange(32).data == {(0, 4): 0.032}

    def test_a_wrong_name_fails(self, running):
        client, word = running.hello("bob")
        assert word == b"FAILED"
        assert client.closed

    def test_a_name_may_be_left_out_where_one_robot_is_served(self, running, serve):
        assert running.hello(None)[1] == b"CONNECTED"
        two = serve({"a": (), "b": ()}, address=LOCAL)
        assert two.hello(None)[1] == b"FAILED"

    def test_a_handshake_may_come_byte_by_byte(self, running):
        client, word = running.hello("rob", piece=1)
        assert word == b"CONNECTED"
        assert client.begin().data[0, 0]["name"] == "rob"

    def test_nothing_follows_the_word_before_the_first_request(self, running):
        client = running.tcp()
        client.peer.settimeout(0.05)
        with pytest.raises(TimeoutError):
            client.peer.recv(1)
        client.peer.settimeout(10.0)
        assert client.begin().delay == 0

    @pytest.mark.parametrize("greeting", [b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\0"])
    def test_who_does_not_greet_as_a_controller_is_sent_away(self, running, greeting):
        with socket.create_connection(running.server.address, timeout=5.0) as peer:
            peer.sendall(greeting)
            assert peer.recv(10) == b""
        assert running.tcp().begin().delay == 0

    def test_a_name_with_blanks_is_percent_encoded(self, serve):
        running = serve({"my robot": ()}, address=LOCAL)
        assert running.ipc(robot="my%20robot").begin().data[0, 0]["name"] == "my robot"
        assert running.server.urls("my robot")[0].endswith("/my robot")
        assert running.hello("my%20robot")[1] == b"FORBIDDEN"

    def test_a_long_name_becomes_a_hash_that_fits_the_path(self, serve):
        name = "n" * 91
        running = serve({name: ()}, address=LOCAL)
        digest = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
        (folder,) = (running.path / "ipc").iterdir()
        rest = len(f"{running.path}/") + len("ipc//intern")
        assert folder.name == digest[: (91 - rest) // 2 * 2]
        assert running.tcp(digest).begin().data[0, 0]["name"] == name

    def test_urls_name_instance_port_and_robot(self, running):
        ipc, tcp = running.server.urls("rob")
        assert ipc == f"ipc://{running.path.name}/rob"
        assert tcp == f"tcp://127.0.0.1:{running.server.address[1]}/rob"

    def test_by_default_there_is_no_tcp_and_the_instance_has_the_number_of_the_process(self):
        with Server() as server:
            assert server.address is None
            assert server.urls("rob") == (f"ipc://{os.getpid()}/rob",)

    def test_with_tcp_the_instance_has_the_number_of_its_port(self):
        with Server(address=LOCAL) as server:
            host, port = server.address
            assert server.urls("rob") == (f"ipc://{port}/rob", f"tcp://{host}:{port}/rob")


class TestSeveralRobots:
    def test_the_simulation_goes_on_when_all_wait(self, serve, three_devices):
        running = serve({"a": three_devices, "b": three_devices})
        a, b = running.ipc(robot="a"), running.ipc(robot="b")
        a.begin()
        a.send(a.request(32))
        a.peer.settimeout(0.05)
        with pytest.raises(TimeoutError):
            a.receive()
        a.peer.settimeout(10.0)
        b.begin()
        b.send(b.request(64))
        assert a.receive().data == {(0, 4): 0.032}
        a.send(a.request(32))
        assert a.receive().data == b.receive().data == {(0, 4): 0.064}

    def test_one_that_leaves_does_not_hold_the_others(self, serve, three_devices):
        running = serve({"a": three_devices, "b": three_devices})
        a, b = running.ipc(robot="a"), running.ipc(robot="b")
        a.begin()
        b.begin()
        a.send(a.request(32))
        b.peer.close()
        assert a.receive().data == {(0, 4): 0.032}
        again = running.ipc(robot="b")
        again.begin()
        again.send(again.request(32))
        assert a.exchange(32).data == again.receive().data == {(0, 4): 0.064}


class TestTheFolder:
    def test_it_lies_at_the_root_and_tmpdir_does_not_count(self, monkeypatch):
        monkeypatch.delenv("WEBOTS_HOME", raising=False)
        monkeypatch.setenv("TMPDIR", "/somewhere")
        monkeypatch.setenv("USER", "ada")
        root = Path("/tmp/webots")  # noqa: S108 (where the controller library looks)
        assert instances_folder() == root / "ada"
        monkeypatch.setenv("USER", "")
        monkeypatch.setenv("USERNAME", "bob")
        assert instances_folder() == root / "bob"
        monkeypatch.delenv("USERNAME")
        assert instances_folder() == root / "default"

    def test_a_snap_has_its_own(self, monkeypatch, tmp_path):
        monkeypatch.setenv("USER", "ada")
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("WEBOTS_HOME", "/snap/webots/current/usr/share/webots")
        assert instances_folder() == tmp_path / "snap/webots/common/tmp/webots/ada"

    def test_loading_makes_controllers_wait(self):
        with Server(number=os.getpid() * 1000 + 999, address=LOCAL) as server:
            loading = Path(server.instance_path) / "loading"
            with server.loading():
                assert loading.exists()
                with socket.create_connection(server.address) as peer:
                    peer.sendall(b"CTR\nRobot-Name: rob")
                    assert peer.recv(10) == b"PROCESSING"
            assert not loading.exists()
        assert not loading.parent.exists()

    def test_a_number_in_use_is_refused(self, running):
        with pytest.raises(TransportError, match="another simulator"):
            Instance(int(running.path.name))
        assert running.ipc().begin().delay == 0

    @pytest.fixture
    def left(self):
        """Return the instance of a simulator that was killed."""
        instance = Instance(os.getpid() * 1000 + 998)
        for each in instance.listen("rob"):
            each.close()
        return instance

    def test_what_a_crash_left_is_taken_over(self, left):
        again = Instance(left.number)
        assert not (again.path / "ipc").exists()
        again.close()
        assert not again.path.exists()

    def test_what_the_killed_left_long_ago_is_removed(self, running, left):
        Instance(os.getpid() * 1000 + 995).close()
        assert left.path.exists()  # it may be about to listen
        for path in (left.path, running.path):
            os.utime(path, (0, 0))
        Instance(os.getpid() * 1000 + 995).close()
        assert not left.path.exists()
        assert running.ipc().begin().delay == 0

    def test_a_failure_while_serving_removes_it(self, scripted, three_devices):
        class Broken(scripted):
            def ready(self):
                raise RuntimeError("broken")

        server = Server(number=os.getpid() * 1000 + 997, log=[].append)
        path = Path(server.instance_path)
        world = Broken({"rob": three_devices})

        def drive():
            while not (path / "ipc/rob/intern").exists():
                time.sleep(0.005)
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(str(path / "ipc/rob/extern"))
                peer.sendall(pack("<iI", 8, 0))
                peer.recv(1000)
                peer.sendall(pack("<iI", 8, 32))
                peer.recv(1000)
                peer.sendall(bytes(4))

        thread = threading.Thread(target=drive)
        thread.start()
        with pytest.raises(RuntimeError, match="broken"), server:
            server.serve(["rob"], world.ports.__getitem__, world)
        thread.join()
        assert not path.exists()


class TestNonsense:
    @pytest.mark.parametrize(
        "nonsense",
        [
            pack("<i", -1),
            pack("<i", 5),
            pack("<i", 0x7FFFFFFF),
            pack("<iI", 8, 0xFFFFFFFF),
            pack("<iI", 9, 32) + b"x",
            pack("<iIHi", 14, 32, 1, -5),
            pack("<iIHi", 14, 32, 1, 1 << 30),
            pack("<iIHiB", 15, 32, 1, 1, 1),
        ],
    )
    def test_it_ends_its_connection_with_one_line(self, running, transport, nonsense):
        client = running.connect(transport)
        client.begin()
        before = len(running.log)
        client.send(nonsense)
        assert client.closed
        assert eventually(lambda: len(running.log) == before + 1)
        assert running.log[-1].startswith("robot 'rob': connection closed: expected")
        assert running.connect(transport).begin().delay == 0

    def test_it_may_be_the_first_that_comes(self, running):
        client = running.ipc()
        client.send(pack("<i", -1))
        assert client.closed
        assert running.ipc().begin().delay == 0

    def test_a_controller_that_never_reads_is_cut_off(self, running):
        client = running.ipc()
        client.begin()
        flood = client.request(0) * 8192

        def send():
            for _ in range(10_000):
                client.peer.sendall(flood)

        with pytest.raises(ConnectionError):
            send()
        assert eventually(lambda: "to wait for answers" in running.log[-1])
        assert running.ipc().begin().delay == 0

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.tuples(st.booleans(), st.binary(max_size=40)), max_size=4))
    def test_no_bytes_bring_the_server_down(self, running, pieces):
        client = running.ipc()
        client.send(client.request(0))
        client.send(b"".join(framed * pack("<iI", 8 + len(b), 32) + b for framed, b in pieces))
        client.peer.shutdown(socket.SHUT_WR)
        while client.peer.recv(1 << 16):
            pass
        client.peer.close()
        again = running.ipc()
        assert again.begin().data[0, 0]["name"] == "rob"
        again.exit()
