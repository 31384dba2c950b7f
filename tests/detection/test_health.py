"""Health of sensors."""

from __future__ import annotations

import json

import numpy as np
import pytest

from strapdown.detection import HealthDetector, HealthParams, HealthStatus, StuckParams
from strapdown.errors import ValueRangeError
from strapdown.series import ImuSeries

STEP_NS = 5_000_000
ONSET = 1000  # row


def sensor(count=4000):
    rng = np.random.default_rng(0)
    return ImuSeries(
        np.arange(count) * STEP_NS, rng.normal(size=(count, 3)), rng.normal(size=(count, 3))
    )


def found_in(series, params=None):
    detector = HealthDetector(params)
    events = list(detector.run(series))
    last = detector.finish()
    return detector, events if last is None else [*events, last]


def test_a_good_sensor_is_well():
    detector, events = found_in(sensor())
    assert events == []
    for name, health in detector.health().items():
        assert (health.sensor, health.status, health.reasons) == (
            name,
            HealthStatus.OK,
            frozenset(),
        )
        assert (health.degraded_s, health.failed_s) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("count", "status", "reasons"),
    [(1, "degraded", {"invalid"}), (300, "failed", {"invalid", "missing"})],
)
def test_values_that_are_missing_degrade_a_sensor_and_fail_it_after_a_second(
    count, status, reasons
):
    series = sensor()
    rate = series.angular_velocity.copy()
    rate[ONSET : ONSET + count, 1] = np.nan
    detector, (event,) = found_in(series.replace(angular_velocity=rate))
    assert event.kind == status
    assert event.flags == {f"gyro_{reason}" for reason in reasons}
    assert event.t_start_ns == ONSET * STEP_NS
    gone = (ONSET + count - 1) * STEP_NS
    assert 0.99 <= (event.t_end_ns - gone) / 1e9 <= 1.0  # reasons stay for a second
    assert detector.health()["gyro"].status is HealthStatus.OK
    summary = detector.summary
    assert (summary["gyro"].status, summary["gyro"].reasons) == (status, reasons)
    assert summary["accel"].status is HealthStatus.OK
    total = summary["gyro"].degraded_s + summary["gyro"].failed_s
    assert total == pytest.approx(event.duration_s + 0.005)


def test_a_stuck_sensor_has_failed_and_recovers_a_second_later():
    series = sensor()
    force = series.specific_force.copy()
    force[ONSET : ONSET + 400] = force[ONSET]
    series = series.replace(specific_force=force)
    detector = HealthDetector()
    detector.run(series[: ONSET + 100])
    health = detector.health()
    assert health["accel"].status is HealthStatus.FAILED
    assert health["accel"].reasons == {"stuck"}
    assert health["gyro"].status is HealthStatus.OK
    (event,) = detector.run(series[ONSET + 100 :])
    assert (event.kind, event.flags) == ("failed", {"accel_stuck"})
    assert event.t_end_ns == pytest.approx((ONSET + 600) * STEP_NS, abs=2 * STEP_NS)


def test_clipping_and_faults_of_the_clock_degrade():
    series = sensor()
    bits = np.zeros(len(series), np.uint8)
    bits[ONSET] = 2
    _, (event,) = found_in(series.replace(accel_clipping=bits))
    assert (event.kind, event.flags) == ("degraded", {"accel_clipping"})
    _, (event,) = found_in(series[np.r_[0:ONSET, ONSET + 20 : 4000]])
    assert (event.kind, event.flags) == ("degraded", {"gyro_late", "accel_late"})
    _, (event,) = found_in(series[np.r_[0:ONSET, ONSET + 300 : 4000]])
    assert event.kind == "failed"
    assert event.flags >= {"gyro_lost", "accel_lost"}
    t_ns = series.t_ns.copy()
    t_ns[ONSET] = t_ns[ONSET - 1]
    _, (event,) = found_in(series.replace(t_ns=t_ns))
    assert (event.kind, event.flags) == ("degraded", {"gyro_disorder", "accel_disorder"})


def test_a_stream_that_stops_is_late_and_then_lost():
    detector = HealthDetector()
    assert detector.health(10**12)["gyro"].status is HealthStatus.OK
    series = sensor()
    detector.run(series)
    last = int(series.t_ns[-1])
    assert detector.health(last + 20_000_000)["gyro"].status is HealthStatus.OK
    assert detector.health(last + 30_000_000)["gyro"].reasons == {"late"}
    lost = detector.health(last + 1_500_000_000)["accel"]
    assert (lost.status, lost.reasons) == (HealthStatus.FAILED, {"late", "lost"})
    assert detector.health()["gyro"].status is HealthStatus.OK


def test_plain_python_finds_the_same_and_health_is_json(stream):
    series = sensor()
    force = series.specific_force.copy()
    force[ONSET : ONSET + 100] = np.nan
    force[2 * ONSET : 2 * ONSET + 100] = 1.0
    series = series.replace(specific_force=force)
    plain, batch = HealthDetector(compiled=False), HealthDetector()
    assert stream(plain, series) == list(batch.run(series))
    assert plain.state == batch.state
    data = json.loads(json.dumps(batch.summary["accel"].to_dict()))
    assert data["sensor"] == "accel"
    assert data["status"] == "failed"
    assert data["reasons"] == ["invalid", "stuck"]


def test_parameters_reach_the_detectors():
    still = ImuSeries(np.arange(2000) * STEP_NS, np.zeros((2000, 3)), np.ones((2000, 3)))
    assert found_in(still)[1][0].kind == "failed"
    exempt = HealthParams(stuck=StuckParams(noise_free=True))
    assert found_in(still, exempt)[1] == []
    with pytest.raises(ValueRangeError, match="hysteresis_s"):
        HealthParams(hysteresis_s=0.0)


@pytest.mark.data
def test_recordings_of_good_sensors_are_well(recordings, static_log):
    for name, series in [*recordings.items(), ("static", static_log)]:
        detector, events = found_in(series)
        assert events == [], name
        assert detector.summary["gyro"].status is HealthStatus.OK
