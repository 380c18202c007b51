"""A skipped test is named loudly, and fails the run where everything is required."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import LONGEST

CONFTEST = Path(__file__).with_name("conftest.py")
SKIPS_A_TEST = "import pytest\ndef test_a():\n    pytest.skip('no such engine')\n"
SKIPS_A_FILE = "import pytest\npytest.importorskip('no_such_library_at_all')\ndef test_a():\n    pass\n"
NEEDS_SHARED = "def test_a(shared):\n    pass\n"
PASSES = "def test_a():\n    pass\n"


def run(folder: Path, test: str, *, require: bool, workers: bool) -> subprocess.CompletedProcess[str]:
    """Run pytest on one test file under our conftest, in a checkout of its own."""
    tests = folder / "checkout" / "tests"
    tests.mkdir(parents=True)
    shutil.copy(CONFTEST, tests)
    (tests / "test_it.py").write_text(test)
    (tests / "test_other.py").write_text(PASSES)
    options = ["-n", "1"] if workers else ["-p", "no:xdist"]
    environment = {**os.environ, "SHOAL_REQUIRE_ALL": "1" if require else "0"}
    for name in [name for name in environment if name.startswith("PYTEST_")]:
        del environment[name]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "tests"],
        cwd=tests.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    "test, workers, reason",
    [(SKIPS_A_TEST, False, "no such engine"), (SKIPS_A_FILE, True, "no_such_library")],
)
def test_a_skip_fails_where_everything_is_required(
    tmp_path: Path, test: str, workers: bool, reason: str
) -> None:
    result = run(tmp_path, test, require=True, workers=workers)
    assert "FAILED: required but skipped: 1 x" in result.stdout
    assert reason in result.stdout
    assert result.returncode != 0


def test_a_skip_is_named_loudly_elsewhere(tmp_path: Path) -> None:
    result = run(tmp_path, SKIPS_A_TEST, require=False, workers=False)
    assert "NOT RUN: 1 x no such engine" in result.stdout
    assert result.returncode == 0


def test_missing_shared_data_is_no_failure(tmp_path: Path) -> None:
    result = run(tmp_path, NEEDS_SHARED, require=True, workers=False)
    assert "NOT RUN: 1 x needs ../shared" in result.stdout
    assert result.returncode == 0


def test_nothing_skipped_says_nothing(tmp_path: Path) -> None:
    result = run(tmp_path, PASSES, require=True, workers=False)
    assert "NOT RUN" not in result.stdout
    assert result.returncode == 0


def test_the_files_that_begin_are_there(request: pytest.FixtureRequest) -> None:
    names = {item.nodeid.partition("::")[0] for item in request.session.items}
    assert all((CONFTEST.parents[1] / name).is_file() for name in LONGEST)
    first = [name for name in LONGEST if name in names]
    assert list(dict.fromkeys(item.nodeid.partition("::")[0] for item in request.session.items))[: len(first)] == first
