"""Joints of simulated linkages: angles, axes, centre and clock against the truth."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.joints import JointKind, estimate_joint
from strapdown.joints.estimate import ALIGNMENT
from strapdown.units import RAD_PER_DEG

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "joints.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("joints_benchmark", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its data classes look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def walks(benchmark):
    """Half a minute of each kind, with orientations: linkage, samples and truth."""

    def walk(kind):
        chain = benchmark.linkage(kind)
        one, two, relative = benchmark.recordings(chain, "BMI160", 30.0)
        return chain, one, two, relative, (benchmark.by_smoother(one), benchmark.by_smoother(two))

    return {kind: walk(kind) for kind in JointKind}


@pytest.fixture(scope="module")
def hinge(walks):
    _, one, two, _, orientations = walks["hinge"]
    return estimate_joint(one, two, "hinge", joint="knee", neutral_s=4.0, orientations=orientations)


@pytest.mark.parametrize("kind", JointKind)
def test_angles_and_axes_are_those_of_the_linkage(kind, walks, benchmark):
    chain, one, two, relative, orientations = walks[kind]
    case = benchmark.Case(chain, (one, two), relative, kind)
    found, axes = case.errors(orientations)
    assert found < 0.5
    assert case.error_of_start(orientations) < 2.0
    assert kind is JointKind.BALL or axes < 0.5


def test_large_biases_of_the_accelerometers_are_found_by_the_joint(benchmark):
    chain = benchmark.linkage("ball", "lifting")
    one, two, relative = benchmark.recordings(chain, "MPU-9250", 90.0)
    case = benchmark.Case(chain, (one, two), relative, JointKind.BALL)
    usual, _ = case.errors((benchmark.by_smoother(one), benchmark.by_smoother(two)))
    found, _ = case.errors(None)
    assert found < 3.0 < 0.5 * usual


@pytest.mark.slow
def test_misalignment_of_the_accelerometers_is_found_by_the_joint(benchmark):
    chain = benchmark.linkage("ball", "lifting", 1)
    one, two, relative = benchmark.recordings(chain, "MPU-6050", 240.0, 1)
    case = benchmark.Case(chain, (one, two), relative, JointKind.BALL)
    usual, _ = case.errors((benchmark.by_smoother(one), benchmark.by_smoother(two)))
    found, _ = case.errors(None)
    assert found < 3.0 < 0.5 * usual


def test_small_biases_of_the_accelerometers_are_the_usual_ones(walks, hinge):
    _, one, two, _, _ = walks["hinge"]
    result = estimate_joint(one, two, "hinge", joint="knee", neutral_s=4.0)
    np.testing.assert_array_equal(result.angles, hinge.angles)


@pytest.mark.parametrize("kind", ["saddle", "ball"])
def test_the_centre_is_that_of_the_linkage(kind, walks):
    chain, one, two, _, orientations = walks[kind]
    result = estimate_joint(one, two, kind, orientations=orientations)
    np.testing.assert_allclose(result.centre_first, chain.centre_first, atol=5e-3)
    np.testing.assert_allclose(result.centre_second, chain.centre_second, atol=5e-3)


def test_the_centre_of_a_hinge_is_the_point_of_its_axis_next_to_the_first_sensor(walks, hinge):
    chain = walks["hinge"][0]
    along = chain.centre_first @ chain.axis_first
    expected = chain.centre_first - along * chain.axis_first
    np.testing.assert_allclose(hinge.centre_first, expected, atol=5e-3)
    assert abs(hinge.centre_first @ hinge.axis_first) < 1e-9


def test_the_relative_orientation_is_the_true_one(walks, hinge):
    relative = walks["hinge"][3][: len(hinge)]
    apart = quaternion.angle_between(hinge.q_first_from_second, relative)
    assert np.sqrt(np.mean(apart**2)) < 0.5 * RAD_PER_DEG


def test_the_knee_flexes_to_positive_angles_whatever_the_mounting(walks, hinge):
    flexion = walks["hinge"][0].laws[0](hinge.t_ns / 1e9)[0]
    assert hinge.angle_names == ("flexion",)
    np.testing.assert_allclose(hinge.angles[:, 0], flexion, atol=1.0 * RAD_PER_DEG)


def test_reverse_turns_the_first_axis_around(walks, hinge):
    _, one, two, _, orientations = walks["hinge"]
    other = estimate_joint(
        one, two, "hinge", joint="knee", neutral_s=4.0, reverse=True, orientations=orientations
    )
    np.testing.assert_array_equal(other.angles, -hinge.angles)
    np.testing.assert_array_equal(other.axis_first, -hinge.axis_first)


@pytest.mark.parametrize("kind", ["hinge", "ball"])
def test_a_delay_of_the_second_clock_is_found_and_removed(kind, walks):
    _, one, two, _, orientations = walks[kind]
    result = estimate_joint(one, two, kind, orientations=orientations)
    late = 37_000_000
    orientations = orientations[0], orientations[1].replace(t_ns=orientations[1].t_ns + late)
    delayed = estimate_joint(
        one, two.replace(t_ns=two.t_ns + late), kind, orientations=orientations
    )
    assert delayed.delay_s == pytest.approx(0.037, abs=5e-4)
    rows = np.isin(result.t_ns, delayed.t_ns)
    apart = quaternion.angle_between(
        result.q_first_from_second[rows],
        delayed.q_first_from_second[np.isin(delayed.t_ns, result.t_ns)],
    )
    assert np.nanmax(apart) < 0.2 * RAD_PER_DEG


def test_mounting_does_not_matter(walks, hinge):
    """Turning the samples of a sensor by q turns its axis, and leaves the angles."""
    _, one, two, _, orientations = walks["hinge"]
    q = quaternion.normalize([0.3, -0.5, 0.2, 0.7])
    turned = two.replace(
        angular_velocity=quaternion.rotate(q, two.angular_velocity),
        specific_force=quaternion.rotate(q, two.specific_force),
    )
    other = orientations[1]
    other = other.replace(
        q_world_from_body=quaternion.multiply(other.q_world_from_body, quaternion.conjugate(q))
    )
    result = estimate_joint(
        one, turned, "hinge", joint="knee", neutral_s=4.0, orientations=(orientations[0], other)
    )
    np.testing.assert_allclose(
        result.axis_second, quaternion.rotate(q, hinge.axis_second), atol=1e-4
    )
    np.testing.assert_allclose(result.angles, hinge.angles, atol=1e-4)


def test_a_second_axis_of_a_hinge_and_a_third_of_a_saddle_are_found(walks):
    for kind, taken in (("saddle", "hinge"), ("ball", "saddle")):
        _, one, two, _, orientations = walks[kind]
        found = estimate_joint(one, two, taken, orientations=orientations).warnings
        assert any(f"the joint has another axis; try the kind {kind}" in each for each in found)


def test_a_hinge_has_no_second_axis(walks):
    _, one, two, _, orientations = walks["hinge"]
    found = estimate_joint(one, two, "saddle", orientations=orientations).warnings
    assert found


def test_over_a_gap_the_heading_may_jump(walks, hinge):
    """As after a pause in which one sensor turned without being recorded."""
    _, one, two, _, orientations = walks["hinge"]
    after = np.arange(len(two)) >= 2000
    zero = np.zeros(len(two))
    half = np.where(after, 0.25, 0.0)
    jump = np.stack([zero, zero, np.sin(half), np.cos(half)], axis=1)
    other = orientations[1].replace(
        q_world_from_body=quaternion.multiply(jump, orientations[1].q_world_from_body)
    )
    rows = (np.arange(len(two)) < 1800) | after
    result = estimate_joint(
        one,
        two[rows],
        "hinge",
        joint="knee",
        neutral_s=4.0,
        orientations=(orientations[0], other[rows]),
    )
    missing = np.isnan(result.angles[:, 0])
    assert 150 < missing.sum() <= 202
    np.testing.assert_allclose(
        result.angles[~missing], hinge.angles[~missing], atol=1.0 * RAD_PER_DEG
    )
    assert result.heading[-1] - result.heading[0] == pytest.approx(
        hinge.heading[-1] - hinge.heading[0] - 0.5, abs=1.0 * RAD_PER_DEG
    )


def test_a_joint_at_rest_determines_nothing(walks):
    _, one, two, _, orientations = walks["hinge"]
    still = np.arange(len(one)) % 400  # the rest, again and again
    parts = [
        each.replace(**{name: getattr(each, name)[still] for name in names})
        for each, names in (
            (one, ("angular_velocity", "specific_force")),
            (two, ("angular_velocity", "specific_force")),
            (orientations[0], ("q_world_from_body",)),
            (orientations[1], ("q_world_from_body",)),
        )
    ]
    result = estimate_joint(*parts[:2], "hinge", orientations=(parts[2], parts[3]))
    text = " ".join(result.warnings)
    assert "angle hardly changes" in text
    assert "heading between the sensors is not determined for 100 %" in text


def test_samples_and_smoothing_give_the_same_as_given_orientations(walks, hinge):
    _, one, two, _, _ = walks["hinge"]
    result = estimate_joint(one, two, JointKind.HINGE, joint="knee", neutral_s=4.0)
    np.testing.assert_array_equal(result.angles, hinge.angles)
    assert [report.samples for report in result.reports] == [len(one), len(two)]


def test_a_result_prints_and_converts(hinge):
    text = "\n".join(hinge.lines())
    assert "joint: hinge, right knee" in text
    assert "zero in the mean pose of the first 4 s" in text
    content = hinge.to_dict()
    assert content["angles_rad"]["flexion"]["max"] == pytest.approx(np.max(hinge.angles))
    assert hinge.axis_first_sigma >= ALIGNMENT


def test_bad_input_is_named(walks):
    _, one, two, _, orientations = walks["hinge"]
    with pytest.raises(UnknownNameError, match="kind of joint"):
        estimate_joint(one, two, "screw")
    with pytest.raises(UnknownNameError, match="joint"):
        estimate_joint(one, two, "hinge", joint="neck")
    with pytest.raises(TypeError, match="first"):
        estimate_joint(orientations[0], two, "hinge")
    with pytest.raises(ValueRangeError, match="expected at least 10 s in which both sensors"):
        estimate_joint(one, two.between(stop_s=8.0), "hinge", orientations=orientations)
    late = two.replace(t_ns=two.t_ns + 10**12)
    with pytest.raises(ValueRangeError, match="one clock"):
        estimate_joint(one, late, "hinge", orientations=orientations)
    with pytest.raises(ValueRangeError, match="neutral pose"):
        estimate_joint(one, two, "hinge", neutral_s=0.0, orientations=orientations)
    blind = two.replace(specific_force=np.full_like(two.specific_force, np.nan))
    with pytest.raises(ShapeError, match="specific force in the second sensor"):
        estimate_joint(one, blind, "hinge", orientations=orientations)


@pytest.mark.parametrize("kind", JointKind)
@pytest.mark.parametrize(
    "sheet",
    [
        pytest.param("BMI160", marks=pytest.mark.slow),
        pytest.param("MPU-9250", marks=pytest.mark.long),
    ],
)
def test_ten_minutes_of_a_consumer_sensor_without_magnetometer_are_within_one_degree(
    kind, sheet, benchmark
):
    chain = benchmark.linkage(kind, "walking", 1)
    one, two, relative = benchmark.recordings(chain, sheet, 600.0, 1)
    found, axes = benchmark.Case(chain, (one, two), relative, kind).errors(None)
    assert found < 1.0
    assert kind is JointKind.BALL or axes < 2.0
