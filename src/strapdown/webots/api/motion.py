"""Motion files: motor positions over time, played while a robot steps."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from strapdown.errors import FormatError
from strapdown.webots.api.motor import Motor
from strapdown.webots.api.owner import session_of
from strapdown.webots.api.texts import say

if TYPE_CHECKING:
    from strapdown.webots.api.owner import Owner

__all__ = ["Motion"]

HEADER = "#WEBOTS_MOTION"


class _Pose(NamedTuple):
    time: int
    """Time in the motion [ms]."""
    positions: list[float | None]
    """Position of each motor; None: unchanged."""


class Motion:
    """Motion file.

    The first line is ``#WEBOTS_MOTION,V1.0,`` and the names of motors; each other line is a pose:
    time as ``minutes:seconds:milliseconds``, a name, and a position for each motor, or ``*``.
    A line may end in a comma. Between poses the positions are interpolated.

    Parameters
    ----------
    filename : str
        Absolute, or relative to the working directory, which is the controller's.
    robot : Robot, optional
        Its robot; by default the first one of this process.
    """

    def __init__(self, filename: str, *, robot: Owner | None = None) -> None:
        self._session = session_of(robot)
        self._time = 0
        self._loop = False
        self._reverse = False
        self._over = False
        self._names: list[str] = []
        self._poses: list[_Pose] = []
        try:
            self._names, self._poses = _read(Path(filename))
        except (OSError, FormatError) as error:
            say("Error: wbu_motion_new(): {0}", error)
        self._motors = [Motor(name, robot=self) for name in self._names]

    def isValid(self) -> bool:
        """Return whether the file could be read."""
        return bool(self._poses)

    def play(self) -> None:
        """Play from the next step on, at the present time or again from the start if at the end."""
        self._over = False
        if self._time == self._end:
            self._time = self.duration - self._time
        if self._poses and self not in self._session.motions:
            self._session.motions.append(self)

    def stop(self) -> None:
        """Stop; the present time is kept."""
        if self in self._session.motions:
            self._session.motions.remove(self)

    def setLoop(self, loop: bool) -> None:
        """Set whether the motion restarts at its end."""
        self._loop = bool(loop)

    def setReverse(self, reverse: bool) -> None:
        """Set whether the motion plays backward."""
        self._reverse = bool(reverse)

    def isOver(self) -> bool:
        """Return whether the last pose was sent."""
        return self._over

    def getDuration(self) -> int:
        """Return the time of the last pose [ms]."""
        return self.duration

    def getTime(self) -> int:
        """Return the present time in the motion [ms]."""
        return self._time

    def setTime(self, time: int) -> None:
        """Set the present time in the motion [ms]."""
        self.time = time

    @property
    def time(self) -> int:
        """Present time in the motion [ms]."""
        return self._time

    @time.setter
    def time(self, time: int) -> None:
        self._over = False
        self._time = min(max(time, 0), self.duration)

    @property
    def duration(self) -> int:
        """Time of the last pose [ms]."""
        return self._poses[-1].time if self._poses else 0

    @property
    def _end(self) -> int:
        return 0 if self._reverse else self.duration

    def _advance(self, ms: int) -> None:
        """Send the present pose, then advance the time."""
        for motor, position in zip(self._motors, self._positions(), strict=True):
            if position is not None and motor._state is not None:
                motor.setPosition(position)
        duration = self.duration
        if self._time == self._end:
            self._over = not self._loop
            if self._over:
                self.stop()
                return
            self._time = duration - self._time
        time = self._time + (-ms if self._reverse else ms)
        if self._loop and duration and not 0 <= time <= duration:
            time %= duration
        self._time = min(max(time, 0), duration)

    def _positions(self) -> list[float | None]:
        """Return the interpolated positions at the present time."""
        poses = self._poses
        after = bisect_right(poses, self._time, key=lambda pose: pose.time)
        if after in {0, len(poses)}:
            return poses[max(after - 1, 0)].positions
        start, end = poses[after - 1], poses[after]
        part = (self._time - start.time) / (end.time - start.time)
        return [
            a if a is None or b is None else a + part * (b - a)
            for a, b in zip(start.positions, end.positions, strict=True)
        ]


def _read(path: Path) -> tuple[list[str], list[_Pose]]:
    """Return the names of the motors and the poses of a file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [
        (number, [word.strip() for word in line.rstrip().removesuffix(",").split(",")])
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
    header = rows[0][1] if rows else [""]
    if header[0] != HEADER or len(header) < 3:
        raise FormatError(
            f"line 1: expected '{HEADER},V1.0' and names of motors, got {','.join(header)[:40]!r}",
            path=path,
        )
    names = header[2:]
    poses = [_pose(path, number, words, len(names)) for number, words in rows[1:]]
    if not poses:
        raise FormatError("expected at least one pose, got none", path=path)
    return names, sorted(poses, key=lambda pose: pose.time)


def _pose(path: Path, number: int, words: list[str], count: int) -> _Pose:
    try:
        minutes, seconds, ms = map(int, words[0].split(":"))
        positions = [None if word == "*" else float(word) for word in words[2:]]
    except ValueError as error:
        raise FormatError(f"line {number}: expected a pose, got {error}", path=path) from None
    if len(positions) != count:
        raise FormatError(
            f"line {number}: expected {count} positions, got {len(positions)}", path=path
        )
    return _Pose(60_000 * minutes + 1_000 * seconds + ms, positions)
