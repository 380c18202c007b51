"""A random sample of the rows, or of whole people, drawn by the run's secret before anything is coded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import EmptyTableError, InputError, ParameterError, SchemaError
from shoal.params import choice, nearest, real, whole
from shoal.table.coding import canonical_text
from shoal.table.keys import Keys, key_hashes

_KNOWN = ("share", "number", "by")
_OWNER = "the sample"


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How many rows or people are drawn, and within which strata.

    Attributes
    ----------
    share
        Everybody's chance to be drawn, above 0 and below 1.
    number
        How many are drawn, in place of a share.
    by
        Columns whose combinations are strata: each gives its share, or its part of the number.

    Examples
    --------
    >>> Sampling(share=0.1, by="region")
    Sampling(share=0.1, number=None, by=('region',))
    """

    share: float | None = None
    number: int | None = None
    by: Sequence[str] | str = ()

    def __post_init__(self) -> None:
        if (self.share is None) == (self.number is None):
            raise ParameterError("The sample needs either a 'share' of the rows or a 'number' of them: give one.")
        if self.share is not None and real(_OWNER, "share", self.share, low=0.0, high=1.0, open_low=True) == 1:
            raise ParameterError("The 'share' of the sample is all rows: make it smaller, or leave the sample out.")
        if self.number is not None:
            object.__setattr__(self, "number", whole(_OWNER, "number", self.number, least=1))
        names = (self.by,) if isinstance(self.by, str) else tuple(self.by)
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ParameterError("The 'by' of the sample must be a column or a list of different ones.")
        object.__setattr__(self, "by", names)

    @classmethod
    def of(cls, given: Sampling | Mapping[str, Any] | float) -> Sampling:
        """A sampling, given as one, by its entries, or as a share (below 1) or a number alone."""
        if isinstance(given, Sampling):
            return given
        if isinstance(given, Mapping):
            for key in given:
                choice(_OWNER, "entry", key, _KNOWN)
            return cls(**given)
        return cls(share=given) if isinstance(given, float) and given < 1 else cls(number=given)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What was drawn.

    Attributes
    ----------
    source, drawn
        Rows, or people, that there were, and that were drawn of them.
    strata
        How many strata there were.
    people
        Whether whole people were drawn.
    keys
        What drew them.
    """

    sampling: Sampling
    source: int
    drawn: int
    strata: int
    people: bool
    keys: Keys = field(repr=False)

    @property
    def public(self) -> dict[str, Any]:
        """What a manifest says: the share is declared and tells nothing that was read.

        A number is left out: with the rows that are published it would tell how many were suppressed.
        """
        told = {} if self.sampling.share is None else {"share": self.sampling.share}
        return {"of": "people" if self.people else "rows", **told, "stratified": bool(self.sampling.by)}


def draw_sample(
    frame: pl.DataFrame, sampling: Sampling, keys: Keys, *, subject: str | None, key: str | None
) -> tuple[np.ndarray, Sample]:
    """Flags of the rows that are drawn, and what is known of the draw.

    Draws are keyed by the rows' keys (their positions, or the hashes of a key column) or by the subjects, so that they
    do not depend on how rows are divided among cores.
    """
    _check_columns(frame, sampling, subject, key)
    if frame.height == 0:
        raise EmptyTableError("The table has no rows: there is nothing to draw a sample of.")
    of_row, first, names = _units(frame, subject, key)
    strata, texts = _strata(frame, sampling, of_row, first)
    sizes = np.bincount(strata, minlength=texts.len())
    wanted = _wanted(sampling, sizes, texts, keys, people=subject is not None)
    order = np.lexsort((keys.bits("sample", names), strata))
    place = np.empty(first.size, dtype=np.int64)
    place[order] = np.arange(first.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = place < wanted[strata]
    if not chosen.any():
        raise EmptyTableError("The sample would have no rows: raise its share.")
    facts = Sample(
        sampling=sampling, source=first.size, drawn=int(chosen.sum()), strata=texts.len(), people=subject is not None,
        keys=keys,
    )  # fmt: skip
    return chosen[of_row], facts


def _check_columns(frame: pl.DataFrame, sampling: Sampling, subject: str | None, key: str | None) -> None:
    for name in sampling.by:
        if name not in frame.columns:
            near = nearest(name, frame.columns)
            hint = f" Did you mean '{near}'?" if near else ""
            raise SchemaError(f"The sample is to be drawn by '{name}', and there is no such column.{hint}")
    for role, name in (("subject", subject), ("key", key)):
        if name is not None and name not in frame.columns:
            raise SchemaError(f"The {role} column '{name}' is not in the source: correct its name.")
        if name is not None and (count := frame[name].null_count()):
            raise InputError(f"The {role} column '{name}' has {count} missing cells: fill them.")


def _units(frame: pl.DataFrame, subject: str | None, key: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whom each row belongs to, the first row of each of them, and what their draws are keyed by."""
    rows = np.arange(frame.height)
    if subject is None:
        named = rows.astype(np.uint64) if key is None else key_hashes(canonical_text(frame[key]))
        return rows, rows, named
    texts = canonical_text(frame[subject])
    people = texts.unique().sort()
    of_row = texts.cast(pl.Enum(people)).to_physical().to_numpy().astype(np.int64)
    first = np.zeros(people.len(), dtype=np.int64)
    first[of_row[::-1]] = rows[::-1]
    return of_row, first, key_hashes(people)


def _strata(
    frame: pl.DataFrame, sampling: Sampling, of_row: np.ndarray, first: np.ndarray
) -> tuple[np.ndarray, pl.Series]:
    """The stratum of each row or person, and a text that names each stratum; missing cells are a value of their own."""
    if not sampling.by:
        return np.zeros(first.size, dtype=np.int64), pl.Series([""])
    parts = [canonical_text(frame[name]).fill_null("\x00") for name in sampling.by]
    texts = pl.DataFrame(parts).select(pl.concat_str(pl.all(), separator="\x01")).to_series()
    different = texts.unique().sort()
    mine = texts.cast(pl.Enum(different)).to_physical().to_numpy().astype(np.int64)
    mixed = np.unique(of_row[mine != mine[first[of_row]]]).size
    if mixed:
        raise InputError(
            f"The sample is of people, and {mixed} of them are in several strata of '{', '.join(sampling.by)}': draw "
            "by columns that are the same in all rows of a person."
        )
    return mine[first], different


def _wanted(sampling: Sampling, sizes: np.ndarray, texts: pl.Series, keys: Keys, *, people: bool) -> np.ndarray:
    """How many are drawn of each stratum.

    A share is rounded up or down at random, so that nobody's chance is another than the share; a number is dealt out
    in proportion, the largest remainders first.
    """
    if sampling.share is not None:
        return np.floor(sampling.share * sizes + keys.uniform("sample strata", key_hashes(texts))).astype(np.int64)
    total, number = int(sizes.sum()), int(sampling.number or 0)
    if number > total:
        what = "people" if people else "rows"
        raise InputError(f"The sample is to have {number:,} {what}, and the source has {total:,}: draw fewer.")
    parts = sizes * number
    found, left = parts // total, parts % total
    order = np.lexsort((keys.bits("sample strata", key_hashes(texts)), -left))
    found[order[: number - int(found.sum())]] += 1
    return found
