"""What the models look at, counted batch by batch."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.verify.claims import Claims, Column
from shoal.verify.classes import Classes, Placed
from shoal.verify.coded import Coded, Held
from shoal.verify.counted import Tallies
from shoal.verify.facts import Facts
from shoal.verify.judge import slots
from shoal.verify.tally import Counts, Dictionary
from shoal.verify.terms.base import term_of
from shoal.verify.types import Rows
from shoal.verify.values import STAR, canonical, encode


class Counting:
    """The fold behind :class:`Facts`: first the input, at the gate, then the released rows.

    Parameters
    ----------
    gated
        Whether there is an input to compare with.
    people
        Whether rows have owners.
    """

    def __init__(self, claims: Claims, *, gated: bool = False, people: bool = False) -> None:
        self._claims = claims
        terms = [term_of(model) for model in claims.models] if gated else []
        asked = [slot for slot in slots(claims) if slot.names]
        kinds = {column.name: column.reads for column in claims.role("sensitive")}
        together = list(dict.fromkeys([*((name,) for name in kinds), *(slot.names for slot in asked)]))
        self._released = Tallies(kinds, together, people=people)
        compared = [slot.names for slot in asked if gated and term_of(slot.model).reads_input]
        theirs = {name: kinds[name] for names in compared for name in names}
        both = list(dict.fromkeys([*((name,) for name in theirs), *compared]))
        self._original = Tallies(theirs, both, people=people) if compared else None
        spread = claims.role("quasi") if any(term.of_cells for term in terms) else []
        self._quasi = {column.name: Dictionary(column.type) for column in spread}
        self._members = {column.name: Counts() for column in spread if column.cells == "representative"}
        guarded = [slot.names[0] for slot in asked if gated and term_of(slot.model).guards]
        self._guarded = {name: Counts() for name in guarded}
        self._history: pl.DataFrame | None = None
        self._gated = gated

    def read(self, original: pl.DataFrame, who: np.ndarray | None) -> None:
        """Count rows of the input."""
        if self._original is not None:
            columns = {name: Held(*encode(original[name])) for name in self._original.dictionaries}
            self._original.see(columns, np.zeros(original.height, dtype=np.int64), who)
        for name, dictionary in self._quasi.items():
            dictionary.see(original[name])

    def see(
        self, batch: Coded, placed: Placed, rows: Rows | None = None, who: np.ndarray | None = None,
        real: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """Count a batch of the table that holds sensitive values.

        Parameters
        ----------
        placed
            Its rows that are in a class.
        rows, who, real
            For each row of the batch the input row that its values come from, at the gate, whose it is, and whether it
            is no counterfeit.
        """
        inside, group = placed.rows, placed.of_row
        who = None if who is None else who[inside]
        columns = {name: batch[name].of(inside) for name in self._released.dictionaries}
        self._released.see(columns, group, who, None if real is None else real[inside])
        if rows is None:
            return
        for name, members in self._members.items():
            value = self._quasi[name].see(rows.original[name].gather(inside))
            members.see(pl.DataFrame({"class": group, "value": value}))
        for name, records in self._guarded.items():
            records.see(self._records(name, batch.frame[name].gather(inside), rows, inside, group, who))
        if rows.history is not None:
            found = pl.DataFrame({"class": group, "before": rows.history.gather(inside)}).drop_nulls("before").unique()
            self._history = found if self._history is None else pl.concat([self._history, found]).unique()

    def _records(
        self, name: str, labels: pl.Series, rows: Rows, inside: np.ndarray, group: np.ndarray, who: np.ndarray | None
    ) -> pl.DataFrame:  # fmt: skip
        """What the model of personalised anonymity looks at, a row a record."""
        column = self._claims.column(name)
        found = {
            "class": pl.Series(group),
            "label": canonical(labels, "categorical")[0],
            "truth": _known_texts(rows.original[name].gather(inside), column),
        }
        if rows.guard is not None:
            found["guard"] = canonical(rows.guard.gather(inside), "categorical")[0].str.strip_chars()
        return pl.DataFrame(found | ({} if who is None else {"who": pl.Series(who)}))

    def facts(self, classes: Classes) -> Facts:
        """What was counted."""
        return Facts(
            claims=self._claims,
            classes=classes,
            released=self._released,
            original=self._original,
            quasi=self._quasi if self._gated else None,
            members={name: counts.total() for name, counts in self._members.items()},
            guarded={name: counts.total() for name, counts in self._guarded.items()},
            history=self._history,
        )


def _known_texts(values: pl.Series, column: Column) -> pl.Series:
    """Canonical texts, null for what says nothing."""
    texts, _ = canonical(values, column.type)
    refused, _ = canonical(pl.Series(column.non_answers, dtype=pl.String), column.type)
    frame = pl.DataFrame({"text": texts})
    known = pl.col("text").is_in([STAR, *refused.drop_nulls()]).not_()
    return frame.select(pl.when(known).then("text")).to_series()
