"""A random sample of the rows, or of whole people, drawn by a secret before anything is coded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

import numpy as np
import polars as pl
from pydantic import BeforeValidator, Field

from shoal.data.coding import canonical_text
from shoal.data.entries import Entries
from shoal.data.keys import Keys, key_hashes
from shoal.errors import EmptyTableError, InputError, ParameterError, SchemaError
from shoal.params import choice, nearest, real, whole

_OWNER = "the sample"


def _listed(value: Any) -> Any:
    """A text alone stands for a list of nothing but that text."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        raise ValueError("must be a list")
    return names


@dataclass(frozen=True, kw_only=True)
class Sampling(Entries):
    """How many rows or people are drawn before anything is coded, and within which strata.

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

    share: Annotated[float, Field(strict=False)] | None = None
    number: int | None = None
    by: Annotated[Sequence[str], BeforeValidator(_listed)] = ()

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
                choice(_OWNER, "entry", key, [one.name for one in fields(cls)])
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
    """Flags of the rows that are drawn, and what is known of the draw."""
    drawing = Drawing(sampling, frame.columns, subject=subject, key=key)
    drawing.see(frame)
    return drawing.drawn(keys)


class Drawing:
    """A draw as a fold over rows: ``see`` all of them in order, batch by batch, then find out which are ``drawn``.

    Draws are keyed by the rows' keys (their positions, or the hashes of a key column) or by the subjects, so that they
    depend neither on where batches end nor on who divides rows among cores. It keeps twelve bytes a row.
    """

    def __init__(self, sampling: Sampling, columns: Sequence[str], *, subject: str | None, key: str | None) -> None:
        self._sampling, self._subject, self._key = sampling, subject, key
        for name in sampling.by:
            if name not in columns:
                near = nearest(name, columns)
                hint = f" Did you mean '{near}'?" if near else ""
                raise SchemaError(f"The sample is to be drawn by '{name}', and there is no such column.{hint}")
        for role, one in (("subject", subject), ("key", key)):
            if one is not None and one not in columns:
                raise SchemaError(f"The {role} column '{one}' is not in the source: correct its name.")
        self._named, self._strata = [np.empty(0, dtype=np.uint64)], [np.empty(0, dtype=np.int32)]
        self._numbers: dict[str, int] = {}
        self._rows = 0

    @property
    def needed(self) -> list[str]:
        """Columns that it looks at."""
        named = [self._subject or self._key, *self._sampling.by]
        return list(dict.fromkeys(name for name in named if name is not None))

    def see(self, frame: pl.DataFrame) -> None:
        """Take in rows."""
        role, name = ("subject", self._subject) if self._subject is not None else ("key", self._key)
        if name is None:
            self._named.append(np.arange(self._rows, self._rows + frame.height, dtype=np.uint64))
        elif count := frame[name].null_count():
            raise InputError(f"The {role} column '{name}' has {count} missing cells: fill them.")
        else:
            of_row, texts = _numbered(canonical_text(frame[name]))
            self._named.append(key_hashes(texts)[of_row])
        of_row, texts = _numbered(_together(frame, self._sampling.by))
        places = [self._numbers.setdefault(text, len(self._numbers)) for text in texts.to_list()]
        self._strata.append(np.array(places, dtype=np.int32)[of_row])
        self._rows += frame.height

    def drawn(self, keys: Keys) -> tuple[np.ndarray, Sample]:
        """Flags of all rows, and what is known of the draw."""
        if not self._rows:
            raise EmptyTableError("The table has no rows: there is nothing to draw a sample of.")
        named, strata, people = np.concatenate(self._named), np.concatenate(self._strata), self._subject is not None
        of_row: np.ndarray | slice = slice(None)
        if people:
            named, first, of_row = np.unique(named, return_index=True, return_inverse=True)
            self._refuse_mixed(int(np.unique(of_row[strata != strata[first][of_row]]).size))
            strata = strata[first]
        texts = pl.Series(list(self._numbers), dtype=pl.String)
        sizes = np.bincount(strata, minlength=texts.len())
        wanted = _wanted(self._sampling, sizes, texts, keys, people=people)
        order = np.lexsort((keys.bits("sample", named), strata))
        place = np.empty(named.size, dtype=np.int64)
        place[order] = np.arange(named.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        chosen = place < wanted[strata]
        if not chosen.any():
            raise EmptyTableError("The sample would have no rows: raise its share.")
        facts = Sample(
            sampling=self._sampling, source=named.size, drawn=int(chosen.sum()), strata=texts.len(), people=people,
            keys=keys,
        )  # fmt: skip
        return chosen[of_row], facts

    def _refuse_mixed(self, people: int) -> None:
        if people:
            raise InputError(
                f"The sample is of people, and {people} of them are in several strata of "
                f"'{', '.join(self._sampling.by)}': draw by columns that are the same in all rows of a person."
            )


def _numbered(texts: pl.Series) -> tuple[np.ndarray, pl.Series]:
    """A number for each text, and the different ones."""
    different = texts.unique()
    return texts.cast(pl.Enum(different)).to_physical().to_numpy().astype(np.int64), different


def _together(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """A text that names the stratum of each row; missing cells are a value of their own."""
    if not columns:
        return pl.Series([""]).new_from_index(0, frame.height)
    parts = [canonical_text(frame[name]).fill_null("\x00") for name in columns]
    return pl.DataFrame(parts).select(pl.concat_str(pl.all(), separator="\x01")).to_series()


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
