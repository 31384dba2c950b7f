"""Public names of ``strapdown.webots``, and when they are loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

import strapdown.webots
from strapdown.webots import api


def test_every_name_is_there():
    assert all(hasattr(strapdown.webots, name) for name in strapdown.webots.__all__)
    assert set(api.__all__) < set(strapdown.webots.__all__) <= set(dir(strapdown.webots))
    assert strapdown.webots.Node is api.Node


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"^No strapdown\.webots attribute Nope$"):
        strapdown.webots.Nope  # noqa: B018 (the access is what is tested)


def test_a_controller_loads_no_more_than_the_interface():
    code = (
        "import sys, strapdown.webots.api\n"
        "print({'numpy', 'strapdown.webots.world.world'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
