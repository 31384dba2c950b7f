"""Pictures of vibration, clipping, spectrum and sampling."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from strapdown import plots
from strapdown.errors import FormatError
from strapdown.formats import Recording
from strapdown.formats.px4.health import Metric
from strapdown.px4 import Level
from strapdown.series import ImuSeries, Increments

NOTHING = np.full((4000, 3), np.nan)


def imu(count=4000, *, hz=120.0, **columns):
    t_ns = np.arange(count) * 1_000_000
    rate = np.zeros((count, 3))
    rate[:, 1] = 0.5 * np.sin(2.0 * np.pi * hz * t_ns * 1e-9)
    return ImuSeries(t_ns, rate, np.tile([0.0, 0.0, 9.8], (count, 1)), **columns)


def line(axis, name):
    (found,) = [each for each in axis.get_lines() if each.get_label() == name]
    return np.asarray(found.get_xdata()), np.asarray(found.get_ydata())


def test_a_spectrum_has_its_peak_at_the_frequency_of_the_motion():
    axes = plots.plot_spectrum(Recording(imu={"imu": imu()})).axes
    hz, density = line(axes[0], "y")
    assert hz[density.argmax()] == pytest.approx(120.0, abs=1.0)
    # a sine of amplitude A carries A^2/2; the density summed over the peak gives it back
    near = np.abs(hz - 120.0) < 10.0
    power = np.sum(density[near] ** 2) * (hz[1] - hz[0])
    assert power == pytest.approx(0.5**2 / 2.0, rel=0.01)


def test_a_spectrum_takes_the_fastest_source_of_each_quantity():
    slow = imu(400)
    slow = slow.replace(t_ns=slow.t_ns * 10)
    fast = imu(4000).replace(specific_force=np.full((4000, 3), np.nan))
    axes = plots.plot_spectrum(Recording(imu={"slow": slow, "fifo": fast})).axes
    titles = [axis.get_title(loc="right") for axis in axes]
    assert titles == ["fifo: 4000 samples, 1000 Hz", "slow: 400 samples, 100 Hz"]


def test_a_spectrum_uses_every_stretch_without_a_gap():
    series = imu()
    holey = series[np.delete(np.arange(4000), slice(1000, 1500))]
    axes = plots.plot_spectrum(Recording(imu={"imu": holey})).axes
    assert axes[0].get_title(loc="right") == "imu: 2500 of 3500 samples, 1000 Hz"
    holey = series[np.delete(np.arange(4000), slice(1500, 2000))]
    axes = plots.plot_spectrum(Recording(imu={"imu": holey})).axes
    assert axes[0].get_title(loc="right") == "imu: 3500 samples, 1000 Hz"
    hz, density = line(axes[0], "y")
    assert hz[density.argmax()] == pytest.approx(120.0, abs=1.0)


def test_repeated_stamps_and_single_lost_samples_are_no_gaps():
    rows = np.arange(4000)
    rows[10::40] = rows[11::40]  # a sample is lost, and the next one comes twice
    series = imu()[rows]
    axes = plots.plot_spectrum(Recording(imu={"imu": series})).axes
    assert axes[0].get_title(loc="right") == "imu: 3900 of 4000 samples, 100 interpolated, 1000 Hz"
    hz, density = line(axes[0], "y")
    near = np.abs(hz - 120.0) < 10.0
    power = np.sum(density[near] ** 2) * (hz[1] - hz[0])
    assert power == pytest.approx(0.5**2 / 2.0, rel=0.02)


def test_too_few_samples_have_no_spectrum():
    with pytest.raises(FormatError, match="64 samples in sequence"):
        plots.plot_spectrum(Recording(imu={"imu": imu(63)}))


def test_sampling_shows_every_step_and_the_median():
    series = imu()
    holey = series[np.delete(np.arange(4000), slice(1000, 1500))]
    over_time, spread = plots.plot_timing(Recording(imu={"imu": holey})).axes
    t_s, steps = line(over_time, "step")
    assert (len(steps), steps.max()) == (3499, 501.0)
    assert t_s[steps.argmax()] == pytest.approx(1.5)
    assert "3500 samples, 1 gap" in over_time.get_title(loc="right")
    assert "1 gaps" not in over_time.get_title(loc="right")
    assert spread.get_xlabel() == "step minus the median [µs]"


def test_bars_of_the_distribution_of_steps_begin_below_one():
    _, spread = plots.plot_timing(Recording(imu={"imu": imu(667)})).axes  # one bar of 666
    low, high = spread.get_ylim()
    assert (spread.get_yscale(), low <= 0.8, high >= 666) == ("log", True, True)


def test_titles_name_the_topic_that_was_chosen():
    bits = np.zeros(4000, np.uint8)
    long = imu(gyro_clipping=bits)
    recording = Recording(
        Path("a.ulg"),
        imu={"short": long[:100], "long": long, "rates": long.replace(specific_force=NOTHING)},
    )
    assert plots.plot_timing(recording).get_suptitle() == "a.ulg: sampling of long"
    assert plots.plot_clipping(recording).get_suptitle() == "a.ulg: saturated samples of long"
    asked = plots.plot_timing(recording, topic="short")
    assert asked.get_suptitle() == "a.ulg: sampling of short"


def test_titles_name_increments_that_were_chosen():
    t_ns, lengths = np.arange(1, 11) * 5_000_000, np.full(10, 5_000_000)
    windows = Increments(t_ns, np.ones((10, 3)), np.ones((10, 3)), lengths, lengths)
    recording = Recording(
        Path("a.ulg"),
        imu={"few": imu(5)},
        increments={"vehicle_imu.0": windows[:9], "vehicle_imu.1": windows},
    )
    assert plots.plot_timing(recording).get_suptitle() == "a.ulg: sampling of vehicle_imu.1"


def test_one_sample_has_no_steps():
    with pytest.raises(FormatError, match="two samples"):
        plots.plot_timing(Recording(imu={"imu": imu(1)}))


def test_clipping_is_marked_where_it_was():
    bits = np.zeros(4000, np.uint8)
    bits[2000:2005] = 4
    series = imu(gyro_clipping=bits, accel_clipping=np.zeros(4000, np.uint8))
    gyro, accel = plots.plot_clipping(Recording(imu={"imu": series})).axes
    t_s, rows = line(gyro, "z")
    assert (t_s.tolist(), set(rows.tolist())) == ([2.0, 2.001, 2.002, 2.003, 2.004], {2})
    assert len(line(gyro, "x")[0]) == 0
    assert gyro.get_title(loc="right") == "5 of 4000 windows clipped"
    assert accel.get_title(loc="right") == "0 of 4000 windows clipped"
    assert [text.get_text() for text in accel.texts] == ["no sample was saturated"]
    assert not gyro.texts


def test_an_imu_without_clipping_bits_has_no_such_picture():
    with pytest.raises(FormatError, match="clipping bits"):
        plots.plot_clipping(Recording(imu={"imu": imu()}))


def test_vibration_is_drawn_by_imu_over_the_limits_of_reviewers():
    t_ns = np.arange(10) * 100_000_000
    metrics = [Metric("IMU 0", t_ns, np.full(10, 3.0), np.full(10, 0.1))]
    accel, gyro = plots.plot_vibration(metrics).axes
    assert line(accel, "IMU 0")[1].tolist() == [3.0] * 10
    assert line(gyro, "IMU 0")[1].tolist() == [0.1] * 10
    assert line(accel, "warning from 4.905 m/s$^2$")[1].tolist() == [4.905, 4.905]


def test_vibration_is_drawn_over_the_time_since_the_first_sample():
    metrics = [Metric("IMU 0", np.array([5, 6]) * 10**9, np.full(2, 3.0), np.full(2, 0.1))]
    accel, _ = plots.plot_vibration(metrics, start_ns=2 * 10**9).axes
    assert line(accel, "IMU 0")[0].tolist() == [3.0, 4.0]
    accel, _ = plots.plot_vibration(metrics).axes
    assert line(accel, "IMU 0")[0].tolist() == [0.0, 1.0]


def test_levels_have_the_names_that_reports_give_them():
    names = {f"{Level.WARNING} from 4.905 m/s$^2$", f"{Level.CRITICAL} from 9.81 m/s$^2$"}
    t_ns = np.arange(10) * 100_000_000
    metrics = [Metric("IMU 0", t_ns, np.full(10, 3.0), np.full(10, 0.1))]
    accel, _ = plots.plot_vibration(metrics).axes
    assert names == {each.get_label() for each in accel.get_lines()} - {"IMU 0"}


@pytest.mark.parametrize("count", [1, 3, 4])
def test_the_legend_of_several_imus_is_one_row_and_each_has_its_own_line(count):
    t_ns = np.arange(10) * 100_000_000
    metrics = [
        Metric(f"IMU {number}", t_ns, np.full(10, 3.0), np.full(10, 0.1)) for number in range(count)
    ]
    figure = plots.plot_vibration(metrics)
    FigureCanvasAgg(figure).draw()
    accel, _ = figure.axes
    legend = accel.get_legend()
    heights = [text.get_window_extent().y0 for text in legend.get_texts()]
    assert len(heights) == count + 2
    assert max(heights) - min(heights) < 5.0  # pixels; an exponent is some higher
    styles = {(line.get_color(), str(line.get_linestyle())) for line in accel.get_lines()[:count]}
    assert len(styles) == count


def test_no_metric_gives_no_picture():
    with pytest.raises(FormatError, match="vibration metric"):
        plots.plot_vibration([])
