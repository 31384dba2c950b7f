"""Random numbers of devices: one stream for all of them, or one for each."""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, Final

from strapdown.sensors.noise import DEVICE, NoiseKey, Process, normals, sensor_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown.webots.profiles import Profile

__all__ = ["DeviceStream", "MarsagliaStream", "Streams", "chosen_seed"]

_FIRST_Z: Final = 362436069
_TO_UNIT: Final = 2.328306435454494e-10  # 1 / (2^32 + 2)
_BLOCK: Final = 2048  # normal numbers that are generated at once


def chosen_seed(random_seed: int) -> int:
    """Return the seed for a ``WorldInfo.randomSeed``; -1 draws one from the clock."""
    return random_seed if random_seed >= 0 else time.time_ns() // 1_000_000 + os.getpid()


class MarsagliaStream:
    """Random stream of a Webots simulation: multiply-with-carry, and polar normal numbers.

    Parameters
    ----------
    seed : int
        ``WorldInfo.randomSeed``; -1 takes the clock and the process number.

    References
    ----------
    G. Marsaglia, "Random numbers for C: the END?", sci.stat.math, 20 January 1999;
    G. Marsaglia and T. A. Bray, "A convenient method for generating normal variables", SIAM
    Review 6(3), 1964.
    """

    __slots__ = ("_w", "_z")

    def __init__(self, seed: int) -> None:
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Restart with a seed as for the constructor."""
        self._z = _FIRST_Z
        self._w = chosen_seed(seed) & 0xFFFFFFFF

    def integer(self) -> int:
        """Return the next 32-bit integer."""
        self._z = z = 36969 * (self._z & 0xFFFF) + (self._z >> 16)
        self._w = w = 18000 * (self._w & 0xFFFF) + (self._w >> 16)
        return ((z << 16) + w) & 0xFFFFFFFF

    def uniform(self) -> float:
        """Return the next number from 0 up to, but excluding, 1."""
        return ((self.integer() + 1) & 0xFFFFFFFF) * _TO_UNIT

    def gaussian(self) -> float:
        """Return the next standard normal number; consumes two or more uniform ones."""
        while True:
            v = 2.0 * self.uniform() - 1.0
            other = 2.0 * self.uniform() - 1.0
            square = v * v + other * other
            if 0.0 < square <= 1.0:
                return math.sqrt(-2.0 * math.log(square) / square) * v


class DeviceStream:
    """Random stream of one device: number i is a function of seed, robot, device and i.

    Parameters
    ----------
    seed : int
        0 to 2**64 - 1.
    robot, device : str
        Names. Other content of a world has no effect.
    """

    __slots__ = ("_block", "_drawn", "_key")

    def __init__(self, seed: int, robot: str, device: str) -> None:
        self._key = NoiseKey(seed, sensor_number(f"{len(robot)} {robot} {device}"))
        self.reset()

    def reset(self) -> None:
        """Restart the stream."""
        self._drawn = 0
        self._block: list[float] = []

    def gaussian(self) -> float:
        """Return the next standard normal number."""
        if not self._block:
            block = normals(self._key, DEVICE, Process.WHITE, self._drawn, _BLOCK)
            self._drawn += _BLOCK
            self._block = block[::-1].tolist()
        return self._block.pop()


class Streams:
    """Random numbers of all devices: one stream for all of them, or one for each.

    Parameters
    ----------
    profile : Profile
    seed : int
        Not negative.
    """

    def __init__(self, profile: Profile, seed: int) -> None:
        self._seed = seed
        self._shared = MarsagliaStream(seed) if profile.shared_stream else None
        self._own: list[DeviceStream] = []

    def gaussian(self, robot: str, device: str) -> Callable[[], float]:
        """Return the generator of normal numbers for a device."""
        if self._shared is not None:
            return self._shared.gaussian
        stream = DeviceStream(self._seed, robot, device)
        self._own.append(stream)
        return stream.gaussian

    def reset(self) -> None:
        """Restart all streams."""
        if self._shared is not None:
            self._shared.reseed(self._seed)
        for stream in self._own:
            stream.reset()
