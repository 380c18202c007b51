"""Nearest centroids: the kernel against plain Python, counts by hand, and what k keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InputError
from shoal.kernels.microaggregation import nearest_rows
from shoal.risk.attacks.run import attack
from tests.attacks.cases import NUMBER, TEXT, attacked, case_of, figures

MICRO: dict[str, Any] = {"kind": "microaggregated"}


def plain(points: np.ndarray, codes: np.ndarray, centres: np.ndarray, labels: np.ndarray, sizes: np.ndarray) -> Any:
    found = []
    for point, code in zip(points, codes, strict=True):
        apart = [
            float(np.nansum((point - centre) ** 2)) + int((code != label).sum())
            for centre, label in zip(centres, labels, strict=True)
        ]
        best = min(apart)
        ties = [at for at, one in enumerate(apart) if one <= best + 1e-9]
        found.append((ties[0], best, sum(sizes[ties])))
    return tuple(np.array(one) for one in zip(*found, strict=True))


@pytest.mark.reference("nearest_block")
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 8), st.integers(0, 3), st.integers(0, 2))
def test_the_kernel_is_the_plain_way(seed: int, n: int, many: int, numbers: int, texts: int) -> None:
    rng = np.random.default_rng(seed)
    points, centres = (rng.integers(0, 3, (one, numbers)).astype(np.float64) for one in (n, many))
    points[rng.random(points.shape) < 0.1] = np.nan
    codes, labels = (rng.integers(0, 2, (one, texts)).astype(np.int32) for one in (n, many))
    sizes = rng.integers(1, 5, many).astype(np.float64)
    found = nearest_rows(points, codes, centres, labels, sizes)
    for mine, reference in zip(found, plain(points, codes, centres, labels, sizes), strict=True):
        assert mine == pytest.approx(reference)


def test_guesses_from_the_nearest_class_by_hand() -> None:
    released = {"age": [20.0, 20.0, 40.0, 40.0], "sex": ["f", "f", "m", "m"], "s": ["a", "a", "b", "c"]}
    # Nearest are the first class, the first (the sex differs), the second, and the second.
    people = {"age": [22, 24, 41, 39], "sex": ["f", "m", "m", "f"], "s": ["a", "b", "b", "c"]}
    case = case_of(released, {"age": NUMBER, "sex": TEXT}, against=people, control=people, **MICRO)
    assert case.people.classes is not None
    assert case.people.classes.tolist() == [0, 0, 1, 1]
    result = attacked(case, "nearest")
    found = figures(result)
    # Whether a record is the right one is not known from files.
    assert set(found) == {"nearest:s", "nearest-sure:s"}
    assert "publisher" in result.note
    assert found["nearest:s"].value == pytest.approx(2 / 4)
    assert found["nearest:s"].control == pytest.approx(2 / 4)
    assert found["nearest-sure:s"].value == pytest.approx(1 / 4)


def test_classes_are_attacked_by_their_records() -> None:
    released = {"age": [20.0, 20.0, 40.0, 40.0], "s": ["a", "a", "b", "c"]}
    inside, outside = {"age": [39], "s": ["a"]}, {"age": [20], "s": ["a"]}
    case = case_of(released, {"age": NUMBER}, against=inside, control=outside, **MICRO)
    result = attacked(case, "homogeneity")
    assert figures(result)["homogeneity:s"].value == pytest.approx(2 / 4)
    assert "Everybody's class is taken to be known here" in result.note
    assert "which cover no set of values; these do: nearest" in attacked(case, "linkage").note


def test_k_keeps_the_attacker_within_one_in_k() -> None:
    people = shoal.example_census(300).select("age", "income", "sex", "diagnosis").drop_nulls()
    table = shoal.read(people, quasi=["age", "income", "sex"], sensitive=["diagnosis"])
    release = shoal.anonymize(
        table, algorithm=shoal.Microaggregation(k=4), acknowledge=["W-UNMODELLED:diagnosis"], seed=1
    )
    made = figures(attack(release, only=["nearest"])[0])
    assert 0.5 / 4 < made["nearest"].value <= 1 / 4
    assert made["nearest-class"].value > 0.5 > made["nearest-class"].baseline  # type: ignore[operator]
    # Everybody's true class is at least as far as the nearest one.
    assert made["nearest"].value <= made["nearest-class"].value / 4 + 1e-12


@pytest.mark.parametrize("people, message", [
    ({"years": [1]}, "no column 'age'"), ({"age": ["Anna"]}, "'age'.*as numbers"),
])  # fmt: skip
def test_people_need_the_columns_and_their_types(people: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        case_of({"age": [20.0], "s": ["a"]}, {"age": NUMBER}, against=people, **MICRO)
    assert "Anna" not in str(caught.value)


def test_ordered_categories_and_dates_have_distances() -> None:
    entries = {"size": {"type": "ordinal", "cells": "value", "order": ["s", "m", "l", "xl"]},
               "day": {"type": "date", "cells": "value"}}  # fmt: skip
    released = {"size": ["s", "s", "xl", "xl"], "day": ["2024-01-01"] * 2 + ["2024-03-01"] * 2, "s": list("aabb")}
    people = {"size": ["m", "l"], "day": ["2024-01-20", "2024-02-20"], "s": ["a", "b"]}
    case = case_of(released, entries, against=people, **MICRO)
    assert figures(attacked(case, "nearest"))["nearest:s"].value == 1
