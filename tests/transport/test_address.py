from __future__ import annotations

import sys
import threading
import time

import pytest

from strapdown.errors import BackendMissingError, TransportError, UnknownNameError, ValueRangeError
from strapdown.messages import Imu, Odometry, Pose3D, RosImu
from strapdown.transport.address import (
    Address,
    await_type,
    can_find_type,
    is_address,
    open_topic,
    parse_address,
)
from strapdown.transport.backends import (
    Horus,
    Ipc,
    Local,
    Ros1,
    Ros2,
    Zenoh,
    _has_iceoryx2,
    find_backend,
)


@pytest.mark.parametrize(
    ("text", "backend", "name"),
    [
        ("local:imu", Local(), "imu"),
        ("ipc:imu", Ipc(), "imu"),
        ("horus:imu.data", Horus(), "imu.data"),
        ("ros1:/imu/data", Ros1(), "/imu/data"),
        ("ros1:/imu?frame_id=imu_link", Ros1("imu_link"), "/imu"),
        ("ros2:/imu/data?rmw=zenoh&domain=3", Ros2("zenoh", 3), "/imu/data"),
        ("zenoh:imu", Zenoh(), "imu"),
        ("zenoh:imu/data", Zenoh(), "imu/data"),
        ("zenoh:tcp/10.0.0.2:7447/imu/data", Zenoh(("tcp/10.0.0.2:7447",)), "imu/data"),
        ("zenoh:tcp/[::1]:7447/imu", Zenoh(("tcp/[::1]:7447",)), "imu"),
        (
            "zenoh:tls/a.b:1/imu?connect=tcp/c:2&listen=tcp/d:3,udp/e:4&config=my%20file%26more",
            Zenoh(("tls/a.b:1", "tcp/c:2"), ("tcp/d:3", "udp/e:4"), "my file&more"),
            "imu",
        ),
    ],
)
def test_an_address_names_a_backend_its_options_and_a_topic(text, backend, name, monkeypatch):
    monkeypatch.setenv("STRAPDOWN_ZENOH_CONNECT", "tcp/10.0.0.3:7447")
    assert parse_address(text) == Address(backend, name)
    assert is_address(text)


def test_an_address_may_name_the_type():
    assert parse_address("ipc:pose?type=Pose3D") == Address(Ipc(), "pose", Pose3D)
    assert parse_address("ros2:/imu?type=RosImu&domain=3").msg_type is RosImu


def test_auto_is_what_the_environment_says(monkeypatch):
    monkeypatch.setenv("STRAPDOWN_BACKEND", "local")
    assert parse_address("auto:imu").backend == Local()
    assert is_address("auto:imu")


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("zeno:imu", "zenoh"),
        ("ros2:/imu?domian=3", "domain"),
        ("ipc:imu?type=Pose", "Pose3D"),
        ("ipc:imu?type=", "VehicleImu"),
        ("ipc:imu?domain=3", "type"),
    ],
)
def test_an_unknown_name_gives_the_nearest(text, nearest):
    with pytest.raises(UnknownNameError, match=f"nearest names: .*'{nearest}'"):
        parse_address(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "BACKEND:NAME"),
        ("imu", "BACKEND:NAME"),
        ("ipc:", "BACKEND:NAME"),
        ("ipc:?type=Imu", "BACKEND:NAME"),
        ("zenoh:tcp/10.0.0.2:7447/", "BACKEND:NAME"),
        ("ros2:/imu?domain=three", "whole number for domain, got 'three'"),
        ("serial:/dev/imu?protocol=csv&baud=-5", "expected 0 or a positive whole number for baud"),
        ("ros2:/imu?domain=", "whole number for domain, got ''"),
        ("ros2:/imu?domain", "key=value after '\\?', got 'domain'"),
        ("ros2:/imu?", "key=value after '\\?', got ''"),
        ("ros2:/imu?=3", "key=value after '\\?', got '=3'"),
        ("ros2:/imu?domain=1&domain=2", "domain once"),
        ("zenoh:imu?connect=", "connect separated by commas, got ''"),
        ("zenoh:imu?listen=tcp/a:1,,tcp/b:2", "listen separated by commas"),
        (
            "ipc:caf\N{LATIN SMALL LETTER E WITH ACUTE}",
            "unexpected '\N{LATIN SMALL LETTER E WITH ACUTE}'",
        ),
        ("horus:a//b", "unexpected '//'"),
        ("zenoh:tcp/10.0.0.2:7447", "unexpected ':'"),
        ("ipc:imu@far", 'backend="zenoh"'),
    ],
)
def test_an_address_of_another_form_is_refused(text, reason):
    with pytest.raises(ValueRangeError, match=reason):
        parse_address(text)


@pytest.mark.parametrize("text", ["imu.mcap", "/data/ipc:imu", "C:\\imu.mcap", "-", ":imu"])
def test_other_text_is_no_address(text):
    assert not is_address(text)


def test_an_unknown_backend_is_an_address_and_no_missing_file():
    assert is_address("zenho:imu")


@pytest.mark.parametrize("variable", ["STRAPDOWN_ZENOH_CONNECT", "STRAPDOWN_ZENOH_LISTEN"])
def test_zenoh_needs_an_endpoint_from_the_address_or_the_environment(monkeypatch, variable):
    monkeypatch.setenv("STRAPDOWN_ZENOH_CONNECT", " , ")
    monkeypatch.delenv("STRAPDOWN_ZENOH_LISTEN", raising=False)
    with pytest.raises(TransportError, match=r"expected an endpoint.*zenoh:tcp/HOST:PORT/imu"):
        parse_address("zenoh:imu")
    assert parse_address("zenoh:imu?config=tls.json5").backend == Zenoh(config="tls.json5")
    monkeypatch.setenv(variable, "tcp/127.0.0.1:7447")
    assert parse_address("zenoh:imu").backend == Zenoh()


def test_what_is_too_long_for_a_file_is_an_address():
    assert is_address("zenoh:imu?config=" + "a" * 5000)


def test_a_file_of_that_name_goes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("ipc:imu", "zenho:imu"):
        (tmp_path / name).touch()
        assert not is_address(name)


@pytest.mark.parametrize(
    ("text", "msg_type", "kind"),
    [
        ("local:address/a", None, Imu),
        ("local:odom", None, Odometry),
        ("local:/pose3d", None, Pose3D),
        ("local:address/b?type=Pose3D", None, Pose3D),
        ("local:address/c?type=Pose3D", Odometry, Odometry),
    ],
)
def test_a_topic_opens_with_the_type_that_is_given_or_named_or_usual(text, msg_type, kind):
    with open_topic(text, msg_type, capacity=4) as topic:
        topic.send(kind(*range(6)))
        assert type(topic.recv()) is kind
        assert topic.backend_type == "local"


def test_a_topic_that_cannot_tell_its_type_is_not_waited_for():
    stop = threading.Event()
    assert not can_find_type(parse_address("local:imu"))
    found = await_type(parse_address("local:imu"), stop=stop, waiting=pytest.fail)
    assert found == (Imu, False)


def test_a_type_is_waited_for_until_a_time_at_most(monkeypatch):
    monkeypatch.setattr("strapdown.transport.address.find_type", lambda *_: None)
    told = []
    until_s = time.monotonic() + 0.1
    found = await_type(
        parse_address("horus:imu"),
        stop=threading.Event(),
        waiting=lambda: told.append("waiting"),
        until_s=until_s,
    )
    assert found == (None, True)
    assert told == ["waiting"]


def test_auto_stays_in_the_process_where_iceoryx2_cannot_be_imported(monkeypatch, caplog):
    monkeypatch.delenv("STRAPDOWN_BACKEND", raising=False)
    monkeypatch.setitem(sys.modules, "iceoryx2", None)
    _has_iceoryx2.cache_clear()
    try:
        assert [find_backend("auto") for _ in range(3)] == [Local()] * 3
        (line,) = caplog.messages
        assert line.startswith("topics stay within this process, iceoryx2 cannot be imported")
    finally:
        _has_iceoryx2.cache_clear()


def test_the_ipc_backend_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "iceoryx2", None)
    with pytest.raises(BackendMissingError, match=r"iceoryx2.* needs: pip install 'strapdown'"):
        open_topic("ipc:imu")


def test_what_the_address_says_is_not_asked_for():
    address = parse_address("horus:imu?type=Pose3D")
    assert await_type(address, stop=threading.Event(), waiting=pytest.fail) == (Pose3D, False)
