from __future__ import annotations

from pathlib import Path

import pytest

from strapdown import errors


def test_every_error_of_the_package_is_a_strapdown_error():
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), errors.StrapdownError)


@pytest.mark.parametrize(
    "name", ["ShapeError", "TimeOrderError", "FrameError", "ValueRangeError", "UnknownNameError"]
)
def test_errors_about_values_are_value_errors_too(name):
    assert issubclass(getattr(errors, name), ValueError)


def test_a_format_error_starts_with_the_path():
    error = errors.TruncatedError("ends inside a record", path="a/flight.mcap", offset=17)
    assert str(error) == "a/flight.mcap: ends inside a record"
    assert error.path == Path("a/flight.mcap")
    assert error.offset == 17


def test_an_unknown_name_gives_the_three_nearest():
    known = ["complementary", "madgwick", "mahony", "vqf"]
    error = errors.UnknownNameError("filter", "complimentary", known)
    assert str(error).startswith("there is no filter 'complimentary'; the nearest names: 'compl")
    assert str(error).count("'") == 2 + 3 * 2


def test_a_missing_backend_names_the_command_that_brings_it():
    error = errors.BackendMissingError("zenoh backend", extra="network")
    assert str(error) == "zenoh backend needs: pip install 'strapdown[network]'"
