"""One vocabulary for what a sample is, in what makes samples and in what takes them."""

import pytest

from strapdown.errors import UnknownNameError
from strapdown.estimation import VqfParams
from strapdown.inertial import IncrementIntegrator
from strapdown.px4.vehicle_imu import PipelineSettings
from strapdown.sensors import ImuSpec


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ImuSpec.from_json('{"sampling": "average"}'), "'average'; .*: 'mean'$"),
        (lambda: VqfParams(sample_kind="rate"), "'rate'; .*: 'point'$"),
        (lambda: PipelineSettings(gyro_kind="increment"), "'increment'; .*: 'integral'$"),
    ],
)
def test_a_word_of_former_times_is_answered_with_the_one_of_today(make, message):
    with pytest.raises(UnknownNameError, match=message):
        make()


@pytest.mark.parametrize("kind", ["integral", "preintegrated", "velocity_difference"])
def test_a_filter_takes_points_and_means(kind):
    with pytest.raises(UnknownNameError, match=f"'{kind}'; the nearest names: '(point|mean)', "):
        VqfParams(sample_kind=kind)


@pytest.mark.parametrize("kind", ["preintegrated", "velocity_difference"])
def test_what_holds_no_integral_of_its_own_axes_is_not_integrated(kind):
    with pytest.raises(UnknownNameError, match=f"'{kind}'; .*'integral'"):
        IncrementIntegrator(gyro_kind=kind, max_gap_ns=1)
