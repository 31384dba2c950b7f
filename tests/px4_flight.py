"""A flight with two IMUs as a PX4 autopilot logs it, and the motion that was flown.

The autopilot here is one of our own: its driver, integrator and calibration follow the formulas
of PX4 in plain float32, fused in places as a compiler fuses them, and share no code with the
package. Only the log is written by it.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from scipy.spatial.transform import Rotation

from strapdown.formats.ulog.writer import LoggedRows, UlogWriter
from strapdown.messages.px4 import (
    SensorAccel,
    SensorAccelFifo,
    SensorCombined,
    SensorGyro,
    SensorGyroFifo,
    SensorSelection,
    VehicleImu,
    VehicleImuStatus,
)

F = np.float32
G = 9.80665
START_US = 600_000_000  # of the log, ten minutes after boot
NOMINAL_US = 125.0
PACKET, WINDOW = 10, 4
GYRO_SCALE, ACCEL_SCALE = F(np.radians(125.0 / 32768.0)), F(16 * G / 32768.0)
IDS = (0x260022, 0x660C22), (0x260032, 0x6A0C22)  # of gyroscopes and accelerometers
SPACING_US = 121.25, 122.5  # 3 % and 2 % faster than their data sheets
BOARD = {"SENS_BOARD_ROT": 2, "SENS_BOARD_X_OFF": 1.5, "SENS_BOARD_Y_OFF": -0.75}
BEFORE = 40  # packets that came before the log

THERMAL, CHANGE, SMALL, LOST = (165, 290, 370, 455)  # windows of IMU 0 after which it happens
SELECTED_S, CLIPPED_S, DROPOUT_S, END_S = 2.45, 2.6, 2.8, 3.0

CONE, SPIN = np.radians(0.02), 2 * np.pi * 60.0
SWAY, TURN = 0.02, 2 * np.pi * 0.7
AXIS = np.array([0.48, -0.6, 0.64])


def attitude(t):
    """Rotations from body to earth: a slow sway, and coning within it."""
    phase = SPIN * t
    cone = np.stack([np.cos(phase), np.sin(phase), 0.0 * t, 0.0 * t], axis=1)
    cone[:, :2] *= np.sin(CONE / 2)
    cone[:, 3] = np.cos(CONE / 2)
    return Rotation.from_rotvec(AXIS * (SWAY * np.sin(TURN * t))[:, None]) * Rotation.from_quat(
        cone
    )


def rate(t):
    """Angular velocity [rad/s, body FRD], exactly that of the attitude."""
    phase = SPIN * t
    cone = SPIN * np.stack(
        [
            -np.sin(CONE) * np.sin(phase),
            np.sin(CONE) * np.cos(phase),
            np.full_like(t, -2 * np.sin(CONE / 2) ** 2),
        ],
        axis=1,
    )
    sway = AXIS * (SWAY * TURN * np.cos(TURN * t))[:, None]
    quaternions = np.stack(
        [
            np.sin(CONE / 2) * np.cos(phase),
            np.sin(CONE / 2) * np.sin(phase),
            0.0 * t,
            np.full_like(t, np.cos(CONE / 2)),
        ],
        axis=1,
    )
    return Rotation.from_quat(quaternions).inv().apply(sway) + cone


def force(t):
    """Specific force [m/s^2, body FRD]: gravity, sculling with the cone, and vibration."""
    return np.stack(
        [
            8.0 * np.sin(SPIN * t) + 0.3,
            8.0 * np.cos(SPIN * t),
            -G + 3.0 * np.sin(2 * np.pi * 180.0 * t),
        ],
        axis=1,
    )


def fma(a, b, c):
    """Return a * b + c in float32, rounded once (float64 holds the product exactly)."""
    return (np.float64(a) * np.float64(b) + np.float64(c)).astype(F)


def matrix(roll, pitch, yaw):
    """R = Rz Ry Rx in float32, from degrees."""
    (cr, cp, cy), (sr, sp, sy) = (
        [F(f(np.float64(F(np.radians(x))))) for x in (roll, pitch, yaw)] for f in (np.cos, np.sin)
    )
    return np.array(
        [
            [cp * cy, F(sr * sp) * cy - cr * sy, F(cr * sp) * cy + sr * sy],
            [cp * sy, F(sr * sp) * sy + cr * cy, F(cr * sp) * sy - sr * cy],
            [-sp, sr * cp, cr * cp],
        ],
        F,
    )


# From board to body: the fine adjustment after rotation 2, a yaw of 90 degrees.
MOUNTING = (matrix(1.5, -0.75, 0.0).astype(float) @ matrix(0, 0, 90.0).astype(float)).astype(F)


@dataclass
class Calibration:
    """Of one sensor: what the autopilot believes, or what is so."""

    offset: np.ndarray
    scale: np.ndarray
    thermal: np.ndarray
    count: int


@dataclass
class Sensor:
    """One chip: packets, and the windows that the autopilot made of them."""

    kind: str
    imu: int
    device_id: int
    t_us: np.ndarray  # (K,) of the packets
    counts: np.ndarray  # (K, 10, 3) int16
    clips: np.ndarray  # (K, 3)
    ends: np.ndarray = field(default=None)  # (N,) rows of the packets that end windows
    length_us: np.ndarray = field(default=None)
    rates: np.ndarray = field(default=None)  # (N, 3) float32, calibrated
    clipping: np.ndarray = field(default=None)
    calibrations: list = field(default=None)
    vibration: np.ndarray = field(default=None)


@dataclass
class Flight:
    """Everything about the flight; times are in seconds since the start of the log."""

    sensors: dict
    parameters: dict
    changes: list  # (t_us, {name: value})
    moments: dict
    offset_us: int = START_US

    def windows(self, imu, before_s=None):
        """Windows of an IMU that the log holds, as vehicle_imu."""
        gyro, accel = self.sensors["gyro", imu], self.sensors["accel", imu]
        t_us = gyro.t_us[gyro.ends]
        keep = t_us > START_US + gyro.length_us
        if before_s is not None:
            keep &= t_us < START_US + before_s * 1e6
        records = np.zeros(int(keep.sum()), VehicleImu.dtype)
        records["timestamp"] = t_us[keep] + 300
        records["timestamp_sample"] = t_us[keep]
        for sensor, name, delta in ((gyro, "gyro", "angle"), (accel, "accel", "velocity")):
            seconds = (F(1e-6) * sensor.length_us.astype(F))[keep, None]
            records[f"{name}_device_id"] = sensor.device_id
            records[f"delta_{delta}"] = sensor.rates[keep] * seconds
            records[f"delta_{delta}_dt"] = sensor.length_us[keep]
            records[f"delta_{delta}_clipping"] = sensor.clipping[keep]
            counts = np.array([each.count for each in sensor.calibrations])
            records[f"{name}_calibration_count"] = counts[keep]
        return records

    def truth(self, begin_us, end_us):
        """Return the rotation from the body at the end to that at the begin, and the velocity.

        The velocity is what the specific force gives in the body frame at the begin [m/s].
        """
        t = (np.array([begin_us, end_us]) - START_US) * 1e-6
        begin, end = attitude(t)
        fine = np.linspace(*t, 2 * round((t[1] - t[0]) * 20_000) + 1)
        turned = (begin.inv() * attitude(fine)).apply(force(fine))
        weights = np.full(len(fine), 2.0)
        weights[1::2], weights[[0, -1]] = 4.0, 1.0  # Simpson's rule
        step = (t[1] - t[0]) / (len(fine) - 1)
        return begin.inv() * end, weights @ turned * step / 3.0


def means_of(counts, scale):
    """Average packets as a driver does; the sample before the first is 0."""
    wide = counts.astype(np.int64)
    last = np.concatenate([np.zeros((1, 3), np.int64), wide[:-1, -1]])
    ends, inside = last + wide[:, -1], wide[:, :-1].sum(axis=1)
    return (F(0.5) * ends.astype(F) + inside.astype(F)) * F(scale / F(PACKET))


def window_ends(t_us, first):
    """Return the packets that end windows: the fourth, or where 3.5 intervals have gone by."""
    shortest_us = 3.5 * float(np.median(np.diff(t_us)))
    ends, since = [first], first
    for row in range(first + 1, len(t_us)):
        if row - since >= WINDOW or t_us[row] - t_us[since] >= shortest_us:
            ends.append(row)
            since = row
    return np.array(ends)


def integrals(values, t_us, ends, *, coning, index="px4"):
    """Integrate messages between the ends of windows, with PX4's recursion or a right one."""
    lengths, deltas = [], []
    last_value, last_delta = values[ends[0]], np.zeros(3, F)
    for begin, end in pairwise(ends):
        alpha, beta, older, seconds = np.zeros(3, F), np.zeros(3, F), np.zeros(3, F), F(0)
        for row in range(begin + 1, end + 1):
            dt = F(t_us[row] - t_us[row - 1]) * F(1e-6)
            seconds = F(seconds + dt)
            twice = (values[row] + last_value) * dt
            delta = twice * F(0.5)
            if coning:
                lever = fma(last_delta, F(1) / F(6), older if index == "px4" else alpha)
                a, b = lever, delta
                turned = fma(a[[1, 2, 0]], b[[2, 0, 1]], -(a[[2, 0, 1]] * b[[1, 2, 0]]))
                beta = fma(turned, F(0.5), beta)
            last_delta, older, last_value = delta, alpha, values[row]
            alpha = fma(twice, F(0.5), alpha)
        lengths.append(int(np.floor(np.float64(seconds * F(1e6)) + 0.5)))
        deltas.append(alpha + beta)
    return np.array(lengths), np.array(deltas, F)


def calibrated(delta, length_us, calibration):
    """Calibrate the mean over a window."""
    mean = fma(delta, F(1) / (F(1e-6) * F(length_us)), -calibration.thermal)
    x, y, z = (mean - calibration.offset) * calibration.scale
    first, second, third = MOUNTING.T
    return (first * x + second * y) + third * z


def vibration_of(rates):
    metric, last, metrics = F(0), np.zeros(3, F), []
    for value in rates:
        step = value - last
        metric = fma(F(0.99), metric, F(0.01) * F(np.sqrt(np.sum(step * step, dtype=F))))
        last = value
        metrics.append(metric)
    return np.array(metrics, F)


def packet_times(imu, rng):
    """Stamps of packets: the clock of the chip, read with a microsecond of jitter."""
    step = SPACING_US[imu] * PACKET
    count = int((END_S * 1e6) / step) + BEFORE
    exact = START_US + (np.arange(count) - BEFORE + 1) * step
    return exact, np.rint(exact + rng.uniform(-1.0, 1.0, count)).astype(np.int64)


def fly(coning="px4"):
    """Fly, and return what became of it."""
    rng = np.random.default_rng(20)
    sensors, moments = {}, {}
    parameters = dict(BOARD)
    for imu in (0, 1):
        exact, t_us = packet_times(imu, rng)
        kept = np.ones(len(t_us), np.bool_)
        ends = window_ends(t_us, 3)
        if imu == 0:  # the packet that the autopilot never got
            kept[ends[LOST] + 2] = False
            moments = {
                "thermal": int(t_us[ends[THERMAL]]) + 400,
                "change": int(t_us[ends[CHANGE]]) + 400,
                "small": int(t_us[ends[SMALL]]) + 400,
                "lost": int(t_us[ends[LOST]]),
            }
        samples_us = (exact[:, None] - np.arange(PACKET - 1, -1, -1) * SPACING_US[imu]).ravel()
        for kind, prefix, scale in (("gyro", "GYRO", GYRO_SCALE), ("accel", "ACC", ACCEL_SCALE)):
            device_id = IDS[kind == "accel"][imu]
            offset = np.array(
                {"gyro": [0.0123, -0.0045, 0.0211], "accel": [0.11, -0.07, 0.2]}[kind], F
            )
            factor = np.array([1.02, 0.985, 1.001] if kind == "accel" else [1.0, 1.0, 1.0], F)
            offset = offset if imu == 0 else -offset
            slot = f"CAL_{prefix}{2 - imu}"
            parameters[f"{slot}_ID"], parameters[f"{slot}_PRIO"] = device_id, 50
            for axis in range(3):
                parameters[f"{slot}_{'XYZ'[axis]}OFF"] = offset[axis]
                if kind == "accel":
                    parameters[f"{slot}_{'XYZ'[axis]}SCALE"] = factor[axis]
            steps = beliefs(kind, imu, offset, factor, moments)
            truth = {"gyro": rate, "accel": force}[kind]((samples_us - START_US) * 1e-6)
            board = truth @ MOUNTING.astype(float)  # R' each row
            raw = np.empty_like(board)
            for since_us, calibration, bias in steps:
                later = samples_us > since_us - 400  # the sensor changes with the window
                raw[later] = board[later] / calibration.scale + bias
            counts = np.rint(raw / scale)
            if kind == "accel":
                shaken = np.abs((samples_us - START_US) * 1e-6 - CLIPPED_S - 0.02 * imu) < 5e-4
                counts[shaken, imu] += 40_000
            counts = np.clip(counts, -32768, 32767).astype(np.int16).reshape(-1, PACKET, 3)[kept]
            clips = ((counts <= -32767) | (counts >= 32766)).sum(axis=1)
            sensors[kind, imu] = Sensor(kind, imu, device_id, t_us[kept], counts, clips)
            integrated(sensors[kind, imu], scale, steps, coning)
    changes = [
        (moments["change"], {"CAL_GYRO2_XOFF": 0.0323, "CAL_ACC2_ZOFF": 0.25}),
        (moments["small"], {"CAL_ACC2_XOFF": 0.114}),
    ]
    return Flight(sensors, parameters, changes, moments)


def beliefs(kind, imu, offset, factor, moments):
    """Since when the autopilot believes what, and the bias that the sensor really has."""
    zero = np.zeros(3, F)
    count = 1 if kind == "gyro" else 2
    steps = [(0, Calibration(offset, factor, zero, count), offset.astype(float))]
    if imu:
        return steps
    warm = np.array([0.003, 0.0, -0.002] if kind == "gyro" else [0.0, 0.03, 0.01], F)
    bias = offset.astype(float) + warm
    steps.append((moments["thermal"], Calibration(offset, factor, warm, count), bias))
    changed = offset.copy()
    if kind == "gyro":
        changed[0] = 0.0323
    else:
        changed[2] = 0.25
    later = Calibration(changed, factor, warm, count + 1)
    steps.append((moments["change"], later, changed.astype(float) + warm))
    if kind == "accel":  # too small for the autopilot, which stays with what it believes
        steps.append((moments["small"], later, changed + warm + np.array([0.004, 0.0, 0.0])))
    return steps


def integrated(sensor, scale, steps, coning):
    """Make the windows of a sensor."""
    ends = window_ends(sensor.t_us, 3)
    values = means_of(sensor.counts, scale)
    lengths, deltas = integrals(
        values, sensor.t_us, ends, coning=sensor.kind == "gyro" and coning != "none", index=coning
    )
    since = [start for start, _, _ in steps]
    in_force = np.searchsorted(since, sensor.t_us[ends[1:]], "right") - 1
    sensor.ends, sensor.length_us = ends[1:], lengths
    sensor.calibrations = [steps[step][1] for step in in_force]
    sensor.rates = np.array(
        [calibrated(*row) for row in zip(deltas, lengths, sensor.calibrations, strict=True)], F
    )
    sensor.vibration = vibration_of(sensor.rates)
    # Clipped axes of the board turn with it; a share below half a sample does not count.
    turned = np.floor(np.abs(sensor.clips @ MOUNTING.T.astype(float)) + 0.5).astype(int)
    bits = (turned > 0) @ np.array([1, 2, 4])
    sensor.clips = turned
    sensor.clipping = np.array(
        [np.bitwise_or.reduce(bits[a + 1 : b + 1]) for a, b in pairwise(ends)], np.uint8
    )


def packets_of(sensor):
    kind, scale = {
        "gyro": (SensorGyroFifo, GYRO_SCALE),
        "accel": (SensorAccelFifo, ACCEL_SCALE),
    }[sensor.kind]
    rows = sensor.t_us > START_US
    records = np.zeros(int(rows.sum()), kind.dtype)
    records["timestamp_sample"] = sensor.t_us[rows]
    records["timestamp"] = sensor.t_us[rows] + 150
    records["device_id"], records["dt"], records["scale"] = sensor.device_id, NOMINAL_US, scale
    records["samples"] = PACKET
    for column, axis in enumerate("xyz"):
        records[axis][:, :PACKET] = sensor.counts[rows, :, column]
    return records


def messages_of(sensor):
    """Return sensor_gyro or sensor_accel at the full rate."""
    kind, scale = {"gyro": (SensorGyro, GYRO_SCALE), "accel": (SensorAccel, ACCEL_SCALE)}[
        sensor.kind
    ]
    rows = sensor.t_us > START_US
    records = np.zeros(int(rows.sum()), kind.dtype)
    records["timestamp_sample"] = sensor.t_us[rows]
    records["timestamp"] = sensor.t_us[rows] + 150
    records["device_id"], records["samples"], records["temperature"] = sensor.device_id, PACKET, 41
    values = means_of(sensor.counts, scale)[rows]
    for column, axis in enumerate("xyz"):
        records[axis] = values[:, column]
    return records


def combined_of(flight):
    """Return what the voter published: IMU 0 first, then IMU 1."""
    selected_us = START_US + round(SELECTED_S * 1e6)
    parts = []
    for imu in (0, 1):
        imu_rows = flight.windows(imu)
        chosen = (imu_rows["timestamp_sample"] >= selected_us) == bool(imu)
        rows = imu_rows[chosen]
        records = np.zeros(len(rows), SensorCombined.dtype)
        records["timestamp"] = rows["timestamp_sample"]
        for rate_name, sensor, delta in (
            ("gyro_rad", "gyro", "angle"),
            ("accelerometer_m_s2", "accelerometer", "velocity"),
        ):
            length = rows[f"delta_{delta}_dt"]
            records[rate_name] = rows[f"delta_{delta}"] * (F(1e6) / length.astype(F))[:, None]
            records[f"{sensor}_integral_dt"] = length
            records[f"{sensor}_clipping"] = rows[f"delta_{delta}_clipping"]
        for name in ("gyro_calibration_count", "accel_calibration_count"):
            records[name] = rows[name]
        parts.append(records)
    return np.concatenate(parts)


def selection_of():
    records = np.zeros(2, SensorSelection.dtype)
    records["timestamp"] = START_US, START_US + round(SELECTED_S * 1e6)
    records["gyro_device_id"], records["accel_device_id"] = IDS
    return records


def status_of(flight, imu):
    """Return vehicle_imu_status ten times a second."""
    gyro, accel = flight.sensors["gyro", imu], flight.sensors["accel", imu]
    at = np.arange(39, len(gyro.ends), 20)
    at = at[gyro.t_us[gyro.ends[at]] > START_US]
    records = np.zeros(len(at), VehicleImuStatus.dtype)
    records["timestamp"] = gyro.t_us[gyro.ends[at]] + 200
    for sensor in (gyro, accel):
        name = sensor.kind
        records[f"{name}_device_id"] = sensor.device_id
        records[f"{name}_clipping"] = np.cumsum(sensor.clips, axis=0)[sensor.ends[at]]
        interval_us = np.diff(sensor.t_us).mean()
        records[f"{name}_rate_hz"] = 1e6 / interval_us
        records[f"{name}_raw_rate_hz"] = 1e6 * PACKET / interval_us
        records[f"{name}_vibration_metric"] = sensor.vibration[at]
        records[f"temperature_{name}"] = 41.0
    return records


def correction_of(flight):
    """Return sensor_correction: IMU 0 is in slot 1."""
    kinds = [("timestamp", "u8"), ("gyro_device_ids", "u4", 4), ("accel_device_ids", "u4", 4)]
    kinds += [(f"{name}_offset_{k}", "f4", 3) for name in ("gyro", "accel") for k in range(4)]
    records = np.zeros(2, kinds)
    records["timestamp"] = START_US, flight.moments["thermal"]
    for name, ids in zip(("gyro", "accel"), IDS, strict=True):
        records[f"{name}_device_ids"][:, 1] = ids[0]
        records[f"{name}_offset_1"][1] = flight.sensors[name, 0].calibrations[THERMAL + 20].thermal
    return records


def rows_of(flight):
    """Return every row of the log, by topic and instance."""
    rows = {
        ("sensor_combined", 0): (SensorCombined, combined_of(flight)),
        ("sensor_selection", 0): (SensorSelection, selection_of()),
        ("sensor_correction", 0): ("sensor_correction", correction_of(flight)),
    }
    for (kind, imu), sensor in flight.sensors.items():
        fifo, plain = {
            "gyro": (SensorGyroFifo, SensorGyro),
            "accel": (SensorAccelFifo, SensorAccel),
        }[kind]
        # The packets of IMU 1 were announced first: instances of topics are independent.
        rows[fifo.topic, 1 - imu] = (fifo, packets_of(sensor))
        rows[plain.topic, imu] = (plain, messages_of(sensor)[::800])
    for imu in (0, 1):
        rows["vehicle_imu", imu] = (VehicleImu, flight.windows(imu)[::100])
        rows["vehicle_imu_status", imu] = (VehicleImuStatus, status_of(flight, imu))
    return rows


def write(path, flight, *, edit=None, parameters=None, dropout=True, release=0x011000FF):  # noqa: PLR0913 (what logs differ in)
    """Write the log; ``edit`` may change the rows, and ``parameters`` some values."""
    rows = rows_of(flight)
    if edit is not None:
        edit(rows)
    begin_us = round(START_US + DROPOUT_S * 1e6)
    if dropout:
        for key, (kind, records) in rows.items():
            lost = (records["timestamp"] > begin_us) & (records["timestamp"] <= begin_us + 30_000)
            rows[key] = kind, records[~lost]
    events = dict(flight.changes) | ({begin_us: None} if dropout else {})
    with UlogWriter(path, start_us=START_US, force=True) as log:
        log.add_info("sys_name", "PX4")
        log.add_info("ver_sw_release", release, "uint32_t")
        for name, value in {**flight.parameters, **(parameters or {})}.items():
            log.add_parameter(name, int(value) if isinstance(value, int) else float(value))
        for (topic, _), (kind, records) in rows.items():
            log.declare(records.dtype if isinstance(kind, str) else kind, topic)
        for since_us, until_us in pairwise([0, *sorted(events), 2**62]):
            log.write_many(between(rows, since_us, until_us))
            if until_us == begin_us:
                log.dropout(30)
            for name, value in (events.get(until_us) or {}).items():
                log.add_parameter(name, float(value))
    return path


def between(rows, since_us, until_us):
    """Yield the rows after one time up to another."""
    for (_, instance), (kind, records) in rows.items():
        t_us = records["timestamp"]
        part = records[(t_us > since_us) & (t_us <= until_us)]
        if len(part):
            yield LoggedRows(kind, instance, part)
