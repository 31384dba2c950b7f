"""How far dead reckoning is off after so many seconds, from a true start.

Medians over windows of the error of position in TUM-VI (rooms 1 and 4), with raw biases: of
``mechanise``, of a plain first-order mid-point integrator in the same run, and the figures to
hold, which no integrator should exceed by more than 2 %.

    python benchmarks/drift.py [folder of room1.npz and room4.npz]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from strapdown.evaluation import drift_errors, strapdown_drift, true_states
from strapdown.geometry import quaternion
from strapdown.geometry.formulas import quaternion_exp, quaternion_multiply, quaternion_rotate
from strapdown.inertial.navigation import NavigationStart, Place, mechanise
from strapdown.series import ImuSeries, Trajectory

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown.evaluation import StrapdownDrift

GRAVITY = 9.81
REFERENCE_M = (0.031, 0.75, 2.87, 27.4, 123.0)
LONGEST_NS = 61_000_000_000


def load(path: Path) -> tuple[ImuSeries, Trajectory]:
    """Return the samples and the reference of a room."""
    with np.load(path) as data:
        poses = data["gt"]
        return ImuSeries(data["t_ns"], data["gyr"], data["acc"]), Trajectory(
            data["gt_t_ns"],
            quaternion.normalize(quaternion.from_wxyz(poses[:, 3:])),
            position_world=poses[:, :3],
        )


def from_state(imu: ImuSeries, t_ns: int) -> ImuSeries:
    """Return the samples of a window, with one at its start between those around."""
    window = imu.between_ns(t_ns + 1, t_ns + LONGEST_NS)
    first = [
        [np.interp(t_ns, imu.t_ns, axis) for axis in column.T]
        for column in (imu.angular_velocity, imu.specific_force)
    ]
    start = ImuSeries([t_ns], [first[0]], [first[1]])
    return ImuSeries.concatenate([start, window])


def strapdown(imu: ImuSeries, start: NavigationStart) -> Trajectory:
    """Return the track by :func:`mechanise`."""
    return mechanise(imu, start, place=Place(gravity=GRAVITY)).trajectory


def mid_point(imu: ImuSeries, start: NavigationStart) -> Trajectory:
    """Return the track by means of neighbours, turned by the attitude in the middle."""
    q, v, p = start.for_kernels()
    dt = np.diff(imu.t_ns) * 1e-9
    rate = 0.5 * (imu.angular_velocity[1:] + imu.angular_velocity[:-1])
    force = 0.5 * (imu.specific_force[1:] + imu.specific_force[:-1])
    quarters = 0.25 * rate * dt[:, None]
    attitudes, track = [q], [p]
    for h, quarter, f in zip(dt.tolist(), quarters.tolist(), force.tolist(), strict=True):
        half = quaternion_exp(*quarter)
        middle = quaternion_multiply(*q, *half)
        x, y, z = quaternion_rotate(*middle, *f)
        a = (x, y, z - GRAVITY)
        q = quaternion_multiply(*middle, *half)
        p = tuple(p[k] + v[k] * h + 0.5 * a[k] * h**2 for k in range(3))
        v = tuple(v[k] + a[k] * h for k in range(3))
        attitudes.append(q)
        track.append(p)
    return Trajectory(imu.t_ns, attitudes, position_world=track)


def drift(
    rooms: list[tuple[ImuSeries, Trajectory]],
    navigate: Callable[[ImuSeries, NavigationStart], Trajectory],
) -> StrapdownDrift:
    """Return the medians over the windows of all rooms."""
    errors = []
    for imu, reference in rooms:
        states = true_states(reference)
        for row in range(len(states)):
            start = NavigationStart(
                states.q_world_from_body[row],
                states.velocity_world[row],
                states.position_world[row],
            )
            track = navigate(from_state(imu, int(states.t_ns[row])), start)
            errors.append(drift_errors(track, reference))
    return strapdown_drift(errors)


def main() -> None:
    """Print the table."""
    default = Path(__file__).parents[2] / "shared" / "data" / "tumvi"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    rooms = [load(folder / f"{name}.npz") for name in ("room1", "room4")]
    ours, plain = drift(rooms, strapdown), drift(rooms, mid_point)
    print(f"{'median error of position [m] after':36}", *(f"{s:7.0f} s" for s in ours.after_s))
    print(f"{'windows':36}", *(f"{count:9d}" for count in ours.windows))
    for name, row in (
        ("figures to hold", REFERENCE_M),
        ("strapdown", ours.median_m),
        ("first-order mid-point", plain.median_m),
    ):
        print(f"{name:36}", *(f"{value:9.3f}" for value in row))


if __name__ == "__main__":
    main()
