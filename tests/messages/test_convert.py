"""Every conversion of the table, by way of its entry point."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.errors import ConversionLossError
from strapdown.messages import (
    Batch,
    Imu,
    Pose3D,
    RosImu,
    SensorGyro,
    VehicleImu,
    conversion,
    convert,
    losses,
)
from strapdown.messages._record import Record
from strapdown.messages.conversion import RULES
from strapdown.series import ImuSeries, Increments, Trajectory

VECTORS = np.array([[0.1, -0.2, 0.3], [0.25, 0.5, -1.0]])
STAMPS = np.array([10_000_000, 15_000_000])
DT = np.full(2, 5_000_000)
IMU = ImuSeries(STAMPS, VECTORS, 9.0 * VECTORS)
SERIES = {
    ImuSeries: IMU,
    Increments: Increments(STAMPS, VECTORS, 9.0 * VECTORS, DT, DT),
    Trajectory: Trajectory(
        STAMPS, [[0.0, 0.0, 0.6, 0.8], [0.0, 0.0, 0.0, 1.0]], position_world=VECTORS
    ),
}
NEEDS_DT = {"vehicle_imu_from_imu", "increments_from_mean_rates"}


def rows_of(kind):
    """Two rows of a type, in its form by column."""
    if kind in SERIES:
        return SERIES[kind]
    if kind is Batch:
        return conversion.ros_from_trajectory(SERIES[Trajectory])
    if kind is RosImu:
        return conversion.ros_from_series(IMU)
    records = np.zeros(2, kind.dtype)
    rng = np.random.default_rng(3)
    for name in kind.dtype.names:
        if records[name].dtype.kind == "f":
            records[name] = rng.normal(size=records[name].shape)
    for name in {"timestamp", "timestamp_sample", "timestamp_ns"} & set(kind.dtype.names):
        records[name] = [10_000, 15_000]
    return records


def options_of(rule):
    return {"dt_ns": 5_000_000} if rule.function.__name__ in NEEDS_DT else {}


def same(got, wanted):
    if isinstance(wanted, Batch):
        return np.array_equal(got.values, wanted.values) and np.array_equal(
            got.stamps_ns, wanted.stamps_ns
        )
    if isinstance(wanted, np.ndarray):
        return got.dtype == wanted.dtype and got.tobytes() == wanted.tobytes()
    return got == wanted


def pair(rule):
    return f"{rule.source.__name__}-{rule.target.__name__}"


OF_MESSAGES = [rule for rule in RULES if issubclass(rule.source, Record | RosImu)]


class TestEveryPair:
    @pytest.mark.parametrize("rule", RULES, ids=pair)
    def test_its_function_is_public_under_its_name(self, rule):
        assert getattr(conversion, rule.function.__name__) is rule.function

    @pytest.mark.parametrize("rule", RULES, ids=pair)
    def test_rows_become_what_the_named_function_gives(self, rule):
        rows, options = rows_of(rule.source), options_of(rule)
        if rule.source is Imu and rule.target is RosImu:
            got = convert(rows, to=RosImu)
            each = [conversion.ros_from_imu(Imu.from_record(row)) for row in rows]
            assert [RosImu.from_stamped(one) for one in got] == each
        elif rule.source is RosImu and rule.target is Imu:
            each = [conversion.imu_from_ros(RosImu.from_stamped(one)) for one in rows]
            assert same(convert(rows, to=Imu), Imu.array(each))
        elif rule.function in {
            conversion.series_from_sensor_gyro,
            conversion.series_from_sensor_accel,
        }:
            with pytest.raises(TypeError, match="SensorGyro and SensorAccel"):
                convert(rows, to=ImuSeries)
        else:
            got = convert(rows, to=rule.target, **options)
            assert same(got, rule.function(rows, **options))

    @pytest.mark.parametrize("rule", OF_MESSAGES, ids=pair)
    def test_one_message_and_a_list_of_messages_become_the_rows(self, rule):
        rows, options = rows_of(rule.source), options_of(rule)
        make = RosImu.from_stamped if rule.source is RosImu else rule.source.from_record
        messages = [make(row) for row in rows]
        many = convert(messages, to=rule.target, **options)
        one = convert(messages[1], to=rule.target, **options)
        if issubclass(rule.target, Record):
            assert type(one) is rule.target
            assert bytes(one) == many[1].tobytes()
        elif rule.target is RosImu:
            assert one == RosImu.from_stamped(many[1])
        else:
            assert one == rule.function(messages[1], **options)
            assert many == rule.function(messages, **options)

    @pytest.mark.parametrize("rule", RULES, ids=pair)
    def test_a_strict_conversion_refuses_what_losses_names(self, rule):
        rows = rows_of(rule.source)
        if rule.source.__name__ in {"SensorGyro", "SensorAccel"}:
            rows = [rule.source.from_record(row) for row in rows]
        options = options_of(rule) | ({"strict": True} if "strict" in keywords(rule) else {})
        named = losses(rows, rule.target)
        if named:
            with pytest.raises(ConversionLossError) as caught:
                convert(rows, to=rule.target, **options)
            assert set(caught.value.lost) <= set(named)
        else:
            convert(rows, to=rule.target, **options)


def keywords(rule):
    return rule.function.__kwdefaults__ or {}


def test_a_pair_is_listed_once():
    pairs = [(rule.source, rule.target) for rule in RULES]
    assert len(set(pairs)) == len(pairs)


def test_a_type_without_a_rule_gets_the_targets_that_exist():
    with pytest.raises(TypeError, match="Imu converts to ImuSeries, RosImu, VehicleImu") as caught:
        convert(Imu.new(), to=Pose3D)
    assert "\n" not in str(caught.value)
    with pytest.raises(TypeError, match="got list and Imu; list converts to nothing"):
        convert([], to=Imu)
    with pytest.raises(TypeError, match="got dict and Imu; dict converts to nothing"):
        convert({}, to=Imu)


def test_a_batch_takes_and_gives_ros_messages():
    batch = convert(IMU, to=Batch)
    assert same(batch, conversion.ros_from_series(IMU))
    assert convert(batch, to=ImuSeries) == conversion.series_from_ros(batch)
    imu = Imu(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7)
    (one,) = convert(imu, to=Batch)
    assert RosImu.from_stamped(one) == conversion.ros_from_imu(imu)


def test_options_reach_the_rule():
    message = convert(Imu.new(), to=RosImu, frame_id="imu", seq=3)
    assert (message.frame_id, message.seq) == ("imu", 3)
    end = convert(SERIES[Increments], to=ImuSeries, stamp="end")
    assert np.array_equal(end.t_ns, STAMPS)
    with pytest.raises(TypeError, match="dt_ns"):
        convert(Imu.new(), to=VehicleImu)


def test_round_trips_give_the_source_where_nothing_is_lost():
    for kind in (Imu, RosImu):
        assert convert(convert(IMU, to=kind), to=ImuSeries) == IMU
    track = SERIES[Trajectory]
    assert convert(convert(track, to=Pose3D), to=Trajectory) == track
    assert convert(convert(track, to=Batch), to=Trajectory) == track


def test_single_sensors_name_what_a_series_cannot_hold():
    message = SensorGyro(timestamp=3, timestamp_sample=2, temperature=20.0)
    assert losses(message, ImuSeries) == ("timestamp", "temperature")
