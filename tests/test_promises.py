"""What the documentation promises is attacked by tests that exist, and its warning codes are accepted ones."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from shoal.models.refusals import BY_COLUMN, plain_codes

ROOT = Path(__file__).parents[1]
ROWS = [
    [cell.strip() for cell in line.strip("| \n").split(" | ")]
    for line in (ROOT / "docs" / "promises.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| Promise")
]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:60] for row in ROWS])
def test_a_promise_names_tests_that_exist(row: list[str]) -> None:
    assert len(row) == 3, row
    named = re.findall(r"`([^`]+)`", row[1])
    assert named, row
    for one in named:
        file, _, function = one.partition("::")
        assert (ROOT / file).exists(), one
        if function:
            assert function.partition("[")[0] in functions(ROOT / file), one
    assert row[2], row


def test_no_promise_stands_twice() -> None:
    assert repeated([row[0] for row in ROWS]) == []


def test_no_change_stands_twice() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    assert repeated([line for line in lines if line.startswith("- ")]) == []


def repeated(texts: list[str]) -> list[str]:
    """Texts that begin as another one does: the same, in words that somebody has mended since."""
    return [begun for begun, count in Counter(text[:60] for text in texts).items() if count > 1]


def test_the_warning_codes_of_the_docs_are_those_that_are_accepted() -> None:
    found = {code for page in PAGES for code in re.findall(r"\bW-[A-Z]+(?:-[A-Z]+)*", page.read_text("utf-8"))}
    mistaken = set(re.findall(r"There is no warning code '([^']+)'", (ROOT / "docs/messages.md").read_text("utf-8")))
    assert found - mistaken == {*plain_codes(), *BY_COLUMN}
