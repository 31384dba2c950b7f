"""The same bits however a device is run, steady first samples of every source, and clean hands."""

from __future__ import annotations

import copy
import itertools
import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, fields, replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.motion import (
    MOTIONS,
    Circle,
    Hinge,
    KinematicTree,
    Link,
    MotionCommands,
    Mount,
    Mounted,
    PhysicsWorld,
    PoseSpline,
    Replay,
    SixPosition,
    Spin,
    Static,
    Turntable,
    Wgs84,
)
from strapdown.sensors import (
    Bandwidth,
    Clock,
    Fifo,
    GaussMarkov,
    ImuSimulator,
    ImuSpec,
    Latency,
    Line,
    Sample,
    Samples,
    Spectrum,
    Temperature,
    TemperatureProfile,
    TriadSpec,
    TurnOn,
    Vibration,
    load_profile,
    temperature_table,
)
from strapdown.series import ImuSeries

G = 9.80665
CROSS = ((0.01, 0.002, 0.001), (0.003, -0.01, 0.001), (0.002, 0.001, 0.02))
FULL = TriadSpec(
    noise_density=1e-4,
    bias_random_walk=1e-5,
    bias_instability=1e-4,
    gauss_markov=(GaussMarkov(1e-3, 0.05),),
    turn_on_bias=TurnOn("normal", 0.01),
    scale_misalignment=CROSS,
    temperature=Temperature(20.0, ((1e-3,),) * 3, ((1e-4,),) * 3),
    resolution=1e-4,
    bits=20,
    measurement_range=20.0,
)
LOWPASS = Bandwidth("lowpass", 30.0, 2)
SPECS = {
    "plain": ImuSpec(rate_hz=200, gyro=FULL, accel=FULL),
    "filtered": ImuSpec(
        rate_hz=200,
        gyro=replace(FULL, bandwidth=LOWPASS, noise_at="element"),
        accel=replace(FULL, bandwidth=LOWPASS, carry_residue=True),
        mag=TriadSpec(noise_density=1e-8),
    ),
    "integral": ImuSpec(rate_hz=200, sampling="integral", oversampling=3, gyro=FULL, accel=FULL),
    "everything around": ImuSpec(
        rate_hz=200,
        gyro=FULL,
        accel=FULL,
        clock=Clock(100.0, 1.0, 1.0, 1e-5, 1e-5, 16),
        latency=Latency(0.01, 0.001),
        fifo=Fifo(5, 6),
        drop_probability=0.05,
    ),
}
SAMPLES = 6000
COLUMNS = set(Sample._fields)


def spline():
    """Return a spline through 40 s of poses."""
    t_s = np.linspace(0.0, 40.0, 401)
    poses = MOTIONS["wander"].at(t_s)
    return PoseSpline.from_poses(
        t_s, poses.position_world, poses.q_world_from_body, mode="interpolate"
    )


@pytest.fixture(scope="module")
def riding():
    """Give a device on a spline, shaken and warm."""
    source = Mounted(spline(), Mount(lever_arm=(0.1, 0.0, 0.05)))

    def device(name, **options):
        options = {
            "seed": 3,
            "temperature": TemperatureProfile(20.0, 10.0, 5.0),
            "vibration": Vibration(
                lines=(Line((0.5, 0.1, 0.2), 35.0),), spectrum=Spectrum([0.0, 90.0], [1e-3, 1e-3])
            ),
        } | options
        return ImuSimulator(SPECS[name], source, **options)

    return device


def columns(samples: Samples):
    """Return all arrays of samples by name."""
    return {
        entry.name: value
        for entry in fields(samples)
        if isinstance(value := getattr(samples, entry.name), np.ndarray)
    }


def assert_same(whole: Samples, other: Samples):
    found = columns(other)
    for name, values in columns(whole).items():
        assert np.array_equal(values, found[name], equal_nan=True), name


# -- the same bits -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("partition", [1, 2])
@pytest.mark.by_default("1-plain", "1-filtered", "2-integral", "2-everything around")
def test_any_partition_with_steps_and_restored_states_gives_the_bits_of_one_run(
    riding, name, partition
):
    whole = columns(riding(name).run(SAMPLES))
    device, at, rng = riding(name), 0, np.random.default_rng(partition)
    while at < SAMPLES:
        size = min(int(rng.choice([1, 1, 2, 47, 511, 2048, 2049])), SAMPLES - at)
        if rng.random() < 0.3:
            state = json.loads(json.dumps(device.state()))
            device = riding(name)
            device.restore(state)
        if size < 50 and rng.random() < 0.5:
            steps = [device.step() for _ in range(size)]
            part = {name: [getattr(step, name, None) for step in steps] for name in whole}
        else:
            part = columns(device.run(size))
        for column in COLUMNS & whole.keys():
            assert np.array_equal(whole[column][at : at + size], part[column]), column
        at += size


@pytest.mark.parametrize("name", SPECS)
def test_seeking_to_any_sample_gives_the_bits_of_one_run(riding, name):
    whole = riding(name).run(SAMPLES)
    device = riding(name)
    for row in (SAMPLES - 100, 1, 2047, 2049, 0):
        device.seek(int(whole.seq[row]))
        assert_same(whole[row : row + 60], device.run(60))


@pytest.mark.slow
def test_a_hundred_devices_on_many_threads_have_the_bits_of_each_alone(riding):
    def run(sensor):
        return riding("plain", sensor=sensor).run(200)

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(run, range(100)))
    for sensor in (0, 37, 99):
        assert_same(run(sensor), together[sensor])
    assert len({tuple(run.angular_velocity[0]) for run in together}) == 100


# -- first samples -------------------------------------------------------------------------------

STILL = """<mujoco><worldbody><geom type="plane" size="5 5 0.1"/>
<body name="box" pos="0 0 0.1"><geom type="box" size="0.1 0.1 0.1"/><site name="imu"/></body>
</worldbody></mujoco>"""
TURN_RATE = 0.5


class SteadyAngle:
    """An angle that grows steadily."""

    def __call__(self, t_s):
        return TURN_RATE * t_s, np.full_like(t_s, TURN_RATE), np.zeros_like(t_s)


def analytic():
    return Mounted(Spin(TURN_RATE), Mount(lever_arm=(0.2, 0.0, 0.0)))


def circle():
    return Mounted(Circle(radius=2.0, speed=1.0))


def falling():
    return Mounted(MOTIONS["free_fall"])


def splined():
    t_s = np.linspace(0.0, 5.0, 21)
    attitude = np.tile([0.0, 0.0, 0.0, 1.0], (21, 1))
    position = np.outer(t_s, [1.0, 2.0, 3.0])
    return Mounted(PoseSpline.from_poses(t_s, position, attitude, mode="interpolate"))


def commanded():
    rows = [[1, 0, 0, 0, 0, 0, 0, 5, 1]]
    initial = [32.0, 120.0, 100.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    return Mounted(MotionCommands.from_rows(initial, rows, frame="flat"))


def on_a_tree():
    tree = KinematicTree([Link("arm", [Hinge([0, 0, 1], SteadyAngle())], position=[1, 0, 0])])
    return Mounted(tree.motion("arm"), Mount(lever_arm=(0.2, 0.0, 0.0)))


def simulated():
    return PhysicsWorld(STILL, "imu").run(5.0)["imu"]


def replayed():
    t_ns = np.arange(501) * 10_000_000
    steady = np.tile([0.25, -0.5, 0.75], (501, 1))
    return Replay(ImuSeries(t_ns, steady, 13.0 * steady))


SOURCES = {
    "analytic": (analytic, (0.0, 0.0, TURN_RATE), (-0.2 * TURN_RATE**2, 0.0, G)),
    "circle": (circle, (0.0, 0.0, 0.5), (0.0, 0.5, G)),
    "free fall": (falling, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    "spline": (splined, (0.0, 0.0, 0.0), (0.0, 0.0, G)),
    "commands": (commanded, (0.0, 0.0, 0.0), (0.0, 0.0, G)),
    "tree": (on_a_tree, (0.0, 0.0, TURN_RATE), (-0.2 * TURN_RATE**2, 0.0, G)),
    "physics": (simulated, (0.0, 0.0, 0.0), (0.0, 0.0, 9.81)),
    "replay": (replayed, (0.25, -0.5, 0.75), (3.25, -6.5, 9.75)),
}

# A body on soft contacts rests to 1e-9; differences of velocities of 1 m/s over 1.4 ms round.
ATOL = dict.fromkeys(SOURCES, 1e-12) | {"physics": 1e-9}


def steady_values(samples, sampling, interval_s):
    """Return angular velocity, and specific force where there is one yet."""
    if sampling in {"integral", "preintegrated"}:
        return samples.delta_angle / interval_s, samples.delta_velocity / interval_s
    ready = samples.flags == 0
    assert ready[1:].all()
    assert np.isnan(samples.specific_force[~ready]).all()
    return samples.angular_velocity, samples.specific_force[ready]


def mean_while_turning(force, angle):
    """Return the mean of a force that turns by an angle about z, in the axes at one end."""
    half = angle / 2.0
    chord = math.sin(half) / half if half else 1.0
    x, y, z = force
    return (
        chord * (x * math.cos(half) - y * math.sin(half)),
        chord * (x * math.sin(half) + y * math.cos(half)),
        z,
    )


@pytest.mark.parametrize(
    "step", [7, pytest.param(1, marks=pytest.mark.slow)], ids=["thinned", "whole"]
)
def test_every_steady_source_is_steady_from_the_first_sample_and_after_a_reset(subtests, step):
    cases = [
        case
        for case in itertools.product(
            SOURCES,
            ["point", "mean", "integral", "preintegrated", "velocity_difference"],
            [False, True],
            [1, 4, 7],
        )
        if (case[0] != "replay" or case[1] not in {"preintegrated", "velocity_difference"})
        and (case[1] != "preintegrated" or case[2:] == (False, 1))
    ]
    for source, sampling, filtered, oversampling in cases[::step]:
        with subtests.test(
            source=source, sampling=sampling, filtered=filtered, oversampling=oversampling
        ):
            check_steady_source(source, sampling, filtered, oversampling)


def check_steady_source(source, sampling, filtered, oversampling):
    make, angular_velocity, force = SOURCES[source]
    triad = TriadSpec(bandwidth=Bandwidth("lowpass", 20.0, 2) if filtered else None)
    spec = ImuSpec(
        rate_hz=100, oversampling=oversampling, sampling=sampling, gyro=triad, accel=triad
    )
    turned = angular_velocity[2] * 0.01
    if sampling == "preintegrated":  # in the axes at the start
        force = mean_while_turning(force, turned)
    if (
        sampling == "velocity_difference"
    ):  # in the axes at the end, since the internal sample before
        force = mean_while_turning(force, -turned / oversampling)
    device, before = ImuSimulator(spec, make()), None
    for _ in range(3):
        samples = device.run(6)
        w, f = steady_values(samples, sampling, 0.01)
        np.testing.assert_allclose(w, np.tile(angular_velocity, (len(w), 1)), atol=1e-12)
        np.testing.assert_allclose(f, np.tile(force, (len(f), 1)), rtol=1e-12, atol=ATOL[source])
        if before is not None:
            assert_same(before, samples)
        before = samples
        device.reset(noise="restart")


# -- closure -------------------------------------------------------------------------------------


def test_a_minute_of_perfect_increments_leads_back_to_the_truth():
    spec = ImuSpec(rate_hz=1000, sampling="preintegrated")
    source = Mounted(MOTIONS["wander"], Mount(lever_arm=(0.1, 0.2, -0.1)))
    samples = ImuSimulator(spec, source, start_s=0.001).run(60_000)  # the first since t = 0
    truth = source.truth([0.0, 60.0])
    turns, velocity = Rotation.from_rotvec(samples.delta_angle), samples.delta_velocity
    while len(velocity) > 1:  # neighbours make one increment
        if len(velocity) % 2:
            turns = Rotation.concatenate([turns, Rotation.identity()])
            velocity = np.vstack([velocity, np.zeros(3)])
        velocity = velocity[::2] + turns[::2].apply(velocity[1::2])
        turns = turns[::2] * turns[1::2]
    start, end = Rotation.from_quat(truth.q_world_from_body)
    assert ((start * turns[0]).inv() * end).magnitude() < 1e-9
    reached = truth.velocity_world[0] + start.apply(velocity[0]) - [0.0, 0.0, 60.0 * G]
    np.testing.assert_allclose(reached, truth.velocity_world[1], atol=1e-9, rtol=0.0)


# -- calibration ---------------------------------------------------------------------------------


def test_a_six_position_run_gives_back_the_faults_of_the_accelerometer():
    faults, bias = np.array(CROSS), (0.1, -0.2, 0.05)
    accel = TriadSpec(scale_misalignment=CROSS, bias=bias)
    motion = SixPosition(dwell_s=2.0, turn_s=1.0)
    samples = ImuSimulator(ImuSpec(rate_hz=50, accel=accel), Mounted(motion)).run(850)
    starts = 3.0 * np.arange(6)
    read = [
        samples.specific_force[(samples.t_true_s > t + 0.1) & (samples.t_true_s < t + 1.9)].mean(0)
        for t in starts
    ]
    up = [[0, 0, G], [0, G, 0], [0, 0, -G], [0, -G, 0], [-G, 0, 0], [G, 0, 0]]
    found, *_ = np.linalg.lstsq(np.column_stack([up, np.ones(6)]), np.array(read), rcond=None)
    np.testing.assert_allclose(found[:3].T, np.eye(3) + faults, atol=1e-10, rtol=0.0)
    np.testing.assert_allclose(found[3], bias, atol=1e-10, rtol=0.0)


def test_three_rate_tables_give_back_the_faults_of_the_gyro():
    bias = (0.01, -0.02, 0.03)
    leak = ((1e-4, 2e-4, 3e-4), (-1e-4, 1e-4, 0.0), (2e-4, 0.0, 1e-4))
    gyro = TriadSpec(scale_misalignment=CROSS, bias=bias, g_sensitivity=leak)
    read, known = [], []
    for axis in np.eye(3):
        table = Turntable.from_rates([1.0, 0.0, -1.0], hold_s=2.0, ramp_s=1.0, axis=axis)
        ride = Mounted(table)
        samples = ImuSimulator(ImuSpec(rate_hz=50, gyro=gyro), ride).run(400)
        for k, rate in enumerate((1.0, 0.0, -1.0)):
            held = (samples.t_true_s > 3.0 * k + 0.1) & (samples.t_true_s < 3.0 * k + 1.9)
            read.append(samples.angular_velocity[held].mean(axis=0))
            force = ride.inputs(samples.t_true_s[held])[1].mean(axis=0)
            known.append([*(rate * axis), *force, 1.0])
    # columns: (I + E), (I + E) K of the gravity seen, and the bias
    found, *_ = np.linalg.lstsq(np.array(known), np.array(read), rcond=None)
    whole = np.eye(3) + CROSS
    np.testing.assert_allclose(found[:3].T, whole, atol=1e-10, rtol=0.0)
    np.testing.assert_allclose(found[3:6].T, whole @ leak, atol=1e-10, rtol=0.0)
    np.testing.assert_allclose(found[6], bias, atol=1e-10, rtol=0.0)


# -- clean hands ---------------------------------------------------------------------------------


def sealed(*values):
    """Return an array that raises when something writes into it."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def test_a_whole_run_writes_into_no_array_that_it_was_given():
    t_s = np.linspace(0.0, 20.0, 201)
    poses = MOTIONS["wander"].at(t_s)
    given_arrays = [t_s, poses.position_world, poses.q_world_from_body]
    kept = [array.copy() for array in given_arrays]
    for array in given_arrays:
        array.setflags(write=False)
    motion = PoseSpline.from_poses(*given_arrays, mode="interpolate")
    table = (sealed(0.0, 10.0, 20.0), sealed(20.0, 30.0, 25.0))
    spectrum = (sealed(10.0, 20.0), sealed(1e-3, 2e-3))
    amplitude, arm, field = sealed(1.0, 0.0, 0.0), sealed(0.1, 0.0, 0.0), sealed(2e-5, 0.0, -4e-5)
    mount = Mount(lever_arm=arm, q_body_from_gyro=sealed(0.0, 0.0, 0.6, 0.8))
    device = ImuSimulator(
        SPECS["filtered"],
        Mounted(motion, mount, Wgs84(0.5, 0.1, 100.0)),
        magnetic_field_world=field,
        temperature=TemperatureProfile(temperature_table(*table)),
        vibration=Vibration(lines=(Line(amplitude, 15.0),), spectrum=Spectrum(*spectrum)),
    )
    samples = device.run(2000)
    device.truth(samples)
    device.seek(10)
    device.step()
    device.reset()
    device.run(100)
    for array, before in zip(given_arrays, kept, strict=True):
        assert np.array_equal(array, before)


def test_a_spec_and_a_sheet_are_the_same_after_every_use():
    sheet = load_profile("MPU-6050")
    spec = sheet.spec(rate_hz=200)
    before, text = copy.deepcopy(asdict(spec)), spec.to_json()
    device = ImuSimulator(spec, Mounted(Static()), seed=None, temperature=30.0)
    device.run(100)
    device.step()
    device.metadata()
    device.reset(power_cycle=True)
    spec.allan([0.1, 1.0])
    spec.missing()
    worse = replace(spec, gyro=replace(spec.gyro, noise_density=9e-4))
    ImuSimulator(worse, Mounted(Static())).run(10)
    assert asdict(spec) == before
    assert spec.to_json() == text
    assert load_profile("MPU-6050") == sheet
    assert load_profile("MPU-6050").spec(rate_hz=200) == spec


def test_fed_numbers_and_restored_states_are_left_as_they_were():
    device = ImuSimulator(SPECS["plain"])
    rate, force = [0.1, 0.2, 0.3], [1.0, 2.0, 3.0]
    for _ in range(3):
        device.feed(rate, force)
    assert (rate, force) == ([0.1, 0.2, 0.3], [1.0, 2.0, 3.0])
    state = device.state()
    kept = json.dumps(state)
    for _ in range(2):
        device.restore(state)
        again = [device.feed(rate, force).angular_velocity for _ in range(50)]
    assert json.dumps(state) == kept
    other = ImuSimulator(SPECS["plain"])
    other.restore(state)
    assert [other.feed(rate, force).angular_velocity for _ in range(50)] == again


def test_what_a_run_gave_is_not_touched_by_what_follows(riding):
    device = riding("filtered")
    samples = device.run(500)
    kept = {name: values.copy() for name, values in columns(samples).items()}
    samples.series()
    samples[10:20].series(stamps="host")
    device.truth(samples)
    device.run(500)
    device.reset(noise="restart")
    device.run(500)
    for name, values in columns(samples).items():
        assert np.array_equal(values, kept[name]), name


def test_two_devices_on_one_source_and_one_spec_share_nothing(riding):
    alone = riding("everything around").run(400)
    one, other = riding("everything around"), riding("everything around", seed=9)
    parts = []
    for _ in range(4):
        parts.append(one.run(100))
        other.run(37)
        other.step()
    joined = np.concatenate([part.specific_force for part in parts])
    assert np.array_equal(alone.specific_force, joined)
