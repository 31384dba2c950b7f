"""Charts in documents and notebooks, values in a terminal, and the verb."""

from __future__ import annotations

import json
import re
from io import StringIO
from threading import Event

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import strapdown
from strapdown.cli._app import app
from strapdown.errors import UnsupportedError
from strapdown.formats import Recording
from strapdown.series import ImuSeries, Trajectory
from strapdown.viewer import RecordingSource, ViewModel, chart_page, show_in_terminal
from strapdown.viewer.terminal import drawn

runner = CliRunner()
MS = 1_000_000


def series(count=500):
    t = np.arange(count) * 10 * MS
    rate = np.zeros((count, 3))
    rate[:, 0] = 1.0
    rate[count // 2, 1] = 7.0
    return ImuSeries(t, rate, np.tile([0.0, 0.0, 9.81], (count, 1)))


def run(*arguments):
    return runner.invoke(app, list(map(str, arguments)))


def contents(page):
    return json.loads(re.search(r'id="options">(.*?)</script>', page.html, re.DOTALL)[1])


def test_a_document_holds_the_signals_and_their_peaks():
    page = series(100_000).view()
    held = contents(page)
    titles = [each["text"] for each in held["schemes"][0]["title"]]
    assert titles[0].startswith("angular velocity [rad/s]")
    y = [value for _, value in held["data"][1] if value is not None]
    assert max(y) == 7.0
    assert len(held["data"][1]) <= 2000


def test_a_notebook_frame_holds_the_whole_document():
    page = Trajectory(np.arange(3), np.tile([0.0, 0.0, 0.0, 1.0], (3, 1))).view()
    shown = page._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert "attitude" in shown


def test_a_name_cannot_end_its_element():
    evil = "</script><script>alert(1)</script>"
    page = chart_page(Recording(imu={"imu": series()}), title=evil)
    assert evil not in page.html


def test_a_document_is_not_replaced_unless_asked(tmp_path):
    page = series().view()
    page.save(tmp_path / "a.html")
    with pytest.raises(FileExistsError):
        page.save(tmp_path / "a.html")
    page.save(tmp_path / "a.html", force=True)
    with pytest.raises(UnsupportedError, match=r"expected an ending of \.html"):
        page.save(tmp_path / "a.png")


@pytest.mark.parametrize("preset", ["imu", "psd"])
def test_plot_writes_interactive_charts(tmp_path, preset):
    strapdown.write(tmp_path / "a.mcap", series())
    done = run("plot", tmp_path / "a.mcap", "--preset", preset, "--output", tmp_path / "a.html")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "a.html").read_text().startswith("<!doctype html>")


def test_plot_names_the_presets_that_are_interactive(tmp_path):
    strapdown.write(tmp_path / "a.mcap", series())
    done = run("plot", tmp_path / "a.mcap", "--preset", "timing", "--output", tmp_path / "a.html")
    assert done.exit_code == 2
    assert "interactive charts show imu or psd" in done.output


def test_the_terminal_shows_values_bars_and_health():
    model = ViewModel([RecordingSource(Recording(imu={"imu": series()}), name="run")])
    console = Console(file=StringIO(), width=100)
    console.print(drawn(model))
    lines = console.file.getvalue().splitlines()
    assert lines[0].startswith("run  ENU from FLU  0.00 s of 4.99")
    assert "rate 100.0 Hz" in lines[1]
    (x,) = [line for line in lines if re.match("angular velocity +x", line)]
    assert "1.000 rad/s" in x
    assert "│███ " in x  # a fifth of 15 characters


def test_the_terminal_plays_a_recording_once():
    source = RecordingSource(Recording(imu={"imu": series(20)}), name="run")
    console = Console(file=StringIO(), width=100)
    show_in_terminal([source], stop=Event(), console=console)
    assert "0.19 s of 0.19" in console.file.getvalue()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "0.0.0.0"], "expected one address of this machine"),  # noqa: S104
        (["--host", "192.0.2.1"], "it needs --token-file or --tls-cert"),
        (["--host", "somewhere"], "expected an IP address"),
        (["--tls-cert", "cert.pem"], "it needs the other one"),
        (["--tls-cert", "no.pem", "--tls-key", "no.pem"], "expected a certificate and its key"),
        (["--smooth"], "it needs --filter NAME"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path, options, message):
    strapdown.write(tmp_path / "a.mcap", series())
    done = run("view", tmp_path / "a.mcap", *options)
    assert done.exit_code == 2
    assert message in " ".join(re.sub(r"[│╭╮╰╯─\n]", " ", done.output).split())


@pytest.mark.parametrize(
    "sources",
    [
        ["local:mag?type=MagneticField"],
        ["local:mag?type=MagneticField", "local:imu?type=Imu"],
        ["local:imu?type=Imu", "local:a?type=MagneticField", "local:b?type=MagneticField"],
        ["a.mcap", "local:mag?type=MagneticField"],
    ],
)
def test_a_magnetometer_without_an_imu_before_it_is_refused(sources):
    done = run("view", *sources)
    assert done.exit_code == 2
    words = " ".join(re.sub(r"[│╭╮╰╯─\n]", " ", done.output).split())
    assert "name it after the live IMU" in words


def test_a_short_token_is_refused(tmp_path):
    strapdown.write(tmp_path / "a.mcap", series())
    (tmp_path / "token").write_text("short\n")
    done = run("view", tmp_path / "a.mcap", "--token-file", tmp_path / "token")
    assert done.exit_code == 2
    assert "expected 16 letters" in done.output
