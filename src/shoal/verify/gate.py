"""The gate: input and release side by side, before anything is written.

It checks the invariants of the specification (I1 to I6) with code of its own and gives the verdicts and class
figures that go into the manifest. It is a fold: first over the rows of the input, then over batches of the release
with the input rows they come from. Where one batch ends and the next begins makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.verify.accounts import Accounts, is_outside
from shoal.verify.checks import check_codes, check_columns, no_figures
from shoal.verify.comparison import Comparison, Readings
from shoal.verify.hierarchies import check_hierarchies, shown_parts
from shoal.verify.identifiers import check_identifier_names
from shoal.verify.kinds.generalised import no_origin
from shoal.verify.manifest import read_claims
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import Batch, Check, GateCase, GateReport, Rows, Setting
from shoal.verify.tally import BATCH, Numbering
from shoal.verify.values import Coded, numbered


def gate(case: GateCase, batch: int = BATCH) -> GateReport:
    """Judge a release against its input, both in memory.

    Parameters
    ----------
    case
        Input, release, the correspondence of their rows, and the manifest to be published.
    batch
        Rows that are looked at in one go.

    Returns
    -------
    GateReport
        ``passed`` decides whether the release may be written. When rows or columns do not even fit together,
        nothing further is judged and there are no verdicts.

    Raises
    ------
    VerificationError
        When the manifest cannot be read, or the input lacks a column of it.
    """
    found, case = Gate(case), replace(case, original=numbered(case.original))
    for part in _parts(batch, case.original, case.identifiers, case.subject, case.history):
        found.read(_rows(case, part))
    source = np.asarray(case.source)
    for part in _parts(batch, case.released, source):
        found.see(_batch(case, case.released[part], source[part]))
    if case.apart is not None or found.grouped:
        table = case.released if case.apart is None else case.apart
        origin = np.asarray(() if case.values_from is None else case.values_from)
        for part in _parts(batch, table, origin):
            found.see_values(_batch(case, table[part], origin[part]), apart=case.apart is not None)
    return found.report()


def looked_up(batch: Batch) -> Batch:
    """The same batch, its cells looked up: what the gate does first, for whoever does it while another one is seen."""
    released, rows = Coded(batch.released), batch.rows
    released.look_up()
    if rows is not None:
        original = Coded(rows.original)
        original.look_up()
        rows = replace(rows, coded=original)
    return replace(batch, coded=released, rows=rows)


class Gate:
    """The gate as a fold: ``read`` every row of the input, ``see`` every batch of the release, then ``report``.

    Memory is one batch, the classes with the counts of values in them, with subjects who has which of these, the
    different identifiers, the different cells of neutral columns and of texts in each class, and two bytes a row
    of the input. At least one batch is to be read, and one to be seen of each table; it may be empty.

    Parameters
    ----------
    setting
        What is told beside the rows.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._public = read_claims(setting.manifest)
        self._manifest = _told(setting)
        self._claims = read_claims(self._manifest)
        self._accounts = Accounts(setting, self._claims)
        self._standing = {name: Numbering() for name in shown_parts(self._public, setting.hierarchies)}
        self._columns: list[str] | None = None
        self._apart: list[str] | None = None
        self._identifiers: list[str] = []
        self._strays = self._skipped = False
        self._people = False
        self._readings: Readings | None = None
        self._comparison: Comparison | None = None
        # Of what cannot be judged nothing is said where rows and columns do not even fit together.
        self._error: VerificationError | None = None

    @property
    def grouped(self) -> bool:
        """Whether sensitive values come from other rows than the quasi-identifiers beside them."""
        return self._claims.group is not None

    def read(self, rows: Rows) -> None:
        """Take in rows of the input.

        Raises
        ------
        VerificationError
            When they lack a column of the manifest.
        """
        lost = [name for name in self._claims.names if name not in rows.original.columns]
        if lost:
            raise VerificationError(f"The gate was given no input column '{lost[0]}' to compare the release with.")
        self._accounts.read(rows)
        self._people = rows.subject is not None
        self._identifiers = [*rows.identifiers.columns, *([] if rows.subject is None else [rows.subject.name])]
        if not self._accounts.sound or self._error is not None:
            return
        try:
            if self._readings is None:
                self._readings = Readings(self._setting, self._manifest, self._claims, people=self._people)
            self._readings.read(rows)
        except VerificationError as error:
            self._error = error

    def see(self, batch: Batch) -> None:
        """Look at a batch of the release."""
        if self._columns is None:
            self._accounts.settle()
        self._columns = batch.released.columns
        self._accounts.see(batch)
        released = Coded.known(batch.released, batch.coded)
        self._stand(released)
        self._compare(batch, released, values=False)

    def see_values(self, batch: Batch, *, apart: bool) -> None:
        """Look at a batch of the table that holds the sensitive values of a bucketised release.

        Parameters
        ----------
        batch
            With the rows that its sensitive values come from.
        apart
            Whether it is a table of its own, and not the release once more.
        """
        released = Coded(batch.released)
        if apart:
            self._apart = batch.released.columns
            self._stand(released)
        self._strays |= batch.rows is None
        self._compare(batch, released, values=True)

    def report(self) -> GateReport:
        """What all of it holds.

        Raises
        ------
        VerificationError
            When the gate was not told something that it needs, or a column cannot be read.
        """
        if self._columns is None:
            raise ValueError("the gate has seen no batch")
        cells = {name: found.rows[name] for name, found in self._standing.items() if found.count}
        checks = [
            *self._outline(),
            self._accounts.check(),
            _check_people(self._claims, self._people),
            check_codes(self._manifest, self._claims),
            check_hierarchies(self._public, self._setting.hierarchies, cells),
            *([no_origin()] if self._strays else []),
        ]
        if not all(check.passed for check in checks):
            return GateReport(checks=checks, verdicts=(), classes=no_figures())
        if self._error is not None:
            raise self._error
        if self._comparison is None or self._skipped:
            raise VerificationError("Some batches of the release are not like the others, so it cannot be judged.")
        found = self._comparison.report(self._public)
        return replace(found, checks=[*checks, *found.checks])

    def _outline(self) -> list[Check]:
        """What the names of columns tell."""
        tokens = [column.name for column in self._claims.columns if column.coded == "token"]
        names = [name for name in self._identifiers if name not in tokens]
        return [
            *check_columns(self._columns or [], self._apart, self._claims),
            check_identifier_names(self._columns or [], self._manifest, names),
        ]

    def _stand(self, released: Coded) -> None:
        for name, found in self._standing.items():
            if name in released.frame.columns:
                found.see(released[name].distinct.to_frame(name))

    def _compare(self, batch: Batch, released: Coded, *, values: bool) -> None:
        """Look at a batch row by row, as far as rows and columns fit together."""
        fits = (
            self._accounts.sound
            and all(check.passed for check in self._outline() if values or check.name != "sensitive columns")
            and self._people == self._claims.people
        )
        if not fits or batch.rows is None or self._readings is None or self._error is not None:
            self._skipped = True
            return
        try:
            if self._comparison is None:
                self._comparison = Comparison(
                    self._setting, self._manifest, self._claims, self._readings, self._accounts
                )
            if values:
                self._comparison.see_values(batch, batch.rows, released)
            else:
                self._comparison.see(batch, batch.rows, released)
        except VerificationError as error:
            self._error = error


def _parts(batch: int, *rows: Any) -> Iterator[slice]:
    """Slices of so many rows, one at least."""
    most = max(len(one) for one in rows if one is not None)
    for start in range(0, max(most, 1), batch):
        yield slice(start, start + batch)


def _rows(case: GateCase, which: Any) -> Rows:
    """Some rows of the input."""
    return Rows(
        original=case.original[which],
        identifiers=case.identifiers[which] if case.identifiers.width else case.identifiers,
        subject=None if case.subject is None else case.subject[which],
        behind=None if case.behind is None or case.behind.height != case.original.height else case.behind[which],
        guard=None if case.guard is None else case.guard[which],
        history=None if case.history is None else case.history[which],
        aside=None if case.aside is None or case.aside.height != case.original.height else case.aside[which],
    )


def _batch(case: GateCase, released: pl.DataFrame, source: np.ndarray) -> Batch:
    """Some rows of a table with those they come from, where these are rows of the input at all."""
    lengths = [len(one) for one in (case.subject, case.history) if one is not None]
    whole = all(length == case.original.height for length in lengths)
    whole &= case.identifiers.height == case.original.height or not case.identifiers.width
    if not whole or len(source) != released.height or is_outside(source, case.original.height):
        return Batch(released=released, source=source, rows=None)
    return Batch(released=released, source=source, rows=_rows(case, source.astype(np.int64)))


def _told(setting: Setting) -> dict[str, Any]:
    """The manifest with whole hierarchies and policies in place of the parts that it shows."""
    whole = {"hierarchy": setting.hierarchies, "policy": setting.policies}
    entries = [
        entry | {key: known[entry["name"]] for key, known in whole.items() if key in entry and entry["name"] in known}
        for entry in setting.manifest["columns"]
    ]
    return {**setting.manifest, "columns": entries}


def _check_people(claims: Claims, people: bool) -> Check:
    """The manifest says that people are counted exactly when subjects are given."""
    right = claims.people == people
    counted = "people" if people else "rows"
    end = ", as the manifest says." if right else ", but the manifest says otherwise."
    return Check(name="people", passed=right, detail=f"Models count {counted}{end}")
