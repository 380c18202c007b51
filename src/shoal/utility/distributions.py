"""Distances between what a release says of each column, and of each pair of columns, and what is true."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from shoal.recoding.grading import correlation
from shoal.utility.domains import Feature, Reading
from shoal.utility.features import Column, Rows, Scale, columns_of, is_number, listed, looked_at, pick
from shoal.utility.holdout import known_codes, sides
from shoal.utility.reading import Evaluation, Finding


@dataclass(frozen=True, kw_only=True)
class Distributions(Evaluation):
    """Compare the distribution of every column, and the association of every pair, with those of the original.

    A generalised cell counts evenly for each value that it may stand for. The baseline is a release that says nothing:
    every value as likely as any other, and no two columns related. Columns and pairs that are untouched take no part,
    unless all are. Of codes, it compares how columns are related, and says how graded codes follow their values.

    Parameters
    ----------
    columns
        Columns to compare; all by default.
    """

    name: ClassVar[str] = "distributions"
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", listed("Distributions", "columns", self.columns))

    def run(self, reading: Reading) -> list[Finding]:
        """Mean total variation, mean earth mover's distance, largest and mean difference of associations."""
        after, before = reading.mined
        mine, theirs = (pick(one.features, self.columns) for one in (after, before))
        values = [one for one in mine if one.name in reading.features]
        touched = [one for one in values if one.name not in reading.untouched]
        findings = []
        if touched or len(values) == len(mine):
            release, original = sides(reading, touched or values)
            compared = {one.name: _compare(one, release, original) for one in touched or values}
            findings.append(self._variation(compared))
            if any("earth_mover" in one for one in compared.values()):
                findings.append(self._earth(compared))
        if len(mine) > 1:
            pairs = _compared_pairs([one.name for one in mine], reading.untouched)
            alike = [_as_published(one, other) for one, other in zip(mine, theirs, strict=True)]
            findings.append(self._associations(pairs, sides(after, mine)[0], sides(before, alike)[1]))
        return [*findings, *self._codes(mine, theirs, reading)]

    def looks_at(self, reading: Reading) -> Sequence[str]:
        """Every column that is compared."""
        return looked_at(self.columns, reading.mined[0].features, None)

    def _codes(self, mine: Sequence[Feature], theirs: Sequence[Feature], reading: Reading) -> list[Finding]:
        """How graded codes follow their values, in a straight line; none where nobody said whose they are."""
        found: dict[str, float] = {}
        for codes, values in zip(mine, theirs, strict=True):
            if reading.paired and codes.name in reading.coded and is_number(codes) and is_number(values):
                assert codes.numbers is not None
                assert values.numbers is not None
                x, y = values.numbers[values.original], codes.numbers[codes.original]
                known = np.isfinite(x) & np.isfinite(y)
                r = correlation(x[known], y[known])
                found |= {} if r is None else {codes.name: r}
        if not found:
            return []
        worst = min(found, key=lambda name: found[name])
        sentence = (
            f"The codes of '{worst}' are correlated with its values at {found[worst]:.4f}, those of other graded "
            "columns at least as much: what makes codes useful gives the values away."
        )
        return [Finding(name=f"{self.name} codes", value=found[worst], better="up", sentence=sentence, also=found)]

    def _variation(self, compared: dict[str, dict[str, float]]) -> Finding:
        value, baseline = (float(np.mean([one[key] for one in compared.values()])) for key in ("variation", "nothing"))
        worst = max(compared, key=lambda name: compared[name]["variation"])
        sentence = (
            f"The release puts {value:.1%} of the rows of a column on the wrong values, on average over "
            f"{len(compared)} columns, and {compared[worst]['variation']:.1%} of those of '{worst}'."
        )
        return Finding(
            name=f"{self.name} variation", value=value, better="down", baseline=baseline, sentence=sentence,
            also={"columns": compared},
        )  # fmt: skip

    def _earth(self, compared: dict[str, dict[str, float]]) -> Finding:
        mine = {name: one for name, one in compared.items() if "earth_mover" in one}
        value, baseline = (
            float(np.mean([one[key] for one in mine.values()])) for key in ("earth_mover", "earth_nothing")
        )
        sentence = (
            f"To be put right, a row of an ordered column ({len(mine)} of them) would have to move by {value:.2%} of "
            "the column's range on average."
        )
        also = {name: one["earth_mover"] for name, one in mine.items()}
        return Finding(
            name=f"{self.name} earth-mover", value=value, better="down", baseline=baseline, sentence=sentence, also=also
        )

    def _associations(self, pairs: Sequence[tuple[int, int]], release: Rows, original: Rows) -> Finding:
        mine, theirs = associations(release), associations(original)
        gaps = np.array([abs(mine[pair] - theirs[pair]) for pair in pairs])
        worst = pairs[int(np.argmax(gaps))]
        names = [release.features[place].name for place in worst]
        sentence = (
            f"The association of two columns is off by {gaps.mean():.3f} on average over {len(pairs)} pairs, and by "
            f"{gaps.max():.3f} between '{names[0]}' and '{names[1]}' ({mine[worst]:.3f}, truly {theirs[worst]:.3f})."
        )
        also: dict[str, Any] = {
            "largest": float(gaps.max()), "pair": names, "names": [one.name for one in release.features],
            "release": mine.tolist(), "original": theirs.tolist(),
        }  # fmt: skip
        return Finding(
            name=f"{self.name} associations", value=float(gaps.mean()), better="down", sentence=sentence, also=also,
            baseline=float(np.mean([abs(theirs[pair]) for pair in pairs])),
        )  # fmt: skip


def _as_published(codes: Feature, values: Feature) -> Feature:
    """The values as texts where numbers are mapped to texts: both sides are measured by the same figure."""
    if is_number(values) and not is_number(codes):
        return replace(values, type=codes.type, numbers=None)
    return values


def _compared_pairs(names: Sequence[str], untouched: Collection[str]) -> list[tuple[int, int]]:
    """Pairs of columns of which one at least is touched; all of them where none is."""
    pairs = list(combinations(range(len(names)), 2))
    return [pair for pair in pairs if not all(names[one] in untouched for one in pair)] or pairs


def _compare(feature: Feature, release: Rows, original: Rows) -> dict[str, float]:
    mine, theirs = (_shares(rows.marginal(feature)) for rows in (release, original))
    even = np.full(theirs.size, 1.0 / theirs.size)
    found = {
        "variation": total_variation(mine, theirs),
        "hellinger": hellinger(mine, theirs),
        "nothing": total_variation(even, theirs),
    }
    known = known_codes(feature)
    if (is_number(feature) or feature.type == "ordinal") and known.sum() > 1 and mine[known].sum() > 0.0:
        at = feature.numbers[known] if is_number(feature) and feature.numbers is not None else np.arange(known.sum())
        found["earth_mover"] = earth_mover(mine[known], theirs[known], at)
        found["earth_nothing"] = earth_mover(even[known], theirs[known], at)
    return found


def _shares(counts: np.ndarray) -> np.ndarray:
    return counts / counts.sum()


def total_variation(one: np.ndarray, other: np.ndarray) -> float:
    """Half the summed differences of two distributions: the share of rows that would have to change."""
    return float(np.abs(one - other).sum() / 2.0)


def hellinger(one: np.ndarray, other: np.ndarray) -> float:
    """Hellinger distance of two distributions, 0 to 1."""
    return float(np.sqrt(((np.sqrt(one) - np.sqrt(other)) ** 2).sum() / 2.0))


def earth_mover(one: np.ndarray, other: np.ndarray, at: np.ndarray) -> float:
    """Mean distance that a row would have to be moved, as a share of the range of the places ``at``."""
    order = np.argsort(at, kind="stable")
    place = np.asarray(at, dtype=np.float64)[order]
    gap = np.cumsum(one[order] / one.sum()) - np.cumsum(other[order] / other.sum())
    span = place[-1] - place[0]
    return float(np.abs(gap[:-1]) @ np.diff(place) / span) if span > 0.0 else 0.0


def associations(rows: Rows) -> np.ndarray:
    """How far each pair of columns is related: Pearson's r of numbers, Cramér's V of texts, else the correlation ratio.

    All of them follow from one matrix product, over chunks of rows.
    """
    columns = columns_of(rows.features)
    scale = Scale.of(rows, columns)
    product, sums = np.zeros((scale.mean.size, scale.mean.size)), np.zeros(scale.mean.size)
    for part in rows.chunks():
        matrix = scale(rows.matrix(columns, part))
        product += matrix.T @ matrix
        sums += matrix.sum(axis=0)
    starts = np.cumsum([0, *(len(one.names) for one in columns[:-1])])
    # The second column of a number says that it is missing, and takes no part.
    widths = [1 if one.of is None else len(one.names) for one in columns]
    spans = [slice(low, low + width) for low, width in zip(starts, widths, strict=True)]
    product, sums = product / rows.rows.size, sums / rows.rows.size
    found = np.eye(len(columns))
    for i, j in combinations(range(len(columns)), 2):
        found[i, j] = found[j, i] = _association(
            product[spans[i], spans[j]], sums[spans[i]], sums[spans[j]], columns[i], columns[j]
        )
    return found


def _association(joint: np.ndarray, first: np.ndarray, second: np.ndarray, one: Column, other: Column) -> float:
    if one.of is None and other.of is None:
        return float(np.clip(joint[0, 0], -1.0, 1.0))
    if one.of is not None and other.of is not None:
        return _cramer(joint, min(_categories(one), _categories(other)))
    totals, share = (joint[:, 0], first) if one.of is not None else (joint[0], second)
    between = np.divide(totals**2, share, out=np.zeros(share.size), where=share > 0).sum()
    return float(np.sqrt(min(1.0, between)))


def _categories(column: Column) -> int:
    """Texts of the original, so that both sides are measured by the same yardstick."""
    return min(np.unique(column.feature.original).size, len(column.names))


def _cramer(joint: np.ndarray, categories: int) -> float:
    """Cramér's V of a table of shares."""
    chance = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    excess = np.divide(joint**2, chance, out=np.zeros(joint.shape), where=chance > 0).sum() - 1.0
    return float(np.sqrt(min(1.0, max(0.0, excess) / (categories - 1)))) if categories > 1 else 0.0
