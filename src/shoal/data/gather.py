"""What one reading of a source tells, batch by batch: values and how often each occurs, missing cells, people.

The coder sees every different value once (:func:`dictionary_frame`), so that dictionaries, types, hierarchies and
refusals are those of a table in memory, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.data.schema import Schema
from shoal.data.value_index import Different, Known, number_cells
from shoal.errors import EmptyTableError, InputError
from shoal.kernels.grouping import number_key_rows

# Rows by which a column is looked at as a whole, such as for dates: enough for shares of cells to be seen.
LEAST = 2000


class Numbered:
    """The different values of one column, numbered as they first come; null is one of them."""

    def __init__(self) -> None:
        self._known: Known | None = None
        # As long as what is to come may need, so that it is made anew a few times only.
        self._counts = np.zeros(0, dtype=np.int64)

    @classmethod
    def counted(cls, values: pl.Series, counts: np.ndarray) -> Numbered:
        """Values that somebody else found, none of them twice, and how often."""
        found = cls()
        found._known = Known(values.dtype)
        found._known.add(values)
        found._counts = counts.astype(np.int64)
        return found

    def see(self, values: pl.Series) -> np.ndarray:
        """uint32 number of every value."""
        numbers, different = _different(values)
        if self._known is None:
            self._known = Known(different.dtype)
        ids = self._known.find(different)
        fresh = np.flatnonzero(ids < 0)
        ids[fresh] = self.card + np.arange(fresh.size)
        self._known.add(different.gather(fresh))
        if self.card > self._counts.size:
            self._counts = np.concatenate([self._counts, np.zeros(2 * self.card - self._counts.size, dtype=np.int64)])
        self._counts[ids] += np.bincount(numbers, minlength=ids.size)
        return ids.astype(np.uint32)[numbers]

    @property
    def card(self) -> int:
        """How many there are."""
        return 0 if self._known is None else self._known.count

    @property
    def values(self) -> pl.Series:
        """The values, in the order of their numbers."""
        return pl.Series([], dtype=pl.String) if self._known is None else self._known.values

    @property
    def counts(self) -> np.ndarray:
        """int64, how often each was seen."""
        return self._counts[: self.card]


@dataclass(frozen=True, eq=False, kw_only=True)
class Gathered:
    """A batch of rows that take part.

    Attributes
    ----------
    ids
        Column to the numbers of its values, for those that are coded and for the subject.
    others
        The columns that are neither, as they were read.
    positions
        int64, the place of each row in the source, those that were dropped counted too.
    """

    ids: Mapping[str, np.ndarray]
    others: pl.DataFrame
    positions: np.ndarray


class Gathering:
    """A fold over the rows of a source.

    Parameters
    ----------
    missing
        ``"error"``, ``"drop"`` or ``"value"``.
    """

    def __init__(self, schema: Schema, missing: str) -> None:
        self._schema = schema
        self._missing = missing
        counted = [*schema.quasi, *schema.sensitive, *([] if schema.subject is None else [schema.subject])]
        self.columns = {name: Numbered() for name in dict.fromkeys(counted)}
        self.types: dict[str, pl.DataType] = {}
        self.n_read = self.n = 0
        self._nulls = dict.fromkeys([*schema.released, *self._never], 0)
        self._sample: list[pl.DataFrame] = []
        self._dropped = Different()

    @property
    def _never(self) -> list[str]:
        """Columns in which no cell may be missing."""
        return [name for name in (self._schema.subject, self._schema.key, self._schema.weight) if name is not None]

    def see(self, frame: pl.DataFrame) -> Gathered:
        """Take in a batch, in which texts of the columns that are counted may be numbers of the different ones."""
        self.types = {name: pl.String() if isinstance(kind, pl.Enum) else kind for name, kind in frame.schema.items()}
        for name in self._nulls:
            self._nulls[name] += frame[name].null_count()
        positions = np.arange(self.n_read, self.n_read + frame.height, dtype=np.int64)
        self.n_read += frame.height
        if self._missing == "drop":
            keep = frame.select(pl.all_horizontal(pl.col(self._schema.released).is_not_null()).alias("keep"))["keep"]
            if not keep.all():
                # Of columns that nobody publishes there are hashes at most.
                for cells in _plain(frame.filter(~keep).drop(self._schema.drop, strict=False)):
                    self._dropped.see(cells)
                frame, positions = frame.filter(keep), positions[keep.to_numpy()]
        self.n += frame.height
        if sum(part.height for part in self._sample) < LEAST:
            self._sample.append(_plain(frame.head(LEAST)))
        ids = {name: numbered.see(frame[name]) for name, numbered in self.columns.items()}
        return Gathered(ids=ids, others=frame.drop(self.columns), positions=positions)

    def learn(
        self,
        sample: pl.DataFrame,
        columns: Mapping[str, Numbered],
        *,
        n_read: int,
        n: int,
        nulls: Mapping[str, int],
        dropped: Mapping[str, pl.Series],
    ) -> None:
        """Take over what a database or an earlier reading counted, in the place of every row.

        Parameters
        ----------
        sample
            The first rows that take part.
        columns
            The different values of the columns that are counted.
        n_read, n
            Rows, and those that take part.
        nulls
            Missing cells of every column.
        dropped
            Values of rows that do not take part.
        """
        self.types, self._sample = dict(sample.schema), [sample]
        self.columns, self._dropped = dict(columns), Different(dropped)
        self.n_read, self.n = n_read, n
        self._nulls = {name: nulls[name] for name in self._nulls}

    @property
    def sample(self) -> pl.DataFrame:
        """The first rows that take part."""
        return pl.concat(self._sample)

    @property
    def nulls(self) -> dict[str, int]:
        """Missing cells of every column that is published, or in which none may be missing."""
        return dict(self._nulls)

    @property
    def dropped(self) -> dict[str, pl.Series]:
        """Different values of rows that are left out, which nothing published may tell about either."""
        return self._dropped.columns

    def refuse(self) -> None:
        """Refuse missing cells that no policy covers, and a source without rows."""
        if self.n_read == 0:
            raise EmptyTableError("The table has no rows: there is nothing to publish.")
        for role in ("subject", "key", "weight"):
            name = getattr(self._schema, role)
            if name is not None and self._nulls[name]:
                raise InputError(f"The {role} column '{name}' has {self._nulls[name]} missing cells: fill them.")
        found = {name: count for name, count in self._nulls.items() if count}
        if found and self._missing == "error":
            listed = ", ".join(f"{column} ({count})" for column, count in found.items())
            raise InputError(
                f"There are missing cells in {listed}: set missing to 'drop' (leave those rows out) or 'value' "
                "(keep missing as a value of its own)."
            )
        if self.n == 0:
            raise EmptyTableError(
                "Every row has a missing cell, so dropping them leaves nothing: set missing to 'value'."
            )

    def frame(self, names: Sequence[str], *, known: bool = False) -> pl.DataFrame:
        """A table that holds every different value of coded columns, and shares of them as the source has them.

        Its first rows are the values in the order of their numbers; columns that are not coded come from the first rows
        of the source.

        Parameters
        ----------
        known
            Whether missing cells are left out, but of columns that have no others.
        """
        sample = self.sample
        height = max([LEAST, *(self.columns[name].card for name in names if name in self.columns)])
        found = []
        for name in names:
            if name in self.columns:
                cells = _spread(self.columns[name], height).alias(name)
            else:
                cells = sample[name].gather(np.arange(height) % sample.height)
            if known and cells.null_count() and (there := cells.drop_nulls()).len():
                cells = there.gather(np.arange(height) % there.len())
            found.append(cells)
        return pl.DataFrame(found)


def _different(values: pl.Series) -> tuple[np.ndarray, pl.Series]:
    """A number for every value, and the different ones as they first come."""
    if not isinstance(values.dtype, pl.Enum):
        found = number_cells(values)
        assert found is not None
        return found
    none = len(values.dtype.categories)
    numbers, first = number_key_rows(values.to_physical().cast(pl.UInt64).fill_null(none).to_numpy(), none + 1)
    return numbers, values.gather(first).cast(pl.String)


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with their texts one by one."""
    return frame.with_columns(pl.col(pl.Enum).cast(pl.String))


def _spread(numbered: Numbered, height: int) -> pl.Series:
    """Every value once, and then as many more as keep the shares that they have."""
    more = height - numbered.card
    wanted = numbered.counts / max(int(numbered.counts.sum()), 1) * more
    extra = np.floor(wanted).astype(np.int64)
    most = np.argsort(extra - wanted, kind="stable")[: more - int(extra.sum())]
    extra[most] += 1
    each = np.arange(numbered.card)
    return numbered.values.gather(np.concatenate([each, np.repeat(each, extra)]))
