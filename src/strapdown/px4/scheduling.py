"""Kernels of PX4's scheduling: order of the messages, and ends of windows.

``lay_out`` plans windows from the mean intervals of the messages; ``next_step`` selects the next
operation from the waiting messages; ``run`` processes a batch. Source: ``VehicleIMU.cpp`` of
PX4-Autopilot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy import float32 as F32  # noqa: N812 (the type of every fraction here)

from strapdown._kernels.kernel import kernel
from strapdown.px4.channels import (
    QUEUE,
    Channel,
    Machine,
    Message,
    Plan,
    Rules,
    Timing,
    Window,
    after_status,
    close,
    has_window,
    status_is_due,
    status_numbers,
    take_accel,
    take_gyro,
)
from strapdown.px4.float32 import HALF_F, MICRO_F, is_valid, rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import IntArray

SEVEN_F = F32(7.0)
LONGEST_INTERVAL_US = F32(1e9)

# Stamps of a message that has not arrived, and of one that is later than all others.
UNKNOWN = -(2**63)
FAR = 2**63 - 1

# Next operation.
WAIT = 0
TAKE_GYRO = 1
TAKE_ACCEL = 2
PUBLISH = 3


class Layout(NamedTuple):
    """Messages and lengths of windows, and schedule of the integrator."""

    gyro_samples: int
    length_us: int
    accel_samples: int
    gyro_min_us: int
    accel_min_us: int
    updates: int
    wake_us: int


class Inputs(NamedTuple):
    """Messages of one sensor by column."""

    whole: IntArray  # (N, 6): t_us, samples, error_count, clips by axis
    values: NDArray[np.float32]  # (N, 4): value, temperature


class Outputs(NamedTuple):
    """Output arrays of a batch, including windows that are left out."""

    windows: IntArray  # (M, 8): published, messages taken (gyro, accel), t_us, lengths, clipping
    deltas: NDArray[np.float32]  # (M, 6)
    statuses: IntArray  # (M, 9): t_us, clipped (accel, gyro), error counts (accel, gyro)
    numbers: NDArray[np.float32]  # (M, 21): as status_numbers


@kernel
def lay_out(interval_us: int, gyro_us: np.float32, accel_us: np.float32) -> Layout:
    """Return the layout of windows for a wanted length and the mean intervals of the messages."""
    wanted = F32(interval_us) / gyro_us
    samples = max(1, rounded(wanted))
    if samples > QUEUE:
        samples = max(1, 2 * rounded(wanted * HALF_F))
    length = rounded(F32(samples) * gyro_us)
    accel_samples = max(1, rounded(F32(length) / accel_us))
    wake_us = max(1000, min(20_000, int(min(SEVEN_F * accel_us, SEVEN_F * gyro_us))))
    left, updates = samples, 1
    for n in range(QUEUE, 0, -1):
        if left > QUEUE:
            left //= 2
        if left % n == 0:
            updates = n
            break
    if F32(wake_us) < F32(updates) * gyro_us:
        wake_us = int(F32(updates + 1) * gyro_us)
    return Layout(
        samples,
        length,
        accel_samples,
        rounded((F32(samples) - HALF_F) * gyro_us),
        rounded((F32(accel_samples) - HALF_F) * accel_us),
        updates,
        wake_us,
    )


@kernel
def configured(m: Machine, interval_us: int) -> Machine:
    """Update the layout of windows where that is due and both intervals are known."""
    gyro, accel = m.gyro.timing.interval, m.accel.timing.interval
    due = m.plan.dirty or not m.plan.configured
    if not (due and is_valid(gyro) and is_valid(accel)):
        return m
    if max(gyro.mean, accel.mean) > LONGEST_INTERVAL_US:
        return m
    layout = lay_out(interval_us, gyro.mean, accel.mean)
    return Machine(
        laid_out(m.gyro, layout.gyro_samples, layout.gyro_min_us),
        laid_out(m.accel, layout.accel_samples, layout.accel_min_us),
        Plan(True, False, layout.updates, layout.wake_us),
        m.shaking, m.coning, m.coning_seconds, m.boot, m.urgent, m.status_us,
    )  # fmt: skip


@kernel
def laid_out(c: Channel, samples_min: int, min_us: int) -> Channel:
    timing = Timing(c.timing.interval, c.timing.chip_interval, c.timing.interval.mean)
    return Channel(
        c.integral, samples_min, F32(min_us) * MICRO_F, c.t_us, c.messages, timing, c.raw,
        c.error_count, c.clipping, c.clipped,
    )  # fmt: skip


@kernel
def accel_is_behind(
    m: Machine,
    in_float32: bool,
) -> bool:
    """Return whether the accelerometer lags by more than half its interval.

    PX4 compares in float32, whose steps grow to 64 us after nine minutes.
    """
    half = HALF_F * m.accel.timing.layout_us
    if in_float32:
        return bool(F32(m.accel.t_us) < F32(m.gyro.t_us) - half)
    return bool(m.gyro.t_us - m.accel.t_us > np.float64(half))


@kernel
def next_step(  # noqa: PLR0911 (each return is one rule)
    m: Machine, rules: Rules, gyro_us: int, ninth_gyro_us: int, accel_us: int, ninth_accel_us: int
) -> int:
    """Return the next operation, from the stamps of the first and the ninth waiting messages.

    The result depends on stamps only, so a stream and a batch give the same windows. Messages of
    one sensor wait for the other, up to the eight that a topic of PX4 holds; then the window grows.
    """
    if accel_us == UNKNOWN and ninth_gyro_us != UNKNOWN:
        accel_us = FAR
    if gyro_us == UNKNOWN and ninth_accel_us != UNKNOWN:
        gyro_us = FAR
    gyro_step = WAIT if gyro_us in (UNKNOWN, FAR) else TAKE_GYRO
    accel_step = WAIT if accel_us in (UNKNOWN, FAR) else TAKE_ACCEL
    if not m.plan.configured:
        if UNKNOWN in (gyro_us, accel_us):
            return WAIT
        return accel_step if accel_us <= gyro_us else gyro_step
    if not has_window(m.gyro):
        late = gyro_us != UNKNOWN and UNKNOWN < ninth_accel_us < gyro_us
        return accel_step if late else gyro_step
    if not has_window(m.accel) or accel_is_behind(m, rules.float32_schedule):
        if accel_us == UNKNOWN:
            return WAIT
        if accel_us <= m.gyro.t_us:
            return accel_step
    if has_window(m.accel):
        return PUBLISH
    late = accel_us == FAR or UNKNOWN < ninth_gyro_us < accel_us
    return gyro_step if late else accel_step


@kernel
def has_logged_end(m: Machine, ends: IntArray, row: int) -> bool:
    """Return whether the open window ends with a given message of the log.

    So it does where the log has it, and where too few messages for a window of their own are left
    up to the next end in the log.
    """
    if row >= len(ends):
        return False
    if ends[row, 2] == 1:
        return True
    left_us = np.float64(ends[row, 0] - m.gyro.t_us)
    return bool(left_us < (m.gyro.samples_min - 0.5) * m.gyro.timing.layout_us)


@kernel
def step_to_end(
    m: Machine, gyro_us: int, accel_us: int, gyro_end_us: int, accel_end_us: int
) -> int:
    """Return the next operation towards given last messages; UNKNOWN where these are missing."""
    if m.gyro.t_us < gyro_end_us:
        if gyro_us == UNKNOWN:
            return WAIT
        if gyro_us <= gyro_end_us:
            return TAKE_GYRO
    if m.accel.t_us < accel_end_us:
        if accel_us == UNKNOWN:
            return WAIT
        if accel_us <= accel_end_us:
            return TAKE_ACCEL
    if m.gyro.integral.samples > 0 and m.accel.integral.samples > 0:
        return PUBLISH
    return UNKNOWN


@kernel
def run(
    m: Machine,
    rules: Rules,
    gyro: Inputs,
    accel: Inputs,
    after_us: int,
    ends: IntArray,
    at: tuple[int, int, int, int, int],
    out: Outputs,
) -> tuple[Machine, tuple[int, int, int, int, int]]:
    """Process messages until none remains or the outputs are full.

    ``after_us`` is the stamp after the last message, FAR or UNKNOWN. ``ends`` has the ends of
    windows of a log, as :func:`~strapdown.px4.window_ends.window_ends`. ``at`` holds the next rows
    of messages (gyro, accel), of ``ends`` and of outputs (windows, statuses); their final values
    are returned with the machine.
    """
    i, j, end, windows, statuses = at
    while windows < len(out.windows):
        gyro_us, accel_us = stamp(gyro, i, after_us), stamp(accel, j, after_us)
        step = UNKNOWN
        if has_logged_end(m, ends, end):
            step = step_to_end(m, gyro_us, accel_us, ends[end, 0], ends[end, 1])
        if step == UNKNOWN:
            step = next_step(
                m, rules, gyro_us, stamp(gyro, i + QUEUE, after_us),
                accel_us, stamp(accel, j + QUEUE, after_us),
            )  # fmt: skip
        if step == WAIT:
            break
        if step == TAKE_GYRO:
            m = configured(take_gyro(m, message(gyro, i), rules, False), rules.interval_us)
            i += 1
        elif step == TAKE_ACCEL:
            m = configured(take_accel(m, message(accel, j), rules, False), rules.interval_us)
            j += 1
        else:
            m, window = close(m, rules)
            if window.published and status_is_due(m, m.gyro.t_us):
                write_status(out, statuses, m, rules)
                m = after_status(m, m.gyro.t_us)
                statuses += 1
            write_window(out, windows, m, window)
            windows += 1
            while end < len(ends) and ends[end, 0] <= m.gyro.t_us:
                end += 1
    return m, (i, j, end, windows, statuses)


@kernel
def stamp(messages: Inputs, row: int, after_us: int) -> int:
    return messages.whole[row, 0] if row < len(messages.whole) else after_us


@kernel
def message(messages: Inputs, row: int) -> Message:
    whole, values = messages.whole[row], messages.values[row]
    return Message(
        whole[0], (values[0], values[1], values[2]), values[3], whole[2],
        (whole[3], whole[4], whole[5]), whole[1],
    )  # fmt: skip


@kernel
def write_window(out: Outputs, at: int, m: Machine, window: Window) -> None:
    row = out.windows[at]
    row[0], row[1], row[2] = window.published, m.gyro.messages, m.accel.messages
    row[3], row[4], row[5] = m.gyro.t_us, window.gyro_us, window.accel_us
    row[6], row[7] = window.gyro_clipping, window.accel_clipping
    for axis in range(3):
        out.deltas[at, axis] = window.delta_angle[axis]
        out.deltas[at, 3 + axis] = window.delta_velocity[axis]


@kernel
def write_status(out: Outputs, row: int, m: Machine, rules: Rules) -> None:
    whole = out.statuses[row]
    whole[0] = m.gyro.t_us
    for axis in range(3):
        whole[1 + axis] = m.accel.clipped[axis]
        whole[4 + axis] = m.gyro.clipped[axis]
    whole[7], whole[8] = m.accel.error_count, m.gyro.error_count
    numbers = status_numbers(m, rules)
    for column in range(21):
        out.numbers[row, column] = numbers[column]
