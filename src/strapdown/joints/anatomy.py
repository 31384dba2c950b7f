"""Kinds of joints, and names and signs of the angles of anatomical ones.

Axes of a segment in the recommendation of the International Society of Biomechanics (ISB): x
forward, y up along the segment, z to the right. The angles of a joint are about z of the first
segment, y of the second, and x between them: ``R = Rz Rx Ry``, the joint coordinate system of
Grood and Suntay. Positive angles about z, x and y of a right limb are flexion (of the knee:
extension), adduction and internal rotation.

References
----------
E. S. Grood, W. J. Suntay, J. Biomechanical Engineering 105, 1983; G. Wu et al., J. Biomechanics
35, 2002 (ankle, hip) and 38, 2005 (elbow, wrist).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GENERIC", "JOINTS", "Joint", "JointKind", "Side"]


class JointKind(StrEnum):
    """Number of axes of a joint: one, two or three."""

    HINGE = "hinge"
    SADDLE = "saddle"
    BALL = "ball"

    @property
    def axes(self) -> int:
        """Degrees of freedom."""
        return list(JointKind).index(self) + 1


class Side(StrEnum):
    """Side of the body."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True)
class Joint:
    """Angles of a joint.

    Parameters
    ----------
    names : tuple of str
        Of the angles about z, x and y.
    sign : {1, -1}
        Of the first angle against a right-handed turn about z, which points to the right.
    larger : {1, -1}
        Direction of the first angle in which the joint moves farther from its neutral pose; it
        determines the direction of z.
    second : {"x", "y"}
        Axis of the second segment, if the joint is taken for one with two axes.
    """

    names: tuple[str, str, str]
    sign: Literal[1, -1] = 1
    larger: Literal[1, -1] = 1
    second: Literal["x", "y"] = "y"


JOINTS: Final[Mapping[str, Joint]] = {
    "hip": Joint(("flexion", "adduction", "internal_rotation")),
    "knee": Joint(("flexion", "adduction", "internal_rotation"), sign=-1),
    "ankle": Joint(("dorsiflexion", "inversion", "internal_rotation"), larger=-1, second="x"),
    "elbow": Joint(("flexion", "adduction", "pronation")),
    "wrist": Joint(("flexion", "ulnar_deviation", "pronation"), second="x"),
}
"""Anatomical joints by name."""

GENERIC: Final = {
    JointKind.HINGE: ("angle",),
    JointKind.SADDLE: ("first_angle", "second_angle"),
    JointKind.BALL: ("angle_z", "angle_x", "angle_y"),
}
"""Names of the angles of a joint that is not named."""
