"""``shoal data``: the files that the documentation works with, and where public data sets come from."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.options import Json
from shoal.cli.papers import need_papers
from shoal.cli.show import say, show_json, steps
from shoal.errors import InputError


class DataSet(StrEnum):
    """Files about invented people, which are written, and a data set that you download yourself."""

    hospital = "hospital"
    patients = "patients"
    adult = "adult"


def data(
    name: Annotated[
        DataSet, typer.Argument(metavar="hospital|patients|adult", help="The data set.", show_default=False)
    ],
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="Where it goes; of adult, where your copy is.", show_default=False),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an earlier file.")] = False,
    as_json: Json = False,
) -> None:
    """Write an example file about invented people, or say where a public data set is to be had and check a copy."""
    if name is DataSet.adult:
        _adult(folder, as_json)
        return
    path = _written(name.value, Path() if folder is None else folder, replace)
    if as_json:
        show_json({"name": name.value, "path": str(path)})
        return
    say(
        f"Written: {path}, about invented people.",
        "Next:",
        f"  shoal start {path} -o {path.with_suffix('.toml')}",
    )


def _written(name: str, folder: Path, replace: bool) -> Path:
    from shoal.io import census

    path = folder / f"{name}.csv"
    if path.exists() and not replace:
        raise InputError(f"'{path}' exists: choose another folder, or --replace it.")
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(census.hospital() if name == "hospital" else census.patients())
    return path


def _adult(folder: Path | None, as_json: bool) -> None:
    need_papers("A data set of the reproductions")
    from shoal_papers.adult import FILE, SHA256, SOURCE

    found: dict[str, Any] = {"name": "adult", "file": FILE, "source": SOURCE, "sha256": SHA256}
    if folder is not None:
        with steps() as step:
            step("checking")
            found["copy"] = _checked(folder)
    if as_json:
        show_json(found)
        return
    if folder is None:
        say(
            f"Download '{FILE}' from {SOURCE}.",
            f"Its SHA-256 is {SHA256}.",
            "Then check it: shoal data adult DIR.",
        )
        return
    copy = found["copy"]
    say(f"'{copy['path']}' has {copy['columns']} columns and {copy['rows']} rows, {copy['complete']} of them complete.")
    say("Its hash is right." if copy["same_hash"] else f"warning: its SHA-256 is {copy['sha256']}, not {SHA256}.")


def _checked(folder: Path) -> dict[str, Any]:
    """Rows and columns have to be right; another hash is only said, as line ends may differ."""
    from shoal_papers.adult import SHA256, check_adult, find_adult, read_adult
    from shoal_papers.data import file_hash

    path = find_adult(folder)
    frame = read_adult(path)
    check_adult(frame)
    digest = file_hash(path)
    return {
        "path": str(path), "rows": frame.height, "complete": frame.drop_nulls().height, "columns": frame.width,
        "sha256": digest, "same_hash": digest == SHA256,
    }  # fmt: skip
