"""The package ``strapdown.px4``: its names, and the cost of its import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from strapdown import px4


def test_every_name_is_there(subtests):
    for name in px4.__all__:
        with subtests.test(name=name):
            assert getattr(px4, name) is not None
            assert name in dir(px4)


def test_no_name_is_that_of_a_module():
    """Otherwise the name would be the function or the module, depending on the order of imports."""
    modules = {path.stem for path in Path(px4.__file__).parent.iterdir()}
    assert modules.isdisjoint(px4.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        px4.no_such_name  # noqa: B018 (the access is the test)


def test_importing_it_loads_nothing_else():
    script = "import strapdown.px4, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()
    assert "strapdown.px4" in loaded
    assert {"numpy", "scipy", "numba"}.isdisjoint(loaded)
