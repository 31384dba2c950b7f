"""Kinds of samples: one vocabulary for sensors and for algorithms."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from strapdown.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["SampleKind", "as_kind"]


class SampleKind(StrEnum):
    """Meaning of one sample; its interval is the time since the sample before."""

    POINT = "point"
    """The value at the stamp: a single reading of a chip, an entry of a FIFO."""
    MEAN = "mean"
    """The mean over the interval that ends at the stamp: a driver that averages a FIFO."""
    INTEGRAL = "integral"
    """The integral over that interval, in the turning sensor axes [rad], [m/s]."""
    PREINTEGRATED = "preintegrated"
    """The exact increment: rotation vector, and change of velocity in the axes at the start."""
    VELOCITY_DIFFERENCE = "velocity_difference"
    """Angular velocity at the stamp; specific force from the change of velocity since the
    (internal) sample before, in the axes at the stamp; not ready at the first sample."""

    @property
    def is_mean(self) -> bool:
        """Whether a sample is a mean rate over its interval, or such a mean times the interval."""
        return self in {SampleKind.MEAN, SampleKind.INTEGRAL}

    @property
    def is_increment(self) -> bool:
        """Whether samples are increments instead of rates."""
        return self in {SampleKind.INTEGRAL, SampleKind.PREINTEGRATED}

    @property
    def needs_pose(self) -> bool:
        """Whether poses are needed in addition to rates: states of the motion are compared."""
        return self in {SampleKind.PREINTEGRATED, SampleKind.VELOCITY_DIFFERENCE}


_FORMER: Final = {"rate": "point", "average": "mean", "increment": "integral"}


def as_kind(value: object, known: Iterable[SampleKind] = SampleKind) -> SampleKind:
    """Return the kind that a value is or names.

    Parameters
    ----------
    value : SampleKind or str
    known : iterable of SampleKind
        Accepted kinds.

    Raises
    ------
    UnknownNameError
        It is none of these; for the name of an earlier version the message gives the new one.
    """
    name, words = str(value), [kind.value for kind in known]
    if name in words:
        return SampleKind(name)
    now = [word for word in words if word == _FORMER.get(name)]
    raise UnknownNameError("kind of sample", name, now or words)
