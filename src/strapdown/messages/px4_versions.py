"""Messages of earlier PX4 releases, converted to the current form.

A ULog describes its own layouts, and :func:`upgrade` takes the meaning of a field from its name
and type alone. A DDS sample does not, so :func:`decode_samples` derives the release from the size.

* an interval ``*_dt`` is in microseconds, in 16 bits up to v1.15, and in *seconds* where it is a
  float (``sensor_combined``, 2016 to 2017);
* ``calibration_count`` (v1.12) counts for both sensors;
* ``gyro_coning_vibration`` (v1.11) is ``delta_angle_coning_metric``;
* without ``timestamp_sample`` the message was stamped when it was published;
* up to v1.13 an odometry has its vectors axis by axis, the upper triangles of covariances, and
  other numbers for the frames.

A field that a release does not have is absent, not 0: it is named, and NaN where it is a float.
The vibration metrics of v1.11 are of increments (m/s, rad), not of rates.

References
----------
``msg/*.msg`` of PX4-Autopilot, tags v1.5.0 to v1.16.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import numpy as np

from strapdown.errors import FormatError
from strapdown.messages.px4 import (
    SensorAccel,
    SensorCombined,
    SensorGyro,
    VehicleImu,
    VehicleImuStatus,
)
from strapdown.messages.uorb import UorbMessage, decode_batch, uorb
from strapdown.messages.wire import in_payload, rows_by_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from strapdown._typing import AnyArray, IntArray
    from strapdown.messages.wire import Payload

__all__ = ["Upgraded", "decode_samples", "release", "upgrade"]

US_PER_S: Final = 1e6

_FORMER_NAMES: Final = {
    "timestamp_sample": "timestamp",
    "accel_calibration_count": "calibration_count",
    "gyro_calibration_count": "calibration_count",
    "delta_angle_coning_metric": "gyro_coning_vibration",
    "pose_frame": "local_frame",
}
_FORMER_COMPONENTS: Final = {
    "position": ("x", "y", "z"),
    "velocity": ("vx", "vy", "vz"),
    "angular_velocity": ("rollspeed", "pitchspeed", "yawspeed"),
}
# Indices of the variances in the upper triangle of a 6x6 matrix.
_FORMER_VARIANCES: Final = {
    "position_variance": ("pose_covariance", [0, 6, 11]),
    "orientation_variance": ("pose_covariance", [15, 18, 20]),
    "velocity_variance": ("velocity_covariance", [0, 6, 11]),
}
_FORMER_FRAMES: Final = np.array([1, 2, 0, 3], np.uint8)  # NED, FRD, other, body FRD
_STAGES: Final = ((255, "release"), (192, "rc"), (128, "beta"), (64, "alpha"), (0, "dev"))


def _former(kind: type[UorbMessage], changes: Mapping[str, str]) -> type[UorbMessage]:
    """Return a message with other fields: ``type name`` in place of a name, or nothing."""
    spelled = [changes.get(f.name, f"{f.spelled} {f.name}").split() for f in kind.fields]
    fields = {name: Annotated[object, of] for of, name in filter(None, spelled)}
    layout = {"__slots__": (), "__annotations__": fields}
    return uorb(kind.topic)(type(f"Former{kind.__name__}", (UorbMessage,), layout))


_SHORT: Final = {name: f"uint16 {name}" for name in ("delta_angle_dt", "delta_velocity_dt")}
_UNCLIPPED: Final = {"delta_angle_clipping": ""}
_UNCOUNTED: Final = {"accel_calibration_count": "", "gyro_calibration_count": ""}
_FORMER: Final = {
    VehicleImu: (
        _SHORT,  # mid 2022 to v1.15
        _SHORT | _UNCLIPPED,  # v1.13
        _SHORT | _UNCLIPPED | _UNCOUNTED | {"accel_calibration_count": "uint8 calibration_count"},
        _SHORT | _UNCLIPPED | _UNCOUNTED,  # v1.11
    ),
    VehicleImuStatus: ({"gyro_clipping": ""},),
    SensorCombined: ({"gyro_clipping": ""}, {"gyro_clipping": ""} | _UNCOUNTED),
    SensorGyro: ({"clip_counter": ""}, {"clip_counter": "", "samples": ""}),
    SensorAccel: ({"samples": ""},),
}
_BY_SIZE: Final[dict[tuple[type[UorbMessage], int], type[UorbMessage]]] = {
    (kind, 4 + former.cdr_dtype.itemsize): former
    for kind, releases in _FORMER.items()
    for former in (_former(kind, changes) for changes in releases)
}


class Upgraded(NamedTuple):
    """Messages in the current form."""

    records: NDArray[np.void]
    """(N,) array of the ``dtype`` of the message."""
    absent: tuple[str, ...]
    """Fields that the source does not have: NaN in floats, 0 in integers. A ``timestamp_sample``
    that is named here holds ``timestamp``."""


def upgrade(rows: NDArray[np.void], kind: type[UorbMessage]) -> Upgraded:
    """Convert rows of any version of a message to the current form.

    Parameters
    ----------
    rows : (N,) structured array
        With the fields of the FORMAT record of a log by name, arrays as subarrays; others are
        ignored.
    kind : type of UorbMessage
        Which message they are.

    Returns
    -------
    Upgraded
        Integers that do not fit are cut off at the limits of their field.

    Raises
    ------
    FormatError
        A field has another shape, or text or fractions where whole numbers belong; ``topic``
        is that of the message.
    """
    if rows.dtype == kind.dtype:
        return Upgraded(rows.copy(), ())
    records = np.zeros(len(rows), kind.dtype)
    if rows.dtype == kind.logged_dtype:  # the same but for padding at the end
        size = rows.itemsize
        padded = [("row", f"V{size}"), ("padding", f"V{records.itemsize - size}")]
        records.view(padded)["row"] = np.ascontiguousarray(rows).view(f"V{size}")
        return Upgraded(records, ())
    names, absent = rows.dtype.names or (), []
    for field in kind.fields:
        values = _column(rows, field.name)
        if values is None or (field.name == "timestamp_sample" and field.name not in names):
            absent.append(field.name)
        if values is None:
            records[field.name] = np.nan if field.scalar.kind == "f" else 0
        else:
            records[field.name] = _fitted(values, field.name, kind)
    if "local_frame" in names:
        for name in {"pose_frame", "velocity_frame"} - set(absent):
            records[name] = _FORMER_FRAMES[np.minimum(records[name], 3)]
    return Upgraded(records, tuple(absent))


def decode_samples(
    kind: type[UorbMessage], payloads: Sequence[Payload], *, lenient: bool = False
) -> tuple[Upgraded, IntArray]:
    """Read DDS samples of one type from any release, distinguished by their size.

    Parameters
    ----------
    kind : type of UorbMessage
        Which message they hold.
    payloads : sequence of bytes-like
        One whole payload each.
    lenient : bool
        Leave out unreadable payloads instead of raising.

    Returns
    -------
    upgraded : Upgraded
        The messages in the order of ``payloads``.
    malformed : (M,) int64
        Indices of the payloads that were left out.

    Raises
    ------
    FormatError
        As :func:`~strapdown.messages.uorb.decode_batch`.
    """
    records, readable = np.zeros(len(payloads), kind.dtype), np.ones(len(payloads), np.bool_)
    absent: set[str] = set()
    sizes = np.fromiter(map(len, payloads), np.int64, len(payloads))
    for rows in rows_by_key(sizes):
        layout = _BY_SIZE.get((kind, int(sizes[rows[0]])), kind)
        alike = payloads if len(rows) == len(payloads) else [payloads[row] for row in rows]
        found, bad = decode_batch(layout, alike, lenient=True)
        if bad.size and not lenient:
            try:
                layout.from_cdr(payloads[rows[bad[0]]])
            except FormatError as error:
                raise in_payload(int(rows[bad[0]]), error) from None
        readable[rows[bad]] = False
        upgraded = upgrade(found, kind)
        records[np.delete(rows, bad)] = upgraded.records
        absent.update(upgraded.absent)
    missing = tuple(field.name for field in kind.fields if field.name in absent)
    return Upgraded(records[readable], missing), np.flatnonzero(~readable)


def release(ver_sw_release: int) -> tuple[int, int, int, str]:
    """Return major, minor and patch number and stage of a firmware.

    Parameters
    ----------
    ver_sw_release : int
        Of the information of a ULog: ``0xMMmmppTT``.

    Returns
    -------
    tuple of (int, int, int, str)
        The stage is ``"release"``, ``"rc"``, ``"beta"``, ``"alpha"`` or ``"dev"``.

    Examples
    --------
    >>> release(0x010B02FF)
    (1, 11, 2, 'release')
    """
    major, minor, patch, stage = (ver_sw_release & 0xFFFFFFFF).to_bytes(4, "big")
    return major, minor, patch, next(name for least, name in _STAGES if stage >= least)


def _column(rows: NDArray[np.void], name: str) -> AnyArray | None:
    """Return a field, from its predecessor in former versions if need be."""
    names = rows.dtype.names or ()
    for spelled in (name, _FORMER_NAMES.get(name, name)):
        if spelled in names:
            return rows[spelled]
    components = _FORMER_COMPONENTS.get(name, ("",))
    if all(component in names for component in components):
        return np.stack([rows[component] for component in components], axis=-1)
    matrix, at = _FORMER_VARIANCES.get(name, ("", []))
    if matrix in names and rows.dtype[matrix].shape == (21,):
        return rows[matrix][:, at]
    return None


def _fitted(values: AnyArray, name: str, kind: type[UorbMessage]) -> AnyArray:
    """Return a column in the type of its field."""
    field = kind.dtype[name]
    scalar, source = field.base, values.dtype.kind
    seconds = source == "f" and scalar.kind == "u" and name.endswith("_dt")
    whole = source in "biu"
    if values.shape[1:] != field.shape or not (whole or seconds or scalar.kind == source == "f"):
        raise FormatError(
            f"expected {name} as {field}, got {values.dtype} of shape {values.shape[1:]}",
            topic=kind.topic,
        )
    if scalar.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):  # a double, a signalling NaN
            return values.astype(scalar)
    limits = np.iinfo(scalar)
    if seconds:
        with np.errstate(over="ignore", invalid="ignore"):
            us = np.rint(np.nan_to_num(values.astype(np.float64)) * US_PER_S)
        return np.clip(us, limits.min, limits.max).astype(scalar)
    if source == "b" or np.can_cast(values.dtype, scalar):
        return values.astype(scalar)
    given = np.iinfo(values.dtype)
    low, high = max(limits.min, given.min), min(limits.max, given.max)
    return np.clip(values, low, high).astype(scalar)
