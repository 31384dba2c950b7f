"""Hard and soft iron from readings around the sphere."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from strapdown.calibration import ImuCalibration, ellipsoid
from strapdown.calibration.magnetometer.coverage import (
    FACETS,
    RINGS,
    coverage_of,
    facet_of,
    ring_edges,
)
from strapdown.calibration.magnetometer.surface import BASES, _distances, fit_surface
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.series import ImuSeries

NORM = 48.0
BIAS = np.array([30.0, -20.0, 50.0])
AXES = np.diag([1.1, 0.95, 1.0 / (1.1 * 0.95)])
IRON = AXES @ AXES + 0.08 * (np.eye(3)[[1, 0, 2]] - np.diag([0.0, 0.0, 1.0]))
IRON = IRON / np.cbrt(np.linalg.det(IRON))
MATRICES = {"hard": np.eye(3), "diagonal": AXES, "full": IRON}


def directions(rng, count, *, above=-1.0):
    """Return random directions within a cone about an axis that no facet is symmetric to."""
    axis = np.array([0.6, 0.0, 0.8])
    found = rng.normal(size=(20 * count, 3))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found[found @ axis > above][:count]


def readings(rng, kind="full", count=600, noise=0.24, **hard):
    outliers, above = hard.get("outliers", 0.0), hard.get("above", -1.0)
    field = NORM * directions(rng, count, above=above) @ np.linalg.inv(MATRICES[kind]).T + BIAS
    field += rng.normal(0.0, noise, field.shape)
    hit = rng.permutation(count)[: round(outliers * count)]
    field[hit] += rng.uniform(15.0, 60.0, (len(hit), 1)) * directions(rng, len(hit) + 1)[: len(hit)]
    return field


def test_facets_have_equal_areas_and_one_number_each():
    assert sum(RINGS) == FACETS == 32
    # the area of a zone of the unit sphere is 2 pi times its height
    np.testing.assert_allclose(-np.diff(ring_edges()) / np.array(RINGS), 2.0 / 32.0, rtol=1e-12)
    counts = np.bincount(facet_of(directions(np.random.default_rng(0), 64_000)), minlength=32)
    assert len(counts) == 32
    assert abs(counts - 2000).max() < 5.0 * np.sqrt(2000.0)


def test_coverage_of_a_cap_and_its_empty_cone():
    axis = np.array([0.6, 0.0, 0.8])
    cover = coverage_of(directions(np.random.default_rng(0), 20_000, above=0.0))
    assert 0.5 <= cover.share < 0.8
    assert cover.empty_cone_deg == pytest.approx(90.0, abs=2.0)
    assert cover.empty_axis @ -axis > 0.99


@pytest.mark.parametrize("kind", BASES)
def test_derivatives_of_the_distances(kind):
    rng, basis = np.random.default_rng(1), BASES[kind]
    theta = np.concatenate([0.1 * rng.normal(size=3), np.zeros(len(basis))])
    theta[3:] = 0.1 * rng.normal(size=len(basis)) + (np.trace(basis, axis1=1, axis2=2) > 0.0)
    x, step = 1.2 * directions(rng, 30), 1e-6
    J = _distances(x, basis, theta)[1]
    numeric = np.transpose(
        [
            (_distances(x, basis, theta + d)[0] - _distances(x, basis, theta - d)[0]) / (2.0 * step)
            for d in step * np.eye(len(theta))
        ]
    )
    np.testing.assert_allclose(J, numeric, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", BASES)
def test_readings_without_noise_give_the_parameters_exactly(kind):
    fit = ellipsoid(readings(np.random.default_rng(2), kind, noise=0.0))
    assert fit.kind == kind
    np.testing.assert_allclose(fit.triad.bias, BIAS, rtol=0, atol=1e-9)
    np.testing.assert_allclose(fit.triad.matrix, 1e-6 * MATRICES[kind], rtol=0, atol=1e-15)
    assert fit.norm == pytest.approx(48e-6, rel=1e-9)
    assert fit.residual_percent < 1e-6


def test_small_noise_gives_the_least_squares_of_scipy():
    """With normal noise the biweight is within a part of sigma of the plain minimum."""
    field = readings(np.random.default_rng(3))
    basis = BASES["full"]

    def distances(p):
        A = np.tensordot(p[3:], basis, 1)
        m = (field - p[:3]) @ A
        h = np.linalg.norm(m, axis=1)
        return (h - 1.0) / np.linalg.norm((m / h[:, None]) @ A, axis=1)

    found = least_squares(distances, np.r_[BIAS, np.full(3, 1 / NORM), np.zeros(3)], x_scale="jac")
    surface = fit_surface(field, "full")
    sigma = np.sqrt(np.diag(surface.covariance))
    assert (abs(surface.bias - found.x[:3]) < 0.5 * sigma[:3]).all()
    covariance = np.linalg.inv(found.jac.T @ found.jac) * 2.0 * found.cost / (len(field) - 9)
    np.testing.assert_allclose(sigma[:3], np.sqrt(np.diag(covariance))[:3], rtol=0.15)


def monte_carlo(runs, count=400, noise=0.24, *, outliers=0.0, kind="full"):
    """Return errors over sigmas (R, 12), and sigmas over the Cramer-Rao bound (R, 3 biases)."""
    scaled, ratios = [], []
    basis = BASES[kind]
    a = np.tensordot(basis, MATRICES[kind] / NORM, 2)
    a /= np.tensordot(basis, basis, ([1, 2], [1, 2])).diagonal()
    for run in range(runs):
        field = readings(np.random.default_rng(run), kind, count, noise, outliers=outliers)
        surface = fit_surface(field, kind)
        error = np.r_[surface.bias - BIAS, (surface.matrix - MATRICES[kind] / NORM).ravel()]
        sigma = np.sqrt(np.diag(surface.covariance))
        known = sigma > 0.0
        scaled.append(error[known] / sigma[known])
        J = _distances(
            readings(np.random.default_rng(run), kind, count, 0.0), basis, np.r_[BIAS, a]
        )[1]
        bound = noise * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))[:3]
        ratios.append(sigma[:3] / bound)
    return np.array(scaled), np.array(ratios)


@pytest.mark.parametrize("kind", BASES)
def test_sigmas_describe_the_errors(kind):
    scaled, ratios = monte_carlo(40, kind=kind)
    assert (abs(scaled) < 3.0).mean() > 0.98
    assert 0.85 < scaled.std() < 1.15
    assert 0.8 < ratios.mean() < 1.2


@pytest.mark.slow
@pytest.mark.parametrize("outliers", [0.0, 0.2])
@pytest.mark.parametrize("kind", BASES)
def test_sigmas_describe_the_errors_in_500_runs(kind, outliers):
    scaled, ratios = monte_carlo(500, kind=kind, outliers=outliers)
    assert ((abs(scaled) < 3.0).mean(axis=0) >= 0.99).all()
    assert ratios.mean() < 1.5


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("above", [-1.0, 0.0], ids=["sphere", "half"])
def test_one_reading_in_five_may_be_wrong(seed, above):
    rng = np.random.default_rng(seed)
    fit = ellipsoid(readings(rng, count=1000, outliers=0.2, above=above), norm=NORM * 1e-6)
    assert fit.kind == "full"
    assert (abs(fit.triad.bias - BIAS) < 3.0 * fit.triad.sigma_bias).all()
    assert (abs(fit.triad.matrix - 1e-6 * IRON) < 3.0 * fit.triad.sigma_matrix).all()
    assert 180 <= fit.outliers <= 220
    assert any("outliers" in text for text in fit.warnings)
    if above == 0.0:
        assert any("turn the device until the field points there" in text for text in fit.warnings)


def test_a_part_of_the_sphere_gives_hard_iron_only():
    field = readings(np.random.default_rng(5), "hard", above=0.45)
    fit = ellipsoid(field)
    assert fit.kind == "hard"
    assert fit.coverage.share < 0.5
    assert (abs(fit.triad.bias - BIAS) < 3.0 * fit.triad.sigma_bias).all()
    assert fit.warnings[0].startswith("hard iron only: readings in ")
    with pytest.raises(ValueRangeError, match=r"16 of 32 facets .* kind full, got 1\d; turn"):
        ellipsoid(field, kind="full")


@pytest.mark.slow
def test_soft_iron_that_is_not_fitted_is_in_the_sigma_of_the_bias():
    """5 % of soft iron in each of six elements, drawn at random, readings on a part."""
    scaled = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        soft = 0.05 * rng.normal(size=(3, 3))
        soft = np.eye(3) + np.triu(soft) + np.triu(soft, 1).T
        field = NORM * directions(rng, 400, above=0.45) @ np.linalg.inv(soft).T + BIAS
        fit = ellipsoid(field + rng.normal(0.0, 0.1, field.shape))
        assert fit.kind == "hard"
        scaled.append((fit.triad.bias - BIAS) / fit.triad.sigma_bias)
    assert 0.5 < np.sqrt(np.mean(np.square(scaled))) < 1.6


def test_a_small_part_of_the_sphere_is_refused():
    with pytest.raises(ValueRangeError, match=r"expected .* at least 8 of 32 facets .* turn the"):
        ellipsoid(readings(np.random.default_rng(6), "hard", above=0.85, noise=0.1))


@pytest.mark.parametrize("height", [0.0, 0.4])
def test_readings_in_a_plane_are_refused(height):
    rng, angle = np.random.default_rng(7), np.linspace(0.0, 12.0, 800)
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.full(800, height)])
    field = BIAS + NORM * circle + rng.normal(0.0, 0.3, (800, 3))
    with pytest.raises(ValueRangeError, match=r"readings in a plane: .* not observable; turn the"):
        ellipsoid(field)


@pytest.mark.parametrize(
    ("factor", "unit", "norm"),
    [(1e-6, "T", 48e-6), (0.01, "gauss", 48e-6), (1.0, "uT", 48e-6), (1e3, "nT", 48e-6),
     (37.0, "counts", 1.0)],
)  # fmt: skip
def test_units_are_recognised(factor, unit, norm):
    fit = ellipsoid(factor * readings(np.random.default_rng(8)))
    assert fit.unit == unit
    assert fit.norm == pytest.approx(norm, rel=1e-3)
    assert fit.triad.unit_in == ("" if unit == "T" else unit)
    assert any("no known unit" in text for text in fit.warnings) == (unit == "counts")
    np.testing.assert_allclose(fit.triad.bias, factor * BIAS, rtol=0.01)


def test_a_given_norm_scales_the_field():
    field = 37.0 * readings(np.random.default_rng(9))
    fit = ellipsoid(field, norm=50e-6)
    size = np.linalg.norm(fit.triad.calibrated(field), axis=1)
    assert size.mean() == pytest.approx(50e-6, rel=1e-3)
    assert (fit.norm, fit.norm_sigma, fit.warnings) == (50e-6, 0.0, ())
    assert "not that of the Earth" in ellipsoid(field, norm=90e-6).warnings[0]


def series_of(field, rate, *, step_ns=20_000_000):
    force = np.tile([0.0, 0.0, 9.81], (len(field), 1))
    return ImuSeries(np.arange(len(field)) * step_ns, rate, force, magnetic_field=field)


def test_a_changing_field_is_left_out_and_counted():
    rng = np.random.default_rng(10)
    field = readings(rng, count=2000)
    rate = np.tile([1.0, 0.0, 0.0], (2000, 1))
    rate[1000:1100] = 0.0  # 2 s at rest, in which a magnet passes
    passing = 40.0 * np.exp(-(((np.arange(100) - 50.0) / 15.0) ** 2))
    field[1000:1100] = field[1000] + rng.normal(0.0, 0.24, (100, 3))
    field[1000:1100] += passing[:, None] * [0.6, 0.0, 0.8]
    fit = ellipsoid(series_of(1e-6 * field, rate))
    assert fit.disturbed_intervals == 1
    assert 70 <= fit.disturbed <= 160
    assert (abs(fit.triad.bias - 1e-6 * BIAS) < 4.0 * fit.triad.sigma_bias).all()


def test_repeated_and_invalid_readings_are_counted():
    field = np.repeat(readings(np.random.default_rng(11)), 3, axis=0)
    field[30:33] = np.nan
    fit = ellipsoid(field)
    assert (fit.samples + fit.outliers, fit.repeated, fit.invalid) == (599, 1198, 3)
    assert "1198 repeated, 3 not finite" in "\n".join(fit.lines())


def test_the_calibration_is_that_of_the_series_axes():
    series = series_of(1e-6 * readings(np.random.default_rng(12)), np.zeros((600, 3)))
    frd = series.in_frames(world=series.world, body="FRD")
    fit = ellipsoid(frd)
    assert isinstance(fit.calibration, ImuCalibration)
    assert fit.calibration.body == "FRD"
    one, other = fit.calibration.apply(series), ellipsoid(series).calibration.apply(series)
    np.testing.assert_allclose(one.magnetic_field, other.magnetic_field, rtol=0, atol=1e-15)
    assert fit.calibration.provenance.method == "ellipsoid, full"


def test_reports():
    fit = ellipsoid(readings(np.random.default_rng(13)))
    text = "\n".join(fit.lines())
    assert text.startswith("magnetometer: hard and soft iron from ")
    assert "32 of 32 facets" in text
    values = fit.to_dict()
    assert values["bias"] == fit.triad.bias.tolist()
    assert len(values["facets"]) == 32


WITHOUT_FIELD = ImuSeries(np.arange(2), np.zeros((2, 3)), np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"magnetic_field": np.zeros((100, 2))}, ShapeError, "magnetic_field of shape"),
        ({"magnetic_field": np.zeros(3)}, ShapeError, r"shape \(N, 3\), got \(3,\)"),
        ({"magnetic_field": np.ones((100, 3))}, ValueRangeError, "that differ, got 1"),
        ({"magnetic_field": np.eye(3), "kind": "soft"}, UnknownNameError, "soft"),
        ({"magnetic_field": np.eye(3), "norm": -1.0}, ValueRangeError, "norm above 0, got -1"),
        ({"magnetic_field": WITHOUT_FIELD}, ValueRangeError, "with a magnetic field, got none"),
    ],
)  # fmt: skip
def test_bad_input_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        ellipsoid(**arguments)
