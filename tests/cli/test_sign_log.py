"""``shoal sign``, ``shoal verify --signature`` and ``shoal log`` together."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoal import run
from shoal.io import atomic, transaction
from tests.cli.conftest import PATIENTS, recipe_text

Shoal = Callable[..., Any]


@pytest.fixture
def folder(shoal: Shoal, tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(PATIENTS, "utf-8")
    text = recipe_text('identifiers = ["name"]\nquasi = ["age", "sex", "zip"]', k=2)
    (tmp_path / "recipe.toml").write_text(f'{text}log = "releases.log"\n', "utf-8")
    assert shoal("run", tmp_path / "recipe.toml").code == 0
    return tmp_path


def test_runs_are_logged_and_a_changed_log_stops_the_next(shoal: Shoal, folder: Path) -> None:
    log = folder / "releases.log"
    assert shoal("run", folder / "recipe.toml", "--replace").code == 0
    assert shoal("run", folder / "recipe.toml", "--replace", "--dry-run").code == 0
    found = shoal("log", "show", log, "--json").json
    assert [one["entry"] for one in found["entries"]] == [1, 2]
    assert "out" in shoal("log", "show", log).out
    head = found["head"]
    assert shoal("log", "verify", log, "--head", head).code == 0
    assert shoal("log", "add", log, folder / "out", "--event", "sent").code == 0
    assert shoal("log", "verify", log, "--head", head, "--json").json["entries"] == 3
    log.write_text(log.read_text("utf-8").replace('"sent"', '"kept"'), "utf-8")
    for command in (["verify", log], ["show", log]):
        refused = shoal("log", *command)
        assert refused.code == 4
        assert "Line 3" in refused.err
    written = (folder / "out" / "manifest.json").stat().st_mtime_ns
    assert shoal("run", folder / "recipe.toml", "--replace").code == 4
    assert shoal("check", folder / "recipe.toml", "--replace").code == 4
    assert (folder / "out" / "manifest.json").stat().st_mtime_ns == written


def test_a_run_that_was_killed_once_its_release_was_in_place_is_logged_by_the_next(
    shoal: Shoal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """Stands for a kill: nothing that still runs after it changes the disk."""

    def put(staged: Path, place: Path, aside: Path | None = None) -> None:
        atomic.put(staged, place, aside)
        for name in ("rename", "replace", "unlink", "open", "rmdir"):
            patch.setattr(os, name, killed)
        raise Killed

    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    recipe = folder / "recipe.toml"
    with monkeypatch.context() as patch:
        patch.setattr(transaction, "put", put)
        with pytest.raises(Killed):
            run(recipe, replace=True)
    assert shoal("log", "verify", folder / "releases.log", "--json").json["entries"] == 1
    assert shoal("run", recipe).code == 2  # the folder is taken, and what was begun there is finished
    assert shoal("log", "verify", folder / "releases.log", "--json").json["entries"] == 2


def test_a_returned_release_that_is_written_elsewhere_is_not_logged(folder: Path) -> None:
    made = run(folder / "recipe.toml", replace=True)
    before = (folder / "releases.log").read_bytes()
    made.write(folder / "elsewhere")
    assert (folder / "releases.log").read_bytes() == before


def test_the_log_tells_nothing_of_people(folder: Path, secrets: list[str]) -> None:
    text = (folder / "releases.log").read_text("utf-8")
    assert not [word for word in secrets if word in text]


def test_a_release_is_signed_and_verified(shoal: Shoal, folder: Path) -> None:
    pytest.importorskip("cryptography")
    key = folder / "agency.key"
    assert shoal("sign", "--new-key", key).code == 0
    signed = shoal("sign", folder / "out", "--key", key, "--json").json
    assert Path(signed["signature"]) == folder / "out.sig"
    flags = ["--signature", folder / "out.sig", "--public-key", f"{key}.pub"]
    good = shoal("verify", folder / "out", *flags)
    assert good.code == 0
    assert signed["fingerprint"] in good.out
    assert shoal("verify", folder / "out", *flags, "--json").json["signature"]["expected"] is True
    assert "nobody said" in shoal("verify", folder / "out", *flags[:2]).out
    assert shoal("run", folder / "recipe.toml", "--replace").code == 0
    assert shoal("verify", folder / "out", *flags).code == 0  # the same seed gives the same bytes
    manifest = folder / "out" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b"2-anonymous", b"9-anonymous", 1))
    bad = shoal("verify", folder / "out", *flags)
    assert bad.code == 4
    assert "is not of the release" in bad.err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["sign"], "Name the folder of a release"),
        (["sign", "out"], "Signing needs --key FILE"),
        (["sign", "out", "--new-key", "x"], "Name the folder of a release"),
        (["verify", "out", "--public-key", "x"], "give the --signature too"),
        (["log", "verify", "none.log"], "There is no log"),
    ],
)
def test_mistakes_are_said(
    shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    found = shoal(*arguments)
    assert found.code == 2
    assert message in found.err
