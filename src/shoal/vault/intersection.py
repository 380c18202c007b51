"""Whether releases taken together leave everybody among enough people and values.

Somebody is safe on either of two grounds, and no method of publication has to be known for them:

- *Company.* At least k people, with at least l values between them, were in the same class of every release and
  absent from the same ones. Any two of them can change places without a release looking different, whatever an intruder
  knows about who was in which release, and even if rows of one person could be linked.
- *Invariance.* All classes that the person's releases connect them with, through whoever shares one, have the same set
  of at least l values, each equally often, in classes of at least k people. Any permutation of that set over all those
  people leaves every release as it is, so each has every value with the same probability.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from shoal.data.domain import set_ids

# ----------------------------------------
# What several releases of a source tell together, kept as small as the question allows.
#
# A *company* is the people who were in the same class of every release, or in none: nobody who holds all releases,
# and even knows which rows of them belong to one person, can tell them apart. A registry holds the company of each
# person (by keyed token), the class that a company had in each release, the sensitive values that its people have
# between them, and how often each value occurs in each class; never who has which value.


_HELD = {"company": pl.Int64, "column": pl.Int64, "value": pl.Int64, "count": pl.Int64}
_SHOWN = {"release": pl.Int64, "class": pl.Int64, "column": pl.Int64, "value": pl.Int64, "count": pl.Int64}


@dataclass(frozen=True, eq=False, kw_only=True)
class Seen:
    """One release, as far as it matters to the next.

    Attributes
    ----------
    classes
        Class of each released record.
    tokens
        Keyed token of its person, null for a counterfeit; None where rows have neither subject nor key.
    values
        Sensitive column to the value of each record, null where it is no answer.
    bare
        Whether one sensitive column is all that is published beside the quasi-identifiers.
    note
        What a listing shows: name, models and numbers.
    """

    classes: np.ndarray
    tokens: pl.Series | None
    values: Mapping[str, pl.Series]
    bare: bool
    note: Mapping[str, Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class Past:
    """All releases so far.

    Attributes
    ----------
    people
        ``token`` and ``company`` of everybody who was in a release.
    places
        int64, shape (companies, releases): class of a company, -1 where it is absent. People of several rows have
        numbers of their own above all classes, one for each set of classes.
    held
        ``count`` of people of a company who have a ``value`` of a ``column``, as far as it is certain.
    known
        int64, shape (companies, columns): people of a company with an answer.
    shown
        ``count`` of records of a ``class`` of a ``release`` with a ``value`` of a ``column``.
    texts
        Column to its values; columns and values are numbered by their places here.
    releases
        One note a release.
    """

    people: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema={"token": pl.String, "company": pl.Int64}))
    places: np.ndarray = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))
    held: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_HELD))
    known: np.ndarray = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))
    shown: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_SHOWN))
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    releases: Sequence[Mapping[str, Any]] = ()

    @property
    def sizes(self) -> np.ndarray:
        """People of each company."""
        return np.bincount(self.people["company"].to_numpy(), minlength=self.places.shape[0])

    def distinct(self, column: str) -> np.ndarray:
        """Values that the people of each company have between them for certain; -1 where nobody gave an answer."""
        at = list(self.texts).index(column)
        mine = self.held.filter(pl.col("column") == at)["company"].to_numpy()
        return np.where(self.known[:, at] > 0, np.bincount(mine, minlength=self.places.shape[0]), -1)


def with_release(past: Past, seen: Seen) -> Past:
    """The past after one more release; without tokens it is listed, and nothing more is known about anybody."""
    number = len(past.releases)
    texts, coded = _coded(past.texts, seen.values)
    rows = pl.DataFrame({"class": seen.classes.astype(np.int64), **coded})
    shown = [past.shown, *(_counted(rows, number, at, name) for at, name in enumerate(texts) if name in coded)]
    note = {**seen.note, "bare": seen.bare, "tracked": seen.tokens is not None}
    past = dataclasses.replace(past, shown=pl.concat(shown), texts=texts, releases=[*past.releases, note])
    if seen.tokens is None:
        absent = np.full((past.places.shape[0], 1), -1, dtype=np.int64)
        return dataclasses.replace(past, places=np.hstack([past.places, absent]), known=_widened(past))
    rows = rows.with_columns(token=seen.tokens).filter(pl.col("token").is_not_null())
    return _with_people(past, rows, [name in coded for name in texts])


def _with_people(past: Past, rows: pl.DataFrame, has: Sequence[bool]) -> Past:
    """Companies parted by the new release, and what each part holds."""
    now = _place_of(rows)
    together = past.people.join(now, on="token", how="full", coalesce=True).sort("token").fill_null(-1)
    parts = together.select("company", "place").unique().sort("company", "place").with_row_index("part")
    together = together.join(parts, on=["company", "place"], how="left", maintain_order="left")
    old, place = parts["company"].to_numpy(), parts["place"].to_numpy()
    earlier = np.full((1, len(past.releases) - 1), -1, dtype=np.int64)
    places = np.hstack([np.vstack([past.places, earlier])[old], place[:, None]])
    part = pl.col("part").cast(pl.Int64).alias("company")
    held, known = _holdings(past, rows, together, parts, has)
    return dataclasses.replace(past, people=together.select("token", part), places=places, held=held, known=known)


def _holdings(
    past: Past, rows: pl.DataFrame, together: pl.DataFrame, parts: pl.DataFrame, has: Sequence[bool]
) -> tuple[pl.DataFrame, np.ndarray]:
    """What the people of each part have between them.

    Those who are in the new release have the values it gives them, unless their company did not have one before: then
    somebody's value changed, and an intruder who thinks that none does would rule it out. Those who are not have what
    is left of their company's values; where values changed meanwhile, only what is surely left.
    """
    before = np.vstack([_widened(past), np.zeros((1, len(has)), dtype=np.int64)])
    old, place = parts["company"].to_numpy(), parts["place"].to_numpy()
    known = before[old]
    sizes = together["part"].value_counts().sort("part")["count"].to_numpy()
    whole = np.append(past.sizes, 0)[old] == sizes
    of = rows.join(together.select("token", "part", "company"), on="token", how="left", maintain_order="left")
    found = [_kept(past, parts, whole, [at for at, there in enumerate(has) if not there])]
    for at, name in enumerate(past.texts):
        if not has[at]:
            continue
        mine = of.filter(pl.col(name) >= 0).select("token", "part", "company", value=name).unique()
        answered = mine.select("token", "part").unique()["part"].to_numpy()
        here = np.bincount(answered, minlength=old.size)
        back = old[answered]
        gone = np.bincount(back[back >= 0], minlength=before.shape[0])  # by the company they come from
        known[:, at] = np.where(place >= 0, here, np.maximum(known[:, at] - gone[np.maximum(old, 0)], 0))
        open_ones = np.flatnonzero(before[:, at] == 0)
        found += [_present(past, mine, at, open_ones), _absent(past, mine, parts, known[:, at], at)]
    return pl.concat(found).select(*_HELD), known


def _present(past: Past, mine: pl.DataFrame, at: int, unanswered: np.ndarray) -> pl.DataFrame:
    """Values of the people of the new release, by part, those left out that their company did not have before."""
    counts = mine.group_by("part", "company", "value").agg(pl.len().cast(pl.Int64).alias("count"))
    had = past.held.filter(pl.col("column") == at).select("company", "value", had=pl.lit(True))
    counts = counts.join(had, on=["company", "value"], how="left")
    free = (pl.col("company") < 0) | pl.col("company").is_in(unanswered)
    return counts.filter(free | pl.col("had")).select(
        pl.col("part").cast(pl.Int64).alias("company"), pl.lit(at, dtype=pl.Int64).alias("column"), "value", "count"
    )


def _absent(past: Past, mine: pl.DataFrame, parts: pl.DataFrame, known: np.ndarray, at: int) -> pl.DataFrame:
    """Values of those who are not in the new release: their company's, less those of its people who are."""
    away = parts.with_columns(known=pl.Series(known)).filter(pl.col("place") < 0)
    taken = mine.group_by("company", "value").agg(pl.len().cast(pl.Int64).alias("taken"))
    held = past.held.filter(pl.col("column") == at).join(away, on="company")
    held = held.join(taken, on=["company", "value"], how="left")
    held = held.with_columns(count=pl.col("count") - pl.col("taken").fill_null(0)).filter(pl.col("count") > 0)
    # More values than people: some are no longer anybody's, and any of them may be those.
    excess = (pl.col("count").sum().over("company") - pl.col("known")).clip(0)
    return held.filter(pl.col("count") > excess).select(
        pl.col("part").cast(pl.Int64).alias("company"), "column", "value", "count"
    )


def _kept(past: Past, parts: pl.DataFrame, whole: np.ndarray, columns: Sequence[int]) -> pl.DataFrame:
    """Values of columns that the new release does not have, for companies that it leaves whole."""
    same = parts.filter(pl.Series(whole))
    held = past.held.filter(pl.col("column").is_in(list(columns))).join(same, on="company")
    return held.select(pl.col("part").cast(pl.Int64).alias("company"), "column", "value", "count")


def _place_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Where each person is: the class, or a number for the set of classes where somebody has several."""
    sets = rows.group_by("token").agg(pl.col("class").unique().sort())
    several = sets.filter(pl.col("class").list.len() > 1)
    one = sets.filter(pl.col("class").list.len() == 1).select("token", place=pl.col("class").list.first())
    if several.is_empty():
        return one
    names = several.select("token", name=pl.col("class").cast(pl.List(pl.String)).list.join(","))
    first = int(rows["class"].max()) + 1  # type: ignore[arg-type]
    numbers = names.select(pl.col("name").unique().sort()).with_row_index("place", offset=first)
    return pl.concat([one, names.join(numbers, on="name").select("token", pl.col("place").cast(pl.Int64))])


def _coded(
    texts: Mapping[str, Sequence[str]], values: Mapping[str, pl.Series]
) -> tuple[dict[str, list[str]], dict[str, pl.Series]]:
    """Dictionaries that have every value, and the code of each record's, -1 for none."""
    known = {name: list(words) for name, words in texts.items()}
    coded = {}
    for name, series in values.items():
        words = known.setdefault(name, [])
        fresh = series.drop_nulls().unique().sort()
        words += [word for word in fresh.to_list() if word not in set(words)]
        place = {word: code for code, word in enumerate(words)}
        coded[name] = series.replace_strict(place, default=-1, return_dtype=pl.Int64)
    return known, coded


def _counted(rows: pl.DataFrame, release: int, at: int, name: str) -> pl.DataFrame:
    counts = rows.group_by("class", name).agg(pl.len().cast(pl.Int64).alias("count")).sort("class", name)
    return counts.select(
        pl.lit(release, dtype=pl.Int64).alias("release"), "class", pl.lit(at, dtype=pl.Int64).alias("column"),
        pl.col(name).alias("value"), "count",
    )  # fmt: skip


def _widened(past: Past) -> np.ndarray:
    """The people with an answer, with room for columns that are new."""
    lacking = len(past.texts) - past.known.shape[1]
    return np.hstack([past.known, np.zeros((past.known.shape[0], lacking), dtype=np.int64)])


@dataclass(frozen=True, kw_only=True)
class Weakened:
    """People whom all releases together leave with less than was asked for.

    Attributes
    ----------
    people
        How many in all.
    by_size
        Among fewer than k people.
    by_values
        Column to how many are left with fewer than l of its values.
    """

    people: int
    by_size: int
    by_values: Mapping[str, int]


def weakened(past: Past, k: int, least: Mapping[str, int]) -> Weakened:
    """Who is below k people, or below ``least`` distinct values of a column; nobody before the second release."""
    sizes = past.sizes
    if sum(note["tracked"] for note in past.releases) < 2:  # what one release promises is for the gate to say
        return Weakened(people=0, by_size=0, by_values={})
    small = sizes < k
    poor = {name: _poor(past, name, count) for name, count in least.items() if count > 1 and name in past.texts}
    bad = small | np.any([small, *poor.values()], axis=0)
    if bad.any():
        safe = invariant_companies(past, k, max([1, *least.values()]))
        bad, small = bad & ~safe, small & ~safe
        poor = {name: found & ~safe for name, found in poor.items()}
    return Weakened(
        people=int(sizes[bad].sum()),
        by_size=int(sizes[small].sum()),
        by_values={name: int(sizes[found].sum()) for name, found in poor.items()},
    )


def _poor(past: Past, name: str, count: int) -> np.ndarray:
    found = past.distinct(name)
    return (found >= 0) & (found < count)


def invariant_companies(past: Past, k: int, least: int) -> np.ndarray:
    """Companies that are safe by invariance.

    Only where one sensitive column is all that releases have beside quasi-identifiers: any other column, or rows of one
    person in several classes, would tell records of equal values apart.
    """
    places = past.places
    safe = np.zeros(places.shape[0], dtype=bool)
    if not all(note["bare"] and note["tracked"] for note in past.releases) or len(past.texts) != 1:
        return safe
    release, group = np.divmod(np.arange(places.size), places.shape[1])[::-1]
    there = places[group, release] >= 0
    group, release = group[there], release[there]
    stride = int(max(places.max(initial=0), past.shown["class"].max() or 0)) + 1  # type: ignore[type-var, operator]
    key, at = np.unique(release * stride + places[group, release], return_inverse=True)
    sets = _even_sets(past, key, stride, least)
    sets[np.bincount(at, past.sizes[group], minlength=key.size) < k] = -1
    # A company of two signatures, and every class that cannot be permuted, spoil all that they are connected with.
    bad_class = sets < 0
    low, high = np.full(safe.size, np.iinfo(np.int64).max), np.full(safe.size, -2)
    np.minimum.at(low, group, sets[at])
    np.maximum.at(high, group, sets[at])
    bad = low != high
    while True:
        spoilt = bad_class.copy()
        spoilt[at[bad[group]]] = True
        worse = bad.copy()
        worse[group[spoilt[at]]] = True
        if (worse == bad).all() and (spoilt == bad_class).all():
            return ~bad
        bad, bad_class = worse, spoilt


def _even_sets(past: Past, key: np.ndarray, stride: int, least: int) -> np.ndarray:
    """A number for the set of values of each class, -1 where they are uneven, too few, or not all known."""
    shown = past.shown.with_columns(key=pl.col("release") * stride + pl.col("class"))
    even = (pl.col("count").min() == pl.col("count").max()) & (pl.col("value").min() >= 0) & (pl.len() >= least)
    fine = shown.group_by("key").agg(even=even).filter("even")["key"].to_numpy()
    shown = shown.filter(pl.col("key").is_in(fine))
    place = np.searchsorted(key, shown["key"].to_numpy())
    inside = place < key.size
    inside[inside] = key[place[inside]] == shown["key"].to_numpy()[inside]
    return set_ids(place[inside], shown["value"].to_numpy()[inside], key.size)
