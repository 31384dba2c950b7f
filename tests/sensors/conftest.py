"""What the sensor model computes is compared by machine code, however few samples there are."""

from __future__ import annotations

import pytest

from strapdown._kernels.compilation import compiling_first


@pytest.fixture(autouse=True)
def machine_code():
    with compiling_first():
        yield
