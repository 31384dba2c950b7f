"""Sensor of the IIO subsystem of Linux: its attributes in sysfs, and its buffer.

Names and formats are those of ``Documentation/ABI/testing/sysfs-bus-iio`` of the kernel: a value is
``(raw + offset) * scale`` in m/s^2 or rad/s, and ``mount_matrix`` rotates it into the axes of the
machine.
"""

from __future__ import annotations

import math
import os
import select
import time
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Final

from strapdown._words import wording
from strapdown.errors import TransportError
from strapdown.messages import Imu
from strapdown.transport.links.hardware.scan import Scan
from strapdown.transport.links.hardware.stamps import DeviceClock
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import Three
    from strapdown.transport.backends import Iio

__all__ = ["IioSensor", "check_mode"]

_log = getLogger(__name__)
_KINDS: Final = ("accel", "anglvel")
_AXES: Final = ("x", "y", "z")
_MODES: Final = ("auto", "buffer", "poll")
_WAIT_S: Final = 0.1
_SCANS: Final = 64
"""Scans that are read at once."""
_LENGTH: Final = 512
"""Scans that the kernel keeps."""
_USUAL_HZ: Final = 100.0
"""Rate of polling where the device states none [Hz]."""


class IioSensor:
    """Accelerometer and gyro of one IIO device.

    Parameters
    ----------
    name : str
        Number of the device, or the name in its attribute ``name``.
    backend : Iio

    Raises
    ------
    TransportError
        There is no such device, it has neither accelerometer nor gyro, an attribute is malformed,
        or the user may not open it.
    """

    def __init__(self, name: str, backend: Iio) -> None:
        check_mode(backend)
        self._where = f"iio:{name}"
        self._folder = _found(Path(backend.root), name)
        self._node = Path(backend.dev) / self._folder.name
        self._mode = backend.mode
        self.damaged = self.lost = self._samples = 0
        self._fd = -1
        self._last_ns = 0
        self._kinds = [kind for kind in _KINDS if self._has(f"in_{kind}_x_raw")]
        if not self._kinds:
            raise TransportError(
                f"{self._where}: expected in_accel_x_raw or in_anglvel_x_raw, got none"
            )
        self._open()

    # -- as a sensor of a link -------------------------------------------------------------------

    def read(self) -> list[Imu]:
        """Wait up to 0.1 s for samples, and return them."""
        found = self._polled() if self._scan is None else self._buffered(self._scan)
        self._samples += len(found)
        return found

    def reopen(self) -> None:
        """Begin again."""
        self.close()
        self._open()

    def problem(self) -> str:
        """Return an empty string: a device without samples is only slow."""
        return ""

    def account(self) -> str:
        """Return the number of samples as a line."""
        how = "polled" if self._scan is None else "from its buffer"
        return f"{self._folder.name}: {self._samples} samples {how}, {self.damaged} unreadable"

    def close(self) -> None:
        """Stop the buffer."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            try:
                self._write("buffer/enable", "0")
            except OSError as error:
                _log.warning("%s: the buffer stays enabled: %s", self._where, wording(error))

    # -- attributes ------------------------------------------------------------------------------

    def _has(self, name: str) -> bool:
        return (self._folder / name).is_file()

    def _text(self, *names: str) -> str:
        """Return the first of these attributes that is there; empty where none is."""
        for name in names:
            if self._has(name):
                return (self._folder / name).read_text().strip()
        return ""

    def _number(self, default: float, *names: str) -> float:
        text = self._text(*names)
        try:
            return float(text) if text else default
        except ValueError:
            raise TransportError(
                f"{self._where}: expected a number in {names[0]}, got {text!r}"
            ) from None

    def _write(self, name: str, value: str) -> None:
        (self._folder / name).write_text(value)

    # -- opening ---------------------------------------------------------------------------------

    def _open(self) -> None:
        self._rest = b""
        try:
            self._read_attributes()
            self._scan = None if self._mode == "poll" else self._enabled()
        except OSError as error:
            raise TransportError(
                f"{self._where}: {wording(error)}; attributes and buffers of IIO need root, or a "
                "rule of udev for the group of the user"
            ) from error

    def _read_attributes(self) -> None:
        """Read scales, offsets, axes and rate."""
        self._scales: dict[str, float] = {}
        self._offsets: dict[str, float] = {}
        self._mounts: dict[str, list[list[float]]] = {}
        for kind in self._kinds:
            text = self._text(f"in_{kind}_mount_matrix", "in_mount_matrix", "mount_matrix")
            self._mounts[kind] = self._matrix(text)
            for axis in _AXES:
                channel = f"in_{kind}_{axis}"
                names = (f"{channel}_scale", f"in_{kind}_scale")
                self._scales[channel] = self._number(1.0, *names)
                names = (f"{channel}_offset", f"in_{kind}_offset")
                self._offsets[channel] = self._number(0.0, *names)
        rates = [f"in_{kind}_sampling_frequency" for kind in self._kinds]
        self._rate_hz = self._number(0.0, "sampling_frequency", *rates) or _USUAL_HZ
        clock = self._text("current_timestamp_clock") or "realtime"
        self._clock = None if clock == "realtime" else DeviceClock()
        self._due_s = time.monotonic()

    def _matrix(self, text: str) -> list[list[float]]:
        """Return a mount matrix; the identity where there is none."""
        if not text:
            return [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        try:
            rows = [[float(number) for number in row.split(",")] for row in text.split(";")]
        except ValueError:
            rows = []
        if [len(row) for row in rows] != [3, 3, 3]:
            raise TransportError(f"{self._where}: expected a mount matrix of 3 x 3, got {text!r}")
        return rows

    def _enabled(self) -> Scan | None:
        """Enable the buffer; None to poll, where there is no buffer or it cannot be enabled."""
        folder = self._folder / "scan_elements"
        if not folder.is_dir():
            if self._mode == "buffer":
                raise TransportError(f"{self._where}: expected scan_elements, there is no buffer")
            return None
        wanted = {f"in_{kind}_{axis}" for kind in self._kinds for axis in _AXES}
        wanted.add("in_timestamp")
        try:
            self._fd = os.open(self._node, os.O_RDONLY | os.O_NONBLOCK)  # fails where it is in use
            self._write("buffer/enable", "0")
            scan = Scan.enabled(folder, wanted)
            self._write("buffer/length", str(_LENGTH))
            self._write("buffer/enable", "1")
        except (OSError, ValueError) as error:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1
            why = str(error) if isinstance(error, ValueError) else wording(error)
            if self._mode == "buffer":
                raise TransportError(
                    f"{self._where}: the buffer cannot be enabled: {why}; set a trigger in "
                    "trigger/current_trigger, or use mode=poll"
                ) from error
            _log.warning("%s is polled, its buffer cannot be enabled: %s", self._where, why)
            return None
        return scan

    # -- samples ---------------------------------------------------------------------------------

    def _buffered(self, scan: Scan) -> list[Imu]:
        """Return the scans that have arrived."""
        if not select.select([self._fd], [], [], _WAIT_S)[0]:
            return []
        data = os.read(self._fd, _SCANS * scan.size)
        arrival_ns = time.time_ns()
        if not data:  # of a FIFO that nobody writes to
            time.sleep(_WAIT_S / 10.0)
            return []
        data = self._rest + data
        whole = len(data) // scan.size
        self._rest = data[whole * scan.size :]
        scans = [scan.values(data[row * scan.size :]) for row in range(whole)]
        period_ns = NS_PER_S / self._rate_hz
        arrivals = [arrival_ns - round((whole - 1 - row) * period_ns) for row in range(whole)]
        stamps = [each.pop("in_timestamp", at) for each, at in zip(scans, arrivals, strict=True)]
        if self._clock is not None and "in_timestamp" in scan.names:
            stamps = self._clock.stamps(zip(stamps, arrivals, strict=True))
        return [self._message(*each) for each in zip(scans, stamps, strict=True)]

    def _polled(self) -> list[Imu]:
        """Return one sample, at its time; none where that is later than 0.1 s from now."""
        early_s = self._due_s - time.monotonic()
        if early_s > 0.0:
            time.sleep(min(early_s, _WAIT_S))
        if early_s > _WAIT_S:
            return []
        self._due_s = max(self._due_s + 1.0 / self._rate_hz, time.monotonic() - _WAIT_S)
        raw: dict[str, int] = {}
        for channel in self._scales:
            try:
                raw[channel] = int((self._folder / f"{channel}_raw").read_text())
            except ValueError:
                self.damaged += 1
                return []
        return [self._message(raw, time.time_ns())]

    def _message(self, raw: dict[str, int], stamp_ns: int) -> Imu:
        """Return raw values as a message, and mark a sensor that the device does not have."""
        self._last_ns = max(stamp_ns, self._last_ns + 1)
        vectors: dict[str, Three] = {kind: self._vector(kind, raw) for kind in self._kinds}
        zero = (0.0, 0.0, 0.0)
        message = Imu(*vectors.get("accel", zero), *vectors.get("anglvel", zero), self._last_ns)
        absent = (-1.0, *[0.0] * 8)
        if "accel" not in vectors:
            message.linear_acceleration_covariance = absent
        if "anglvel" not in vectors:
            message.angular_velocity_covariance = absent
        return message

    def _vector(self, kind: str, raw: dict[str, int]) -> Three:
        """Return a vector in the axes of the machine."""
        names = [f"in_{kind}_{axis}" for axis in _AXES]
        values = [(raw[each] + self._offsets[each]) * self._scales[each] for each in names]
        x, y, z = (
            math.fsum(a * b for a, b in zip(row, values, strict=True)) for row in self._mounts[kind]
        )
        return x, y, z


def check_mode(backend: Iio) -> None:
    """Raise a TransportError if there is no such mode."""
    if backend.mode not in _MODES:
        raise TransportError(f"expected mode as {' or '.join(_MODES)}, got {backend.mode!r}")


def _found(root: Path, name: str) -> Path:
    """Return the folder of a device by its number or name."""
    devices = sorted(root.glob("iio:device*"))
    for device in devices:
        if device.name == f"iio:device{name}" or _name(device) == name:
            return device
    known: Sequence[str] = [f"{d.name.removeprefix('iio:device')} ({_name(d)})" for d in devices]
    raise TransportError(
        f"iio:{name}: there is no such device in {root}; there are: {', '.join(known) or 'none'}"
    )


def _name(device: Path) -> str:
    path = device / "name"
    return path.read_text().strip() if path.is_file() else ""
