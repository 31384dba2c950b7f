"""Messages described by what they share: written among others, and the same as one by one."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from strapdown.messages._payloads import Payloads
from strapdown.messages.cdr import encode_rows
from strapdown.messages.conversion.ros import ros_from_series, ros_payloads_from_series
from strapdown.series import ImuSeries, SensorIdentity

ROWS = 40


@pytest.fixture
def payloads():
    bare = np.array((7, 0, (0.0, 0.0)), [("a", "u1"), ("b", "<u4"), ("c", "<f8", (2,))])
    return Payloads(bare, {"b": np.arange(3), "c": np.arange(6.0).reshape(3, 2)})


def packed(row):
    return struct.pack("<BIdd", 7, row, 2.0 * row, 2.0 * row + 1.0)


def test_a_row_holds_what_is_shared_and_what_differs(payloads):
    assert [row.tobytes() for row in payloads.rows()] == [packed(row) for row in range(3)]


def test_messages_stand_where_they_begin_and_touch_nothing_else(payloads):
    content = np.full(100, 255, np.uint8)
    payloads.scatter(content, np.array([79, 0, 30]))
    expected = bytearray(b"\xff" * 100)
    for row, start in enumerate([79, 0, 30]):
        expected[start : start + 21] = packed(row)
    assert content.tobytes() == expected


def test_what_stands_in_front_may_differ_too(payloads):
    head = np.array((1, 0), [("kind", "u1"), ("t", "<u8")])
    rows = payloads.behind(head, {"t": np.array([5, 6, 7])}).rows()
    expected = [struct.pack("<BQ", 1, 5 + row) + packed(row) for row in range(3)]
    assert [row.tobytes() for row in rows] == expected


def test_no_messages_are_no_rows(payloads):
    none = Payloads(payloads.bare, {"b": np.arange(0), "c": np.zeros((0, 2))})
    assert none.rows().shape == (0, 21)


@pytest.mark.parametrize("with_covariances", [False, True])
@pytest.mark.parametrize("with_attitude", [False, True])
def test_a_series_gives_the_same_bytes_with_and_without_a_table(with_attitude, with_covariances):
    rng = np.random.default_rng(2)
    series = ImuSeries(
        np.arange(ROWS) * 10**9 + 5,
        rng.normal(size=(ROWS, 3)),
        rng.normal(size=(ROWS, 3)),
        body="FRD",
        world="NED",
        sensor=SensorIdentity("imu_link"),
    )
    if with_attitude:
        q = rng.normal(size=(ROWS, 4))
        q[3] = np.nan
        series = series.replace(q_world_from_body=q)
    if with_covariances:
        covariance = rng.normal(size=(ROWS, 3, 3))
        series = series.replace(
            orientation_covariance=covariance, specific_force_covariance=-covariance
        )
    expected = encode_rows(ros_from_series(series)).rows()
    assert ros_payloads_from_series(series).rows().tobytes() == expected.tobytes()
