"""Dask across hosts: network namespaces with a scheduler and two workers, connected with TLS."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from strapdown import fleet

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("hosts")]

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "fleet.md"
NETWORK = "10.213.77"
PORT = 8786
ITEMS = 40
CLIENT = """
import sys
from functools import partial
import fleet_tasks
from strapdown import fleet

if __name__ == "__main__":
    address, marks, out, items = sys.argv[1:]
    task = partial(fleet_tasks.located, marks)
    manifest = fleet.map(task, range(int(items)), executor=address, out=out)
    print(manifest.executed, len(manifest.failed), {unit.error for unit in manifest.failed})
"""


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, timeout=30)


@pytest.fixture(scope="module")
def hosts():
    """Three namespaces on one bridge: of the scheduler, with the client, and of two workers."""
    if shutil.which("ip") is None:
        pytest.skip("ip is not installed: apt-get install iproute2")
    names = [f"sd{os.getpid()}{letter}" for letter in "sab"]
    try:
        ip("netns", "add", names[0])
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespaces on this machine: {error.stderr.strip()}")
    try:
        try:
            ip("-n", names[0], "link", "add", "br0", "type", "bridge")
            ip("-n", names[0], "addr", "add", f"{NETWORK}.1/24", "dev", "br0")
            for device in ("br0", "lo"):
                ip("-n", names[0], "link", "set", device, "up")
            for number, name in enumerate(names[1:], 2):
                ip("netns", "add", name)
                end = ["peer", "name", "eth0", "netns", name]
                ip("-n", names[0], "link", "add", f"v{number}", "type", "veth", *end)
                ip("-n", names[0], "link", "set", f"v{number}", "master", "br0", "up")
                ip("-n", name, "addr", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
                for device in ("eth0", "lo"):
                    ip("-n", name, "link", "set", device, "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no bridge between namespaces on this machine: {error.stderr.strip()}")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory, need_peer):
    """A folder with the files that the commands of the page make."""
    need_peer("openssl", shutil.which("openssl"), "apt-get install openssl")
    folder = tmp_path_factory.mktemp("tls")
    commands = re.findall(r"^    (openssl (?:.*\\\n)*.*)$", PAGE.read_text(), re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        subprocess.run(["sh", "-c", command], cwd=folder, check=True, capture_output=True)
    return folder


class Cluster:
    """Processes of Dask in namespaces, started as the page states."""

    def __init__(self, hosts, certificates):
        self.hosts, self.folder = hosts, certificates
        self.address = f"tls://{NETWORK}.1:{PORT}"
        tls = {"--tls-ca-file": "ca.pem", "--tls-cert": "fleet.pem", "--tls-key": "fleet.key"}
        self.files = [
            str(part) for option, name in tls.items() for part in (option, self.folder / name)
        ]
        self.environment = {**os.environ, "PYTHONPATH": str(HERE)}
        self.running = []

    def start(self, host, *command, **options):
        process = subprocess.Popen(
            ["ip", "netns", "exec", host, *map(str, command)], env=self.environment, **options
        )
        self.running.append(process)
        return process

    def dask(self, host, *command):
        return self.start(
            host, sys.executable, "-m", "dask", *command, "--no-dashboard", *self.files,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def scheduler(self):
        return self.dask(self.hosts[0], "scheduler", "--host", f"tls://{NETWORK}.1:{PORT}")

    def worker(self, number, nanny="--no-nanny"):
        host = self.hosts[number]
        return self.dask(host, "worker", self.address, "--nthreads", "1", nanny)

    @contextmanager
    def cut(self, number):
        """Cut the network of a worker, and restore it at the end."""
        link = ["-n", self.hosts[0], "link", "set", f"v{number + 1}"]
        ip(*link, "down")
        yield
        ip(*link, "up")

    def client(self, script, *arguments, tls=None, items=ITEMS):
        variables = {}
        if tls is not None:
            prefix = "DASK_DISTRIBUTED__COMM__TLS__"
            names = {"CA_FILE": "ca.pem", "CLIENT__CERT": "fleet.pem", "CLIENT__KEY": "fleet.key"}
            variables = {prefix + name: str(tls / file) for name, file in names.items()}
        self.environment = {**os.environ, "PYTHONPATH": str(HERE), **variables}
        return self.start(
            self.hosts[0], sys.executable, script, *arguments, items,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def close(self):
        for process in self.running:
            process.kill()
            process.communicate()


@pytest.fixture
def cluster(hosts, certificates, tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "run.py").write_text(CLIENT)
    (tmp_path / "marks").mkdir()
    made = Cluster(hosts, certificates)
    yield made
    made.close()


def units(folder):
    return len(list((folder / "units").glob("*.json"))) if (folder / "units").is_dir() else 0


def await_units(folder, count, client):
    end = time.monotonic() + 60.0
    while units(folder) < count and client.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    assert units(folder) >= count, client.communicate()


def places(marks):
    return {path.name.partition("-")[0] for path in marks.iterdir()}


def await_both(marks, client):
    end = time.monotonic() + 60.0
    while len(places(marks)) < 2 and client.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    assert len(places(marks)) == 2, client.communicate()


def expected(tasks, tmp_path, folder, items=ITEMS):
    task = partial(tasks.located, str(tmp_path / "marks"))
    with ThreadPoolExecutor(8) as pool:
        fleet.map(task, range(items), executor=pool, out=folder)


def test_two_hosts_give_the_same_bytes_though_one_is_lost(cluster, tasks, tmp_path, contents):
    cluster.scheduler()
    lost, _ = cluster.worker(1), cluster.worker(2)
    script, marks = tmp_path / "run.py", tmp_path / "marks"
    client = cluster.client(script, cluster.address, marks, tmp_path / "hosts", tls=cluster.folder)
    await_units(tmp_path / "hosts", ITEMS // 3, client)
    assert len(places(marks)) == 2
    lost.send_signal(signal.SIGKILL)
    out, err = client.communicate(timeout=120)
    assert out.split() == [str(ITEMS), "0", "set()"], err
    namespaces = places(marks)
    assert Path("/proc/self/ns/net").readlink().name.strip("net:[]") not in namespaces
    expected(tasks, tmp_path, tmp_path / "threads")
    assert contents(tmp_path / "hosts") == contents(tmp_path / "threads")


@pytest.mark.parametrize("nanny", ["--no-nanny", "--nanny"])
def test_a_network_that_is_cut_and_restored_changes_no_byte(
    nanny, cluster, tasks, tmp_path, contents
):
    """A worker cannot be reached for longer than it may be silent."""
    silence_s, items = 10, 400
    cluster.environment["DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL"] = f"{silence_s}s"
    cluster.scheduler()
    cluster.worker(1, nanny)
    cluster.worker(2)
    script, marks, out = tmp_path / "run.py", tmp_path / "marks", tmp_path / "hosts"
    client = cluster.client(script, cluster.address, marks, out, tls=cluster.folder, items=items)
    await_both(marks, client)
    with cluster.cut(1):
        time.sleep(2.5 * silence_s)
        assert client.poll() is None, client.communicate()
    printed, err = client.communicate(timeout=120)
    assert printed.split() == [str(items), "0", "set()"], err
    expected(tasks, tmp_path, tmp_path / "threads", items)
    assert contents(out) == contents(tmp_path / "threads")


def test_a_lost_scheduler_ends_the_run_and_the_next_continues(cluster, tasks, tmp_path, contents):
    scheduler = cluster.scheduler()
    cluster.worker(1)
    script, marks, out = tmp_path / "run.py", tmp_path / "marks", tmp_path / "hosts"
    client = cluster.client(script, cluster.address, marks, out, tls=cluster.folder)
    await_units(out, 5, client)
    scheduler.kill()
    printed, err = client.communicate(timeout=120)
    assert "{'lost with its scheduler, or cancelled; run again'}" in printed, err
    done = units(out)
    assert 5 <= done < ITEMS
    cluster.scheduler()
    cluster.worker(2)
    client = cluster.client(script, cluster.address, marks, out, tls=cluster.folder)
    printed, err = client.communicate(timeout=120)
    assert printed.split() == [str(ITEMS - done), "0", "set()"], err
    expected(tasks, tmp_path, tmp_path / "threads")
    assert contents(out) == contents(tmp_path / "threads")


def test_a_client_without_a_certificate_of_the_cluster_is_refused(cluster, tmp_path):
    cluster.scheduler()
    cluster.worker(1)
    script, marks = tmp_path / "run.py", tmp_path / "marks"
    client = cluster.client(script, cluster.address, marks, tmp_path / "good", tls=cluster.folder)
    assert client.communicate(timeout=120)[0].split()[:2] == [str(ITEMS), "0"]
    before = len(list(marks.iterdir()))
    plain = cluster.address.replace("tls", "dask")
    none = cluster.client(script, cluster.address, marks, tmp_path / "none")
    other = cluster.client(script, plain, marks, tmp_path / "plain", tls=cluster.folder)
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    for name in ("ca.pem", "fleet.pem", "fleet.key"):
        shutil.copy(cluster.folder / name, stranger)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-subj", "/CN=stranger", "-keyout", "fleet.key", "-out", "fleet.pem"],
        cwd=stranger, check=True, capture_output=True,
    )  # fmt: skip
    foreign = cluster.client(script, cluster.address, marks, tmp_path / "foreign", tls=stranger)
    for client, text in (
        (none, "expected certificates for tls://"),
        (other, "expected a Dask scheduler at tcp://"),
        (foreign, "expected a Dask scheduler at tls://"),
    ):
        _, err = client.communicate(timeout=120)
        assert client.returncode == 1
        assert f"PeerLostError: {text}" in err
    assert len(list(marks.iterdir())) == before
