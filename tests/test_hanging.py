"""What waits for ever fails, in the tests themselves."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.fixture
def limited(request):
    conftest = Path(__file__).with_name("conftest.py")
    return request.config.pluginmanager.get_plugin(str(conftest)).limited


def test_a_test_that_waits_for_a_process_fails_and_so_does_its_clean_up(limited, monkeypatch):
    monkeypatch.setitem(limited.__wrapped__.__globals__, "GRACE_S", 2.0)
    silent = [sys.executable, "-c", "import time; time.sleep(600)"]
    start = time.monotonic()
    process = subprocess.Popen(silent, stdout=subprocess.PIPE, text=True)
    with limited(0.2):
        with pytest.raises(pytest.fail.Exception, match="not done after"):
            process.stdout.readline()
        with pytest.raises(pytest.fail.Exception, match="does not come"):
            process.wait()
    process.kill()
    process.communicate()
    assert time.monotonic() - start < 60.0
