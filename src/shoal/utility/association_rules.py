"""``rules``: association rules from quasi-identifiers to sensitive values, before and after (Yang & Qiao, Def. 11).

A rule says that records with some items (a value of each of one or more quasi-identifiers) often have a sensitive
value. Supports of a generalised release are expected ones under uniform spread; those of a bucketised release are those
of one pairing drawn within its groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels.grouping import group_rows
from shoal.kernels.itemsets import cross_counts, narrow
from shoal.params import choice, real, whole
from shoal.utility.coded_columns import read_back
from shoal.utility.domains import Feature, Reading
from shoal.utility.queries import known_feature
from shoal.utility.reading import Evaluation, Finding

# ----------------------------------------
# Apriori for rules from items of quasi-identifiers to a sensitive value, on exact cells or on cells of several
# values.
#
# Cells that cover several values count for each by its share. Supports are then expected ones under uniform spread,
# and they still fall with every further item, so that sets without support are not extended.


# Sums of shares may fall short of a limit that they reach.
_EDGE = 1e-9

Items = tuple[tuple[str, str], ...]
Rule = tuple[Items, str]


@dataclass(frozen=True)
class Strength:
    """Share of the records that have a rule's items and its sensitive value, and the share that have its items."""

    support: float
    items: float


@dataclass(frozen=True, eq=False)
class Mined:
    """Rules of one table; and the values of every column that have support, with their shares.

    Where only a rule's items need support, ``targets`` are all sensitive values, and else those that have it.
    """

    rules: Mapping[Rule, Strength]
    items: Mapping[tuple[str, str], float]
    targets: Mapping[str, float]


def mine(
    quasi: Sequence[Feature],
    target: Feature,
    *,
    original: bool,
    support: float,
    confidence: float,
    longest: int,
    antecedent: bool = False,
) -> Mined:
    """Every rule of at most ``longest`` items with enough support and confidence.

    Parameters
    ----------
    original
        Whether of the original rows, else of the released ones.
    support, confidence
        Least shares of the records, and of the records with the items.
    antecedent
        Whether the items alone have to have the support, not the items and the sensitive value together.
    """
    records, sides = _records(quasi, target, original, support, antecedent)
    rules: dict[Rule, Strength] = {}
    for found, counts in records.walk(support, longest, antecedent):
        total = float(counts.sum())
        least = _EDGE if antecedent else support - _EDGE  # a rule has a record, whatever the limit
        for place, text in enumerate(records.targets):
            if counts[place] >= least and counts[place] >= (confidence - _EDGE) * total:
                rules[found, text] = Strength(float(counts[place]), total)
    shares = {(side.name, side.values[code]): float(side.shares[code]) for side in sides for code in side.often}
    items = {item: share for item, share in shares.items() if share >= support - _EDGE}
    return Mined(rules, items, {text: share for (name, text), share in shares.items() if name == target.name})


@dataclass(frozen=True, eq=False, kw_only=True)
class _Records:
    """Distinct records with their shares of the table, and the items that their cells stand for.

    Only items with support are numbered, column by column. Sensitive values without any share the last target.
    """

    names: Sequence[tuple[str, str]]
    column: Sequence[int]
    targets: Sequence[str]
    cells: np.ndarray
    at: np.ndarray
    item: np.ndarray
    share: np.ndarray
    target: np.ndarray
    weight: np.ndarray

    def walk(self, support: float, longest: int, antecedent: bool) -> Iterator[tuple[Items, np.ndarray]]:
        """Sets of items, depth first, with their share of the table for each target."""
        counts = np.empty((len(self.names), len(self.targets) + 1))
        stack: list[tuple[Items, int, np.ndarray, np.ndarray]] = [((), 0, np.arange(self.weight.size), self.weight)]
        while stack:
            items, begin, rows, weight = stack.pop()
            cross_counts(rows, weight, begin, self.cells, self.at, self.item, self.share, self.target, counts)
            often = counts.sum(axis=1) if antecedent else counts[:, :-1].max(axis=1, initial=0.0)
            for place in np.flatnonzero(often >= support - _EDGE).tolist():
                column = self.column[place]
                more = (*items, self.names[place])
                yield more, counts[place]
                if len(more) < longest and column + 1 < len(self.cells):
                    kept = narrow(rows, weight, self.cells[column], self.at, self.item, self.share, place)
                    stack.append((more, column + 1, *kept))


def _records(
    quasi: Sequence[Feature], target: Feature, original: bool, support: float, antecedent: bool
) -> tuple[_Records, list[_Side]]:
    sides = [_Side(one, original, support) for one in quasi]
    sides.append(_Side(target, original, 0.0 if antecedent else support))
    first = np.cumsum([0, *(side.cells for side in sides[:-1])])
    numbers = np.cumsum([0, *(len(side.often) for side in sides[:-1])])
    lengths = np.concatenate([np.diff(side.at) for side in sides[:-1]])
    last = sides[-1]
    # A sensitive cell of several values is as many records, each with a part of the weight.
    wide = np.diff(last.at)[last.cell]
    rows = np.repeat(np.arange(last.cell.size), wide)
    within = np.arange(rows.size) - np.repeat(np.cumsum(wide) - wide, wide) + last.at[last.cell][rows]
    cells = np.stack([side.cell[rows] + at for side, at in zip(sides[:-1], first, strict=False)]).astype(np.int32)
    both = np.concatenate([cells, last.item[within][None, :].astype(np.int32)])
    ids, alone, _ = group_rows(both, both.max(axis=1) + 1)
    records = _Records(
        names=[(side.name, side.values[code]) for side in sides[:-1] for code in side.often],
        column=[place for place, side in enumerate(sides[:-1]) for _ in side.often],
        targets=[last.values[code] for code in last.often],
        cells=np.ascontiguousarray(cells[:, alone]),
        at=np.concatenate([[0], np.cumsum(lengths)]),
        item=np.concatenate([side.item + at for side, at in zip(sides[:-1], numbers, strict=False)]),
        share=np.concatenate([side.share for side in sides[:-1]]),
        target=both[-1, alone],
        weight=np.bincount(ids, last.share[within]) / last.cell.size,
    )
    return records, sides


class _Side:
    """The cells of one column, with items numbered among its values that have support.

    Values without support are left out of quasi-identifiers; those of the sensitive attribute, which has to account
    for every record, are numbered after the others, all alike.
    """

    def __init__(self, feature: Feature, original: bool, support: float) -> None:
        self.name, self.values = feature.name, feature.values
        count = len(feature.values)
        at, code, share = feature.at, feature.code, feature.share
        self.cell = feature.original if original else feature.cell
        if original:
            at, code, share = np.arange(count + 1), np.arange(count, dtype=np.int32), np.ones(count)
        of = np.repeat(np.arange(at.size - 1), np.diff(at))
        rows = np.bincount(self.cell, minlength=at.size - 1)
        self.shares = np.bincount(code, rows[of] * share, count) / self.cell.size
        often = np.flatnonzero(self.shares >= support - _EDGE)
        self.often: list[int] = often.tolist()
        number = np.full(count, often.size)
        number[often] = np.arange(often.size)
        kept = number[code] < often.size if feature.role == "quasi" else np.ones(code.size, dtype=bool)
        self.item, self.share = number[code][kept], share[kept]
        self.at = np.concatenate([[0], np.cumsum(np.bincount(of[kept], minlength=at.size - 1))])
        self.cells = at.size - 1


@dataclass(frozen=True, kw_only=True)
class AssociationRules(Evaluation):
    """Mine association rules on the original and on the release, and compare.

    Parameters
    ----------
    support
        Smallest share of records that have what ``support_of`` says.
    confidence
        Smallest share of records with the items that have the sensitive value.
    longest
        Most items of a rule; None for any number.
    support_of
        ``"rule"``: items and sensitive value together, as Apriori has it. ``"antecedent"``: the items, a value
        combination whose support is that of Yang & Qiao's Definition 9.
    on
        The sensitive attribute; every one by default.
    """

    support: float = 0.01
    confidence: float = 0.15
    longest: int | None = 4
    support_of: str = "rule"
    on: str | None = None
    name: ClassVar[str] = "rules"

    def __post_init__(self) -> None:
        real("rules", "support", self.support, low=0.0, high=1.0, open_low=True)
        real("rules", "confidence", self.confidence, low=0.0, high=1.0)
        choice("rules", "support_of", self.support_of, ("rule", "antecedent"))
        if self.longest is not None:
            whole("rules", "longest", self.longest, least=1)

    def refusal(self, reading: Reading) -> str | None:
        """Rules need both sides."""
        after, _ = reading.mined
        if after.quasi and after.sensitive:
            return None
        return "Rules lead from quasi-identifiers to sensitive values, and the release does not have both as values."

    def looks_at(self, reading: Reading) -> Sequence[str]:
        """Quasi-identifiers and sensitive attributes."""
        after, _ = reading.mined
        return [*after.quasi, *(after.sensitive if self.on is None else [self.on])]

    def run(self, reading: Reading) -> list[Finding]:
        """Recovered and artificial rules, and single items, for each sensitive attribute."""
        found, (after, _) = [], reading.mined
        for name in after.sensitive if self.on is None else [self.on]:
            if known_feature(after, name).role != "sensitive":
                raise ParameterError(f"The 'on' of rules must be a sensitive attribute. Got '{name}'.")
            title = self.name if len(after.sensitive) == 1 else f"{self.name} on {name}"
            ours, theirs = self.mined(reading, name)
            if reading.paired:
                found += self._compare(title, ours, theirs)
            else:
                found.append(self._counted(title, ours, theirs))
        return found

    def mined(self, reading: Reading, sensitive: str) -> tuple[Mined, Mined]:
        """Rules of the original and of the release; codes are read back where it is known what they stand for."""
        after, before = reading.mined
        given: dict[str, Any] = {
            "support": self.support, "confidence": self.confidence,
            "longest": len(after.quasi) if self.longest is None else self.longest,
            "antecedent": self.support_of == "antecedent",
        }  # fmt: skip
        ours, theirs = (
            mine([one.features[name] for name in one.quasi], one.features[sensitive], original=original, **given)
            for one, original in ((before, True), (after, False))
        )
        return ours, _read_back(theirs, sensitive, reading) if reading.coded and reading.paired else theirs

    def _counted(self, title: str, ours: Mined, theirs: Mined) -> Finding:
        """Numbers of rules alone, where nobody said what codes stand for."""
        sentence = (
            f"The original has {len(ours.rules)} rules and the release {len(theirs.rules)} (support {self.support:g}, "
            f"confidence {self.confidence:g}). Whether they are the same is known to who can read the codes."
        )
        value = len(theirs.rules) / len(ours.rules) if ours.rules else None
        also = {"rules": len(ours.rules), "release": len(theirs.rules)}
        return Finding(name=f"{title} number", value=value, better="up", sentence=sentence, also=also)

    def _compare(self, title: str, ours: Mined, theirs: Mined) -> list[Finding]:
        kept = ours.rules.keys() & theirs.rules.keys()
        made_up = theirs.rules.keys() - ours.rules.keys()
        items = len(ours.items.keys() & theirs.items.keys())
        what = " of the items" if self.support_of == "antecedent" else ""
        limits = f"support {self.support:g}{what}, confidence {self.confidence:g}"
        told = f"{len(kept)} of the original's {len(ours.rules)} rules are also found in the release ({limits})."
        none = f"The original has no rule at {limits}, so that none can be recovered."
        return [
            Finding(
                name=f"{title} recovered", value=len(kept) / len(ours.rules) if ours.rules else None, better="up",
                baseline=self._by_chance(ours), sentence=told if ours.rules else none,
                also={"rules": len(ours.rules), "by length": _by_length(ours.rules, kept, made_up)},
            ),
            Finding(
                name=f"{title} artificial", value=float(len(made_up)), better="down",
                sentence=f"The release has {len(made_up)} rules that the original does not have ({limits}).",
            ),
            Finding(
                name=f"{title} items", value=items / len(ours.items) if ours.items else None, better="up",
                sentence=f"{items} of {len(ours.items)} single values with a share of {self.support:g} keep it.",
            ),
        ]  # fmt: skip

    def _by_chance(self, ours: Mined) -> float | None:
        """Share of the rules that somebody would state who has one-way tables and takes columns for independent."""
        if not ours.rules:
            return None
        kept = 0
        for items, text in ours.rules:
            share = ours.targets[text]
            chance = share if self.support_of == "rule" else 1.0
            for item in items:
                chance *= ours.items[item]
            kept += share >= self.confidence and chance >= self.support
        return kept / len(ours.rules)


def _read_back(mined: Mined, sensitive: str, reading: Reading) -> Mined:
    """Rules and items with values in the place of codes."""
    values = {name: read_back(reading, name) for name in reading.coded}

    def value(column: str, text: str) -> str:
        return values[column].get(text, text) if column in values else text

    rules = {
        (tuple((column, value(column, text)) for column, text in items), value(sensitive, last)): strength
        for (items, last), strength in mined.rules.items()
    }
    items = {(name, value(name, text)): share for (name, text), share in mined.items.items()}
    return Mined(rules, items, {value(sensitive, text): share for text, share in mined.targets.items()})


def _by_length(ours: Iterable[Rule], kept: Iterable[Rule], made_up: Iterable[Rule]) -> dict[str, dict[str, int]]:
    """Rules by their number of items."""
    found: dict[int, dict[str, int]] = {}
    for what, rules in (("rules", ours), ("kept", kept), ("artificial", made_up)):
        for items, _ in rules:
            one = found.setdefault(len(items), {"rules": 0, "kept": 0, "artificial": 0})
            one[what] += 1
    return {str(length): found[length] for length in sorted(found)}
