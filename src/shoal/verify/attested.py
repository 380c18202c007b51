"""What a file says against an attested verdict: conditions that must hold whoever the rows belong to.

An attested verdict rests on something that is not published: whose rows are whose, what codes stand for, how wide a
domain is. All the same a file can refute it. Where people are counted, a value that stands in c rows belongs to one
person at least and to c at most, and a class in which k people were promised has that many pairs of a person and a
value; the flattest histogram that this allows is majorised by every other, so that where it fails a diversity, all do.
Codes stand one for one for values, where the manifest says that all of them are answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.verify.closeness import default_distance
from shoal.verify.facts import Facts, Histogram, Sample
from shoal.verify.judge import Slot, judge, size_asked
from shoal.verify.models import alpha_of, entropy, recursive_ratio
from shoal.verify.outcome import TOLERANCE, at_least, at_most
from shoal.verify.policies import lay_out
from shoal.verify.terms import ROWS_FIRST
from shoal.verify.types import Check
from shoal.verify.values import MISSING, STAR


@dataclass(frozen=True, eq=False)
class Known:
    """What the file tells about one attribute in every class.

    Attributes
    ----------
    view
        Answers, with as few people to each as the promised class sizes allow, and as even.
    whole
        The same with non-answers as ordinary values.
    least, most
        People (or rows) with an answer in each class: no fewer (which may be below 0), no more.
    """

    facts: Facts
    sample: Sample
    view: Histogram
    whole: Histogram
    least: np.ndarray
    most: np.ndarray

    @property
    def distinct(self) -> np.ndarray:
        """Distinct answers of each class."""
        return np.bincount(self.view.group, minlength=self.view.classes)

    @property
    def coded(self) -> bool:
        """Whether values are published as codes."""
        return any(column.coded is not None for column in self.sample.attribute.columns)


def refuted(slot: Slot, facts: Facts) -> Check | None:
    """A failed check where the file alone shows that an attested verdict cannot hold; None where it does not."""
    name, asked = slot.model["name"], size_asked(slot.model)
    made_up = facts.claims.counterfeits
    if made_up and facts.classes.sizes.sum() - made_up < asked * facts.classes.count:
        return _refutation(slot, facts.classes.count, facts.classes.smallest)
    columns = [facts.claims.column(part) for part in slot.names]
    if not facts.classes.count or any(
        column.coded == "shifted" or (column.coded is not None and not column.answers) for column in columns
    ):
        return None
    if slot.side == "input" and _rows_decide(slot, facts):
        # The released rows are a mixture of the classes, hence within t of the input as well.
        twice = {**slot.model, "t": 2 * _largest(slot.model["t"])}
        verdict = judge(replace(slot, model=twice, side="released"), facts)
        if not verdict.holds:
            return _refutation(slot, verdict.classes, verdict.smallest)
    if name == "worst-group-utility":
        passes = at_most(_stars(facts), slot.model["u"])
    elif name in ROWS_FIRST and all(column.coded is None for column in columns):
        verdict = judge(slot, facts)
        return None if verdict.holds else _refutation(slot, verdict.classes, verdict.smallest)
    elif name in _NECESSARY and slot.side != "history":
        known = _known(facts, slot)
        passes = _NECESSARY[name](slot.model, known)
        if name != "max-range":  # which leaves out what has no answer one attribute at a time
            passes |= known.most == 0
    else:
        return None
    failing = facts.classes.sizes[~passes]
    return _refutation(slot, len(failing), int(failing.min())) if len(failing) else None


def _rows_decide(slot: Slot, facts: Facts) -> bool:
    """Whether rows are counted, by a distance that obeys the triangle, on values that are published.

    A class without any answer holds however far it is from the input, and with it the released rows may be.
    """
    columns = [facts.claims.column(name) for name in slot.names]
    distance = slot.model.get("distance") or default_distance(columns)
    plain = not facts.claims.people and all(column.coded is None for column in columns)
    if not plain or distance not in ("equal", "variational", "hierarchical"):
        return False
    return bool(Sample(facts, slot.names, slot.side).judged.all())


def _refutation(slot: Slot, classes: int, smallest: int) -> Check:
    where = "1 class" if classes == 1 else f"{classes:,} classes"
    detail = f"{slot.promise} fails in {where} whatever is not published, the smallest {smallest:,} rows."
    return Check(name=slot.label, passed=False, detail=detail)


def _known(facts: Facts, slot: Slot) -> Known:
    sample = Sample(facts, slot.names, slot.side)
    histogram, sizes = sample.histogram, facts.classes.sizes
    promised = max(size_asked(model) for model in facts.claims.models)
    # Rows are people where nobody is counted twice.
    people = np.minimum(sizes, promised) if facts.claims.people else sizes
    answers = histogram.answers()
    most = np.bincount(answers.group, weights=answers.rows, minlength=answers.classes)
    least = people - (sizes - most)
    return Known(facts, sample, flattest(answers, least), flattest(histogram, people), least, most)


def flattest(view: Histogram, least: np.ndarray) -> Histogram:
    """The most even counts of at most an entry's rows and at least 1 that add up to at least ``least`` in each class.

    They are the rows cut off at one height a class, the lowest that will do.
    """
    order = np.lexsort((view.rows, view.group))
    group, rows = view.group[order], view.rows[order].astype(float)
    values = np.bincount(group, minlength=view.classes)
    first = np.concatenate([[0], np.cumsum(values)[:-1]])
    running = np.concatenate([[0.0], np.cumsum(rows)])
    below = running[:-1] - running[first[group]]
    above = values[group] - (np.arange(len(group)) - first[group])
    target = np.maximum(least, values)[group]
    reached = np.flatnonzero(below + above * rows >= target)
    found, at = np.unique(group[reached], return_index=True)
    height = np.full(view.classes, np.inf)
    height[found] = ((target - below) / above)[reached[at]]
    return replace(view, count=np.minimum(view.rows, height[view.group]))


def _largest(limit: Any) -> Any:
    """The largest figure that is at most a limit, as the gate compares them."""
    return limit + TOLERANCE * np.maximum(1.0, limit)


def _shares(limit: np.ndarray, known: Known) -> np.ndarray:
    """Whether some number of people can leave every answer with at most its limit's share of them.

    One person is the fewest that a value can have, so a class needs at least 1/limit people. With P people a value has
    at most min(rows, limit P), and all of them need one: the sum less P is concave in P and 0 without people, so that
    the fewest people tell.
    """
    view, share = known.view, _largest(limit)
    people = known.least.astype(float)
    np.maximum.at(people, view.group, 1.0 / share)
    room = np.minimum(view.rows, share * people[view.group])
    return view.sums(room) >= people * (1 - TOLERANCE)


def _alpha(model: Mapping[str, Any], known: Known) -> np.ndarray:
    if known.coded and model["name"] != "alpha-k-general":  # which code is which value is not published
        return np.ones(known.view.classes, dtype=bool)
    return _shares(alpha_of(model, known.sample)[known.view.value], known)


def _entropy(model: Mapping[str, Any], known: Known) -> np.ndarray:
    most = np.minimum(entropy(known.view), entropy(known.whole))
    return at_least(most, np.log(model["l"]))


def _recursive(model: Mapping[str, Any], known: Known) -> np.ndarray:
    least = np.maximum(recursive_ratio(model, known.view), recursive_ratio(model, known.whole))
    return least < model["c"]


def _closeness(model: Mapping[str, Any], known: Known) -> np.ndarray:
    """Two classes are at most twice t apart, since both are within t of the table.

    What share of its class a value has at least in one and at most in another is compared; moving a share from one
    value to another costs 1 (equal), or at least a step of the order or of the hierarchy.
    """
    view = known.view
    total = view.sums(view.rows)[view.group]
    fewest = np.maximum(1.0, view.rows - (known.most - known.least)[view.group])
    others = view.sums(fewest)[view.group] - fewest
    low = fewest / (fewest + total - view.rows)
    high = view.rows / np.maximum(known.least[view.group], view.rows + others)
    values = len(known.sample.attribute.known)
    at_one, at_other = np.zeros(values), np.full(values, np.inf)
    np.maximum.at(at_one, view.value, low)
    np.minimum.at(at_other, view.value, high)
    at_other[np.bincount(view.value, minlength=values) < (known.most > 0).sum()] = 0.0
    gap = np.max(at_one - at_other, initial=0.0)
    return np.full(view.classes, gap <= 2 * _moved(model, known) + TOLERANCE)


def _moved(model: Mapping[str, Any], known: Known) -> float:
    """The largest share that can be moved between values within t."""
    columns, t = known.sample.attribute.columns, float(_largest(model["t"]))
    distance = model.get("distance") or default_distance(columns)
    if distance == "kl":  # Pinsker
        return float(np.sqrt(t / 2))
    if distance == "ordered":
        # It is divided by the number of values, of which the input may have more.
        if known.sample.side == "input" and model["t"]:
            return np.inf
        return t * (len(np.unique(known.whole.value)) - 1)
    if distance == "hierarchical" or (known.coded and len(columns) == 1 and model.get("distance") is None):
        height = len(columns[0].hierarchy[0]) - 1 if columns[0].hierarchy else np.inf
        return t * height if model["t"] else t
    return t


def _range_diversity(model: Mapping[str, Any], known: Known) -> np.ndarray:
    """A value is as close to itself as can be, so the mean over pairs is at least the sum of squared shares."""
    view = known.view
    share = view.count / view.sums(view.count)[view.group]
    return at_most(view.sums(share**2), model["p"])


def _range_confidence(model: Mapping[str, Any], known: Known) -> np.ndarray:
    """No value has more than the limit's share, and no range holds every answer of a class."""
    view, passes = known.view, _shares(np.full(len(known.view.group), model["p"]), known)
    attribute = known.sample.attribute
    if known.coded or model["p"] >= 1:
        return passes
    layout = lay_out(attribute.columns[0].policy, attribute.columns[0], attribute.texts, attribute.numbers)
    for low, high in set(layout.declared):
        place = layout.place[view.value]
        outside = np.bincount(view.group, weights=(place < low) | (place > high), minlength=view.classes)
        passes &= outside > 0
    return passes


def _max_range(model: Mapping[str, Any], known: Known) -> np.ndarray:
    """An attribute with one answer in a class has no spread there, whatever its domain."""
    facts, single, judged = known.facts, np.zeros(known.view.classes), np.zeros(known.view.classes)
    for name in known.sample.names:
        answers = facts.histogram([name]).answers()
        distinct = np.bincount(answers.group, minlength=answers.classes)
        single, judged = single + (distinct == 1), judged + (distinct > 0)
    return at_most(single / np.maximum(judged, 1), model["limit"])


def _personalised(model: Mapping[str, Any], known: Known) -> np.ndarray:
    """Where everybody guards something and all of a class have one value, that value is out.

    A ``*`` beside it is a value that was lifted all the way, no missing answer, so cells count as they stand.
    """
    column, view = known.sample.attribute.columns[0], known.view
    if model.get("guard_level") is None or column.hierarchy is None or model["p"] >= 1:
        return np.ones(view.classes, dtype=bool)
    leaves = {row[0] for row in column.hierarchy}
    leaf = np.array([text in leaves for text in known.sample.attribute.texts.to_list()], dtype=bool)
    bare = np.bincount(view.group, weights=leaf[view.value], minlength=view.classes)
    cells = np.bincount(known.whole.group, minlength=view.classes)
    return ~((bare == 1) & (cells == 1))


def _stars(facts: Facts) -> np.ndarray:
    """The share of a class's quasi-identifiers that cover a whole domain of several values."""
    total = np.zeros(facts.classes.count)
    columns = facts.claims.role("quasi")
    for column in columns:
        code, texts = facts.classes.cells[column.name]
        if len(set(texts.to_list()) - {STAR, MISSING}) > 1:
            total += (texts == STAR).to_numpy()[code]
    return total / len(columns)


_NECESSARY: dict[str, Callable[[Mapping[str, Any], Known], np.ndarray]] = {
    "distinct-l": lambda model, known: known.distinct >= model["l"],
    "p-sensitive": lambda model, known: known.distinct >= model["p"],
    "entropy-l": _entropy,
    "recursive-cl": _recursive,
    "t-closeness": _closeness,
    "alpha-k-simple": _alpha,
    "alpha-k-general": _alpha,
    "alpha-k-complete": _alpha,
    "k-e": lambda model, known: known.distinct >= max(model["k"], 2 if model["e"] > 0 else 1),
    "variance": lambda model, known: known.distinct >= (2 if model["v"] > 0 else 1),
    "eps-m": lambda model, known: _shares(np.full(len(known.view.group), 1.0 / model["m"]), known),
    "max-range": _max_range,
    "range-diversity": _range_diversity,
    "range-confidence": _range_confidence,
    "personalised": _personalised,
    "m-invariance": lambda model, known: known.distinct >= model["m"],
}
