"""Signatures of releases that are downloaded: handed out, checked, compared with a key, and asked for."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from shoal.cli.main import execute
from shoal.client import Remote, connect
from shoal.errors import InputError, MissingExtraError, VerificationError
from shoal.release.download import put
from shoal.vault import signing
from shoal.web.errors import API
from tests.web.conftest import program
from tests.web.test_remote import server  # noqa: F401
from tests.web.test_trust import made  # noqa: F401


@pytest.fixture
def there(server: tuple[str, str, str]) -> tuple[Remote, str]:  # noqa: F811
    url, token, release = server
    return connect(url, token), release


def sign(app: FastAPI, release: str) -> str:
    answer = program(app, "custodian").post(f"{API}/releases/{release}/sign")
    assert answer.status_code == 200, answer.text
    return str(answer.json()["key"])


def test_a_signature_is_handed_out_and_checked(there: tuple[Remote, str], app: FastAPI, tmp_path: Path) -> None:
    remote, release = there
    assert remote.signature(release) == {"signature": None, "public_key": None, "key": None}
    remote.download(release, tmp_path / "plain")
    assert not (tmp_path / "plain.sig").exists()
    with pytest.raises(VerificationError, match="Nobody signed this release"):
        remote.download(release, tmp_path / "got", signed=True)
    key = sign(app, release)
    told = remote.signature(release)
    assert told["key"] == key
    public = tmp_path / "server.pub"
    public.write_text(told["public_key"])
    place = remote.download(release, tmp_path / "got", public_key=public)
    found = signing.check_signature(place, tmp_path / "got.sig", public)
    assert (found.expected, found.fingerprint) == (True, key)
    assert sorted(one.name for one in tmp_path.iterdir() if one.name != "data") == [
        "got", "got.sig", "plain", "server.pub",
    ]  # fmt: skip
    (tmp_path / "other.sig").write_text("taken")
    with pytest.raises(InputError, match=r"other\.sig' exists"):
        remote.download(release, tmp_path / "other")


@pytest.mark.parametrize("role, status", [("auditor", 200), ("custodian", 200), ("researcher2", 404), ("admin", 403)])
def test_those_who_see_a_release_see_its_signature(
    there: tuple[Remote, str], app: FastAPI, role: str, status: int
) -> None:
    sign(app, there[1])
    answer = program(app, role).get(f"{API}/releases/{there[1]}/signature")
    assert (answer.status_code, "BEGIN PUBLIC KEY" in answer.text) == (status, status == 200)
    assert "PRIVATE" not in answer.text


def test_another_key_or_another_release_is_not_kept(
    there: tuple[Remote, str], app: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote, release = there
    key = sign(app, release)
    _, other = signing.new_key(tmp_path / "other.key")
    with pytest.raises(VerificationError, match=f"signed by another key, {key}"):
        remote.download(release, tmp_path / "got", public_key=other)
    with pytest.raises(InputError, match="is no public key"):
        remote.download(release, tmp_path / "got", public_key=tmp_path / "other.key")
    told = remote.signature(release)
    forged = json.loads(told["signature"])
    forged["signature"] = forged["signature"][:-4] + "AAA="
    for content in (json.dumps(forged), "nonsense"):
        monkeypatch.setattr(Remote, "signature", lambda *given, said=content: told | {"signature": said})
        with pytest.raises(VerificationError, match="is not of this release"):
            remote.download(release, tmp_path / "got")
    assert [one for one in tmp_path.iterdir() if "got" in one.name] == []


def test_without_the_library_a_signature_that_was_not_asked_for_is_kept_unchecked(
    there: tuple[Remote, str], app: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Any:
        raise MissingExtraError("Signing", "cryptography", "vault")

    remote, release = there
    sign(app, release)
    content = remote.signature(release)
    monkeypatch.setattr(Remote, "signature", lambda *given: content)
    monkeypatch.setattr(signing, "_library", missing)
    with pytest.raises(MissingExtraError):
        remote.download(release, tmp_path / "got", signed=True)
    remote.download(release, tmp_path / "got")
    assert (tmp_path / "got.sig").read_text() == content["signature"]


def test_the_command_says_who_signed(
    server: tuple[str, str, str], app: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    url, token, release = server
    monkeypatch.setenv("SHOAL_TOKEN", token)

    def downloaded(name: str, *more: str) -> tuple[int, str]:
        capsys.readouterr()
        code = execute(["remote", "download", url, release, "-o", str(tmp_path / name), *more])
        return code, " ".join("".join(capsys.readouterr()).split())

    code, told = downloaded("a")
    assert (code, "Nobody signed it." in told) == (0, True)
    assert downloaded("b", "--signed")[0] == 4
    key = sign(app, release)
    code, told = downloaded("c", "--signed")
    assert (code, f"Signed by {key}" in told, "Whose key that is nobody said" in told) == (0, True, True)
    (tmp_path / "server.pub").write_text(connect(url, token).signature(release)["public_key"])
    code, told = downloaded("d", "--public-key", str(tmp_path / "server.pub"))
    assert (code, f"Signed by {key}" in told, "nobody said" in told) == (0, True, False)
    code, told = downloaded("e", "--json")
    assert json.loads(told)["signature"] == {"fingerprint": key, "expected": False}


@pytest.mark.parametrize("last", ["out", "out.sig"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(39, "Directory not empty")])
def test_a_download_that_ends_at_its_last_step_leaves_nothing(
    there: tuple[Remote, str], app: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    error: BaseException, last: str,
) -> None:  # fmt: skip
    remote, release = there
    sign(app, release)
    rename = os.rename

    def ends(old: Path, new: Path) -> None:
        if Path(new) == place / last:
            raise error
        rename(old, new)

    (place := tmp_path / "place").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", ends)
        with pytest.raises((KeyboardInterrupt, InputError)):
            remote.download(release, place / "out")
    assert not list(place.iterdir())
    remote.download(release, place / "out")
    assert sorted(one.name for one in place.iterdir()) == ["out", "out.sig"]


def test_a_key_that_is_none_is_noticed_before_anything_is_downloaded(
    there: tuple[Remote, str], app: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote, release = there
    sign(app, release)
    monkeypatch.setattr(Remote, "_save", None)
    (tmp_path / "no.pub").write_text("no key")
    with pytest.raises(InputError, match="is no public key"):
        remote.download(release, tmp_path / "out", public_key=tmp_path / "no.pub")


def test_half_a_character_is_no_signature(
    there: tuple[Remote, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote, release = there
    monkeypatch.setattr(Remote, "signature", lambda *_: {"signature": "\ud800"})
    with pytest.raises(VerificationError, match="not of this release"):
        remote.download(release, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_came_meanwhile_is_not_touched(tmp_path: Path) -> None:
    for name in ("staged", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(name)
        (tmp_path / f"{name}.sig").write_text(name)
    with pytest.raises(InputError, match="exists"):
        put(tmp_path / "staged", tmp_path / "out")
    assert (tmp_path / "out.sig").read_text() == "out"
