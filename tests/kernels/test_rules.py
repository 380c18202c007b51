"""The closed set of conditions, each against its definition, with and without unknown values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.data.hierarchy import Hierarchy
from shoal.kernels import _native
from shoal.kernels import rules as kernel
from tests.table.random_tables import hierarchy_rows

CARD = 6
TWO_WAYS = (kernel.ENTROPY, kernel.TAIL, kernel.TOTAL_VARIATION, kernel.KL, kernel.ORDERED, kernel.TREE)
Counts = dict[int, int]


def one_rule(
    op: int,
    sense: int,
    *,
    ref: Sequence[float] = (),
    ref_full: Sequence[float] | None = None,
    unknown: Sequence[int] = (0,) * CARD,
    tree: np.ndarray | None = None,
    p0: float = 0.0,
    p1: float = 0.0,
    limit: float = 0.0,
    people: bool = False,
) -> kernel.Rules:
    """A single rule on a single attribute of six values."""
    full = np.array([] if ref_full is None else ref_full, dtype=np.float64)
    known = np.array(ref, dtype=np.float64)
    flat = np.empty(0, dtype=np.int32) if tree is None else tree.ravel().astype(np.int32)
    return kernel.Rules(
        op=np.array([op]), attr=np.array([0]), sense=np.array([sense]), limit=np.array([float(limit)]),
        p0=np.array([float(p0)]), p1=np.array([float(p1)]),
        combine=np.array([1]), strict_parent=np.array([0]),
        ref=np.concatenate([full, known]), ref_at=np.array([[0, full.size, full.size + known.size]]),
        tree=flat, tree_at=np.array([0, flat.size]),
        unknown=np.array(unknown, dtype=np.uint8), unknown_at=np.array([0, CARD]), card=np.array([CARD]),
        people=np.array([people], dtype=np.uint8),
    )  # fmt: skip


def value(rules: kernel.Rules, counts: Counts, known: float | None = None) -> float:
    codes = np.array(sorted(counts), dtype=np.int32)
    numbers = np.array([counts[code] for code in codes.tolist()], dtype=np.int64)
    if known is None:
        known = sum(count for code, count in counts.items() if not rules.unknown[code])
    histogram = np.array([0, codes.size]), codes, numbers, np.array([known])
    (found,) = kernel.judge_rule(rules, 0, *histogram)
    assert kernel.judge_view(kernel.rule_view(rules, 0), *histogram).tobytes() == found.tobytes()
    return float(found)


def histograms(min_size: int = 1) -> st.SearchStrategy[Counts]:
    return st.dictionaries(st.integers(0, CARD - 1), st.integers(1, 5), min_size=min_size)


@st.composite
def group_and_table(draw: st.DrawFn) -> tuple[Counts, Counts]:
    """A group and a table that contains it."""
    group = draw(histograms())
    rest = draw(histograms(0))
    return group, {code: group.get(code, 0) + rest.get(code, 0) for code in {*group, *rest}}


def shares(counts: Counts) -> list[Fraction]:
    total = sum(counts.values())
    return [Fraction(counts.get(code, 0), total) for code in range(CARD)]


def ordered_reference(table: Counts) -> list[float]:
    """Rank of each code among the values present, their number, cumulative shares, and prefix sums."""
    present = sorted(table)
    ranks = [sum(code <= x for code in present) - 1 for x in range(CARD)]
    q = shares(table)
    cumulative = [float(sum(q[code] for code in present[: place + 1])) for place in range(len(present))]
    return [*ranks, len(present), *cumulative, *np.cumsum([0.0, *cumulative])]


def ordered_distance(group: Counts, table: Counts) -> float:
    """Sum of the absolute cumulative differences over the values of the table but the last."""
    present, p, q = sorted(table), shares(group), shares(table)
    running, total = Fraction(0), Fraction(0)
    for code in present[:-1]:
        running += p[code] - q[code]
        total += abs(running)
    return float(total / (len(present) - 1)) if len(present) > 1 else 0.0


def tree_reference(table: Counts, tree: Hierarchy) -> list[float]:
    """The table's share of every node, a level after another, six entries each."""
    q = shares(table)
    found = []
    for nodes in tree.ancestors:
        per_node = [float(sum(q[code] for code in range(CARD) if nodes[code] == node)) for node in range(CARD)]
        found += per_node
    return found


def tree_distance(group: Counts, table: Counts, tree: Hierarchy) -> float:
    """Over inner nodes: height over the root's, times the smaller of its children's surplus and shortage."""
    extra = [a - b for a, b in zip(shares(group), shares(table), strict=True)]
    total = Fraction(0)
    for level in range(1, tree.height + 1):
        for node in set(tree.ancestors[level].tolist()):
            children: dict[int, Fraction] = {}
            for leaf in np.flatnonzero(tree.ancestors[level] == node).tolist():
                child = int(tree.ancestors[level - 1][leaf])
                children[child] = children.get(child, Fraction(0)) + extra[leaf]
            over = sum((x for x in children.values() if x > 0), Fraction(0))
            under = -sum((x for x in children.values() if x < 0), Fraction(0))
            total += Fraction(level, tree.height) * min(over, under)
    return float(total)


def entropy(group: Counts) -> float:
    return -sum(float(p) * math.log(p) for p in shares(group) if p)


def tail_ratio(group: Counts, l: int) -> float:  # noqa: E741
    ordered = sorted(group.values(), reverse=True)
    tail = sum(ordered[l - 1 :])
    return ordered[0] / tail if tail else math.inf


@pytest.mark.reference("judge_rule", "judge_view")
@given(histograms())
def test_distinct(group: Counts) -> None:
    assert value(one_rule(kernel.DISTINCT, kernel.AT_LEAST), group) == len(group)


@given(histograms())
def test_entropy(group: Counts) -> None:
    assert value(one_rule(kernel.ENTROPY, kernel.AT_LEAST), group) == pytest.approx(entropy(group), abs=1e-12)


@given(histograms(), st.integers(1, 7))
def test_tail(group: Counts, l: int) -> None:  # noqa: E741
    assert value(one_rule(kernel.TAIL, kernel.BELOW, p0=l), group) == pytest.approx(tail_ratio(group, l))


@given(histograms(), st.lists(st.sampled_from([0.1, 0.5, 1.0, math.inf]), min_size=CARD, max_size=CARD))
def test_share_over_its_cap(group: Counts, caps: list[float]) -> None:
    p = shares(group)
    expected = max(float(p[code]) / caps[code] for code in group)
    assert value(one_rule(kernel.SHARE, kernel.AT_MOST, ref=caps), group) == pytest.approx(expected)


def test_shares_are_of_people_where_people_are_counted() -> None:
    """Three people, one of whom has both values: two have each, although counts add up to four."""
    rule = one_rule(kernel.SHARE, kernel.AT_MOST, ref=[1.0] * CARD, people=True)
    assert value(rule, {0: 2, 1: 2}, known=3) == pytest.approx(2 / 3)


@given(group_and_table())
def test_variation(drawn: tuple[Counts, Counts]) -> None:
    group, table = drawn
    expected = sum(abs(a - b) for a, b in zip(shares(group), shares(table), strict=True)) / 2
    rule = one_rule(kernel.TOTAL_VARIATION, kernel.AT_MOST, ref=[float(q) for q in shares(table)])
    assert value(rule, group) == pytest.approx(float(expected), abs=1e-12)


@given(group_and_table())
def test_divergence(drawn: tuple[Counts, Counts]) -> None:
    group, table = drawn
    p, q = shares(group), shares(table)
    expected = sum(float(a) * math.log(a / b) for a, b in zip(p, q, strict=True) if a)
    rule = one_rule(kernel.KL, kernel.AT_MOST, ref=[float(x) for x in q])
    assert value(rule, group) == pytest.approx(expected, abs=1e-12)


def test_divergence_from_a_table_without_the_value_is_infinite() -> None:
    assert value(one_rule(kernel.KL, kernel.AT_MOST, ref=[1.0, 0, 0, 0, 0, 0]), {0: 1, 3: 1}) == math.inf


@settings(max_examples=50)
@given(group_and_table())
def test_ordered_distance(drawn: tuple[Counts, Counts]) -> None:
    group, table = drawn
    rule = one_rule(kernel.ORDERED, kernel.AT_MOST, ref=ordered_reference(table))
    assert value(rule, group) == pytest.approx(ordered_distance(group, table), abs=1e-12)


@settings(max_examples=50)
@given(group_and_table(), hierarchy_rows())
def test_tree_distance(drawn: tuple[Counts, Counts], rows: list[list[str]]) -> None:
    group, table = drawn
    tree = Hierarchy.from_rows("s", rows)
    rule = one_rule(kernel.TREE, kernel.AT_MOST, ref=tree_reference(table, tree), tree=tree.ancestors)
    assert value(rule, group) == pytest.approx(tree_distance(group, table, tree), abs=1e-12)


@given(histograms())
def test_spread_and_variance(group: Counts) -> None:
    places = [0.0, 1.0, 1.5, 4.0, 10.0, 11.0]
    values = [places[code] for code, count in group.items() for _ in range(count)]
    mean = sum(values) / len(values)
    variance = sum((x - mean) ** 2 for x in values) / len(values)
    spread = value(one_rule(kernel.SPREAD, kernel.AT_LEAST, ref=places), group)
    assert spread == max(values) - min(values)
    assert value(one_rule(kernel.VARIANCE, kernel.AT_LEAST, ref=places), group) == pytest.approx(variance, abs=1e-9)


@given(histograms(), st.sampled_from([0, 0.5, 1, 3, 5.5, 20]), st.booleans())
def test_window(group: Counts, eps: float, relative: bool) -> None:
    places = [-4.0, -2.0, 0.0, 1.0, 2.5, 8.0]
    values = [places[code] for code, count in group.items() for _ in range(count)]
    worst = max(
        sum(abs(x - centre) <= (eps * abs(centre) if relative else eps) for x in values) / len(values)
        for centre in values
    )
    rule = one_rule(kernel.WINDOW, kernel.AT_MOST, ref=places, p0=eps, p1=relative)
    assert value(rule, group) == pytest.approx(worst)


def test_window_counts_a_pair_that_is_exactly_eps_apart() -> None:
    """In floats 0.3 - 0.2 is a little less than 0.1 and 0.4 - 0.3 a little more; both are within 0.1."""
    for pair in ([0.2, 0.3], [0.3, 0.4]):
        rule = one_rule(kernel.WINDOW, kernel.AT_MOST, ref=[*pair, 9, 9, 9, 9], p0=0.1)
        assert value(rule, {0: 1, 1: 1}) == 1.0


@given(histograms(), hierarchy_rows())
def test_closeness(group: Counts, rows: list[list[str]]) -> None:
    codes = sorted(group)
    places = [0.0, 1.0, 1.5, 4.0, 10.0, 11.0]
    by_place = one_rule(kernel.CLOSENESS, kernel.AT_MOST, ref=places, p0=20.0, p1=0)
    assert value(by_place, group) == pytest.approx(1 - (places[codes[-1]] - places[codes[0]]) / 20)
    by_count = one_rule(kernel.CLOSENESS, kernel.AT_MOST, p0=5.0, p1=2)
    assert value(by_count, group) == pytest.approx(1 - (len(codes) - 1) / 5)
    tree = Hierarchy.from_rows("s", rows)
    by_leaves = one_rule(
        kernel.CLOSENESS, kernel.AT_MOST, ref=tree.leaf_counts.ravel(), tree=tree.ancestors, p0=CARD - 1, p1=1
    )
    leaves = tree.leaf_counts[tree.common_level(codes[0], codes[-1]), codes[0]]
    assert value(by_leaves, group) == pytest.approx(1 - (leaves - 1) / (CARD - 1))


def test_closeness_in_a_domain_of_one_value_is_one() -> None:
    assert value(one_rule(kernel.CLOSENESS, kernel.AT_MOST, ref=[0.0] * CARD, p0=0.0), {2: 3}) == 1.0


def without(counts: Counts, unknown: Sequence[int]) -> Counts:
    return {code: count for code, count in counts.items() if not unknown[code]}


@settings(max_examples=50)
@given(
    group_and_table(),
    st.lists(st.integers(0, 1), min_size=CARD, max_size=CARD),
    st.sampled_from(["distinct", "entropy", "tail", "variation", "ordered", "share"]),
)
def test_unknown_values(drawn: tuple[Counts, Counts], unknown: list[int], name: str) -> None:
    """Two-way rules take the worse of both readings, the others look at known values only."""
    group, table = drawn
    known, known_table = without(group, unknown), without(table, unknown)
    assume(known_table)

    def variation(counts: Counts, whole: Counts) -> float:
        return float(sum(abs(a - b) for a, b in zip(shares(counts), shares(whole), strict=True)) / 2)

    q, q_full = ([float(x) for x in shares(t)] for t in (known_table, table))
    kinds = {
        "distinct": (kernel.DISTINCT, kernel.AT_LEAST, {}, lambda c, t: float(len(c)), None),
        "share": (
            kernel.SHARE, kernel.AT_MOST, {"ref": [0.5] * CARD}, lambda c, t: 2 * float(max(shares(c))), None,
        ),
        "entropy": (kernel.ENTROPY, kernel.AT_LEAST, {}, lambda c, t: entropy(c), min),
        "tail": (kernel.TAIL, kernel.BELOW, {"p0": 2}, lambda c, t: tail_ratio(c, 2), max),
        "variation": (kernel.TOTAL_VARIATION, kernel.AT_MOST, {"ref": q, "ref_full": q_full}, variation, max),
        "ordered": (
            kernel.ORDERED, kernel.AT_MOST,
            {"ref": ordered_reference(known_table), "ref_full": ordered_reference(table)},
            ordered_distance, max,
        ),
    }  # fmt: skip
    op, sense, options, naive, worse = kinds[name]
    if table == known_table:
        options.pop("ref_full", None)
    found = value(one_rule(op, sense, unknown=unknown, **options), group)
    if not known:
        assert math.isnan(found)
        return
    expected = naive(known, known_table)
    if worse is not None:
        expected = worse(expected, naive(group, table))
    assert found == pytest.approx(expected, abs=1e-12)
    assert (op in TWO_WAYS) == (worse is not None)


PLACES = [0.0, 1.0, 1.5, 4.0, 10.0, 11.0]
DIVERSITIES = {
    "distinct": (kernel.DISTINCT, kernel.AT_LEAST, {}, lambda c: float(len(c))),
    "entropy": (kernel.ENTROPY, kernel.AT_LEAST, {}, entropy),
    "tail": (kernel.TAIL, kernel.BELOW, {"p0": 2}, lambda c: tail_ratio(c, 2)),
    "spread": (kernel.SPREAD, kernel.AT_LEAST, {"ref": PLACES}, lambda c: PLACES[max(c)] - PLACES[min(c)]),
    "closeness": (
        kernel.CLOSENESS, kernel.AT_MOST, {"ref": PLACES, "p0": 20.0},
        lambda c: 1 - (PLACES[max(c)] - PLACES[min(c)]) / 20,
    ),
    "pairs": (
        kernel.RANGE_PAIRS, kernel.AT_MOST,
        {"ref": [*range(CARD), *range(CARD), *range(CARD), *PLACES], "p0": 20.0},
        lambda c: float(sum(p**2 for p in shares(c))),
    ),
}  # fmt: skip


def persons() -> st.SearchStrategy[list[set[int]]]:
    """What each person of a class has; half of the time there is a value that all of them have."""
    each = st.lists(st.sets(st.integers(0, CARD - 1), min_size=1, max_size=3), min_size=1, max_size=5)
    common = st.tuples(each, st.integers(0, CARD - 1)).map(lambda drawn: [{*has, drawn[1]} for has in drawn[0]])
    return each | common


def counted(class_: list[set[int]]) -> Counts:
    return {code: sum(code in has for has in class_) for code in set().union(*class_)}


@settings(max_examples=75)
@given(persons(), st.lists(st.integers(0, 1), min_size=CARD, max_size=CARD), st.sampled_from(sorted(DIVERSITIES)))
def test_a_value_that_everybody_has_is_all_that_a_diversity_sees(
    class_: list[set[int]], unknown: list[int], name: str
) -> None:
    """Everybody: all the people of whom a value is known. Without such a value nothing changes."""
    op, sense, options, naive = DIVERSITIES[name]
    group = counted(class_)
    telling = [known for has in class_ if (known := {code for code in has if not unknown[code]})]
    found = value(one_rule(op, sense, unknown=unknown, people=True, **options), group, known=len(telling))
    if not telling:
        assert math.isnan(found)
        return
    common = set.intersection(*telling)
    readings = [{code: len(telling)} for code in common] or [counted(telling)]
    if op in TWO_WAYS:
        readings.append(group)
    worse = min if sense == kernel.AT_LEAST else max
    assert found == pytest.approx(worse(naive(reading) for reading in readings), abs=1e-12)


@given(persons(), st.sampled_from([kernel.SHARE, kernel.TOTAL_VARIATION, kernel.VARIANCE, kernel.WINDOW]))
def test_what_is_no_diversity_sees_every_value_of_people(class_: list[set[int]], op: int) -> None:
    group, n = counted(class_), len(class_)
    by_rows, by_people = (
        one_rule(op, kernel.AT_MOST, ref=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], people=people) for people in (False, True)
    )
    assert value(by_people, group, known=n) == value(by_rows, group, known=n)


def test_where_rows_are_counted_a_count_of_all_the_known_is_no_sign_of_everybody() -> None:
    rule = one_rule(kernel.DISTINCT, kernel.AT_LEAST)
    assert value(rule, {0: 5, 1: 1}, known=5) == 2.0


@pytest.mark.parametrize(
    "value,sense,limit,fails",
    [
        (3 - 1e-13, kernel.AT_LEAST, 3, False),
        (3 - 1e-11, kernel.AT_LEAST, 3, True),
        (0.3 + 1e-13, kernel.AT_MOST, 0.3, False),
        (0.3 + 1e-11, kernel.AT_MOST, 0.3, True),
        (1.9999, kernel.BELOW, 2, False),
        (2.0, kernel.BELOW, 2, True),
        (math.inf, kernel.AT_MOST, math.inf, False),
    ],
)
def test_comparisons_have_the_tolerance_they_are_said_to_have(
    value: float, sense: int, limit: float, fails: bool
) -> None:
    rules = one_rule(kernel.DISTINCT, sense, limit=limit)
    assert _native.probe_failing(rules, np.array([value]), 0) is fails


def test_judging_many_groups_is_judging_each() -> None:
    rule = one_rule(kernel.DISTINCT, kernel.AT_LEAST, unknown=[0, 1, 0, 0, 0, 0])
    indptr, codes = np.array([0, 2, 2, 3, 6]), np.array([0, 1, 1, 0, 2, 5], dtype=np.int32)
    found = kernel.judge_rule(rule, 0, indptr, codes, np.ones(6, dtype=np.int64), np.array([1, 0, 0, 3]))
    assert np.array_equal(found, [1.0, math.nan, math.nan, 3.0], equal_nan=True)
