"""Write a release whole or not at all, and read one back."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from shoal.data.table import of_the_system, read_part, spilling
from shoal.errors import GateError, InputError
from shoal.io.cell_format import count_formulas
from shoal.io.copies import FILES, check_copies, write_copies
from shoal.io.evidence import (
    FACTS,
    RECIPE,
    SAMPLE_SECRET,
    SECRET,
    evidence_folder,
    frame_stamp,
    input_hash,
    manifest_bytes,
    refuse_linked_evidence,
    write_evidence,
)
from shoal.io.files import FORMATS, FORMULAS, write_frame
from shoal.io.folders import is_release, refuse_among
from shoal.io.frames import native
from shoal.io.hash_chain import check_journal, read_journal
from shoal.io.statistics_files import Labels
from shoal.io.transaction import BOUND, Holder, publish, resume
from shoal.params import choice
from shoal.release.gating import read_columns, sayable
from shoal.results import Gated, Release
from shoal.verify.folder import MANIFEST, read_folder
from shoal.verify.leaks import Shown, check_leaks
from shoal.verify.manifest_schema import REPORT
from shoal.verify.staged import check_staged
from shoal.verify.values import plain

if TYPE_CHECKING:
    from shoal.recipe.recipe import Recipe

PUBLIC = (MANIFEST, REPORT, *(f"{table}.{format}" for table in ("release", "sensitive") for format in FORMATS), *FILES)
PRIVATE = (RECIPE, SECRET, SAMPLE_SECRET, FACTS)


def write_release(
    release: Release,
    folder: str | Path,
    *,
    replace: bool = False,
    format: str = "csv",
    formulas: str = "keep",
    holders: Sequence[Holder] = (),
    copies: Sequence[str] = (),
    labels: Labels | None = None,
) -> Path:
    """Write data, manifest and report to ``folder`` and the evidence to ``<folder>.evidence`` beside it.

    Everything is written under temporary names first and renamed at the end; after a failure the disk is as
    it was before, and after a kill the next call, or the next run to that folder, makes it so. The log that the
    evidence names gets a line.

    Parameters
    ----------
    replace
        Swap an earlier release and its evidence for this one; otherwise both folders must be absent or empty.
    format
        ``"csv"`` or ``"parquet"``.
    formulas
        ``"escape"``: keep spreadsheets from running cells of a CSV file that begin like formulas.
    holders
        Files that keep something for the release, and change with it.
    copies
        Further formats that the tables are written in: ``"xlsx"``, ``"sav"`` (SPSS), ``"dta"`` (Stata).
    labels
        Of the source's columns and values, for these; those of values that the release does not show are left out.

    Returns
    -------
    Path
        The folder, as an absolute path.
    """
    choice("the output", "format", format, FORMATS)
    choice("the output", "formulas", formulas, FORMULAS)
    kinds = check_copies(copies)
    folder = Path(folder).resolve()

    def check() -> None:
        check_output(folder, release.evidence.get("source_path"), replace=replace)

    def fill(staged: Path, private: Path) -> str:
        _fill(release.gated, staged, format, formulas, kinds, labels)
        shown = Shown()
        check_staged(staged, release.gated.kept, see=shown.see)
        _refuse_leaks(release, staged, shown)
        digest = _sha256(staged / MANIFEST)
        write_evidence({**_private_facts(release), BOUND: digest}, private)
        return digest

    with writing(folder):
        resume(folder)
        check()
        publish(folder, fill, check, replace=replace, holders=holders, log=release.evidence.get("log"))
    return folder


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Around whatever is written to the folder of a release; what is no refusal of the system stays what it is."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        if not of_the_system(error):
            raise
        raise InputError(f"The release cannot be written to '{folder}': {told(error)}.") from None


def told(error: Exception) -> str:
    """Why writing failed; what Polars raises holds the system's words in a text alone."""
    full = os.strerror(errno.ENOSPC)
    if getattr(error, "errno", None) == errno.ENOSPC or full in str(error):
        return "the disk is full"
    return getattr(error, "strerror", None) or "the system refused it"


def aligned(release: Release) -> Any:
    """The released rows in the order of the input, null where a row was suppressed. Never to be published.

    A pandas frame gets its own index back, unless rows were dropped for missing cells.
    """
    frame, backend = release.gated.tables["release"], release.table.backend
    # No column can have the empty name, so it is free for the row number.
    rows = pl.DataFrame({"": np.arange(release.table.n - release.table.counterfeits)}).join(
        frame.with_columns(pl.Series("", release.source, dtype=pl.Int64)),
        on="",
        how="left",
        maintain_order="left",
    )
    result = native(rows.drop(""), backend)
    index = getattr(backend, "index", None)
    if index is not None and len(index) == len(result):
        result.index = index
    return result


def read_release(folder: str | Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The data and the manifest of a written release, as the verifier reads them."""
    frames, manifest = read_tables(folder)
    return frames["release"], manifest


def read_tables(folder: str | Path) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
    """The same with every table of the release: ``"release"``, and ``"sensitive"`` where there is one."""
    return read_folder(folder)


def check_output(folder: str | Path, source: str | Path | None, *, replace: bool) -> None:
    """Refuse a folder that a release cannot go to; cheap, so that it can be asked before any work is done."""
    folder = Path(folder).resolve()
    _check_place(folder, source)
    _check_free(folder, replace, PUBLIC)
    refuse_linked_evidence(folder)
    _check_free(evidence_folder(folder), replace, PRIVATE)


def _check_place(folder: Path, source: str | Path | None) -> None:
    """Refuse a folder in which private and public things would mix, or the source be lost."""
    if any(part.suffix == ".evidence" for part in (folder, *folder.parents)):
        raise InputError(f"'{folder}' is inside an evidence folder, which is private: choose another folder.")
    for parent in folder.parents:
        if is_release(parent):
            raise InputError(f"'{folder}' is inside a release, which is public: choose another folder.")
    if source is not None and Path(source).resolve().is_relative_to(folder):
        raise InputError(f"'{folder}' holds the source itself: choose another folder.")
    if source is not None:
        # Or the next run would read what this one has written.
        refuse_among(folder, Path(source), "The output folder", PUBLIC)
        refuse_among(evidence_folder(folder), Path(source), "The evidence folder", PRIVATE)


def _check_free(folder: Path, replace: bool, ours: tuple[str, ...]) -> None:
    """Refuse a folder in use; one that is to be replaced must hold nothing but files of ours."""
    try:
        found = sorted(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise InputError(f"'{folder}' is a file: choose another folder.") from None
    except OSError as error:
        raise InputError(f"'{folder}' cannot be read: {error.strerror}.") from None
    if found and not replace:
        raise InputError(f"'{folder}' is not empty: choose another folder, or --replace what is in it.")
    foreign = [name for name in found if name not in ours]
    if foreign:
        raise InputError(
            f"'{folder}' also holds '{foreign[0]}', which is no part of a release, so it is not replaced: "
            "move that away first."
        )


def _refuse_leaks(release: Release, folder: Path, shown: Shown) -> None:
    """Refuse files that tell what was read and is not released."""
    # What a CSV file or a copy shows is its cells, which were read back already.
    seen = [path for path in folder.iterdir() if path.suffix != ".csv" and path.name not in FILES]
    files = {path.name: path.read_bytes() for path in seen}
    terms = sayable(release.released.public_domain, release.evidence.get("models", ()))
    check = check_leaks(files, read_columns(release.table), terms, shown)
    if not check.passed:
        raise GateError(f"The gate refused the release, so nothing is written: {check.detail}")


def _fill(
    gated: Gated, folder: Path, format: str, formulas: str, kinds: Sequence[str], labels: Labels | None
) -> None:
    facts: dict[str, Any] = {}
    for name, frame in gated.kept.items():
        if frame_stamp(frame) != gated.stamps[name]:
            raise GateError("The release was changed after it had passed the gate, so nothing is written: run again.")
        data = folder / f"{name}.{format}"
        write_frame(frame, data, format, formulas)
        facts[name] = {"file": data.name, "sha256": _sha256(data), "rows": frame.height}
    (folder / REPORT).write_bytes(gated.report)
    described = facts.pop("release") | {"format": format} | facts
    if kinds:
        copies = write_copies(gated.tables, folder, kinds=kinds, labels=labels)
        described["copies"] = [{"file": path.name, "sha256": _sha256(path)} for path in copies]
    if formulas == "escape" and format == "csv":
        described["formulas"] = "escaped"
    manifest: Mapping[str, Any] = {
        **json.loads(gated.manifest),
        "data": described,
        "report": {"file": REPORT, "sha256": _sha256(folder / REPORT)},
    }
    (folder / MANIFEST).write_bytes(manifest_bytes(manifest))


def _private_facts(release: Release) -> Mapping[str, Any]:
    """The evidence, with the worst class of every verdict and the keyed hash of the rows that went in."""
    facts = {**release.evidence, "worst": [verdict.value for verdict in release.verdict]}
    secret = release.evidence.get("secret")
    if secret is None:
        return facts
    table = release.table
    return {**facts, "input_hash": input_hash(table.kept.head(table.n - table.counterfeits), secret)}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ----------------------------------------
# A table that is written as it is judged, batch by batch.


# Rows of a row group of a Parquet file, whatever the batches were.
_GROUP = 1 << 18


class Growing:
    """A CSV or Parquet file whose rows come in batches; the same rows give the same bytes, however they are divided.

    Parameters
    ----------
    path
        The file, whose ending says what it is.
    parts
        A private folder for the batches, of which a Parquet file is made, and which either is compared with in the end.
    formulas
        As in :func:`shoal.io.files.write_frame`.
    """

    def __init__(self, path: Path, parts: Path, formulas: str = "keep") -> None:
        self.path = path
        self.rows = self.formulas = 0
        self._parts = parts
        self._how = formulas
        self._number = 0
        self._texts: list[str] = []
        self._seen = hashlib.sha256()

    def add(self, frame: pl.DataFrame) -> None:
        """Write rows, whose texts may be kept as numbers of the different ones."""
        with spilling():
            frame.write_ipc(self._parts / f"{self._number:08d}.arrow", compression="uncompressed")
        self._texts = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Enum)]
        if self._csv:
            frame = plain(frame)
            text = io.BytesIO()
            write_frame(frame, text, "csv", self._how, header=self._number == 0)
            self._seen.update(text.getbuffer())
            with self.path.open("ab") as file:
                file.write(text.getbuffer())
            names = [] if self._number else frame.columns
            self.formulas += count_formulas({"": frame}, names)
        self._number += 1
        self.rows += frame.height

    def finish(self, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What the manifest says of the file.

        Parameters
        ----------
        values
            What it says of the table of sensitive values, where there is one.
        """
        if not self._csv:
            self._told().sink_parquet(self.path, row_group_size=_GROUP)
            with self.path.open("rb") as file:
                self._seen = hashlib.file_digest(file, "sha256")
        found = {"file": self.path.name, "sha256": self._seen.hexdigest(), "rows": self.rows}
        found["format"] = self.path.suffix.removeprefix(".")
        if values is not None:
            found["sensitive"] = {key: values[key] for key in ("file", "sha256", "rows")}
        return found | ({"formulas": "escaped"} if self._csv and self._how == "escape" else {})

    def refuse_more(self) -> None:
        """Refuse a finished Parquet file that holds more than its cells: written anew, these have the same bytes."""
        if self._csv:
            return
        again = self._parts / "again"
        written = pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
        with spilling():
            written.sink_parquet(again, row_group_size=_GROUP)
        with again.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != self._seen.hexdigest():
                raise GateError("The Parquet file holds more than its cells, so it is not published: run again.")
        again.unlink()

    @property
    def given(self) -> pl.LazyFrame:
        """The rows as they were given."""
        files = [self._parts / f"{number:08d}.arrow" for number in range(self._number)]
        return pl.scan_ipc(files, glob=False, hive_partitioning=False)

    @property
    def judged(self) -> pl.LazyFrame:
        """The same with all texts one by one."""
        return self.given.with_columns(pl.col(self._texts).cast(pl.String))

    def _told(self) -> pl.LazyFrame:
        """The same for whoever takes one batch after the other: texts are looked up, which is faster than a cast."""
        schema = self.judged.collect_schema()

        def batches(columns: object, predicate: object, rows: object, size: object) -> Iterator[pl.DataFrame]:
            for number in range(self._number):
                yield _texts(read_part(self._parts / f"{number:08d}.arrow"))

        return register_io_source(batches, schema=schema)

    @property
    def _csv(self) -> bool:
        return self.path.suffix == ".csv"


def _texts(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with their texts one by one."""
    return rows.with_columns(
        column.dtype.categories.gather(column.to_physical()).alias(column.name)
        for column in rows.iter_columns()
        if isinstance(column.dtype, pl.Enum)
    )


def log_of(recipe: Recipe) -> str | None:
    """Return the log that a recipe names, None where it names none."""
    return None if recipe.output.log is None else str(recipe.resolve(recipe.output.log))


def refuse_unlogged(recipe: Recipe) -> None:
    """Refuse, before any work, a log that no line can be added to, or that somebody changed."""
    if (log := log_of(recipe)) is None:
        return
    place = check_journal(log, release=recipe.resolve(recipe.output.folder))
    if place.exists():
        read_journal(place)
