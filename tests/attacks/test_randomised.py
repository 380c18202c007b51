"""Attacks on randomised releases: equal to plain loops on small tables, and the measured figures on Adult."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from shoal.errors import ParameterError
from shoal.recipe.source import read
from shoal.recoding.randomised import Randomised
from shoal.risk.attacks import randomised as attacks
from shoal.risk.attacks.base import AttackFigure, figure
from shoal.risk.attacks.randomised import attack_randomised, link_values, recover_vectors, unchanged
from shoal.utility.randomised import wilson
from tests.algorithms.links.test_random import randomise, small
from tests.golden.test_adult import COLUMNS, DROPPED
from tests.measures.test_randomised import Naive, releases


def guess(scores: dict[str, float], truth: str) -> float:
    """Chance that a guess among the largest scores hits the truth."""
    best = max(scores.values())
    likeliest = [value for value, weight in scores.items() if weight >= best * (1 - 1e-9)]
    return (truth in likeliest) / len(likeliest)


def by_name(figures: list[AttackFigure]) -> dict[str, AttackFigure]:
    return {one.name: one for one in figures}


@settings(max_examples=20)
@given(releases())
def test_linkage_is_the_sum_over_released_records(described: Randomised) -> None:
    naive, values = Naive(described), described.table.frame["s"].to_list()
    common = Counter(values)
    right = sure = sure_right = similar = 0.0
    for i, one in enumerate(naive.before):
        scores: dict[str, float] = defaultdict(float)
        votes: dict[str, float] = defaultdict(float)
        for t, other in enumerate(naive.after):
            whole = sum(count * naive.chance(u, other) for u, count in naive.counts.items())
            scores[values[t]] += naive.chance(one, other) / whole
            if t != i:
                differ = sum(x != y for x, y in zip(one, naive.before[t], strict=True))
                fixed = any(one[j] != naive.before[t][j] for j in range(naive.m) if described.p[j] == 0)
                sets = 0 if fixed else comb(described.drawn.size - differ, described.redraw - differ) if (
                    differ <= described.redraw
                ) else 0
                votes[values[t]] += sets
        hit = guess(scores, values[i])
        right += hit
        if max(scores.values()) / sum(scores.values()) > 0.9:
            sure, sure_right = sure + 1, sure_right + hit
        similar += guess(votes, values[i]) if any(votes.values()) else guess(dict(common), values[i])
    found = by_name(link_values(described, "s"))
    assert found["linkage:s"].value == pytest.approx(right / naive.n)
    assert found["linkage:s"].baseline == pytest.approx(max(common.values()) / naive.n)
    assert found["linkage:s"].control == pytest.approx(similar / naive.n)
    assert found["confident:s"].value == pytest.approx(sure / naive.n)
    assert found["confident-right:s"].value == pytest.approx(sure_right / sure if sure else 0.0)
    best = Counter()
    for (vector, _), count in Counter(zip(naive.before, values, strict=True)).items():
        best[vector] = max(best[vector], count)
    assert found["linkage-raw:s"].value == pytest.approx(sum(best.values()) / naive.n)


@settings(max_examples=25)
@given(releases())
def test_recovered_and_unchanged(described: Randomised) -> None:
    naive = Naive(described)
    posteriors = [naive.posterior(other) for other in naive.after]
    found = by_name([*recover_vectors(described), *unchanged(described)])
    hits = [guess(p, one) for p, one in zip(posteriors, naive.before, strict=True)]
    assert found["recovered"].value == pytest.approx(np.mean(hits))
    assert found["recovered"].baseline == pytest.approx(max(naive.counts.values()) / naive.n)
    assert found["posterior"].value == pytest.approx(
        np.mean([p[one] for p, one in zip(posteriors, naive.before, strict=True)])
    )
    tops = np.array([max(p.values()) for p in posteriors])
    assert found["certain"].value == pytest.approx((tops > 1 - 1e-9).mean())
    same = [one == other for one, other in zip(naive.before, naive.after, strict=True)]
    alone = [one and naive.counts[v] == 1 for one, v in zip(same, naive.before, strict=True)]
    assert found["unchanged"].value == pytest.approx(np.mean(same))
    assert found["unique-and-unchanged"].value == pytest.approx(np.mean(alone))
    expected = np.mean([naive.chance(one, one) for one in naive.before])
    if described.redraw == 1:
        assert found["unchanged"].baseline == pytest.approx(expected)


def test_many_people_are_attacked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    described = randomise(small(300), redraw=2)
    whole = attack_randomised(described)
    monkeypatch.setattr(attacks, "_CELLS", 7)
    assert attack_randomised(described) == whole


def test_redrawing_everything_tells_nothing_about_a_person() -> None:
    """Every released record may be anybody's, so the guess is the commonest value."""
    found = by_name(attack_randomised(randomise(small(300), redraw=3)))
    assert found["linkage:s"].value == pytest.approx(found["linkage:s"].baseline or 0.0)
    assert found["recovered"].value == pytest.approx(found["recovered"].baseline or 0.0)


def test_a_strange_target_is_refused() -> None:
    with pytest.raises(ParameterError, match="'a' is not a sensitive attribute"):
        link_values(randomise(small()), "a")


def test_a_figure_has_the_interval_of_its_share() -> None:
    one = figure("name", 0.25, 8, "A quarter.", baseline=0.1)
    assert (one.low, one.high) == wilson(0.25, 8)
    assert (one.baseline, one.control) == (0.1, None)


@pytest.fixture(scope="module")
def pilots(adult: Path) -> dict[str, dict[str, AttackFigure]]:
    quasi = [column for column in COLUMNS if column not in (*DROPPED, "occupation")]
    table = read(
        adult, columns=COLUMNS, quasi=quasi, sensitive=["occupation"], drop=DROPPED, missing_markers=["?"],
        missing="drop",
    )  # fmt: skip
    return {p: by_name(attack_randomised(randomise(table, p=p))) for p in ("uniform", "optimal")}


@pytest.mark.parametrize(
    "p, name, expected",
    [
        ("uniform", "unchanged", 0.46),
        ("uniform", "recovered", 0.70),
        ("uniform", "posterior", 0.57),
        ("uniform", "linkage:occupation", 0.556),
        ("uniform", "linkage-raw:occupation", 0.637),
        ("uniform", "confident:occupation", 0.12),
        ("uniform", "confident-right:occupation", 0.997),
        ("optimal", "linkage:occupation", 0.465),
    ],
)
def test_figures_on_adult(
    pilots: dict[str, dict[str, AttackFigure]], p: str, name: str, expected: float
) -> None:
    """Within three percentage points of the figures this method is published with."""
    assert pilots[p][name].value == pytest.approx(expected, abs=0.03)


def test_baselines_on_adult(pilots: dict[str, dict[str, AttackFigure]]) -> None:
    found = pilots["uniform"]["linkage:occupation"]
    assert found.baseline == pytest.approx(0.134, abs=0.001)
    assert found.control == pytest.approx(0.306, abs=0.03)
    # What the draw leads one to expect, and exactly the share of records unchanged on average.
    assert pilots["uniform"]["unchanged"].baseline == pytest.approx(0.4623, abs=1e-4)
