from __future__ import annotations

import numpy as np

from strapdown._compile import compiled
from strapdown.geometry._kernels import quaternion_multiply, quaternion_rotate


def test_the_compiled_kernel_gives_the_bits_of_the_plain_one():
    generator = np.random.default_rng(1)
    for kernel, count in ((quaternion_multiply, 8), (quaternion_rotate, 7)):
        twin = compiled(kernel)
        for _ in range(100):
            arguments = generator.standard_normal(count).tolist()
            assert twin(*arguments) == kernel(*arguments)


def test_a_kernel_is_compiled_once():
    assert compiled(quaternion_multiply) is compiled(quaternion_multiply)
