"""Runs that are begun again: what was read is taken up whole and unchanged, or read anew."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.cli.main import execute
from shoal.engines import duckdb
from shoal.errors import InputError, RecipeError
from tests.engines.alike import outcome
from tests.engines.test_columns import COLUMNS, people, written
from tests.engines.test_duckdb import census

pytest.importorskip("duckdb")


class Stop(Exception):
    """The end of a run that somebody stops."""


def stopping(when: str) -> Callable[[str], None]:
    def progress(step: str) -> None:
        if step.startswith(when):
            raise Stop

    return progress


def placed(recipe: Path) -> Path:
    """The same recipe on the engine that keeps, with a scratch folder."""
    (recipe.parent / "scratch").mkdir()
    mine = recipe.with_name("mine.toml")
    text = recipe.read_text().replace("[output]", '[output]\nfolder = "out-duckdb"')
    mine.write_text(text + '[engine]\nname = "duckdb"\nscratch = "scratch"\n')
    return mine


def stopped(recipe: Path, when: str = "judging") -> list[Path]:
    """A run that ends early; what it left in the scratch folder."""
    with pytest.raises(Stop):
        shoal.run(recipe, resume=True, progress=stopping(when))
    assert not (recipe.parent / "out-duckdb").exists()
    return sorted((recipe.parent / "scratch").iterdir())


def resumed(recipe: Path) -> tuple[list[str], dict[str, bytes]]:
    """The steps of a run that resumes, and what it writes."""
    steps: list[str] = []
    shoal.run(recipe, resume=True, progress=steps.append)
    assert list((recipe.parent / "scratch").iterdir()) == []
    return steps, {path.name: path.read_bytes() for path in sorted((recipe.parent / "out-duckdb").iterdir())}


def reads(steps: list[str]) -> bool:
    assert any(step.startswith("taking up") for step in steps) != any(step.startswith("reading: ") for step in steps)
    return any(step.startswith("reading: ") for step in steps)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "changed",
    [{}, {"missing": "drop"}, {"subject": 'subject = "person"'}, {"algorithm": "k-members"}],
    ids=str,
)
def test_a_resumed_run_writes_what_one_run_does(
    changed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.io.batches._BYTES", 9000)
    recipe = census(tmp_path, **changed)
    mine = placed(recipe)
    (left,) = stopped(mine)
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    steps, files = resumed(mine)
    assert not reads(steps)
    assert files == outcome(recipe, "memory")[2]


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", COLUMNS)
def test_types_are_kept(name: str, tmp_path: Path) -> None:
    times = f'[columns.{name}]\ntype = "categorical"' if isinstance(COLUMNS[name].dtype, pl.Datetime) else ""
    frame = people().with_columns(COLUMNS[name].alias(name))
    recipe = written(tmp_path, frame, roles=f'neutral = ["{name}"]', columns=times)
    mine = placed(recipe)
    stopped(mine)
    steps, files = resumed(mine)
    assert not reads(steps)
    assert files == outcome(recipe, "memory")[2]


def test_models_may_change_meanwhile(tmp_path: Path) -> None:
    mine = placed(census(tmp_path))
    stopped(mine)
    mine.write_text(mine.read_text().replace("k = 3", "k = 4"))
    assert not reads(resumed(mine)[0])


def test_without_a_seed_a_new_secret_is_drawn(tmp_path: Path) -> None:
    mine = placed(census(tmp_path))
    mine.write_text(mine.read_text().replace("seed = 1\n", ""))
    (left,) = stopped(mine)
    assert not [path for path in left.rglob("*") if "secret" in path.name]
    assert not reads(resumed(mine)[0])
    assert shoal.verify_release(tmp_path / "out-duckdb").passed


def touched(root: Path) -> None:
    os.utime(root / "people.csv", (time.time(), time.time() + 5))


def replaced(root: Path) -> None:
    """By as many bytes, and with the time that it had."""
    path = root / "people.csv"
    before, text = path.stat(), path.read_text()
    first, second, *rest = text.splitlines(keepends=True)
    path.write_text("".join([first, *rest, second]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def grown(root: Path) -> None:
    with (root / "people.csv").open("a") as file:
        _, *cells = (root / "people.csv").read_text().splitlines()[1].split(",")
        file.write(",".join(["Somebody Else", *cells]) + "\n")


def damaged(root: Path) -> None:
    (part, *_) = (root / "scratch").rglob("read/*.arrow")
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(data)


def lacking(root: Path) -> None:
    next((root / "scratch").rglob("values-0.parquet")).unlink()


def other_role(root: Path) -> None:
    recipe = root / "mine.toml"
    text = recipe.read_text().replace('neutral = ["visits"]\n', "")
    text = text.replace('identifiers = ["name"]', 'identifiers = ["name", "visits"]')
    recipe.write_text(text.replace('acknowledge = [', 'acknowledge = ["W-ROWS", '))


def other_missing(root: Path) -> None:
    recipe = root / "mine.toml"
    recipe.write_text(recipe.read_text().replace('missing = "value"', 'missing = "drop"'))


@pytest.mark.sample(4)
@pytest.mark.parametrize("change", [touched, replaced, grown, damaged, lacking, other_role, other_missing])
def test_whatever_differs_is_read_anew(change: Callable[[Path], None], tmp_path: Path) -> None:
    mine = placed(census(tmp_path))
    stopped(mine)
    change(tmp_path)
    steps, files = resumed(mine)
    assert reads(steps)
    text = mine.read_text()
    plain = tmp_path / "plain.toml"
    plain.write_text(text[: text.index("[engine]")].replace('folder = "out-duckdb"\n', ""))
    assert files == outcome(plain, "memory")[2]


def test_a_reading_that_was_stopped_leaves_nothing(tmp_path: Path) -> None:
    mine = placed(census(tmp_path))
    assert stopped(mine, "reading") == []
    assert reads(resumed(mine)[0])


def test_a_run_that_does_not_resume_clears_what_was_kept(tmp_path: Path) -> None:
    mine = placed(census(tmp_path))
    assert len(stopped(mine)) == 1
    shoal.run(mine)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_source_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    mine = placed(census(tmp_path))
    with pytest.raises(InputError, match="was changed while it was read"):
        shoal.run(mine, progress=lambda step: touched(tmp_path) if step.startswith("reading: ") else None)
    assert list((tmp_path / "scratch").iterdir()) == []
    assert not (tmp_path / "out-duckdb").exists()


def test_a_source_that_changes_before_it_is_read_is_not_kept_under_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, real = placed(census(tmp_path)), duckdb.scratch

    def meanwhile(folder: Path) -> Any:
        touched(tmp_path)
        return real(folder)

    monkeypatch.setattr(duckdb, "scratch", meanwhile)
    with pytest.raises(InputError, match="was changed while it was read"):
        shoal.run(mine, resume=True)
    assert list((tmp_path / "scratch").iterdir()) == []


def readable(folder: Path) -> None:
    folder.chmod(0o750)


def elsewhere(folder: Path) -> None:
    folder.rename(folder.parents[1] / "other")
    folder.symlink_to(folder.parents[1] / "other", target_is_directory=True)


def of_another(folder: Path) -> None:
    if os.getuid():
        pytest.skip("needs the right to give a folder away")
    os.chown(folder, 1, -1)


@pytest.mark.parametrize("change", [readable, elsewhere, of_another])
def test_nothing_is_taken_up_or_kept_where_others_may_be(change: Callable[[Path], None], tmp_path: Path) -> None:
    mine = placed(census(tmp_path))
    (left,) = stopped(mine)
    change(left)
    with pytest.raises(InputError, match="Others may have made"):
        shoal.run(mine, resume=True)
    assert not (tmp_path / "out-duckdb").exists()


def test_only_an_engine_that_keeps_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = census(tmp_path, 60)
    with pytest.raises(RecipeError, match="is resumed by the engine 'duckdb' alone"):
        shoal.run(recipe, resume=True)
    recipe.write_text(recipe.read_text() + '[engine]\nname = "duckdb"\n')
    assert execute(["run", str(recipe), "--resume"]) == 2
    assert "'scratch'" in " ".join(capsys.readouterr().err.split())
