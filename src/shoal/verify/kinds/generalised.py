"""Whether what stands in a release follows from the input in the way its kind says, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.verify.accounts import Accounts, Origins
from shoal.verify.cells import Inputs, read_cells
from shoal.verify.classes import Placed
from shoal.verify.coverage import Misrepresented, misrepresented, uncovered, value_texts
from shoal.verify.hierarchies import wrongly_generalised
from shoal.verify.kinds.averaged import Microaggregated
from shoal.verify.kinds.bucketised import Bucketised
from shoal.verify.kinds.coded import Pseudonymised, Shifted
from shoal.verify.kinds.perturbed import Perturbed
from shoal.verify.kinds.randomised import Randomised
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import Batch, Check, Rows
from shoal.verify.values import MISSING, Coded, Held, encode, plain, read_encoded, together


class Form:
    """The release against its input as its kind demands, batch by batch; coded columns are checked whatever the kind.

    Parameters
    ----------
    manifest
        With whole hierarchies.
    inputs, left, accounts
        What was read of the input, and of its rows that are not suppressed, and whose rows are released.
    """

    def __init__(
        self, manifest: Mapping[str, Any], claims: Claims, inputs: Inputs, left: Inputs, accounts: Accounts
    ) -> None:
        self._claims, self._accounts = claims, accounts
        entries = {column.name: entry for column, entry in zip(claims.columns, manifest["columns"], strict=True)}
        coded = [column.name for column in claims.columns if column.coded not in (None, "shifted")]
        plain = [column.name for column in claims.columns if column.coded is None]
        if claims.made == "pseudonymised":
            # What is not coded stays as it was, quasi-identifiers included, which the same check looks at.
            plain, coded = [], [name for name in claims.names if name in (*coded, *plain)]
        self._generalised = Generalised(claims, left) if claims.made == "generalised" else None
        self._origin = Origin(claims, accounts) if claims.made == "bucketised" else None
        own = {**manifest, "columns": [entries[name] for name in plain]}
        codes = {**manifest, "columns": [entries[name] for name in coded]}
        self._parts = [(_part(own, claims, inputs), plain), (Pseudonymised(codes) if coded else None, coded)]
        self._shifted = Shifted() if any(column.coded == "shifted" for column in claims.columns) else None

    def see(
        self, batch: Batch, coded: Coded, original: Coded, rows: Rows, placed: Placed, who: np.ndarray | None
    ) -> None:
        """Compare a batch of the release with its rows; starred rows are nobody's.

        Parameters
        ----------
        coded, original
            What the batch and its rows hold.
        """
        kept = self._accounts.kept(batch.source.astype(np.int64))
        if self._generalised is not None:
            self._generalised.see(coded, original, kept)
            self._generalised.see_cells(placed, original, rows)
        asked = [(part, names) for part, names in self._parts if part is not None]
        if not asked and self._shifted is None:
            return
        released, theirs = coded.plain, original.plain
        if len(kept) < released.height:
            released, theirs = released[kept], theirs[kept]
            who = None if who is None else who[kept]
        for part, names in asked:
            part.see(released.select(self._held(released, names)), theirs)
        self._see_shifted(released, theirs, who, values=self._claims.group is None)

    def see_values(self, batch: Batch, rows: Rows, who: np.ndarray | None) -> None:
        """Compare a batch of the table that holds the sensitive values of a bucketised release with its rows."""
        part, names = self._parts[0]
        if self._origin is not None and isinstance(part, Bucketised):
            self._origin.see(batch, rows)
            part.see_values(plain(batch.released.select(self._held(batch.released, names))))
        kept = self._accounts.kept(batch.source.astype(np.int64))
        released, original = plain(batch.released)[kept], plain(rows.original)[kept]
        self._see_shifted(released, original, None if who is None else who[kept], values=True)

    def checks(self) -> list[Check]:
        """What all batches hold."""
        found = [] if self._generalised is None else self._generalised.checks()
        found += [] if self._origin is None else [self._origin.check()]
        for part, _ in self._parts:
            found += [] if part is None else part.checks(self._accounts)
        return found if self._shifted is None else [*found, self._shifted.check()]

    def _held(self, released: pl.DataFrame, names: list[str]) -> list[str]:
        """Columns of a table that a part looks at; beside groups, those that it has, in its own order."""
        if self._claims.group is None or names is not self._parts[0][1]:
            return names
        return [name for name in released.columns if name in (*names, self._claims.group)]

    def _see_shifted(
        self, released: pl.DataFrame, original: pl.DataFrame, who: np.ndarray | None, *, values: bool
    ) -> None:
        """Dates of sensitive columns where ``values`` says so, of others where they come from the same rows."""
        for column in self._claims.columns if self._shifted is not None else ():
            here = values if column.role == "sensitive" else self._claims.group is None or not values
            if column.coded == "shifted" and here and self._shifted is not None:
                name = column.name
                self._shifted.see(name, column.days or 0, released[name], original[name], who)


def _part(manifest: Mapping[str, Any], claims: Claims, inputs: Inputs) -> Any:
    """What looks at columns that are not coded, None where nothing of its own does."""
    if claims.made == "bucketised":
        return Bucketised(manifest, one=claims.publication == "permuted")
    if claims.made == "randomised":
        return Randomised(manifest, {column.name: inputs.texts(column.name) for column in claims.role("quasi")})
    if claims.made == "perturbed":
        return Perturbed(manifest, inputs)
    return Microaggregated(manifest) if claims.made == "microaggregated" else None


class Origin:
    """The sensitive values are those of the rows they are said to come from, which are the released rows."""

    def __init__(self, claims: Claims, accounts: Accounts) -> None:
        self._columns = [column for column in claims.role("sensitive") if column.coded is None]
        self._accounts, self._origins = accounts, Origins(accounts.rows)
        self._differ = {column.name: 0 for column in self._columns}

    def see(self, batch: Batch, rows: Rows) -> None:
        """Compare a batch of sensitive values with its rows."""
        self._origins.see(batch)
        for column in self._columns:
            ours, theirs = (Held(*encode(frame[column.name])) for frame in (batch.released, rows.original))
            self._differ[column.name] += differing(ours, theirs, column)

    def check(self) -> Check:
        """What all batches hold."""
        if not self._origins.same(self._accounts):
            return no_origin()
        problems = [
            f"{rows:,} values of '{name}' are not those of the rows they come from."
            for name, rows in self._differ.items()
            if rows
        ]
        detail = problems[-1] if problems else "Sensitive values come from released rows."
        return Check(name="origin", passed=not problems, detail=detail)


def no_origin() -> Check:
    """The check that fails where sensitive values are nobody's, or somebody's twice."""
    told = "Sensitive values do not come from the released rows, each once."
    return Check(name="origin", passed=False, detail=told)


class Generalised:
    """Values that are published as they are, cells that cover values, and nodes above them."""

    def __init__(self, claims: Claims, left: Inputs) -> None:
        plain = (*claims.role("sensitive"), *claims.role("neutral"))
        self._plain = [column for column in plain if column.coded is None and column.cells == "value"]
        self._lifted = [column for column in claims.role("sensitive") if column.cells == "label"]
        self._items = [column for column in claims.role("sensitive") if column.cells == "items"]
        self._quasi, self._left = claims.role("quasi"), left
        self._differ = {column.name: 0 for column in self._plain}
        self._wrong = {column.name: 0 for column in (*self._lifted, *self._items)}
        self._uncovered = {column.name: Misrepresented() for column in self._quasi}

    def see(self, released: Coded, original: Coded, kept: np.ndarray) -> None:
        """Compare the values of some rows with those of the rows they come from."""
        for column in self._plain:
            name = column.name
            self._differ[name] += differing(released[name].of(kept), original[name].of(kept), column)
        for column in self._lifted:
            name = column.name
            self._wrong[name] += _lifted_wrongly(column, released[name].of(kept), original[name].of(kept))
        for column in self._items:
            name = column.name
            self._wrong[name] += wrongly_generalised(column, released[name].of(kept), original[name].of(kept))

    def see_cells(self, placed: Placed, original: Coded, rows: Rows) -> None:
        """Compare the cells of rows that are in a class with the values of the rows they come from."""
        for column in self._quasi:
            name, (cell_of_row, texts) = column.name, placed.cells[column.name]
            values = read_encoded(*original[name].of(placed.rows), column.type)
            cells = read_cells(column, texts)
            if column.cells == "representative":
                behind = _behind(rows, name).gather(placed.rows)
                whole = self._left.whole(name)
                self._uncovered[name] += misrepresented(column, cells, cell_of_row, values, behind, whole=whole)
            else:
                self._uncovered[name] += Misrepresented(uncovered(column, cells, cell_of_row, values, values.codes))

    def checks(self) -> list[Check]:
        """What all batches hold."""
        lifted = [self._check_lifted(column) for column in self._lifted]
        return [self._check_values(), self._check_coverage(), *lifted, *map(self._check_items, self._items)]

    def _check_values(self) -> Check:
        """I2: sensitive and neutral values are those of the source row."""
        problems = [f"{rows:,} rows of '{name}'" for name, rows in self._differ.items() if rows]
        detail = (
            f"Values differ from their source in {' and '.join(problems)}."
            if problems
            else "Sensitive and neutral values are those of their source rows."
        )
        return Check(name="values", passed=not problems, detail=detail)

    def _check_coverage(self) -> Check:
        """I3: every quasi-identifier cell covers its source value."""
        problems = []
        for column in self._quasi:
            wrong = self._uncovered[column.name]
            told = wrong.told(column.name)
            if column.cells != "representative" and wrong.uncovered:
                told = f"{wrong.uncovered:,} cells of '{column.name}'"
            problems += [] if told is None else [told]
        detail = (
            f"{' and '.join(problems)} do not cover the value of their source row."
            if problems
            else "Every quasi-identifier cell covers the value of its source row."
        )
        return Check(name="coverage", passed=not problems, detail=detail)

    def _check_lifted(self, column: Column) -> Check:
        """Every label is its source row's value or a node above it."""
        wrong = self._wrong[column.name]
        detail = f"{wrong:,} cells of '{column.name}' are no node above the value of their source row."
        fine = f"Every cell of '{column.name}' is its source row's value or a node above it."
        return Check(name=f"nodes of {column.name}", passed=not wrong, detail=detail if wrong else fine)

    def _check_items(self, column: Column) -> Check:
        """Every label stands for an item of its source row, and no item has two labels."""
        wrong = self._wrong[column.name]
        detail = f"{wrong:,} cells of '{column.name}' show what is no item of their source row, or one of them twice."
        fine = f"Every label of '{column.name}' covers an item of its source row."
        return Check(name=f"items of {column.name}", passed=not wrong, detail=detail if wrong else fine)


def _lifted_wrongly(column: Column, labels: Held, values: Held) -> int:
    """Rows whose label is neither their value nor a node above it."""
    above = pl.DataFrame(
        [(row[0], label) for row in column.hierarchy or () for label in set(row)],
        schema={"value": pl.String, "label": pl.String}, orient="row",
    )  # fmt: skip
    pairs = pl.DataFrame({"value": value_texts(values, column.type), "label": value_texts(labels, "categorical")})
    return pairs.join(above, on=["value", "label"], how="anti").filter(
        (pl.col("value") != MISSING) | (pl.col("label") != MISSING)
    ).height  # fmt: skip


def differing(ours: Held, theirs: Held, column: Column) -> int:
    """Rows whose value is not that of their source."""
    if ours.distinct.dtype == theirs.distinct.dtype:
        known = ours.distinct.to_frame("cell").with_row_index("place")
        found = theirs.distinct.to_frame("cell").join(
            known, on="cell", how="left", nulls_equal=True, maintain_order="left"
        )
        place = found["place"].cast(pl.Int64).fill_null(-1).to_numpy()
        odd = np.flatnonzero(ours.codes != place[theirs.codes])
        if not len(odd):
            return 0
        ours, theirs = ours.of(odd), theirs.of(odd)
    # What is left may be one value in two spellings, such as 3.0 and "3"; beside stars, fractions are text.
    numbers = theirs.distinct.dtype.is_float() and ours.distinct.dtype == pl.String
    kind = "numeric" if numbers else column.type
    values, codes = together(read_encoded(*ours, kind), read_encoded(*theirs, kind))
    return int((values.codes != codes).sum())


def _behind(rows: Rows, name: str) -> pl.Series:
    """The cells behind a column of representatives, one an input row."""
    if rows.behind is None or name not in rows.behind.columns or rows.behind.height != rows.original.height:
        raise VerificationError(f"The gate was not given what the representatives of '{name}' stand for.")
    return rows.behind[name]
