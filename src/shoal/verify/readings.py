"""What the gate knows of the input once all of it has been read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.verify.cells import RANGES
from shoal.verify.claims import Claims, read_claims
from shoal.verify.coded import Coded, plain
from shoal.verify.counting import Counting
from shoal.verify.hidden import Hidden
from shoal.verify.inputs import Inputs
from shoal.verify.person_columns import PersonColumns, PersonRoles
from shoal.verify.tally import Numbering
from shoal.verify.types import Rows, Setting


class Readings:
    """The first pass of the gate: identifiers, values and people of all input rows, batch by batch.

    Parameters
    ----------
    manifest, claims
        With whole hierarchies and policies.
    people
        Whether rows have owners.

    Attributes
    ----------
    known, inputs, left
        Identifiers, values of quasi-identifiers, and values of the rows that are not suppressed.
    columns
        Columns that tell people apart.
    counting
        What is counted of the sensitive values as they are published, and of those that models look at: the true ones,
        where codes stand for them.
    """

    def __init__(self, setting: Setting, manifest: Mapping[str, Any], claims: Claims, *, people: bool) -> None:
        self._manifest, self._claims = manifest, claims
        self.tokens = [column.name for column in claims.columns if column.coded == "token"]
        self._people = Numbering() if people else None
        self.known, (self.inputs, self.left) = Hidden(), _values(claims)
        self._suppressed, self._rows = np.sort(np.asarray(setting.suppressed, dtype=np.int64)), 0
        self.columns: PersonColumns | None = None
        for name, values in setting.left_out.items():
            self.known.read_others(plain(values.alias(name).to_frame())[name], people=people)
        self.counting = [Counting(claims, gated=True, people=people)]
        # What models are asked of where quasi-identifiers are in several sets, one a set.
        self.sets: list[list[Counting]] = [[Counting(claims, gated=True, people=people)] for _ in claims.sets]
        self.coded = [column.name for column in claims.role("sensitive") if column.coded is not None and claims.models]
        if self.coded:
            true = self._uncoded(setting)
            for several in (self.counting, *self.sets):
                several.append(Counting(true, gated=True, people=people))

    def read(self, rows: Rows) -> None:
        """Take in rows of the input."""
        who = self.who(rows)
        self._read_columns(rows, who)
        self.known.read(self.hidden(rows), who)
        self.inputs.read(rows.original, None)
        kept = self._not_suppressed(rows.original.height)
        self.left.read(rows.original[kept], None if who is None else who[kept])
        for several in (self.counting, *self.sets):
            for counting in several:
                counting.read(rows.original, who)

    def _read_columns(self, rows: Rows, who: np.ndarray | None) -> None:
        """Take in which columns tell people apart."""
        aside = pl.DataFrame() if rows.aside is None else rows.aside
        if self.columns is None:
            self.columns = PersonColumns(
                PersonRoles(
                    quasi=[column.name for column in self._claims.role("quasi")],
                    hidden=[*rows.identifiers.columns, *self.tokens],
                    tokens=self.tokens,
                    published=as_read(self._claims),
                    dropped=aside.columns,
                    people=who is not None,
                )
            )
        columns = {one.name: one for frame in (rows.original, rows.identifiers, aside) for one in frame}
        self.columns.see(Coded(pl.DataFrame(list(columns.values()))), who)

    def _not_suppressed(self, height: int) -> np.ndarray:
        """Places of released rows among the next ones of the input."""
        first, self._rows = self._rows, self._rows + height
        low, high = np.searchsorted(self._suppressed, [first, self._rows])
        return np.delete(np.arange(height), self._suppressed[low:high] - first)

    def who(self, rows: Rows) -> np.ndarray | None:
        """A number for the owner of each row; rows without one count as one and the same person's."""
        if self._people is None or rows.subject is None:
            return None
        return self._people.see(rows.subject.to_frame("who")).codes

    def hidden(self, rows: Rows) -> list[pl.Series]:
        """Identifier columns, the subject column, which is never released either, and what tokens stand for."""
        named = [*plain(rows.identifiers).get_columns(), *plain(rows.original.select(self.tokens)).get_columns()]
        if rows.subject is None or rows.subject.name in self.tokens:
            return named
        return [*named, *plain(rows.subject.to_frame()).get_columns()]

    def _uncoded(self, setting: Setting) -> Claims:
        """The claims with values in place of codes, which are what models are about."""
        lost = [name for name in self.coded if name not in setting.uncoded]
        if lost:
            raise VerificationError(f"The gate was not told what the codes of '{lost[0]}' stand for.")
        entries = [setting.uncoded.get(entry["name"], entry) for entry in self._manifest["columns"]]
        # Without codes a release is called by how it was made, unless tokens are left.
        hidden = any(entry.get("coded") not in (None, "shifted") for entry in entries)
        kind = "pseudonymised" if hidden else self._claims.made
        return read_claims({**self._manifest, "kind": kind, "columns": entries})


def _values(claims: Claims) -> tuple[Inputs, Inputs]:
    """Readers of columns that are redrawn, perturbed or have intervals, and of released values of all columns."""
    quasi = claims.role("quasi")
    drawn = claims.made in ("randomised", "perturbed")
    plain = [one for one in (*quasi, *claims.role("sensitive")) if one.coded is None and one.cells != "items"]
    return Inputs(one for one in quasi if drawn or one.cells in RANGES), Inputs(plain)


def as_read(claims: Claims) -> list[str]:
    """Sensitive and neutral columns that are published as they were read."""
    return [column.name for column in (*claims.role("sensitive"), *claims.role("neutral")) if column.coded is None]
