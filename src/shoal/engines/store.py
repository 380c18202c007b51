"""A source in a scratch store of narrow whole numbers: one reading, one coding, and rows in any order afterwards."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from shoal.data.classes import ClassMap, Grouped, RowIds, Split, Together
from shoal.data.coding import canonical_text
from shoal.data.domain import Domain, Packing, distinct
from shoal.data.gather import Gathering
from shoal.data.keys import Keys, key_hashes
from shoal.data.schema import Schema
from shoal.data.stats import Attribute, GroupStats, Possible, without_changing
from shoal.data.table import Table, read_part, spilling
from shoal.engines.base import Arrange, Capability, Dictionaries
from shoal.engines.external_rows import KeptRows, Reading, StoredBatch
from shoal.engines.memory import MemoryRows, count_people
from shoal.engines.prefetch import ahead, go_on
from shoal.engines.sql import ByClass
from shoal.engines.sql_rows import Database
from shoal.kernels.histograms import bucket_rows
from shoal.recoding.publish import RELEASE_ORDER

# ----------------------------------------
# Rows on disk in the order of their random bits, without sorting all of them at once.
#
# The bits are uniform, so their highest ones deal the rows into buckets of about the same size; the buckets come
# one after another, each sorted by itself.


_BUCKET = 1 << 19  # rows
_TOGETHER = 8  # parts that are dealt at once, so that there are fewer files


def by_bits(parts: Iterable[pl.DataFrame], n: int, folder: Path) -> Iterator[pl.DataFrame]:
    """Batches of rows ordered by ``b``, then by ``r``.

    Parameters
    ----------
    parts
        Rows by ``r``.
    n
        How many there are in all.
    folder
        A private folder to keep them in meanwhile.
    """
    bits = min(max((n - 1) // _BUCKET, 0).bit_length(), 16)
    folder = Path(tempfile.mkdtemp(dir=folder))
    try:
        for number, dealt in enumerate(_together(parts)):
            bucket = _buckets(dealt["b"].to_numpy(), bits)
            order = np.argsort(bucket, kind="stable")
            rows, ends = dealt[order], np.searchsorted(bucket[order], np.arange((1 << bits) + 1))
            for to in range(1 << bits):
                place, count = folder / f"{to}", int(ends[to + 1] - ends[to])
                if count:
                    with spilling():
                        place.mkdir(0o700, exist_ok=True)
                        rows.slice(int(ends[to]), count).write_ipc(place / f"{number:08d}", compression="uncompressed")
        for to in range(1 << bits):
            place = folder / f"{to}"
            if place.is_dir():
                parts = [read_part(one) for one in sorted(place.iterdir())]
                yield in_order(pl.concat(parts, rechunk=True))
                shutil.rmtree(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _buckets(keys: np.ndarray, bits: int) -> np.ndarray:
    """The highest bits, in a type that is sorted by counting."""
    return (keys >> np.uint64(64 - bits)).astype(np.uint16) if bits else np.zeros(keys.size, dtype=np.uint16)


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows by ``b``, then by ``r``; they came by ``r``, so that a stable order keeps those of one ``b`` by it."""
    keys = rows["b"].to_numpy()
    order = np.argsort(keys)
    if (np.diff(keys[order]) == 0).any():
        order = np.argsort(keys, kind="stable")
    return rows[order]


def _together(parts: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The same rows in fewer parts, each in one piece: rows are taken from several in twice the time."""
    waiting: list[pl.DataFrame] = []
    for part in parts:
        waiting.append(part)
        if len(waiting) == _TOGETHER:
            yield pl.concat(waiting, rechunk=True)
            waiting = []
    if waiting:
        yield pl.concat(waiting, rechunk=True)


class Store:
    """Rows on disk in the order of the source: first the numbers of their values, then their codes.

    Parameters
    ----------
    folder
        A private folder.
    """

    READ = "read"

    def __init__(self, folder: Path, schema: Schema) -> None:
        self.schema = schema
        self._read, self.coded = folder / self.READ, folder / "coded"
        for one in (self._read, self.coded):
            one.mkdir(0o700, exist_ok=True)
        self.n_parts = 0
        self.places = {name: at for at, name in enumerate([*schema.quasi, *schema.sensitive])}
        self.others: list[str] = []
        self.kinds: dict[str, pl.DataType] = {}

    def gather(self, gathering: Gathering, frame: pl.DataFrame) -> None:
        """Take in a batch as it was read."""
        batch = gathering.see(frame)
        self._learn(batch.others)
        if not batch.positions.size:
            return
        cards = {name: gathering.columns[name].card for name in self.places}
        numbers = {f"i{at}": batch.ids[name].astype(_narrow(cards[name])) for name, at in self.places.items()}
        if self.schema.subject is not None:
            numbers["s"] = batch.ids[self.schema.subject]
        others = [_unchanging(column).alias(f"o{at}") for at, column in enumerate(batch.others.get_columns())]
        part = pl.DataFrame({"p": batch.positions, **numbers}).hstack(others)
        with spilling():
            part.write_ipc(self._read / _read_part(self.n_parts), compression="uncompressed")
        self.n_parts += 1

    def _learn(self, others: pl.DataFrame) -> None:
        self.others = others.columns
        self.kinds = {name: kind for name, kind in others.schema.items() if _changes(kind)}

    def code(self, known: Dictionaries, keys: Keys, progress: Callable[[str], None]) -> None:
        """Write codes in the place of values, and where each row goes in a release."""
        row = 0
        for number, coded in enumerate(ahead(self._coded(known, keys))):
            self._write(number, coded)
            (self._read / _read_part(number)).unlink()
            row += coded.height
            progress(f"coding the rows: {row:,}")

    def _coded(self, known: Dictionaries, keys: Keys) -> Iterator[pl.DataFrame]:
        """The rows of one part after the other, coded."""
        row = 0
        for number in range(self.n_parts):
            part = read_part(self._read / _read_part(number))
            found: dict[str, np.ndarray | pl.Series] = {"r": np.arange(row, row + part.height, dtype=np.int64)}
            for name, at in self.places.items():
                ids = part[f"i{at}"].to_numpy()
                found[f"c{at}"] = known.codes[name].astype(_narrow(known.domain.columns[name].card))[ids]
                if name in known.spelled:
                    # One type for all parts: there were fewer values when the first of them were read.
                    found[f"v{at}"] = ids.astype(_narrow(known.codes[name].size))
            if self.schema.subject is not None:
                found["s"] = part["s"]
            coded = pl.DataFrame(found).hstack(part.select(f"o{at}" for at in range(len(self.others))))
            yield self._drawn(coded, part["p"], keys)
            row += part.height

    def take(self, part: pl.DataFrame, known: Dictionaries, keys: Keys) -> None:
        """Take in a batch that was coded elsewhere: ``r``, ``c0``, ..., ``v0``, ..., ``s`` and ``o0``, ..."""
        codes = {at: part[f"c{at}"].to_numpy().astype(_narrow(known.domain.columns[name].card))
                 for name, at in self.places.items()}  # fmt: skip
        narrow = [pl.Series(f"c{at}", mine) for at, mine in codes.items()]
        self._write(self.n_parts, self._drawn(part.with_columns(narrow), part["r"], keys))
        self.n_parts += 1

    def _drawn(self, coded: pl.DataFrame, positions: pl.Series, keys: Keys) -> pl.DataFrame:
        """Coded rows with where each goes in a release."""
        row_keys = positions.to_numpy().astype(np.uint64)
        if self.schema.key is not None:
            found = coded[f"o{self.others.index(self.schema.key)}"]
            row_keys = key_hashes(canonical_text(found.cast(self.kinds.get(self.schema.key, found.dtype))))
        drawn = pl.Series("b", keys.bits(RELEASE_ORDER, row_keys)), pl.Series("u", row_keys)
        return coded.select("r", *drawn, pl.exclude("r"))

    def _write(self, number: int, coded: pl.DataFrame) -> None:
        """Keep coded rows. Random bits hardly get smaller, and codes are as narrow as they can be: packing them costs
        more, every time they are read, than it saves."""
        with spilling():
            coded.write_parquet(
                self.coded / _part(number), compression="uncompressed", row_group_size=1 << 18, statistics=False
            )

    def parts(self, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
        """The coded rows in the order of the source, or some columns of them."""
        for number in range(self.n_parts):
            go_on()  # all of them are dealt before the first row of a release is there
            yield pl.read_parquet(self.coded / _part(number), columns=columns, glob=False, hive_partitioning=False)


class StoredRows(KeptRows):
    """Rows in a store, counted by a database that reads it."""

    capabilities = frozenset({Capability.LOAD, Capability.SOURCE_ORDER, Capability.PEOPLE, Capability.GUARDS})

    def __init__(self, reading: Reading, store: Store, database: Database) -> None:
        super().__init__(reading, database)
        self._store = store

    def knowing(self, domain: Domain) -> StoredRows:
        """The same rows with something else known of them."""
        found = StoredRows(self._told(domain), self._store, self.database)
        found._shares_cells(self)
        return found

    def parts(self, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
        """The coded rows in the order of the source, or some columns of them."""
        return self._store.parts(columns)

    def shuffled(self) -> Iterator[pl.DataFrame]:
        """The coded rows in the order of a release."""
        return by_bits(self._store.parts(), self.domain.n, self._store.coded.parent)

    def arranged(self, bits: Arrange) -> Iterator[StoredBatch]:
        """Rows in another order, batch by batch: told numbers and keys, ``bits`` gives who is kept, and by what."""

        def dealt() -> Iterator[pl.DataFrame]:
            for part in self._store.parts():
                kept, mine = bits(part["r"].to_numpy(), part["u"].to_numpy())
                yield part[kept].with_columns(pl.Series("b", mine))

        for part in by_bits(dealt(), self.domain.n, self.private("dealt")):
            yield self.reading.batch(part)

    def codes_of(self, name: str) -> np.ndarray:
        """int32 codes of a column, one a row."""
        return self._narrow_codes(name).astype(np.int32)

    def _narrow_codes(self, name: str) -> np.ndarray:
        """The same in as few bytes as they are stored in."""
        place = f"c{self.places[name]}"
        return _filled(self._store.parts([place]), place, self.domain.n, _narrow(self.domain.columns[name].card))

    def coded(self) -> Iterator[tuple[Mapping[str, np.ndarray], np.ndarray]]:
        """Codes of all columns and what random draws are keyed by, batch by batch, in the order of their numbers."""
        for part in self._store.parts(["u", *(f"c{at}" for at in self.places.values())]):
            yield {name: part[f"c{at}"].to_numpy() for name, at in self.places.items()}, part["u"].to_numpy()

    def row_keys(self) -> np.ndarray:
        """uint64, what the random draws of every row are keyed by."""
        return _filled(self._store.parts(["u"]), "u", self.domain.n, np.uint64)

    def row_classes(self, classes: Grouped) -> np.ndarray:
        """int32 class of every row."""
        quasi = [f"c{self.places[name]}" for name in self.domain.schema.quasi]
        found = [np.zeros(0, dtype=np.int32)]
        for part in self._store.parts(["r", *quasi]):
            found.append(self.class_of(classes, part["r"].to_numpy(), [part[place].to_numpy() for place in quasi]))
        return np.concatenate(found)

    def fetched(self, rows: np.ndarray | None, attributes: Sequence[Attribute]) -> MemoryRows:
        """Some rows, or all of them, as arrays of codes; tuples of columns are coded as in the whole."""
        kept = slice(None) if rows is None else rows
        codes = {name: self._narrow_codes(name)[kept].astype(np.int32) for name in self.places}
        subjects = self._subjects
        tuples = [one.names for one in attributes if one.column is None]
        joint = {names: self._tuple_codes(names, codes) for names in tuples}
        whole = replace(self.domain, joint={**self.domain.joint, **{names: self.joined(names) for names in tuples}})
        columns = {
            name: replace(column, frequencies=np.bincount(codes[name], minlength=column.card))
            for name, column in self.domain.columns.items()
        }
        row_keys = self.row_keys()[kept]
        table = Table(
            kept=self._frame(codes, kept),
            domain=replace(whole, n=row_keys.size, columns=columns), codes=codes, row_keys=row_keys,
            subjects=None if subjects is None else subjects[kept],
            n_read=row_keys.size, n_dropped=0, joint=joint,
        )  # fmt: skip
        return MemoryRows(table)

    def _frame(self, codes: Mapping[str, np.ndarray], kept: np.ndarray | slice) -> pl.DataFrame:
        """Of some rows, the quasi-identifiers as they are published where nothing changes them, and the guards."""
        schema = self.domain.schema
        found = [self.values(name).gather(codes[name]).alias(name) for name in schema.quasi]
        if schema.guard is not None:
            place = f"o{self._store.others.index(schema.guard)}"
            guards = pl.concat([part[place] for part in self._store.parts([place])])
            found.append((guards if isinstance(kept, slice) else guards.gather(kept)).alias(schema.guard))
        return pl.DataFrame(found)

    def stats(self, classes: ClassMap, attributes: Sequence[Attribute]) -> GroupStats:
        """Sizes and histograms of classes; those that are given row by row are counted here, not in the database."""
        if isinstance(classes, RowIds):
            return self._by_class(classes, attributes)
        if isinstance(classes, Split) and isinstance(classes.classes, RowIds):
            return self._split(classes.classes, classes.name, attributes)
        if isinstance(classes, Together) and isinstance(classes.classes, RowIds):
            return self._by_class(RowIds(np.minimum(classes.classes.ids, 0), 1), attributes)
        return super().stats(classes, attributes)

    def _by_class(self, classes: RowIds, attributes: Sequence[Attribute]) -> GroupStats:
        """Statistics of classes that are given row by row."""
        rows, offsets = bucket_rows(classes.ids, classes.groups)
        subjects, count = self._subjects, self.domain.n_subjects
        sizes = count_people(rows, offsets, subjects)
        found = {}
        for one in attributes:
            who = subjects[rows] if one.people and subjects is not None else None
            mine = ByClass(
                attribute=one, offsets=offsets, values=self._codes(one)[rows], subjects=who, n_subjects=count
            )
            found[one.key] = mine.histogram()
        return GroupStats(sizes=sizes, rows=np.diff(offsets), histograms=found)

    def _split(self, classes: RowIds, name: str, attributes: Sequence[Attribute]) -> GroupStats:
        """Statistics of classes that are given row by row, split by the values of a column."""
        kept = np.flatnonzero(classes.ids >= 0)
        ids, values = classes.ids[kept], self._narrow_codes(name)[kept].astype(np.int32)
        split, parts, _ = distinct(np.stack([ids, values]), np.array([classes.groups, self.domain.columns[name].card]))
        every = np.full(self.domain.n, -1, dtype=np.int32)
        every[kept] = split
        return self._by_class(RowIds(every, parts.shape[1]), attributes)

    def _codes(self, one: Attribute) -> np.ndarray:
        """The code of every row in the dictionary of an attribute, in as few bytes as these have."""
        if one.column is not None:
            return self._narrow_codes(one.names[0])
        places, found, at = [f"c{self.places[name]}" for name in one.names], np.empty(self.domain.n, np.int32), 0
        for part in self._store.parts(places):
            codes = {name: part[place].to_numpy() for name, place in zip(one.names, places, strict=True)}
            found[at : at + part.height] = self._tuple_codes(one.names, codes)
            at += part.height
        return found

    @property
    def _subjects(self) -> np.ndarray | None:
        """int32, whose row each is, None where rows are people."""
        return self._people if self.domain.by_people else None

    @property
    def _people(self) -> np.ndarray:
        """int32, whose row each is."""
        return _filled(self._store.parts(["s"]), "s", self.domain.n, np.int32)

    def narrowed(self, classes: Grouped, one: Attribute, possible: Possible) -> np.ndarray:
        """Numbers of all rows of people without different known values whose classes leave too little possible."""
        people = self._people
        ids = without_changing(people, self._ids(classes), self._codes(one), one.unknown)
        return np.flatnonzero(np.isin(people, possible.narrow(people, ids)))

    def _ids(self, classes: Grouped) -> np.ndarray:
        """int32 class of every row."""
        return classes.ids if isinstance(classes, RowIds) else self.row_classes(classes)

    def of_people(
        self, stats: GroupStats, classes: Grouped, guarded: Sequence[tuple[str, int]], lifted: Mapping[str, np.ndarray]
    ) -> GroupStats:
        """The same statistics with the nodes that people guard, which need all rows."""
        if not guarded:
            return stats
        ids = RowIds(self.row_classes(classes), classes.groups)
        return self.fetched(None, []).of_people(stats, ids, guarded, lifted)

    def _tuple_codes(self, names: tuple[str, ...], codes: Mapping[str, np.ndarray]) -> np.ndarray:
        """int32 codes of a tuple of columns in its own dictionary."""
        packing = Packing(tuple(self.domain.columns[name].card for name in names))
        known = packing.pack(list(self.joined(names).codes))
        return packing.find(known, packing.pack([codes[name] for name in names])).astype(np.int32)

    def private(self, name: str) -> Path:
        """A new folder in the scratch of these rows."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self._store.coded.parent))


def _filled(parts: Iterator[pl.DataFrame], column: str, n: int, kind: type[np.integer]) -> np.ndarray:
    """One column of all parts in one array."""
    found, at = np.empty(n, dtype=kind), 0
    for part in parts:
        found[at : at + part.height] = part[column].to_numpy()
        at += part.height
    return found


def _changes(kind: pl.DataType) -> bool:
    """Whether a database gives cells of a type back otherwise: times in a zone and unit of its own, say."""
    return isinstance(kind, pl.Datetime) or kind in (pl.Int128, pl.UInt128)


def _unchanging(column: pl.Series) -> pl.Series:
    """The same cells in a type that comes back as it is."""
    if isinstance(column.dtype, pl.Datetime):
        return column.to_physical()
    return column.cast(pl.String) if _changes(column.dtype) else column


def _narrow(card: int) -> type[np.unsignedinteger]:
    return np.uint8 if card <= 1 << 8 else np.uint16 if card <= 1 << 16 else np.uint32


def _read_part(number: int) -> str:
    return f"{number:08d}.arrow"


def _part(number: int) -> str:
    return f"{number:08d}.parquet"
