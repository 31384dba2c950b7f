"""Samples as streaming algorithms take them: what one is, its clock, and what of it is usable."""

from __future__ import annotations

from strapdown.samples.kind import SampleKind, as_kind
from strapdown.samples.sample import ImuSample

__all__ = ["ImuSample", "SampleKind", "as_kind"]
