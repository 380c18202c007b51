"""Every Python example of the documentation runs, and prints what the page says it prints."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import shoal
from tests.walked import Walk

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "```python" in page.read_text("utf-8"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# A comment that begins like a value is one that is printed; others explain.
PRINTED = re.compile(r"print\(.*\)  # (?=[\d\[{'-])(.*)$")


@pytest.fixture
def patients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the file that examples read."""
    (tmp_path / "patients.csv").write_bytes((DOCS / "files" / "patients.csv").read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("patients")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_examples_run_and_print_what_they_say(page: Path) -> None:
    seen: list[tuple[str, str]] = []
    scope: dict[str, object] = {"__name__": "example"}
    for block in BLOCK.findall(page.read_text("utf-8")):
        lines = block.splitlines()

        def show(*values: object, lines: list[str] = lines) -> None:
            seen.append((lines[sys._getframe(1).f_lineno - 1], " ".join(map(str, values))))

        scope["print"] = show
        exec(compile(block, str(page), "exec"), scope)
    for line, printed in seen:
        said = PRINTED.search(line)
        if said and [one for one, _ in seen].count(line) == 1:
            assert said[1].startswith(printed), line


WALKED = ["tutorial.md", "questions.md", "review-board.md", "getting-started.md", "../README.md"]


@pytest.mark.parametrize("page", WALKED)
def test_commands_of_a_page_do_what_it_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text("utf-8")
    if "shoal data patients" not in text:
        (tmp_path / "patients.csv").write_bytes((DOCS / "files" / "patients.csv").read_bytes())
    walk = Walk(tmp_path).page(text)
    assert len(walk.ran) >= 4
    assert [(line, code) for line, code, wanted in walk.ran if code != wanted] == []
    assert walk.unseen == []


def test_a_page_that_shows_what_is_not_printed_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = "```sh\nshoal data patients\nshoal data patients\n```\n```text\nWritten: other.csv\n```\n"
    page += "```toml\n# a.toml\nx = 1\n```\n```diff\n# a.toml\n-y = 1\n+y = 2\n```\n"
    walk = Walk(tmp_path).page(page)
    assert [(code, wanted) for _, code, wanted in walk.ran] == [(0, 0), (2, 0)]
    assert walk.unseen == ["Written: other.csv", "y = 1\n"]


def test_pictures_are_small_and_there() -> None:
    for page in DOCS.glob("*.md"):
        for name in re.findall(r"!\[[^\]]+\]\((\S+?)\)", page.read_text("utf-8")):
            assert (page.parent / name).stat().st_size < 150 * 1024, f"{page.name}: {name}"


def test_the_reference_has_every_public_name() -> None:
    page = (DOCS / "api.md").read_text("utf-8")
    names = [name for name in shoal.__all__ if name not in ("ShoalError", "VERSION")]
    assert [name for name in names if f"### `shoal.{name}`\n" not in page] == []
    told = re.findall(r"^### `shoal\.(\w+)`\n\n::: (\S+)$", page, re.MULTILINE)
    for name, place in told:
        home, _, attribute = shoal._homes()[name].partition(":")
        assert place == f"{home}.{attribute or name}"
