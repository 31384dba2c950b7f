"""Kernels of PX4's ``vehicle_imu``: from messages of two sensors to windows and a status.

``take_gyro`` and ``take_accel`` integrate one message, ``close`` ends a window,
``status_numbers`` computes the status. :mod:`strapdown.px4.scheduling` decides their order.
Source: ``VehicleIMU.cpp`` of PX4-Autopilot.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy import float32 as F32  # noqa: N812 (the type of every fraction here)

from strapdown._kernels.kernel import kernel
from strapdown.px4.float32 import (
    EMPTY,
    EMPTY_SPREAD,
    FRESH,
    MEGA_F,
    MICRO_F,
    ZERO,
    ZERO_F,
    Correction,
    Integral,
    Mean,
    Spread,
    Vector,
    corrected,
    is_ready,
    is_valid,
    length_us,
    mean_rate,
    norm,
    put,
    reset,
    rounded,
    scaled,
    seconds_between,
    total,
    turned,
    turned_variance,
    update,
    update_spread,
    variance,
    vibration,
)

Counts: TypeAlias = tuple[int, int, int]

QUEUE = 8  # capacity of a sensor's topic in messages
STATUS_US = 100_000
BYTE = 0xFF
WORD = 0xFFFFFFFF


class Message(NamedTuple):
    """One message of a sensor."""

    t_us: int
    value: Vector
    temperature: np.float32
    error_count: int
    clips: Counts
    samples: int


class Timing(NamedTuple):
    """Mean intervals of messages and of samples, and the interval of the current layout."""

    interval: Mean
    chip_interval: Mean
    layout_us: np.float32  # 0 before the first layout


class Raw(NamedTuple):
    """Statistics of the readings since the last status, and sum and number of temperatures."""

    spread: Spread
    warmth: np.float32
    warm: int


class Channel(NamedTuple):
    """State of one sensor."""

    integral: Integral
    samples_min: int
    seconds_min: np.float32
    t_us: int  # of the last message; 0 before the first
    messages: int
    timing: Timing
    raw: Raw
    error_count: int
    clipping: int  # bits by axis since the last window
    clipped: Counts


class Plan(NamedTuple):
    """Schedule of the integrator in the autopilot."""

    configured: bool
    dirty: bool
    updates: int  # gyroscope messages between two runs
    wake_us: int  # backup timer


class Shaking(NamedTuple):
    """Vibration metrics, and the mean rates of the last window."""

    accel_metric: np.float32
    gyro_metric: np.float32
    accel: Vector
    gyro: Vector


class Machine(NamedTuple):
    """Complete state of one IMU in PX4: a value to save, restore and compare."""

    gyro: Channel
    accel: Channel
    plan: Plan
    shaking: Shaking
    coning: np.float32  # since the last status: sum of |coning correction| x length of each window,
    coning_seconds: np.float32  # and sum of the lengths [s]
    boot: bool  # the window holds the time from boot to the first message
    urgent: bool  # a status is due before its time
    status_us: int


class Rules(NamedTuple):
    """Constant options of the integrator."""

    interval_us: int
    dt_max: np.float32
    drop_boot: bool
    enabled: bool
    float32_schedule: bool
    gyro: Correction
    accel: Correction


class Window(NamedTuple):
    """One window; ``published`` is false if it is left out."""

    published: bool
    gyro_us: int
    accel_us: int
    delta_angle: Vector
    delta_velocity: Vector
    gyro_clipping: int
    accel_clipping: int


NO_TIMING = Timing(EMPTY, EMPTY, ZERO_F)
NO_RAW = Raw(EMPTY_SPREAD, ZERO_F, 0)


@kernel
def begin(interval_us: int) -> Machine:
    """Return the state at boot."""
    seconds_min = F32(interval_us) * MICRO_F
    channel = Channel(FRESH, QUEUE, seconds_min, 0, 0, NO_TIMING, NO_RAW, 0, 0, (0, 0, 0))
    return Machine(
        channel, channel, Plan(False, False, 1, 20_000), Shaking(ZERO_F, ZERO_F, ZERO, ZERO),
        ZERO_F, ZERO_F, False, True, 0,
    )  # fmt: skip


@kernel
def take_gyro(
    m: Machine,
    message: Message,
    rules: Rules,
    gap: bool,
) -> Machine:
    channel, dirty, urgent = consume(m.gyro, message, rules.gyro, rules.dt_max, True, gap)
    return after_message(m, channel, m.accel, dirty, urgent)


@kernel
def take_accel(
    m: Machine,
    message: Message,
    rules: Rules,
    gap: bool,
) -> Machine:
    channel, dirty, urgent = consume(m.accel, message, rules.accel, rules.dt_max, False, gap)
    return after_message(m, m.gyro, channel, dirty, urgent)


@kernel
def consume(
    c: Channel,
    message: Message,
    correction: Correction,
    dt_max: np.float32,
    coning: bool,
    gap: bool,
) -> tuple[Channel, bool, bool]:
    """Integrate one message; return whether a new layout and an early status are due."""
    timing, dirty = c.timing, False
    if c.messages > 0 and not gap:
        timing, dirty = timed(c.timing, message.t_us - c.t_us, message.samples)
    bits, clipped = c.clipping, c.clipped
    urgent = message.error_count != c.error_count
    x, y, z = message.clips
    if x > 0 or y > 0 or z > 0:
        u, v, w = turned(correction.rotation, (F32(x), F32(y), F32(z)))
        x, y, z = rounded(abs(u)) & BYTE, rounded(abs(v)) & BYTE, rounded(abs(w)) & BYTE
        bits |= (1 if x > 0 else 0) | (2 if y > 0 else 0) | (4 if z > 0 else 0)
        clipped = ((clipped[0] + x) & WORD, (clipped[1] + y) & WORD, (clipped[2] + z) & WORD)
        urgent = True
    warmth, warm = c.raw.warmth, c.raw.warm
    if math.isfinite(message.temperature):
        warmth, warm = warmth + message.temperature, warm + 1
    dt = seconds_between(message.t_us, c.t_us)
    return Channel(
        put(c.integral, message.value, dt, dt_max, coning), c.samples_min, c.seconds_min,
        message.t_us, c.messages + 1, timing,
        Raw(update_spread(c.raw.spread, message.value), warmth, warm),
        message.error_count, bits, clipped,
    ), dirty, urgent  # fmt: skip


@kernel
def timed(s: Timing, step_us: int, samples: int) -> tuple[Timing, bool]:
    """Add the time between two messages, if positive; return whether a new layout is due."""
    if step_us <= 0:
        return s, False
    interval = update(s.interval, F32(step_us))
    chip_interval = update(s.chip_interval, F32(step_us) / F32(max(samples, 1)))
    dirty = False
    if is_valid(interval) and interval.number % 10 == 0:
        off = interval.mean - s.layout_us
        dirty = bool(s.layout_us == ZERO_F or off * off > variance(interval))
    return Timing(interval, chip_interval, s.layout_us), dirty


@kernel
def after_message(
    m: Machine,
    gyro: Channel,
    accel: Channel,
    dirty: bool,
    urgent: bool,
) -> Machine:
    boot = (gyro.messages == 1 and gyro.integral.samples == 1) or (
        accel.messages == 1 and accel.integral.samples == 1
    )
    plan = Plan(m.plan.configured, m.plan.dirty or dirty, m.plan.updates, m.plan.wake_us)
    return Machine(
        gyro, accel, plan, m.shaking, m.coning, m.coning_seconds,
        m.boot or boot, m.urgent or urgent, m.status_us,
    )  # fmt: skip


@kernel
def has_window(c: Channel) -> bool:
    return is_ready(c.integral, c.samples_min, c.seconds_min)


@kernel
def close(m: Machine, rules: Rules) -> tuple[Machine, Window]:
    """End the window of both sensors: calibrated mean rates, times the length of the window."""
    gyro_us, accel_us = length_us(m.gyro.integral), length_us(m.accel.integral)
    gyro_s, accel_s = MICRO_F * F32(gyro_us), MICRO_F * F32(accel_us)
    gyro = corrected(mean_rate(total(m.gyro.integral), gyro_s), rules.gyro)
    accel = corrected(mean_rate(total(m.accel.integral), accel_s), rules.accel)
    shaking, coning, coning_seconds = m.shaking, m.coning, m.coning_seconds
    published = rules.enabled and not (m.boot and rules.drop_boot)
    if published:
        shaking = shaken(shaking, accel, gyro)
        coning += norm(m.gyro.integral.beta) * gyro_s
        coning_seconds += gyro_s
    window = Window(
        published, gyro_us, accel_us, scaled(gyro, gyro_s), scaled(accel, accel_s),
        m.gyro.clipping, m.accel.clipping,
    )  # fmt: skip
    return Machine(
        opened(m.gyro), opened(m.accel), m.plan, shaking, coning, coning_seconds,
        False, m.urgent, m.status_us,
    ), window  # fmt: skip


@kernel
def shaken(s: Shaking, accel: Vector, gyro: Vector) -> Shaking:
    return Shaking(
        vibration(s.accel_metric, accel, s.accel),
        vibration(s.gyro_metric, gyro, s.gyro),
        accel,
        gyro,
    )


@kernel
def opened(c: Channel) -> Channel:
    """Return a channel at the start of a window."""
    return Channel(
        reset(c.integral), c.samples_min, c.seconds_min, c.t_us, c.messages, c.timing, c.raw,
        c.error_count, 0, c.clipped,
    )  # fmt: skip


@kernel
def status_is_due(m: Machine, now_us: int) -> bool:
    known = (
        m.gyro.raw.spread.number > 2
        and m.accel.raw.spread.number > 2
        and is_valid(m.gyro.timing.interval)
        and is_valid(m.accel.timing.interval)
    )
    return known and (m.urgent or now_us - m.status_us >= STATUS_US)


@kernel
def status_numbers(m: Machine, rules: Rules) -> tuple[np.float32, ...]:
    """Return the floating point numbers of a status in the order of the message."""
    accel, gyro = m.accel, m.gyro
    ax, ay, az = turned(rules.accel.rotation, accel.raw.spread.mean)
    gx, gy, gz = turned(rules.gyro.rotation, gyro.raw.spread.mean)
    aa, bb, cc = turned_variance(accel.raw.spread, rules.accel.rotation)
    gg, hh, ii = turned_variance(gyro.raw.spread, rules.gyro.rotation)
    return (
        MEGA_F / accel.timing.interval.mean, MEGA_F / gyro.timing.interval.mean,
        MEGA_F / accel.timing.chip_interval.mean, MEGA_F / gyro.timing.chip_interval.mean,
        m.shaking.accel_metric, m.shaking.gyro_metric,
        m.coning / m.coning_seconds if m.coning_seconds > ZERO_F else ZERO_F,
        ax, ay, az, gx, gy, gz, aa, bb, cc, gg, hh, ii,
        temperature(accel.raw), temperature(gyro.raw),
    )  # fmt: skip


@kernel
def temperature(raw: Raw) -> np.float32:
    return raw.warmth / F32(raw.warm) if raw.warm > 0 else F32(math.nan)


@kernel
def after_status(m: Machine, now_us: int) -> Machine:
    """Return the state after a status; its statistics restart ten times a second."""
    gyro, accel = m.gyro, m.accel
    if now_us - m.status_us >= STATUS_US:
        gyro, accel = restarted(gyro), restarted(accel)
    return Machine(
        gyro, accel, m.plan, m.shaking, ZERO_F, ZERO_F, m.boot, False, now_us
    )  # fmt: skip


@kernel
def restarted(c: Channel) -> Channel:
    """Return a channel without statistics of its readings."""
    return Channel(
        c.integral, c.samples_min, c.seconds_min, c.t_us, c.messages, c.timing, NO_RAW,
        c.error_count, c.clipping, c.clipped,
    )  # fmt: skip
