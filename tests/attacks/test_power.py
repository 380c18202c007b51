"""Leaks planted in 1, 5 and 20 % of the records are found, and tables without them raise no alarm.

Values of classes that do not leak are drawn at random and independently, as the whole table's are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.data.keys import Keys
from shoal.risk.attacks.base import AttackFigure
from shoal.risk.attacks.run import make_case
from shoal.risk.attacks.views import public_view
from tests.attacks.cases import INTERVAL, NUMBER, TEXT, attacked, case_of, figures, manifest
from tests.conftest import many

SIZE = 12
LEAVES = np.array([node + leaf for node in "vwxyz" for leaf in "12"])
TREED = {**TEXT, "hierarchy": [[leaf, leaf[0], "*"] for leaf in LEAVES.tolist()]}
SHARES = [0.01, 0.05, 0.2]
SEEDS = many(20, 40)


def test_sure_guesses_by_hand() -> None:
    # Nine a and one b; eight a and two b; five a, four b and one c.
    values = "a" * 9 + "b" + "a" * 8 + "bb" + "aaaaabbbbc"
    released = {"age": [f"[{10 * at},{10 * at + 9}]" for at in range(3) for _ in range(10)], "s": list(values)}
    people = {"age": [10 * at for at in range(3) for _ in range(10)], "s": list(values)}
    case = case_of(released, {"age": INTERVAL}, against=people)
    assert figures(attacked(case, "linkage"))["linkage-sure:s"].value == pytest.approx(9 / 30)
    # Without b the first two are sure; of the third a has five of six. Seven people have b and are left out.
    assert figures(attacked(case, "background"))["background-sure:s"].value == pytest.approx(17 / 23)


def test_sure_guesses_of_numbers_and_nodes_by_hand() -> None:
    # Within 5 of 12 (of a range of 100) are ten of ten; of the second class five.
    numbers = [8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 0, 1, 2, 3, 4, 60, 70, 80, 90, 100]
    cells = ["[0,9]"] * 10 + ["[10,19]"] * 10
    case = case_of({"age": cells, "s": [str(one) for one in numbers]}, {"age": INTERVAL}, {"s": NUMBER})
    assert figures(attacked(case, "proximity"))["proximity-sure:s"].value == pytest.approx(10 / 20)
    # Outside the commonest node v: w1 alone, then w1 and x1. Two and four people are outside, two of them plain.
    values = ["v1"] * 4 + ["v2"] * 4 + ["w1"] * 2 + ["v1"] * 6 + ["w1"] * 2 + ["x1"] * 2
    case = case_of({"age": cells, "s": values}, {"age": INTERVAL}, {"s": TREED})
    assert figures(attacked(case, "divergence"))["divergence-sure:s"].value == pytest.approx(2 / 6)


def two_values(rng: np.random.Generator, count: int) -> np.ndarray:
    """Nine of one value and three of another: who knows that somebody has not the second knows the first."""
    pair = rng.permuted(np.tile(np.array(list("abcde")), (count, 1)), axis=1)[:, :2]
    return np.repeat(pair, [9, 3], axis=1)


def most_of_one(rng: np.random.Generator, count: int) -> np.ndarray:
    """Eleven of one value and one of another."""
    return np.repeat(two_values(rng, count)[:, [0, 9]], [11, 1], axis=1)


def half_rare(rng: np.random.Generator, count: int) -> np.ndarray:
    """Half of a class has a value that nobody else has."""
    made = rng.choice(list("abcde"), (count, SIZE))
    made[:, : SIZE // 2] = "r"
    return made


def one_beside_most(rng: np.random.Generator, count: int) -> np.ndarray:
    """Nine values of one node, and three records with the same value of another."""
    nodes = rng.permuted(np.tile(np.arange(5), (count, 1)), axis=1)[:, :2]
    most = 2 * nodes[:, :1] + rng.integers(0, 2, (count, 9))
    rest = np.repeat(2 * nodes[:, 1:] + rng.integers(0, 2, (count, 1)), 3, axis=1)
    return LEAVES[np.concatenate([most, rest], axis=1)]


def close_numbers(rng: np.random.Generator, count: int) -> np.ndarray:
    """Numbers of a class within 40 of each other, where 50 is close."""
    return 10 * (rng.integers(0, 96, (count, 1)) + rng.integers(0, 5, (count, SIZE)))


Plant = Callable[[np.random.Generator, int], np.ndarray]
LETTERS = np.array(list("abcde"))
# By figure: attack, values of the table, what is planted, what the manifest says of them, classes, and their size.
PLANTED: dict[str, tuple[str, np.ndarray, Plant, dict[str, Any], int, int]] = {
    "background-sure:s": ("background", LETTERS, two_values, TEXT, 400, SIZE),
    "linkage-sure:s": ("linkage", LETTERS, most_of_one, TEXT, 400, SIZE),
    # Shares of small classes vary much by chance, which is skewness too; those of 60 records hardly ever double.
    "skewness:s": ("skewness", LETTERS, half_rare, TEXT, 200, 5 * SIZE),
    "divergence-sure:s": ("divergence", LEAVES, one_beside_most, TREED, 400, SIZE),
    "proximity-sure:s": ("proximity", np.arange(0, 1001, 10), close_numbers, NUMBER, 300, SIZE),
}


def found_by(figure: str, seed: int, share: float) -> AttackFigure:
    attack, values, plant, entry, classes, size = PLANTED[figure]
    rng = np.random.default_rng(seed)
    table = rng.choice(values, (classes, size))
    leaking = rng.choice(classes, round(share * classes), replace=False)
    table[leaking] = np.tile(plant(rng, leaking.size), (1, size // SIZE))
    cells = np.array([f"[{10 * one},{10 * one + 9}]" for one in range(classes)])
    released = {"age": np.repeat(cells, size), "s": table.ravel().astype(str)}
    people = {"age": np.repeat(10 * np.arange(classes), size), "s": table.ravel()}
    case = case_of(released, {"age": INTERVAL}, {"s": entry}, against=people, seed=seed)
    return figures(attacked(case, attack))[figure]


@pytest.mark.sample(8)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("figure", PLANTED)
def test_planted_leaks_are_found(figure: str, share: float) -> None:
    assert sum(found_by(figure, seed, share).beats for seed in range(SEEDS)) >= 0.95 * SEEDS


@pytest.mark.parametrize("figure", PLANTED)
def test_no_alarm_without_a_leak(figure: str) -> None:
    assert sum(not found_by(figure, seed, 0.0).beats for seed in range(SEEDS)) >= 0.9 * SEEDS


def intersected(seed: int, share: float) -> AttackFigure:
    """Two releases whose classes of ten overlap in cells of five; leaking cells have one value, their classes more."""
    rng = np.random.default_rng(seed)
    values = rng.choice(list("abcdefgh"), (400, 5))
    leaking = 4 * rng.choice(99, round(share * 400), replace=False) + 3
    values[leaking] = rng.choice(list("gh"), (leaking.size, 1))
    # What the cell shares a class with differs between the releases, and has the cell's value in neither.
    values[leaking - 1] = rng.choice(list("abc"), (leaking.size, 5))
    values[leaking + 1] = rng.choice(list("def"), (leaking.size, 5))
    ages, flat = np.arange(2000), values.ravel()
    first, second = ages // 10 * 10, (ages + 5) // 10 * 10 - 5
    described = manifest({"age": INTERVAL}, {"s": TEXT})
    frames = [
        pl.DataFrame({"age": [f"[{low},{low + 9}]" for low in lows.tolist()], "s": flat}) for lows in (first, second)
    ]
    case = make_case(
        public_view(frames[0], described), described, Keys.from_seed(seed),
        against=pl.DataFrame({"age": ages, "s": flat}), others=[(frames[1], described)],
    )  # fmt: skip
    return figures(attacked(case, "intersection"))["intersection:s"]


@pytest.mark.parametrize("share", SHARES)
def test_people_left_with_one_value_are_found(share: float) -> None:
    made = [intersected(seed, share) for seed in range(SEEDS)]
    assert sum(one.beats and one.value >= share - 1e-9 for one in made) >= 0.95 * SEEDS


def test_no_alarm_where_releases_have_several_values_in_common() -> None:
    assert sum(not intersected(seed, 0.0).beats for seed in range(SEEDS)) >= 0.9 * SEEDS


def similar(seed: int, share: float) -> AttackFigure:
    """400 classes of five, two of a node that 40 % have; leaking classes are all of that node."""
    rng = np.random.default_rng(seed)
    others = rng.permuted(np.tile(np.array(list("wxyz")), (400, 1)), axis=1)[:, :3]
    nodes = np.concatenate([np.full((400, 2), "v"), others], axis=1)
    nodes[rng.choice(400, round(share * 400), replace=False)] = "v"
    values = np.char.add(nodes, rng.choice(["1", "2"], nodes.shape)).ravel()
    cells = np.repeat([f"[{10 * one},{10 * one + 9}]" for one in range(400)], 5)
    case = case_of({"age": cells, "s": values}, {"age": INTERVAL}, {"s": TREED}, seed=seed)
    return figures(attacked(case, "similarity"))["similarity:s"]


@pytest.mark.parametrize("share", [0.015, 0.05, 0.2])
def test_classes_of_a_common_node_are_found(share: float) -> None:
    assert sum(similar(seed, share).beats for seed in range(SEEDS)) >= 0.95 * SEEDS
