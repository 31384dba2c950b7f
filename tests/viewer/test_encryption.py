"""A page with a certificate: encrypted, with a cookie that never travels in the clear."""

from __future__ import annotations

import http.client
import shutil
import ssl
import subprocess
from urllib.parse import urlsplit

import pytest


@pytest.fixture
def certificate(tmp_path):
    """A certificate of this machine that it signed itself, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    named = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", key, "-out", cert, "-days", "2"]
    command = [openssl, "req", "-x509", *kind, *named, *files]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


@pytest.mark.slow
def test_a_page_with_a_certificate_is_served_encrypted_alone(viewer, recording, certificate):
    cert, key = certificate
    _, address = viewer(recording, "--tls-cert", cert, "--tls-key", key)
    assert address.startswith("https://127.0.0.1:")
    place = urlsplit(address)
    trusted = ssl.create_default_context(cafile=str(cert))
    client = http.client.HTTPSConnection("127.0.0.1", place.port, context=trusted, timeout=20.0)
    client.request("GET", f"/?{place.query}")
    reply = client.getresponse()
    cookie = reply.headers["set-cookie"]
    assert reply.status == 303
    assert "Secure" in cookie
    reply.read()
    client.request("GET", "/", headers={"Cookie": cookie.split(";")[0]})
    page = client.getresponse()
    assert page.status == 200
    assert b"strapdown" in page.read()
    client.close()
    plain = http.client.HTTPConnection("127.0.0.1", place.port, timeout=20.0)
    plain.request("GET", "/")
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        plain.getresponse()
    plain.close()
