from __future__ import annotations

import threading

import pytest

from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.messages import Imu, Odometry, Pose3D, RosImu
from strapdown.transport.address import (
    Address,
    await_type,
    can_find_type,
    is_address,
    open_topic,
    parse_address,
)
from strapdown.transport.backends import Horus, Ipc, Local, Ros1, Ros2, Zenoh


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
def test_an_address_names_a_backend_its_options_and_a_topic(text, backend, name):
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


@pytest.mark.parametrize("text", ["imu.mcap", "zeno:imu", "/data/ipc:imu", "C:\\imu.mcap", "-"])
def test_other_text_is_no_address(text):
    assert not is_address(text)


def test_what_is_too_long_for_a_file_is_an_address():
    assert is_address("zenoh:imu?config=" + "a" * 5000)


def test_a_file_of_that_name_goes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ipc:imu").touch()
    assert not is_address("ipc:imu")


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


def test_what_the_address_says_is_not_asked_for():
    address = parse_address("horus:imu?type=Pose3D")
    assert await_type(address, stop=threading.Event(), waiting=pytest.fail) == (Pose3D, False)
