"""Undoing the redrawing: unbiased over every draw there is, and intervals that hold what they promise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np
import pytest

from shoal.utility.unbiased import Channel, Patterns

Draws = list[list[tuple[np.ndarray, float]]]


def draws(table: np.ndarray, p: Sequence[float], redraw: int) -> Draws:
    """For each record everything it may become, with its probability, by the definition of Algorithms 1 and 2."""
    n, m = table.shape
    shares = [np.bincount(column) / n for column in table.T]
    chosen = list(combinations(range(m), redraw))
    found: Draws = []
    for record in table:
        ways: dict[tuple[int, ...], float] = {}
        for columns in chosen:
            chance = p[columns[0]] if redraw == 1 else 1.0 / len(chosen)
            for values in product(*(range(shares[column].size) for column in columns)):
                made = record.copy()
                made[list(columns)] = values
                likely = [shares[column][value] for column, value in zip(columns, values, strict=True)]
                ways[tuple(made)] = ways.get(tuple(made), 0.0) + chance * float(np.prod(likely))
        found.append([(np.array(made), chance) for made, chance in ways.items()])
    return found


def releases(found: Draws) -> Iterator[tuple[np.ndarray, float]]:
    for way in product(*found):
        yield np.array([record for record, _ in way]), float(np.prod([chance for _, chance in way]))


def patterns(channel: Channel, rows: np.ndarray, asked: Sequence[int], level: np.ndarray) -> Patterns:
    """Rows by whether each asked column is 1, and by the level of the columns that are never redrawn."""
    code = sum((rows[:, column] == 1).astype(int) << at for at, column in enumerate(asked))
    counts = np.zeros((1 << len(asked), int(level.max()) + 1))
    np.add.at(counts, (code, level), 1.0)
    return Patterns(channel, counts)


TABLES = {
    "one column": ([[0, 1], [1, 0], [1, 2]], (0.3, 0.7), 1, [0]),
    "two of three": ([[0, 1, 0], [1, 1, 0], [1, 0, 1]], (0.2, 0.5, 0.3), 1, [0, 1]),
    "three values": ([[0, 1, 0], [1, 1, 1], [2, 0, 1]], (1 / 3, 1 / 3, 1 / 3), 1, [0, 2]),
    "three of four": ([[1, 1, 1, 0], [1, 0, 1, 1], [0, 1, 0, 1]], (0.1, 0.2, 0.3, 0.4), 1, [0, 1, 3]),
    "two redrawn": ([[0, 1, 0], [1, 1, 0], [1, 0, 1]], (1 / 3, 1 / 3, 1 / 3), 2, [1]),
    "two redrawn, two asked": ([[1, 1, 0, 0], [1, 0, 1, 1]], (0.25,) * 4, 2, [0, 1]),
    "two records": ([[0, 1, 1], [1, 1, 0]], (0.2, 0.3, 0.5), 1, [0, 1]),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_mean_over_all_draws_is_the_count(name: str) -> None:
    given, p, redraw, asked = TABLES[name]
    table = np.array(given)
    level = np.array([2, 1, 0, 2][: len(table)])
    channel = Channel(tuple(p[column] for column in asked), redraw, table.shape[1])
    wanted = [(mask, least) for mask in range(1 << len(asked)) for least in range(3)]
    means, mass = np.zeros(len(wanted)), 0.0
    for rows, chance in releases(draws(table, p, redraw)):
        seen = patterns(channel, rows, asked, level)
        means += chance * np.array([seen.estimate(*one)[0] for one in wanted])
        mass += chance
    truth = [
        sum(
            all(record[column] == 1 for at, column in enumerate(asked) if mask >> at & 1) and mine >= least
            for record, mine in zip(table, level, strict=True)
        )
        for mask, least in wanted
    ]
    assert mass == pytest.approx(1.0)
    assert means == pytest.approx(truth, abs=1e-9)


def redrawn(table: np.ndarray, p: Sequence[float], redraw: int, draw: np.random.Generator) -> np.ndarray:
    """One release, drawn plainly."""
    n, m = table.shape
    if redraw == 1:
        hit = np.arange(m) == draw.choice(m, size=(n, 1), p=p)
    else:
        hit = draw.random((n, m)).argsort(axis=1) < redraw
    anew = np.stack([draw.choice(column, size=n) for column in table.T], axis=1)
    return np.where(hit, anew, table)


@pytest.mark.parametrize("p, redraw", [((0.1, 0.2, 0.3, 0.4), 1), ((0.25,) * 4, 2)])
@pytest.mark.parametrize("asked", [[0], [0, 3], [0, 1]])
def test_intervals_cover_and_errors_are_right(p: tuple[float, ...], redraw: int, asked: list[int]) -> None:
    draw = np.random.default_rng(7)
    first = draw.integers(0, 3, size=500)
    table = np.stack([np.where(draw.random(500) < 0.6, first, draw.integers(0, 3, size=500)) for _ in range(4)], axis=1)
    level = np.where(draw.random(500) < 0.3 + 0.3 * (first == 1), 1, 0)
    channel, mask = Channel(tuple(p[column] for column in asked), redraw, 4), (1 << len(asked)) - 1
    truth = int(((table[:, asked] == 1).all(axis=1) & (level == 1)).sum())
    found, covered = [], []
    for _ in range(600):
        seen = patterns(channel, redrawn(table, p, redraw, draw), asked, level)
        value, influence = seen.estimate(mask, 1)
        found.append((value, seen.variance(influence)))
        low, high = seen.interval(value, influence, 1, 1.96)
        covered.append(low <= truth <= high)
    values, variances = np.array(found).T
    assert abs(values.mean() - truth) < 4.0 * values.std() / np.sqrt(600)
    assert variances.mean() == pytest.approx(values.var(), rel=0.2)
    assert 0.92 <= (np.abs(values - truth) <= 1.96 * np.sqrt(variances)).mean() <= 0.98
    assert 0.92 <= np.mean(covered) <= 0.98


@pytest.mark.parametrize("redraw", [1, 2])
@pytest.mark.parametrize("both, each", [(0, 3), (2, 4), (5, 10), (30, 60), (2, 150)])
def test_intervals_of_rare_counts_do_not_take_them_for_certain(both: int, each: int, redraw: int) -> None:
    """A few records of two values, mostly redrawn: with none released, two standard errors would say 0 and nothing."""
    draw, n = np.random.default_rng(1), 300
    table = np.zeros((n, 4), dtype=np.int64)
    table[:each, 0] = 1
    table[each - both : 2 * each - both, 1] = 1
    covered, channel = 0, Channel((0.25, 0.25), redraw, 4)
    for _ in range(400):
        seen = patterns(channel, redrawn(table, (0.25,) * 4, redraw, draw), [0, 1], np.ones(n, dtype=np.int64))
        value, influence = seen.estimate(3, 1)
        low, high = seen.interval(value, influence, 1, 1.96)
        assert 0.0 <= low <= high <= n
        covered += low - 1e-9 <= both <= high + 1e-9
    assert covered >= 0.91 * 400


def test_a_count_that_nothing_was_redrawn_of_is_exact() -> None:
    seen = Patterns(Channel((), 1, 3), np.array([[4.0, 5.0]]))
    value, influence = seen.estimate(0, 1)
    assert (value, seen.variance(influence)) == (pytest.approx(5.0), 0.0)
    assert seen.interval(value, influence, 1, 1.96) == (pytest.approx(5.0), pytest.approx(5.0))


@pytest.mark.parametrize(
    "chances, redraw, drawn, erased",
    [((0.5, 0.5), 1, 2, True), ((0.5, 0.4), 1, 3, False), ((0.25,) * 3, 2, 4, True), ((0.25,) * 2, 2, 4, False)],
)
def test_what_every_record_lost_is_erased(chances: tuple[float, ...], redraw: int, drawn: int, erased: bool) -> None:
    assert Channel(chances, redraw, drawn).erased == erased
