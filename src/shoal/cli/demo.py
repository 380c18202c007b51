"""``shoal demo``: the synthetic census, anonymised."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.options import Json, Replace, Seed
from shoal.cli.run import carry_out
from shoal.cli.show import say, show_json
from shoal.cli.summary import release_data, show_release
from shoal.errors import InputError

_FILES = {"census.csv", "recipe.toml"}


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the release goes.")
    ] = Path("demo-out"),
    rows: Annotated[int, typer.Option(metavar="NUMBER", help="Rows of the census.")] = 10_000,
    seed: Seed = None,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Anonymise a built-in census of invented people, to see what Shoal does."""
    folder = Path(os.path.abspath(output))
    source = folder.with_name(f"{folder.name}.source")
    _refuse_losses(source, replace)
    with _fresh(source):
        write_census(source, folder, rows, seed)
        release, _ = carry_out(source / "recipe.toml", replace=replace)
    if as_json:
        show_json(release_data(release, output) | {"source": str(_shown(output))})
        return
    say(f"A census of {rows:,} rows about invented people, anonymised.", "")
    show_release(release, output)
    say(
        f"  shoal check {_shown(output) / 'recipe.toml'}",
        f"  edit that recipe, then: shoal run {_shown(output) / 'recipe.toml'} --replace",
    )


def write_census(folder: Path, release: Path, rows: int, seed: int | None) -> None:
    """Write a census and its recipe into an existing folder; ``release`` is where the recipe writes to."""
    from shoal.io.census import generate
    from shoal.io.census_hierarchies import recipe_text

    generate(rows, seed=1 if seed is None else seed).write_csv(folder / "census.csv")
    target = Path("..") / release.name
    (folder / "recipe.toml").write_text(recipe_text("census.csv", target.as_posix(), seed=seed), "utf-8")


def _shown(output: Path) -> Path:
    return output.with_name(f"{output.name}.source")


def _refuse_losses(source: Path, replace: bool) -> None:
    """An earlier demonstration may be replaced, other people's files may not."""
    if not source.exists():
        return
    if not replace:
        raise InputError(f"'{source}' exists: choose another folder with -o, or --replace it.")
    if not source.is_dir() or {path.name for path in source.iterdir()} - _FILES:
        raise InputError(
            f"'{source}' holds other files, so it is not replaced: choose another folder with -o."
        )


@contextmanager
def _fresh(folder: Path) -> Iterator[None]:
    """Put an empty folder in the place of ``folder``; if something goes wrong, all is as it was."""
    parents = [parent for parent in folder.parents if not parent.exists()]
    folder.parent.mkdir(parents=True, exist_ok=True)
    old = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.old") if folder.exists() else None
    if old is not None:
        folder.rename(old)
    try:
        folder.mkdir()
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if old is not None:
            old.rename(folder)
        for parent in parents:
            parent.rmdir()
        raise
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)
