"""Decoding of ``sensor_msgs/msg/Imu`` from CDR: strapdown's bulk decoder beside rosbags.

Run with ``python benchmarks/cdr_decode.py``. Both decode the same bytes in the same run, in turn,
and must agree on every number; each figure is the median of the repeats.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from strapdown.messages import cdr

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGES = 200_000
PEER_MESSAGES = 20_000
REPEATS = 7
FLOATS = 37


def payloads() -> list[bytes]:
    """Return serialised messages with distinct numbers."""
    generator = np.random.default_rng(0)
    batch = cdr.Batch(
        stamps_ns=np.arange(MESSAGES, dtype=np.int64) * 5_000_000,
        values=generator.standard_normal((MESSAGES, FLOATS)),
        frame_ids=("imu_link",) * MESSAGES,
        seq=np.zeros(MESSAGES, np.int64),
    )
    return cdr.encode_batch(batch)


def rate(decode: Callable[[list[bytes]], Any], blobs: list[bytes]) -> float:
    """Return messages a second."""
    start = time.perf_counter()
    decode(blobs)
    return len(blobs) / (time.perf_counter() - start)


def main() -> None:
    """Check agreement, then print the table."""
    blobs = payloads()
    store = get_typestore(Stores.ROS2_HUMBLE)

    def ours(some: list[bytes]) -> cdr.Batch:
        return cdr.decode_batch(some, FLOATS)

    def ours_one_by_one(some: list[bytes]) -> list[cdr.Stamped]:
        return [cdr.decode(blob, FLOATS) for blob in some]

    def theirs(some: list[bytes]) -> list[Any]:
        return [store.deserialize_cdr(blob, "sensor_msgs/msg/Imu") for blob in some]

    for row, message in zip(ours(blobs[:100]), theirs(blobs[:100]), strict=True):
        stamp = message.header.stamp
        assert row.stamp_ns == stamp.sec * 10**9 + stamp.nanosec  # noqa: S101 (a wrong decoder has no speed)
        assert row.values[9 + 4 + 3 + 9] == message.linear_acceleration.x  # noqa: S101 (as above)

    rates: dict[str, list[float]] = {"bulk": [], "one by one": [], "rosbags": []}
    for _ in range(REPEATS):
        rates["bulk"].append(rate(ours, blobs))
        rates["one by one"].append(rate(ours_one_by_one, blobs[:PEER_MESSAGES]))
        rates["rosbags"].append(rate(theirs, blobs[:PEER_MESSAGES]))
    peer = statistics.median(rates["rosbags"])
    print(f"{'sensor_msgs/msg/Imu from CDR':30} {'messages/s':>12} {'/ rosbags':>10}")
    for name, values in rates.items():
        median = statistics.median(values)
        print(f"{name:30} {median:12,.0f} {median / peer:10.1f}")


if __name__ == "__main__":
    main()
