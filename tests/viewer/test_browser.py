"""The viewer in a real browser: what it shows, fetches, and does on keys and lost connections."""

from __future__ import annotations

import io
import re
import threading
import time
from contextlib import contextmanager
from itertools import permutations, product
from urllib.parse import urlsplit

import numpy as np
import pytest
from matplotlib.image import imread
from tests.calibration_sessions import ACCEL_BIAS, recorded, tumble

import strapdown
from strapdown.calibration import load_calibration
from strapdown.formats import Recording
from strapdown.geometry import quaternion
from strapdown.messages import Imu, MagneticField
from strapdown.series import ImuSeries, Trajectory
from strapdown.transport.address import open_topic
from strapdown.viewer import chart_page

pytestmark = [pytest.mark.xdist_group("browser")]

CHART = "getElement(parseInt(document.querySelector('.view-chart').id.slice(1))).chart"
SECOND = 1_000_000_000


@contextmanager
def pages(browser):
    """Yield a function that opens pages; each records its requests and its errors."""
    contexts = []

    def open_page(address, points=100, **options):
        context = browser.new_context(viewport={"width": 1280, "height": 720}, **options)
        contexts.append(context)
        page = context.new_page()
        page.requests, page.errors = [], []
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("dialog", lambda dialog: page.errors.append(f"dialog {dialog.message}"))
        page.goto(address)
        page.wait_for_selector(".view-chart canvas", timeout=60_000)
        page.wait_for_function(f"{CHART}?.getOption()?.series?.[0]?.data?.length > {points}")
        return page

    try:
        yield open_page
    finally:
        for context in contexts:
            context.close()


def show_signals(page):
    """Open the first tab, and leave the keys to the page: a button takes them."""
    page.click("#tab-signals-0")
    there = "document.querySelector('.view-chart')"  # for a moment between two tabs it is not
    page.wait_for_function(f"{there} && {CHART}?.getOption()?.dataZoom?.length == 1")
    page.evaluate("document.activeElement.blur()")


@pytest.fixture
def opened(browser):
    """Open pages that end with the test."""
    with pages(browser) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def page(browser, address):
    """One page for many tests: each finds it as the one before has left it."""
    with pages(browser) as open_page:
        yield open_page(address)


def window_of(page):
    zoom = page.evaluate(f"{CHART}.getOption().dataZoom[0]")
    return zoom["startValue"], zoom["endValue"]


def time_of(page):
    return float(page.locator("#time").inner_text().split(" ")[0])


def contrast(ink, paper):
    """Return the contrast of two CSS colours (WCAG 2.2, relative luminance)."""

    def luminance(text):
        numbers = [float(each) for each in re.findall(r"[\d.]+", text)]
        is_clear = len(numbers) > 3 and numbers[3] == 0.0  # then the browser's white shows
        values = np.array([255.0] * 3 if is_clear else numbers[:3]) / 255.0
        linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    low, high = sorted((luminance(ink), luminance(paper)))
    return (high + 0.05) / (low + 0.05)


def test_a_live_topic_is_shown_while_it_arrives(viewer, opened):
    name = f"ipc:view_{time.time_ns()}"
    with open_topic(name, Imu, capacity=4096) as topic:
        stop = threading.Event()

        def publish():
            began, count = time.monotonic(), 0
            while not stop.is_set():
                while count < (time.monotonic() - began) * 500.0:
                    spin = 0.5 if count % 1000 < 500 else -0.5
                    stamp = count * (SECOND // 500)
                    topic.send(Imu(0.0, 0.0, 9.81, spin, 0.0, 0.0, timestamp_ns=stamp))
                    count += 1
                stop.wait(0.005)

        thread = threading.Thread(target=publish)
        thread.start()
        try:
            _, address = viewer(name, "--filter", "vqf")
            page = opened(address)
            page.wait_for_function(
                "/rate 500.0 Hz/.test(document.querySelector('#health-0').innerText)"
            )
            assert "lost 0" in page.locator("#health-0").inner_text()
            newest = f"{CHART}.getOption().series[0].data.at(-1)"
            page.wait_for_function(f"Math.abs({newest}[0]) < 0.1")
            assert abs(page.evaluate(newest)[1]) == pytest.approx(0.5, abs=0.01)
            assert page.errors == []
        finally:
            stop.set()
            thread.join()


def test_a_live_magnetometer_is_shown_with_its_imu(viewer, opened):
    name = f"ipc:view_{time.time_ns()}"
    with (
        open_topic(name, Imu, capacity=4096) as topic,
        open_topic(f"{name}/mag", MagneticField, capacity=4096) as field,
    ):
        stop = threading.Event()

        def publish():
            count = 0
            while not stop.wait(0.01):
                stamp = count * SECOND // 100
                field.send(MagneticField(stamp, "", (0.0, 2e-5, -4e-5)))
                topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.0, timestamp_ns=stamp))
                count += 1

        thread = threading.Thread(target=publish)
        thread.start()
        try:
            _, address = viewer(name, f"{name}/mag", "--filter", "eskf")
            page = opened(address)
            assert "lost 0" in page.locator("#health-0").inner_text()
            titles = page.evaluate(f"{CHART}.getOption().title.map(each => each.text).join()")
            assert "magnetic field" in titles
            assert page.locator("#health-1").count() == 0, "one source"
            assert page.errors == []
        finally:
            stop.set()
            thread.join()


def test_a_document_of_charts_draws_without_a_server(browser, recording, tmp_path):
    path = tmp_path / "charts.html"
    chart_page(strapdown.open(recording)).save(path)
    page = browser.new_page()
    errors, requests = [], []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("#chart canvas")
    picture = imread(io.BytesIO(page.locator("#chart").screenshot()))
    page.close()
    assert picture.std() > 0.05
    assert errors == []
    assert all(url.startswith(("file:", "blob:")) for url in requests)


def test_names_from_a_file_are_text_and_nothing_else(page, recording):
    assert page.locator(".view-name").first.inner_text() == recording.name
    assert page.locator(".view-name img").count() == 0
    time.sleep(0.5)
    assert page.errors == []
    assert not any("/x" in urlsplit(url).path for url in page.requests)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_have_contrast_in_both_schemes(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.reload()
    page.wait_for_selector(".view-good", timeout=60_000)
    colours = page.evaluate(
        """() => [...document.querySelectorAll(
            '.view-name, .view-good, .view-values, .view-caption, #time')]
        .map(each => [each, document.body].map(part => getComputedStyle(part)))
        .map(([ink, paper]) => [ink.color, paper.backgroundColor])"""
    )
    assert len(colours) > 5
    for ink, paper in colours:
        assert contrast(ink, paper) >= 4.5, (ink, paper)
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('button, [role=slider], input:not(.hidden)')]
        .filter(each => !(each.innerText.trim() || each.getAttribute('aria-label') ||
          each.closest('[aria-label], label'))).map(each => each.outerHTML)"""
    )
    assert unnamed == []


def test_a_recording_is_shown_moved_and_saved_without_a_request_elsewhere(page, tmp_path):
    show_signals(page)
    assert "token" not in page.url
    assert page.locator("#frames-0").inner_text() == "ENU from FLU"
    assert "rate 200.0 Hz" in page.locator("#health-0").inner_text()
    names = [each["text"] for each in page.evaluate(f"{CHART}.getOption().title")]
    assert [name.split(" [")[0] for name in names][:4] == [
        "angular velocity",
        "specific force",
        "attitude",
        "estimate against reference",
    ]

    page.keyboard.press("Space")
    page.wait_for_function("parseFloat(document.querySelector('#time').innerText) > 0.5")
    page.keyboard.press("Space")
    time.sleep(0.5)
    paused = time_of(page)
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"parseFloat(document.querySelector('#time').innerText) > {paused}")
    assert time_of(page) == pytest.approx(paused + 0.005, abs=0.006)

    page.keyboard.press("3")
    page.wait_for_function(f"{CHART}.getOption().dataZoom[0].endValue < 6")
    start, stop = window_of(page)
    assert stop - start == pytest.approx(5.0, abs=0.1)
    page.keyboard.press("f")
    page.keyboard.press("f")
    page.wait_for_function("document.querySelector('#frames-0').innerText.includes('NED')")

    with page.expect_download() as download:
        page.click("#csv-0")
    saved = tmp_path / "span.csv"
    download.value.save_as(saved)
    assert len(strapdown.open(saved).imu_series()) == pytest.approx(1000, abs=10)
    with page.expect_download() as download:
        page.click("#png-0")
    download.value.save_as(tmp_path / "charts.png")
    assert imread(tmp_path / "charts.png").std() > 0.05

    for tab, panels in (("spectrum", 2), ("allan", 2)):
        page.click(f"#tab-{tab}-0")
        page.wait_for_function(
            "[...document.querySelectorAll('.view-chart')].some(each => "
            f"getElement(parseInt(each.id.slice(1))).chart?.getOption()?.xAxis?.length == {panels})"
        )
    show_signals(page)
    assert page.errors == []
    assert {urlsplit(url).hostname for url in page.requests if url.startswith("http")} == {
        "127.0.0.1"
    }


def test_a_page_loaded_again_begins_where_it_was(page):
    show_signals(page)
    page.keyboard.press("2")
    page.wait_for_function(f"{CHART}.getOption().dataZoom[0].endValue > 9.9")
    before = time_of(page)
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    moved = f"parseFloat(document.querySelector('#time')?.innerText) > {before + 0.14}"
    page.wait_for_function(moved)
    place = f"location.hash.includes('t={time_of(page):.3f}')"
    page.wait_for_function(place)
    window = window_of(page)
    page.reload()
    page.wait_for_selector(".view-chart canvas", timeout=60_000)
    page.wait_for_function(moved)
    page.wait_for_function(place)
    assert time_of(page) == pytest.approx(before + 0.15, abs=0.01)
    assert window_of(page) == pytest.approx(window, abs=0.01)


def test_a_lost_connection_comes_back_to_the_same_view(page):
    show_signals(page)
    page.keyboard.press("3")
    page.wait_for_function(f"{CHART}.getOption().dataZoom[0].endValue < 6")
    before = time_of(page)
    page.context.set_offline(True)
    page.evaluate("window.socket.io.engine.close()")
    page.wait_for_function("!window.socket.connected")
    time.sleep(0.5)
    page.context.set_offline(False)
    page.wait_for_function("window.socket.connected", timeout=60_000)
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"parseFloat(document.querySelector('#time').innerText) > {before}")
    assert window_of(page)[1] < 6.0


@pytest.mark.slow
def test_24_orientations_are_drawn_as_geometry_says(viewer, opened, tmp_path):
    turns = []
    for order, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
        R = np.zeros((3, 3))
        R[list(order), range(3)] = signs
        if np.linalg.det(R) > 0:
            turns.append(R)
    t = np.arange(24) * SECOND
    path = tmp_path / "turns.csv"
    strapdown.write(path, Trajectory(t, quaternion.from_matrix(np.array(turns))))
    _, address = viewer(path)
    page = opened(address, points=10)
    # The camera looks from (-3, -4, 3); three.js' orthographic camera spans 6 units of height.
    back = np.array([-3.0, -4.0, 3.0]) / np.linalg.norm([-3.0, -4.0, 3.0])
    right = np.cross([0.0, 0.0, 1.0], back)
    right /= np.linalg.norm(right)
    up = np.cross(back, right)
    place = page.locator("#scene-0 canvas").bounding_box()
    pixels_per_unit = place["height"] / 6.0
    for row, R in enumerate(turns):
        page.evaluate("document.activeElement.blur()")
        if row:
            page.keyboard.press("ArrowRight")
            page.wait_for_function(
                f"document.querySelector('#time').innerText.startsWith('{row}.000')"
            )
        time.sleep(0.4)
        image = imread(io.BytesIO(page.locator("#scene-0 canvas").screenshot()))
        for axis in range(3):
            tip = 1.25 * R[:, axis]
            if tip @ back < -0.1:
                continue  # hidden, or may be, behind the body
            x = image.shape[1] / 2 + tip @ right * pixels_per_unit
            y = image.shape[0] / 2 - tip @ up * pixels_per_unit
            patch = image[round(y) - 2 : round(y) + 3, round(x) - 2 : round(x) + 3, :3]
            strongest = int(np.argmax(patch.mean(axis=(0, 1))))
            assert strongest == axis, (row, axis, patch.mean(axis=(0, 1)))


@pytest.mark.slow
def test_a_sensor_is_calibrated_in_the_page(viewer, opened, tmp_path):
    path = tmp_path / "tumble.npz"
    strapdown.write(path, recorded(tumble()))
    _, address = viewer(path)
    page = opened(address)
    page.click("#tab-calibrate-0")
    page.click("#begin-0")
    page.evaluate("document.activeElement.blur()")
    page.click("#timeline", position={"x": 700, "y": 10})
    page.wait_for_function("/attitudes/.test(document.querySelector('#session-0').innerText)")
    width = page.locator("#timeline").bounding_box()["width"]
    page.click("#timeline", position={"x": width - 2, "y": 10})
    page.wait_for_function(
        "/enough attitudes/.test(document.querySelector('#session-0').innerText)"
    )
    page.click("#compute-0")
    page.wait_for_selector("#apply-0:not([disabled])", timeout=60_000)
    with page.expect_download() as download:
        page.click("#save-0")
    saved = tmp_path / "calibration.toml"
    download.value.save_as(saved)
    np.testing.assert_allclose(load_calibration(saved).accel.bias, ACCEL_BIAS, atol=5e-3)
    page.click("#apply-0")
    page.wait_for_function("/calibration/.test(document.querySelector('#health-0').innerText)")
    assert page.errors == []


@pytest.mark.slow
def test_a_large_file_is_shown_while_it_is_read(viewer, opened, tmp_path):
    count = 300_000
    force = np.zeros((count, 3))
    force[123_456, 0] = 77.0
    path = tmp_path / "long.ulg"
    t = 1_000_000 * np.arange(1, count + 1)
    strapdown.write(path, ImuSeries(t, np.zeros((count, 3)), force, body="FRD"))
    _, address = viewer(path, large_bytes=1_000_000)
    page = opened(address)
    health = "document.querySelector('#health-0').innerText"
    page.wait_for_function(f"/samples {count}/.test({health}) && !/loading/.test({health})")
    peaks = "option.series.some(each => [...each.data].some(point => Math.abs(point[1] - 77) < 1))"
    page.wait_for_function(f"(option => {peaks})({CHART}.getOption())")
    page.keyboard.press("5")
    page.wait_for_function(f"{CHART}.getOption().dataZoom[0].endValue < 20")
    assert page.errors == []


@pytest.mark.slow
def test_the_difference_of_two_recordings_is_shown_below_them(viewer, opened, recording, tmp_path):
    held = strapdown.open(recording)
    track = held.trajectory("truth")
    turn = quaternion.from_rotation_vector([0.0, 0.0, np.radians(5.0)])
    turned = track.replace(q_world_from_body=quaternion.multiply(turn, track.q_world_from_body))
    other = tmp_path / "turned.mcap"
    strapdown.write(other, Recording(imu=held.imu, trajectories={"truth": turned}))
    _, address = viewer(recording, other)
    page = opened(address)
    assert f"{recording.name} minus turned.mcap" in page.locator("#difference").inner_text()
    assert "shared clock" in page.locator("#alignment").inner_text()
    chart = CHART.replace("'.view-chart'", "'#difference .view-chart'")
    page.wait_for_selector("#difference canvas")
    total, heading = page.evaluate(
        f"{chart}.getOption().series.slice(0, 2).map(each => each.data.map(point => point[1]))"
    )
    np.testing.assert_allclose(total, 5.0, atol=1e-3)
    np.testing.assert_allclose(heading, 5.0, atol=1e-3)
    page.keyboard.press("3")
    page.wait_for_function(f"{chart}.getOption().dataZoom[0].endValue < 6")
    below = page.locator("#difference").bounding_box()["y"]
    for number in (0, 1):
        above = page.locator(f"#charts-{number}").bounding_box()
        assert above["y"] + above["height"] <= below
    assert page.errors == []
