"""Every documented mistake gets its message, word for word, and its exit code: the table is ``messages.toml``.

A mistake is a command line (``run``), or a recipe that ``run`` and ``check`` are both given: what a run refuses that
can be known before, a check refuses in the same words, and what only a release tells, a dry run. Nothing is written,
and no name or disease is said.
"""

from __future__ import annotations

import contextlib
import io
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from shoal.cli.main import execute

HERE = Path(__file__).parent
TABLE = tomllib.loads((HERE / "messages.toml").read_text("utf-8"))
PARTS = {name: part for name, part in TABLE.items() if isinstance(part, list)}
MISTAKES = {one["what"]: one for part in PARTS.values() for one in part}
PAGE = HERE.parents[1] / "docs" / "messages.md"
KEYS = {"what", "needs", "run", "dry", "change", "files", "encoding", "with", "exit", "says"}
SECRETS = ["Anna", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Hugo", "asthma", "secret@"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the release of the recipe, called ``made``, and its evidence."""
    folder = tmp_path_factory.mktemp("made")
    make_release(folder)
    return folder


def make_release(folder: Path) -> None:
    for name, text in TABLE["files"].items():
        (folder / name).write_text(text.replace('"out"', '"made"'), "utf-8")
    with contextlib.redirect_stdout(io.StringIO()):
        assert execute(["run", str(folder / "recipe.toml")]) == 0


def lay_out(mistake: dict[str, Any], folder: Path, made: Path) -> None:
    """The files that a mistake is made with."""
    for name in mistake.get("with", ()):  # "made" and "made.evidence"
        shutil.copytree(made / name, folder / name)
    for name, text in {**TABLE["files"], **mistake.get("files", {})}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, mistake.get("encoding", "utf-8"))
        path.chmod(0o600)
    for name, old, new in mistake.get("change", ()):
        text = (folder / name).read_text("utf-8")
        assert text.count(old) >= 1, f"'{old}' does not stand in {name}"
        (folder / name).write_text(text.replace(old, new, 1), "utf-8")


def commands(mistake: dict[str, Any]) -> list[str]:
    line = mistake.get("run")
    if line is None:
        return ["run recipe.toml", "run recipe.toml --dry-run" if "dry" in mistake else "check recipe.toml"]
    for name, flags in TABLE["flags"].items():
        line = line.replace(name, flags)
    return [line]


@pytest.mark.parametrize("what", MISTAKES)
def test_message(
    what: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mistake = MISTAKES[what]
    if "needs" in mistake:
        pytest.importorskip(mistake["needs"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHOAL_PASSPHRASE", raising=False)
    lay_out(mistake, tmp_path, made)
    before = sorted(tmp_path.rglob("*"))
    for line in commands(mistake):
        code = execute(shlex.split(line))
        said = capsys.readouterr().err.replace(str(tmp_path), "HERE")
        assert (code, said) == (mistake["exit"], f"error: {mistake['says']}\n"), line
        assert [word for word in SECRETS if word in said] == []
        assert sorted(tmp_path.rglob("*")) == before, line


def test_the_table_is_well_formed() -> None:
    assert len(MISTAKES) == sum(map(len, PARTS.values())) >= 100
    assert [what for what, one in MISTAKES.items() if not set(one) <= KEYS] == []
    assert [what for what, one in MISTAKES.items() if one["exit"] not in (2, 3, 4)] == []
    assert [what for what, one in MISTAKES.items() if one["says"][-1] not in ".?"] == []


def page() -> str:
    """The table as a page of the documentation: ``python -m tests.messages.test_messages`` writes it."""
    lines = [*PAGE.read_text("utf-8").partition("\n## ")[0].rstrip().splitlines()]
    for name, part in PARTS.items():
        lines += ["", f"## {name}", "", "| Mistake | What is said | Exit |", "|---|---|---|"]
        for one in part:
            said = one["says"].replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
            lines.append(f"| {one['what']} | {said} | {one['exit']} |")
    return "\n".join(lines) + "\n"


def test_the_page_shows_every_message() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it again: python -m tests.messages.test_messages"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
