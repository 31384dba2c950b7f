from __future__ import annotations

import numpy as np
import pytest

from strapdown import plots
from strapdown.calibration import AllanAccumulator
from strapdown.detection import DETECTORS, Event, Events
from strapdown.errors import FormatError, UnknownNameError, UnsupportedError
from strapdown.formats import Recording
from strapdown.sensors import ImuSpec, TriadSpec
from strapdown.series import ImuSeries, Increments, Trajectory

STEP_NS = 5_000_000


def imu(count=400, **columns):
    t_ns = np.arange(count) * STEP_NS
    rest = np.tile([0.0, 0.0, 9.80665], (count, 1))
    return ImuSeries(t_ns, np.zeros((count, 3)), rest, **columns)


def track(count=400, **columns):
    return Trajectory(
        np.arange(count) * STEP_NS, np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)), **columns
    )


def drawn(axis, label):
    (line,) = [line for line in axis.get_lines() if line.get_label() == label]
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def test_a_peak_of_one_sample_survives_in_a_long_recording():
    rates = np.zeros((200_000, 3))
    rates[123_456, 0] = 7.0
    rates[150_000, 0] = -5.0
    series = imu(200_000).replace(angular_velocity=rates)
    t, y = drawn(plots.plot_recording(Recording(imu={"imu": series})).axes[0], "x")
    assert len(y) < 5_000
    assert (y.max(), y.min()) == (7.0, -5.0)
    assert t[y.argmax()] == pytest.approx(123_456 * 5e-3)


def test_a_gap_is_drawn_as_a_gap():
    series = imu()
    holey = series[(np.arange(400) < 100) | (np.arange(400) >= 300)]
    _, y = drawn(plots.plot_recording(Recording(imu={"imu": holey})).axes[0], "x")
    assert np.isnan(y).sum() == 1
    assert np.isnan(y[100])


def test_a_slower_magnetometer_is_drawn_as_a_line():
    field = np.full((400, 3), np.nan)
    field[::10] = 2e-5
    axes = plots.plot_recording(Recording(imu={"imu": imu(magnetic_field=field)})).axes
    _, y = drawn(axes[2], "z")
    assert y == pytest.approx(np.full(40, 20.0))


def test_every_panel_names_quantity_unit_and_frame():
    series = imu(magnetic_field=np.full((400, 3), 2e-5), body="FRD", world="NED")
    recording = Recording(imu={"imu": series}, trajectories={"truth": track()})
    axes = plots.plot_recording(recording).axes
    assert [axis.get_ylabel() for axis in axes] == [
        "angular velocity [rad/s]",
        "specific force [m/s$^2$]",
        "magnetic field [µT]",
        "attitude [deg]",
    ]
    assert axes[0].get_title(loc="right") == "body FRD"
    assert axes[3].get_title(loc="right") == "ENU from FLU, Z-Y-X"
    assert drawn(axes[2], "x")[1][0] == pytest.approx(20.0)


def test_increments_are_drawn_as_mean_rates():
    count = 50
    increments = Increments(
        np.arange(1, count + 1) * STEP_NS,
        np.full((count, 3), 0.01),
        np.zeros((count, 3)),
        np.full(count, STEP_NS),
        np.full(count, STEP_NS),
    )
    axes = plots.plot_recording(Recording(increments={"vehicle_imu": increments})).axes
    assert drawn(axes[0], "x")[1] == pytest.approx(np.full(count, 2.0))


def test_a_track_alone_is_drawn_with_its_position():
    pose = track(position_world=np.ones((400, 3)))
    axes = plots.plot_recording(Recording(trajectories={"pose": pose})).axes
    assert [axis.get_ylabel() for axis in axes] == ["attitude [deg]", "position [m]"]


def test_an_estimate_is_drawn_with_its_error():
    truth = track()
    tilt = np.array([np.sin(0.01), 0.0, 0.0, np.cos(0.01)])
    estimate = truth.replace(q_world_from_body=np.tile(tilt, (400, 1)))
    axes = plots.plot_estimate(imu(), estimate, truth).axes
    assert drawn(axes[3], "total")[1] == pytest.approx(np.full(400, np.degrees(0.02)))
    assert drawn(axes[3], "inclination")[1] == pytest.approx(np.full(400, np.degrees(0.02)))


def test_an_unknown_topic_gives_the_nearest_and_an_empty_recording_says_so():
    with pytest.raises(UnknownNameError, match="'imu/data'"):
        plots.plot_recording(Recording(imu={"imu/data": imu()}), topic="imu/dta")
    with pytest.raises(FormatError, match="holds none"):
        plots.plot_recording(Recording())


def test_saving_refuses_other_endings_and_existing_files(tmp_path):
    figure = plots.plot_track(track())
    with pytest.raises(UnsupportedError, match=r"expected an ending of \.png, \.svg, \.pdf"):
        plots.save(figure, tmp_path / "a.doc")
    (tmp_path / "a.svg").write_text("mine")
    with pytest.raises(FileExistsError, match="--force"):
        plots.save(figure, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text() == "mine"
    plots.save(figure, tmp_path / "a.svg", force=True)
    assert "<svg" in (tmp_path / "a.svg").read_text()


def test_a_name_with_dollar_signs_is_no_formula(tmp_path):
    figure = plots.plot_track(track(name="$\\frac$"))
    plots.save(figure, tmp_path / "a.png")


@pytest.mark.parametrize("count", [1, 2, 2_500, 12_501, 12_999])
def test_a_smooth_signal_of_any_length_is_one_unbroken_line(count):
    t_ns = np.arange(count) * STEP_NS
    rates = np.sin(t_ns * 1e-9)[:, None] * np.ones(3)
    series = ImuSeries(t_ns, rates, rates)
    t, y = drawn(plots.plot_recording(Recording(imu={"imu": series})).axes[0], "x")
    assert np.isfinite(y).all()
    assert (t[0], t[-1]) == pytest.approx((0.0, t_ns[-1] / 1e9), abs=0.1)
    assert y.max() == rates.max()


@pytest.mark.parametrize("with_truth", [True, False])
def test_a_simulation_is_drawn_with_its_signals_and_its_noise_at_rest(with_truth):
    spec = ImuSpec(gyro=TriadSpec(noise_density=1e-3), mag=TriadSpec())
    rest = {"gyro": AllanAccumulator(200.0)}
    rest["gyro"].add(np.random.default_rng(1).standard_normal((1000, 3)))
    series = imu(magnetic_field=np.full((400, 3), 2e-5))
    truth = track() if with_truth else None
    axes = plots.plot_simulation(series, truth, spec, rest).axes
    deviation = ["deg/h", "µg", "nT"]
    assert [axis.get_ylabel() for axis in axes] == [
        "angular velocity [rad/s]",
        "specific force [m/s$^2$]",
        "magnetic field [µT]",
        *(["attitude [deg]"] if with_truth else []),
        *(f"Allan deviation [{unit}]" for unit in deviation),
    ]
    assert drawn(axes[1], "z")[1] == pytest.approx(np.full(400, 9.80665))
    assert drawn(axes[2], "x")[1] == pytest.approx(np.full(400, 20.0))
    gyro, accel = axes[-3:-1]
    tau_s, model = drawn(gyro, "model")
    assert model == pytest.approx(np.degrees(1e-3 / np.sqrt(tau_s)) * 3600.0)
    assert [box.get_label() for box in gyro.containers] == [f"{a}, simulated" for a in "xyz"]
    assert not accel.get_lines()


def test_a_sensor_without_errors_is_drawn_without_a_deviation(tmp_path):
    rest = {"accel": AllanAccumulator(200.0)}
    rest["accel"].add(1e-12 * np.random.default_rng(1).standard_normal((1000, 3)))  # rounding
    figure = plots.plot_simulation(imu(), track(), ImuSpec(), rest)
    gyro, accel = figure.axes[-2:]
    for axis in (gyro, accel):
        assert not axis.get_lines()
        assert "not given: white noise" in axis.texts[0].get_text()
    plots.save(figure, tmp_path / "a.png")  # no logarithm of nothing


def test_a_quantity_that_no_sample_has_gets_no_panel():
    series = imu().replace(angular_velocity=np.full((400, 3), np.nan))
    axes = plots.plot_recording(Recording(imu={"imu": series})).axes
    assert [axis.get_ylabel() for axis in axes] == ["specific force [m/s$^2$]"]


def spinning(count=400):
    half = np.arange(count) * 0.05
    zero = np.zeros(count)
    return Trajectory(
        np.arange(count) * STEP_NS, np.stack([zero, zero, np.sin(half), np.cos(half)], axis=1)
    )


@pytest.mark.parametrize("count", [400, 20_000])
def test_no_line_is_drawn_where_an_angle_wraps(count):
    _, y = drawn(plots.plot_track(spinning(count)).axes[0], "yaw")
    turns = int((count - 1) * 0.1 / (2.0 * np.pi) + 0.5)
    assert np.isnan(y).sum() == turns
    assert np.nanmax(np.abs(np.diff(y))) < 180.0


def test_a_dense_signal_is_a_pale_envelope_and_a_line_of_means():
    rng = np.random.default_rng(1)
    rates = 0.1 * rng.standard_normal((50_000, 3)) + [1.0, 2.0, 3.0]
    series = imu(50_000).replace(angular_velocity=rates)
    axis = plots.plot_recording(Recording(imu={"imu": series})).axes[0]
    envelopes, means = axis.get_lines()[0::2], axis.get_lines()[1::2]
    assert [line.get_label() for line in envelopes] == ["x", "y", "z"]
    for column, (envelope, mean) in enumerate(zip(envelopes, means, strict=True)):
        assert envelope.get_alpha() < 1.0
        assert envelope.get_zorder() < mean.get_zorder()
        assert np.ptp(mean.get_ydata()) < 0.3 < np.ptp(envelope.get_ydata())
        assert mean.get_ydata() == pytest.approx(rates[:, column].reshape(-1, 50).mean(axis=1))
    handles = axis.get_legend().get_lines()
    assert {line.get_alpha() for line in handles} == {1.0}


def test_a_reference_is_drawn_below_and_a_relative_heading_is_named_so():
    axis = plots.plot_track(track(), reference=spinning(), heading_is_relative=True).axes[0]
    labels = [text.get_text() for text in axis.get_legend().get_texts()]
    assert labels == ["reference", "roll", "pitch", "yaw, relative to the start"]
    assert axis.get_lines()[2].get_color() == axis.get_lines()[0].get_color()  # grey, unlike yaw


def test_a_plan_names_east_and_north_only_where_heading_is_known():
    pose = track(position_world=np.ones((400, 3)))
    plan = plots.plot_odometry(pose).axes[0]
    assert (plan.get_xlabel(), plan.get_ylabel()) == ("east [m]", "north [m]")
    plan = plots.plot_odometry(pose, heading_is_relative=True).axes[0]
    assert (plan.get_xlabel(), plan.get_ylabel()) == ("x [m]", "y [m]")
    assert "heading relative to the start" in plan.get_title(loc="right")


def test_each_kind_of_event_has_its_colour_marker_row_and_name():
    kinds = [*DETECTORS, "still", "long_lie", "degraded", "failed"]
    events = Events.of(
        [Event(kind, k * 10**8, k * 10**8 + 10**7, k * 10**8) for k, kind in enumerate(kinds)]
    )
    force, rate, rows = plots.plot_events(imu(), events).axes
    names = [kind.replace("_", " ") for kind in kinds]
    for axis in (force, rate):
        marks = {line.get_label(): line for line in axis.get_lines()}
        looks = {(marks[name].get_color(), marks[name].get_marker()) for name in names}
        assert len(looks) == len(kinds)
        legend = [text.get_text() for text in axis.get_legend().get_texts()]
        assert legend == ["signal", *names]
    assert [text.get_text() for text in rows.get_yticklabels()] == names
    starts = [line.get_xdata()[0] for line in rows.get_lines()]
    assert starts == pytest.approx(0.1 * np.arange(len(kinds)))


def test_a_recording_without_events_is_drawn_as_well(tmp_path):
    plots.save(plots.plot_events(imu(), Events.of([])), tmp_path / "a.png")
