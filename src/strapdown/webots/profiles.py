"""Profiles: device behaviour of each generation of Webots, and that of its manual.

A profile is chosen by name and never guessed from a world. ``documented`` does what the reference
manual says in words; the others play the released simulator of that year, quirks included.
:data:`DIFFERENCES` lists for a reader the differences that :class:`Profile` defines for the code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DIFFERENCES",
    "PROFILES",
    "Acceleration",
    "Angles",
    "Difference",
    "DisabledAxis",
    "InertialFrame",
    "InertialNoise",
    "Profile",
    "Rounding",
    "Unsupported",
    "find_profile",
]


class InertialFrame(StrEnum):
    """Frame that an InertialUnit measures its attitude against."""

    COMPASS = "F' R, with F of north, up, north x up"
    WORLD = "R: world axes"
    WRONG_SIDE = "R F' instead of F' R"


class Angles(StrEnum):
    """Source of roll, pitch and yaw."""

    AXES = "axis vectors; yaw as a compass, pitch up"
    COORDINATE_SYSTEM = "quaternion, NUE or ENU formulas"
    NUE = "quaternion, NUE formulas"
    MATRIX = "rotation matrix, in the simulator"


class InertialNoise(StrEnum):
    """Meaning of the field ``noise`` of an InertialUnit."""

    ANGLES = "noise pi/2 on each angle"
    ROTATION = "noise pi about each axis of the unit"
    NONE = "none"


class DisabledAxis(StrEnum):
    """Effect of a FALSE axis of an InertialUnit."""

    NAN = "NaN for that angle"
    ROTATION_AXIS = "a component of the rotation axis is set to 0"
    ROTATION_AXIS_DEAD_ZONE = "as ROTATION_AXIS; very small rotations read as none"
    ROLL = "roll is removed; pitch and yaw have no switch"


class Rounding(StrEnum):
    """Rule by which a value is rounded to a resolution."""

    SYMMETRIC = "nearest step, ties away from zero"
    TRUNCATING = "half a step added, truncated toward zero"


class Acceleration(StrEnum):
    """Source of the acceleration of an Accelerometer."""

    EXACT = "exact"
    DIFFERENCE = "velocity difference over the period"
    BODY_POINT_DIFFERENCE = "velocity difference of a point at the translation in the body"


class Unsupported(StrEnum):
    """Reading of an Accelerometer whose parent has no Physics."""

    MEASURED = "measured, with one warning"
    NAN = "NaN, with one warning"
    GRAVITY = "-gravity, no warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Behaviour of devices.

    Parameters
    ----------
    name : str
    version : str
        The release that is reported to a controller.
    inertial_frame, angles, inertial_noise, disabled_axis
        For InertialUnits. ``angles`` also determines what their resolution rounds, and whether they
        have a lookup table.
    has_quaternion : bool
        Whether an InertialUnit has ``getQuaternion`` and ``getNoise``.
    rounding : Rounding
        For all devices.
    acceleration, without_physics
        For Accelerometers.
    shared_stream : bool
        One stream of random numbers for the simulation, instead of one per device.
    keeps_vectors : bool
        The gravity vector and ``northDirection`` of an old file count as they are written.
    period_16_bit : bool
        A sampling period is read as a signed 16-bit integer.
    integral_floats : bool
        Periods and durations may be floats without a fraction.
    refuses_values : bool
        Setting a field to a value out of its range is an error; otherwise Webots' default is set.
    stamps_samples : bool
        Messages to ROS carry the time of their sample and the variance of the sensor noise;
        otherwise the time of publication and no variance.
    """

    name: str
    version: str
    inertial_frame: InertialFrame
    angles: Angles
    inertial_noise: InertialNoise
    disabled_axis: DisabledAxis
    has_quaternion: bool
    rounding: Rounding
    acceleration: Acceleration
    without_physics: Unsupported
    shared_stream: bool
    keeps_vectors: bool
    period_16_bit: bool
    integral_floats: bool
    refuses_values: bool
    stamps_samples: bool

    @property
    def client_computes_angles(self) -> bool:
        """Whether an InertialUnit sends its quaternion only, as the wire protocol does."""
        return self.angles in {Angles.COORDINATE_SYSTEM, Angles.NUE}


_DOCUMENTED: Final = Profile(
    name="documented",
    version="R2025a",
    inertial_frame=InertialFrame.COMPASS,
    angles=Angles.AXES,
    inertial_noise=InertialNoise.ANGLES,
    disabled_axis=DisabledAxis.NAN,
    has_quaternion=True,
    rounding=Rounding.SYMMETRIC,
    acceleration=Acceleration.EXACT,
    without_physics=Unsupported.MEASURED,
    shared_stream=False,
    keeps_vectors=True,
    period_16_bit=False,
    integral_floats=True,
    refuses_values=True,
    stamps_samples=True,
)
_R2025A: Final = Profile(
    name="R2025a",
    version="R2025a",
    inertial_frame=InertialFrame.WORLD,
    angles=Angles.COORDINATE_SYSTEM,
    inertial_noise=InertialNoise.ROTATION,
    disabled_axis=DisabledAxis.ROTATION_AXIS,
    has_quaternion=True,
    rounding=Rounding.TRUNCATING,
    acceleration=Acceleration.DIFFERENCE,
    without_physics=Unsupported.NAN,
    shared_stream=True,
    keeps_vectors=False,
    period_16_bit=True,
    integral_floats=False,
    refuses_values=False,
    stamps_samples=False,
)
_R2023B: Final = replace(
    _R2025A,
    name="R2023b",
    version="R2023b",
    disabled_axis=DisabledAxis.ROTATION_AXIS_DEAD_ZONE,
)
_R2021A: Final = replace(
    _R2023B,
    name="R2021a",
    version="R2021a",
    inertial_frame=InertialFrame.WRONG_SIDE,
    angles=Angles.NUE,
    disabled_axis=DisabledAxis.ROLL,
)
_R2020A: Final = replace(
    _R2021A,
    name="R2020a",
    version="R2020a",
    angles=Angles.MATRIX,
    inertial_noise=InertialNoise.NONE,
    disabled_axis=DisabledAxis.NAN,
    has_quaternion=False,
    acceleration=Acceleration.BODY_POINT_DIFFERENCE,
    without_physics=Unsupported.GRAVITY,
    keeps_vectors=True,
)

PROFILES: Final[Mapping[str, Profile]] = MappingProxyType(
    {profile.name: profile for profile in (_DOCUMENTED, _R2025A, _R2023B, _R2021A, _R2020A)}
)
"""All profiles by name: the manual, then releases from new to old.

``R2025a`` covers R2024a and later, ``R2023b`` R2021b to R2023b, ``R2021a`` that release with its
revision, and ``R2020a`` R2019a to R2020a; version 7 did the same, as far as its manual states.
``R2023b`` differs from ``R2025a`` in one behaviour: ``disabled_axis`` of an InertialUnit.
"""


def find_profile(name: str | Profile) -> Profile:
    """Return a profile by its name; a profile is returned unchanged.

    Raises
    ------
    UnknownNameError
        There is no such profile.
    """
    if isinstance(name, Profile):
        return name
    try:
        return PROFILES[name]
    except (KeyError, TypeError):
        raise UnknownNameError("profile", str(name), PROFILES, nearest=len(PROFILES)) from None


class Difference(NamedTuple):
    """One topic on which profiles differ, in words; a field for each profile."""

    topic: str
    documented: str
    R2025a: str
    R2021a: str
    R2020a: str
    R2023b: str = "as R2025a"


DIFFERENCES: Final = (
    Difference(
        "reference frame of InertialUnit",
        "F = (north, up, north x up): attitude F' R of the rotation R of the unit",
        "world axes: attitude R",
        "F as documented, but attitude R F'",
        "as R2021a, with F from the gravity vector and northDirection",
    ),
    Difference(
        "angle formulas",
        "by axis vectors",
        "NUE or ENU by coordinateSystem; EUN uses ENU",
        "NUE formulas always",
        "in the simulator, from the matrix",
    ),
    Difference("yaw when heading east, NUE", "+pi/2", "-pi/2", "-pi/2", "-pi/2"),
    Difference(
        "pitch sign",
        "+ is nose up, always",
        "NUE: + is up; ENU: + is down",
        "NUE: + is up",
        "NUE: + is up",
    ),
    Difference(
        "noise of InertialUnit",
        "sigma = noise pi/2, added to each angle",
        "sigma = noise pi, about each axis of the unit",
        "as R2025a",
        "none, only lookupTable",
    ),
    Difference(
        "disabled axis of InertialUnit",
        "that angle is NaN, the others are exact",
        "never NaN: a component of the rotation axis is set to 0, which changes all angles",
        "xAxis: roll is removed; yAxis, zAxis: ignored",
        "NaN",
        R2023b="as R2025a; within 0.3 deg, no rotation and half a turn read as exact",
    ),
    Difference(
        "resolution of InertialUnit",
        "each angle, symmetric",
        "each component of the quaternion",
        "as R2025a",
        "each angle; yAxis enables the rounding of pitch, zAxis that of yaw",
    ),
    Difference(
        "`zAxis FALSE` (the page: the second element is NaN)",
        "pitch, the second angle, is NaN",
        "pitch is a number: y of the rotation axis is set to 0",
        "no effect",
        "pitch is NaN; with a resolution r and yAxis TRUE it is -2147483648 r",
    ),
    Difference(
        "`resolution 0` (the page: in the list of valid values, not in the text)",
        "refused from Python; in a file -1, one warning",
        "-1, one warning; Webots does so only if the field changes, here also in a file",
        "as R2025a",
        "as R2025a",
    ),
    Difference(
        "`noise 1.0` (the page: not in the range [0, 1), but defined as pi/2)",
        "accepted: sigma = pi/2; above 1 as `resolution 0`, with 0 in a file",
        "accepted: sigma = pi; no limit",
        "as R2025a",
        "no effect: the field does not exist",
    ),
    Difference(
        "rounding",
        "symmetric, ties away from zero",
        "trunc(v/r + 0.5) r",
        "as R2025a",
        "as R2025a",
    ),
    Difference("lookupTable of InertialUnit", "used", "ignored", "ignored", "used"),
    Difference("getQuaternion, getNoise", "yes", "yes", "yes", "absent (AttributeError)"),
    Difference(
        "quaternion",
        "unit, w >= 0, consistent with the angles",
        "either sign, not unit after rounding",
        "as R2025a",
        "-",
    ),
    Difference(
        "Accelerometer",
        "exact specific force",
        "velocity difference over the period",
        "as R2025a",
        "as R2025a, of the wrong point in merged solids",
    ),
    Difference(
        "Accelerometer without Physics",
        "measured, one warning",
        "NaN, one warning",
        "as R2025a",
        "-gravity, no warning",
    ),
    Difference(
        "random numbers",
        "one stream for each device",
        "one stream for the simulation",
        "as R2025a",
        "as R2025a",
    ),
    Difference("value before the first sample", "NaN", "NaN", "NaN", "NaN"),
)
"""The differences in words: one row for each topic."""
