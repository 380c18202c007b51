"""The rows of a release against the input rows they come from, once rows and columns fit together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.verify.accounts import Accounts, Neutral
from shoal.verify.cells import RANGES, Inputs
from shoal.verify.checks import ExactValues, check_cells, check_classes, check_sensitive, class_figures
from shoal.verify.classes import Looking, Placed
from shoal.verify.counts import Counting
from shoal.verify.identifier_scan import Anybody
from shoal.verify.identifier_words import Hidden
from shoal.verify.identifiers import Named
from shoal.verify.judge import check_across, judge, slots, verdict_check
from shoal.verify.kinds.generalised import Form
from shoal.verify.manifest import read_claims
from shoal.verify.manifest_schema import Claims
from shoal.verify.person_columns import PersonColumns, PersonRoles
from shoal.verify.released_values import check_ends, check_members, check_types
from shoal.verify.report import Batch, Check, GateReport, Rows, Setting
from shoal.verify.tally import Counts, Numbering
from shoal.verify.values import Coded, plain

# ----------------------------------------
# Whether a published column tells quasi-identifiers more finely than their cells do.


class Determined:
    """Values of quasi-identifiers in each class, with and without a column that fixes them over the whole table.

    Parameters
    ----------
    fixed
        Published columns, and quasi-identifiers that each of them fixes in the input.
    """

    def __init__(self, fixed: Sequence[tuple[str, str]]) -> None:
        self._counts = {pair: Counts() for pair in fixed}
        self._codes = {name: Numbering() for pair in fixed for name in pair}

    def see(self, released: Coded, original: Coded, placed: Placed) -> None:
        """Count a batch of the release, whose rows in classes are ``placed``."""
        if not self._counts:
            return
        codes = {}
        for name, numbering in self._codes.items():
            held = original[name]
            codes[name] = numbering.see(held.distinct.to_frame("cell")).codes[held.codes][placed.rows]
        for (name, quasi), counts in self._counts.items():
            if name in released.frame.columns:
                counts.see(pl.DataFrame({"class": placed.of_row, "column": codes[name], "quasi": codes[quasi]}))

    def checks(self, accepted: Collection[str]) -> list[Check]:
        """One check for each column that tells more than cells do."""
        found: dict[str, tuple[int, str]] = {}
        for (name, quasi), counts in self._counts.items():
            rows = _rows_told(counts.total())
            if rows > found.get(name, (0, ""))[0]:
                found[name] = rows, quasi
        checks = []
        for name, (rows, quasi) in found.items():
            code = f"W-DETERMINES:{name}"
            accepts = f", which {code} accepts" if code in accepted else ""
            detail = f"'{name}' tells the '{quasi}' of {rows:,} rows more finely than their cells do{accepts}."
            checks.append(Check(name=f"{quasi} by {name}", passed=code in accepted, detail=detail, code=code))
        return checks


def _rows_told(counted: pl.DataFrame) -> int:
    """Rows of which a column leaves at most half of the values that their class has."""
    if not counted.width:
        return 0
    of_class = counted.group_by("class").agg(pl.col("quasi").n_unique().alias("all"))
    left = counted.group_by("class", "column").agg(pl.col("quasi").n_unique().alias("left"), pl.col("rows").sum())
    told = left.join(of_class, on="class").filter((pl.col("all") > 1) & (2 * pl.col("left") <= pl.col("all")))
    return int(np.sum(told["rows"].to_numpy()))


# ----------------------------------------
# What the gate knows of the input once all of it has been read.


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


class Comparison:
    """The second pass of the gate, batch by batch.

    Parameters
    ----------
    manifest, claims
        With whole hierarchies and policies.
    readings
        What was found of the input.
    accounts
        Whose rows are released.
    """

    def __init__(
        self, setting: Setting, manifest: Mapping[str, Any], claims: Claims, readings: Readings, accounts: Accounts
    ) -> None:
        self._setting, self._claims, self._readings, self._accounts = setting, claims, readings, accounts
        # Words of a closed list are nobody's name.
        closed = [entry["name"] for entry in manifest["columns"] if entry.get("order") or entry.get("hierarchy")]
        read = [name for name in as_read(claims) if name not in closed]
        self._anybody = Anybody(readings.known)
        self._named = Named(readings.known, read)
        self._apart = Named(readings.known, read) if claims.apart else None
        self._looking, self._exact = Looking(claims), ExactValues(claims)
        self._form = Form(manifest, claims, readings.inputs, readings.left, accounts)
        self._neutral = Neutral(setting, claims)
        # What is published of quasi-identifiers hides them as classes do, or needs a code of its own.
        hides = claims.made in ("generalised", "microaggregated") and readings.columns is not None
        self._determined = Determined(readings.columns.fixed if hides and readings.columns is not None else ())

    def see(self, batch: Batch, rows: Rows, coded: Coded) -> None:
        """Compare a batch of the release, whose cells are found in ``coded``, with its rows."""
        who, original = self._readings.who(rows), Coded.known(rows.original, rows.coded)
        placed = self._looking.see(coded)
        self._named.see(coded, self._readings.hidden(rows))
        self._anybody.see(coded)
        self._exact.see(coded)
        self._form.see(batch, coded, original, rows, placed, who)
        self._neutral.see(coded, placed)
        self._determined.see(coded, original, placed)
        if self._claims.group is None:
            self._count(coded, batch, rows, placed, who)

    def see_values(self, batch: Batch, rows: Rows, coded: Coded) -> None:
        """Compare a batch of the table that holds the sensitive values of a bucketised release with its rows."""
        who = self._readings.who(rows)
        if self._apart is not None:
            self._apart.see(coded, self._readings.hidden(rows))
            self._anybody.see(coded, table=1)
        self._form.see_values(batch, rows, who)
        self._count(coded, batch, rows, self._looking.see_groups(coded), who)

    def _count(self, coded: Coded, batch: Batch, rows: Rows, placed: Placed, who: np.ndarray | None) -> None:
        made_up = self._setting.counterfeits
        real = batch.source < self._accounts.rows - made_up if made_up else None
        pairs = [(self._readings.counting, placed), *zip(self._readings.sets, placed.sets, strict=True)]
        for (published, *true), one in pairs:
            published.see(coded, one, rows, who, real)
            for counting in true:
                values = batch.released.with_columns(rows.original[name] for name in self._readings.coded)
                counting.see(Coded(values), one, rows, who, real)

    def report(self, public: Claims) -> GateReport:
        """What all batches hold, beyond rows and columns; ``public`` are the claims as they will be published."""
        claims, setting, look = self._claims, self._setting, self._looking.look()
        counted = [
            replace(
                counting.facts(look.judged), population=setting.population, population_counts=setting.population_counts
            )
            for counting in self._readings.counting
        ]
        facts = counted[0]
        asked = [several[-1].facts(one) for several, one in zip(self._readings.sets, look.sets, strict=True)]
        asked = asked or [counted[-1]]
        readable, cells = check_cells(claims, look.quasi)
        tables = [self._named, *([] if self._apart is None else [self._apart])]
        told = [check for table in tables for check in table.read(setting.acknowledged)]
        checks = [
            self._accounts.check_order(),
            *(table.own() for table in tables),
            self._anybody.check(),
            *told,
            *self._check_people(told),
            readable,
            self._exact.check(),
            *self._form.checks(),
            check_ends(claims, setting.grids, setting.steps, self._readings, cells),
            check_members(claims, self._readings.left, cells),
            check_types(public, setting.inferred, self._readings.left),
            check_classes(look.judged),
            check_sensitive(facts),
            self._neutral.check(look.quasi),
        ]
        checks += check_across(claims, asked, setting.across_classes)
        checks += self._determined.checks(setting.acknowledged)
        found = [(slot, judge(slot, asked[slot.at])) for slot in slots(public)]
        checks += [verdict_check(slot, verdict, claims.people) for slot, verdict in found]
        verdicts = [verdict for _, verdict in found]
        return GateReport(checks=checks, verdicts=verdicts, classes=class_figures(facts, look))

    def _check_people(self, told: Sequence[Check]) -> list[Check]:
        """Columns that tell people apart, but for those that another code is asked for: free text, and names."""
        columns, texts = self._readings.columns, [str(check.code).partition(":")[2] for check in told]
        found = [] if columns is None else columns.checks(self._setting.acknowledged, texts)
        return found if self._claims.models else [check for check in found if check.code != "W-ROWS"]
