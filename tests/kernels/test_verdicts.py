"""Verdicts on the classes of a node, against plain counting."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import _native
from shoal.kernels.lattice import Layout, Room, Slots, count_node, count_rows, level_codes
from shoal.kernels.lattice_verdicts import (
    FAILS,
    INHERITS,
    Entries,
    Flags,
    Losing,
    check_sizes,
    class_histograms,
    flag_small,
    flag_values,
    lost_codes,
    lost_prices,
    price_gone,
    price_others,
    tally,
)
from shoal.kernels.rules import AT_LEAST, AT_MOST, DISTINCT, SHARE, TOTAL_VARIATION, RuleView

NONE = np.empty(0, dtype=np.uint8)
SEEDS = st.integers(0, 2**32 - 1)


def within(counts: np.ndarray, shares: np.ndarray, t: float) -> bool:
    return float(np.abs(counts / counts.sum() - shares).sum()) / 2 <= t + 1e-9


@pytest.mark.reference("probe_most_within")
@settings(max_examples=20)
@given(SEEDS)
def test_no_part_of_a_class_that_is_near_enough_is_larger(seed: int) -> None:
    """Of all parts of a class; and were rows divisible, one part as large would be near enough."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(3))
    counts, t = rng.integers(0, 7, 3), float(rng.choice([0.05, 0.1, 0.2, 0.4]))
    codes = np.flatnonzero(counts).astype(np.int32)
    parts = np.stack(np.meshgrid(*(np.arange(one + 1) for one in counts)), axis=-1).reshape(-1, 3)
    best = max((int(part.sum()) for part in parts if part.sum() and within(part, shares, t)), default=0)
    most = _native.probe_most_within(codes, counts[codes], float(counts.sum()), shares, t)
    assert best <= most + 1e-6
    assert np.minimum(shares * most, counts).sum() >= (1 - t) * most - 1e-6


@pytest.mark.reference("class_histograms")
@pytest.mark.parametrize("card", [3, 5000])
@given(seed=SEEDS)
def test_histograms_of_classes_are_those_of_their_combinations(card: int, seed: int) -> None:
    """Few values and many, those of settled classes left out."""
    rng = np.random.default_rng(seed)
    entries, classes = int(rng.integers(1, 30)), int(rng.integers(1, 6))
    class_of = rng.integers(0, classes, entries).astype(np.int32)
    mine = [np.sort(rng.choice(card, min(card, int(rng.integers(0, 4))), replace=False)) for _ in range(entries)]
    owner = np.repeat(np.arange(entries), [len(one) for one in mine]).astype(np.int32)
    codes = np.concatenate([np.empty(0, dtype=np.int64), *mine]).astype(np.int32)
    counts = rng.integers(1, 5, codes.size)
    flags = (rng.random(card) < 0.3).astype(np.uint8)
    bad, inherits = (rng.random((2, classes)) < 0.5).astype(np.uint8)
    for settled in (False, True):
        given_flags = (bad, inherits) if settled else (NONE, NONE)
        found = class_histograms(class_of, classes, (owner, codes, counts), flags, *given_flags)
        for c in range(classes):
            expected: Counter[int] = Counter()
            for entry in np.flatnonzero(class_of[owner] == c):
                expected[int(codes[entry])] += int(counts[entry])
            if settled and bad[c] and inherits[c]:
                expected.clear()
            at = slice(found[0][c], found[0][c + 1])
            assert list(zip(found[1][at].tolist(), found[2][at].tolist(), strict=True)) == sorted(expected.items())
            assert found[3][c] == sum(count for code, count in expected.items() if not flags[code])


@pytest.mark.parametrize("card", [3, 5000])
def test_what_is_in_no_class_is_in_no_histogram(card: int) -> None:
    owner, codes = np.array([0, 1, 1], dtype=np.int32), np.array([2, 0, 2], dtype=np.int32)
    class_of, flags = np.array([-1, 1], dtype=np.int32), np.zeros(card, dtype=np.uint8)
    found = class_histograms(class_of, 2, (owner, codes, np.array([4, 5, 6])), flags, NONE, NONE)
    assert [one.tolist() for one in found] == [[0, 0, 2], [0, 2], [5, 6], [0, 11]]


def rule_of(op: int, counts: np.ndarray, shares: np.ndarray) -> float:
    """Different values, largest share over that of the table, or total variation; NaN without a value."""
    if not counts.any():
        return math.nan
    if op == DISTINCT:
        return float(np.count_nonzero(counts))
    if op == SHARE:
        return max(counts[code] / (counts.sum() * shares[code]) for code in np.flatnonzero(counts))
    return float(np.abs(counts / counts.sum() - shares).sum() / 2)


@pytest.mark.reference("flag_values")
@pytest.mark.parametrize("sets", [FAILS, INHERITS, FAILS | INHERITS])
@given(seed=SEEDS, op=st.sampled_from([DISTINCT, SHARE, TOTAL_VARIATION]))
def test_classes_are_flagged_by_the_rule_they_fail(sets: int, seed: int, op: int) -> None:
    """Flags of other rules stay, and rows that total variation loses are those that no part can keep."""
    rng = np.random.default_rng(seed)
    card, classes, k = 4, 6, int(rng.integers(1, 8))
    counts = rng.integers(0, 6, (classes, card)) * rng.integers(0, 2, (classes, card))
    shares = np.array([1, 2, 2, 3]) / 8
    before = rng.integers(0, 2, (2, classes)).astype(np.uint8)
    counts[~counts.any(axis=1), 0] = 1
    counts[before.all(axis=0)] = 0  # settled classes have no histogram
    sense, limit = {DISTINCT: (AT_LEAST, 2.5), SHARE: (AT_MOST, 1.9), TOTAL_VARIATION: (AT_MOST, 0.21)}[op]
    nothing = np.empty(0)
    view = RuleView(
        op=op,
        sense=sense,
        p0=0.0,
        p1=0.0,
        card=card,
        mixed=False,
        two=False,
        shared=False,
        flags=np.zeros(card, dtype=np.uint8),
        ref=nothing if op == DISTINCT else shares,
        full=nothing if op == DISTINCT else shares,
        tree=np.empty(0, dtype=np.int32),
    )
    owner, codes = (one.astype(np.int32) for one in np.nonzero(counts))
    indptr = np.cumsum([0, *np.count_nonzero(counts, axis=1)])
    bad, inherits, gone = before[0].copy(), before[1].copy(), np.zeros(classes, dtype=np.int64)
    flag_values(view, limit, sets, k, (indptr, codes, counts[owner, codes], counts.sum(axis=1)), bad, inherits, gone)
    for c in range(classes):
        found = rule_of(op, counts[c], shares)
        fails = not math.isnan(found) and (found < limit if sense == AT_LEAST else found > limit)
        assert bad[c] == (before[0, c] or (fails and bool(sets & FAILS)))
        if op != TOTAL_VARIATION or not sets & FAILS:
            assert inherits[c] == (before[1, c] or (fails and bool(sets & INHERITS)))
            assert gone[c] == 0
        elif not fails or before[1, c] or sets & INHERITS:
            assert inherits[c] == (before[1, c] or fails)
            assert gone[c] == 0
        else:
            # Of a class that fails, parts of divisible rows can be kept: the largest is where they are near enough.
            kept = largest_part(counts[c], shares, limit)
            assert inherits[c] == (kept < k - 1e-6)
            assert gone[c] == math.ceil(counts[c].sum() - kept - 1e-6)


def largest_part(counts: np.ndarray, shares: np.ndarray, t: float) -> float:
    """Bisect for the most rows n of which the smaller of each count and its share of n sum up to (1 - t) n."""
    low, high = 0.0, float(counts.sum())
    for _ in range(100):
        middle = (low + high) / 2
        enough = np.minimum(counts, shares * middle).sum() >= (1 - t - 1e-9) * middle
        low, high = (middle, high) if enough else (low, middle)
    return low


@pytest.mark.reference("count_rows")
@pytest.mark.parametrize("card", [2, 40, 1 << 20, 1 << 31])
@given(seed=SEEDS)
def test_rows_of_codes_are_counted_as_tuples(card: int, seed: int) -> None:
    """Keys of their own slots, hashed ones of 32 and 64 bits, and keys that pass 64 bits."""
    rng = np.random.default_rng(seed)
    n, rows = int(rng.integers(1, 50)), rng.permutation(4)[: rng.integers(1, 4)]
    codes, weight = rng.integers(0, min(card, 1 << 31), (4, n)).astype(np.int32), rng.integers(1, 9, n)
    codes[:, rng.random(n) < 0.5] = codes[:, :1]
    slots = Slots(np.empty(128, dtype=np.int32), np.empty(n, dtype=np.uint64))
    room = Room(*(np.empty(n, dtype=kind) for kind in (np.int32, np.int64, np.int32, np.int64, np.int32)))
    found = count_rows(codes, rows, np.full(rows.size, card), weight, slots, room)
    if card**rows.size > 1 << 62:
        assert found == -1
        return
    classes: dict[tuple[int, ...], list[int]] = {}
    for i, cells in enumerate(map(tuple, codes[rows].T.tolist())):
        classes.setdefault(cells, []).append(i)
    assert found == len(classes)
    for number, entries in enumerate(classes.values()):
        assert (room.class_of[entries] == number).all()
        assert (room.sizes[number], room.first[number]) == (weight[entries].sum(), entries[0])


@pytest.mark.reference("tally")
@given(SEEDS)
def test_classes_are_tallied_by_their_flags(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes, lost, classes = rng.integers(1, 9, 8), rng.integers(0, 3, 8), int(rng.integers(0, 9))
    bad, inherits = rng.integers(0, 2, (2, 8)).astype(np.uint8)
    gone, out = lost.copy(), np.full(5, 7.0)
    tally(sizes, classes, bad, inherits, gone, out)
    expected, left = [0] * 5, lost.tolist()
    for c in range(classes):
        size = int(sizes[c])
        expected[3] += size**2
        if bad[c]:
            expected[0] += size
        else:
            expected[1] += 1
            expected[2] += size**2
        expected[4] += size if inherits[c] else left[c]
        left[c] = 0 if inherits[c] else left[c]
    assert (out.tolist(), gone.tolist()) == (expected, left)


def test_what_is_lost_within_a_lost_class_counts_once() -> None:
    sizes, gone, out = np.array([4, 3, 9, 8]), np.array([0, 2, 0, 5]), np.empty(5)
    bad, inherits = np.array([0, 1, 1, 1], dtype=np.uint8), np.array([0, 1, 1, 0], dtype=np.uint8)
    tally(sizes, 4, bad, inherits, gone, out)
    assert out.tolist() == [20, 1, 16, 16 + 9 + 81 + 64, 3 + 9 + 5]
    assert gone.tolist() == [0, 0, 0, 5]


@pytest.mark.reference("count_node", "check_sizes")
@settings(max_examples=25)
@given(SEEDS, st.sampled_from([2, 40, 1 << 20]))
def test_classes_are_numbered_as_they_first_come(seed: int, card: int) -> None:
    """Where keys are slots of their own, and where they are hashed, of 32 bits and of 64."""
    rng = np.random.default_rng(seed)
    entries, attributes = int(rng.integers(1, 50)), 3
    codes = rng.integers(0, card, (attributes, entries)).astype(np.int32)
    codes[:, rng.random(entries) < 0.5] = codes[:, :1]
    weight = rng.integers(1, 9, entries)
    at = np.arange(attributes + 1)
    layout = Layout(np.full((attributes, 1), card), at, at, np.zeros((1, attributes), dtype=np.int32))
    slots = Slots(np.empty(128, dtype=np.int32), np.empty(entries, dtype=np.uint64))
    kinds = (np.int32, np.int64, np.int32, np.int64, np.int32)
    room = Room(*(np.empty(entries, dtype=kind) for kind in kinds))
    found = count_node(codes, weight, layout, np.zeros(attributes, dtype=np.int64), slots, room)
    first: dict[tuple[int, ...], int] = {}
    rows: Counter[int] = Counter()
    for i, cells in enumerate(map(tuple, codes.T.tolist())):
        number = list(first).index(cells) if cells in first else len(first)
        first.setdefault(cells, i)
        rows[number] += int(weight[i])
        assert room.class_of[i] == number
    assert (found, room.first[:found].tolist()) == (len(first), list(first.values()))
    assert room.sizes[:found].tolist() == [rows[c] for c in range(found)]
    flags, out = Flags(*(np.ones(entries, dtype=kind) for kind in (np.uint8, np.uint8, np.int64))), np.empty(5)
    least = np.array([6.0, 3.0])
    levels = np.zeros(attributes, dtype=np.int64)
    assert check_sizes(Entries(codes, weight, layout), levels, slots, room, least, flags, out) == found
    sizes = list(rows.values())
    assert flags.bad[:found].tolist() == [rows[c] < 6 for c in range(found)]
    assert out[[0, 4]].tolist() == [sum(size for size in sizes if size < limit) for limit in least]
    assert out[1] == sum(size >= 6 for size in sizes)


@pytest.mark.reference("lost_codes", "price_gone")
@given(SEEDS)
def test_lost_rows_are_counted_by_code_and_never_priced_too_high(seed: int) -> None:
    """Exactly where classes are lost, and by the rows that lose least where only so many of a class are."""
    rng = np.random.default_rng(seed)
    cards, entries, classes = [4, 3], 12, 4
    card_at = np.cumsum([0, *cards])
    leaf = np.stack([rng.integers(0, card, entries) for card in cards], axis=1)
    weight, class_of = rng.integers(1, 4, entries), rng.permutation(np.arange(entries) % classes).astype(np.int32)
    flags = rng.integers(0, 2, classes).astype(np.uint8)
    expected, every = np.zeros((2, card_at[-1]))
    for i in range(entries):
        every[leaf[i] + card_at[:-1]] += weight[i]
        expected[leaf[i] + card_at[:-1]] += weight[i] * flags[class_of[i]]
    codes = np.stack([leaf[:, 0], np.zeros(entries), leaf[:, 1], np.zeros(entries)]).astype(np.int32)
    places = (leaf + card_at[:-1]).astype(np.int32)
    flat = Losing(weight, places, places[:0, 0].copy(), weight[:0], np.zeros(entries + 1, dtype=np.int64))
    # One attribute is rolled up, and its codes told row by row.
    deep, each = np.repeat(places[:, 0], weight), np.ones(weight.sum(), dtype=np.int64)
    rolled = Losing(weight, places[:, 1:].copy(), deep, each, np.cumsum([0, *weight]))
    for losing in (flat, rolled):
        lost = np.ones(card_at[-1])
        lost_codes(losing, class_of, flags, every, lost)
        assert lost.tolist() == expected.tolist()
    # Level 0: the codes themselves; level 1: one node. Class 1 loses two rows, whichever.
    labels = np.concatenate([np.arange(4), np.arange(3), np.zeros(7, dtype=np.int64)]).reshape(2, 7).astype(np.int32)
    prices, out = -rng.random((2, 7)), np.zeros((2, 2))
    first = np.array([np.flatnonzero(class_of == c)[0] for c in range(classes)], dtype=np.int32)
    layout = Layout(np.array([[4, 1], [3, 1]]), np.array([0, 2, 4]), card_at, labels)
    price_gone(np.array([0, 2, 0, 0]), codes, first, np.array([1, 1]), layout, prices, out)
    for a in range(2):
        mine = slice(card_at[a], card_at[a + 1])
        assert out[a] == pytest.approx(2 * prices[:, mine].max(axis=1))


@pytest.mark.reference("flag_small", "lost_prices")
@given(SEEDS)
def test_small_classes_are_flagged_and_lost_rows_priced(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes, classes = rng.integers(1, 9, 8), int(rng.integers(0, 9))
    least = np.array([rng.uniform(1, 9), rng.uniform(1, 9)])
    bad, inherits, gone = (np.full(8, 7, dtype=kind) for kind in (np.uint8, np.uint8, np.int64))
    flag_small(sizes, classes, least, bad, inherits, gone)
    rest = [7] * (8 - classes)
    assert bad.tolist() == [int(size < least[0]) for size in sizes[:classes].tolist()] + rest
    assert inherits.tolist() == [int(size < least[1]) for size in sizes[:classes].tolist()] + rest
    assert gone.tolist() == [0] * classes + rest
    card_at = np.array([0, 3, 3, 8])
    lost, prices = rng.integers(0, 3, 8).astype(np.float64), rng.random((2, 8))
    prices[:, lost == 0] = np.nan  # unpublished codes have no price
    expected = [
        [sum(lost[i] * level[i] for i in range(start, stop) if lost[i]) for level in prices]
        for start, stop in zip(card_at[:-1], card_at[1:], strict=True)
    ]
    assert lost_prices(lost, prices, card_at).tolist() == expected


@pytest.mark.reference("level_codes", "price_others")
@given(SEEDS)
def test_classes_that_others_do_not_inherit_are_priced_by_the_node_they_share(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tops, leaf = np.array([[0, 0, 1, 1], [0, 0, 0, 1]]), rng.integers(0, 4, (2, 9))
    levels = rng.integers(0, 2, 2)
    labels = [leaf[a] if levels[a] == 0 else tops[a][leaf[a]] for a in range(2)]
    classes, class_of = np.unique(np.stack(labels), axis=1, return_inverse=True)
    # Codes of one node cost the same at its level.
    prices = np.concatenate([rng.random((2, 4)), rng.random((2, 4))], axis=1)
    prices[1] = np.concatenate([rng.random(4)[tops[a]] for a in range(2)])
    bad, inherits = rng.integers(0, 2, (2, classes.shape[1])).astype(np.uint8)
    first = np.array([np.flatnonzero(class_of == c)[0] for c in range(classes.shape[1])], dtype=np.int32)
    codes = np.stack([leaf[0], tops[0][leaf[0]], leaf[1], tops[1][leaf[1]]]).astype(np.int32)
    nodes = np.stack([np.arange(8) % 4, tops.ravel()]).astype(np.int32)
    layout = Layout(np.array([[4, 2], [4, 2]]), np.array([0, 2, 4]), np.array([0, 4, 8]), nodes)
    assert level_codes(leaf.astype(np.int32), layout).tolist() == codes.tolist()
    found = price_others(np.bincount(class_of), bad, inherits, codes, first, levels, layout, prices)
    times = bad[class_of].astype(float) - inherits[class_of]
    assert found == pytest.approx([(times * prices[levels[a], 4 * a + leaf[a]]).sum() for a in range(2)], abs=1e-12)
