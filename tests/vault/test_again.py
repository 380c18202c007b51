"""Releasing again: who is narrowed by several releases together, and what m-invariance does about it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.m_invariance import MInvariant
from shoal.errors import InfeasibleError, ShoalError
from shoal.models.personalised import MInvariance
from shoal.vault.intersection import Past, Seen, weakened, with_release
from shoal.vault.registry import Registry

THESIS = pl.DataFrame({"who": ["p", "q", "r"], "age": [10, 15, 16], "illness": ["flu", "gout", "cold"]})


def read(frame: pl.DataFrame, **roles: Any) -> Any:
    return shoal.read(frame, name="patients", subject="who", quasi=["age"], sensitive=["illness"], **roles)


def seen(classes: Sequence[int], people: Sequence[str | None], values: Sequence[str | None], bare: bool = True) -> Seen:
    return Seen(
        classes=np.array(classes), tokens=pl.Series(people, dtype=pl.String), bare=bare, note={},
        values={"v": pl.Series(values, dtype=pl.String)},
    )  # fmt: skip


def together(*releases: Seen) -> Past:
    past = Past()
    for one in releases:
        past = with_release(past, one)
    return past


# Ends as the thesis has them, not moved to a grid.
TIGHT: dict[str, Any] = {"settings": {"age": {"snap": "off"}}}
CODES = ["W-UNMODELLED:illness", "W-TIGHT"]


def test_the_thesis_example() -> None:
    """Ages 10, 15 and 16 in one class; whoever is 16 leaves, and is the only one who did (Loukides, Section 7.2)."""
    registry = Registry(source="patients")
    first = shoal.anonymize(read(THESIS, **TIGHT), algorithm=shoal.Mondrian(k=2), acknowledge=CODES)
    assert first.frame["age"].to_list() == ["[10,16]"] * 3
    registry = registry.with_release(first, "first")
    assert weakened(registry.past, 2, {}).people == 0
    second = shoal.anonymize(read(THESIS.head(2), **TIGHT), algorithm=shoal.Mondrian(k=2), acknowledge=CODES)
    assert second.frame["age"].to_list() == ["[10,15]"] * 2
    found = weakened(registry.with_release(second, "second").past, 2, {})
    assert (found.people, found.by_size) == (1, 1)


def test_the_thesis_example_with_m_invariance() -> None:
    registry = Registry(source="patients")
    first = shoal.anonymize(read(THESIS, **TIGHT), algorithm=MInvariant(m=2), acknowledge=CODES)
    registry = registry.with_release(first, "first")
    table = read(THESIS.head(2), **TIGHT)
    history = registry.history_of(table)
    with pytest.raises(InfeasibleError, match="allow counterfeits"):
        shoal.anonymize(table, algorithm=MInvariant(m=2), history=history, acknowledge=CODES)
    second = shoal.anonymize(table, algorithm=MInvariant(m=2, counterfeits=True), history=history, acknowledge=CODES)
    assert sorted(second.frame["illness"]) == ["cold", "flu", "gout"]
    assert second.frame["age"].unique().to_list() == ["[10,15]"]
    assert second.manifest["counterfeits"] == 1
    assert any("counterfeit" in sentence for sentence in second.manifest["not_protected"])
    assert second.aligned().height == 2
    assert weakened(registry.with_release(second, "second").past, 2, {"illness": 2}).people == 0


def test_k_counts_real_people_where_there_are_counterfeits() -> None:
    """Six people in pairs; one leaves, and whoever stays behind with a counterfeit is alone with their age."""
    frame = pl.DataFrame({"who": list("pqrstu"), "age": [10, 11, 30, 31, 50, 51], "illness": ["flu", "gout"] * 3})
    registry = Registry(source="patients")
    registry = registry.with_release(shoal.anonymize(read(frame), algorithm=MInvariant(m=2), seed=1), "first")
    table = read(frame.head(5))
    method, history = MInvariant(m=2, counterfeits=True, suppression_limit=0.4), registry.history_of(table)
    alone = shoal.anonymize(table, algorithm=method, history=history, seed=1)
    assert (alone.frame.height, alone.manifest["counterfeits"]) == (6, 1)
    models = [shoal.KAnonymity(k=2)]
    release = shoal.anonymize(table, algorithm=method, models=models, history=history, seed=1)
    assert (release.frame.height, release.evidence["counts"]["suppressed"]) == (4, 2)  # with their counterfeit
    assert "counterfeits" not in release.manifest
    assert weakened(registry.with_release(alone, "second").past, 2, {"illness": 2}).people > 0
    assert weakened(registry.with_release(alone, "second").past, 1, {"illness": 2}).people == 0


def test_one_who_left_keeps_what_those_who_stayed_do_not_have() -> None:
    first = seen([0] * 4, ["p", "q", "r", "s"], ["a", "b", "a", "b"])
    same = together(first, seen([0] * 2, ["p", "q"], ["a", "b"]))
    assert weakened(same, 2, {"v": 2}).people == 0
    found = weakened(together(first, seen([0] * 2, ["p", "r"], ["a", "a"])), 2, {"v": 2})
    assert found.by_values == {"v": 4}  # both who stayed have a, both who left have b
    assert found.by_size == 0


def test_a_value_that_changed_is_ruled_out_and_new_columns_are_not() -> None:
    first = seen([0] * 2, ["p", "q"], ["a", "b"])
    changed = together(first, seen([0] * 2, ["p", "q"], ["a", "c"]))
    assert changed.distinct("v").tolist() == [1]
    other = Seen(
        classes=np.zeros(2, dtype=int), tokens=pl.Series(["p", "q"]), bare=True, note={},
        values={"w": pl.Series(["x", "y"])},
    )  # fmt: skip
    both = together(first, other)
    assert both.distinct("v").tolist() == both.distinct("w").tolist() == [2]


def test_elimination_through_others_is_no_invariance() -> None:
    """Whoever stays among the same values is still exposed when a neighbour of the first release is not."""
    first = seen([0, 0, 1, 1], ["p", "q", "r", "s"], ["a", "b", "b", "c"])
    kept = seen([0, 0, 1, 1], ["p", "t", "q", "u"], ["a", "b", "b", "a"])
    assert weakened(together(first, kept), 2, {"v": 2}).people == 0
    moved = seen([0, 0, 1, 1], ["p", "t", "q", "u"], ["a", "b", "b", "c"])
    assert weakened(together(first, moved), 2, {"v": 2}).people == 4  # r and s left together


def test_other_columns_and_untracked_releases_rule_invariance_out() -> None:
    first = seen([0, 0], ["p", "q"], ["a", "b"], bare=False)
    assert weakened(together(first, seen([0, 0], ["p", "r"], ["a", "b"], bare=False)), 2, {"v": 2}).people == 3
    blind = Seen(classes=np.zeros(2, dtype=int), tokens=None, bare=True, note={}, values={"v": pl.Series(["a", "b"])})
    past = together(seen([0, 0], ["p", "q"], ["a", "b"]), blind)
    assert past.releases[1]["tracked"] is False
    assert weakened(past, 2, {"v": 2}).people == 0


def test_people_of_several_rows_are_where_all_their_rows_are() -> None:
    one = seen([0, 0, 1, 0, 1], ["p", "q", "q", "r", "r"], ["a", "b", "a", "a", "b"])
    past = together(one)
    assert sorted(past.sizes.tolist()) == [1, 2]
    assert weakened(past, 2, {}).people == 0  # what one release promises was for the gate to say
    assert weakened(together(one, one), 2, {}).people == 1


def worlds(releases: Sequence[Seen], values: dict[str, str]) -> dict[str, set[str]]:
    """Every value that each person has in some world that looks like the releases: an intruder of unlimited time."""
    people = sorted(values)
    texts = sorted(set(values.values()))

    def shown(world: dict[str, str]) -> list[list[tuple[int, str]]]:
        return [
            sorted((int(group), world[who]) for group, who in zip(one.classes, one.tokens.to_list(), strict=True))
            for one in releases
            if one.tokens is not None
        ]

    truth = shown(values)
    found: dict[str, set[str]] = {who: set() for who in people}
    for drawn in itertools.product(texts, repeat=len(people)):
        world = dict(zip(people, drawn, strict=True))
        if shown(world) == truth:
            for who, value in world.items():
                found[who].add(value)
    return found


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 100_000), slips=st.integers(0, 2), several=st.integers(2, 3))
def test_whoever_passes_is_not_narrowed_by_an_intruder_of_unlimited_time(seed: int, slips: int, several: int) -> None:
    """Pairs of two values, dealt anew in every release, with some people in a class where they do not belong."""
    rng = np.random.default_rng(seed)
    values = {f"p{i}": "abbaac"[i] for i in range(6)}
    people, releases = list(values), []
    for _ in range(several):
        ones, others = (rng.permutation([who for who in people if values[who] in few]).tolist() for few in ("a", "bc"))
        pairs = list(zip(ones, others, strict=True))[: int(rng.integers(1, 4))]
        classes = {who: place for place, pair in enumerate(pairs) for who in pair}
        for _ in range(slips):
            classes[str(rng.choice(people))] = int(rng.integers(0, 3))
        releases.append(seen(list(classes.values()), list(classes), [values[who] for who in classes]))
    past = together(*releases)
    maps = [dict(zip(one.tokens.to_list(), one.classes, strict=True)) for one in releases if one.tokens is not None]
    patterns = [tuple(places.get(who) for places in maps) for who in people]
    met = [pattern for pattern in patterns if any(place is not None for place in pattern)]
    assert sorted(past.sizes[past.people["company"].to_numpy()].tolist()) == sorted(met.count(one) for one in met)
    if weakened(past, 1, {"v": 2}).people == 0:
        candidates = worlds(releases, values)
        assert all(len(candidates[who]) >= 2 for who, pattern in zip(people, patterns, strict=True) if pattern in met)


def population(rng: np.random.Generator, n: int, start: int = 0) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "who": np.arange(start, start + n),
            "age": rng.integers(20, 70, n),
            "zip": rng.choice(["01", "02", "03", "04"], n),
            "illness": rng.choice(list("abcdefg"), n),
        }
    )


def read_population(frame: pl.DataFrame) -> Any:
    return shoal.read(frame, name="patients", subject="who", quasi=["age", "zip"], sensitive=["illness"])


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), m=st.integers(2, 4), fake=st.booleans())
def test_three_releases_leave_everybody_with_m_values(seed: int, m: int, fake: bool) -> None:
    rng = np.random.default_rng(seed)
    frame = population(rng, 120)
    registry = Registry(source="patients", secret=bytes(32))
    method = MInvariant(m=m, counterfeits=fake, suppression_limit=0.9)
    candidates: dict[int, set[str]] = {}
    for turn in range(3):
        table = read_population(frame)
        release = shoal.anonymize(table, algorithm=method, seed=seed, history=registry.history_of(table))
        registry = registry.with_release(release, str(turn))
        assert weakened(registry.past, 1 if fake else m, {"illness": m}).people == 0  # counterfeits are nobody
        classes = release.released.classes
        people = release.table.frame["who"].to_list()[: frame.height]
        values = release.table.frame["illness"].to_numpy()
        for who, group in zip(people, classes.tolist(), strict=False):
            if group >= 0:
                mine = set(values[classes == group].tolist())
                candidates[who] = candidates.get(who, mine) & mine
        stay = frame.filter(pl.Series(rng.random(frame.height) < 0.8))
        frame = pl.concat([stay, population(rng, 30, start=1000 * (turn + 1))])
    assert min(len(left) for left in candidates.values()) >= m


def test_other_methods_are_mostly_refused_and_the_same_release_is_not() -> None:
    rng = np.random.default_rng(3)
    frame = population(rng, 300)
    later = pl.concat([frame.filter(pl.Series(rng.random(300) < 0.85)), population(rng, 40, start=1000)])
    models = [shoal.KAnonymity(k=3), shoal.DistinctL(l=2)]
    releases = [shoal.anonymize(read_population(one), models=models, seed=1) for one in (frame, later, frame)]
    registry = Registry(source="patients").with_release(releases[0], "one")
    assert weakened(registry.with_release(releases[1], "two").past, 3, {"illness": 2}).people > 100
    assert weakened(registry.with_release(releases[2], "two").past, 3, {"illness": 2}).people == 0


def test_neither_the_order_of_rows_nor_the_registrys_secret_matters() -> None:
    rng = np.random.default_rng(5)
    frame, found = population(rng, 100), []
    later = pl.concat([frame.head(80), population(rng, 30, start=500)])
    for turn in range(2):
        registry, mine = Registry(source="patients"), []
        for one in (frame, later):
            one = one.sample(fraction=1.0, shuffle=True, seed=turn)
            table = shoal.read(one, key="who", quasi=["age", "zip"], sensitive=["illness"])
            method = MInvariant(m=3, suppression_limit=0.9)
            release = shoal.anonymize(table, algorithm=method, history=registry.history_of(table), seed=1)
            registry = registry.with_release(release, "r")
            mine.append(release.frame)
        found.append(mine)
        assert weakened(registry.past, 3, {"illness": 3}).people == 0
    assert all(one.equals(other) for one, other in zip(*found, strict=True))


def test_a_history_of_another_column_or_table_is_refused() -> None:
    registry = Registry(source="patients").with_release(shoal.anonymize(read(THESIS), algorithm=MInvariant(m=2)), "one")
    history = registry.history_of(read(THESIS.head(2)))
    with pytest.raises(ShoalError, match="history given"):
        shoal.anonymize(read(THESIS), algorithm=MInvariant(m=2), history=history)


def test_the_gate_refuses_what_the_history_rules_out() -> None:
    """A release by another method that is m-unique, but not the values that its people were among."""
    frame = THESIS.with_columns(age=pl.lit(10))
    registry = Registry(source="patients").with_release(shoal.anonymize(read(frame), algorithm=MInvariant(m=2)), "one")
    table = read(frame.head(2))
    with pytest.raises(InfeasibleError, match="m-invariance"):
        shoal.anonymize(table, algorithm="none", models=[MInvariance(m=2)], history=registry.history_of(table))
    assert shoal.anonymize(table, algorithm="none", models=[MInvariance(m=2)]).frame.height == 2
