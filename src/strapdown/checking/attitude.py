"""A recorded orientation against gyro and gravity.

An orientation is a reference only if it turns as the gyro measures and turns the specific force
upwards. Where it does not, known conventions are tried: order of the components, inverse,
world and body with z down, world with y up. Heading has no such test.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.checking.axes import SIGNED, in_words
from strapdown.checking.report import CheckReport, Finding
from strapdown.checking.windows import integrated
from strapdown.geometry import frames, quaternion
from strapdown.series import timebase
from strapdown.units import NS_PER_S, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown._typing import FloatArray
    from strapdown.checking.windows import Windows
    from strapdown.series import ImuSeries, Trajectory

__all__ = ["check_attitude"]

_STEPS: Final = 25
"""Steps of a turn, 0.5 s."""
_LEAST_TURNS: Final = 10
_LEAST_TURN: Final = 0.03
"""Root mean square of the turns that noise and bias do not explain [rad]."""
_TURN_ERROR: Final = 0.5
"""Error of the turns, relative to the turns, above which they contradict. Independent turns have
1.4, and a delay of 0.1 s costs 0.3 in motion of half a hertz."""
_TILT: Final = 0.3
"""Error of the mean specific force [of gravity], 17 deg, beyond mounting and filters."""
_SPEED: Final = 10.0
"""Change of the velocity in a recording [m/s], which its mean specific force contains."""
_CONSTANT: Final = 0.01
"""Largest change of an orientation that was never set, beyond rounding [rad]."""
_UNIT: Final = 0.01
"""Largest error of the length of a quaternion; zeros mark a missing one."""
_ROWS: Final = 4000


@dataclass(frozen=True)
class _Convention:
    """A way to read the four numbers of an orientation, with the changes that it makes."""

    likely: tuple[str, ...]
    python: tuple[str, ...]
    convert: Callable[[FloatArray], FloatArray]


def _as_recorded(q: FloatArray) -> FloatArray:
    return q


_ORDERS: Final[tuple[tuple[str, str, Callable[[FloatArray], FloatArray]], ...]] = (
    ("", "", _as_recorded),
    ("components w x y z, taken for x y z w", "from_wxyz", quaternion.from_wxyz),
    ("components x y z w, taken for w x y z", "to_wxyz", quaternion.to_wxyz),
)
_INVERSES: Final[tuple[tuple[str, str, Callable[[FloatArray], FloatArray]], ...]] = (
    ("", "", _as_recorded),
    ("the inverse, body from world", "conjugate", quaternion.conjugate),
)
_WORLDS: Final = (
    ("", "", None),
    ("a world with z down", 'track.replace(world="NED")', ("NED", "ENU")),
    ("a world with y up", 'track.replace(world="NUE")', ("NUE", "ENU")),
)
_BODIES: Final = (
    ("", "", None),
    ("a body with z down", 'track.replace(body="FRD")', ("FRD", "FLU")),
)


def _conventions() -> list[_Convention]:
    """Return the combinations of conventions, those with the fewest changes first."""
    made = []
    for order, inverse, world, body in product(_ORDERS, _INVERSES, _WORLDS, _BODIES):
        parts = (order, inverse, world, body)
        likely = tuple(part[0] for part in parts if part[0])
        python = tuple(
            f"track.replace(q_world_from_body=quaternion.{part[1]}(track.q_world_from_body))"
            for part in (order, inverse)
            if part[0]
        ) + tuple(part[1] for part in (world, body) if part[0])
        made.append(_Convention(likely, python, _reading(order[2], inverse[2], world[2], body[2])))
    return sorted(made, key=lambda each: len(each.likely))


def _reading(
    order: Callable[[FloatArray], FloatArray],
    inverse: Callable[[FloatArray], FloatArray],
    world: tuple[str, str] | None,
    body: tuple[str, str] | None,
) -> Callable[[FloatArray], FloatArray]:
    return lambda q: frames.convert_quaternion(inverse(order(q)), world=world, body=body)


@dataclass(frozen=True)
class _Evidence:
    """Turns between pairs of instants, and gravity at others.

    ``before`` and ``after`` (P, 4) are orientations at pairs of instants, ``turn`` (P, 4) the
    turns between them by the gyro, ``at`` (R, 4) orientations at instants with a specific force
    ``force`` (R, 3), in units of its norm at rest; ``up`` is the vertical of the world, and
    ``duration_s`` the time from the first of these instants to the last.
    """

    before: FloatArray
    after: FloatArray
    turn: FloatArray
    at: FloatArray
    force: FloatArray
    up: FloatArray
    duration_s: float

    @property
    def tolerance(self) -> float:
        """Largest error of the mean specific force [of its norm at rest]."""
        return _TILT + _SPEED / (STANDARD_GRAVITY * self.duration_s)

    @property
    def turns(self) -> bool:
        """Whether the gyro turns enough for a comparison."""
        return self.turned > _LEAST_TURN

    @property
    def turned(self) -> float:
        """Root mean square of the turns by the gyro [rad]; 0 where there are too few."""
        if len(self.turn) < _LEAST_TURNS:
            return 0.0
        return _rms(quaternion.to_rotation_vector(self.turn))

    def turn_error(self, convert: Callable[[FloatArray], FloatArray]) -> float:
        """Return the error of the turns, relative to those of the gyro."""
        relative = quaternion.multiply(
            quaternion.conjugate(convert(self.before)), convert(self.after)
        )
        off = quaternion.multiply(quaternion.conjugate(self.turn), relative)
        return _rms(quaternion.to_rotation_vector(off)) / self.turned

    def gravity(self, convert: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return the mean specific force in the world [of its norm at rest]."""
        return np.asarray(quaternion.rotate(convert(self.at), self.force).mean(axis=0))


def check_attitude(
    series: ImuSeries, track: Trajectory, topic: str, windows: Windows | None, norm: float
) -> CheckReport:
    """Check a recorded orientation against gyro and gravity.

    Parameters
    ----------
    series : ImuSeries
        With increasing stamps.
    track : Trajectory
        The orientation.
    topic : str
        Its name.
    windows : Windows, optional
        Those of the series, after correction of its axes and units.
    norm : float
        Specific force at rest [unit of the series].
    """
    found = _evidence(series, track, windows, norm)
    if found is None:
        return CheckReport((), (), (f"{topic}: no orientation at the times of the IMU",))
    conventions = _conventions()
    good_turns = [not found.turns or found.turn_error(c.convert) < _TURN_ERROR for c in conventions]
    errors = [float(np.linalg.norm(found.gravity(c.convert) - found.up)) for c in conventions]
    fits = [
        c
        for c, turns, e in zip(conventions, good_turns, errors, strict=True)
        if turns and e < found.tolerance
    ]
    if good_turns[0] and errors[0] < found.tolerance:
        against = "gyro and gravity" if found.turns else "gravity (the gyro hardly turns)"
        return CheckReport((), (f"{topic}: agrees with {against}",), ())
    if (constant := _constant(found, topic)) is not None:
        return CheckReport((constant,), (), ())
    seen = _seen(found)
    if fits:
        return CheckReport((_by_convention(found, topic, seen, fits),), (), ())
    code, likely = _unexplained(found, turns_agree=good_turns[0])
    return CheckReport((Finding(code, topic, seen, likely),), (), ())


def _evidence(
    series: ImuSeries, track: Trajectory, windows: Windows | None, norm: float
) -> _Evidence | None:
    """Return what an orientation is compared with; None without common time."""
    track, _ = timebase.ordered(track, "drop")
    q = track.q_world_from_body
    unit = np.abs(np.linalg.norm(np.clip(q, -2.0, 2.0), axis=1) - 1.0) < _UNIT
    track = track[np.flatnonzero(unit)]
    finite = np.flatnonzero(np.isfinite(series.specific_force).all(axis=1))
    rows = finite[:: max(1, len(finite) // _ROWS)]
    at = timebase.orientation_at(track, series.t_ns[rows])
    force = frames.convert_vector(series.specific_force[rows], series.body, track.body) / norm
    known = np.isfinite(at).all(axis=1)
    if known.sum() < _LEAST_TURNS:
        return None
    none = np.empty((0, 4))
    before = after = turn = none
    if windows is not None:
        edges = windows.edges_ns[:, ::_STEPS]
        q = timebase.orientation_at(track, edges.ravel()).reshape(*edges.shape, 4)
        gyro = integrated(frames.convert_vector(windows.turn, series.body, track.body))[:, ::_STEPS]
        by_gyro = quaternion.multiply(quaternion.conjugate(gyro[:, :-1]), gyro[:, 1:])
        both = np.isfinite(q[:, :-1]).all(axis=-1) & np.isfinite(q[:, 1:]).all(axis=-1)
        before, after, turn = q[:, :-1][both], q[:, 1:][both], by_gyro[both]
    up = frames.convert_vector([0.0, 0.0, 1.0], "ENU", track.world)
    seen_ns = series.t_ns[rows][known]
    duration_s = max(float(seen_ns[-1] - seen_ns[0]), 1.0) / NS_PER_S
    return _Evidence(before, after, turn, at[known], force[known], up, duration_s)


def _constant(found: _Evidence, topic: str) -> Finding | None:
    """Return a finding where the orientation does not change and the IMU turns."""
    spread = quaternion.angle_between(found.at[:1], found.at)
    moved = float(np.sqrt(np.var(found.force, axis=0).sum()))
    if float(np.max(spread)) > _CONSTANT or not (found.turns or moved > _TILT):
        return None
    return Finding(
        "attitude_constant",
        topic,
        "the recorded orientation never changes while the IMU turns",
        "no orientation was estimated: it is no reference",
        "",
        "series.replace(q_world_from_body=None)",
    )


def _seen(found: _Evidence) -> str:
    """Return what contradicts."""
    gravity = found.gravity(_as_recorded)
    tilt = np.degrees(np.arctan2(np.linalg.norm(np.cross(gravity, found.up)), gravity @ found.up))
    parts = [f"gravity is {tilt:.0f} deg from its vertical"]
    if found.turns:
        error = found.turn_error(_as_recorded)
        parts.append(f"its turns differ from those of the gyro by {error:.0%} of their size")
    return "the recorded orientation is no reference: " + ", ".join(parts)


def _by_convention(found: _Evidence, topic: str, seen: str, fits: Sequence[_Convention]) -> Finding:
    """Return the finding of the conventions with the fewest changes."""
    simple = [each for each in fits if len(each.likely) == len(fits[0].likely)]
    likely = "likely " + ", or ".join(" and ".join(each.likely) for each in simple)
    turns_agree = not found.turns or found.turn_error(_as_recorded) < _TURN_ERROR
    if turns_agree and np.linalg.norm(found.gravity(_as_recorded) + found.up) < found.tolerance:
        likely += ", or an accelerometer with inverted signs"
    return Finding("attitude_convention", topic, seen, likely, "", "; ".join(simple[0].python))


def _unexplained(found: _Evidence, *, turns_agree: bool) -> tuple[str, str]:
    """Return code and likely error where no convention of the orientation explains it."""
    gravity = found.gravity(_as_recorded)
    if turns_agree and np.linalg.norm(gravity) > 1.0 - _TILT:
        return "attitude_world", "the world is not level; evaluate --align world removes that"
    if turns_agree:
        return "attitude_gravity", "the accelerometer disagrees with both: axes, signs or scale"
    turn = quaternion.to_rotation_vector(found.turn)
    relative = quaternion.to_rotation_vector(
        quaternion.multiply(quaternion.conjugate(found.before), found.after)
    )
    common = relative.T @ turn
    limit = _TURN_ERROR * found.turned
    if np.linalg.norm(gravity - found.up) < _TILT:
        matrix = SIGNED[int(np.argmax(np.einsum("nij,ij->n", SIGNED, common)))]
        if _rms(relative - turn @ matrix.T) < limit:
            return "gyro_axes", f"gravity agrees: likely the gyro has {in_words(matrix)}"
    left, _, right = np.linalg.svd(common)
    turned = left @ np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))]) @ right
    if _rms(relative - turn @ turned.T) < limit:
        angle = np.degrees(np.arccos(np.clip(0.5 * (np.trace(turned) - 1.0), -1.0, 1.0)))
        likely = f"likely that of a body at {angle:.0f} deg to the IMU (mounting); evaluate --align"
        return "attitude_mounting", f"{likely} world_and_body removes that"
    likely = "no single convention explains it: another body or clock, or angles in degrees"
    return "attitude_contradicts", likely


def _rms(vectors: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.sum(vectors * vectors, axis=-1))))
