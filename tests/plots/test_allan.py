from __future__ import annotations

import numpy as np
import pytest

from strapdown import plots
from strapdown.calibration import AllanAccumulator
from strapdown.motion import MOTIONS, Mounted
from strapdown.sensors import ImuSpec, TriadSpec
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

DEG_PER_HOUR = RAD_PER_DEG / 3600.0


def lines(axis):
    return {line.get_label(): line for line in axis.get_lines()}


def words(axis):
    return " ".join(text.get_text() for text in axis.texts)


def test_the_lines_of_a_data_sheet_stand_in_its_units_beside_the_model():
    gyro = TriadSpec(
        noise_density=0.3 * RAD_PER_DEG / 60.0,  # 0.3 deg/sqrt(h)
        bias_instability=10.0 * DEG_PER_HOUR / 0.664281,
        bias_random_walk=0.5 * DEG_PER_HOUR,
    )
    drawn = lines(plots.plot_allan(ImuSpec(gyro=gyro)).axes[0])
    assert list(drawn) == [
        "model",
        "white noise, 0.3 deg/√h",
        "random walk, 0.5 deg/h/√s",
        "flicker floor, 10 deg/h",
    ]
    tau_s, white = drawn["white noise, 0.3 deg/√h"].get_data()
    assert np.interp(1.0, tau_s, white) == pytest.approx(18.0, rel=1e-3)  # 0.3 * 60
    tau_s, walk = drawn["random walk, 0.5 deg/h/√s"].get_data()
    assert np.interp(300.0, tau_s, walk) == pytest.approx(5.0, rel=1e-3)  # 0.5 sqrt(300 / 3)


def test_what_is_not_given_is_said():
    half = ImuSpec(gyro=TriadSpec(noise_density=1e-4))
    gyro, accel = plots.plot_allan(half).axes
    assert words(gyro) == "not given: bias instability"
    assert words(accel) == "not given: white noise, bias instability"
    assert not accel.get_lines()


def test_measured_points_have_bars_of_one_standard_deviation():
    measured = AllanAccumulator(100.0)
    measured.add(1e-4 * STANDARD_GRAVITY * np.random.default_rng(0).standard_normal((4096, 3)))
    spec = ImuSpec(accel=TriadSpec(noise_density=1e-5 * STANDARD_GRAVITY))
    axis = plots.plot_allan(spec, {"accel": measured}).axes[1]
    assert [box.get_label() for box in axis.containers] == [f"{a}, simulated" for a in "xyz"]
    (points, _, (bars,)) = axis.containers[0]
    assert points.get_ydata()[0] == pytest.approx(100.0, rel=0.05)  # ug, at one sample
    low, high = bars.get_segments()[0][:, 1]
    assert (high - low) / (high + low) == pytest.approx(1.0 / np.sqrt(2.0 * 4095.0))


def test_a_sensor_whose_output_sticks_is_said_to():
    measured = AllanAccumulator(100.0)
    measured.add(np.zeros((1000, 3)))
    spec = ImuSpec(gyro=TriadSpec(noise_density=1e-6, bias_instability=1e-6))
    gyro, _ = plots.plot_allan(spec, {"gyro": measured}).axes
    assert words(gyro) == "simulated: constant, the noise is below the resolution"


def test_a_motion_is_drawn_with_what_a_perfect_sensor_reads():
    axes = plots.plot_motion(Mounted(MOTIONS["circle"]), title="circle", duration_s=3.0).axes
    assert [axis.get_ylabel() for axis in axes] == [
        "attitude [deg]",
        "angular velocity [rad/s]",
        "position [m]",
        "specific force [m/s$^2$]",
    ]
    assert lines(axes[3])["y"].get_ydata() == pytest.approx(5.0)  # v^2 / r
    assert lines(axes[1])["z"].get_ydata() == pytest.approx(1.0)  # v / r
