"""Attacks on releases whose rows an engine keeps: on all of them where memory holds them, else on a keyed sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.data.classes import RowIds
from shoal.data.coding import canonical_text
from shoal.data.keys import Keys, key_hashes
from shoal.data.rows import Batch
from shoal.data.schema import Schema
from shoal.data.table import Table
from shoal.engines.base import Capability, OpenRows
from shoal.engines.memory import MemoryRows
from shoal.recoding.kinds import Trait
from shoal.recoding.recoded import Released
from shoal.recoding.recodings import Perturbed, Recoding, Redrawn
from shoal.recoding.rewriting import ByRow, rewritten
from shoal.risk.attacks.base import AttackFigure, figure
from shoal.risk.attacks.required import Measured, attack_release

# Rows that are attacked where nobody says how many memory holds.
SAMPLE = 1 << 20
# What anybody can count in the release, so that no sample may tell it.
_COUNTED = ("unique", "uniqueness")
# What others are in the way of, and what is learnt from all records; the rest errs by chance alone.
_CROWDED = (
    "unique-and-unchanged", "record-linkage", "recovered", "posterior", "trajectories", "gap patterns", "linkage",
    "confident",
)  # fmt: skip
_LEARNT = ("relinking", "rank matching", "frequency matching", "likelihood matching")
# What rows have beside their codes; no column can be called so.
_OWN = (" rows", " keys", " classes")


@dataclass(frozen=True, eq=False)
class Attacked:
    """What attacks found.

    Attributes
    ----------
    measured
        Figures and sentences.
    measurable
        The release as measures see it: noise is measured row by row, on what was attacked.
    notes
        What is to be said of that.
    """

    measured: Measured
    measurable: Released
    notes: Sequence[str] = ()


def attack_stream(released: Released, rows: OpenRows, keys: Keys, most: int) -> Attacked:
    """What a release must tell of attacks on it.

    Parameters
    ----------
    most
        Rows that memory holds; of more, a sample is attacked, and what it tells says so.
    """
    schema = released.domain.schema
    if released.made.attack is None and not (schema.pseudonym or schema.shifted or schema.coded):
        return Attacked(Measured(), released)
    n = released.domain.n
    if Capability.ARRAYS in rows.capabilities:
        return Attacked(attack_release(released, keys), released)
    twin = in_memory(released, rows, None if n <= most else _chosen(released, keys, _share(most / n)))
    found = attack_release(twin, keys)
    noise = released.made.has(Trait.NOISE)
    if n <= most:
        return Attacked(found, twin if noise else released)
    told = f"Measured on a sample of {_kept(twin):,} of the {_kept(released):,} records."
    counted = {one.sentence: _counted(one, released, rows) for one in found.figures if one.name in _COUNTED}
    figures = [counted[one.sentence] if one.name in _COUNTED else _said(one, told) for one in found.figures]
    telling = {
        code: f"{sentence} {told}{_erring([one for one in found.figures if one.sentence in sentence])}"
        for code, sentence in found.telling.items()
    }
    for before, one in counted.items():
        telling = {code: sentence.replace(before, one.sentence, 1) for code, sentence in telling.items()}
    measured = replace(found, figures=figures, telling=telling)
    return Attacked(measured, twin, [f"Measures: {told}"]) if noise else Attacked(measured, released)


def _share(most: float) -> float:
    """A share of so much at most: a half, a quarter, ..., or it would tell by how many are in it how many were read."""
    return 2.0 ** math.floor(math.log2(most))


def _kept(released: Released) -> int:
    """Released rows, since anybody who knows those that were read can tell how many are suppressed."""
    return released.domain.n - released.n_suppressed


def _said(one: AttackFigure, told: str) -> AttackFigure:
    return replace(one, sentence=f"{one.sentence} {told}{_erring([one])}")


def _erring(figures: Sequence[AttackFigure]) -> str:
    """Which way figures of a sample err, as further sentences."""
    names = [one.name for one in figures]
    said = ""
    if any(name.startswith(_CROWDED) for name in names):
        said += " Among all of them there are more to take somebody for, so that this is rather too high than too low."
    if any(name.startswith(_LEARNT) for name in names):
        said += " Whoever has all of them learns from more, so that this is rather too low than too high."
    return said


def _counted(one: AttackFigure, released: Released, rows: OpenRows) -> AttackFigure:
    """The same figure of all released rows: how many are alone with their quasi-identifiers."""
    counts = rows.frequency([]).rows
    if released.n_suppressed:
        counts = np.zeros_like(counts)
        placing, quasi = rows.placing(released.classmap), released.domain.schema.quasi
        for batch in rows.batches("kept"):
            kept = placing(batch) >= 0
            np.add.at(counts, rows.cell_of([batch.codes[name][kept] for name in quasi]), 1)
    total = int(counts.sum())
    share = float((counts == 1).sum() / total) if total else 0.0
    sentence = one.sentence.replace(f"{one.value:.1%}", f"{share:.1%}", 1)
    return figure(one.name, share, total, sentence)


def _chosen(released: Released, keys: Keys, share: float) -> Callable[[Batch, np.ndarray], np.ndarray]:
    """Which rows of a batch are in the sample: whole people, or groups, or single rows."""
    limit = np.uint64(int(share * 2.0**64))
    whose = _whose(released.domain.schema)
    groups = released.made.has(Trait.GROUPS)

    def chosen(batch: Batch, classes: np.ndarray) -> np.ndarray:
        if whose is not None:
            units = key_hashes(canonical_text(batch.as_read(whose)).fill_null(""))
        else:
            units = np.where(classes >= 0, classes.astype(np.uint64), batch.keys) if groups else batch.keys
        return np.flatnonzero(keys.bits("attack sample", units) < limit)

    return chosen


def _whose(schema: Schema) -> str | None:
    """The column by which the records of a person are linked, if any is."""
    return schema.subject or (schema.pseudonym[0] if schema.pseudonym else None)


def in_memory(
    released: Released, rows: OpenRows, chosen: Callable[[Batch, np.ndarray], np.ndarray] | None
) -> Released:
    """The same release with its rows, or some of them, in memory."""
    domain = released.domain
    linking = [name for name in (domain.schema.subject,) if name is not None]
    wanted = list(dict.fromkeys([*domain.schema.pseudonym, *domain.schema.shifted, *linking]))
    placing = rows.placing(released.classmap)
    arrays: dict[str, list[np.ndarray]] = {name: [] for name in (*_OWN, *domain.schema.quasi, *domain.schema.sensitive)}
    frames, written = [], []
    for batch in rows.batches("kept"):
        mine = placing(batch)
        if chosen is not None:
            places = chosen(batch, mine)
            batch, mine = batch.take(places), mine[places]
        for name, found in {**dict(zip(_OWN, (batch.rows, batch.keys, mine), strict=True)), **batch.codes}.items():
            arrays[name].append(found)
        frames.append(pl.DataFrame([batch.as_read(name) for name in wanted]))
        written.append(pl.DataFrame(rewritten(released.rewriting, batch, mine)))
    whole = {name: np.concatenate(several) for name, several in arrays.items()}
    numbers, row_keys, classes = (whole.pop(name) for name in _OWN)
    codes = {name: mine.astype(np.int32) for name, mine in whole.items()}
    columns = {
        name: replace(column, frequencies=np.bincount(codes[name], minlength=column.card))
        for name, column in domain.columns.items()
    }
    frame = pl.concat(frames)
    table = Table(
        kept=frame if wanted else pl.DataFrame({"row": numbers}),
        domain=replace(domain, n=numbers.size, columns=columns), codes=codes,
        row_keys=row_keys, subjects=_people(frame, domain.schema.subject), n_read=numbers.size, n_dropped=0,
    )  # fmt: skip
    there, of = np.unique(classes, return_inverse=True)
    kept = there[there >= 0]
    ids = RowIds((of - (there.size - kept.size)).astype(np.int32), kept.size)
    series = pl.concat(written) if released.rewriting else pl.DataFrame()
    return replace(
        released, rows=MemoryRows(table), classmap=ids, cells={n: c.take(kept) for n, c in released.cells.items()},
        rewriting={one.name: ByRow({one.name: one}) for one in series.iter_columns()},
        recoding=_of_rows(released.recoding, numbers, table),
    )  # fmt: skip


def _people(frame: pl.DataFrame, subject: str | None) -> np.ndarray | None:
    return None if subject is None else frame[subject].rank("dense").to_numpy().astype(np.int32) - 1


def _of_rows(recoding: Recoding, numbers: np.ndarray, table: Table) -> Recoding:
    """What the algorithm handed over, of some rows."""
    if isinstance(recoding, Perturbed):
        places = {name: mine[numbers] for name, mine in recoding.places.items()}
        true = {name: mine[numbers] for name, mine in recoding.true.items()}
        return replace(recoding, places=places, true=true)
    if isinstance(recoding, Redrawn):
        return replace(recoding, quasi=recoding.redrawing.codes(table.codes, table.row_keys))
    return recoding
