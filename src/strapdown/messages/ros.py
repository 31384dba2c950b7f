"""``RosImu``: ``sensor_msgs/Imu`` with its header, in the forms of ROS 1 and ROS 2.

The 37 numbers are one contiguous array, ``block``, in the order of the message, and every
field is a view of it:

===========  ==================================  =============================
``block``    field                               unit
===========  ==================================  =============================
``0:4``      ``orientation``                     x y z w
``4:13``     ``orientation_covariance``          rad^2
``13:16``    ``angular_velocity``                rad/s
``16:25``    ``angular_velocity_covariance``     rad^2/s^2
``25:28``    ``linear_acceleration``             m/s^2, specific force
``28:37``    ``linear_acceleration_covariance``  m^2/s^4
===========  ==================================  =============================

Body axes are FLU, the world is ENU (REP 103); special values of the covariances are in
:mod:`strapdown.messages.covariance`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from strapdown._checks import as_floats
from strapdown.errors import ShapeError
from strapdown.messages import cdr
from strapdown.messages._fields import fields_of
from strapdown.messages._record import fixed
from strapdown.messages.cdr import Stamped, Wire
from strapdown.messages.covariance import CovarianceStatus, status

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.messages.cdr import Payload

    Message = TypeVar("Message")

__all__ = ["RosImu", "in_block"]


class _View:
    """A field of a message as a writable view of its block."""

    def __init__(self, start: int, stop: int) -> None:
        self._part = slice(start, stop)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, message: None, owner: type) -> Self: ...
    @overload
    def __get__(self, message: RosImu, owner: type) -> FloatArray: ...
    def __get__(self, message: RosImu | None, owner: type) -> Self | FloatArray:
        return self if message is None else message.block[self._part]

    def __set__(self, message: RosImu, value: ArrayLike) -> None:
        view, numbers = message.block[self._part], as_floats(value, self._name, ())
        if numbers.shape != view.shape and not (numbers.shape == (3, 3) and view.size == 9):
            raise ShapeError(f"expected {self._name} of {view.size} numbers, got {numbers.shape}")
        view[:] = numbers.ravel()


def in_block(cls: type[Message]) -> type[Message]:
    """Complete a message class from the fields that it annotates: views of one block."""
    start = 0
    for field in fields_of(cls):
        view = _View(start, start := start + field.times)
        setattr(cls, field.name, view)
        view.__set_name__(cls, field.name)
    return cls


@in_block
class RosImu:
    """One ``sensor_msgs/Imu``.

    Parameters
    ----------
    header_stamp_ns : int
        Time in the header [ns].
    frame_id : str
        Frame that the header names.
    seq : int
        Sequence number of the ROS 1 header; ROS 2 has none.
    **fields : array_like
        Any field of the table above by name. By default ``orientation`` is the identity and
        everything else 0, as in a new ROS 2 message.

    Attributes
    ----------
    block : (37,) float64
        All numbers; the fields are writable views of it. A covariance may also be assigned as
        a 3x3 matrix.

    Raises
    ------
    TypeError
        There is no such field.
    ShapeError
        A field gets another number of values.

    Examples
    --------
    >>> message = RosImu(1_000_000_002, "imu_link", angular_velocity=[0.0, 0.0, 3.0])
    >>> RosImu.from_cdr(message.to_cdr()) == message
    True
    """

    __slots__ = ("block", "frame_id", "header_stamp_ns", "seq")

    block: NDArray[np.float64]
    orientation: Annotated[_View, "float64[4]"]
    orientation_covariance: Annotated[_View, "float64[3x3]"]
    angular_velocity: Annotated[_View, "float64[3]"]
    angular_velocity_covariance: Annotated[_View, "float64[3x3]"]
    linear_acceleration: Annotated[_View, "float64[3]"]
    linear_acceleration_covariance: Annotated[_View, "float64[3x3]"]

    def __init__(
        self, header_stamp_ns: int = 0, frame_id: str = "", seq: int = 0, **fields: ArrayLike
    ) -> None:
        self.header_stamp_ns = header_stamp_ns
        self.frame_id = frame_id
        self.seq = seq
        self.block = np.zeros(37)
        self.block[3] = 1.0
        for name, value in fields.items():
            if not isinstance(getattr(type(self), name, None), _View):
                raise TypeError(f"expected fields of sensor_msgs/Imu, got {name!r}")
            setattr(self, name, value)

    @classmethod
    def from_stamped(cls, message: Stamped) -> Self:
        """Copy a header and 37 numbers, such as one message of a :class:`cdr.Batch`.

        Raises
        ------
        ShapeError
            There are not 37 numbers.
        """
        made = cls(message.stamp_ns, message.frame_id, message.seq)
        made.block[:] = as_floats(message.values, "values", (37,))
        return made

    def to_stamped(self) -> Stamped:
        """Return the header and the numbers, which are not copied."""
        return Stamped(self.header_stamp_ns, self.frame_id, self.block, self.seq)

    @classmethod
    def from_cdr(cls, data: Payload) -> Self:
        """Read the ROS 2 form.

        Raises
        ------
        FormatError
            As :func:`strapdown.messages.cdr.decode`.
        """
        return cls.from_stamped(cdr.decode(data, 37))

    def to_cdr(self) -> bytes:
        """Return the ROS 2 form; ``seq`` is not in it.

        Raises
        ------
        ValueRangeError
            As :func:`strapdown.messages.cdr.encode`.
        """
        return cdr.encode(self.to_stamped())

    @classmethod
    def from_ros1(cls, data: Payload) -> Self:
        """Read the ROS 1 form.

        Raises
        ------
        FormatError
            As :func:`strapdown.messages.cdr.decode`.
        """
        return cls.from_stamped(cdr.decode(data, 37, Wire.ROS1))

    def to_ros1(self) -> bytes:
        """Return the ROS 1 form.

        Raises
        ------
        ValueRangeError
            As :func:`strapdown.messages.cdr.encode`.
        """
        return cdr.encode(self.to_stamped(), Wire.ROS1)

    @property
    def orientation_status(self) -> CovarianceStatus:
        """Status of the orientation, from its covariance."""
        return status(self.orientation_covariance)

    @property
    def angular_velocity_status(self) -> CovarianceStatus:
        """Status of the angular velocity, from its covariance."""
        return status(self.angular_velocity_covariance)

    @property
    def linear_acceleration_status(self) -> CovarianceStatus:
        """Status of the specific force, from its covariance."""
        return status(self.linear_acceleration_covariance)

    def __eq__(self, other: object) -> bool:
        """Header and all numbers equal, NaN equal to NaN."""
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self.to_stamped(), other.to_stamped()
        same_header = mine[:2] == theirs[:2] and mine.seq == theirs.seq
        return same_header and np.array_equal(mine.values, theirs.values, equal_nan=True)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[[Stamped], Self], tuple[Stamped]]:
        return self.from_stamped, (self.to_stamped(),)

    def __repr__(self) -> str:
        return (
            f"RosImu(header_stamp_ns={self.header_stamp_ns}, frame_id={self.frame_id!r}, "
            f"orientation=[{fixed(*self.orientation)}], "
            f"angular_velocity=[{fixed(*self.angular_velocity)}], "
            f"linear_acceleration=[{fixed(*self.linear_acceleration)}])"
        )
