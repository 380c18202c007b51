"""Checks that need only the release and its manifest, so that the gate and the re-check share them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.cells import Cells, outside_domain, read_cells
from shoal.verify.classes import Classes, Look, Placed, digest_values, order_classes
from shoal.verify.facts import Attribute, Facts
from shoal.verify.figures import READ, Counted, Template, drawn_rows, number, wanted_figures
from shoal.verify.hierarchies import labels, paths, well_written
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import Check
from shoal.verify.tally import Counts, Dictionary, Numbering
from shoal.verify.values import MISSING, STAR, Coded, canonical

# What a release needs to have been accepted, by how its quasi-identifiers are published.
_CODES = {"randomised": "W-RA-LINK", "pseudonymised": "W-PP-REV", "bucketised": "W-EXACT-QI",
          "perturbed": "W-PERTURBED"}  # fmt: skip


def check_columns(columns: Sequence[str], apart: Sequence[str] | None, claims: Claims) -> list[Check]:
    """The release has exactly the manifest's columns, in that order, in one table or in two."""
    checks = [_check_columns("columns", "The release", columns, claims.files)]
    if claims.apart or apart is not None:
        checks.append(_check_columns("sensitive columns", "The table of sensitive values", apart or (), claims.apart))
    return checks


def _check_columns(name: str, where: str, found: Sequence[str], wanted: Sequence[str]) -> Check:
    extra = [one for one in found if one not in wanted]
    lost = [one for one in wanted if one not in found]
    detail = f"{where} has the manifest's {len(wanted)} columns, in order."
    if extra:
        detail = f"{where} has a column '{extra[0]}' that the manifest does not list."
    elif lost:
        detail = f"{where} lacks the column '{lost[0]}'."
    elif list(found) != list(wanted):
        detail = f"{where} has its columns in another order than the manifest."
    return Check(name=name, passed=list(found) == list(wanted), detail=detail)


def check_codes(manifest: Mapping[str, Any], claims: Claims) -> Check:
    """The publisher accepted what a kind of release does not protect, by its warning code."""
    needed = [_CODES[claims.made]] if claims.made in _CODES else []
    if claims.made != "pseudonymised" and any(column.coded in ("graded", "mapping") for column in claims.columns):
        needed.append(_CODES["pseudonymised"])
    if any(column.coded == "token" for column in claims.columns):
        needed.append("W-TRAJECTORY")
    lost = [code for code in needed if code not in manifest.get("acknowledged", ())]
    fine = f"What this kind of release needs is acknowledged: {', '.join(needed) or 'nothing'}."
    detail = f"The release is {claims.kind}, and '{lost[0]}' is not acknowledged." if lost else fine
    return Check(name="warning codes", passed=not lost, detail=detail)


def check_classes(classes: Classes) -> Check:
    """There is at least one class to judge."""
    if not classes.count:
        return Check(name="classes", passed=False, detail="The release has no row in any class.")
    detail = f"{classes.count:,} classes, the smallest {classes.smallest:,} rows."
    return Check(name="classes", passed=True, detail=detail)


def check_cells(claims: Claims, classes: Classes) -> tuple[Check, dict[str, Cells]]:
    """Every quasi-identifier cell can be read as the manifest says and lies inside a declared domain."""
    problems, found = [], {}
    for column in claims.role("quasi") if claims.made == "generalised" else ():
        cells = found[column.name] = read_cells(column, classes.cells[column.name][1])
        unreadable, outside = int((~cells.valid).sum()), outside_domain(column, cells)
        if unreadable:
            problems.append(f"{unreadable:,} distinct cells of '{column.name}' are not {_expected(column)}")
        if outside:
            problems.append(f"{outside:,} distinct cells of '{column.name}' leave its declared domain")
    detail = "; ".join(problems) + "." if problems else "Every quasi-identifier cell can be read."
    return Check(name="cells", passed=not problems, detail=detail), found


class ExactValues:
    """Every quasi-identifier that is published as a value fits its column's type, order and declared domain."""

    def __init__(self, claims: Claims) -> None:
        columns = claims.role("quasi") if claims.made != "generalised" else []
        self._columns = [(column, Dictionary(column.reads), Counts()) for column in columns]

    def see(self, batch: Coded) -> None:
        """Look at a batch of the release."""
        for column, dictionary, counts in self._columns:
            counts.see(pl.DataFrame({"value": dictionary.see_held(batch[column.name])}))

    def check(self) -> Check:
        """What all batches hold."""
        problems: list[str] = []
        for column, dictionary, counts in self._columns:
            known = dictionary.texts.is_not_null().to_numpy()
            rows = counts.total()["rows"].to_numpy()
            problems += _misfits(column, Attribute((column,), rows, known, dictionary.texts, dictionary.numbers, None))
        fine = "Every quasi-identifier value fits its column's description."
        detail = "; ".join(problems) + "." if problems else fine
        return Check(name="quasi-identifier values", passed=not problems, detail=detail)


def check_sensitive(facts: Facts) -> Check:
    """Every known sensitive value fits its column's type, order, hierarchy and declared domain."""
    problems: list[str] = []
    for column in facts.claims.role("sensitive"):
        problems += _misfits(column, facts.attribute([column.name]))
    detail = "; ".join(problems) + "." if problems else "Every sensitive value fits its column's description."
    return Check(name="sensitive values", passed=not problems, detail=detail)


def _misfits(column: Column, attribute: Attribute) -> list[str]:
    found = []
    for fits, what in _demands(column, attribute):
        rows = int(attribute.rows[attribute.known & ~fits].sum())
        if rows:
            found.append(f"{rows:,} rows of '{column.name}' hold {what}")
    return found


def class_figures(facts: Facts, look: Look) -> Mapping[str, Any]:
    """Number and size of the classes, and digests of their cells and of each sensitive column's counts."""
    order = order_classes(facts.classes)
    digest = {"quasi": order.digest if look.pinned is facts.classes else order_classes(look.pinned).digest}
    for column in facts.claims.role("sensitive"):
        histogram, attribute = facts.histogram([column.name]), facts.attribute([column.name])
        digest[column.name] = digest_values(
            order, histogram.group, histogram.value, histogram.rows, attribute.texts
        )
    return {"count": facts.classes.count, "smallest": facts.classes.smallest, "digest": digest}


def no_figures() -> Mapping[str, Any]:
    """Class figures where rows or columns do not even fit together."""
    return {"count": 0, "smallest": 0, "digest": {}}


def _expected(column: Column) -> str:
    return {
        "label": "nodes of its hierarchy",
        "interval": "values or intervals with ends in order",
        "set": "values or sets of values",
        "value": "values",
        "bounds": "two ends in order",
        "representative": "values",
        "items": "items",
    }[column.cells]


def _demands(column: Column, attribute: Attribute) -> list[tuple[np.ndarray, str]]:
    found = []
    if column.reads in ("numeric", "date"):
        what = "a number" if column.reads == "numeric" else "an ISO date"
        found.append((~np.isnan(attribute.numbers), f"something that is not {what}"))
        if column.domain is not None:
            low, high = column.domain
            outside = (attribute.numbers < low) | (attribute.numbers > high)
            found.append((~outside, "something outside its declared domain"))
    if column.reads == "ordinal":
        found.append((_is_one_of(attribute, column.order or (), column), "something outside its order"))
    if column.cells == "items":
        return [_items_fit(column, attribute)]
    if column.hierarchy is not None:
        lifted = column.cells == "label"
        nodes = {label for row in column.hierarchy for label in (row if lifted else row[:1])}
        what = "node" if lifted else "leaf"
        found.append((_is_one_of(attribute, nodes, column), f"something that is no {what} of its hierarchy"))
    return found


def _items_fit(column: Column, attribute: Attribute) -> tuple[np.ndarray, str]:
    """Which cells are written as cells of items are, with labels of the hierarchy where there is one."""
    known, mark = paths(column), column.mark or ""
    fits = [
        text is None or (well_written(text, mark) and (not known or all(one in known for one in labels(text, mark))))
        for text in attribute.texts.to_list()
    ]
    return np.array(fits, dtype=bool), "something that is no list of items, or has one that its hierarchy lacks"


def _is_one_of(attribute: Attribute, texts: Any, column: Column) -> np.ndarray:
    allowed, _ = canonical(pl.Series(list(texts), dtype=pl.String), column.reads)
    return attribute.texts.is_in(allowed.drop_nulls().to_list()).fill_null(False).to_numpy()


# ----------------------------------------
# Whether a manifest gives the figures of attacks that its kind of release needs, no others, and consistent ones.
#
# Some figures anybody can count in the release: these are counted again. The others are attested, since they rest
# on whose record is whose; of them it is checked that value, interval, baseline, trials and sentence fit each other
# and the release.


# Two-sided 95 % of the normal distribution.
_NORMAL = 1.959963984540054
# Figures are rounded to four digits; an end of an interval moves at most twice as much as its share.
_ROUNDED, _END = 1e-4, 3e-4


class Histories:
    """Counts what figures of attacks need beside classes and sensitive values: codes and linked rows, batch by batch.

    Parameters
    ----------
    claims
        The manifest.
    """

    def __init__(self, claims: Claims) -> None:
        self._coded = {column.name: 0 for column in claims.columns if column.coded in READ}
        self._tokens = {column.name: (Numbering(), Counts()) for column in claims.role("pseudonym")}
        self._group, self._groups = claims.group, Numbering()

    def see(self, batch: Coded, placed: Placed) -> None:
        """Look at the rows of a batch that are in a class; where groups are published, these are the classes."""
        for name in self._coded:
            if name in batch.frame.columns:
                self._coded[name] += int(_given(batch.frame[name].gather(placed.rows)).sum())
        for name, (people, counts) in self._tokens.items():
            if name not in batch.frame.columns:
                continue
            tokens, classes = batch.frame[name].gather(placed.rows), placed.of_row
            if self._group is not None:
                groups = batch.frame[self._group].gather(placed.rows)
                classes = self._groups.see(groups.cast(pl.String).to_frame("group")).codes
            there = _given(tokens)
            who = people.see(tokens.filter(there).cast(pl.String).to_frame("who")).codes
            counts.see_numbers({"who": who, "class": classes[there]})

    @property
    def codes(self) -> Mapping[str, int]:
        """Rows that have a code, by column."""
        return self._coded

    @property
    def paths(self) -> Mapping[str, tuple[int, float]]:
        """People, and the share of them whose rows are in classes that nobody else's are in, by column of tokens."""
        return {name: _alone(counts.total()) for name, (_, counts) in self._tokens.items()}


def _given(cells: pl.Series) -> np.ndarray:
    """Flag cells that hold something."""
    texts = cells.cast(pl.String)
    return (texts.is_not_null() & ~texts.is_in([MISSING, STAR])).fill_null(False).to_numpy()


def _alone(counted: pl.DataFrame) -> tuple[int, float]:
    """Count people, and the share of them with a combination of classes that is theirs alone."""
    if not counted.height:
        return 0, 0.0
    step = pl.concat_str("class", "rows", separator=":")
    paths = counted.sort("who", "class").group_by("who", maintain_order=True).agg(path=step.str.join(" "))
    alone = int((paths.group_by("path").len()["len"] == 1).sum())
    return paths.height, alone / paths.height


def check_measured(
    manifest: Mapping[str, Any], claims: Claims, quasi: Classes, facts: Facts, histories: Histories
) -> Check:
    """Figures of attacks are exactly those that are needed; what can be counted is counted again."""
    figures = manifest.get("measured", ())
    counted = _counted(claims, quasi, facts, histories)
    sample = drawn_rows(figures)
    problem = None
    if sample is not None:
        if sample[1] != counted.everybody or not 0 < sample[0] <= sample[1]:
            problem = "Figures of attacks are said to be of a sample that is none of this release."
        counted = counted.of_sample(min(sample[0], counted.everybody))
    wanted = wanted_figures(manifest, claims, counted)
    pairs, lost = _paired(wanted, figures)
    if lost is not None:
        problem = f"The manifest does not tell what an attack on this kind of release achieves: '{lost}' is missing."
    elif len(pairs) < len(figures):
        problem = "The manifest has a figure of an attack that does not belong to this kind of release."
    if problem is None:
        problem = next((said for pair in pairs if (said := _problem(*pair, pairs, counted, sample))), None)
    return Check(name="measured", passed=problem is None, detail=problem or _told(wanted))


def _told(wanted: Sequence[Template]) -> str:
    """Say which figures were counted again, and which are attested."""
    if not wanted:
        return "This kind of release needs no figures of attacks."
    attested = list(dict.fromkeys(f"'{one.name}'" for one in wanted if one.attested))
    counted = list(dict.fromkeys(f"'{one.name}'" for one in wanted if not one.attested))
    found = [f"Counted again in the release: {', '.join(counted)}."] if counted else []
    if attested:
        found.append(f"Attested, since they rest on the publisher's evidence: {', '.join(attested)}.")
    return " ".join(["What attacks achieve is told.", *found])


def _counted(claims: Claims, quasi: Classes, facts: Facts, histories: Histories) -> Counted:
    """Count in the release what figures of attacks are compared with."""
    rows = int(quasi.sizes.sum())
    answers, commonest, single, best = {}, {}, {}, {}
    for column in claims.role("sensitive"):
        name = column.name
        values = facts.attribute([name]).rows
        commonest[name] = float(values.max(initial=0) / max(values.sum(), 1))
        answers[name] = 0, rows
        if column.coded is not None and not column.answers:
            continue  # a code may stand for a non-answer, which only the publisher knows
        mine = facts.histogram([name]).answers()
        many = np.bincount(mine.group, minlength=mine.classes)
        largest = np.zeros(mine.classes)
        np.maximum.at(largest, mine.group, mine.rows)
        total = int(mine.rows.sum())
        answers[name] = total, total
        single[name] = float(mine.rows[many[mine.group] == 1].sum() / max(total, 1))
        best[name] = float(largest.sum() / max(total, 1))
    return Counted(
        everybody=rows,
        alone=float((quasi.sizes == 1).sum() / max(rows, 1)),
        rows=rows,
        answers=answers,
        commonest=commonest,
        single=single,
        best=best,
        codes={name: (many, many) for name, many in histories.codes.items()},
        paths={name: ((people, people), share) for name, (people, share) in histories.paths.items()},
    )


_Pair = tuple[Template, Mapping[str, Any]]


def _paired(wanted: Sequence[Template], figures: Sequence[Mapping[str, Any]]) -> tuple[list[_Pair], str | None]:
    """Put each figure beside its template, in the order of figures of one name; and the first that is missing."""
    left = list(figures)
    found: list[_Pair] = []
    for one in wanted:
        mine = next((figure for figure in left if figure["name"] == one.name), None)
        if mine is None and one.optional:
            continue
        if mine is None:
            return found, one.name
        left.remove(mine)
        found.append((one, mine))
    return found, None


def _problem(
    one: Template,
    figure: Mapping[str, Any],
    pairs: Sequence[_Pair],
    counted: Counted,
    sample: tuple[int, int] | None,
) -> str | None:
    """Say what is wrong with a figure, in a sentence; None where it fits its template."""
    name, value, baseline = one.name, figure["value"], figure["baseline"]
    found = one.pattern(sample is not None).fullmatch(figure["sentence"])
    parts = {} if found is None else found.groupdict()
    if found is None or not _tells(parts, figure, sample):
        return f"The sentence of the figure '{name}' is not the one that such a figure has, or tells another number."
    if not one.attested and abs(value - one.value) > _ROUNDED:
        return f"The figure '{name}' is not the one that can be counted in the release."
    trials = _trials(one, parts, pairs, counted)
    if not _same_baseline(baseline, _baseline(one, parts, trials[0])):
        return f"The baseline of the figure '{name}' is not the one of such a release."
    if not one.trials[0] <= trials[0] <= one.trials[1] or not _is_interval(value, figure["interval"], trials):
        return f"The interval of the figure '{name}' is not the one of its value."
    if one.whole and trials[0] == trials[1] and not _is_share(value, trials[0]):
        return f"The figure '{name}' is no share of {trials[0]:,}."
    above = next((other for _, other in pairs if other["name"] == one.within), None)
    if above is not None and (value > above["value"] or (baseline or 0) > (above["baseline"] or 1)):
        return f"The figure '{name}' exceeds '{one.within}', which it is a part of."
    return None


def _tells(parts: Mapping[str, str | None], figure: Mapping[str, Any], sample: tuple[int, int] | None) -> bool:
    """Whether the numbers of a sentence are those of its figure, in percent as they are rounded."""
    shown = {name: text for name, text in parts.items() if text is not None}
    for name, value in (("share", figure["value"]), ("naive", figure["baseline"])):
        if name in shown and (value is None or abs(100 * value - float(shown[name])) > _step(shown[name])):
            return False
    if any(float(shown[name]) > 100 for name in ("control", "low", "high") if name in shown):
        return False
    if "low" in shown and float(shown["low"]) > float(shown["high"]):
        return False
    return "drawn" not in shown or (number(shown["drawn"]), number(shown["records"])) == sample


def _step(text: str) -> float:
    return (0.05 if "." in text else 0.5) + 55 * _ROUNDED


def _trials(
    one: Template, parts: Mapping[str, str | None], pairs: Sequence[_Pair], counted: Counted
) -> tuple[int, int]:
    """Give the fewest and the most trials that a figure can have."""
    people = parts.get("people")
    if parts.get("share") is None:
        return 0, 0
    if people is not None:
        return (number(people), number(people))
    size = parts.get("size")
    if size is not None:
        return 1, max(counted.rows - number(size), 1)
    share = next((float(other["value"]) for _, other in pairs if other["name"] == one.part), None)
    if share is None:
        return one.trials
    low, high = (share + side * _ROUNDED for side in (-1, 1))
    return max(math.ceil(low * counted.rows), 0), min(math.floor(high * counted.rows), counted.rows)


def _baseline(one: Template, parts: Mapping[str, str | None], trials: int) -> float | None:
    """Give the naive guess: one of the people that a sentence counts, or none where there was nobody to attack."""
    if parts.get("people"):
        return 1.0 / trials if trials else None
    return one.baseline if parts.get("share") is not None else 0.0


def _same_baseline(given: float | None, wanted: float | None) -> bool:
    if given is None or wanted is None:
        return given is wanted
    return 0.0 <= given <= 1.0 and (math.isnan(wanted) or abs(given - wanted) <= _ROUNDED)


def _is_share(value: float, trials: int) -> bool:
    """Whether a rounded share can be a whole number of trials."""
    return trials == 0 or abs(value * trials - round(value * trials)) <= trials * _ROUNDED


def _is_interval(value: float, interval: Sequence[float], trials: tuple[int, int]) -> bool:
    """Whether an interval is the 95 % Wilson interval of a share for some number of trials between two."""
    low, high = trials
    if value > 0:
        low = max(low, 1)  # of no trials there is no share
        if high < low:
            return False
    width = interval[1] - interval[0]
    while low < high:
        middle = (low + high) // 2
        ends = wilson(value, middle)
        low, high = (low, middle) if ends[1] - ends[0] <= width else (middle + 1, high)
    near = {low, max(low - 1, trials[0], int(value > 0))}
    return any(
        all(abs(end - given) <= _END for end, given in zip(wilson(value, many), interval, strict=True)) for many in near
    )


def wilson(share: float, trials: int) -> tuple[float, float]:
    """Compute the 95 % Wilson interval of a share; 0 to 1 without any trial."""
    if trials <= 0:
        return 0.0, 1.0
    square = _NORMAL * _NORMAL / trials
    centre = (share + square / 2.0) / (1.0 + square)
    half = _NORMAL * math.sqrt(max(share * (1.0 - share), 0.0) / trials + square / (4.0 * trials)) / (1.0 + square)
    return (0.0 if share <= 0.0 else centre - half), (1.0 if share >= 1.0 else centre + half)
