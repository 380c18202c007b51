"""Models from their definitions in docs/models.md, one class at a time, in fractions where the definition has them.

Each function gives True where a class may be published. Where the documentation leaves a figure open, the reading that
is easier to satisfy is taken: the oracle looks for promises that are broken under every reading.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tests.soak.cases import Column
from tests.soak.cells import number

_CLOSE = 1e-9
Value = Hashable
Test = Callable[[dict[str, Any], "Members", "Members"], bool]


@dataclass
class Members:
    """Who is in a class (or in a table) and which value each row has; None is unknown.

    Attributes
    ----------
    people
        The owner of each row; without a subject column every row is its own.
    """

    values: list[Value]
    people: list[Hashable]
    column: Column | None = None
    table: list[Value] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(set(self.people))

    @property
    def known(self) -> Members:
        rows = [(value, who) for value, who in zip(self.values, self.people, strict=True) if value is not None]
        return Members([value for value, _ in rows], [who for _, who in rows], self.column, self.table)

    def counts(self) -> Counter[Value]:
        """How many people have each value in at least one row."""
        owners: dict[Value, set[Hashable]] = defaultdict(set)
        for value, who in zip(self.values, self.people, strict=True):
            owners[value].add(who)
        return Counter({value: len(found) for value, found in owners.items()})


def _diverse(test: Callable[[dict[str, Any], Counter[Value]], bool]) -> Test:
    """A diversity holds with unknown values present and removed, and no value belongs to everybody in the class."""

    def judged(model: dict[str, Any], group: Members, table: Members) -> bool:
        known = group.known
        if not known.values:
            return True
        everybody = max(known.counts().values()) == group.size
        views = [known] if model["name"] in ("distinct-l", "p-sensitive") else [known, group]
        return not everybody and all(test(model, view.counts()) for view in views)

    return judged


def _alone(test: Test) -> Test:
    """A class in which a value belongs to everybody is judged as that value alone."""

    def judged(model: dict[str, Any], group: Members, table: Members) -> bool:
        shared = [value for value, count in group.known.counts().items() if count == group.size]
        one = Members(shared[:1], group.people[:1], group.column, group.table) if shared else group
        return test(model, one, table)

    return judged


def _entropy(model: dict[str, Any], counts: Counter[Value]) -> bool:
    total = sum(counts.values())
    entropy = -sum(count / total * math.log(count / total) for count in counts.values())
    return entropy >= math.log(model["l"]) - _CLOSE


def _recursive(model: dict[str, Any], counts: Counter[Value]) -> bool:
    falling = sorted(counts.values(), reverse=True)
    return falling[0] < model["c"] * sum(falling[model["l"] - 1 :])


def _alpha(model: dict[str, Any], group: Members, table: Members) -> bool:
    known = group.known
    if group.size < model["k"]:
        return False
    for value, count in known.counts().items():
        limits = {"alpha-k-general": lambda v: model["alpha"],
                  "alpha-k-simple": lambda v: model["alpha"] if v == model.get("value") else 1.0,
                  "alpha-k-complete": lambda v: model["alpha"].get(v, model.get("default", 1.0))}  # fmt: skip
        if count > limits[model["name"]](value) * known.size + _CLOSE:
            return False
    return True


def _numbers(group: Members) -> list[Fraction]:
    assert group.column is not None
    return sorted(number(str(value), group.column.kind) for value in group.known.values)


def _k_e(model: dict[str, Any], group: Members, table: Members) -> bool:
    found = _numbers(group)
    return not found or (len(set(found)) >= model["k"] and found[-1] - found[0] >= model["e"])


def _variance(model: dict[str, Any], group: Members, table: Members) -> bool:
    found = _numbers(group)
    if not found:
        return True
    mean = sum(found) / len(found)
    return float(sum((one - mean) ** 2 for one in found) / len(found)) >= model["v"] - _CLOSE


def _eps_m(model: dict[str, Any], group: Members, table: Members) -> bool:
    found = _numbers(group)
    return all(sum(abs(one - other) <= model["eps"] for other in found) * model["m"] <= len(found) for one in found)


def _simpson(model: dict[str, Any], group: Members, table: Members) -> bool:
    counts = group.known.counts()
    total = sum(counts.values())
    return not total or float(Fraction(sum(c * c for c in counts.values()), total * total)) <= model["p"] + _CLOSE


def _confidence(model: dict[str, Any], group: Members, table: Members) -> bool:
    """The share of the people who have a value: 1 where everybody has it, whatever else some have."""
    known = group.known
    return not known.values or max(known.counts().values()) <= model["p"] * known.size + _CLOSE


def _max_range(model: dict[str, Any], group: Members, table: Members) -> bool:
    if group.column is None or group.column.kind != "int" or not group.known.values:
        return True
    found, whole = _numbers(group), _numbers(table)
    width = whole[-1] - whole[0]
    return width == 0 or float(1 - (found[-1] - found[0]) / width) <= model["limit"] + _CLOSE


def _invariant(model: dict[str, Any], group: Members, table: Members) -> bool:
    counts = group.known.counts()
    return not counts or (len(counts) >= model["m"] and len(set(counts.values())) == 1)


def _close(model: dict[str, Any], group: Members, table: Members) -> bool:
    return not group.known.values or _distance(group.known, table.known) <= model["t"] + _CLOSE


def _distance(group: Members, table: Members) -> float:
    mine, whole = group.counts(), table.counts()
    n, total = sum(mine.values()), sum(whole.values())
    extra = {value: Fraction(mine[value], n) - Fraction(whole[value], total) for value in {*mine, *whole}}
    column = group.column
    if column is not None and column.kind == "int":
        ranks = sorted({str(value) for value in group.table or table.values if value is not None}, key=Fraction)
        moved, path = Fraction(0), Fraction(0)
        for value in ranks:
            moved += extra.get(value, Fraction(0))
            path += abs(moved)
        return float(path / (len(ranks) - 1)) if len(ranks) > 1 else 0.0
    if column is not None and column.kind == "tree":
        return _climb(column, extra)
    return float(sum(map(abs, extra.values())) / 2)


def _climb(column: Column, extra: dict[Value, Fraction]) -> float:
    """Earth mover's distance over a tree: what has to pass through each node, times its height over the tree's."""
    height = len(next(iter(column.paths.values()))) + 1
    below: dict[Any, Fraction] = {leaf: extra.get(leaf, Fraction(0)) for leaf in column.paths}
    parents: dict[Any, Any] = dict(column.paths.items())
    cost = Fraction(0)
    for level in range(1, height + 1):
        inside: dict[Any, list[Fraction]] = defaultdict(list)
        upper: dict[Any, Any] = {}
        for node, amount in below.items():
            above = parents[node]
            parent = above[0] if above else "*"
            inside[parent].append(amount)
            upper[parent] = above[1:]
        for amounts in inside.values():
            up, down = sum(a for a in amounts if a > 0), -sum(a for a in amounts if a < 0)
            cost += Fraction(level, height) * min(up, down)
        below, parents = {node: sum(amounts, Fraction(0)) for node, amounts in inside.items()}, upper
    return float(cost)


def _shares(group: Members, table: Members) -> list[tuple[Fraction, Fraction]]:
    """Of every known value of the table or class, its share of the class and of the table."""
    mine, whole = group.known, table.known
    ours, theirs = mine.counts(), whole.counts()
    return [(Fraction(ours[one], mine.size), Fraction(theirs[one], whole.size)) for one in {*ours, *theirs}]


def _alike(model: dict[str, Any], group: Members, table: Members) -> bool:
    if not group.known.values:
        return True
    for share, usual in _shares(group, table):
        gain = model["beta"] if model["variant"] == "basic" or not usual else min(model["beta"], -math.log(usual))
        if share > usual and float(share) > float(usual) * (1 + gain) + _CLOSE:
            return False
    return True


def _disclosed(model: dict[str, Any], group: Members, table: Members) -> bool:
    return not group.known.values or all(
        share and usual and abs(math.log2(share / usual)) < model["delta"] for share, usual in _shares(group, table)
    )


_JUDGES: dict[str, Test] = {
    "beta-likeness": _alike,
    "delta-disclosure": _disclosed,
    "k": lambda model, group, table: group.size >= model["k"],
    "distinct-l": _diverse(lambda model, counts: len(counts) >= model["l"]),
    "entropy-l": _diverse(_entropy),
    "recursive-cl": _diverse(_recursive),
    "p-sensitive": lambda model, group, table: (
        group.size >= model["k"] and _diverse(lambda m, counts: len(counts) >= m["p"])(model, group, table)
    ),
    "t-closeness": _close,
    "alpha-k-simple": _alpha,
    "alpha-k-general": _alpha,
    "alpha-k-complete": _alpha,
    "k-e": _alone(_k_e),
    "variance": _alone(_variance),
    "eps-m": _alone(_eps_m),
    "range-diversity": _alone(_simpson),
    "range-confidence": _confidence,
    "m-invariance": _invariant,
    "max-range": _alone(_max_range),
}


def judged(model: dict[str, Any]) -> bool:
    """Whether the oracle has an opinion on a model."""
    return model["name"] in _JUDGES


def broken(model: dict[str, Any], groups: Sequence[Members], table: Members) -> int:
    """How many classes break the model."""
    return sum(not _JUDGES[model["name"]](model, group, table) for group in groups)
