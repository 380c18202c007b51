"""Every registered attack finds leaks planted in 1, 5 and 20 % of the records, and raises no alarm without any.

Those on classes are in ``test_classes`` and ``test_power``, singling out in ``test_composition``. How many records each
of the others needs follows from its interval: a share p of n trials is known to within about 2 sqrt(p (1 - p) / n), and
one of 1 to within 3.84 / n. Where the naive guess is right for all but a share q, and the attack for everybody, n must
be above 3.84 / q, about 400 for 1 %.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.column import Column
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.engines.memory import MemoryRows
from shoal.recoding.randomised import Randomised
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import Bucketed, FullDomain, Grouping
from shoal.registry import names
from shoal.risk.attacks import decoding as matching
from shoal.risk.attacks.base import AttackFigure
from shoal.risk.attacks.bucketised import relinking
from shoal.risk.attacks.case import AttackCase
from shoal.risk.attacks.decoding import frequency_matching, rank_matching
from shoal.risk.attacks.downcoding import Downcoding
from shoal.risk.attacks.guess import attack_with, commonest
from shoal.risk.attacks.minimality import Minimality
from shoal.risk.attacks.perturbed import linkage
from shoal.risk.attacks.randomised import link_values, recover_vectors
from shoal.risk.attacks.run import make_case
from shoal.risk.attacks.views import public_view
from tests.attacks import test_power
from tests.attacks.cases import INTERVAL, NUMBER, TEXT, attacked, case_of, figures, manifest

SHARES, SEEDS = test_power.SHARES, test_power.SEEDS


def linked(seed: int, share: float) -> AttackFigure:
    """Classes of twelve that hold each value once, which guesses one in twelve, but for classes of one value.

    1 % of them leaves a share of 0.0925 beside 0.0833; 10,800 people tell shares apart that differ by 0.0057.
    """
    rng = np.random.default_rng(seed)
    classes = {0.01: 900}.get(share, 200)
    return guessed("linkage", _classes(classes), _each_once(rng, classes, share), seed)


def approached(seed: int, share: float) -> AttackFigure:
    """The same classes as centroids; everybody is off the own one, but less than half way to the next.

    Without a leak values are drawn at random, and everybody is near the centroid of a class drawn at random.
    """
    rng = np.random.default_rng(seed)
    classes = {0.01: 900}.get(share, 200)
    if share:
        return guessed("nearest", _centroids(classes), _each_once(rng, classes, share), seed)
    case = _centroids(classes)
    moved = rng.permutation(case.people.n)
    assert case.people.classes is not None
    case = replace(case, people=replace(case.people, classes=case.people.classes[moved]))
    return guessed("nearest", case, rng.integers(0, 12, (classes, 12)), seed)


def guessed(name: str, case: AttackCase, values: np.ndarray, seed: int) -> AttackFigure:
    """The attack on people and records whose values are these codes, one line a class."""
    codes = values.ravel().astype(np.int32)
    column = replace(case.view.sensitive["s"], frequencies=np.bincount(codes, minlength=12))
    case = replace(
        case, view=replace(case.view, sensitive={"s": column}, codes={"s": codes}), keys=Keys.from_seed(seed),
        people=replace(case.people, truth={"s": values.ravel()}),
    )  # fmt: skip
    return attack_with(case, name, column, commonest, "{share} {people} {naive} {control}")


def _each_once(rng: np.random.Generator, classes: int, share: float) -> np.ndarray:
    values = np.tile(np.arange(12), (classes, 1))
    leaking = rng.choice(classes, round(share * classes), replace=False)
    values[leaking] = rng.integers(0, 12, (leaking.size, 1))
    return values


@cache
def _classes(classes: int) -> AttackCase:
    """Classes of twelve people, with a sensitive column of as many values."""
    ages = np.repeat(np.arange(classes), 12)
    released = {"age": [f"[{10 * one},{10 * one + 9}]" for one in ages], "s": np.tile(list("abcdefghijkl"), classes)}
    return case_of(released, {"age": INTERVAL}, {"s": TEXT}, against={"age": 10 * ages, "s": released["s"]})


@cache
def _centroids(classes: int) -> AttackCase:
    """The same classes, whose ages are up to 4 off their mean; the next mean is 10 away."""
    means = np.repeat(10.0 * np.arange(classes), 12)
    released = {"age": means, "s": np.tile(list("abcdefghijkl"), classes)}
    off = np.tile(np.array([-4, -3, -2, -2, -1, 0, 0, 1, 2, 2, 3, 4]), classes)
    case = case_of(
        released, {"age": NUMBER}, {"s": TEXT}, against={"age": means + off, "s": released["s"]}, kind="microaggregated"
    )
    assert case.people.classes is not None
    assert (case.people.classes == case.view.classes).all()
    return case


# By share: columns that had to be generalised, each of which discloses two people, and people in all.
FORCED = {0.01: (5, 1000), 0.05: (6, 240), 0.2: (8, 80)}


def forbidden(seed: int, share: float) -> AttackFigure:
    """Wong's example several times over: each column was generalised because of the one class in which it varies.

    Two of six are ill there, and only they have the column's value. Everybody else is well, as the class says, so the
    naive guess is right for all but the share that is planted. Without a leak, who is ill has nothing to do with the
    columns, and too many are somewhere by chance.
    """
    rng = np.random.default_rng(seed)
    columns, people = FORCED.get(share, (2, 80))
    table = _regions(columns, people, 6 if share else 10)
    here, sick = rng.random((columns, people)) < 0.5, rng.random(people) < 0.3
    if share:
        here, sick = np.zeros_like(here), np.zeros_like(sick)
        for one in range(columns):
            chosen = 6 * one + rng.choice(6, 2, replace=False)
            here[one, chosen] = sick[chosen] = True
    codes = {f"z{place}": mine for place, mine in enumerate(here)} | {"s": sick}
    codes = {name: mine.astype(np.int32) for name, mine in codes.items()}
    counts = {name: np.bincount(mine, minlength=2) for name, mine in codes.items()}
    made = {name: replace(table.columns[name], frequencies=mine) for name, mine in counts.items()}
    table = replace(table, codes={**table.codes, **codes}).knowing(columns={**table.columns, **made})
    levels = {name: int(name != "r") for name in table.schema.quasi}
    model = shoal.AlphaKSimple(alpha=0.5 if share else 0.6, k=2, value="1 ill", on="s")
    evidence = {"algorithm": shoal.Optimal().parameters(), "models": [model.parameters()]}
    released = apply_recoding(MemoryRows(table), FullDomain(levels=levels))
    case: Any = SimpleNamespace(
        release=SimpleNamespace(table=table, released=released, evidence=evidence), control=None, no_control="",
        outside=None, keys=Keys.from_seed(seed),
    )  # fmt: skip
    return Minimality(draws=20 if share else 60).run(case).figures[0]


@cache
def _regions(columns: int, people: int, size: int) -> Table:
    """Classes of so many people for each column and of two for the rest; other columns and the value are to come."""
    sure = columns * size if size == 6 else people
    region = np.append(np.arange(sure) // size, sure + np.arange(people - sure) // 2)
    data = {"r": [f"r{one}" for one in region]} | {f"z{place}": ["n", "y"] * (people // 2) for place in range(columns)}
    trees = {name: [[value, "*"] for value in sorted(set(values))] for name, values in data.items()}
    frame = pl.DataFrame(data | {"s": ["0 well", "1 ill"] * (people // 2)})
    return shoal.read(frame, quasi=list(data), sensitive=["s"], hierarchies=trees)


def narrowed(seed: int, share: float) -> AttackFigure:
    """Groups of which two records lie at the ends of the cell and the others at two values between.

    Groups of 200, 40 and 10 have so 1, 5 and 20 % of their cells narrowed. A draw from the hundred values of a cell
    hits one of four; without a leak all values of a cell are as likely, its ends too.
    """
    rng = np.random.default_rng(seed)
    size, groups = (round(2 / share), 60) if share else (10, 60)
    low = rng.permutation(100)[:groups, None]  # two groups of the same cells would be one class
    ages = low + rng.choice([30, 60], (groups, size))
    ages[:, :2] = low + [0, 99]
    released = apply_recoding(MemoryRows(_ages(ages.ravel())), Grouping(ids=_group_ids(groups, size), groups=groups))
    if not share:
        other = _ages((low + rng.integers(0, 100, (groups, size))).ravel())
        cells = released.cells["age"]
        place = np.searchsorted(cells.column.numbers, other.columns["age"].numbers)  # type: ignore[arg-type]
        codes = place[other.codes["age"]].astype(np.int32)
        released = replace(released, rows=MemoryRows(replace(released.table, codes={"age": codes})))
    case: Any = SimpleNamespace(release=SimpleNamespace(released=released))
    return Downcoding().run(case).figures[0]


@cache
def _group_ids(groups: int, size: int) -> np.ndarray:
    return np.repeat(np.arange(groups, dtype=np.int32), size)


def _ages(ages: np.ndarray) -> Table:
    """A table whose dictionary holds every age."""
    spec = {"age": {"domain": [0, 199]}}
    return shoal.read(pl.DataFrame({"age": ages}), quasi=["age"], settings=spec)


def channel(seed: int, share: float, redraw: int) -> Randomised:
    """Six columns of one value, but for people whose values nobody else has; one column of each is redrawn."""
    rng = np.random.default_rng(seed)
    table, rare = _people(600, share)
    before = table.quasi_codes
    after = before.copy()
    chosen = rng.permuted(np.tile(np.arange(6), (600, 1)), axis=1)[:, :redraw].T
    after[chosen, np.arange(600)] = before[chosen, rng.integers(0, 600, chosen.shape)]
    assert rare == round(600 * share)
    return Randomised(table=table, p=np.full(6, 1.0 / 6.0), redraw=redraw, after=after)


@cache
def _people(n: int, share: float) -> tuple[Table, int]:
    rare = round(n * share)
    values = np.array([f"v{one}" for one in range(rare)] + ["common"] * (n - rare))
    if not share:
        values = np.random.default_rng(0).choice(["u", "v", "w"], n)
    data = {f"q{place}": values for place in range(6)}
    s = (
        np.where(np.arange(n) < rare, "r", "c")
        if share
        else np.random.default_rng(1).choice(["r", "c"], n, p=[0.3, 0.7])
    )
    return shoal.read(pl.DataFrame(data | {"s": s}), quasi=list(data), sensitive=["s"]), rare


def recovered(seed: int, share: float) -> AttackFigure:
    """Five of six values that nobody else has stay: everybody's are recovered, beside all but the planted share."""
    return recover_vectors(channel(seed, share, 1 if share else 6))[0]


def voted(seed: int, share: float) -> AttackFigure:
    """The same people have a sensitive value that nobody else has. Without a leak all columns are redrawn."""
    return link_values(channel(seed, share, 1 if share else 6), "s")[0]


def ranked(seed: int, share: float) -> AttackFigure:
    """Numbers of which the planted share is 1 and the rest 0; without a leak codes shift twenty numbers about.

    A tenth of 1,500 people hold one of the ones in 78 of 100 samples, and that is enough. Codes in random order would
    be no test: two or more of twenty numbers stay where they are in 26 of 100 orders, and are then read.
    """
    rng = np.random.default_rng(seed)
    if not share:
        truth = rng.integers(0, 20, 300)
        return rank_matching(truth.astype(float), (truth + rng.integers(5, 16)) % 20, rng, size=30)[0]
    truth = (np.arange(1500) < round(share * 1500)).astype(np.float64)
    return rank_matching(truth, truth, rng, size=150)[0]


def counted(seed: int, share: float) -> AttackFigure:
    """Two values, one of the planted share, one of the rest; without a leak 20 values are equally common.

    A tenth of 2,000 people hold a value of 1 % in 87 of 100 samples.
    """
    rng = np.random.default_rng(seed)
    if not share:
        return frequency_matching(np.arange(300) % 20, rng, size=30)
    return frequency_matching((np.arange(2000) < round(share * 2000)).astype(np.int64), rng, size=200)


def relinked(seed: int, share: float) -> AttackFigure:
    """Groups of four of twenty values; members of some show their value, those of the others all look alike.

    1 % of the groups leaves a share of 0.2575 beside 0.25; 16,000 people tell shares apart that differ by 0.0068.
    """
    rng = np.random.default_rng(seed)
    groups = {0.01: 4000}.get(share, 800)
    values = rng.integers(0, 5, (groups, 4)) + [0, 5, 10, 15]
    shown = rng.integers(0, 3, values.shape) if not share else np.zeros_like(values)
    leaking = rng.choice(groups, round(share * groups), replace=False)
    shown[leaking] = 1 + values[leaking]
    codes = {"q": shown.ravel().astype(np.int32), "s": values.ravel().astype(np.int32)}
    table: Any = SimpleNamespace(quasi=[_letters("q")], codes=codes)
    return relinking(table, Bucketed(ids=_group_ids(groups, 4), groups=groups), _letters("s"))


def nearby(seed: int, share: float) -> AttackFigure:
    """Points in four dimensions; the planted share of the records is where its people are, others are anywhere."""
    rng = np.random.default_rng(seed)
    true, made = rng.random((4, 1500)), rng.random((4, 1500))
    leaking = rng.choice(1500, round(share * 1500), replace=False)
    made[:, leaking] = true[:, leaking]
    return linkage(true, made, np.ones(4, dtype=bool), np.arange(1500))


def intersected(seed: int, share: float) -> AttackFigure:
    """Pairs of classes: four people in both, or one in both and another in each, so that one value is in both."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[int, str, int]] = []
    leaking = round(share * 600)
    for pair in range(leaking + (600 - 3 * leaking) // 4):
        values = rng.permutation(12)
        for place in range(3 if pair < leaking else 4):
            classes = [(0, 1), (0,), (1,)][place] if pair < leaking else (0, 1)
            rows += [(2 * pair + one, f"p{pair}-{place}", int(values[place])) for one in classes]
    frame = pl.DataFrame(rows, schema=["class", "who", "s"], orient="row").with_columns(pl.col("s").cast(pl.String))
    cells = pl.format("[{},{}]", 10 * pl.col("class"), 10 * pl.col("class") + 9)
    described = manifest({"q": INTERVAL}, {"s": TEXT})
    view = public_view(frame.with_columns(q=cells).drop("class"), described, subject=frame["who"])
    people = frame.with_columns(q=10 * pl.col("class") + 5).drop("class")
    case = make_case(view, described, Keys.from_seed(seed), against=people)
    return figures(attacked(case, "subject-intersection"))["subject-intersection:s"]


@cache
def _letters(name: str) -> Column:
    return shoal.read(pl.DataFrame({name: [f"{one:02d}" for one in range(21)]}), quasi=[name]).columns[name]


@pytest.fixture(autouse=True)
def _fewer_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """An eighth of the attacker's samples: more only make means more exact."""
    monkeypatch.setattr(matching, "_SAMPLES", 25)


Planted = Callable[[int, float], AttackFigure]
PLANTED: dict[str, Planted] = {
    "linkage": linked,
    "nearest": approached,
    "minimality": forbidden,
    "downcoding": narrowed,
    "posterior": recovered,
    "ra-linkage": voted,
    "rank-matching": ranked,
    "frequency-matching": counted,
    "relinking": relinked,
    "record-linkage": nearby,
    "subject-intersection": intersected,
}
ELSEWHERE = {"homogeneity", "similarity", "singling-out", "intersection"}
# Where a leak is planted, what is drawn hardly changes their figures, so that a few seeds stand for all.
STEADY = {"minimality", "downcoding", "posterior", "ra-linkage", "relinking"}


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_the_search_takes_the_node_that_is_attacked(share: float) -> None:
    """What ``forbidden`` attacks is what the algorithm gives."""
    columns, people = FORCED[share]
    table = _regions(columns, people, 6)
    here = np.array([[one * 6 <= row < one * 6 + 2 for row in range(people)] for one in range(columns)])
    data = {"r": table.frame["r"]} | {f"z{one}": np.where(mine, "y", "n") for one, mine in enumerate(here)}
    trees = {name: [[value, "*"] for value in sorted(set(values))] for name, values in data.items()}
    frame = pl.DataFrame(data | {"s": np.where(here.any(axis=0), "ill", "well")})
    model = shoal.AlphaKSimple(alpha=0.5, k=2, value="ill", on="s")
    read = shoal.read(frame, quasi=list(data), sensitive=["s"], hierarchies=trees)
    release = shoal.anonymize(read, algorithm="optimal", models=[model], seed=1)
    assert release.released.levels == {name: int(name != "r") for name in data}


def test_every_attack_has_leaks_planted_for_it() -> None:
    before = {figure.split(":")[0].removesuffix("-sure") for figure in test_power.PLANTED}
    assert set(PLANTED) | before | ELSEWHERE == set(names("attack"))


def test_what_is_planted_is_what_the_attack_on_centroids_finds() -> None:
    case = _centroids(200)
    found = figures(attacked(case, "nearest"))["nearest:s"]
    planted = guessed("nearest", case, _each_once(np.random.default_rng(0), 200, 0.0), 1)
    assert (found.value, found.trials) == (planted.value, planted.trials)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", sorted(set(PLANTED) - STEADY))
def test_planted_leaks_are_found(name: str, share: float) -> None:
    assert sum(PLANTED[name](seed, share).beats for seed in range(SEEDS)) >= 0.95 * SEEDS


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", sorted(STEADY))
def test_planted_leaks_are_found_whatever_is_drawn(name: str, share: float) -> None:
    made = [PLANTED[name](seed, share) for seed in range(8)]
    beyond = [one.low - one.baseline for one in made if one.baseline is not None]
    assert len(beyond) == 8
    assert min(beyond) > 0
    assert np.ptp(beyond) < 0.002


@pytest.mark.parametrize("name", PLANTED)
def test_no_alarm_without_a_leak(name: str) -> None:
    made = [PLANTED[name](seed, 0.0) for seed in range(SEEDS)]
    assert sum(not one.beats for one in made) >= 0.9 * SEEDS
    for one in made:
        assert one.baseline is not None
        assert one.low <= one.value <= one.high
        assert one.beats == (not one.told().endswith("This does not beat its naive baseline."))
