"""Swapping and condensation: what they keep, against plain Python, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.algorithms.links.microaggregation import regenerated
from shoal.errors import InfeasibleError, ParameterError
from shoal.kernels.perturbation import swap_ranks
from shoal.risk.attacks.perturbed import nearest_chances, value_chances

ACCEPT = ["W-PERTURBED"]


def people(rows: int = 300, seed: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    age = random.integers(18, 90, rows)
    return pl.DataFrame(
        {
            "age": age, "income": (age * 300 + random.normal(0, 2000, rows)).round(2),
            "seen": pl.Series(random.integers(15_000, 19_000, rows).astype(np.int32)).cast(pl.Date),
            "sex": [["f", "m"][one] for one in random.integers(0, 2, rows)],
            "s": [["flu", "gout", "cold"][one] for one in random.integers(0, 3, rows)],
        }
    )  # fmt: skip


def read(frame: pl.DataFrame, **more: Any) -> Any:
    return shoal.read(frame, quasi=["age", "income", "seen", "sex"], sensitive=["s"], **more)


def plainly(window: int, draws: list[float]) -> list[int]:
    """Partners of ranks, by the book."""
    partner: dict[int, int] = {}
    for rank in range(len(draws)):
        if rank in partner:
            continue
        above = list(range(rank + 1, min(len(draws), rank + 1 + window)))
        start = min(int(draws[rank] * len(above)), len(above) - 1) if above else 0
        found = next((one for one in above[start:] + above[:start] if one not in partner), rank)
        partner[rank], partner[found] = found, rank
    return [partner[rank] for rank in range(len(draws))]


@pytest.mark.reference("swap_ranks")
@given(draws=st.lists(st.floats(0, 1), max_size=30), window=st.integers(1, 35))
def test_partners_are_those_of_the_book(draws: list[float], window: int) -> None:
    found = swap_ranks(window, np.array(draws, dtype=np.float64)).tolist()
    assert found == plainly(window, draws)
    assert [found[one] for one in found] == list(range(len(draws)))


def test_swapping_keeps_every_column_and_stays_near() -> None:
    frame = people()
    made = shoal.anonymize(read(frame), algorithm=shoal.Swapping(window=0.05), acknowledge=ACCEPT, seed=2)
    aligned = made.aligned()
    for name in ("age", "income", "seen", "sex"):
        assert aligned[name].sort().equals(frame[name].sort())
        assert (aligned[name] != frame[name]).mean() > 0.3
    assert aligned["s"].equals(frame["s"])
    moved = np.abs(aligned["income"].rank().to_numpy() - frame["income"].rank().to_numpy())
    assert moved.max() <= 0.05 * frame.height
    assert np.corrcoef(aligned["age"], aligned["income"])[0, 1] > 0.8


def test_only_named_columns_are_swapped() -> None:
    frame = people()
    made = shoal.anonymize(read(frame), algorithm=shoal.Swapping(columns=["sex"]), acknowledge=ACCEPT, seed=2)
    aligned = made.aligned()
    assert aligned.select("age", "income", "seen").equals(frame.select("age", "income", "seen"))
    assert not aligned["sex"].equals(frame["sex"])
    told = {one["name"]: one["value"] for one in made.manifest["measured"]}
    assert told["unchanged"] == round(float((aligned["sex"] == frame["sex"]).mean()), 4)
    assert told["record-linkage"] > 0.99


def test_regenerated_points_keep_means_and_covariances() -> None:
    random = np.random.default_rng(3)
    points = np.array([[2.0, 1.0], [0.5, 3.0]]) @ random.normal(size=(2, 4000)) + [[10.0], [-5.0]]
    made = regenerated(points, np.array([0]), np.random.default_rng(4))
    assert made.mean(axis=1) == pytest.approx(points.mean(axis=1))
    assert np.cov(made) == pytest.approx(np.cov(points), rel=0.1)
    parts = regenerated(points[:, :12], np.array([0, 5]), np.random.default_rng(4))
    for part in (slice(0, 5), slice(5, 12)):
        assert parts[:, part].mean(axis=1) == pytest.approx(points[:, :12][:, part].mean(axis=1))


@pytest.mark.parametrize("seed", range(20))
def test_few_points_near_the_ends_keep_their_means_within_the_range(seed: int) -> None:
    """A mean that moved when points were held within the range was refused at the gate."""
    random = np.random.default_rng(seed)
    points = np.stack([random.choice([0.0, 0.0, 0.0, 9.0], 6), random.exponential(5.0, 6), np.full(6, 2.0)])
    made = regenerated(points, np.array([0, 3]), random)
    for part in (slice(0, 3), slice(3, 6)):
        assert made[:, part].mean(axis=1) == pytest.approx(points[:, part].mean(axis=1))
    assert (made >= points.min(axis=1, keepdims=True) - 1e-9).all()
    assert (made <= points.max(axis=1, keepdims=True) + 1e-9).all()


def test_points_on_a_line_stay_on_it() -> None:
    along = np.array([0.0, 1.0, 2.0, 5.0])
    made = regenerated(np.stack([along, 2 * along, np.full(4, 7.0)]), np.array([0]), np.random.default_rng(1))
    assert made[1] == pytest.approx(2 * made[0])
    assert made[2] == pytest.approx(7.0)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e7])
def test_no_column_is_too_small_beside_others(scale: float) -> None:
    """A share beside incomes in millions came out as its group's mean."""
    random = np.random.default_rng(5)
    points = np.stack([random.normal(5.0, 2.0, 3000) * scale, random.random(3000)])
    made = regenerated(points, np.array([0]), np.random.default_rng(6))
    assert made.std(axis=1) == pytest.approx(points.std(axis=1), rel=0.1)


def test_condensation_keeps_what_it_says() -> None:
    frame = people()
    made = shoal.anonymize(read(frame), algorithm=shoal.Condensation(size=20), acknowledge=ACCEPT, seed=2)
    aligned = made.aligned()
    assert aligned.schema["age"] == pl.Int64
    assert aligned.schema["seen"] == pl.Date
    for name in ("age", "income", "seen"):
        true, drawn = (one[name].to_physical() for one in (frame, aligned))
        assert true.min() <= drawn.min() <= drawn.max() <= true.max()
        assert abs(drawn.mean() - true.mean()) < 0.1 * true.std()
        assert (drawn != true).mean() > 0.8
    assert aligned["sex"].sort().equals(frame["sex"].sort())
    assert aligned["s"].equals(frame["s"])
    assert np.corrcoef(aligned["age"], aligned["income"])[0, 1] > 0.8
    notes = made.evidence["search"]
    assert (notes["smallest"] >= 20, notes["largest"] < 40) == (True, True)


def test_condensed_numbers_keep_the_range_of_the_people_and_not_of_the_hierarchy() -> None:
    frame = people(60)
    tree = [[str(age), "*"] for age in range(131)]
    table = read(frame, hierarchies={"age": tree})
    made = shoal.anonymize(table, algorithm=shoal.Condensation(size=20), acknowledge=ACCEPT, seed=2).aligned()
    assert frame["age"].min() <= made["age"].min() <= made["age"].max() <= frame["age"].max()


def test_skewed_numbers_keep_their_means_within_their_range() -> None:
    """Most have nothing, and cutting draws off below nothing would make everybody richer."""
    random = np.random.default_rng(1)
    gains = np.where(random.random(400) < 0.08, random.pareto(1.2, 400) * 3000, 0.0)
    points = np.stack([gains, random.normal(size=400)])
    made = regenerated(points, np.arange(0, 400, 50), np.random.default_rng(4))
    assert made.min(axis=1) == pytest.approx(np.maximum(points.min(axis=1), made.min(axis=1)))
    assert (made.max(axis=1) <= points.max(axis=1)).all()
    for part in range(0, 400, 50):
        assert made[:, part : part + 50].mean(axis=1) == pytest.approx(points[:, part : part + 50].mean(axis=1))


@given(seed=st.integers(0, 99))
def test_the_nearest_record_is_the_one_that_plain_python_finds(seed: int) -> None:
    random = np.random.default_rng(seed)
    true, made = (random.integers(0, 4, (2, 9)).astype(np.float64) for _ in range(2))
    numeric = np.array([True, False])
    spread = true[0].std()
    found = nearest_chances(true, made, numeric, np.arange(9))
    for attacker, known in enumerate([(0, 1), (1,), (0,)]):
        for person in range(9):
            away = np.abs(true[0, person] - made[0]) / (spread or np.inf)
            parts = [(away[one], float(true[1, person] != made[1, one])) for one in range(9)]
            far = [sum(part[column] for column in known) for part in parts]
            near = [one for one in range(9) if far[one] <= min(far) + 1e-9]
            assert found[attacker, person] == pytest.approx(1 / len(near) if person in near else 0.0)


@given(seed=st.integers(0, 99))
def test_the_value_guessed_is_the_commonest_of_the_nearest_records(seed: int) -> None:
    random = np.random.default_rng(seed)
    true, made = (random.integers(0, 3, (2, 12)).astype(np.float64) for _ in range(2))
    values = random.integers(-1, 3, 12)  # -1: nobody knows
    values[0] = 2
    people = np.flatnonzero(values >= 0)
    found = value_chances(true, made, np.array([False, False]), people, values)
    for attacker, known in enumerate([(0, 1), (1,), (0,)]):
        for at, person in enumerate(people):
            far = [sum(true[column, person] != made[column, one] for column in known) for one in range(12)]
            told = [int(values[one]) for one in range(12) if far[one] == min(far) and values[one] >= 0]
            best = {value for value in told if told.count(value) == max(map(told.count, told))}
            assert found[attacker, at] == pytest.approx(1 / len(best) if values[person] in best else 0.0)


def test_values_are_guessed_by_the_nearest_record_and_codes_are_not() -> None:
    frame = people().with_columns(s=pl.when(pl.int_range(300) % 10 == 0).then(None).otherwise("s"))
    table, method = read(frame, missing="value"), shoal.Condensation(size=2)
    released = shoal.anonymize(table, algorithm=method, acknowledge=ACCEPT, seed=1)
    (result,) = shoal.attack(released, only=["record-linkage"])
    figures = {one.name: one for one in result.figures}
    assert list(figures)[:2] == ["record-linkage", "record-linkage:s"]
    assert figures["record-linkage:s"].trials == 135  # half of those whose value is known
    assert figures["record-linkage:s"].baseline == pytest.approx(frame["s"].value_counts()["count"].sort()[-1] / 270)
    coded = read(frame, missing="value", settings={"s": {"code": "mapping"}})
    made = shoal.anonymize(coded, algorithm=shoal.Swapping(), acknowledge=[*ACCEPT, "W-PP-REV"], seed=1)
    names = [one.name for result in shoal.attack(made, only=["record-linkage"]) for one in result.figures]
    assert "record-linkage" in names
    assert "record-linkage:s" not in names


@pytest.mark.parametrize(
    "made, said",
    [
        ({"algorithm": shoal.Swapping(), "models": [shoal.KAnonymity(k=2)]}, "leave out 'k'"),
        ({"algorithm": shoal.Swapping(columns=["agee"])}, "cannot swap 'agee'.*Did you mean 'age'"),
        ({"algorithm": shoal.Condensation(), "models": [shoal.DistinctL(l=2)]}, "leave out 'distinct-l'"),
    ],
)
def test_what_is_refused(made: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        shoal.anonymize(read(people(40)), acknowledge=ACCEPT, **made)


def test_parameters_that_are_none() -> None:
    with pytest.raises(ParameterError, match="Swapping suppresses nobody: leave out its 'max_suppressed'"):
        shoal.Swapping(max_suppressed=3)
    for none in ("age", []):
        with pytest.raises(ParameterError, match="The 'columns' of Swapping must be a list of at least one"):
            shoal.Swapping(columns=none)
    with pytest.raises(ParameterError, match="The 'window' of Swapping must be"):
        shoal.Swapping(window=0.0)
    with pytest.raises(ParameterError, match="The 'size' of Condensation must be a whole number of at least 2"):
        shoal.Condensation(size=1)
    with pytest.raises(InfeasibleError, match="Groups of 10 cannot be made of 5 rows: lower 'size'"):
        shoal.anonymize(read(people(5)), algorithm=shoal.Condensation(), acknowledge=ACCEPT)
    missing = people(40).with_columns(age=pl.when(pl.col("age") > 30).then("age"))
    with pytest.raises(ParameterError, match="Condensation cannot average the"):
        shoal.anonymize(read(missing, missing="value"), algorithm=shoal.Condensation(), acknowledge=ACCEPT)
