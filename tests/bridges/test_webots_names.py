"""Names of robots in paths and in handshakes."""

from __future__ import annotations

import hashlib

import pytest

from strapdown.bridges.webots.names import encoded_name, hello_may_grow, reply_to_hello


class TestNames:
    def test_letters_digits_and_four_marks_are_kept(self):
        assert encoded_name("aZ09-_~.", 0) == "aZ09-_~."
        assert encoded_name("my robot/\u00e9", 0) == "my%20robot%2F%C3%A9"

    @pytest.mark.parametrize(
        ("used", "longest"),
        [(0, 90), (51, 40), (52, 38), (40, 50), (86, 4), (87, 4), (88, 4), (500, 4)],
    )
    def test_a_long_name_becomes_the_beginning_of_its_hash(self, used, longest):
        digest = hashlib.sha1(b"x" * 91, usedforsecurity=False).hexdigest()
        assert encoded_name("x" * longest, used) == "x" * longest
        assert encoded_name("x" * 91, used) == digest[:longest]
        assert len(encoded_name("x" * 91, used)) == min(longest, 40)

    def test_the_hash_is_that_of_the_encoded_name(self):
        digest = hashlib.sha1(b"%20" * 40, usedforsecurity=False).hexdigest()
        assert encoded_name(" " * 40, 0) == digest


class TestHandshakes:
    @pytest.mark.parametrize(
        ("hello", "reply"),
        [
            (b"CTR\nRobot-Name: a", (b"CONNECTED", "a")),
            (b"CTR\nRobot-Name: b%20c", (b"FORBIDDEN", "b c")),
            (b"CTR\nRobot-Name: b%2520c", (b"FORBIDDEN", "b c")),
            (b"CTR\nRobot-Name: c", (b"FAILED", "")),
            (b"CTR", (b"FAILED", "")),
            (b"CTR\nRobot-Name: ", (b"FAILED", "")),
            (b"CTR\nRobot-Name: \xff", (b"FAILED", "")),
        ],
    )
    def test_a_robot_is_given_by_its_encoded_name(self, hello, reply):
        assert reply_to_hello(hello, {"a": False, "b c": True}) == reply

    def test_an_only_robot_needs_no_name(self):
        assert reply_to_hello(b"CTR", {"a": False}) == (b"CONNECTED", "a")
        assert reply_to_hello(b"CTR", {}) == (b"FAILED", "")

    def test_a_name_that_is_too_long_comes_as_its_hash(self):
        digest = hashlib.sha1(b"x" * 91, usedforsecurity=False).hexdigest()
        hello = b"CTR\nRobot-Name: " + digest.encode()
        assert reply_to_hello(hello, {"x" * 91: False}) == (b"CONNECTED", "x" * 91)

    @pytest.mark.parametrize("hello", [b"", b"C", b"CTR", b"CTR\nRobot-", b"CTR\nRobot-Name: a"])
    def test_any_beginning_of_a_handshake_may_grow(self, hello):
        assert hello_may_grow(hello)

    @pytest.mark.parametrize("hello", [b"G", b"GET / HTTP/1.1", b"CTX", b"CTR" + bytes(1 << 14)])
    def test_other_bytes_are_no_handshake(self, hello):
        assert not hello_may_grow(hello)
