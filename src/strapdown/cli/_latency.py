"""Latencies that the motion shows, as ``strapdown navigate`` reports them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from strapdown.estimation.navigation import estimate_latency
from strapdown.geometry import BodyFrame
from strapdown.inertial.navigation import Place
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown.cli._aiding import Receiver
    from strapdown.estimation.navigation import Latency, NavigatorParams
    from strapdown.estimation.navigation.aiding import Kind
    from strapdown.series import ImuSeries

__all__ = ["latencies_of", "latency_lines"]

_OPTIONS: Final = {"position": "--latency", "velocity": "--velocity-latency"}


def latencies_of(
    params: NavigatorParams, imu: ImuSeries, receiver: Receiver
) -> dict[Kind, Latency]:
    """Return the latencies of positions, and of velocities if there are any; beyond the stated."""
    origin = receiver.fixes.origin
    place = Place("wgs84", latitude=origin[0], height=origin[2])
    inside = imu.in_frames(body=BodyFrame.FLU)
    told = receiver.aiding(origin)
    positions = [each for each in told if each.kind == "position"]
    found: dict[Kind, Latency] = {"position": estimate_latency(inside, positions, params, place)}
    velocities = [each for each in told if each.kind == "velocity"]
    if velocities:
        late = found["position"].seconds
        late_ns = round(late * NS_PER_S) if math.isfinite(late) else 0
        both = [replace(each, t_ns=each.t_ns - late_ns) for each in positions] + velocities
        both.sort(key=lambda each: each.t_ns)
        found["velocity"] = estimate_latency(inside, both, params, place, of="velocity")
    return found


def latency_lines(found: dict[Kind, Latency], receiver: Receiver) -> list[str]:
    """Return a line with the options that would correct the latencies, if any is significant."""
    if not any(each.is_significant for each in found.values()):
        return []
    stated = {"position": receiver.latency, "velocity": receiver.velocity_latency}
    known = {kind: each for kind, each in found.items() if math.isfinite(each.seconds)}
    late = " and ".join(
        f"{kind} {each.seconds:.3f} s (+- {each.sigma:.3f})" for kind, each in known.items()
    )
    options = " ".join(
        f"{_OPTIONS[kind]} {stated[kind] + each.seconds:.3f}" for kind, each in known.items()
    )
    return [f"by the motion, the stamps of fixes are late: {late}; try {options}"]
