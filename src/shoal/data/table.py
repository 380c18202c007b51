"""The rows of a source in memory: what `shoal.read` gives, and users hold."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.data.column import Column, counted
from shoal.data.domain import Domain, History, Joint, distinct
from shoal.data.sampling import Sample
from shoal.data.schema import Schema
from shoal.data.stats import Attribute, attribute, unknown_flags
from shoal.data.texts import all_told, is_text, told
from shoal.errors import InputError

# ----------------------------------------
# Small tables as HTML, for notebooks.


def html_table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A plain table; every cell is escaped, and a missing one is a dash.

    Examples
    --------
    >>> html_table(["a"], [["<b>"], [None]])
    '<table><tr><th>a</th></tr><tr><td>&lt;b&gt;</td></tr><tr><td>–</td></tr></table>'
    """
    lines = [_line("th", heads), *(_line("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _line(tag: str, cells: Iterable[Any]) -> str:
    shown = ("–" if cell is None else escape(f"{cell:,}" if isinstance(cell, int) else str(cell)) for cell in cells)
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in shown) + "</tr>"


@dataclass(frozen=True, eq=False, kw_only=True)
class Table:
    """Rows about people, coded; never changed after it is built.

    Attributes
    ----------
    kept
        The rows as read, in source order, rows dropped for missing cells gone, missing cells null. Texts that repeat
        are kept as numbers of the different ones; :attr:`frame` and :meth:`series` give them one by one.
    domain
        Roles, dictionaries and counts: all that is known without the rows.
    codes
        int32 codes of the quasi-identifiers and sensitive attributes, by name, one a row.
    row_keys
        uint64, what each row's random draws are keyed by.
    subjects
        int32 code of each row's subject, None when rows are people.
    n_read, n_dropped
        Rows read, and rows dropped for missing cells.
    backend
        Where the data came from, for handing the same kind of frame back.
    history
        What earlier releases left of the rows' people, None when this is the first that is looked at.
    counterfeits
        How many of the last rows were made up by the method.
    joint
        Codes of tuples of columns, where they are those of a larger table.
    dropped
        Rows left out for missing cells or because they were not drawn, which nothing published may tell about either;
        None where there are none.
    """

    kept: pl.DataFrame
    domain: Domain
    codes: Mapping[str, np.ndarray]
    row_keys: np.ndarray
    subjects: np.ndarray | None
    n_read: int
    n_dropped: int
    backend: Any = None
    history: History | None = None
    counterfeits: int = 0
    joint: Mapping[tuple[str, ...], np.ndarray] = field(default_factory=dict)
    dropped: pl.DataFrame | None = field(default=None, repr=False)

    @property
    def n(self) -> int:
        """Rows that take part."""
        return self.kept.height

    @property
    def frame(self) -> pl.DataFrame:
        """The rows as read, made anew at every call: sixteen bytes a text, and more where it is long."""
        return all_told(self.kept)

    @cached_property
    def dated(self) -> pl.DataFrame:
        """The rows as they are kept, with dates of another format parsed, so that anybody can compare them."""
        given = {name: spec.format for name, spec in self.schema.specs.items() if spec.format is not None}
        dates = [
            pl.col(name).cast(pl.String).str.to_date(given[name])
            for name in given
            if (name in self.columns or name in self.schema.shifted) and is_text(self.kept[name].dtype)
        ]
        return self.kept.with_columns(dates)

    def series(self, name: str) -> pl.Series:
        """One column as read."""
        return told(self.kept[name])

    @property
    def name(self) -> str | None:
        """What the source is called."""
        return self.domain.name

    @property
    def n_subjects(self) -> int:
        """Codes of subjects, 0 when rows are people."""
        return self.domain.n_subjects

    @property
    def schema(self) -> Schema:
        """The columns' roles."""
        return self.domain.schema

    @property
    def columns(self) -> Mapping[str, Column]:
        """Dictionaries of the quasi-identifiers and sensitive attributes, by name."""
        return self.domain.columns

    @property
    def quasi(self) -> list[Column]:
        """Quasi-identifiers in schema order."""
        return self.domain.quasi

    @property
    def sensitive(self) -> list[Column]:
        """Sensitive attributes in schema order."""
        return self.domain.sensitive

    @cached_property
    def quasi_codes(self) -> np.ndarray:
        """int32, shape (m, n): the quasi-identifiers' codes, one row a column."""
        return np.stack([self.codes[name] for name in self.schema.quasi])

    def knowing(self, **changes: Any) -> Table:
        """The same rows with something else known of them, such as ``weights`` or ``columns``."""
        return replace(self, domain=replace(self.domain, **changes))

    def remembering(self, history: History) -> Table:
        """The same rows with what earlier releases left of their people."""
        history.check(self.n)
        return replace(self, history=history).knowing(history=history.column)

    def values(self, one: Attribute) -> np.ndarray:
        """int32 code of each row in the dictionary of an attribute, a tuple of columns among them."""
        if one.column is not None:
            return self.codes[one.names[0]]
        if one.names in self.joint:
            return self.joint[one.names]
        if one.names not in self._numbered:
            self._numbered[one.names] = self._grouped(one.names)[0]
        return self._numbered[one.names]

    @cached_property
    def _numbered(self) -> dict[tuple[str, ...], np.ndarray]:
        """Codes of tuples that were asked for."""
        return {}

    def attribute(self, names: Sequence[str], *, people: bool | None = None) -> Attribute:
        """The attribute made of the named sensitive columns, with the dictionary of a tuple where they are several."""
        tuples = [tuple(names)] if len(names) > 1 else []
        return attribute(replace(self.domain, joint={one: self.joined(one) for one in tuples}), names, people=people)

    def people_with(self, name: str) -> np.ndarray:
        """How many people have each value of a column."""
        column = self.columns[name]
        if self.subjects is None:
            return column.frequencies
        count = int(self.subjects.max(initial=0)) + 1
        pairs = np.unique(self.codes[name].astype(np.int64) * count + self.subjects)
        return np.bincount(pairs // count, minlength=column.card)

    def joined(self, names: tuple[str, ...]) -> Joint:
        """The dictionary of a tuple of columns."""
        if names in self.domain.joint:
            return self.domain.joint[names]
        _, codes, counts = self._grouped(names)
        flags = [unknown_flags(self.columns[name])[mine] for name, mine in zip(names, codes, strict=True)]
        return Joint(codes, counts, np.bitwise_or.reduce(flags))

    def _grouped(self, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        codes = np.stack([self.codes[name] for name in names])
        return distinct(codes, np.array([self.columns[name].card for name in names]))

    def __repr__(self) -> str:
        return (
            f"Table({self.n} rows, quasi={list(self.schema.quasi)}, sensitive={list(self.schema.sensitive)})"
        )

    def _repr_html_(self) -> str:
        """Columns and what is known of them, without any of their values."""
        return f"<p><b>Table</b>, {self.n:,} rows</p>" + html_table(
            ["Column", "Role", "Type", "Different values", "Missing", "Levels"], map(self._shown, self.kept.columns)
        )

    def _shown(self, name: str) -> tuple[Any, ...]:
        column, missing = self.columns.get(name), self.kept[name].null_count()
        if column is None:
            return name, self.schema.role(name), None, None, missing, None
        levels = None if column.hierarchy is None else len(column.hierarchy.ancestors)
        return name, self.schema.role(name), column.type, column.card, missing, levels


def take_rows(table: Table, rows: np.ndarray) -> Table:
    """The same table with some of its rows; dictionaries, domains and hierarchies stay those of the whole."""
    codes = {name: mine[rows] for name, mine in table.codes.items()}
    columns = {
        name: replace(column, frequencies=counted(codes[name], column.card)) for name, column in table.columns.items()
    }
    joint = {names: mine[rows] for names, mine in table.joint.items()}
    tuples = {
        names: replace(table.domain.joint[names], counts=counted(mine, table.domain.joint[names].card))
        for names, mine in joint.items()
    }
    frame = table.kept[rows]
    return replace(
        table,
        kept=frame,
        domain=replace(table.domain, columns=columns, n=frame.height, joint=tuples),
        codes=codes,
        row_keys=table.row_keys[rows],
        subjects=None if table.subjects is None else table.subjects[rows],
        history=None if table.history is None else table.history.take(rows),
        joint=joint,
    )


def with_sample(table: Table, sample: Sample, others: pl.DataFrame) -> Table:
    """The same table, told that it was drawn, and of which other rows: nothing published may tell about them either."""
    left_out = [all_told(one) for one in (table.dropped, others) if one is not None]
    dropped = pl.concat(left_out, how="diagonal_relaxed")
    return replace(table, dropped=dropped).knowing(sample=sample)


def part_of(table: Table, rows: np.ndarray, attributes: Sequence[Attribute]) -> Table:
    """Some rows of a table, in which tuples of columns are coded as in the whole."""
    tuples = [one for one in attributes if one.column is None]
    whole = table.knowing(joint={one.names: table.joined(one.names) for one in tuples})
    return take_rows(replace(whole, joint={one.names: table.values(one) for one in tuples}), rows)


def crowded(domain: Domain, size: int, people: Callable[[str], np.ndarray]) -> Domain:
    """Say how many people must have a value for it to be published as the end of an interval.

    Parameters
    ----------
    people
        Counts the people who have each value of a column.
    """
    columns = dict(domain.columns)
    for column in domain.quasi:
        if column.numbers is not None:
            columns[column.name] = replace(column, people=people(column.name), crowd=max(size, 2))
    return replace(domain, columns=columns)


def iso_dates(table: Table) -> pl.DataFrame:
    """The rows as read, with dates of another format parsed."""
    return all_told(table.dated)


# ----------------------------------------
# What does not fit into memory, on disk for the time of a run; a disk that takes no more is told in one sentence.


_NUMBER = re.compile(r"\(os error (\d+)\)")


@contextmanager
def spilling() -> Iterator[None]:
    """Around whatever is written to a scratch folder."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        if not of_the_system(error):
            raise
        raise refused(error) from None


def of_the_system(error: Exception) -> bool:
    """Whether the system refused something; whatever else Polars raises is a fault of ours."""
    return isinstance(error, OSError) or _NUMBER.search(str(error)) is not None


def read_part(path: Path, columns: list[str] | None = None) -> pl.DataFrame:
    """The rows of a scratch file, or some columns, under whatever name: Polars takes brackets in one for a pattern."""
    with path.open("rb") as file:
        return pl.read_ipc(file, columns=columns)


def refused(error: Exception) -> InputError:
    """Why nothing more can be written; what Polars raises holds the system's number in a text alone."""
    found = _NUMBER.search(str(error))
    number = getattr(error, "errno", None) or (int(found[1]) if found else 0)
    if number in (errno.ENOSPC, errno.EDQUOT):
        return full()
    why = os.strerror(number) if number else "the system refused it"
    return InputError(f"The scratch folder cannot be written to: {why}. Name another as 'scratch' under [engine].")


def full() -> InputError:
    """The refusal of a disk without room."""
    return InputError("The disk of the scratch folder is full: name another folder as 'scratch' under [engine].")
