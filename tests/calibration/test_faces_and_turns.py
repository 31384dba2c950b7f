"""Six positions and Ferraris: golden values of imucal, and simulated sessions."""

from __future__ import annotations

import json

import numpy as np
import pytest

from strapdown.calibration import ferraris, has_faces_and_turns, six_position
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.series import ImuSeries
from strapdown.units import RAD_PER_DEG


@pytest.fixture(scope="module")
def golden(data_dir):
    """A session of imucal (MIT), its sections, and the parameters that imucal 2.6.0 gives."""
    folder = data_dir / "imucal"
    table = np.loadtxt(folder / "example_ferraris_session.csv", delimiter=",", skiprows=1)
    t_ns = np.round(np.arange(len(table)) * 1e9 / 102.4).astype(np.int64)
    series = ImuSeries(t_ns, table[:, 1:4] * RAD_PER_DEG, table[:, 4:])
    sections = json.loads((folder / "example_ferraris_session_list.json").read_text())
    return series, sections, json.loads((folder / "ferraris_golden.json").read_text())


def compare(calibration, theirs, tolerance):
    K_a, R_a, K_g, R_g = (np.array(theirs[name]) for name in ("K_a", "R_a", "K_g", "R_g"))
    accel, gyro = calibration.accel, calibration.gyro
    np.testing.assert_allclose(accel.matrix, np.linalg.inv(K_a @ R_a), atol=tolerance)
    np.testing.assert_allclose(accel.bias, theirs["b_a"], atol=10 * tolerance)
    np.testing.assert_allclose(gyro.matrix, np.linalg.inv(K_g @ R_g), atol=tolerance)
    np.testing.assert_allclose(gyro.bias / RAD_PER_DEG, theirs["b_g"], atol=10 * tolerance)
    K_ga = calibration.g_sensitivity / RAD_PER_DEG
    np.testing.assert_allclose(K_ga, theirs["K_ga"], atol=tolerance)


def test_the_closed_form_agrees_with_imucal(golden):
    series, sections, theirs = golden
    result = ferraris(series, sections, gravity=9.81)
    compare(result.calibration, theirs, 1e-9)
    assert result.warnings == ()
    calibrated = result.calibration.apply(series)
    for name, span in theirs["regions"].items():
        rows = slice(span["start"], span["end"])
        force = calibrated.specific_force[rows].mean(axis=0)
        rate = calibrated.angular_velocity[rows].mean(axis=0) / RAD_PER_DEG
        np.testing.assert_allclose(force, span["mean_acc"], atol=1e-8, err_msg=name)
        np.testing.assert_allclose(rate, span["mean_gyr"], atol=1e-6, err_msg=name)


def test_order_and_form_of_the_sections_make_no_difference(golden):
    series, sections, theirs = golden
    pairs = {name: (span["start"], span["end"]) for name, span in reversed(sections.items())}
    compare(ferraris(series, pairs, gravity=9.81).calibration, theirs, 1e-9)


def test_readings_in_degrees_give_the_same_calibration(golden):
    series, sections, theirs = golden
    degrees = series.replace(angular_velocity=series.angular_velocity / RAD_PER_DEG)
    result = ferraris(degrees, sections, gravity=9.81)
    (line,) = result.warnings
    assert "as if the gyro were in deg/s" in line
    K_g, R_g = np.array(theirs["K_g"]), np.array(theirs["R_g"])
    expected = np.linalg.inv(K_g @ R_g) * RAD_PER_DEG
    np.testing.assert_allclose(result.calibration.gyro.matrix, expected, atol=1e-11)
    assert result.calibration.gyro.unit_in == "deg/s"


@pytest.mark.parametrize("procedure", [ferraris, six_position])
def test_sections_are_found_in_a_real_session(golden, procedure):
    series, _, theirs = golden
    assert has_faces_and_turns(series)
    result = procedure(series, gravity=9.81)
    assert len(result.turn_error) == 3
    assert len(result.norm_error) == 13
    compare(result.calibration, theirs, 4e-3)


def test_least_squares_on_the_golden_sections_is_near_the_closed_form(golden):
    series, sections, theirs = golden
    result = six_position(series, sections, gravity=9.81)
    compare(result.calibration, theirs, 1.5e-3)
    (line,) = result.warnings
    assert "the turn about y integrates to 353.7 deg instead of 360" in line
    sigma = result.calibration.gyro.sigma_matrix
    assert np.all((sigma > 1e-3) & (sigma < 0.02))


@pytest.mark.parametrize("procedure", [ferraris, six_position])
def test_a_simulated_session_without_noise_gives_the_truth(sessions, procedure):
    motion, sections = sessions.faces()
    series = sessions.recorded(motion, sessions.spec(noise=False))
    for given in (sections, None):
        result = procedure(series, given, gravity=sessions.GRAVITY)
        c = result.calibration
        np.testing.assert_allclose(c.accel.matrix, sessions.ACCEL, atol=1e-8)
        np.testing.assert_allclose(c.accel.bias, sessions.ACCEL_BIAS, atol=1e-8)
        np.testing.assert_allclose(c.gyro.matrix, sessions.GYRO, atol=1e-7)
        np.testing.assert_allclose(c.gyro.bias, sessions.GYRO_BIAS, atol=1e-8)
        np.testing.assert_allclose(c.g_sensitivity, 0.0, atol=1e-8)
        assert result.warnings == ()


def test_nine_parameters_keep_the_axes_of_the_sensor(sessions):
    motion, sections = sessions.faces()
    series = sessions.recorded(motion)
    result = six_position(series, sections, gravity=sessions.GRAVITY, parameters=9)
    matrix = result.calibration.accel.matrix
    assert np.tril(matrix, -1).tolist() == [[0.0] * 3] * 3
    np.testing.assert_allclose(matrix, sessions.ACCEL, atol=1e-3)
    with pytest.raises(ValueRangeError, match="9 or 12 parameters, got 6"):
        six_position(series, parameters=6)


def test_errors_are_as_large_as_the_report_says(sessions):
    motion, sections = sessions.faces()
    c = six_position(sessions.recorded(motion), sections, gravity=sessions.GRAVITY).calibration
    for error, sigma in (
        (c.accel.matrix - sessions.ACCEL, c.accel.sigma_matrix),
        (c.accel.bias - sessions.ACCEL_BIAS, c.accel.sigma_bias),
        (c.gyro.matrix - sessions.GYRO, c.gyro.sigma_matrix),
        (c.gyro.bias - sessions.GYRO_BIAS, c.gyro.sigma_bias),
    ):
        assert np.all(np.abs(error) < 4.0 * sigma)
    assert np.all(c.accel.sigma_bias < 5e-3)


def test_the_sensitivity_to_force_is_found(sessions):
    K = np.array([[2e-4, 0.0, 1e-4], [0.0, -3e-4, 0.0], [1e-4, 0.0, 2e-4]])
    readings = (np.eye(3) + sessions.GYRO_E) @ K  # the simulator scales the sensitivity too
    motion, sections = sessions.faces()
    series = sessions.recorded(motion, sessions.spec(g_sensitivity=K.tolist()))
    result = six_position(series, sections, gravity=sessions.GRAVITY)
    np.testing.assert_allclose(result.calibration.g_sensitivity, readings, atol=3e-5)
    without = six_position(series, sections, gravity=sessions.GRAVITY, g_sensitivity=False)
    assert not without.calibration.g_sensitivity.any()


def test_other_orders_and_repeated_faces_serve_as_well(sessions):
    order = ("x_a", "y_p", "x_p", "z_a", "z_p", "x_a", "y_a")
    motion, _ = sessions.faces(order, ("z_a", "x_p", "y_a"))
    result = six_position(sessions.recorded(motion), gravity=sessions.GRAVITY)
    assert result.warnings == ()
    np.testing.assert_allclose(result.calibration.gyro.matrix, sessions.GYRO, atol=1e-3)
    np.testing.assert_allclose(result.calibration.accel.matrix, sessions.ACCEL, atol=1e-3)


def test_what_is_missing_is_named(sessions):
    order, turns = ("x_p", "x_a", "y_p", "z_p"), ("x_p", "y_p")
    motion, sections = sessions.faces(order, turns)
    series = sessions.recorded(motion)
    result = six_position(series, gravity=sessions.GRAVITY)
    np.testing.assert_allclose(result.calibration.accel.matrix, sessions.ACCEL, atol=2e-3)
    (line,) = result.warnings
    assert line.startswith("not observable: gyro misalignment xz, gyro misalignment yz")
    assert "they kept their nominal values" in line
    assert "scale x" not in line
    with pytest.raises(ValueRangeError, match=r"six faces, got none with -y up, -z up"):
        ferraris(series, sections, gravity=sessions.GRAVITY)
    flat = {name: span for name, span in sections.items() if name in {"x_p", "x_a", "y_p"}}
    lacking = six_position(series, flat, gravity=sessions.GRAVITY).not_observable
    assert {"accelerometer scale z", "gyro scale x", "gyro scale y"} <= set(lacking)
    assert "accelerometer scale x" not in lacking


def test_without_turns_the_moves_between_faces_give_the_scales(sessions):
    motion, _ = sessions.faces(turns=())
    result = six_position(sessions.recorded(motion), gravity=sessions.GRAVITY)
    gyro = result.calibration.gyro
    error = np.abs(np.diag(gyro.matrix - sessions.GYRO))
    assert np.all(error < 3.0 * np.diag(gyro.sigma_matrix))
    assert np.all(np.diag(gyro.sigma_matrix) < 0.015)
    assert not any("gyro scale" in name for name in result.not_observable)
    assert "gyro misalignment yx" in result.not_observable
    counts = sessions.recorded(motion)
    counts = counts.replace(angular_velocity=4778.0 * counts.angular_velocity)
    unknown = six_position(counts, gravity=sessions.GRAVITY)
    assert "gyro scale x" in unknown.not_observable


def test_an_incomplete_turn_is_named_by_the_moves_between_faces(sessions):
    motion, sections = sessions.faces(turn_deg=(355.0, 360.0, 360.0))
    series = sessions.recorded(motion)
    for given in (sections, None):
        (line,) = six_position(series, given, gravity=sessions.GRAVITY).warnings
        assert line.startswith("the turn about x was 35")
        assert "by the moves between the faces, not 360" in line
    right = six_position(sessions.recorded(sessions.faces()[0]), gravity=sessions.GRAVITY)
    assert right.warnings == ()


def test_an_incomplete_turn_is_named_without_moves_too(sessions):
    motion, sections = sessions.faces(turn_deg=(355.0, 360.0, 360.0))
    ideal = sessions.recorded(motion, sessions.ImuSpec(rate_hz=100))
    rate = ideal.angular_velocity.copy()
    rate[~inside(sections, len(ideal))] = np.nan  # what is not in a section is lost
    cut = ideal.replace(angular_velocity=rate)
    (line,) = six_position(cut, sections, gravity=sessions.GRAVITY).warnings
    assert line == (
        "the turn about x integrates to 355.0 deg instead of 360: the scale is +1.4 % off, or the "
        "turn was not whole; repeat it against a stop to be sure"
    )


def inside(sections, count):
    rows = np.zeros(count, np.bool_)
    for start, stop in sections.values():
        rows[start:stop] = True
    return rows


def test_a_turn_of_another_angle_is_an_option(sessions):
    motion, sections = sessions.faces(turn_deg=(-720.0, -720.0, 720.0))
    series = sessions.recorded(motion, sessions.spec(noise=False))
    result = six_position(series, sections, gravity=sessions.GRAVITY, turn_deg=720.0)
    np.testing.assert_allclose(result.calibration.gyro.matrix, sessions.GYRO, atol=1e-5)


@pytest.mark.parametrize("procedure", [ferraris, six_position])
def test_wrong_sections_are_named(sessions, procedure):
    motion, sections = sessions.faces()
    series = sessions.recorded(motion)
    (start, stop), (other, end) = sections["x_p"], sections["x_a"]
    for wrong, text in (
        ({"x_a": (start, stop)}, r"expected -x up in section x_a, got \+x up: correct"),
        ({"x_p": (start, end)}, r"expected rest in section x_p, got a movement at \d"),
        ({"x_p": (stop, start)}, "start before end"),
        ({"x_p": (start, 10**6)}, "within 0 and"),
        ({"x_p": {"start": start}}, "expected section x_p as two rows, or as start and end"),
        ({"x_p": (0.5, 700)}, "as two rows"),
        ({"x_p": 7}, "as two rows"),
    ):
        with pytest.raises(ValueRangeError, match=text):
            procedure(series, sections | wrong, gravity=sessions.GRAVITY)
    with pytest.raises(UnknownNameError, match="there is no section 'x_q'"):
        procedure(series, sections | {"x_q": (other, end)}, gravity=sessions.GRAVITY)
    with pytest.raises(ValueRangeError, match="expected sections of faces"):
        procedure(series, {}, gravity=sessions.GRAVITY)
    with pytest.raises(ValueRangeError, match="stamps in ascending order"):
        procedure(series[::-1], sections, gravity=sessions.GRAVITY)


def test_a_closed_form_needs_one_turn_about_each_axis(sessions):
    motion, _ = sessions.faces(turns=("x_p", "y_p"))
    with pytest.raises(ValueRangeError, match="got 1 about x, 1 about y, 0 about z; pass sections"):
        ferraris(sessions.recorded(motion), gravity=sessions.GRAVITY)


@pytest.mark.parametrize(
    ("factor", "unit", "text"),
    [
        (1.0 / 9.80665, "g", "as if in g: the calibration converts it"),
        (100.0, "cm/s^2 or mg", "as if in cm/s^2 or mg"),
        (208.0, "raw", ""),
    ],
)
def test_other_units_of_the_accelerometer(sessions, factor, unit, text):
    motion, _ = sessions.faces()
    series = sessions.recorded(motion)
    offset = 0.0 if text else 2000.0
    other = series.replace(specific_force=series.specific_force * factor + offset)
    result = six_position(other, gravity=sessions.GRAVITY)
    assert result.calibration.accel.unit_in == unit
    np.testing.assert_allclose(result.calibration.accel.matrix * factor, sessions.ACCEL, atol=2e-3)
    assert [text in line for line in result.warnings] == [True] * bool(text)


def test_a_session_without_rest_or_faces_says_so(sessions):
    motion, _ = sessions.faces()
    series = sessions.recorded(motion)
    shaken = series.replace(
        specific_force=np.random.default_rng(1).normal(size=(len(series), 3)),
        angular_velocity=np.random.default_rng(2).normal(size=(len(series), 3)),
    )
    assert not has_faces_and_turns(shaken)
    assert not has_faces_and_turns(series[:50])
    assert not has_faces_and_turns(sessions.tumbled())


def test_crooked_and_slanted_faces_are_findings(sessions):
    text = "\n".join(six_position(sessions.tumbled(), gravity=sessions.GRAVITY).warnings)
    assert "rests that are on no face" in text
    assert "the faces disagree by" in text
