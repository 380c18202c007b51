"""The verifier's k-map and delta-presence at the edge of their limits, on populations counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import VerificationError
from shoal.verify.report import Verdict
from shoal.verify.terms import size
from tests.verify.cases import judged
from tests.verify.test_facts import facts

# Two people in the first class, three in the second.
CLASSES = [["a", "b"], ["a", "b", "b"]]


def verdict(model: dict[str, Any], people: dict[str | None, int], **options: Any) -> Verdict:
    frame = pl.DataFrame({"q": pl.Series(list(people), dtype=pl.String)})
    return judged(CLASSES, model, population=frame, population_counts=np.array(list(people.values())), **options)


def k_map(k: int, **more: Any) -> dict[str, Any]:
    return {"name": "k-map", "k": k, **more}


def presence(low: float, high: float) -> dict[str, Any]:
    return {"name": "delta-presence", "delta_min": low, "delta_max": high}


def test_everybody_who_matches_counts_and_nobody_else() -> None:
    people = {"g0": 4, "g1": 5, "g2": 90, None: 7}
    found = verdict(k_map(4), people)
    assert (found.holds, found.value, found.limit, found.by, found.on) == (True, 4, 4, "attested", None)
    failed = verdict(k_map(5), people)
    assert (failed.holds, failed.value, failed.classes, failed.smallest) == (False, 4, 1, 2)
    assert verdict(k_map(6), people).classes == 2


@pytest.mark.parametrize("pairs", [1, 3, 1 << 21])
def test_classes_are_counted_alike_in_any_number_at_a_time(monkeypatch: pytest.MonkeyPatch, pairs: int) -> None:
    monkeypatch.setattr(size, "_PAIRS", pairs)
    assert verdict(k_map(5), {"g0": 4, "g1": 5, "g2": 90}).value == 4
    assert verdict(presence(0.1, 0.5), {"g0": 4, "g1": 6, "g2": 90}).value == 0.5


def test_shares_from_both_sides() -> None:
    people = {"g0": 4, "g1": 4}  # 1/2 and 3/4
    for low, high, failing in ((0.5, 0.75, 0), (0.51, 0.75, 1), (0.5, 0.74, 1), (0.6, 0.7, 2)):
        found = verdict(presence(low, high), people)
        assert (found.value, found.limit, found.classes, found.by) == (0.75, high, failing, "attested")


@pytest.mark.parametrize("pairs", [1, 1 << 21])
def test_shares_of_classes_that_cover_the_same_people_add_up(monkeypatch: pytest.MonkeyPatch, pairs: int) -> None:
    """2 of the 8 of g0 and g1, and 3 of the 6 of g1 and g2: somebody of g1 may be among both."""
    monkeypatch.setattr(size, "_PAIRS", pairs)
    cells = ["{g0|g1}"] * 2 + ["{g1|g2}"] * 3
    released = pl.DataFrame({"q": cells, "s": [value for values in CLASSES for value in values]})
    rows = {"released": released, "original": released.with_columns(q=pl.Series(["g0", "g0", "g1", "g1", "g2"]))}
    for low, high, failing in ((0.25, 0.75, 0), (0.25, 0.74, 2), (0.26, 0.75, 1)):
        found = verdict(presence(low, high), {"g0": 4, "g1": 4, "g2": 2}, **rows)
        assert (found.value, found.classes) == (0.75, failing)
    # Apart from g1, whom nobody is left of, each stands for itself.
    assert verdict(presence(0.25, 0.5), {"g0": 8, "g2": 6}, **rows).value == 0.5


def test_a_class_that_nobody_matches_is_never_within_limits() -> None:
    found = verdict(presence(0.1, 1), {"g0": 4})
    assert (found.holds, found.value) == (False, np.inf)


def test_an_estimate_needs_no_population_and_counts_people() -> None:
    """Of k = 5 at one in ten, two records speak for enough; of k = 9 it takes three."""
    found = judged(CLASSES, k_map(5, fraction=0.1, significance=0.05))
    assert (found.holds, found.value, found.limit, found.by) == (True, 2, 2, "rechecked")
    failed = judged(CLASSES, k_map(9, fraction=0.1, significance=0.05))
    assert (failed.holds, failed.limit, failed.classes) == (False, 3, 1)
    once = judged(CLASSES, k_map(5, fraction=0.1, significance=0.05), subjects=["p", "p", "q", "r", "s"])
    assert (once.holds, once.value, once.by) == (False, 1, "attested")


def test_nobody_counts_a_population_that_was_not_given() -> None:
    with pytest.raises(VerificationError, match="The population is only known at the gate"):
        size.matching_people(facts([["a", "b"]]))
