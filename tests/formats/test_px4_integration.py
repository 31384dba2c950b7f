"""``vehicle_imu`` from the log of a flight whose motion is known."""

from __future__ import annotations

import numpy as np
import pytest
from pyulog import ULog
from scipy.spatial.transform import Rotation

import strapdown
from strapdown.errors import FormatError, UnknownNameError
from strapdown.formats import Recording
from strapdown.formats.px4.integration import vehicle_imu_from_recording, write_vehicle_imu
from strapdown.messages.px4 import VehicleImu, VehicleImuStatus
from strapdown.px4.vehicle_imu import PipelineSettings
from strapdown.series import ImuSeries, Increments

MODES = ("savage", "px4")


@pytest.fixture(scope="module")
def recording(flight_log):
    return strapdown.open(flight_log)


@pytest.fixture(scope="module")
def made(recording):
    return {
        mode: vehicle_imu_from_recording(recording, PipelineSettings(mode=mode)) for mode in MODES
    }


def together(rows, logged):
    """Return the rows with equal stamps, which must be nearly all."""
    mine = rows[np.isin(rows["timestamp_sample"], logged["timestamp_sample"])]
    theirs = logged[np.isin(logged["timestamp_sample"], rows["timestamp_sample"])]
    assert len(theirs) >= len(logged) - 1
    return mine, theirs


def misses(flight, increments, begin_us, end_us):
    """Return the deviation of increments from the motion between two ends of windows."""
    rows = (increments.t_ns > begin_us * 1000) & (increments.t_ns <= end_us * 1000)
    turned, velocity = Rotation.identity(), np.zeros(3)
    for angle, gained in zip(
        increments.delta_angle[rows], increments.delta_velocity[rows], strict=True
    ):
        velocity += (turned * Rotation.from_rotvec(angle / 2)).apply(gained)
        turned *= Rotation.from_rotvec(angle)
    true_turn, true_velocity = flight.truth(begin_us, end_us)
    return (turned.inv() * true_turn).magnitude(), np.linalg.norm(velocity - true_velocity)


def stretch(flight, imu, first, last):
    ends = flight.windows(imu)["timestamp_sample"].astype(np.int64)
    return ends[first], ends[last]


# The flown motion

# Between the moments at which the temperature and the parameters change, and across all of them.
STRETCHES = [(8, 150), (170, 250), (250, 330), (290, 420), (8, 420)]


@pytest.mark.parametrize("rows", STRETCHES)
def test_the_better_mode_reaches_the_motion_through_every_change_of_calibration(made, flight, rows):
    span = stretch(flight, 0, *rows)
    angle, velocity = misses(flight, made["savage"]["vehicle_imu.0"].increments, *span)
    # A count of the gyroscope is 6.7e-5 rad/s, one of the accelerometer 4.8e-3 m/s^2; rounding
    # to counts causes random walks of 2e-7 rad and 2e-5 m/s after a second, stamps rounded
    # to a microsecond 2e-7 rad and 2e-5 m/s at each end, and offsets in float32 nothing.
    assert angle < 5e-6
    assert velocity < 3e-4


@pytest.mark.parametrize("imu", [0, 1])
def test_px4_misses_the_motion_by_far_more(made, flight, imu):
    span = stretch(flight, imu, 8, 150)
    ours = misses(flight, made["savage"][f"vehicle_imu.{imu}"].increments, *span)
    theirs = misses(flight, made["px4"][f"vehicle_imu.{imu}"].increments, *span)
    assert theirs[0] > 20 * ours[0]
    assert theirs[1] > 20 * ours[1]


def test_windows_hold_the_motion_of_their_own_time_not_of_half_a_packet_before(made):
    lags = {}
    for mode in MODES:
        rows = made[mode]["vehicle_imu.1"].vehicle_imu[20:400]
        end_s = (rows["timestamp_sample"].astype(float) - 600e6) * 1e-6
        middle_s, length_s = end_s - rows["delta_angle_dt"] * 0.5e-6, rows["delta_angle_dt"] * 1e-6
        wave = np.stack([np.sin(2 * np.pi * 60 * middle_s), np.cos(2 * np.pi * 60 * middle_s)])
        sine, cosine = np.linalg.lstsq(wave.T, -rows["delta_angle"][:, 0] / length_s)[0]
        lags[mode] = np.arctan2(-cosine, sine) / (2 * np.pi * 60)  # of the x axis, - sin(phase)
    packet_s = 1225e-6
    assert lags["savage"] == pytest.approx(0.0, abs=2e-6)
    assert lags["px4"] == pytest.approx(packet_s / 2, rel=0.02)


# The windows of the autopilot


@pytest.mark.parametrize("imu", [0, 1])
def test_px4_mode_makes_the_windows_of_the_autopilot_again(made, flight, px4, imu):
    rows, logged = together(
        made["px4"][f"vehicle_imu.{imu}"].vehicle_imu, flight.windows(imu, px4.DROPOUT_S)
    )
    for field in VehicleImu.dtype.names:
        if field not in ("timestamp", "delta_angle", "delta_velocity"):
            assert np.array_equal(rows[field], logged[field]), field
    seconds = rows["delta_angle_dt"][:, None] * 1e-6
    for field, limit in (("delta_angle", 6e-8), ("delta_velocity", 4e-6)):
        off = np.abs(rows[field].astype(float) - logged[field]) / seconds
        assert off.max() <= limit
        assert (off == 0.0).all(axis=1).mean() >= 0.5


@pytest.mark.parametrize("left_out", [1, 2, 3])
def test_px4_mode_takes_the_phase_of_its_windows_from_the_log(flight, px4, tmp_path, left_out):
    """A log that begins within a window: one window in 100 gives the phase of IMU 1."""

    def edit(rows):
        for (topic, imu), (kind, records) in rows.items():
            if topic.endswith("_fifo"):
                rows[topic, imu] = kind, records[left_out:]

    recording = strapdown.open(px4.write(tmp_path / "a.ulg", flight, edit=edit, dropout=False))
    found = vehicle_imu_from_recording(recording, PipelineSettings(mode="px4"))
    for imu, least in ((0, 0.5), (1, 0.99)):  # IMU 0 has offsets that a fused product rounds
        rows, logged = together(found[f"vehicle_imu.{imu}"].vehicle_imu, flight.windows(imu))
        rows, logged = rows[1:], logged[1:]  # the log lacks samples of the first
        same = np.ones(len(rows), np.bool_)
        for field in ("delta_angle", "delta_velocity"):
            assert np.array_equal(rows[f"{field}_dt"], logged[f"{field}_dt"])
            same &= (rows[field] == logged[field]).all(axis=1)
        assert same.mean() >= least
    (note,) = found["vehicle_imu.1"].notes
    assert note.startswith("of 117 windows in the log, 117 are recomputed, 116 bit for bit; others")


def test_behind_a_dropout_all_windows_agree_but_those_that_lack_samples(made, flight):
    (note,) = made["px4"]["vehicle_imu.1"].notes
    assert note.startswith("of 111 windows in the log, 111 are recomputed, 109 bit for bit; others")
    rows, logged = made["px4"]["vehicle_imu.1"].vehicle_imu, flight.windows(1)
    _, row, place = np.intersect1d(
        rows["timestamp_sample"], logged["timestamp_sample"], return_indices=True
    )
    assert len(row) == len(logged) - 6  # six windows are in the gap of 30 ms
    same = np.ones(len(row), np.bool_)
    for field in ("delta_angle", "delta_velocity"):
        same &= (rows[field][row] == logged[field][place]).all(axis=1)
    first = int(np.flatnonzero(~same)[0])
    assert np.flatnonzero(~same).tolist() == [first, first + 1]
    assert rows["delta_angle_dt"][row[first]] > 30_000  # the integral goes on over the gap


def test_windows_at_another_rate_or_without_any_in_the_log_have_the_phase_of_the_samples(
    recording, flight, px4, tmp_path
):
    def edit(rows):
        for key in ("sensor_combined", 0), ("vehicle_imu", 0), ("vehicle_imu", 1):
            del rows[key]

    bare = strapdown.open(px4.write(tmp_path / "bare.ulg", flight, edit=edit))
    for source, rate_hz in ((recording, 100.0), (bare, 200.0)):
        found = vehicle_imu_from_recording(source, PipelineSettings(mode="px4", rate_hz=rate_hz))
        for imu in found.values():
            assert "the log has no windows of this IMU and rate" in imu.notes[-1]
            usual = np.median(imu.vehicle_imu["delta_angle_dt"])
            assert usual == pytest.approx(1e6 / rate_hz, rel=0.04)
    better = vehicle_imu_from_recording(recording)["vehicle_imu.1"]
    assert better.notes == ()  # savage mode reproduces no autopilot


def test_the_flight_clipped_changed_its_calibration_and_lost_a_packet(flight, px4):
    rows = flight.windows(0, px4.DROPOUT_S)
    assert np.unique(rows["gyro_calibration_count"]).tolist() == [1, 2]
    assert np.unique(rows["accel_calibration_count"]).tolist() == [2, 3]
    assert np.count_nonzero(rows["delta_velocity_clipping"]) >= 1
    assert flight.windows(1)["delta_velocity_clipping"].any()
    assert px4.MOUNTING[1, 0] > 0.99  # so that board and body axes differ
    lengths = np.diff(flight.sensors["gyro", 0].ends)
    assert np.unique(lengths).tolist() == [3, 4]


@pytest.mark.parametrize("mode", MODES)
def test_clipping_and_counts_stand_on_the_windows_they_belong_to(made, flight, px4, mode):
    rows, logged = together(
        made[mode]["vehicle_imu.0"].vehicle_imu, flight.windows(0, px4.DROPOUT_S)
    )
    assert np.array_equal(rows["delta_velocity_clipping"], logged["delta_velocity_clipping"])
    assert np.array_equal(rows["gyro_calibration_count"], logged["gyro_calibration_count"])
    steps = rows["accel_calibration_count"].astype(int) - logged["accel_calibration_count"]
    small = rows["timestamp_sample"] > flight.moments["small"]
    # The autopilot ignores a change below 0.01; savage mode corrects for it.
    assert np.array_equal(steps, small * (mode == "savage"))


def test_a_change_of_calibration_that_is_left_out_is_seen_in_the_motion(flight, px4, tmp_path):
    still = px4.Flight(flight.sensors, flight.parameters, [], flight.moments)
    recording = strapdown.open(px4.write(tmp_path / "still.ulg", still))
    found = vehicle_imu_from_recording(recording)["vehicle_imu.0"].increments
    begin, end = stretch(flight, 0, 290, 420)
    angle, velocity = misses(flight, found, begin, end)
    seconds = (end - begin) * 1e-6
    assert angle == pytest.approx(0.02 * seconds, rel=0.01)
    tilted = px4.G * 0.02 * seconds**2 / 2  # effect of the wrong angle on gravity
    assert velocity == pytest.approx(np.hypot(0.05 * seconds, tilted), rel=0.02)


def test_offsets_by_temperature_apply_from_their_message_on(flight, px4, tmp_path):
    def forget(rows):
        kind, records = rows["sensor_correction", 0]
        rows["sensor_correction", 0] = kind, records[:1]

    recording = strapdown.open(px4.write(tmp_path / "cold.ulg", flight, edit=forget))
    found = vehicle_imu_from_recording(recording)["vehicle_imu.0"].increments
    for rows, off in (((8, 150), 0.0), ((170, 250), np.hypot(0.003, 0.002))):
        begin, end = stretch(flight, 0, *rows)
        angle, _ = misses(flight, found, begin, end)
        assert angle == pytest.approx(off * (end - begin) * 1e-6, rel=0.02, abs=5e-6)


# The source of the windows


def test_devices_tell_which_packets_make_up_an_imu(made, flight):
    for mode in MODES:
        sources = {name: imu.source for name, imu in made[mode].items()}
        assert sources == {
            "vehicle_imu.0": "sensor_gyro_fifo.1 and sensor_accel_fifo.1",
            "vehicle_imu.1": "sensor_gyro_fifo.0 and sensor_accel_fifo.0",
        }
        for name, imu in made[mode].items():
            ids = [int(imu.vehicle_imu[f"{sensor}_device_id"][0]) for sensor in ("gyro", "accel")]
            assert ids == [flight.sensors[kind, int(name[-1])].device_id
                           for kind in ("gyro", "accel")]  # fmt: skip


def test_without_vehicle_imu_the_numbers_of_the_instances_pair_the_sensors(flight, px4, tmp_path):
    def forget(rows):
        del rows["vehicle_imu", 0], rows["vehicle_imu", 1]

    recording = strapdown.open(px4.write(tmp_path / "plain.ulg", flight, edit=forget))
    found = vehicle_imu_from_recording(recording)
    assert found["vehicle_imu.1"].source == "sensor_gyro_fifo.1 and sensor_accel_fifo.1"
    assert int(found["vehicle_imu.1"].vehicle_imu["gyro_device_id"][0]) == px4.IDS[0][0]


def as_messages(px4, flight, *kinds, step=1):
    """Edit a log to have sensor messages instead of the packets of some kinds."""

    def edit(rows):
        for (kind, imu), sensor in flight.sensors.items():
            if kind in kinds:
                del rows[f"sensor_{kind}_fifo", 1 - imu]
                name = f"sensor_{kind}", imu
                rows[name] = rows[name][0], px4.messages_of(sensor)[::step]

    return edit


def test_packets_without_samples_are_left_out_and_counted(flight, px4, tmp_path):
    replaced = as_messages(px4, flight, "accel")

    def edit(rows):
        replaced(rows)
        kind, records = rows["sensor_gyro_fifo", 1]
        empty = records.copy()
        empty["samples"][600] = 0
        rows["sensor_gyro_fifo", 1] = kind, empty

    recording = strapdown.open(px4.write(tmp_path / "empty.ulg", flight, edit=edit, dropout=False))
    found = vehicle_imu_from_recording(recording)["vehicle_imu.0"]
    assert len(found.vehicle_imu) == pytest.approx(len(flight.windows(0)), abs=2)


@pytest.mark.parametrize("kinds", [("gyro", "accel"), ("accel",)])
def test_messages_at_their_full_rate_do_in_the_place_of_packets(made, flight, px4, tmp_path, kinds):
    path = px4.write(tmp_path / "messages.ulg", flight, edit=as_messages(px4, flight, *kinds))
    recording = strapdown.open(path)
    found = vehicle_imu_from_recording(recording, PipelineSettings(mode="px4"))["vehicle_imu.0"]
    assert found.source.endswith("sensor_accel.0")
    # Except for the first window: the log does not contain the packet before the first one.
    same = made["px4"]["vehicle_imu.0"].vehicle_imu[1:300]
    for field in ("delta_angle", "delta_velocity", "delta_angle_dt"):
        assert np.array_equal(found.vehicle_imu[field][1:300], same[field])
    better = vehicle_imu_from_recording(recording)["vehicle_imu.0"].increments
    assert misses(flight, better, *stretch(flight, 0, 8, 150))[0] < 5e-5


def test_an_accelerometer_that_was_logged_now_and_then_is_none_to_integrate(flight, px4, tmp_path):
    edit = as_messages(px4, flight, "accel", step=800)
    recording = strapdown.open(px4.write(tmp_path / "half.ulg", flight, edit=edit, dropout=False))
    found = vehicle_imu_from_recording(recording)
    assert [imu.source for imu in found.values()] == ["sensor_combined"]


def only_windows(*kept, step=1):
    """Edit a log to have no raw samples, and only some rows of sensor_combined."""

    def edit(rows):
        for name, _ in list(rows):
            if name.startswith("sensor_") and name not in kept:
                rows.pop((name, 0), None)
                rows.pop((name, 1), None)
        if "sensor_combined" in kept:
            kind, records = rows["sensor_combined", 0]
            rows["sensor_combined", 0] = kind, records[::step]

    return edit


def test_windows_of_the_voter_are_taken_over_with_their_devices(flight, px4, tmp_path):
    edit = only_windows("sensor_combined", "sensor_selection")
    recording = strapdown.open(px4.write(tmp_path / "voted.ulg", flight, edit=edit, dropout=False))
    (found,) = vehicle_imu_from_recording(recording).values()
    assert "windows already" in found.notes[0]
    rows = found.vehicle_imu
    logged = np.concatenate([flight.windows(0, px4.SELECTED_S)[:-1],
                             flight.windows(1)[-100:]])  # fmt: skip
    mine, theirs = together(rows, logged)
    for field in ("delta_angle_dt", "delta_velocity_dt", "gyro_device_id", "accel_device_id"):
        assert np.array_equal(mine[field], theirs[field]), field
    np.testing.assert_allclose(mine["delta_angle"], theirs["delta_angle"], rtol=3e-7, atol=1e-12)
    np.testing.assert_allclose(mine["delta_velocity"], theirs["delta_velocity"], rtol=3e-7)


def test_throttled_windows_are_refused_and_taken_on_request(flight, px4, tmp_path):
    edit = only_windows("sensor_combined", step=2)
    recording = strapdown.open(px4.write(tmp_path / "thin.ulg", flight, edit=edit))
    with pytest.raises(FormatError, match=r"sensor_combined 4\d\.\d%.*vehicle_imu.0 1\.2%.*anyway"):
        vehicle_imu_from_recording(recording)
    (found,) = vehicle_imu_from_recording(recording, anyway=True).values()
    assert found.source == "sensor_combined"


def test_one_topic_is_taken_where_it_is_named(recording, flight):
    for name in ("sensor_combined", "vehicle_imu.1"):
        found = vehicle_imu_from_recording(recording, topic=name, anyway=True)["vehicle_imu.0"]
        assert (found.source, found.result) == (name, None)
    assert len(found.vehicle_imu) == len(flight.windows(1)[::100])
    with pytest.raises(FormatError, match=r"cover 99%.* got 1\.2% in vehicle_imu\.1"):
        vehicle_imu_from_recording(recording, topic="vehicle_imu.1")
    with pytest.raises(FormatError, match="both sensors"):
        vehicle_imu_from_recording(recording, topic="sensor_gyro_fifo.0", anyway=True)
    with pytest.raises(UnknownNameError, match=r"vehicle_imu\.9"):
        vehicle_imu_from_recording(recording, topic="vehicle_imu.9")


def test_what_is_missing_is_said_in_both_modes(made):
    for mode in MODES:
        lost = made[mode]["vehicle_imu.0"].lost
        assert any("sensor_gyro_fifo.1" in line and "gaps: 2" in line for line in lost)
        assert not any("sensor_gyro_fifo.0" in line for line in lost)
    assert any("no window" in line for line in made["savage"]["vehicle_imu.0"].lost)
    rows = made["px4"]["vehicle_imu.0"].vehicle_imu
    assert rows["delta_angle_dt"].max() > 30_000  # PX4 continues the integral over the gap


def test_releases_before_1_16_begin_anew_after_a_gap_of_65_ms(flight, px4, tmp_path):
    def edit(rows):
        for key, (kind, records) in rows.items():
            hole = (records["timestamp"] > 601_000_000) & (records["timestamp"] < 601_080_000)
            rows[key] = kind, records[~hole]

    longest = {}
    for release in (0x011000FF, 0x010F00FF):
        path = px4.write(tmp_path / f"{release}.ulg", flight, edit=edit, release=release)
        found = vehicle_imu_from_recording(strapdown.open(path), PipelineSettings(mode="px4"))
        longest[release] = int(found["vehicle_imu.0"].vehicle_imu["delta_angle_dt"].max())
    assert longest[0x011000FF] > 80_000
    assert longest[0x010F00FF] < 40_000


# Other recordings


def series(rows=400):
    t_ns = np.arange(rows) * 1_000_000
    return ImuSeries(t_ns, np.tile([0.0, 0.0, 0.5], (rows, 1)), np.tile([0.0, 0, 9.8], (rows, 1)))


def recorded(**parts):
    return Recording(**parts)


def test_samples_of_other_files_are_values_at_instants():
    (found,) = vehicle_imu_from_recording(recorded(imu={"imu/data": series()})).values()
    rates = found.increments.delta_angle / (found.increments.delta_angle_dt_ns[:, None] * 1e-9)
    np.testing.assert_allclose(rates, np.tile([0, 0, -0.5], (len(rates), 1)), atol=1e-12)  # FRD
    assert set(found.vehicle_imu["delta_angle_dt"].tolist()) == {5000}


def test_coarse_messages_are_refused_and_taken_on_request():
    coarse = recorded(imu={"scaled_imu": series()})
    with pytest.raises(FormatError, match="those of scaled_imu"):
        vehicle_imu_from_recording(coarse)
    assert vehicle_imu_from_recording(coarse, anyway=True)


def test_a_recording_without_a_whole_window_is_refused():
    with pytest.raises(FormatError, match="at least one window"):
        vehicle_imu_from_recording(recorded(imu={"imu/data": series(3)}))


def test_a_log_of_px4_gets_the_status_too(made, tmp_path):
    found = made["px4"]
    report = write_vehicle_imu(tmp_path / "a.ulg", found)
    log = ULog(str(tmp_path / "a.ulg"))
    for number, (name, imu) in enumerate(found.items()):
        data = log.get_dataset("vehicle_imu", number).data
        assert name == f"vehicle_imu.{number}"
        assert data["timestamp_sample"].tolist() == imu.vehicle_imu["timestamp_sample"].tolist()
        assert data["delta_angle[1]"].tolist() == imu.vehicle_imu["delta_angle"][:, 1].tolist()
        status = log.get_dataset("vehicle_imu_status", number).data
        assert status["timestamp"].tolist() == imu.result.status["timestamp"].tolist()
    assert report.messages == sum(
        len(imu.vehicle_imu) + len(imu.result.status) for imu in found.values()
    )


@pytest.mark.parametrize("imu", [0, 1])
def test_the_status_agrees_with_that_of_the_autopilot(made, flight, px4, imu):
    ours = made["px4"][f"vehicle_imu.{imu}"].result.status
    logged = px4.status_of(flight, imu)
    before = logged["timestamp"] < 602_790_000
    ours, logged = ours[ours["timestamp"] < 602_790_000][-1], logged[before][-1]
    assert ours.dtype == VehicleImuStatus.dtype
    assert ours["accel_clipping"].tolist() == logged["accel_clipping"].tolist()
    assert sum(logged["accel_clipping"].tolist()) > 0
    assert ours["gyro_rate_hz"] == pytest.approx(logged["gyro_rate_hz"], rel=1e-3)
    assert ours["accel_raw_rate_hz"] == pytest.approx(logged["accel_raw_rate_hz"], rel=1e-3)
    # Not the same phase of a slow mean of steps, but a mean of the same steps.
    for name in ("gyro", "accel"):
        metric = f"{name}_vibration_metric"
        assert ours[metric] == pytest.approx(logged[metric], rel=0.1)


@pytest.mark.parametrize("ending", [".mcap", ".npz", ".csv"])
def test_other_formats_hold_the_increments(made, tmp_path, ending):
    found = {"vehicle_imu.0": made["savage"]["vehicle_imu.0"]}
    write_vehicle_imu(tmp_path / f"a{ending}", found)
    (back,) = strapdown.open(tmp_path / f"a{ending}").increments.values()
    assert isinstance(back, Increments)
    expected = found["vehicle_imu.0"].increments
    np.testing.assert_allclose(back.delta_angle, expected.delta_angle, rtol=1e-7, atol=1e-12)
    assert np.abs(back.t_ns - expected.t_ns).max() < 1000
