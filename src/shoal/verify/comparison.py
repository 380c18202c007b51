"""The rows of a release against the input rows they come from, once rows and columns fit together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.verify.accounts import Accounts
from shoal.verify.across import check_across
from shoal.verify.checks import ExactValues, check_cells, check_classes, check_sensitive, class_figures
from shoal.verify.claims import Claims
from shoal.verify.classes import Looking, Placed
from shoal.verify.coded import Coded
from shoal.verify.determined import Determined
from shoal.verify.forms import Form
from shoal.verify.judge import judge, slots, verdict_check
from shoal.verify.named import Named
from shoal.verify.neutral import Neutral
from shoal.verify.readings import Readings, as_read
from shoal.verify.released_values import check_ends, check_members, check_types
from shoal.verify.strangers import Anybody
from shoal.verify.types import Batch, Check, GateReport, Rows, Setting


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
