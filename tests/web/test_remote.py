"""The client of a server: real requests over a real connection, and everything that it refuses to do."""

from __future__ import annotations

import io
import json
import pickle
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI

import shoal
from shoal.cli.main import execute
from shoal.client import RemoteError, connect
from shoal.errors import InputError, VerificationError
from tests.web.conftest import program, user_of
from tests.web.test_trust import MARKED, add_release, cut, made  # noqa: F401


@pytest.fixture
def server(app: FastAPI, made: tuple) -> Iterator[tuple[str, str, str]]:  # noqa: F811
    """An address, a token of the researcher's, and the release."""
    release = add_release(app, made)
    running = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    port = running.servers[0].sockets[0].getsockname()[1]
    token = program(app, "researcher").headers["authorization"].removeprefix("Bearer ")
    yield f"http://localhost:{port}", token, release
    running.should_exit = True
    thread.join(10)


def test_list_download_ask(
    server: tuple[str, str, str], app: FastAPI, made: tuple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    url, token, release = server
    at, ill, _ = cut(made)
    found = shoal.connect(url, token)
    assert [one["id"] for one in found.releases()] == [release]
    assert found.manifest(release)["kind"] == "pseudonymised"
    place = found.download(release, tmp_path / "got")
    assert shoal.verify_release(place).passed
    assert sorted(path.name for path in place.iterdir()) == sorted(path.name for path in made[0].iterdir())
    with pytest.raises(InputError, match="exists"):
        found.download(release, tmp_path / "got")
    told = found.ask(release, f"IF years < {at} THEN disease = {ill}", aliases={"years": "age"})
    assert told["answer"].endswith(f"disease = {MARKED}\n")
    assert found.question(told["id"]) == told
    assert [one["id"] for one in found.questions(release)] == [told["id"]]
    assert token not in repr(found)
    with pytest.raises(TypeError):
        pickle.dumps(found)
    # The same by commands.
    monkeypatch.setenv("SHOAL_TOKEN", token)
    assert execute(["remote", "list", url]) == 0
    assert execute(["remote", "download", url, release, "-o", str(tmp_path / "again")]) == 0
    rules = tmp_path / "rules.txt"
    rules.write_text(f"IF age < {at} THEN disease = {ill}\nIF sex = F THEN disease = {ill} (confidence 0.97)\n")
    capsys.readouterr()
    assert execute(["remote", "ask", url, release, str(rules)]) == 4
    printed = capsys.readouterr()
    assert printed.out.endswith(f"disease = {MARKED}\n")
    assert "refused: line 2 states confidence 0.97" in printed.err
    assert execute(["remote", "question", url]) == 0
    assert execute(["remote", "question", url, told["id"], "--json"]) == 0


def test_what_comes_must_be_what_was_listed(
    server: tuple[str, str, str], app: FastAPI, tmp_path: Path
) -> None:
    url, token, release = server
    (data,) = app.state.settings.folder.glob("projects/*/releases/one/*.csv")
    content = data.read_bytes()
    data.write_bytes(content[:-9] + b"x" + content[-8:])
    with pytest.raises(VerificationError):
        connect(url, token).download(release, tmp_path / "got")
    data.write_bytes(content)
    (data.parent / "manifest.json").write_bytes((data.parent / "manifest.json").read_bytes() + b" ")
    with pytest.raises(VerificationError, match="not the one that the server lists"):
        connect(url, token).download(release, tmp_path / "got")
    assert list(tmp_path.glob("*got*")) == []


def test_the_server_s_sentences_come_through(server: tuple[str, str, str], app: FastAPI) -> None:
    url, token, release = server
    with pytest.raises(RemoteError, match="token") as error:
        connect(url, "wrong").releases()
    assert error.value.status == 401
    with pytest.raises(RemoteError, match="nothing that you may see") as error:
        connect(url, token).manifest("f" * 32)
    assert error.value.status == 404
    with pytest.raises(RemoteError, match="as JSON"):
        connect(url, token).ask(release, "{", form="json")
    with pytest.raises(InputError, match="letters and digits alone"):
        connect(url, token).manifest("../users")
    other = program(app, "researcher2").headers["authorization"].removeprefix("Bearer ")
    assert connect(url, other).releases() == []
    with pytest.raises(RemoteError):
        connect(url, other).ask(release, "x")
    assert user_of(app, "researcher").name not in str(error.value)


@pytest.mark.parametrize(
    "url,sentence",
    [
        ("http://shoal.example.org", "by https:// alone"), ("https://me:tok@localhost", "holds no name and no token"),
        ("https://shoal.example.org?token=1", "is written https://HOST"), ("ftp://x", "is written"),
        ("nonsense", "is written"), ("https://[", "is written"), ("http://localhost:99999", "is written"),
    ],
)  # fmt: skip
def test_addresses_that_are_refused(url: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as error:
        connect(url, "secret-token")
    assert "tok@" not in str(error.value)
    assert "secret-token" not in str(error.value)


def test_tokens_come_from_the_environment_or_a_private_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SHOAL_TOKEN", "SHOAL_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match="needs a token"):
        connect("https://localhost")
    file = tmp_path / "token"
    file.write_text("abc\n")
    file.chmod(0o644)
    with pytest.raises(InputError, match="read by others"):
        connect("https://localhost", token_file=file)
    file.chmod(0o600)
    assert connect("https://localhost", token_file=file)._token == "abc"
    monkeypatch.setenv("SHOAL_TOKEN_FILE", str(file))
    assert connect("https://localhost")._token == "abc"
    monkeypatch.setenv("SHOAL_TOKEN", "def")
    assert connect("https://localhost")._token == "def"
    with pytest.raises(InputError, match="one word"):
        connect("https://localhost", "a b")
    with pytest.raises(InputError, match="not both"):
        connect("https://localhost", "a", token_file=file)


def test_http_over_a_network_has_to_be_asked_for() -> None:
    assert connect("http://shoal.example.org", "t", unprotected=True).address == "http://shoal.example.org"
    with pytest.raises(InputError, match="is no file of certificates"):
        connect("https://shoal.example.org", "t", ca=__file__)


class _Liar(BaseHTTPRequestHandler):
    """Lists a release of one file, and sends what it likes."""

    listed: Any = [{"name": "manifest.json", "bytes": 5}]
    sent = b""
    asked: list[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        body = self.sent
        if not self.path.endswith("manifest.json"):
            unsigned = {"signature": None, "public_key": None, "key": None}
            body = json.dumps({"files": self.listed, "manifest": "0", **unsigned}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given: object) -> None:
        pass


@pytest.fixture
def liar() -> Iterator[str]:
    other = HTTPServer(("localhost", 0), _Liar)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    _Liar.asked.clear()
    yield f"http://localhost:{other.server_port}"
    other.shutdown()
    other.server_close()


@pytest.mark.parametrize(
    "listed, sent, sentence, begun",
    [
        ([{"name": "manifest.json", "bytes": 5}], b"x" * (1 << 21), "more of 'manifest.json' than it lists", True),
        ([{"name": "manifest.json", "bytes": 5}], b"1234", "broke off", True),
        ([{"name": "manifest.json", "bytes": 1 << 40}], b"1", "may have 17,179,869,184", False),
        ([{"name": "manifest.json", "bytes": -5}], b"1", "cannot be those of a release", False),
        ([{"name": "manifest.json", "bytes": 1}] * 2, b"1", "cannot be those of a release", False),
        ([{"name": f"{at}.csv", "bytes": 0} for at in range(10_001)], b"", "more than 10,000 files", False),
        ([{"name": "manifest.json"}], b"1", "whose name cannot be", False),
        ([{"name": "../manifest.json", "bytes": 1}], b"1", "whose name cannot be", False),
        (None, b"1", "whose name cannot be", False),
    ],
)
def test_no_more_is_taken_than_was_listed_and_allowed(
    liar: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: Any, sent: bytes, sentence: str, begun: bool
) -> None:
    monkeypatch.setattr(_Liar, "listed", listed)
    monkeypatch.setattr(_Liar, "sent", sent)
    with pytest.raises((RemoteError, InputError), match=sentence):
        connect(liar, "t").download("f", tmp_path / "got")
    assert any(one.endswith("manifest.json") for one in _Liar.asked) == begun
    assert list(tmp_path.iterdir()) == []


class _Broken(BaseHTTPRequestHandler):
    """Answers with what cannot be read to its end."""

    status, head, body = 200, "", b""

    def do_GET(self) -> None:
        self.send_response(self.status)
        if self.head:
            self.send_header("transfer-encoding", self.head)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *given: object) -> None:
        pass


@pytest.mark.parametrize(
    "status, head, body, sentence",
    [
        (200, "chunked", b"5\r\nab", "broke off"),
        (404, "chunked", b"5\r\nab", "answered with 404"),
        (200, "", b"[" * 100_000, "does not answer as a Shoal server"),
        (404, "", b"[" * 100_000, "answered with 404"),
        (200, "", b"[]", "which manifest"),
    ],
)
def test_an_answer_that_cannot_be_read_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, head: str, body: bytes, sentence: str
) -> None:
    for name, value in (("status", status), ("head", head), ("body", body)):
        monkeypatch.setattr(_Broken, name, value)
    other = HTTPServer(("localhost", 0), _Broken)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    with pytest.raises(RemoteError, match=sentence):
        connect(f"http://localhost:{other.server_port}", "t").download("f", tmp_path / "got")
    other.shutdown()
    other.server_close()


@pytest.mark.parametrize("body", [b"[3]", b"{}", b"null", b'[{"id": 3}]', b'{"state": "waiting"}', b'"x"', b"true",
    b'[{"id": "a", "name": "b", "rows": "x", "statement": "c", "created": "d"}]',
    b'[{"id": "a", "name": "b", "rows": true, "statement": "c", "created": "d"}]',
    b'{"id": "a", "release": "b", "state": "c", "created": "d", "answer": 3, "refused": [], "left": []}',
    b'{"id": "a", "release": "b", "state": "c", "created": "d", "answer": null, "refused": [3], "left": []}',
    b'{"id": "a", "release": "b", "state": "c", "created": "d", "answer": null, "refused": [], "left": [{"line": 1}]}',
])  # fmt: skip
def test_an_answer_of_other_kinds_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], body: bytes
) -> None:
    monkeypatch.setenv("SHOAL_TOKEN", "t")
    monkeypatch.setattr("shoal.client.Remote._open", lambda *given: io.BytesIO(body))
    monkeypatch.setattr("sys.stdin", io.StringIO("IF a = b THEN c = d"))
    url = "http://localhost:1"
    for command in (["list", url], ["question", url], ["question", url, "q"], ["ask", url, "r"]):
        assert execute(["remote", *command]) == 2, command
        told = " ".join(capsys.readouterr().err.split())
        assert "does not answer as a Shoal server does" in told


def test_how_large_a_download_may_be_is_said_by_an_option(
    liar: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHOAL_TOKEN", "t")
    monkeypatch.setattr(_Liar, "listed", [{"name": "manifest.json", "bytes": 2_000_000}])
    to = ["remote", "download", liar, "f", "-o", str(tmp_path / "got"), "--most"]
    assert execute([*to, "1MB"]) == 2
    assert "2,000,000 bytes" in " ".join(capsys.readouterr().err.split())
    assert execute([*to, "much"]) == 2
    assert "an amount such as" in " ".join(capsys.readouterr().err.split())


class _Elsewhere(BaseHTTPRequestHandler):
    """Sends everybody elsewhere, with what they brought, or answers nonsense."""

    seen: list[str] = []

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_response(302 if "releases" in self.path else 200)
        self.send_header("location", f"http://localhost:{self.server.server_port}/stolen")
        self.end_headers()
        self.wfile.write(b"<html>")

    def log_message(self, *given: object) -> None:
        pass


def test_a_server_that_sends_elsewhere_or_is_none_is_told() -> None:
    other = HTTPServer(("localhost", 0), _Elsewhere)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    url = f"http://localhost:{other.server_port}"
    with pytest.raises(RemoteError, match="sends elsewhere"):
        connect(url, "t").releases()
    with pytest.raises(RemoteError, match="does not answer as a Shoal server"):
        connect(url, "t").questions()
    with pytest.raises(RemoteError, match="cannot be reached"):
        connect(url.replace("http:", "https:"), "t").releases()
    assert "/stolen" not in _Elsewhere.seen
    other.shutdown()
    other.server_close()
    with pytest.raises(RemoteError, match="cannot be reached"):
        connect(url, "t").releases()


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    other = HTTPServer(("localhost", 0), _Elsewhere)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    other.socket = context.wrap_socket(other.socket, server_side=True)
    other.handle_error = lambda *given: None  # type: ignore[method-assign]
    threading.Thread(target=other.serve_forever, daemon=True).start()
    _Elsewhere.seen.clear()
    with pytest.raises(RemoteError, match="certificate of .* cannot be trusted"):
        connect(f"https://localhost:{other.server_port}", "t").releases()
    assert _Elsewhere.seen == []
    other.shutdown()
    other.server_close()


def self_signed(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine that no authority signed, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

    key, now = generate_private_key(SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
    known = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = builder.add_extension(known, False)
    whose = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known)
    signed = builder.add_extension(whose, False).sign(key, hashes.SHA256())
    plain = serialization.NoEncryption()
    content = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / "key.pem").write_bytes(content)
    (folder / "cert.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    return folder / "cert.pem", folder / "key.pem"


def test_an_answer_steers_no_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    told = {"id": "1", "state": "answered", "answer": "IF age < 42 THEN x = \x1b]0;a\x07b\n", "refused": [], "left": []}
    monkeypatch.setattr(shoal.client.Remote, "question", lambda *_: told)
    monkeypatch.setenv("SHOAL_TOKEN", "t")
    assert execute(["remote", "question", "http://localhost:1", "1"]) == 0
    assert capsys.readouterr().out == "IF age < 42 THEN x =  ]0;a b\n"
