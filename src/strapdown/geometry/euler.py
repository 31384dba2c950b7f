"""Roll, pitch and yaw in named conventions.

Angles are ``(..., 3)`` in the order roll, pitch, yaw [rad]. :func:`describe` defines each
convention; there are four because programs that use the names "roll, pitch, yaw" disagree on
axes, signs and ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import pi
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_floats, as_member
from strapdown.geometry.formulas import (
    quaternion_from_half_angles_zyx,
    webots_enu_terms,
    webots_nue_terms,
)
from strapdown.geometry.frames import BodyFrame, WorldFrame, convert_quaternion

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["EulerConvention", "EulerDescription", "describe", "from_quaternion", "to_quaternion"]

_GIMBAL_COSINE: Final = 1e-9  # cosine of the pitch below which roll and yaw are one rotation


class EulerConvention(StrEnum):
    """Definition of roll, pitch and yaw; see :func:`~strapdown.geometry.euler.describe`."""

    ZYX = "zyx"
    WEBOTS_DOCUMENTED = "webots_documented"
    WEBOTS_NUE = "webots_nue"
    WEBOTS_ENU = "webots_enu"


@dataclass(frozen=True, slots=True)
class EulerDescription:
    """The meaning of an Euler convention.

    Parameters
    ----------
    sequence : str
        The rotation ``R_world_from_body`` as a product of turns about coordinate axes.
    ranges : tuple of (low, high)
        Of roll, pitch and yaw as returned by :func:`from_quaternion` [rad].
    gimbal : str
        Behaviour where the nose points straight up or down.
    world, body : WorldFrame and BodyFrame, or None
        The frames that the quaternion is between; None where the convention fits any.
    """

    sequence: str
    ranges: tuple[tuple[float, float], tuple[float, float], tuple[float, float]]
    gimbal: str
    world: WorldFrame | None
    body: BodyFrame | None


_RANGES: Final = ((-pi, pi), (-pi / 2.0, pi / 2.0), (-pi, pi))
_ROLL_ZERO: Final = "cos(pitch) <= 1e-9: roll is 0 and yaw is the whole turn"

_DESCRIPTIONS: Final = {
    EulerConvention.ZYX: EulerDescription(
        "Rz(yaw) Ry(pitch) Rx(roll)", _RANGES, _ROLL_ZERO, None, None
    ),
    EulerConvention.WEBOTS_DOCUMENTED: EulerDescription(
        "Ry(-yaw) Rz(pitch) Rx(roll), yaw as a compass (east is +pi/2)",
        _RANGES,
        _ROLL_ZERO,
        WorldFrame.NUE,
        BodyFrame.FUR,
    ),
    EulerConvention.WEBOTS_NUE: EulerDescription(
        "Ry(yaw) Rz(pitch) Rx(roll)",
        _RANGES,
        "not treated: roll and yaw are decided by rounding, pitch is NaN where the sine"
        " rounds above 1",
        WorldFrame.NUE,
        BodyFrame.FUR,
    ),
    EulerConvention.WEBOTS_ENU: EulerDescription(
        "Rz(yaw) Ry(pitch) Rx(roll)",
        _RANGES,
        "not treated: roll and yaw are decided by rounding",
        WorldFrame.ENU,
        BodyFrame.FLU,
    ),
}


def describe(convention: EulerConvention | str) -> EulerDescription:
    """Return the sequence, ranges, gimbal behaviour and frames of a convention.

    Raises
    ------
    UnknownNameError
        There is no such convention.
    """
    return _DESCRIPTIONS[as_member(EulerConvention, convention, "Euler convention")]


def to_quaternion(roll_pitch_yaw: ArrayLike, convention: EulerConvention | str) -> FloatArray:
    """Return the attitude of roll, pitch and yaw.

    Parameters
    ----------
    roll_pitch_yaw : array_like, shape (..., 3)
        Any angles [rad], also outside the ranges of :func:`describe`.
    convention : EulerConvention, or its value
        Convention of the angles.

    Returns
    -------
    ndarray, shape (..., 4)
        ``q_world_from_body`` between the frames of the convention; rows with NaN are NaN.

    Raises
    ------
    UnknownNameError
        There is no such convention.
    """
    convention = as_member(EulerConvention, convention, "Euler convention")
    angles = as_floats(roll_pitch_yaw, "roll_pitch_yaw", (3,))
    if convention is EulerConvention.WEBOTS_DOCUMENTED:
        return convert_quaternion(
            _zyx_quaternion(angles),
            world=(WorldFrame.NED, WorldFrame.NUE),
            body=(BodyFrame.FRD, BodyFrame.FUR),
        )
    if convention is EulerConvention.WEBOTS_NUE:  # z to the right turns against y to the left
        return convert_quaternion(
            _zyx_quaternion(angles * np.array([1.0, -1.0, 1.0])),
            world=(WorldFrame.NWU, WorldFrame.NUE),
            body=(BodyFrame.FLU, BodyFrame.FUR),
        )
    return _zyx_quaternion(angles)


def from_quaternion(q: ArrayLike, convention: EulerConvention | str) -> FloatArray:
    """Return roll, pitch and yaw of an attitude.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        Unit ``q_world_from_body`` between the frames of the convention
        (:func:`strapdown.geometry.frames.convert_quaternion` converts others).
    convention : EulerConvention, or its value
        Convention of the angles.

    Returns
    -------
    ndarray, shape (..., 3)
        Roll, pitch, yaw [rad]; rows with NaN are NaN.

    Raises
    ------
    UnknownNameError
        There is no such convention.
    """
    convention = as_member(EulerConvention, convention, "Euler convention")
    q = as_floats(q, "q", (4,))
    if convention is EulerConvention.WEBOTS_NUE:
        return _webots_nue_angles(q)
    if convention is EulerConvention.WEBOTS_ENU:
        return _webots_enu_angles(q)
    if convention is EulerConvention.WEBOTS_DOCUMENTED:  # ZYX of the aerospace frames
        q = convert_quaternion(
            q, world=(WorldFrame.NUE, WorldFrame.NED), body=(BodyFrame.FUR, BodyFrame.FRD)
        )
    return _zyx_angles(q)


def _zyx_quaternion(angles: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):  # an infinite angle is no rotation: NaN
        sine, cosine = np.sin(0.5 * angles), np.cos(0.5 * angles)
    roll, pitch, yaw = ((sine[..., i], cosine[..., i]) for i in range(3))
    return np.stack(quaternion_from_half_angles_zyx(*roll, *pitch, *yaw), axis=-1)


def _zyx_angles(q: FloatArray) -> FloatArray:
    """Return the angles from sums and differences of roll and yaw, accurate at any pitch.

    With s and c the sine and cosine of half the pitch, the components combine into
    ``(w - y, z + x) = (c - s) (cos, sin)((yaw + roll) / 2)`` and
    ``(w + y, z - x) = (c + s) (cos, sin)((yaw - roll) / 2)``
    (E. Bernardes and S. Viollet, "Quaternion to Euler angles conversion: a direct, general and
    computationally efficient method", PLOS ONE 17(11), 2022).
    """
    x, y, z, w = np.moveaxis(q, -1, 0)
    half_sum = np.arctan2(z + x, w - y)
    half_difference = np.arctan2(z - x, w + y)
    sine = 2.0 * (w * y - x * z)
    cosine = np.hypot(w - y, z + x) * np.hypot(w + y, z - x)
    gimbal = cosine <= _GIMBAL_COSINE
    whole_turn = 2.0 * np.where(sine > 0.0, half_difference, half_sum)
    roll = np.where(gimbal, 0.0, half_sum - half_difference)
    yaw = np.where(gimbal, whole_turn, half_sum + half_difference)
    return np.stack([_wrapped(roll), np.arctan2(sine, cosine), _wrapped(yaw)], axis=-1)


def _wrapped(angle: FloatArray) -> FloatArray:
    """Wrap angles of up to one and a half turns to -pi ... pi."""
    turn = np.where(np.abs(angle) > pi, np.copysign(2.0 * pi, angle), 0.0)
    return angle - turn


def _webots_nue_angles(q: FloatArray) -> FloatArray:
    sin_roll, cos_roll, sine, sin_yaw, cos_yaw = webots_nue_terms(*np.moveaxis(q, -1, 0))
    with np.errstate(invalid="ignore"):  # not clamped there: NaN
        pitch = np.arcsin(sine)
    return np.stack([np.arctan2(sin_roll, cos_roll), pitch, np.arctan2(sin_yaw, cos_yaw)], axis=-1)


def _webots_enu_angles(q: FloatArray) -> FloatArray:
    sin_roll, cos_roll, sine, sin_yaw, cos_yaw = webots_enu_terms(*np.moveaxis(q, -1, 0))
    pitch = np.arcsin(np.clip(sine, -1, 1))
    return np.stack([np.arctan2(sin_roll, cos_roll), pitch, np.arctan2(sin_yaw, cos_yaw)], axis=-1)
