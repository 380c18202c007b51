"""A skipped test is named loudly, and fails the run where everything is required."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import LONGEST, TOGETHER, scope_of

CONFTEST = Path(__file__).with_name("conftest.py")
SKIPS_A_TEST = "import pytest\ndef test_a():\n    pytest.skip('no such engine')\n"
SKIPS_A_FILE = "import pytest\npytest.importorskip('no_such_library_at_all')\ndef test_a():\n    pass\n"
NEEDS_SHARED = "def test_a(shared):\n    pass\n"
PASSES = "def test_a():\n    pass\n"
SAMPLED = (
    "import pytest\n@pytest.mark.sample(3)\n@pytest.mark.parametrize('one', range(3))\n"
    "@pytest.mark.parametrize('other', range(2))\ndef test_a(one, other):\n    print('ran', one, other)\n"
)


def run(
    folder: Path, test: str, *, require: bool, workers: bool, thorough: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run pytest on one test file under our conftest, in a checkout of its own."""
    tests = folder / "checkout" / "tests"
    tests.mkdir(parents=True)
    shutil.copy(CONFTEST, tests)
    (tests / "test_it.py").write_text(test)
    (tests / "test_other.py").write_text(PASSES)
    options = ["-p", "xdist", "-n", "1", "--dist", "loadfile"] if workers else []
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"SHOAL_REQUIRE_ALL": "1" if require else "0", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment |= {"SHOAL_THOROUGH": "1" if thorough else "0"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *options, "tests"],
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


@pytest.mark.parametrize("thorough", [False, True])
def test_a_sample_has_every_value_of_every_parameter(tmp_path: Path, thorough: bool) -> None:
    result = run(tmp_path, SAMPLED, require=True, workers=False, thorough=thorough)
    assert result.returncode == 0, result.stdout
    ran = [line.split("ran ")[1].split()[:2] for line in result.stdout.splitlines() if "ran " in line]
    assert len(ran) == (6 if thorough else 3)
    assert {one for one, _ in ran} == {"0", "1", "2"}
    assert {other for _, other in ran} == {"0", "1"}
    assert ("3 deselected" in result.stdout) != thorough


def test_the_files_that_begin_are_there(request: pytest.FixtureRequest) -> None:
    names = {item.nodeid.partition("::")[0] for item in request.session.items}
    assert all((CONFTEST.parents[1] / name).is_file() for name in LONGEST)
    first = [name for name in LONGEST if name in names]
    assert list(dict.fromkeys(item.nodeid.partition("::")[0] for item in request.session.items))[: len(first)] == first


def test_files_that_share_a_session_go_to_one_worker() -> None:
    assert all((CONFTEST.parents[1] / name).is_file() for name in TOGETHER)
    assert {scope_of(f"{name}::test_a[x]") for name in TOGETHER} == {TOGETHER[0]}
    assert scope_of("tests/test_it.py::test_a") == "tests/test_it.py"
