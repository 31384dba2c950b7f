"""Motions for a simulated sensor, by name or from a file."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

import strapdown.formats as files
from strapdown._checks import as_member
from strapdown.errors import (
    FormatError,
    ShapeError,
    TimeOrderError,
    UnknownNameError,
    ValueRangeError,
)
from strapdown.motion import (
    MOTIONS,
    FlatEarth,
    MotionCommands,
    Mount,
    Mounted,
    PhysicsWorld,
    PoseSpline,
    Replay,
    SplineMode,
    command_file,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from strapdown.formats import Recording
    from strapdown.motion import InertialSource, Wgs84
    from strapdown.series import Trajectory


__all__ = ["Ride", "find_motion"]

ENDLESS_S: Final = 60.0
"""Default length of a run on a motion without end [s]."""
_WORLDS: Final = (b"<mujoco", b"<robot")
_HEAD: Final = 2**14
_USUAL_SITE: Final = "imu"


@dataclass(frozen=True)
class Ride:
    """A mounted sensor on a motion for some time; made by :meth:`of` or :func:`find_motion`.

    Parameters
    ----------
    source : InertialSource
        Readings of perfect sensors.
    name : str
        Name of the motion.
    duration_s : float
        Length of the run from :attr:`start_s` [s].
    start_ns : int
        Stamp of ``t_s`` = 0 that the motion specifies [ns].
    notes : tuple of str
        Remarks for the user, one line each.
    """

    source: InertialSource
    name: str
    duration_s: float
    start_ns: int = 0
    notes: tuple[str, ...] = ()

    @property
    def start_s(self) -> float:
        """First instant of the run: 0, or the start of a motion that begins later [s]."""
        return max(self.source.start_s, 0.0)

    @classmethod
    def of(
        cls,
        source: InertialSource,
        name: str,
        duration_s: float | None = None,
        *,
        start_ns: int = 0,
        notes: tuple[str, ...] = (),
    ) -> Ride:
        """Return a ride of some length, by default all of it, or 60 s where it has no end.

        Raises
        ------
        ValueRangeError
            The duration is not positive, or the source does not last that long.
        """
        longest = source.end_s - max(source.start_s, 0.0)
        if duration_s is None:
            duration_s = longest if math.isfinite(longest) else ENDLESS_S
        if not 0.0 < duration_s < math.inf:
            raise ValueRangeError(f"expected a positive duration_s, got {duration_s:g}")
        if duration_s > longest:
            raise ValueRangeError(
                f"expected a duration of at most {longest:g} s, the length of {name}, "
                f"got {duration_s:g} s"
            )
        return cls(source, name, duration_s, start_ns, notes)


def find_motion(  # noqa: PLR0913 (what one kind of motion or another needs)
    motion: str | PathLike[str],
    *,
    duration_s: float | None = None,
    mount: Mount | None = None,
    earth: FlatEarth | Wgs84 | None = None,
    site: str | None = None,
    topic: str | None = None,
    poses: SplineMode | str | None = None,
    pose_noise: tuple[float, float] | None = None,
    knots_per_s: float | None = None,
) -> Ride:
    """Return a motion by its name, or from a file of any kind that holds one.

    Files are recognised by content: a MuJoCo or URDF world, a motion-command file, a recorded
    trajectory with positions (through which a quintic spline is laid), a recorded IMU (which is
    replayed).

    Parameters
    ----------
    motion : str or path-like
        A name of ``strapdown.motion.MOTIONS``, or a file.
    duration_s : float, optional
        Length of the run [s]; by default all of a motion that ends, and 60 s of others.
    mount : Mount, optional
        Mounting of the sensor on the body; not with worlds, which have sites, nor with replay.
    earth : FlatEarth or Wgs84, optional
        For motions by name and trajectories; flat by default.
    site : str, optional
        Site or body of a world; by default ``imu``.
    topic : str, optional
        Trajectory or IMU of a recording.
    poses : {"interpolate", "smooth", "waypoints"}, optional
        Treatment of the poses of a trajectory by the spline; it has no safe default.
    pose_noise : (float, float), optional
        To smooth: the noise of one axis of the positions [m] and attitudes [rad].
    knots_per_s : float, optional
        To smooth, instead of the noise: knots of the spline [1/s].

    Returns
    -------
    Ride

    Warns
    -----
    SplineWarning
        The poses leave the spline much freedom.

    Raises
    ------
    UnknownNameError
        There is neither a motion nor a file of that name, or the site or topic does not exist.
    FormatError
        The file cannot be read, or holds no motion.
    ShapeError, TimeOrderError
        The poses or samples are too few, or a stamp repeats or goes back.
    ValueRangeError
        The duration is not positive or longer than the motion; a trajectory came without
        ``poses``; or an option does not go with the motion.
    BackendMissingError
        A world needs the extra ``physics``.
    """
    options = {
        "mount": mount,
        "earth": earth,
        "site": site,
        "topic": topic,
        "poses": poses,
        "pose_noise": pose_noise,
        "knots_per_s": knots_per_s,
    }
    given = {name for name, value in options.items() if value is not None}
    name = str(motion)
    if name in MOTIONS:
        _refuse(given - {"mount", "earth"}, "a motion by name")
        source = Mounted(MOTIONS[name], mount or Mount(), earth or FlatEarth())
        return Ride.of(source, name, duration_s)
    path = Path(motion)
    if not path.exists():
        raise UnknownNameError("motion or file", name, MOTIONS)
    head = b"" if path.is_dir() else _head(path)
    if any(mark in head for mark in _WORLDS):
        _refuse(given - {"site"}, "a world")
        return _world(path, duration_s, site or _USUAL_SITE)
    if command_file.sniff(head):
        _refuse(given - {"mount"}, "motion commands")
        return _commands(path, duration_s, mount or Mount())
    recording = files.open(path) if topic is None else files.open(path).only(topic)
    tracks = {name: t for name, t in recording.tracks.items() if t.position_world is not None}
    with _named(path):
        if not tracks:
            _refuse(given - {"topic"}, "a recorded IMU")
            return _replay(recording, duration_s)
        _refuse(given - {"mount", "earth", "topic", "poses", "pose_noise", "knots_per_s"}, "poses")
        trajectory, notes = _known_poses(recording, tracks)
        spline = _spline(trajectory, poses, pose_noise, knots_per_s)
    source = Mounted(spline, mount or Mount(), earth or FlatEarth())
    notes += _about(spline)
    return Ride.of(source, path.name, duration_s, start_ns=spline.start_ns, notes=notes)


def _refuse(options: set[str], kind: str) -> None:
    if options:
        raise ValueRangeError(f"expected no {', '.join(sorted(options))} with {kind}")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Prepend the path of the file to errors about its content."""
    try:
        yield
    except (ShapeError, TimeOrderError, UnknownNameError, ValueRangeError) as error:
        error.args = (f"{path}: {error}",)
        raise


def _world(path: Path, duration_s: float | None, site: str) -> Ride:
    with _named(path):
        world = PhysicsWorld(path, site)
        source = world.run(ENDLESS_S if duration_s is None else duration_s)[site]
    note = f"physics in steps of {world.step_s:g} s, the IMU on {site!r}"
    return Ride.of(source, path.name, duration_s, notes=(note,))


def _commands(path: Path, duration_s: float | None, mount: Mount) -> Ride:
    motion = MotionCommands.from_file(path)
    missed = [n for n, segment in enumerate(motion.segments, 1) if not segment.reached]
    notes = (f"commands that were not reached in their time: {missed}",) if missed else ()
    source = Mounted(motion, mount, motion.earth)
    return Ride.of(source, path.name, duration_s, notes=notes)


def _replay(recording: Recording, duration_s: float | None) -> Ride:
    if not (recording.imu or recording.increments):
        raise FormatError(
            "expected a trajectory with positions, or an IMU, the file holds neither",
            path=recording.path,
        )
    replay = Replay(recording.imu_series())
    note = f"a replay has no content above {replay.nyquist_hz:g} Hz, and its pose is not known"
    name = recording.path.name
    return Ride.of(replay, name, duration_s, start_ns=replay.start_ns, notes=(note,))


def _known_poses(
    recording: Recording, tracks: dict[str, Trajectory]
) -> tuple[Trajectory, tuple[str, ...]]:
    """Return the rows of the reference, or else of the longest track, that have a pose."""
    reference = recording.reference_topic()
    topic = reference if reference in tracks else max(tracks, key=lambda name: len(tracks[name]))
    trajectory = tracks[topic]
    position = np.asarray(trajectory.position_world)
    known = np.isfinite(np.column_stack([position, trajectory.q_world_from_body])).all(axis=-1)
    if not known.any():
        raise ValueRangeError("expected positions with an attitude, got no row that has both")
    if known.all():
        return trajectory, ()
    left = f"{known.size - int(known.sum())} of {known.size} rows have no pose and are left out"
    return trajectory[known], (left,)


def _spline(
    trajectory: Trajectory,
    poses: SplineMode | str | None,
    pose_noise: tuple[float, float] | None,
    knots_per_s: float | None,
) -> PoseSpline:
    if poses is None:
        raise ValueRangeError(
            "expected how to treat its poses, got none of: interpolate (poses without noise), "
            "smooth (with pose_noise or knots_per_s), waypoints (at rest at both ends)"
        )
    mode = as_member(SplineMode, poses, "way through poses")
    wanted = int(mode is SplineMode.SMOOTH)
    if (pose_noise is not None) + (knots_per_s is not None) != wanted:
        which = "either pose_noise or knots_per_s" if wanted else "no pose_noise or knots_per_s"
        raise ValueRangeError(f'expected {which} with poses="{mode}"')
    position, attitude = pose_noise or (None, None)
    return PoseSpline.from_trajectory(
        trajectory,
        mode=mode,
        sigma_position=position,
        sigma_attitude=attitude,
        knots_per_s=knots_per_s,
    )


def _about(spline: PoseSpline) -> tuple[str, ...]:
    if spline.smoothing is not None:
        return ()  # the noise of the poses exceeds the error that the ends add
    if spline.trusted_span_s is None:
        return ("the poses are few: their ends are felt throughout",)
    first, last = spline.trusted_span_s
    if (first, last) == (spline.start_s, spline.end_s):
        return ()
    return (
        f"outside {first:g} to {last:g} s the spline is up to 200 times less accurate than inside",
    )
