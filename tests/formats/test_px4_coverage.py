"""Mean rates whose intervals leave time out are not integrated in silence."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.errors import FormatError
from strapdown.formats import Recording
from strapdown.formats.px4_integration import vehicle_imu_from_recording
from strapdown.formats.recording import ReadReport
from strapdown.series import ImuSeries


@pytest.fixture
def throttled():
    """Every second of 200 windows a second, as a topic without a rate limit arrives."""
    t_ns = np.arange(100, dtype=np.int64) * 10_000_000
    series = ImuSeries(t_ns, np.zeros((100, 3)), np.zeros((100, 3)))
    report = ReadReport("mcap", coverage={"sensor_combined": 0.5})
    return Recording(imu={"sensor_combined": series}, report=report)


@pytest.mark.parametrize("topic", [None, "sensor_combined"])
def test_a_throttled_stream_of_mean_rates_is_refused(throttled, topic):
    with pytest.raises(FormatError, match=r"50\.0%"):
        vehicle_imu_from_recording(throttled, topic=topic)


def test_it_is_taken_on_request(throttled):
    assert vehicle_imu_from_recording(throttled, anyway=True)
