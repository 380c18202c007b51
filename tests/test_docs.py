"""Every Python example of the documentation runs, and prints what the page says it prints."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import polars as pl
import pytest

import shoal

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "```python" in page.read_text("utf-8"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# A comment that begins like a value is one that is printed; others explain.
PRINTED = re.compile(r"print\(.*\)  # (?=[\d\[{'-])(.*)$")


@pytest.fixture
def patients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that examples read."""
    people = range(60)
    frame = pl.DataFrame(
        {
            "name": [f"person {i}" for i in people],
            "age": [20 + 7 * i % 50 for i in people],
            "sex": ["f" if i % 2 else "m" for i in people],
            "zip": [f"{1010 + i % 20}" for i in people],
            "disease": [["flu", "asthma", "gout", "fever"][i % 4] for i in people],
        }
    )
    frame.write_csv(tmp_path / "patients.csv")
    monkeypatch.chdir(tmp_path)


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


def test_the_reference_has_every_public_name() -> None:
    page = (DOCS / "api.md").read_text("utf-8")
    assert [name for name in shoal._HOMES if f"### `shoal.{name}`\n" not in page] == []
    told = re.findall(r"^### `shoal\.(\w+)`\n\n::: (\S+)$", page, re.MULTILINE)
    for name, place in told:
        home, _, attribute = shoal._HOMES[name].partition(":")
        assert place == f"{home}.{attribute or name}"
