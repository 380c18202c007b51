"""The unit and the container file of docs/server.md: what they name is there, in an order that works."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from shoal.cli.main import execute
from shoal.web import app as serving
from shoal.web import server_keys
from shoal.web.app import create_app
from shoal.web.settings import Settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "server.md").read_text("utf-8")


def block(language: str) -> str:
    """The one block of the page in a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """What a server is told that would start now."""
    found: list[Settings] = []
    monkeypatch.setattr(serving, "serve", lambda settings, announce: found.append(settings))
    return found


def unit() -> configparser.SectionProxy:
    """The section of the unit that says how the service runs; twice the same name is an error."""
    read = configparser.ConfigParser(interpolation=None, comment_prefixes=("#", ";"))
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read_string(block("ini"))
    assert read["Install"]["WantedBy"] == "multi-user.target"
    return read["Service"]


def test_the_unit_starts_a_server_with_its_key(
    tmp_path: Path, served: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = unit()
    for given in shlex.split(service["Environment"]):
        monkeypatch.setenv(*given.split("=", 1))
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path / "credentials"))
    name, _, source = service["LoadCredential"].partition(":")
    program, *options = shlex.split(service["ExecStart"].replace("%d", str(tmp_path / "credentials")))
    assert program.endswith("/shoal")
    assert execute(options) == 0
    (settings,) = served
    assert settings.database.startswith("postgresql+psycopg:///")
    assert settings.secure
    assert settings.master_key == tmp_path / "credentials" / name
    assert f"> {source}" in PAGE, "how the key is made is not said"
    # The same, as far as it can be here: a key as newer versions of systemd show it.
    settings.master_key.parent.mkdir()
    settings.master_key.write_bytes(bytes(range(32)))
    settings.master_key.chmod(0o440)
    settings.master_key.parent.chmod(0o550)
    app = create_app(Settings(folder=tmp_path / "data", master_key=settings.master_key))
    assert app.state.keys.keyring.generation == 1
    assert not (tmp_path / "data" / server_keys.DEFAULT).exists()
    app.state.store.close()


def test_the_unit_may_write_where_the_server_does(served: list[Settings]) -> None:
    service = unit()
    assert service["ProtectSystem"] == "strict"
    assert service["ProtectHome"] == "yes"
    assert f"--data /var/lib/{service['StateDirectory']} " in service["ExecStart"]
    assert (service["StateDirectoryMode"], service["UMask"]) == ("0700", "0077")


def test_the_container_gives_its_user_what_it_writes_to(
    served: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packages are installed first, then the user and its folder are made, then the server is started as that user."""
    monkeypatch.delenv("SHOAL_DATABASE", raising=False)
    lines = [line.partition(" ")[::2] for line in block("dockerfile").splitlines()]
    at = {word: place for place, (word, _) in enumerate(lines)}
    users = [place for place, (word, text) in enumerate(lines) if word == "RUN" and "useradd" in text]
    assert users[0] < at["USER"] < at["CMD"]
    assert at["USER"] < at["VOLUME"]
    user, volume = lines[at["USER"]][1], lines[at["VOLUME"]][1]
    made = re.search(rf"install -d -o {user} -g {user} -m 700 (.*)", lines[users[0]][1])
    assert made is not None
    assert set(made[1].split()) == {volume}
    extras = re.search(r"shoal\[(.*?)\]", block("dockerfile"))
    assert extras is not None
    assert {"web", "postgres", "duckdb", "formats"} == set(extras[1].split(","))
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras[1].split(",")) <= set(known)
    program, *options = json.loads(lines[at["CMD"]][1])
    assert (program, execute(options)) == ("shoal", 0)
    assert str(served[0].folder) == volume
    serving.refuse_open(served[0])
