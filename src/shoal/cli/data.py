"""``shoal data``: where public data sets come from, and whether your copy is the right one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.options import Json
from shoal.cli.papers import need_papers
from shoal.cli.show import say, show_json, steps


class DataSet(StrEnum):
    """Data sets that reproductions use and that you download yourself."""

    adult = "adult"


def data(
    name: Annotated[DataSet, typer.Argument(metavar="adult", help="The data set.", show_default=False)],
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="Where your copy is, to be checked.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say where a data set is to be had, and check a copy of it: rows, columns and hash."""
    need_papers("A data set of the reproductions")
    from shoal_papers.adult import FILE, SHA256, SOURCE

    found: dict[str, Any] = {"name": name.value, "file": FILE, "source": SOURCE, "sha256": SHA256}
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
            f"Then check it: shoal data {name.value} DIR.",
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
