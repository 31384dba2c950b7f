"""Profiles by name, and the properties that they share."""

from __future__ import annotations

from dataclasses import fields

import pytest

from strapdown.errors import UnknownNameError
from strapdown.webots.profiles import PROFILES, Profile, find_profile

NAMES = ["documented", "R2025a", "R2023b", "R2021a", "R2020a"]


def test_profiles_are_found_by_name_and_pass_through():
    assert list(PROFILES) == NAMES
    for name in NAMES:
        profile = find_profile(name)
        assert profile.name == name
        assert find_profile(profile) is profile


@pytest.mark.parametrize("name", ["R2024a", "", None, ["R2025a"]])
def test_an_unknown_profile_is_a_value_error_that_lists_them_all(name):
    with pytest.raises(UnknownNameError) as caught:
        find_profile(name)
    assert isinstance(caught.value, ValueError)
    for known in NAMES:
        assert repr(known) in str(caught.value)


def test_a_controller_of_the_manual_is_told_the_newest_release():
    versions = [PROFILES[name].version for name in NAMES]
    assert versions == ["R2025a", "R2025a", "R2023b", "R2021a", "R2020a"]


def test_clients_compute_angles_since_r2021a_and_only_the_manual_is_kind_and_strict():
    computing = [name for name in NAMES if PROFILES[name].client_computes_angles]
    assert computing == ["R2025a", "R2023b", "R2021a"]
    assert [name for name in NAMES if PROFILES[name].integral_floats] == ["documented"]
    assert [name for name in NAMES if PROFILES[name].refuses_values] == ["documented"]
    assert [name for name in NAMES if not PROFILES[name].period_16_bit] == ["documented"]
    assert [name for name in NAMES if PROFILES[name].keeps_vectors] == ["documented", "R2020a"]


def test_every_profile_differs_from_every_other():
    behaviours = {
        tuple(getattr(profile, field.name) for field in fields(Profile)[1:])
        for profile in PROFILES.values()
    }
    assert len(behaviours) == len(NAMES)
