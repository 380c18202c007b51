"""The registry of a source: which people its releases had in which classes."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.data.domain import History, set_ids
from shoal.data.stats import unknown_flags
from shoal.data.table import Table
from shoal.errors import InputError, ParameterError
from shoal.models.base import Model
from shoal.recoding.kinds import Trait
from shoal.recoding.secrets import KEY_BYTES, tokens
from shoal.results import Release
from shoal.vault.intersection import Past, Seen, with_release


@dataclass(frozen=True, eq=False, kw_only=True)
class Registry:
    """What a publisher remembers of the releases of one source.

    Attributes
    ----------
    source
        The ``source.name`` of its recipes.
    secret
        Key of the people's tokens.
    by
        The role whose column tells people: ``"subject"`` or ``"key"``, None before anybody was told.
    past
        The releases.
    """

    source: str
    secret: bytes = field(repr=False, default_factory=lambda: secrets.token_bytes(KEY_BYTES))
    by: str | None = None
    past: Past = field(repr=False, default_factory=Past)

    @property
    def id(self) -> str:
        """What tells it from other registries, and says nothing about anybody."""
        return hashlib.sha256(b"registry" + self.secret).hexdigest()[:16]

    def tokens(self, table: Table) -> pl.Series | None:
        """The token of each row's person, null for counterfeits; None where the table does not tell people."""
        by = _teller(table)
        if by is None:
            return None
        if self.by not in (None, by):
            raise InputError(f"The registry tells people by their {self.by}, and this table by its {by}: use the same.")
        column = getattr(table.schema, by)
        real = table.n - table.counterfeits
        made = tokens(table.series(column).head(real), self.secret)
        return made.extend_constant(None, table.counterfeits) if table.counterfeits else made

    def history_of(self, table: Table, on: str | None = None) -> History:
        """What earlier releases left of the people of a table, for `shoal.anonymize`.

        Parameters
        ----------
        on
            The sensitive column, needed where there are several.
        """
        if on is None and len(table.schema.sensitive) != 1:
            raise ParameterError("A history is of one sensitive column, and the table has several or none: name it.")
        column = on or table.schema.sensitive[0]
        told = self.tokens(table)
        if told is None:
            raise ParameterError("Without a subject or key column nobody can be found in earlier releases: name one.")
        people = pl.DataFrame({"token": told}).join(self.past.people, on="token", how="left", maintain_order="left")
        company = people["company"].fill_null(-1).to_numpy()
        mine, sets = _signatures(self.past, column)
        found = np.append(mine, -1)[company]
        used = np.unique(found[found != -1])
        signature = np.where(found == -1, -1, np.searchsorted(used, found))
        sets = sets.filter(pl.col("set").is_in(used))
        owner = np.searchsorted(used, sets["set"].to_numpy())
        return History(
            column=column,
            signature=signature.astype(np.int32),
            indptr=np.append(0, np.cumsum(np.bincount(owner, minlength=used.size))).astype(np.int64),
            members=sets["value"].to_numpy(),
            texts=tuple(self.past.texts.get(column, ())),
        )

    def with_release(self, release: Release, name: str) -> Registry:
        """The registry with a release added to it; the file is not touched."""
        released = release.released
        table, schema = released.table, released.table.schema
        if not released.made.has(Trait.CLASSES):
            raise ParameterError(f"The registry follows classes, and a {released.made} release has none: remove it.")
        kept = np.flatnonzero(released.classes >= 0)
        told = self.tokens(table)
        values = {column: _values(release, column).gather(kept) for column in schema.sensitive}
        note = {
            "name": name,
            "models": list(release.manifest["models"]),
            "kind": release.manifest["kind"],
            "records": kept.size,
            "people": 0 if told is None else told.gather(kept).drop_nulls().n_unique(),
            "accepted": "W-REPEAT" in release.manifest["acknowledged"],
        }
        seen = Seen(
            classes=released.classes[kept],
            tokens=None if told is None else told.gather(kept),
            values=values,
            bare=set(schema.released) == {*schema.quasi, *schema.sensitive} and len(schema.sensitive) == 1,
            note=note,
        )
        return replace(self, by=self.by or _teller(table), past=with_release(self.past, seen))

    def bound(self, digest: str) -> Registry:
        """The registry with its last release bound to the published one, by the digest of its manifest."""
        *earlier, last = self.past.releases
        return replace(self, past=replace(self.past, releases=[*earlier, {**last, "digest": digest}]))

    def listing(self) -> list[dict[str, Any]]:
        """One entry a release, without anybody's values."""
        return [{"release": number, **note} for number, note in enumerate(self.past.releases, 1)]

    def __reduce__(self) -> Any:
        raise TypeError("A Registry is secret and cannot be serialised.")


def least_values(models: Sequence[Model], table: Table) -> dict[str, int]:
    """The most distinct values that any model asks for, by sensitive column; tuples of columns are left out."""
    found: dict[str, int] = {}
    for model in models:
        for names in model.targets(table.domain) if model.distinct_needed() > 1 else []:
            if len(names) == 1:
                found[names[0]] = max(found.get(names[0], 1), model.distinct_needed())
    return found


def _teller(table: Table) -> str | None:
    return "subject" if table.schema.subject is not None else "key" if table.schema.key is not None else None


def _values(release: Release, name: str) -> pl.Series:
    """The published sensitive value of each input row, null where it is no answer."""
    released = release.released
    column, codes = released.table.columns[name], released.table.codes[name]
    if name in released.written:
        texts = released.written[name].cast(pl.String)
    else:
        texts = column.texts.gather(codes)
    unknown = pl.Series(unknown_flags(column)[codes] != 0)
    return pl.DataFrame({"text": texts, "no": unknown}).select(pl.when(~pl.col("no")).then("text")).to_series()


def _signatures(past: Past, column: str) -> tuple[np.ndarray, pl.DataFrame]:
    """Set of values of each company: -1 where no class had any, -2 where classes differ; and the sets' values."""
    mine = np.full(past.places.shape[0], -1, dtype=np.int64)
    names = list(past.texts)
    if column not in names or not mine.size:
        return mine, pl.DataFrame(schema={"set": pl.Int64, "value": pl.Int64})
    shown = past.shown.filter((pl.col("column") == names.index(column)) & (pl.col("value") >= 0))
    stride = int(max(past.places.max(initial=0), past.shown["class"].max() or 0)) + 1  # type: ignore[type-var, operator]
    key = shown["release"].to_numpy() * stride + shown["class"].to_numpy()
    sets = set_ids(key, shown["value"].to_numpy(), past.places.shape[1] * stride)
    low, high = np.full(mine.size, np.iinfo(np.int64).max), np.full(mine.size, -1)
    for release in range(past.places.shape[1]):
        there = past.places[:, release] >= 0
        found = sets[release * stride + past.places[there, release]]
        low[there], high[there] = np.minimum(low[there], found), np.maximum(high[there], found)
    mine = np.where(low == high, low, -2)
    return mine, pl.DataFrame({"set": sets[key], "value": shown["value"]}).unique().sort("set", "value")
