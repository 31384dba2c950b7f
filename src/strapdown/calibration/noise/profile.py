"""Noise parameters for the simulator: specification and sensor profile."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from strapdown._words import printable
from strapdown.calibration.noise.model import NAMES
from strapdown.calibration.noise.triads import triads_of
from strapdown.calibration.noise.units import shown
from strapdown.sensors.spec import NOTHING_KNOWN, ImuSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from strapdown.calibration.noise.channel import ChannelNoise
    from strapdown.sensors.triad import TriadSpec, Vector

__all__ = ["to_sheet", "to_spec"]

_SPEC: Final = {"N": "noise_density", "B": "bias_instability", "K": "bias_random_walk"}
_SHEET: Final = {
    "N": ("noise_density", "{u}/sqrt(Hz)"),
    "B": ("flicker_coefficient", "{u}"),
    "K": ("bias_random_walk", "{u}/sqrt(s)"),
}


def to_spec(channels: Sequence[ChannelNoise], name: str, *, rate_hz: float) -> ImuSpec:
    """Return the specification of ``NoiseFit.to_spec``, which describes it."""
    found = {triad: _triad_spec(three) for triad, three in triads_of(channels).items()}
    return ImuSpec(
        name=name,
        rate_hz=rate_hz,
        gyro=found.get("gyro", NOTHING_KNOWN),
        accel=found.get("accel", NOTHING_KNOWN),
    )


def _triad_spec(three: Sequence[ChannelNoise]) -> TriadSpec:
    terms = {_SPEC[letter]: axes for letter, axes in _coefficients(three).items()}
    return replace(NOTHING_KNOWN, **terms)  # type: ignore[arg-type]  # fields that hold numbers


def to_sheet(channels: Sequence[ChannelNoise], name: str, *, source: str) -> str:
    """Return the profile of ``NoiseFit.to_sheet``, which describes it."""
    triads = triads_of(channels)
    notes = [f"Noise identified from {source}."]
    notes += [each.warning for three in triads.values() for each in three if each.warning]
    lines = [
        f"name = {_text(name)}",
        f"notes = [{', '.join(map(_text, notes))}]",
        "",
        "[sources.log]",
        f"title = {_text(f'Allan deviation of {source}')}",
        'grade = "S"',
    ]
    for triad, three in triads.items():
        lines += ["", f"[{triad}]", *_sheet_of(triad, three)]
    return "\n".join(lines) + "\n"


def _sheet_of(triad: str, three: Sequence[ChannelNoise]) -> Iterator[str]:
    """Yield the lines of a triad."""
    found, unit = _coefficients(three), three[0].unit
    for letter, axes in found.items():
        key, form = _SHEET[letter]
        sided = ', sided = "two"' if letter == "N" else ""
        readable = [shown(letter, value, unit) for value in axes]
        for name in readable[0]:
            values = ", ".join(f"{each[name]:.4g}" for each in readable)
            yield f"# {letter}, {NAMES[letter]}: {values} {name}"
        numbers = ", ".join(map(repr, axes))
        printed = f'value = [{numbers}], unit = "{form.format(u=unit)}"{sided}'
        yield f'{key} = {{ {printed}, source = "log" }}'
    absent = [letter for letter in _SHEET if letter not in found]
    if absent:
        yield from ("", f"[{triad}.unknown]")
    for letter in absent:
        key = "bias_instability" if letter == "B" else _SHEET[letter][0]
        yield f"{key} = {_text(three[0].coefficients[letter].reason or 'not identified')}"


def _coefficients(three: Sequence[ChannelNoise]) -> dict[str, Vector]:
    """Return the terms of a specification that at least one of three axes has, by letter."""
    models = [each.without_processes for each in three]
    found: dict[str, Vector] = {}
    for letter in _SPEC:
        x, y, z = (getattr(model, letter) for model in models)
        if x or y or z:
            found[letter] = (x or 0.0, y or 0.0, z or 0.0)
    return found


def _text(text: str) -> str:
    """Return a text in quotes, as JSON and TOML write it."""
    return json.dumps(printable(text), ensure_ascii=False)
