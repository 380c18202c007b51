"""What a class's cells have lost: their Q-diversity, from the cells themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.verify.cells import Cells, parse_set, read_cells
from shoal.verify.counts import Known
from shoal.verify.facts import Facts, Sample
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims
from shoal.verify.policies import exact, ranks
from shoal.verify.report import Outcome, at_most
from shoal.verify.tally import Dictionary
from shoal.verify.terms.base import Model, Term, share
from shoal.verify.values import MISSING, STAR, canonical


def has_public_extent(column: Column) -> bool:
    """Whether the cells and the manifest alone tell what share of its domain a cell covers."""
    if column.cells == "representative":
        return False
    if column.cells == "label":  # how many values a label covers tells about values that were read
        return column.whole
    if column.type == "ordinal":
        return len(column.order or ()) > 1
    return column.domain is not None and column.domain[0] < column.domain[1] and column.cells != "set"


def _spread(facts: Facts, column: Column) -> np.ndarray:
    """Share of the domain that each class's cell covers, 0 for one value."""
    code, texts = facts.classes.cells[column.name]
    if column.cells == "label":
        return _label_spread(column, texts)[code]
    cells = read_cells(column, texts)
    values = _input(facts, column)
    if column.type == "ordinal":
        width, domain = _rank_widths(column, cells, texts), float(len(column.order or ()) - 1)
    elif column.type in ("numeric", "date"):
        width, domain = _number_widths(column, cells, texts), _domain(column, values)
    else:
        members = np.bincount(cells.members["cell"].to_numpy(), minlength=len(texts))
        width, domain = np.maximum(members - 1.0, 0.0), len(_gated(values).texts) - 1.0
    share = np.minimum(width / domain, 1.0) if domain > 0 else np.zeros(len(texts))
    several = domain > 0 or (values is not None and len(values.texts) > 1)
    share = np.where(cells.star, float(several), np.where(cells.missing, 0.0, share))[code]
    if column.cells == "representative" and values is not None:
        share = np.where(cells.star[code], share, _members_spread(facts, column, values, domain))
    return share


def _input(facts: Facts, column: Column) -> Dictionary | None:
    return None if facts.quasi is None else facts.quasi[column.name]


def _label_spread(column: Column, texts: pl.Series) -> np.ndarray:
    rows = column.hierarchy or ()
    under: dict[str, int] = {}
    for row in rows:
        for label in set(row):
            under[label] = under.get(label, 0) + 1
    # A cell that the hierarchy lacks fails elsewhere.
    leaves = np.array([under.get(text, len(rows) if text == STAR else 1) for text in texts.to_list()], dtype=float)
    return (leaves - 1) / (len(rows) - 1) if len(rows) > 1 else np.zeros(len(texts))


def _rank_widths(column: Column, cells: Cells, texts: pl.Series) -> np.ndarray:
    if column.cells != "set":
        return np.nan_to_num(cells.high - cells.low)
    widths = np.zeros(len(texts))
    for place, cell in enumerate(texts.to_list()):
        found = [rank for rank in ranks(column, parse_set(cell) or []) if rank is not None]
        widths[place] = max(found) - min(found) if found else 0.0
    return widths


def _number_widths(column: Column, cells: Cells, texts: pl.Series) -> np.ndarray:
    """Widths of intervals, whose ends are subtracted before they are rounded."""
    closed = r"^\[([^,\[\]]+),([^,\[\]]+)\]$"
    ends = []
    for part in (1, 2):
        end = pl.select(pl.coalesce(texts.str.extract(closed, part), texts)).to_series()
        text, number = canonical(end, column.type)
        ends.append([exact(one, x) for one, x in zip(text.to_list(), number.tolist(), strict=True)])
    pairs = zip(*ends, strict=True)
    return np.array([0.0 if low is None or high is None else float(high - low) for low, high in pairs], dtype=float)


def _domain(column: Column, values: Dictionary | None) -> float:
    """Width of the declared domain, else of the input's."""
    if column.domain is not None:
        return column.domain[1] - column.domain[0]
    known = _gated(values)
    found = [exact(text, x) for text, x in zip(known.texts.to_list(), known.numbers.tolist(), strict=True)]
    numbers = [number for number in found if number is not None]
    return float(max(numbers) - min(numbers)) if numbers else 0.0


def _gated(values: Dictionary | None) -> Dictionary:
    if values is None:
        raise ValueError("the input is only known at the gate")
    return values


def _members_spread(facts: Facts, column: Column, values: Dictionary, domain: float) -> np.ndarray:
    """What the members of each class span, where the cell says one value only."""
    low, high = np.full(facts.classes.count, np.inf), np.full(facts.classes.count, -np.inf)
    if domain <= 0:
        return np.zeros(facts.classes.count)
    number = values.numbers
    if column.type == "ordinal":
        number = np.array(ranks(column, values.texts.to_list()), dtype=float)
    members = facts.members[column.name]
    group, mine = members["class"].to_numpy(), number[members["value"].to_numpy()]
    np.fmin.at(low, group, mine)
    np.fmax.at(high, group, mine)
    return np.where(high >= low, np.minimum((high - low) / domain, 1.0), 0.0)


def _stars(facts: Facts) -> np.ndarray:
    """The share of a class's quasi-identifiers that cover a whole domain of several values."""
    total = np.zeros(facts.classes.count)
    columns = facts.claims.role("quasi")
    for column in columns:
        code, texts = facts.classes.cells[column.name]
        if len(set(texts.to_list()) - {STAR, MISSING}) > 1:
            total += (texts == STAR).to_numpy()[code]
    return total / len(columns)


class WorstGroupUtility(Term):
    """Worst-group utility: the cells of no class have lost too much, on the mean over the quasi-identifiers."""

    name = "worst-group-utility"
    main = "u"
    words = "of mean Q-diversity at most {u:g} in every class"
    required = {"u": share}
    valued = False
    of_cells = True
    people = False

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """The mean over the quasi-identifiers, each counting the same, of the Q-diversity of a class's cells."""
        facts = sample.facts
        columns = facts.claims.role("quasi")
        total = np.zeros(facts.classes.count)
        for column in columns:
            total += _spread(facts, column)
        figure = total / len(columns)
        return Outcome(figure, at_most(figure, model["u"]), np.ones(len(figure), dtype=bool), "high")

    def needs_input(self, claims: Claims, columns: Sequence[Column]) -> bool:
        return not all(has_public_extent(column) for column in claims.role("quasi"))

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        """A cell that covers a whole domain of several values has lost all that there is."""
        return at_most(_stars(known.facts), model["u"])
