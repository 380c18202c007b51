"""Where an engine keeps its rows meanwhile: odd names, full disks, runs that ended early."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.engines.duckdb import _told
from shoal.engines.scratch import clear, scratch
from tests.engines.alike import outcome
from tests.engines.test_duckdb import census

duckdb = pytest.importorskip("duckdb")

ROOT = Path(__file__).parents[2]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", ["c0=5", "r=1", "[ab]", "a*b?", "it's", 'quo"te', "white space", "é漢", "{a,b}"])
def test_any_folder_will_do(name: str, tmp_path: Path) -> None:
    recipe = census(tmp_path, 200)
    (tmp_path / name).mkdir()
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    found = outcome(recipe, "duckdb", more=f'scratch = "{quoted}"')
    assert found[:2] == (0, "")
    assert found == outcome(recipe, "memory")
    assert list((tmp_path / name).iterdir()) == []


@pytest.mark.parametrize("place, step", [(Path, "rename"), (os, "open")])
def test_what_a_kill_in_the_first_moment_leaves_is_cleared_too(
    place: Any, step: str, tmp_path: Path
) -> None:
    child = os.fork()
    if child == 0:
        setattr(place, step, lambda *_: os._exit(9))
        scratch(tmp_path).__enter__()
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert len(list(tmp_path.iterdir())) == 1
    with scratch(tmp_path):
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_two_runs_may_begin_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that clears what another has just made takes nothing from it."""
    opened, times = os.open, []

    def meanwhile(*given: Any) -> int:
        if not times:
            times.append(1)
            clear(tmp_path)
        return opened(*given)

    monkeypatch.setattr(os, "open", meanwhile)
    with scratch(tmp_path) as folder:
        assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    assert times


def test_what_a_kill_leaves_of_a_folder_that_is_removed_is_cleared(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        with scratch(tmp_path) as folder:
            (folder / "facts.json").write_text("{}")
            (folder / "raw.parquet").touch()
            unlink = os.unlink

            def ended(*_: Any, **given: Any) -> None:
                unlink(folder_of(tmp_path) / "lock")  # which goes first, and then nothing more
                os._exit(9)

            os.unlink = os.rmdir = ended  # type: ignore[assignment]
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert (folder_of(tmp_path) / "raw.parquet").exists()
    clear(tmp_path)
    assert list(tmp_path.iterdir()) == []


def folder_of(parent: Path) -> Path:
    (folder,) = parent.iterdir()
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    asked = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0777", "shoal-test", str(folder)]
    try:
        made = subprocess.run(asked, capture_output=True, timeout=60)
    except OSError:
        pytest.skip("needs the command 'mount'")
    if made.returncode:
        pytest.skip("needs the right to mount a disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True, timeout=60)


def full(folder: Path, left: int) -> None:
    """Leave so many bytes of a disk."""
    with (folder / "ballast").open("wb") as file:
        wanted = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize - left
        for _ in range(max(wanted, 0) // 4096):
            file.write(b"x" * 4096)


@pytest.mark.parametrize("left", [0, 8192, 40_000, 90_000, 200_000, 400_000])
def test_a_full_scratch_disk_is_one_sentence(left: int, tmp_path: Path, small: Path) -> None:
    recipe = census(tmp_path, 6000, format="parquet")
    full(small, left)
    before = sorted(path.name for path in tmp_path.iterdir())
    code, sentence, _ = outcome(recipe, "duckdb", more='scratch = "disk"')
    assert sorted(path.name for path in small.iterdir()) == ["ballast"]
    if code:
        assert code == 2
        assert "scratch" in sentence
        assert "full" in sentence
        assert "\n" not in sentence
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*before, "duckdb.toml"])
    assert code or left > 200_000


@pytest.mark.parametrize("left", [0, 4096, 60_000])
@pytest.mark.parametrize("engine", ["duckdb", "memory"])
def test_a_full_disk_of_the_release_is_one_sentence(engine: str, left: int, tmp_path: Path, small: Path) -> None:
    recipe = census(tmp_path, 6000)
    recipe.write_text(recipe.read_text().replace('"people.csv"', '"../people.csv"'))
    text = recipe.read_text()
    recipe = small / "recipe.toml"
    recipe.write_text(text)
    recipe.with_name(f"{engine}.toml").write_text(text)  # as much as it is written to below
    full(small, left)
    code, sentence, _ = outcome(recipe, engine)
    assert code == 2
    assert "cannot be written" in sentence
    assert "the disk is full" in sentence
    assert sorted(path.name for path in small.iterdir()) == ["ballast", f"{engine}.toml", "recipe.toml"]


LIMITED = """
import resource, signal, sys, shoal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
from shoal.cli.main import execute
sys.exit(execute(["run", sys.argv[1]]))
"""


@pytest.mark.sample(2)
@pytest.mark.parametrize("most", [1, 2000, 20_000])
def test_files_that_may_not_grow_are_one_sentence(most: int, tmp_path: Path) -> None:
    recipe = census(tmp_path, 3000)
    (tmp_path / "scratch").mkdir()
    recipe.write_text(recipe.read_text() + '[engine]\nname = "duckdb"\nscratch = "scratch"\n')
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(recipe), str(most)],
        capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv", "recipe.toml", "scratch"]
    assert list((tmp_path / "scratch").iterdir()) == []


def test_what_duckdb_cannot_do_is_one_sentence_of_ours() -> None:
    large = duckdb.OutOfMemoryException("Out of Memory Error: could not allocate block")
    assert "in its 1.3GB, 65% of the run's" in str(_told(large, 1.3e9))
    limit = "Out of Memory Error: failed to offload data block (1 MiB used). This limit was set by the "
    for said in (f"{limit}'max_temp_directory_size' setting.", "IO Error: Could not write: No space left on device"):
        assert "is full" in str(_told(duckdb.Error(said), 0))
    assert "Anna" not in str(_told(duckdb.ConversionException("Could not convert string 'Anna' to INT32"), 0))


def test_without_duckdb_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = census(tmp_path, 50)
    (tmp_path / "people.csv").write_text("not,the,columns\n1,2,3\n")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    code, sentence, _ = outcome(recipe, "duckdb")
    assert code == 2
    assert "pip install 'shoal[duckdb]'" in sentence
