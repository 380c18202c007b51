"""Signatures of releases: made, checked, and broken in every way."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import InputError, VerificationError
from shoal.vault.signing import check_signature, new_key, sign_release, signature_beside

pytest.importorskip("cryptography")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signed")
    frame = pl.DataFrame({"sex": list("ffmm"), "town": list("abab")})
    shoal.anonymize(shoal.read(frame, quasi=["sex", "town"]), models="k=2", seed=1).write(folder / "out")
    new_key(folder / "agency.key")
    new_key(folder / "other.key")
    sign_release(folder / "out", folder / "agency.key", folder / "out.sig")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy"))


def check(folder: Path, key: str = "agency.key.pub") -> Any:
    return check_signature(folder / "out", folder / "out.sig", folder / key)


def test_a_signature_holds_and_says_whose_it_is(folder: Path) -> None:
    assert check(folder).expected
    alone = check_signature(folder / "out", folder / "out.sig")
    assert not alone.expected
    assert alone.fingerprint == check(folder).fingerprint
    assert signature_beside(folder / "out") == folder / "out.sig"


def test_the_private_key_is_its_owners(folder: Path) -> None:
    assert stat.S_IMODE((folder / "agency.key").stat().st_mode) == 0o600
    (folder / "agency.key").chmod(0o644)
    with pytest.raises(InputError, match="can be read by others"):
        sign_release(folder / "out", folder / "agency.key", folder / "new.sig")


def test_another_key_is_noticed(folder: Path) -> None:
    with pytest.raises(VerificationError, match="by another key"):
        check(folder, "other.key.pub")


def test_every_changed_byte_of_the_manifest_is_noticed(folder: Path) -> None:
    path = folder / "out" / "manifest.json"
    content = path.read_bytes()
    for place in range(0, len(content), 97):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(VerificationError, match="is not of the release"):
            check(folder)


def test_changed_data_is_not_signed(folder: Path) -> None:
    data = folder / "out" / "release.csv"
    data.write_text(data.read_text("utf-8").replace("f", "m", 1), "utf-8")
    with pytest.raises(VerificationError):
        sign_release(folder / "out", folder / "agency.key", folder / "new.sig")
    assert not (folder / "new.sig").exists()


def entry(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(found: dict[str, Any]) -> None:
        found[key] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        entry("signature", "AAAA"),
        entry("signature", "!"),
        entry("public_key", "AAAA"),
        entry("algorithm", "none"),
        entry("shoal_signature", 2),
        entry("more", 1),
        entry("manifest_sha256", "0" * 64),
        entry("manifest_sha256", 5),
        lambda found: found.pop("signature"),
    ],
)
def test_a_changed_signature_is_none(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    found = json.loads((folder / "out.sig").read_text("utf-8"))
    change(found)
    (folder / "out.sig").write_text(json.dumps(found), "utf-8")
    with pytest.raises((InputError, VerificationError)):
        check(folder)


def test_the_key_of_a_signature_cannot_be_swapped_for_ones_own(folder: Path) -> None:
    sign_release(folder / "out", folder / "other.key", folder / "mine.sig")
    mine, theirs = (json.loads((folder / name).read_text("utf-8")) for name in ("mine.sig", "out.sig"))
    (folder / "out.sig").write_text(json.dumps(theirs | {"public_key": mine["public_key"]}), "utf-8")
    with pytest.raises(VerificationError):
        check_signature(folder / "out", folder / "out.sig")


@pytest.mark.parametrize("name", ["agency.key", "agency.key.pub"])
def test_a_key_is_never_replaced(folder: Path, name: str) -> None:
    if name.endswith(".pub"):
        (folder / "agency.key").unlink()
    with pytest.raises(InputError, match="is not replaced"):
        new_key(folder / "agency.key")


def test_places_and_files_that_are_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="put it beside"):
        sign_release(folder / "out", folder / "agency.key", folder / "out" / "x.sig")
    with pytest.raises(InputError, match="inside a release"):
        new_key(folder / "out" / "x.key")
    (folder / "bad.key").write_text("no key")
    (folder / "bad.key").chmod(0o600)
    with pytest.raises(InputError, match="is no signing key"):
        sign_release(folder / "out", folder / "bad.key", folder / "new.sig")
    with pytest.raises(InputError, match="is no public key"):
        check(folder, "agency.key")


@pytest.mark.parametrize("name", ["agency.key", "agency.key.pub", "raw.csv"])
def test_a_signature_replaces_nothing_but_a_signature(folder: Path, name: str) -> None:
    (folder / "raw.csv").write_text("a,b\n1,2\n")
    before = (folder / name).read_bytes()
    with pytest.raises(InputError, match="is no signature of a release"):
        sign_release(folder / "out", folder / "agency.key", folder / name)
    assert (folder / name).read_bytes() == before
    sign_release(folder / "out", folder / "other.key", folder / "out.sig")
    assert check(folder, "other.key.pub").expected
