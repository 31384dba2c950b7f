"""Recording of IMU states in MuJoCo worlds: its cost beside the bare simulation.

Run with ``python benchmarks/physics.py``. Each world is stepped by the plain Python loop that any
user of MuJoCo writes, and by ``PhysicsWorld.run``, in turn; both must reach the same state bit for
bit. Figures are the shortest of the repeats, in thread time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from strapdown.motion.physics import PhysicsWorld

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 5_000
REPEATS = 15

FREE = """<mujoco><worldbody><body><freejoint/><geom type="box" size="0.1 0.1 0.1"/>
<site name="imu" pos="0.05 0 0"/></body></worldbody></mujoco>"""

RESTING = """<mujoco><worldbody><geom type="plane" size="5 5 0.1"/>
<body pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1"/>
<site name="imu" pos="0.05 0 0"/></body></worldbody></mujoco>"""


def quadruped() -> str:
    """Return a body on four legs of three joints each, 18 degrees of freedom, on the ground."""
    legs = "".join(
        f"""<body pos="{x} {y} 0"><joint axis="1 0 0" damping="1" stiffness="50"/>
        <geom type="sphere" size="0.04" mass="0.5"/>
        <body pos="0 0 0"><joint axis="0 1 0" damping="1" stiffness="50"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.4"/>
        <body pos="0 0 -0.2"><joint axis="0 1 0" damping="1" stiffness="50"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.015" mass="0.2"/>
        </body></body></body>"""
        for x in (-0.2, 0.2)
        for y in (-0.12, 0.12)
    )
    return f"""<mujoco><worldbody><geom type="plane" size="5 5 0.1"/>
    <body pos="0 0 0.42"><freejoint/><geom type="box" size="0.25 0.1 0.05" mass="6"/>
    <site name="imu" pos="0.1 0 0.05"/>{legs}</body></worldbody></mujoco>"""


def push(_model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Push the first body sideways: a controller of the simplest kind."""
    data.xfrc_applied[1, 0] = 0.1


def bare(world: str, control: Callable[..., None] | None) -> tuple[float, np.ndarray]:
    """Return seconds and the final positions of a plain loop."""
    model = mujoco.MjModel.from_xml_string(world)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    step = mujoco.mj_step
    start = time.thread_time()
    for _ in range(STEPS):
        if control is not None:
            control(model, data)
        step(model, data)
    return time.thread_time() - start, data.qpos.copy()


def recorded(world: str, control: Callable[..., None] | None) -> tuple[float, np.ndarray]:
    """Return seconds and the final positions of a recorded run."""
    physics = PhysicsWorld(world, "imu")
    start = time.thread_time()
    physics.run(STEPS * physics.step_s, control=control)
    return time.thread_time() - start, physics.data.qpos.copy()


def streamed(world: str) -> float:
    """Return seconds of a user's own loop of steps that give readings."""
    physics = PhysicsWorld(world, "imu")
    start = time.thread_time()
    for _ in range(STEPS):
        physics.step()
    return time.thread_time() - start


def main() -> None:
    """Print the table."""
    worlds = {"free box": FREE, "resting box": RESTING, "quadruped, 18 dof": quadruped()}
    print(
        f"{'us a step':20} {'control':>8} {'bare':>8} {'recorded':>9} {'overhead':>9} {'step()':>8}"
    )
    for name, world in worlds.items():
        for control in (None, push):
            times: list[tuple[float, float]] = []
            for _ in range(REPEATS):
                plain, end = bare(world, control)
                ours, our_end = recorded(world, control)
                assert np.array_equal(end, our_end)  # noqa: S101 (another motion has no ratio)
                times.append((plain, ours))
            plain, ours = np.min(times, axis=0) / STEPS * 1e6
            stream = "" if control else f"{streamed(world) / STEPS * 1e6:8.2f}"
            print(
                f"{name:20} {'yes' if control else 'no':>8} {plain:8.2f} {ours:9.2f}"
                f" {ours / plain - 1.0:9.1%} {stream:>8}"
            )

    source = PhysicsWorld(FREE, "imu").run(10.0)["imu"]
    instants = np.linspace(0.0, 10.0, 200_001)
    start = time.thread_time()
    source.inputs(instants)
    rate = len(instants) / (time.thread_time() - start)
    print(f"point samples above the physics rate: {rate / 1e6:.2f} M instants/s")


if __name__ == "__main__":
    main()
