"""World and body frames, and exact conversions between them.

Every conversion between these frames permutes axes and reverses some of them. Vectors and
covariances are therefore converted without rounding. Quaternions are converted by a 4x4
matrix of 0 and +-1 and one common factor 1, 1/2 or sqrt(1/2): a half turn about an axis (FLU
and FRD, NED and NWU) is exact, every other conversion rounds in the last digit. The map is
linear, so a continuous quaternion stays continuous, and a chain of conversions gives the same
sign as the direct one.

The table ``_AXES`` below defines the frames. The Webots frame EUN is named after east, but in
a right-handed frame with y up and z north the x axis points west.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from strapdown._checks import as_floats
from strapdown.errors import FrameError
from strapdown.geometry import quaternion

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray, IntArray

__all__ = [
    "BodyFrame",
    "Frame",
    "WorldFrame",
    "convert_covariance",
    "convert_quaternion",
    "convert_vector",
    "frame",
]


class WorldFrame(StrEnum):
    """A frame fixed to the ground, named by its x, y and z axes (EUN: x points west)."""

    ENU = "ENU"
    NED = "NED"
    NWU = "NWU"
    NUE = "NUE"
    EUN = "EUN"


class BodyFrame(StrEnum):
    """A frame fixed to the body, named by its x, y and z axes."""

    FLU = "FLU"
    FRD = "FRD"
    FUR = "FUR"


Frame: TypeAlias = WorldFrame | BodyFrame

_AXES: Final[dict[Frame, tuple[str, str, str]]] = {
    WorldFrame.ENU: ("east", "north", "up"),
    WorldFrame.NED: ("north", "east", "down"),
    WorldFrame.NWU: ("north", "west", "up"),
    WorldFrame.NUE: ("north", "up", "east"),
    WorldFrame.EUN: ("west", "up", "north"),
    BodyFrame.FLU: ("forward", "left", "up"),
    BodyFrame.FRD: ("forward", "right", "down"),
    BodyFrame.FUR: ("forward", "up", "right"),
}

# Each direction as a row in the reference frame, ENU for the world and FLU for the body.
_DIRECTIONS: Final = {
    "east": (1, 0, 0),
    "west": (-1, 0, 0),
    "north": (0, 1, 0),
    "forward": (1, 0, 0),
    "left": (0, 1, 0),
    "right": (0, -1, 0),
    "up": (0, 0, 1),
    "down": (0, 0, -1),
}


def frame(name: Frame | str) -> Frame:
    """Return the frame that ``name`` is or names.

    Raises
    ------
    FrameError
        There is no such frame.
    """
    for kind in (WorldFrame, BodyFrame):
        if name in kind.__members__:
            return kind(name)
    raise FrameError(f"expected a frame among {', '.join(_AXES)}, got {name!r}")


def convert_vector(v: ArrayLike, source: Frame | str, target: Frame | str) -> FloatArray:
    """Express vectors in another frame, without rounding.

    Parameters
    ----------
    v : array_like, shape (..., 3)
        Components in ``source``, in any unit.
    source, target : WorldFrame or BodyFrame, or a name
        Two frames of the same kind.

    Returns
    -------
    ndarray, shape (..., 3)
        Components in ``target``.

    Raises
    ------
    FrameError
        A frame is missing or unknown, or one is of the world and the other of the body.
    """
    index, sign = _permutation(*_pair(source, target, WorldFrame, BodyFrame))
    vectors = as_floats(v, "v", (3,))
    converted = np.empty(vectors.shape)
    for axis in range(3):
        np.multiply(vectors[..., index[axis]], sign[axis], out=converted[..., axis])
    return converted


def convert_covariance(c: ArrayLike, source: Frame | str, target: Frame | str) -> FloatArray:
    """Express covariances, or other tensors, in another frame, without rounding.

    Markers such as a negative first element are not interpreted: they are converted as numbers.

    Parameters
    ----------
    c : array_like, shape (..., 3, 3)
        Components in ``source``.
    source, target : WorldFrame or BodyFrame, or a name
        Two frames of the same kind.

    Returns
    -------
    ndarray, shape (..., 3, 3)
        Components in ``target``.

    Raises
    ------
    FrameError
        As :func:`convert_vector`.
    """
    index, sign = _permutation(*_pair(source, target, WorldFrame, BodyFrame))
    picked = as_floats(c, "c", (3, 3))[..., index[:, np.newaxis], index]
    return picked * (sign[:, np.newaxis] * sign)


def convert_quaternion(
    q: ArrayLike,
    *,
    world: tuple[WorldFrame | str, WorldFrame | str] | None = None,
    body: tuple[BodyFrame | str, BodyFrame | str] | None = None,
) -> FloatArray:
    """Convert the attitude ``q_world_from_body`` to other frames.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        ``q_world_from_body`` between the source frames.
    world, body : (source, target), optional
        Conversion of each side; None leaves that side unchanged.

    Returns
    -------
    ndarray, shape (..., 4)
        ``q_world_from_body`` between the target frames: the image of ``q`` under a linear
        map, so its sign follows the sign of ``q``.

    Raises
    ------
    FrameError
        As :func:`convert_vector`, or a body frame is given for the world or the reverse.
    """
    world_pair = _pair(*world, WorldFrame) if world is not None else (WorldFrame.ENU,) * 2
    body_pair = _pair(*body, BodyFrame) if body is not None else (BodyFrame.FLU,) * 2
    matrix, factor = _quaternion_map(*world_pair, *body_pair)
    return np.asarray(as_floats(q, "q", (4,)) @ matrix * factor)


def _pair(
    source: Frame | str, target: Frame | str, *kinds: type[WorldFrame | BodyFrame]
) -> tuple[Frame, Frame]:
    """Return two frames of the same kind."""
    for kind in kinds:
        if source in kind.__members__ and target in kind.__members__:
            return kind(source), kind(target)
    choice = " or ".join(f"two of {', '.join(kind)}" for kind in kinds)
    raise FrameError(
        f"expected {choice}, got {source!s} -> {target!s}; name the frame of the data and the"
        " frame to convert to"
    )


def _matrix(of: Frame) -> FloatArray:
    """Return the matrix whose rows are the axes of a frame in its reference frame."""
    return np.array([_DIRECTIONS[axis] for axis in _AXES[of]], dtype=np.float64)


@cache
def _permutation(source: Frame, target: Frame) -> tuple[IntArray, FloatArray]:
    """Return for each target axis the source axis that it lies on, and its sign."""
    matrix = _matrix(target) @ _matrix(source).T
    return np.argmax(np.abs(matrix), axis=1), matrix.sum(axis=1)


@cache
def _quaternion_map(
    world_source: Frame, world_target: Frame, body_source: Frame, body_target: Frame
) -> tuple[FloatArray, float]:
    """Return matrix M of 0 and +-1 and factor f with ``q_target = f q_source M``."""
    left = quaternion.multiply(
        _whole_quaternion(world_target), quaternion.conjugate(_whole_quaternion(world_source))
    )
    right = quaternion.multiply(
        _whole_quaternion(body_source), quaternion.conjugate(_whole_quaternion(body_target))
    )
    # The factors are whole quaternions of norm^2 1, 2 or 4, so the entries of one map share
    # one magnitude: those that are not zero count 1, 2 or 4 in a row.
    images = quaternion.multiply(quaternion.multiply(left, np.eye(4)), right)
    matrix = images / np.max(np.abs(images))
    return matrix, float(np.sqrt(1.0 / np.count_nonzero(matrix[0])))


def _whole_quaternion(of: Frame) -> FloatArray:
    """Return the quaternion of :func:`_matrix`, scaled to entries 0 and +-1."""
    q = quaternion.from_matrix(_matrix(of))
    return np.asarray(np.rint(q / np.max(np.abs(q))))
