"""What every estimator and detector gives, to the last bit.

These pin behaviour and say nothing about what is right: other tests do. A rewrite of the kernels
leaves every bit as it is. Where results are meant to change, renew them and say so in the commit:

    python tests/golden_results/cases.py --compare    # one line a case: same bits, or how far off
    python tests/golden_results/cases.py --write

``results.json`` has, of every array of every case, a digest of its bits and a few of its numbers,
and a fingerprint of the mathematics that made them: another C library or processor may round
otherwise, and there the numbers have to agree and the bits do not.

A case goes through the public interface alone. The recordings are those of the data folder that
``STRAPDOWN_DATA`` names.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from inputs import (
    DATA,
    RANGE_ACCEL,
    RANGE_GYRO,
    RECORDINGS,
    in_order,
    samples_of,
    series_of,
)
from pins import arrays_of, difference, fingerprint, pinned, stacked

from strapdown.detection import (
    DETECTORS,
    FALL_PRESETS,
    ClippingDetector,
    ClippingParams,
    Events,
    FallDetector,
    FallScore,
    SensorMount,
    StillnessDetector,
    StillnessKind,
    Voter,
    VoterParams,
    VoterProfile,
    clipping_bits,
    is_freefall,
    quiet_noise,
    vibration_metrics,
)
from strapdown.estimation import (
    FILTERS,
    SMOOTHERS,
    Aiding,
    FootNavigator,
    FootParams,
    NavigationPrior,
    NavigatorParams,
    StrapdownNavigator,
)
from strapdown.inertial import (
    ImuNoise,
    IncrementIntegrator,
    NavigationState,
    Preintegrator,
    Quadrature,
    WindowRule,
    compose,
    increments_from_rates,
    integrate,
    integrate_pair,
    on_gyro_clock,
    preintegrate,
)
from strapdown.inertial.navigation import NavigationStart, Place, mechanise
from strapdown.inertial.self_test import CASES as VIBRATIONS
from strapdown.inertial.self_test import delay_s, drift
from strapdown.px4.increments import integrate_float32, px4_increments

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS = Path(__file__).with_name("results.json")
PLAIN_ROWS = {"hard": slice(1500), "broad-08": slice(3000, 3400), "pyshoe-walk": slice(1400, 1800)}
"""Of a series: what goes sample by sample through the kernels as plain Python."""
DAMAGED = "hard"
ALL = (DAMAGED, *RECORDINGS)
HELD = ("broad-02", "pyshoe-walk", "tumvi-room1", "gnss-walk")  # for what differs little
NOISE = ImuNoise(1e-3, (2e-3, 3e-3, 4e-3), 1e-5, 1e-4)
BIASES = {"gyro_bias": (0.01, -0.02, 0.03), "accel_bias": (0.1, 0.2, -0.3)}


# estimation


def filter_batch(name, recording, *, use_magnetic_field=True, **changes):
    estimator = FILTERS[name]()
    if changes:
        estimator = type(estimator)(replace(estimator.params, **changes))
    result = estimator.run(series_of(recording), use_magnetic_field=use_magnetic_field)
    return arrays_of(result) | arrays_of(of_estimate(estimator.estimate), "last")


def filter_stream(name, recording):
    estimator = type(FILTERS[name]())(compiled=False)
    rows = []
    for sample in samples_of(series_of(recording)[PLAIN_ROWS[recording]]):
        q = estimator.update(sample)
        rows.append(of_estimate(estimator.estimate) | {"returned": q})
    return stacked(rows) | arrays_of(estimator.report, "report")


def of_estimate(estimate):
    sigma = estimate.gyro_bias_sigma
    return {
        "t_ns": estimate.t_ns,
        "q_world_from_body": estimate.q_world_from_body,
        "orientation_covariance": estimate.orientation_covariance,
        "gyro_bias": estimate.gyro_bias,
        "gyro_bias_sigma": np.full(3, np.nan) if sigma is None else sigma,
        "rest": estimate.rest,
        "magnetic_disturbance": estimate.magnetic_disturbance,
        "heading_offset": estimate.heading_offset,
    }


def smoothed(name, recording, *, rows=slice(None), use_magnetic_field=True):
    series = series_of(recording)[rows]
    return arrays_of(SMOOTHERS[name]().run(series, use_magnetic_field=use_magnetic_field))


def of_navigation(estimate):
    return {
        name: getattr(estimate, name)
        for name in (
            "t_ns", "q_world_from_body", "velocity_world", "position_world", "gyro_bias",
            "accel_bias", "covariance", "aligned",
        )
    }  # fmt: skip


def told(t_ns):
    """Return aiding of every kind, on stamps and between them, in order; some of it is wrong."""
    stamps = np.unique(np.maximum.accumulate(t_ns))
    found = []
    for k, row in enumerate(range(150, len(stamps) - 1, 40)):
        at = int(stamps[row]) if k % 3 else int(stamps[row] + stamps[row + 1]) // 2
        place = np.array([0.01 * k, -0.02 * k, 0.5 if k % 25 == 9 else 0.0])
        found.append(
            (
                Aiding.position(at, place, 0.01),
                Aiding.velocity(at, (0.1, 0.0, -0.1), (0.2, 0.3, 0.4)),
                Aiding.velocity(at, (0.2, 0.0, 0.0), np.diag([1.0, 0.04, 0.04]) + 0.01, "body"),
                Aiding.zero_velocity(at, 0.05),
                Aiding.zero_rate(at, 0.02),
                Aiding.heading(at, 3.0 - 0.1 * k, 0.3),
                Aiding.gravity(at, 0.3),
            )[k % 7]
        )
    return found


def navigated(recording, *, aided, rows=slice(None), start=None, place=None, **changes):
    data = series_of(recording)[rows]
    params = NavigatorParams(**{"heading": 0.3, "heading_sigma": 0.2} | changes)
    navigator = StrapdownNavigator(params, start=start, place=place)
    result = navigator.run(data, aiding=told(data.t_ns) if aided else ())
    found = arrays_of(result.replace(aiding=())) | arrays_of(navigator.report, "account")
    found |= arrays_of(of_navigation(navigator.estimate), "last")
    return found | of_aiding(result.aiding)


def of_aiding(results):
    rows = [each._asdict() | {"kind": len(each.kind)} for each in results]
    return stacked(rows) if rows else {}


def navigated_increments(recording):
    increments = integrate(in_order(recording), window=WindowRule(2)).increments
    result = StrapdownNavigator().run(increments, aiding=told(increments.t_ns))
    return arrays_of(result.replace(aiding=())) | of_aiding(result.aiding)


def navigator_stream(recording, *, compiled):
    """Aiding comes late, and some of it too late."""
    navigator = StrapdownNavigator(compiled=compiled)
    rows, results = [], []
    for k, sample in enumerate(samples_of(series_of(recording)[PLAIN_ROWS[recording]])):
        rows.append(of_navigation(navigator.update(sample)))
        now = rows[-1]["t_ns"]
        if k % 50 == 49 and rows[-1]["aligned"]:
            before = rows[max(k - 7, 0)]["t_ns"]
            t_ns = before if now - 500_000_000 < before < now else None
            results += [
                navigator.aid_velocity((0.0, 0.1, 0.0), 0.25, t_ns=t_ns),
                navigator.aid_zero_rate(0.05, t_ns=t_ns),
                navigator.aid_position((0.0, 0.0, 0.1), 0.04),
                navigator.aid_heading(0.2, 0.5),
                navigator.aid_gravity(0.5),
                navigator.aid_zero_velocity(0.1),
            ]
            rows[-1] = of_navigation(navigator.estimate)
    found = stacked(rows) | arrays_of(navigator.report, "report")
    return found | arrays_of(of_aiding(results), "aiding")


def foot_batch(recording, *, smooth, **changes):
    navigator = FootNavigator(FootParams(**changes))
    result = navigator.run(series_of(recording), smooth=smooth)
    found = arrays_of(result) | arrays_of(result.gait(), "gait")
    return found | arrays_of(of_foot(navigator.estimate), "last")


def of_foot(estimate):
    return of_navigation(estimate) | {"stance": estimate.stance, "statistic": estimate.statistic}


def foot_stream(recording):
    navigator = FootNavigator(compiled=False)
    samples = samples_of(series_of(recording)[PLAIN_ROWS[recording]])
    rows = [of_foot(navigator.update(sample)) for sample in samples]
    return stacked(rows) | arrays_of(navigator.report, "report")


# integration


def increments_batch(recording, gyro_kind, accel_kind, window):
    series = in_order(recording) if recording != DAMAGED else series_of(recording)
    if window is None:
        first, last = int(series.t_ns.min()), int(series.t_ns.max())
        window = np.arange(first + 3_000_000, last, 47_000_000)
    found = integrate(series, gyro_kind=gyro_kind, accel_kind=accel_kind, window=window)
    return arrays_of(found)


def increments_of_others(recording):
    series = in_order(recording)
    late = series.replace(t_ns=series.t_ns + 1_700_000)
    paired = integrate_pair(series, late, window=WindowRule(3))
    found = arrays_of(paired, "pair")
    for kind in ("point", "mean"):
        on_gyro = on_gyro_clock(series, late, accel_kind=kind)
        found |= arrays_of(on_gyro.specific_force, f"on gyro clock, {kind}")
    rates, report = increments_from_rates(series, samples_per_increment=4)
    found |= arrays_of(rates, "rates") | arrays_of(report, "rates report")
    usable = np.isfinite(series.angular_velocity) & np.isfinite(series.specific_force)
    whole = series[usable.all(axis=1)]
    found |= arrays_of(px4_increments(whole, 4), "px4")
    for coning in (False, True):
        parts = integrate_float32(
            whole.t_ns // 1000, whole.angular_velocity, coning=coning, samples_per_window=5
        )
        found |= arrays_of(parts, f"float32, coning {coning}")
    return found


def increments_stream(recording, kind):
    integrator = IncrementIntegrator(
        WindowRule(4, 32_000_000), gyro_kind=kind, accel_kind=kind, max_gap_ns=100_000_000
    )
    found = []
    for sample in samples_of(series_of(recording)[PLAIN_ROWS[recording]]):
        w, f, _ = sample.vectors()
        found.append(
            integrator.update(
                sample.t_ns, w, f,
                gyro_clipping=sample.gyro_clipping, accel_clipping=sample.accel_clipping,
            )
        )  # fmt: skip
    columns = stacked([each._asdict() for each in found if each])
    return columns | arrays_of(integrator.report, "report")


def drifts():
    """Both integrators on the motions that make them drift."""

    def ours(series, samples):
        return increments_from_rates(series, samples_per_increment=samples)[0]

    kinds = {"ours": ours, "px4": px4_increments}
    return {
        f"{measure.__name__}, {name}": np.array([measure(kind, case) for case in VIBRATIONS])
        for name, kind in kinds.items()
        for measure in (drift, delay_s)
    }


def preintegrated(recording, quadrature):
    series = in_order(recording)
    pieces = [
        preintegrate(
            series[first : first + 201], noise=NOISE, quadrature=quadrature,
            scale_misalignment=0.01 * np.eye(3)[::-1], **BIASES,
        )
        for first in range(0, min(len(series), 4600) - 200, 200)
    ]  # fmt: skip
    rows = [{f"{name}": a for name, a in arrays_of(piece).items()} for piece in pieces]
    found = stacked(rows)
    whole = preintegrate(series, noise=NOISE, quadrature=quadrature)
    found |= arrays_of(whole, "whole") | arrays_of(compose(*pieces[:2]), "composed")
    corrected = pieces[0].correct((0.01, 0.0, 0.02), (0.1, 0.0, 0.0), 0.01 * np.eye(3))
    start = NavigationState((0.0, 0.6, 0.0, 0.8), (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    end = corrected.predict(start)
    found |= arrays_of(end, "predicted")
    return found | {"residual": pieces[0].residual(start, end)}


def preintegrator_stream(recording, quadrature):
    integrator = Preintegrator(noise=NOISE, quadrature=quadrature, **BIASES)
    rows = []
    for k, sample in enumerate(samples_of(series_of(recording)[PLAIN_ROWS[recording]])):
        w, f, _ = sample.vectors()
        integrator.update(sample.t_ns, w, f)
        if k % 100 == 99:
            rows.append(arrays_of(integrator.cut()))
    return stacked(rows)


def mechanised(recording):
    series = in_order(recording)
    start = NavigationStart((0.1, 0.2, 0.3, 0.9), (1.0, -2.0, 0.5), (10.0, 20.0, 30.0))
    earth = Place("wgs84", latitude=0.7, height=300.0)
    increments = integrate(series, window=WindowRule(3)).increments
    found = arrays_of(mechanise(series), "flat")
    found |= arrays_of(mechanise(series, start, place=earth, **BIASES), "wgs84")
    at_start = mechanise(increments, start, velocity_axes="start")
    return found | arrays_of(at_start, "increments")


# detection


def of_events(events):
    columns = ("kind", "t_start_ns", "t_end_ns", "t_decided_ns", "values", "flags")
    return arrays_of({name: getattr(events, name) for name in columns}, "events")


def of_detector(detector):
    """Return what a detector says beside its events."""
    found = arrays_of(detector.report, "report")
    for name in ("gyro", "accel", "limits", "stuck", "falling", "summary", "statistic", "still"):
        if hasattr(detector, name):
            found |= arrays_of(getattr(detector, name), name)
    if hasattr(detector, "health"):
        found |= arrays_of(detector.health(), "health")
    return found


def detector_batch(make, recording):
    detector = make()
    events = detector.run(series_of(recording))
    last = detector.finish()
    found = of_events(Events.of([*events, *([last] if last else [])]))
    return found | of_detector(detector)


def detector_stream(make, recording):
    detector = make(compiled=False)
    events, rows = [], []
    for sample in samples_of(series_of(recording)[PLAIN_ROWS[recording]]):
        events.append(detector.update(sample))
        now = {n: getattr(detector, n) for n in ("falling", "statistic") if hasattr(detector, n)}
        rows.append(now | {"found": events[-1] is not None})
    events.append(detector.finish())
    found = of_events(Events.of([event for event in events if event]))
    return found | stacked(rows) | of_detector(detector)


def stillness(kind, recording):
    series = series_of(recording)
    found = {}
    automatic = kind != "lowpass" and recording != DAMAGED
    for thresholds in (None, "auto") if automatic else (None,):
        detector = StillnessDetector(kind, thresholds=thresholds)
        for centred in (False, True):
            still = detector.analyse(series, centred=centred)
            name = f"{thresholds}, centred {centred}"
            columns = {n: getattr(still, n) for n in ("statistic", "threshold", "still")}
            found |= arrays_of(columns, name)
            found |= {f"{name}.{n}": a for n, a in of_events(still.intervals).items()}
    if automatic:
        found |= arrays_of(quiet_noise(series, kind), "noise")
    return found


def of_other_detection(recording):
    series = series_of(recording)
    found = arrays_of(vibration_metrics(in_order(recording)), "vibration")
    found |= arrays_of(clipping_bits(series), "clipping bits")
    falls = np.array([is_freefall(sample) for sample in samples_of(series[:3000])])
    return found | {"is_freefall": falls}


def score():
    series = series_of(DAMAGED)
    parts = [series[first : first + 700] for first in range(0, len(series) - 700, 350)]
    law = FallScore.fit(parts, np.arange(len(parts)) % 3 == 0)
    return arrays_of(law, "law") | detector_batch(partial(FallDetector, score=law), DAMAGED)


def copies(recording, count):
    """Return readings of several sensors on one body, of which each has a fault of its own."""
    rng = np.random.default_rng(8)
    series = in_order(recording)[:8000]
    found = []
    for k in range(count):
        shape = series.angular_velocity.shape
        w = series.angular_velocity + np.round(rng.normal(0.0, 0.002, shape), 9)
        f = series.specific_force + np.round(rng.normal(0.0, 0.02, shape), 9)
        at = 400 + 900 * k
        w[at : at + 500] += [0.2, 0.0, 0.0]
        f[at + 200 : at + 800] = f[at + 200]
        w[at + 1300 : at + 1400] = np.nan
        f[at + 2000 : at + 2600] *= 1.1
        w[at + 3000 : at + 3300] *= -1.0
        found.append(series.replace(angular_velocity=w, specific_force=f))
    if recording != DAMAGED:
        found[-1] = found[-1].replace(t_ns=found[-1].t_ns + 1_200_000)
    return found


def voters(count):
    mounts = [SensorMount((0.0, 0.0, 0.0, 1.0), (0.1 * k, 0.02, -0.05 * k)) for k in range(count)]
    profiles = [VoterProfile(0.003 + 0.001 * k, 0.03, priority=count - k) for k in range(count)]
    yield "default", partial(Voter, count)
    yield "mounted", partial(Voter, count, mounts, profiles)
    yield "blended", partial(Voter, count, params=VoterParams(blend=True, noise_free=True))


def of_voter(voter):
    gyro, accel = (np.array(s, np.int64) for s in (voter.gyro_states, voter.accel_states))
    states = {"gyro_states": gyro, "accel_states": accel, "selected": np.array(voter.selected)}
    return states | arrays_of(voter.report, "report")


def voted(recording, count):
    found = {}
    for name, make in voters(count):
        voter = make()
        result = voter.run(copies(recording, count))
        columns = {n: getattr(result, n) for n in ("series", "states", "selected")}
        changes = np.array([each.timestamp for each in result.selections])
        parts = arrays_of(columns) | of_events(result.events) | of_voter(voter)
        found |= {f"{name}.{n}": a for n, a in (parts | {"selections": changes}).items()}
    return found


def voted_stream(recording, count):
    voter = Voter(count)
    rows, events = [], []
    streams = [samples_of(each[:1500]) for each in copies(recording, count)]
    for k, samples in enumerate(zip(*streams, strict=True)):
        heard = [None if (k + i) % 97 == 0 else s for i, s in enumerate(samples)]
        vote = voter.update(heard)
        events += vote.events
        rows.append(vote._asdict() | {"events": len(vote.events)})
    return stacked(rows) | of_events(Events.of(events)) | of_voter(voter)


# all of them


def estimation_cases():
    for name in FILTERS:
        for recording in ALL:
            yield f"{name} on {recording}", partial(filter_batch, name, recording)
        for recording in (DAMAGED, "broad-08"):
            without = partial(filter_batch, name, recording, use_magnetic_field=False)
            yield f"{name} without field on {recording}", without
            for kind in ("point", "mean"):
                of_kind = partial(filter_batch, name, recording, sample_kind=kind)
                yield f"{name} of {kind} on {recording}", of_kind
        ranges = {"gyro_range": RANGE_GYRO, "accel_range": RANGE_ACCEL, "reset_after": 0.3}
        yield f"{name} with ranges on hard", partial(filter_batch, name, DAMAGED, **ranges)
        for recording in PLAIN_ROWS:
            yield f"{name} stream on {recording}", partial(filter_stream, name, recording)
    for recording in ALL:
        yield f"offline vqf on {recording}", partial(smoothed, "vqf", recording)
    for recording in (DAMAGED, "broad-08", "pyshoe-walk", "tumvi-room1", "imu-static"):
        rows = slice(8000)
        yield f"smoother on {recording}", partial(smoothed, "eskf", recording, rows=rows)
    without = partial(smoothed, "eskf", "broad-08", rows=slice(8000), use_magnetic_field=False)
    yield "smoother without field on broad-08", without


def navigation_cases():
    for recording in ALL:
        yield f"navigator on {recording}", partial(navigated, recording, aided=False)
    for recording in (DAMAGED, *HELD):
        yield f"aided navigator on {recording}", partial(navigated, recording, aided=True)
        yield f"foot on {recording}", partial(foot_batch, recording, smooth=False)
    start = NavigationPrior((0.1, 0.2, 0.3, 0.9), (1.0, 0.0, 0.0), accel_bias=(0.1, 0.0, 0.0))
    earth = Place("wgs84", latitude=0.8, height=100.0)
    for kind in ("point", "mean"):
        on_earth = partial(
            navigated, DAMAGED, aided=True, start=start, place=earth, sample_kind=kind, patience=1
        )
        yield f"started navigator of {kind} on hard", on_earth
    yield "navigator of increments on tumvi-room1", partial(navigated_increments, "tumvi-room1")
    for recording in PLAIN_ROWS:
        for compiled in (True, False):
            stream = partial(navigator_stream, recording, compiled=compiled)
            yield f"navigator stream, compiled {compiled}, on {recording}", stream
        yield f"foot stream on {recording}", partial(foot_stream, recording)
    for recording in (DAMAGED, "pyshoe-walk", "pyshoe-run", "gait-tracking"):
        yield f"smoothed foot on {recording}", partial(foot_batch, recording, smooth=True)
    other = partial(foot_batch, "pyshoe-run", smooth=True, sample_kind="mean", stair_height=0.0)
    yield "other foot on pyshoe-run", other


def integration_cases():
    windows = {"each": WindowRule(1), "of 4 or 30 ms": WindowRule(4, 30_000_000), "stamps": None}
    kinds = "point", "mean", "integral"
    for recording in (DAMAGED, *HELD):
        for kind in kinds:
            for name, window in windows.items():
                batch = partial(increments_batch, recording, kind, kind, window)
                yield f"increments of {kind}, {name}, on {recording}", batch
        yield f"other increments on {recording}", partial(increments_of_others, recording)
        yield f"mechanised {recording}", partial(mechanised, recording)
        for quadrature in Quadrature:
            pre = partial(preintegrated, recording, quadrature)
            yield f"preintegration, {quadrature}, on {recording}", pre
    mixed = partial(increments_batch, DAMAGED, "mean", None, WindowRule(2))
    yield "increments of a gyro alone on hard", mixed
    for kind in kinds:
        yield f"increment stream of {kind} on hard", partial(increments_stream, DAMAGED, kind)
    for quadrature in Quadrature:
        stream = partial(preintegrator_stream, DAMAGED, quadrature)
        yield f"preintegrator stream, {quadrature}, on hard", stream
    yield "drifts", drifts


def detection_cases():
    makes = dict(DETECTORS)
    makes |= {f"stillness {kind}": partial(StillnessDetector, kind) for kind in StillnessKind}
    for name, make in makes.items():
        for recording in ALL:
            yield f"{name} on {recording}", partial(detector_batch, make, recording)
        for recording in PLAIN_ROWS:
            yield f"{name} stream on {recording}", partial(detector_stream, make, recording)
    for place, params in FALL_PRESETS.items():
        made = partial(FallDetector, params)
        yield f"fall at the {place} on hard", partial(detector_batch, made, DAMAGED)
    limits = ClippingParams(gyro_range_rad_s=RANGE_GYRO, accel_range_m_s2=RANGE_ACCEL)
    yield (
        "declared clipping on hard",
        partial(detector_batch, partial(ClippingDetector, limits), DAMAGED),
    )
    yield "fall score on hard", score
    for recording in (DAMAGED, *HELD):
        for kind in StillnessKind:
            yield f"analysis {kind} of {recording}", partial(stillness, kind, recording)
        for count in (2, 3):
            yield f"voter of {count} on {recording}", partial(voted, recording, count)
    for recording in ALL:
        yield f"vibration of {recording}", partial(of_other_detection, recording)
    for count in (2, 3):
        yield f"voter stream of {count} on hard", partial(voted_stream, DAMAGED, count)


GROUPS: dict[str, dict[str, Callable[[], dict[str, np.ndarray]]]] = {
    "estimation": dict(estimation_cases()),
    "navigation": dict(navigation_cases()),
    "integration": dict(integration_cases()),
    "detection": dict(detection_cases()),
}
CASES = {name: case for group in GROUPS.values() for name, case in group.items()}


def is_missing(name):
    """Return the recording that a case needs and that is not there, or nothing."""
    return next((r for r, f in RECORDINGS.items() if r in name and not (DATA / f).is_file()), "")


def write():
    made = {name: pinned(case()) for name, case in CASES.items()}
    lines = [
        f"    {json.dumps(name)}: {{\n"
        + ",\n".join(f"      {json.dumps(n)}: {json.dumps(pin)}" for n, pin in pins.items())
        + "\n    }"
        for name, pins in made.items()
    ]
    head = json.dumps(fingerprint())
    text = ",\n".join(lines)
    RESULTS.write_text(f'{{\n  "fingerprint": {head},\n  "cases": {{\n{text}\n  }}\n}}\n', "utf-8")
    print(f"{len(made)} cases written")  # noqa: T201


def compare(part):
    """Print how each case with ``part`` in its name differs, and return whether any does."""
    known = json.loads(RESULTS.read_text("utf-8"))
    here = fingerprint()
    for library, digest in known["fingerprint"].items():
        if here[library] != digest:
            print(f"{library} rounds otherwise here")  # noqa: T201
    alike = True
    for name, case in CASES.items():
        if part not in name:
            continue
        pins, now = known["cases"].get(name, {}), pinned(case())
        other = [n for n in pins.keys() | now.keys() if pins.get(n) != now.get(n)]
        off = {n: difference(now[n], pins[n]) if n in pins and n in now else np.inf for n in other}
        worst = max(off, key=off.__getitem__, default="")
        said = f"{len(off)} arrays differ, most {worst}: {off[worst]:.3g} tolerances" if off else ""
        print(f"{name}: {said or 'same bits'}")  # noqa: T201
        alike &= not off
    return not alike


def main():
    parser = argparse.ArgumentParser(description="Results of every estimator and detector.")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true", help="renew results.json")
    action.add_argument(
        "--compare",
        nargs="?",
        const="",
        metavar="PART",
        help="say how each case, or those with PART in their names, differs",
    )
    warnings.simplefilter("error")
    arguments = parser.parse_args()
    return write() if arguments.write else compare(arguments.compare)


if __name__ == "__main__":
    sys.exit(main())
