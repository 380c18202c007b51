"""Write a release whole or not at all, and read one back."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from shoal.data.table import of_the_system, spilling
from shoal.data.texts import is_held
from shoal.engines.base import Keeping
from shoal.engines.prefetch import ahead
from shoal.errors import GateError, InputError
from shoal.io.batches import open_batches
from shoal.io.copies import FILES, check_copies, write_copies
from shoal.io.evidence import (
    FACTS,
    RECIPE,
    SAMPLE_SECRET,
    SECRET,
    evidence_folder,
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
from shoal.release.gating import sayable
from shoal.release.sinks import Sink, texts_told
from shoal.results import Release
from shoal.verify.folder import MANIFEST, read_folder
from shoal.verify.leaks import Leaks
from shoal.verify.manifest_schema import REPORT
from shoal.verify.staged import check_staged

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
    target: Target | None = None,
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
    target
        A table of a database that the released rows go to as well.

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
        written = _fill(release, staged, format, formulas, kinds, labels)
        leaks = leaks_of(release, {name: (staged / name).read_bytes() for name in (MANIFEST, REPORT)})
        tables = {name: release.gated.sink.rows(name) for name in release.gated.sink.names}
        with ThreadPoolExecutor(1, "shoal-again") as pool:
            # One writes them anew while the other reads them; where either fails, what has begun is waited for.
            alone = [pool.submit(_refuse_more, path, private / path.stem) for path in written]
            try:
                check_staged(staged, tables, see=leaks.see, ahead=ahead)
                for one in alone:
                    one.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
        refuse_leaks(release, leaks)
        digest = _sha256(staged / MANIFEST)
        write_evidence({**_private_facts(release), BOUND: digest}, private)
        if target is not None:
            target.write(release, written[0], digest)
        return digest

    with writing(folder):
        resume(folder)
        check()
        publish(
            folder, fill, check, replace=replace, holders=holders, log=release.evidence.get("log"),
            **({} if target is None else {"then": target.commit}),
        )  # fmt: skip
    return folder


@dataclass(frozen=True, eq=False, kw_only=True)
class Target:
    """A table of a database that a release goes to.

    Attributes
    ----------
    unchanged
        Columns that keep the type that they have there.
    """

    database: Keeping
    unchanged: Collection[str]
    progress: Callable[[str], None]

    def write(self, release: Release, path: Path, digest: str) -> None:
        """Copy the gated file, for nobody to see yet."""
        self.progress("writing the table")
        sink = release.gated.sink
        types = [pl.String() if is_held(kind) else kind for kind in sink.rows("release").collect_schema().dtypes()]
        comment = f"Shoal release, SHA-256 of its manifest {digest}"
        found = self.database.write(open_batches(path).frames(), types, self.unchanged, comment)
        rows = sink.height("release")
        if found != rows:
            raise InputError(f"The database took {found:,} of {rows:,} rows, so nothing is written: run again.")

    def commit(self) -> None:
        """Let everybody see it."""
        self.database.commit()


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
    frame, source = release.gated.tables["release"], release.source
    backend = release.table.backend
    # No column can have the empty name, so it is free for the row number.
    rows = pl.DataFrame({"": np.arange(release.table.n - release.table.counterfeits)}).join(
        frame.with_columns(pl.Series("", source, dtype=pl.Int64)),
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


def leaks_of(release: Release, files: Mapping[str, bytes]) -> Leaks:
    """Look for what was read and is not released in the public files that are no tables."""
    return Leaks(files, sayable(release.released.public_domain, release.evidence.get("models", ())))


def refuse_leaks(release: Release, leaks: Leaks) -> None:
    """Refuse files that tell what was read and is not among the released rows, which were shown before."""
    for name, column in release.rows.read_columns():
        leaks.read(name, column)
    check = leaks.report()
    if not check.passed:
        raise GateError(f"The gate refused the release, so nothing is written: {check.detail}")


def _fill(
    release: Release, folder: Path, format: str, formulas: str, kinds: Sequence[str], labels: Labels | None
) -> list[Path]:
    """Write all public files; gives those of the tables."""
    gated, facts, written = release.gated, dict[str, Any](), []
    for name in gated.sink.names:
        data = folder / f"{name}.{format}"
        _write_table(gated.sink, name, data, formulas)
        facts[name] = {"file": data.name, "sha256": _sha256(data), "rows": gated.sink.height(name)}
        written.append(data)
    (folder / REPORT).write_bytes(gated.report)
    described = facts.pop("release") | {"format": format} | facts
    if kinds:
        copied = write_copies(gated.tables, folder, kinds=kinds, labels=labels)
        described["copies"] = [{"file": path.name, "sha256": _sha256(path)} for path in copied]
    if formulas == "escape" and format == "csv":
        described["formulas"] = "escaped"
    manifest: Mapping[str, Any] = {
        **json.loads(gated.manifest),
        "data": described,
        "report": {"file": REPORT, "sha256": _sha256(folder / REPORT)},
    }
    (folder / MANIFEST).write_bytes(manifest_bytes(manifest))
    return written


# Rows of a row group of a Parquet file, whatever the batches were.
_GROUP = 1 << 18


def _write_table(sink: Sink, name: str, path: Path, formulas: str) -> None:
    """Write a file; the same rows give the same bytes, however they are divided."""
    if path.suffix == ".parquet":
        _told(sink, name).sink_parquet(path, row_group_size=_GROUP)
        return
    with path.open("wb") as file:
        for number, frame in enumerate(sink.batches(name)):
            write_frame(frame, file, "csv", formulas, header=number == 0)


def _told(sink: Sink, name: str) -> pl.LazyFrame:
    """A table with its texts one by one, a batch at a time."""
    schema = sink.rows(name).collect_schema()
    plain = {column: pl.String() if is_held(kind) else kind for column, kind in schema.items()}

    def batches(columns: object, predicate: object, rows: object, size: object) -> Iterator[pl.DataFrame]:
        for frame in sink.batches(name):
            yield texts_told(frame)

    return register_io_source(batches, schema=plain)


def _refuse_more(path: Path, again: Path) -> None:
    """Refuse a Parquet file that holds more than its cells: written anew, these have the same bytes."""
    if path.suffix == ".csv":
        return
    written = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    with spilling():
        written.sink_parquet(again, row_group_size=_GROUP)
    if _sha256(again) != _sha256(path):
        raise GateError("The Parquet file holds more than its cells, so it is not published: run again.")
    again.unlink()


def _private_facts(release: Release) -> Mapping[str, Any]:
    """The evidence, with the worst class of every verdict and the keyed hash of the rows that went in."""
    facts = {**release.evidence, "worst": [verdict.value for verdict in release.verdict]}
    secret = release.evidence.get("secret")
    if secret is None or "input_hash" in facts:
        return facts
    table = release.table
    return {**facts, "input_hash": input_hash(table.kept.head(table.n - table.counterfeits), secret)}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
