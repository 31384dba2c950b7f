"""MuJoCo worlds against mechanics, and against MuJoCo's own sensors."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import (
    BackendMissingError,
    FormatError,
    ShapeError,
    UnknownNameError,
    UnsupportedError,
    ValueRangeError,
)
from strapdown.motion.physics import PhysicsWorld

WORLDS = Path(__file__).parent / "worlds"
INTEGRATORS = ["Euler", "implicitfast", "RK4"]


def one_body(body: str, options: str = "", plane: str = "") -> str:
    return f"<mujoco><option {options}/><worldbody>{plane}{body}</worldbody></mujoco>"


BOX = """<body name="box" pos="0 0 {height}"><freejoint/>
  <geom type="box" size="0.1 0.08 0.05" mass="2"/><site name="imu"/></body>"""
PLANE = '<geom type="plane" size="5 5 0.1"/>'
PENDULUM = """<body pos="0 0 1"><joint name="swing" type="hinge" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.7" size="0.01"/>
  <site name="imu" pos="0 0 -0.7"/></body>"""
ARM = """<body><joint name="turn" type="hinge" axis="0 0 1"/>
  <geom type="box" size="0.3 0.02 0.02"/><site name="imu" pos="0.5 0 0"/></body>"""


def simulated(world, *, duration_s, prepare=None, **options):
    physics = PhysicsWorld(world, "imu", **options)
    if prepare is not None:
        prepare(physics.data)
    return physics.run(duration_s)["imu"]


def states_s(source):
    return (source.first_step + np.arange(source.steps)) * source.step_s


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_spinning_body_in_free_fall_feels_nothing_at_its_centre(integrator):
    def spin(data):
        data.qvel[:] = [1.0, -2.0, 3.0, 4.0, 5.0, -6.0]

    world = one_body(BOX.format(height=5.0), f'integrator="{integrator}"')
    source = simulated(world, duration_s=0.5, prepare=spin)
    _, f = source.inputs(states_s(source))
    assert np.abs(f).max() < 1e-9


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_box_at_rest_reads_plus_g_on_the_up_axis(integrator):
    options = f'integrator="{integrator}" tolerance="1e-13"'
    world = one_body(BOX.format(height=0.05), options, PLANE)
    source = simulated(world, duration_s=6.0)
    w, f = source.inputs(states_s(source)[-500:])
    np.testing.assert_allclose(f, np.tile([0.0, 0.0, 9.81], (500, 1)), atol=1e-9)
    np.testing.assert_allclose(w, 0.0, atol=1e-9)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_pendulum_reads_g_cosine_plus_the_centripetal_acceleration(integrator):
    world = one_body(PENDULUM, f'integrator="{integrator}"')
    source = simulated(world, duration_s=2.0, qpos=[1.2], reported=True)
    t = states_s(source)
    w, f = replace(source, value="reported").inputs(t)
    angle = Rotation.from_quat(source.q_world_from_sensor[:-1]).as_rotvec()[:, 1]
    assert np.ptp(angle) > 2.0
    np.testing.assert_allclose(f[:, 2], 9.81 * np.cos(angle) + 0.7 * w[:, 1] ** 2, atol=1e-12)
    # the mean over a step follows, a step being short
    np.testing.assert_allclose(source.inputs(t)[1][:, 2], f[:, 2], atol=0.2)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_rotating_arm_reads_minus_omega_squared_r_inwards(integrator):
    def turn(data):
        data.qvel[:] = 3.0

    world = one_body(ARM, f'integrator="{integrator}"')
    source = simulated(world, duration_s=1.0, prepare=turn, reported=True)
    w, f = replace(source, value="reported").inputs(states_s(source))
    np.testing.assert_allclose(f, np.tile([-4.5, 0.0, 9.81], (len(f), 1)), atol=1e-9)
    np.testing.assert_allclose(w, np.tile([0.0, 0.0, 3.0], (len(w), 1)), atol=1e-9)
    # chords of the circle: the mean acceleration points to the middle of the step
    half = 3.0 * source.step_s / 2.0
    chord = 4.5 * np.sin(half) / half * np.array([-np.cos(half), -np.sin(half)])
    held = source.inputs(states_s(source))[1]
    np.testing.assert_allclose(held, np.tile([*chord, 9.81], (len(f), 1)), atol=1e-9)


def test_a_box_on_an_icy_slope_feels_only_the_slope():
    source = PhysicsWorld(WORLDS / "slope.xml", "imu").run(1.5)["imu"]
    w, f = source.inputs(states_s(source)[-200:])
    across = 9.81 * np.cos(np.radians(20.0))
    np.testing.assert_allclose(f, np.tile([0.0, 0.0, across], (200, 1)), atol=1e-5)
    np.testing.assert_allclose(w, 0.0, atol=1e-5)


@pytest.mark.parametrize(("softness", "step_s"), [(0.02, 0.001), (0.02, 0.004), (0.005, 0.002)])
def test_the_impulse_of_an_impact_is_the_change_of_momentum(softness, step_s):
    box = BOX.format(height=0.55).replace("<geom ", f'<geom solref="{softness} 1" ')
    world = one_body(box, f'timestep="{step_s}"', PLANE)
    source = simulated(world, duration_s=0.6)
    # what MuJoCo's own velocity says, in a plain run of the same world
    model = mujoco.MjModel.from_xml_string(world)
    data = mujoco.MjData(model)
    velocity = [0.0]
    for _ in range(source.steps):
        mujoco.mj_step(model, data)
        velocity.append(data.qvel[2])
    expected = velocity[-1] + 9.81 * 0.6
    assert min(velocity) < -3.0
    assert abs(velocity[-1]) < 0.2
    np.testing.assert_allclose(source.integrals([0.0, 0.6])[1][0, 2], expected, rtol=1e-9)
    fine = (np.arange(2400) + 0.5) * (0.6 / 2400.0)  # samples above the physics rate
    sampled = source.inputs(fine)[1][:, 2].sum() * (0.6 / 2400.0)
    np.testing.assert_allclose(sampled, expected, rtol=0.01)


def hover(model, data):
    """Hold the height, and push the motors against each other in turn."""
    weight = model.body_subtreemass[1] * 9.81
    lift = weight + 2.0 * (1.5 - data.qpos[2]) - 1.5 * data.qvel[2]
    sway = 0.05 * np.sin(7.0 * data.time + np.arange(4.0) * 1.3)
    data.ctrl[:] = lift / 4.0 + sway


def with_own_sensors(step_s):
    spec = mujoco.MjSpec.from_file(str(WORLDS / "quadrotor.xml"))
    spec.option.timestep = step_s
    for kind in ("mjSENS_GYRO", "mjSENS_ACCELEROMETER"):
        spec.add_sensor(
            type=getattr(mujoco.mjtSensor, kind),
            objtype=mujoco.mjtObj.mjOBJ_SITE,
            objname="imu_arm",
        )
    spec.compile()
    return spec.to_xml()


def readings_of_mujoco(world, steps):
    model = mujoco.MjModel.from_xml_string(world)
    data = mujoco.MjData(model)
    rows = []
    for _ in range(steps):
        hover(model, data)
        mujoco.mj_step(model, data)
        rows.append(data.sensordata.copy())
    return np.array(rows)


def test_reported_samples_are_mujocos_gyro_and_accelerometer_before_each_step():
    world = with_own_sensors(0.001)
    source = PhysicsWorld(world, ["imu_arm"], reported=True).run(0.5, control=hover)["imu_arm"]
    expected = readings_of_mujoco(world, 500)
    w, f = replace(source, value="reported").inputs(states_s(source))
    assert np.abs(expected[:, :3]).max() > 0.1
    np.testing.assert_allclose(w, expected[:, :3], atol=1e-12)
    np.testing.assert_allclose(f, expected[:, 3:], atol=1e-11)


def test_means_over_a_step_approach_mujocos_accelerometer_off_centre_as_steps_shorten():
    errors = []
    for step_s in (0.002, 0.001, 0.0005):
        world = with_own_sensors(step_s)
        source = PhysicsWorld(world, "imu_arm").run(0.5, control=hover)["imu_arm"]
        expected = readings_of_mujoco(world, source.steps)
        f = source.inputs(states_s(source))[1]
        errors.append(np.sqrt(np.mean((f - expected[:, 3:]) ** 2)))
    assert errors[0] < 5e-3
    assert errors[0] > 1.7 * errors[1] > 1.7**2 * errors[2]


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_increments_integrate_back_to_the_final_state(integrator):
    def kick(data):
        data.qvel[:] = [0.3, 0.0, 1.0, 3.0, -2.0, 4.0]

    body = BOX.format(height=0.4).replace('name="imu"', 'name="imu" pos="0.1 0.05 0.02"')
    world = one_body(body, f'integrator="{integrator}"', PLANE)
    source = simulated(world, duration_s=1.0, prepare=kick)
    edges = np.linspace(0.0, 1.0, 734)  # cuts the 500 steps anywhere
    truth = source.truth(edges)
    attitude, velocity = Rotation.from_quat(truth.q_world_from_body[0]), truth.velocity_world[0]
    for turn, change in zip(*source.preintegrated(edges), strict=True):
        velocity = velocity + attitude.apply(change) + [0.0, 0.0, -9.81 / 733.0]
        attitude = attitude * Rotation.from_rotvec(turn)
    error = attitude.inv() * Rotation.from_quat(truth.q_world_from_body[-1])
    assert error.magnitude() < 1e-9
    np.testing.assert_allclose(velocity, truth.velocity_world[-1], atol=1e-9)


def test_a_urdf_carries_the_sensor_on_a_link():
    physics = PhysicsWorld(WORLDS / "arm.urdf", "imu_link", qpos=[0.8], reported=True)
    source = replace(physics.run(1.0)["imu_link"], value="reported")
    w, f = source.inputs(states_s(source))
    angle = Rotation.from_quat(source.q_world_from_sensor[:-1]).as_rotvec()[:, 1]
    np.testing.assert_allclose(f[:, 2], 9.81 * np.cos(angle) + 0.6 * w[:, 1] ** 2, atol=1e-12)
    np.testing.assert_allclose(
        source.position_world[:-1],
        -0.6 * np.column_stack([np.sin(angle), 0.0 * angle, np.cos(angle)]),
        atol=1e-12,
    )


def test_sensors_on_several_sites_share_one_simulation():
    physics = PhysicsWorld(WORLDS / "quadrotor.xml", ["imu_arm", "imu"])
    calls = []
    both = physics.run(0.2, control=lambda model, data: (hover(model, data), calls.append(1)))
    assert len(calls) == 200
    alone = PhysicsWorld(WORLDS / "quadrotor.xml", "imu").run(0.2, control=hover)
    np.testing.assert_array_equal(both["imu"].velocity_world, alone["imu"].velocity_world)
    arm = Rotation.from_quat(both["imu"].q_world_from_sensor).apply([0.15, 0.15, 0.02])
    np.testing.assert_allclose(
        both["imu_arm"].position_world - both["imu"].position_world, arm, atol=1e-12
    )


@pytest.mark.parametrize("reported", [False, True])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_users_own_loop_feels_what_a_run_feels(integrator, reported):
    spec = mujoco.MjSpec.from_file(str(WORLDS / "quadrotor.xml"))
    spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    spec.compile()
    physics = PhysicsWorld(spec.to_xml(), ["imu", "imu_arm"], reported=reported)
    sources = physics.run(0.1, control=hover)
    physics.reset()
    value = "reported" if reported else "difference"
    for k in range(100):
        hover(physics.model, physics.data)
        t_s, w, f = physics.step()
        assert t_s == k * 0.001
        for i, source in enumerate(sources.values()):
            expected = replace(source, value=value).inputs([t_s])
            np.testing.assert_allclose(w[i], expected[0][0], atol=1e-12)
            np.testing.assert_allclose(f[i], expected[1][0], atol=1e-11)
    assert physics.t_s == 0.1


def test_two_runs_continue_each_other_bit_for_bit():
    world = one_body(BOX.format(height=0.06), "", PLANE)
    whole = simulated(world, duration_s=0.4)
    physics = PhysicsWorld(world, "imu", reported=True)
    first, second = physics.run(0.2)["imu"], physics.run(0.2)["imu"]
    assert (second.first_step, second.start_s, second.end_s) == (100, first.end_s, whole.end_s)
    both = np.concatenate([first.velocity_world, second.velocity_world[1:]])
    np.testing.assert_array_equal(both, whole.velocity_world)
    np.testing.assert_array_equal(second.velocity_world[0], first.velocity_world[-1])


def test_a_reset_gives_the_same_run_again():
    physics = PhysicsWorld(WORLDS / "slope.xml", "imu")
    first = physics.run(0.2)["imu"]
    physics.reset()
    again = physics.run(0.2)["imu"]
    assert again.start_s == 0.0
    np.testing.assert_array_equal(again.velocity_world, first.velocity_world)
    np.testing.assert_array_equal(again.inputs([0.0])[1], first.inputs([0.0])[1])


def test_a_run_starts_from_the_keyframe_or_from_the_given_joints():
    tilted = PhysicsWorld(WORLDS / "quadrotor.xml", "imu", keyframe="tilted").run(0.01)["imu"]
    np.testing.assert_allclose(
        Rotation.from_quat(tilted.q_world_from_sensor[0]).as_rotvec(degrees=True),
        [20.0, 0.0, 0.0],
        atol=1e-5,
    )
    qpos = np.array([1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0])
    given = qpos.copy()
    moved = PhysicsWorld(WORLDS / "quadrotor.xml", "imu", qpos=qpos).run(0.01)["imu"]
    np.testing.assert_array_equal(moved.position_world[0], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(qpos, given)


def test_progress_counts_up_to_the_last_step():
    seen = []
    physics = PhysicsWorld(WORLDS / "arm.urdf", "imu_link")
    physics.run(20.0, progress=lambda done, steps: seen.append((done, steps)))
    assert seen == [(4096, 10_000), (8192, 10_000), (10_000, 10_000)]


def test_a_duration_is_rounded_up_to_whole_steps():
    physics = PhysicsWorld(WORLDS / "arm.urdf", "imu_link")
    assert physics.run(0.3)["imu_link"].steps == 150
    assert physics.run(0.3001)["imu_link"].steps == 151


def test_a_world_that_switches_sensors_off_is_measured_all_the_same():
    world = one_body(BOX.format(height=3.0)).replace(
        "/><worldbody>", '><flag sensor="disable"/></option><worldbody>'
    )
    source = simulated(world, duration_s=0.1)
    np.testing.assert_allclose(source.position_world[0], [0.0, 0.0, 3.0])


def test_a_world_without_the_site_names_the_nearest():
    with pytest.raises(UnknownNameError, match=r"no site 'imu_arn'; the nearest names: 'imu_arm'"):
        PhysicsWorld(WORLDS / "quadrotor.xml", "imu_arn")
    with pytest.raises(UnknownNameError, match=r"no site 'imu'; the nearest names: 'imu_link'"):
        PhysicsWorld(WORLDS / "arm.urdf", "imu")
    with pytest.raises(UnknownNameError, match=r"no keyframe 'home'; .* 'tilted'"):
        PhysicsWorld(WORLDS / "quadrotor.xml", "imu", keyframe="home")


def test_a_world_that_cannot_be_read_says_why(tmp_path):
    broken = tmp_path / "broken.xml"
    broken.write_text("<mujoco><wheel/></mujoco>")
    with pytest.raises(FormatError, match=r"broken.xml: XML Error.*'wheel'") as caught:
        PhysicsWorld(broken, "imu")
    assert caught.value.path == broken
    with pytest.raises(FormatError, match="mass and inertia"):
        PhysicsWorld(
            "<mujoco><worldbody><body name='imu'><freejoint/></body></worldbody></mujoco>", "imu"
        )
    with pytest.raises(FileNotFoundError):
        PhysicsWorld(tmp_path / "absent.xml", "imu")


def test_a_site_on_a_mocap_body_is_refused():
    world = one_body('<body name="hand" mocap="true"><body><site name="imu"/></body></body>')
    with pytest.raises(UnsupportedError, match="mocap body 'hand'"):
        PhysicsWorld(world, "imu")


def test_an_unstable_simulation_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log where it stands
    world = one_body(BOX.format(height=3.0))

    def push(_model, data):
        data.xfrc_applied[1] = 1e30

    with pytest.raises(ValueRangeError, match="stable simulation"):
        PhysicsWorld(world, "imu").run(0.1, control=push)
    physics = PhysicsWorld(world, "imu")
    push(physics.model, physics.data)
    with pytest.raises(ValueRangeError, match="stable simulation"):
        physics.step()


def test_bad_arguments_are_refused():
    physics = PhysicsWorld(WORLDS / "arm.urdf", "imu_link")
    for duration in (0.0, -1.0, np.nan):
        with pytest.raises(ValueRangeError, match="duration_s"):
            physics.run(duration)
    with pytest.raises(ShapeError, match=r"qpos of shape \(..., 1\)"):
        PhysicsWorld(WORLDS / "arm.urdf", "imu_link", qpos=[0.0, 1.0])
    with pytest.raises(ValueRangeError, match="name of a site, got none"):
        PhysicsWorld(WORLDS / "arm.urdf", [])


def test_without_mujoco_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(BackendMissingError, match=r"strapdown\[physics\]"):
        PhysicsWorld(WORLDS / "arm.urdf", "imu_link")
