"""TLS by the server itself: a real connection under a certificate of its own, and what browsers are told by it."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

import shoal
from shoal.cli.main import execute
from shoal.client import RemoteError
from shoal.web.app import _config, create_app, refuse_open
from shoal.web.settings import Settings
from tests.web.conftest import PASSWORD, add_people, program
from tests.web.test_remote import self_signed


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path, str]]:
    """An address, who vouches for it, and a token of the custodian's."""
    certificate, key = self_signed(tmp_path)
    settings = Settings(
        folder=tmp_path / "data", host="localhost", port=0, tls_certificate=certificate, tls_key=key
    )
    refuse_open(settings)
    app = create_app(settings)
    add_people(app)
    running = uvicorn.Server(_config(app, settings))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        assert thread.is_alive(), "the server ended before it answered"
        thread.join(0.01)
    port = running.servers[0].sockets[0].getsockname()[1]
    yield f"https://localhost:{port}", certificate, program(app, "custodian").headers["authorization"].split()[1]
    running.should_exit = True
    thread.join(10)
    app.state.store.close()


def test_browsers_come_by_tls_and_are_told_to_stay_there(server: tuple[str, Path, str]) -> None:
    url, certificate, _ = server
    with httpx.Client(base_url=url, verify=ssl.create_default_context(cafile=str(certificate))) as browser:
        page = browser.get("/login")
        assert page.headers["strict-transport-security"] == "max-age=31536000"
        fields = {"name": "custodian", "password": PASSWORD}
        assert browser.post("/login", data=fields, headers={"origin": url.replace("https", "http")}).status_code == 403
        sent = browser.post("/login", data=fields, headers={"origin": url})
        assert sent.status_code == 303
        cookie = sent.headers["set-cookie"]
        assert cookie.startswith("__Host-shoal=")
        assert {"secure", "httponly", "samesite=lax", "path=/"} <= {one.strip().lower() for one in cookie.split(";")}
        assert browser.get("/").status_code == 200
    with pytest.raises(httpx.ConnectError, match="certificate"):
        httpx.get(f"{url}/login")
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"{url.replace('https', 'http')}/login")


def test_programs_come_by_tls_with_the_certificate_that_they_are_given(
    server: tuple[str, Path, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url, certificate, token = server
    assert shoal.connect(url, token, ca=certificate).releases() == []
    with pytest.raises(RemoteError, match="cannot be trusted"):
        shoal.connect(url, token).releases()
    monkeypatch.setenv("SHOAL_TOKEN", token)
    assert execute(["remote", "--ca", str(certificate), "list", url]) == 0
    assert execute(["remote", "list", url]) == 2
    assert "cannot be trusted" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["none", "other", "locked", "text"])
def test_tls_that_cannot_be_is_told_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    certificate, key = self_signed(tmp_path)
    if what == "none":
        key = tmp_path / "none.pem"
    if what == "text":
        certificate.write_text("no certificate")
    if what == "other":
        (tmp_path / "other").mkdir()
        _, key = self_signed(tmp_path / "other")
    if what == "locked":
        plain = load_pem_private_key(key.read_bytes(), None)
        key.write_bytes(plain.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")))
    files = ["--set", f"tls-certificate={certificate}", "--set", f"tls-key={key}"]
    assert execute(["serve", "--data", str(tmp_path / "data"), *files]) == 2
    told = capsys.readouterr()
    assert "TLS cannot be spoken with" in " ".join(told.err.split())
    assert told.out == ""
    assert not (tmp_path / "data").exists()
