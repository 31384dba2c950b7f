"""Algorithms that are given something else than a series, or than their parameters."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.detection import (
    DETECTORS,
    ImpactDetector,
    ImpactParams,
    StillnessDetector,
)
from strapdown.estimation import FILTERS, SMOOTHERS, VqfFilter
from strapdown.estimation.foot import FootNavigator
from strapdown.estimation.navigation import StrapdownNavigator

STREAMS = {**FILTERS, "foot": FootNavigator, "navigator": StrapdownNavigator, **DETECTORS}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize(
    ("value", "got"),
    [("file.mcap", "str 'file.mcap'"), (np.zeros((9, 3)), "ndarray"), (None, "No")],
)
def test_a_run_names_what_it_got_and_how_to_get_a_series(name, value, got):
    with pytest.raises(TypeError, match=rf"^expected series as ImuSeries.*, got {got}.*imu_series"):
        STREAMS[name]().run(value)


@pytest.mark.parametrize("name", SMOOTHERS)
def test_smoothers_do_so_too(name):
    with pytest.raises(TypeError, match=r"^expected series as ImuSeries, got str 'file.mcap'; "):
        SMOOTHERS[name]().run("file.mcap")


@pytest.mark.parametrize("name", [*STREAMS, "still"])
@pytest.mark.parametrize("params", [{}, {"a": 1}])
def test_parameters_of_another_class_are_refused(name, params):
    kind = {**STREAMS, "still": StillnessDetector}[name]
    with pytest.raises(TypeError, match=r"^expected params as (\w+Params), got dict; pass \1\(nam"):
        kind(params=params)


def test_parameters_of_another_algorithm_are_refused():
    with pytest.raises(TypeError, match="expected params as VqfParams, got ImpactParams"):
        VqfFilter(ImpactParams())
    assert ImpactDetector(ImpactParams()).params == ImpactParams()
