"""The closed set of conditions on one group that models are made of.

A rule looks at one attribute's sparse histogram (codes ascending) and gives a value to compare with a limit.
Judging whole tables and growing groups call the same functions, so a model is computed in one way only.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.frozen.judge.ranges import pair_share, range_share

(
    SIZE,
    DISTINCT,
    ENTROPY,
    TAIL,
    SHARE,
    TOTAL_VARIATION,
    KL,
    ORDERED,
    TREE,
    SPREAD,
    VARIANCE,
    WINDOW,
    CLOSENESS,
    RANGE_PAIRS,
    RANGE_SHARE,
    EXTENT,
) = range(16)
AT_LEAST, AT_MOST, BELOW = range(3)
TOLERANCE = 1e-12

# op, attr, sense, limit, p0, p1: one entry a rule. combine: how many following rules (this one included) are
# averaged into one value, 0 for the followers. strict_parent: 1 when a failing parent frees its children.
# ref, ref_at: concatenated float references of the rules and where each starts (two a rule: with and without
# unknown values). tree, tree_at: concatenated level x code matrices. unknown, unknown_at: flags a code
# of each attribute. card: codes of each attribute; people: 1 where it is counted by people.
Rules = namedtuple(
    "Rules",
    "op attr sense limit p0 p1 combine strict_parent ref ref_at tree tree_at unknown unknown_at card people",
)

# mixed: the attribute has unknown values; two: the reference differs with them; ref, full: without and with them.
# shared: a value that everybody has hides nothing, whatever else some of them have.
RuleView = namedtuple("RuleView", "op sense p0 p1 card mixed two shared flags ref full tree")


@kernel
def passes(value: float, sense: int, limit: float) -> bool:
    """Compare with the spec's absolute tolerance; the strict comparison has none."""
    if sense == AT_LEAST:
        return value >= limit - TOLERANCE
    if sense == AT_MOST:
        return value <= limit + TOLERANCE
    return value < limit


@kernel
def _entropy(counts: np.ndarray, total: float) -> float:
    entropy = 0.0
    for i in range(counts.size):
        share = counts[i] / total
        entropy -= share * math.log(share)
    return entropy


@kernel
def _tail_ratio(counts: np.ndarray, total: float, l: int) -> float:  # noqa: E741
    """Largest count over the sum from the l-th largest on; infinite when that sum is nothing."""
    if counts.size < l:
        return math.inf
    ordered = np.sort(counts)[::-1]
    tail = total
    for i in range(l - 1):
        tail -= ordered[i]
    return ordered[0] / tail


@kernel
def variation(codes: np.ndarray, counts: np.ndarray, total: float, q: np.ndarray) -> float:
    """Half the sum of absolute differences; values absent from the group add their share of the table."""
    gap = 0.0
    covered = 0.0
    for i in range(codes.size):
        share = q[codes[i]]
        gap += abs(counts[i] / total - share)
        covered += share
    return 0.5 * (gap + max(0.0, 1.0 - covered))


@kernel
def _divergence(codes: np.ndarray, counts: np.ndarray, total: float, q: np.ndarray) -> float:
    value = 0.0
    for i in range(codes.size):
        if q[codes[i]] <= 0.0:
            return math.inf
        p = counts[i] / total
        value += p * math.log(p / q[codes[i]])
    return max(0.0, value)


@kernel
def _ordered(codes: np.ndarray, counts: np.ndarray, total: float, ref: np.ndarray, card: int) -> float:
    """Earth mover's distance over ranks.

    ``ref`` holds, for the M values present in the table: the position of each code (card entries), M, the
    cumulative shares (M), and their prefix sums (M + 1), so that a stretch where the group's cumulative share
    stands still costs one binary search.
    """
    m = int(ref[card])
    if m <= 1:
        return 0.0
    cumulative = ref[card + 1 : card + 1 + m]
    prefix = ref[card + 1 + m : card + 2 + 2 * m]
    distance = 0.0
    share = 0.0
    start = 0
    for i in range(codes.size + 1):
        stop = int(ref[codes[i]]) if i < codes.size else m - 1
        stop = min(stop, m - 1)
        if stop > start:
            cross = start + np.searchsorted(cumulative[start:stop], share)
            distance += share * (cross - start) - (prefix[cross] - prefix[start])
            distance += (prefix[stop] - prefix[cross]) - share * (stop - cross)
            start = stop
        if i < codes.size:
            share += counts[i] / total
    return distance / (m - 1)


@kernel
def _tree_distance(
    codes: np.ndarray, counts: np.ndarray, total: float, q: np.ndarray, tree: np.ndarray, card: int
) -> float:
    """Hierarchical earth mover's distance: at every node, the smaller of what its children have over and under.

    ``tree`` is (levels, card), flattened: the node of each code a level; ``q`` the table's share of each node,
    a level after another, card entries each. Only nodes above the group's values can hold an excess.
    """
    levels = tree.size // card
    nodes = codes.copy()
    shares = counts / total
    live = codes.size
    distance = 0.0
    for level in range(1, levels):
        found = 0
        over = 0.0
        for i in range(live):
            first = i == 0
            parent = tree[level * card + codes[i]]
            excess = shares[i] - q[(level - 1) * card + nodes[i]]
            if first or parent != tree[level * card + codes[found - 1]]:
                if not first:
                    distance += _node_cost(
                        over, shares[found - 1], q[level * card + nodes[found - 1]], level, levels
                    )
                over = max(0.0, excess)
                codes[found] = codes[i]
                nodes[found] = parent
                shares[found] = shares[i]
                found += 1
            else:
                over += max(0.0, excess)
                shares[found - 1] += shares[i]
        if found:
            distance += _node_cost(over, shares[found - 1], q[level * card + nodes[found - 1]], level, levels)
        live = found
    return distance


@kernel(inline="always")
def _node_cost(over: float, share: float, q: float, level: int, levels: int) -> float:
    under = over - (share - q)
    return level / (levels - 1) * max(0.0, min(over, under))


@kernel
def _window(codes: np.ndarray, counts: np.ndarray, total: float, rule: tuple, ref: np.ndarray) -> float:
    """Largest share of the group within eps of one of its own records."""
    eps, relative = rule
    worst = 0.0
    for i in range(codes.size):
        centre = ref[codes[i]]
        reach = eps * abs(centre) if relative else eps
        reach += TOLERANCE * max(1.0, reach)
        near = 0.0
        for step in (-1, 1):
            j = i if step < 0 else i + 1
            while 0 <= j < codes.size and abs(ref[codes[j]] - centre) <= reach:
                near += counts[j]
                j += step
        worst = max(worst, near / total)
    return worst


@kernel
def _variance(codes: np.ndarray, counts: np.ndarray, total: float, ref: np.ndarray) -> float:
    mean = 0.0
    for i in range(codes.size):
        mean += counts[i] * ref[codes[i]]
    mean /= total
    value = 0.0
    for i in range(codes.size):
        value += counts[i] * (ref[codes[i]] - mean) ** 2
    return value / total


@kernel
def _closeness(
    codes: np.ndarray, kind: int, scale: float, ref: np.ndarray, tree: np.ndarray, card: int
) -> float:
    """S-diversity: one minus the spread of the values over their domain (kind 0 positions, 1 tree, 2 count)."""
    if scale <= 0.0:
        return 1.0
    last = codes.size - 1
    if kind == 0:
        return 1.0 - (ref[codes[last]] - ref[codes[0]]) / scale
    if kind == 2:
        return 1.0 - (codes.size - 1) / scale
    level = 0
    while tree[level * card + codes[0]] != tree[level * card + codes[last]]:
        level += 1
    return 1.0 - (ref[level * card + codes[0]] - 1.0) / scale


@kernel
def is_diversity(op: int) -> bool:
    """Whether a rule is about how different the values of a group are."""
    return op in (DISTINCT, ENTROPY, TAIL, SPREAD, CLOSENESS, RANGE_PAIRS)


@kernel
def rule_view(rules: Rules, r: int) -> RuleView:
    """One rule by itself: passing all of them to every call would cost more than most rules do."""
    attr = rules.attr[r]
    known_at = rules.ref_at[r, 1]
    ref = rules.ref[known_at : rules.ref_at[r, 2]]
    full = rules.ref[rules.ref_at[r, 0] : known_at]
    flags = rules.unknown[rules.unknown_at[attr] : rules.unknown_at[attr + 1]]
    return RuleView(
        rules.op[r],
        rules.sense[r],
        rules.p0[r],
        rules.p1[r],
        rules.card[attr],
        flags.any(),
        full.size > 0,
        rules.people[attr] != 0 and is_diversity(rules.op[r]),
        flags,
        ref,
        full if full.size > 0 else ref,
        rules.tree[rules.tree_at[r] : rules.tree_at[r + 1]],
    )


@kernel
def _evaluate(view: RuleView, codes: np.ndarray, counts: np.ndarray, denominator: float, ref: np.ndarray) -> float:
    op = view.op
    if op == DISTINCT:
        return float(codes.size)
    if op == SHARE:
        worst = 0.0
        for i in range(codes.size):
            worst = max(worst, counts[i] / (denominator * ref[codes[i]]))
        return worst
    if op == SPREAD:
        return ref[codes[codes.size - 1]] - ref[codes[0]]
    if op == CLOSENESS:
        return _closeness(codes, int(view.p1), view.p0, ref, view.tree, view.card)
    if op == RANGE_SHARE:
        return range_share(codes, counts, denominator, view.p1 > 0.0, ref, view.card)
    total = 0.0
    for i in range(counts.size):
        total += counts[i]
    if op == ENTROPY:
        return _entropy(counts, total)
    if op == RANGE_PAIRS:
        return pair_share(codes, counts, total, int(view.p1), view.p0, ref, view.tree, view.card)
    if op == TAIL:
        return _tail_ratio(counts, total, int(view.p0))
    if op == TOTAL_VARIATION:
        return variation(codes, counts, total, ref)
    if op == KL:
        return _divergence(codes, counts, total, ref)
    if op == ORDERED:
        return _ordered(codes, counts, total, ref, view.card)
    if op == TREE:
        return _tree_distance(codes.copy(), counts, total, ref, view.tree, view.card)
    if op == VARIANCE:
        return _variance(codes, counts, total, ref)
    return _window(codes, counts, total, (view.p0, view.p1 > 0.0), ref)


@kernel
def _both_ways(op: int) -> bool:
    """Whether a rule must hold with unknown values present as well as removed."""
    return op in (ENTROPY, TAIL, TOTAL_VARIATION, KL, ORDERED, TREE)


@kernel
def rule_value(view: RuleView, codes: np.ndarray, counts: np.ndarray, known: float) -> float:
    """Value of a rule on one histogram; ``known`` is the number of records with a known value.

    Where people are counted, a diversity sees a group with a value that all of them have as that value alone. NaN says
    that the group has no known value, which passes every rule.
    """
    if codes.size == 0:
        return math.nan
    if view.shared:
        for i in range(codes.size):
            if counts[i] == known and view.flags[codes[i]] == 0:
                return _evaluate(view, codes[i : i + 1], counts[i : i + 1], known, view.ref)
    some = False
    if view.mixed:
        for i in range(codes.size):
            if view.flags[codes[i]] != 0:
                some = True
                break
    if not some:
        value = _evaluate(view, codes, counts, known, view.ref)
        if not view.two:
            return value
        # A table with unknown values elsewhere compares with both of its distributions.
        return _worse(view, value, _evaluate(view, codes, counts, known, view.full))
    kept = 0
    left_codes = np.empty(codes.size, dtype=np.int32)
    left_counts = np.empty(codes.size, dtype=np.int64)
    for i in range(codes.size):
        if view.flags[codes[i]] == 0:
            left_codes[kept] = codes[i]
            left_counts[kept] = counts[i]
            kept += 1
    if kept == 0:
        return math.nan
    value = _evaluate(view, left_codes[:kept], left_counts[:kept], known, view.ref)
    if _both_ways(view.op):
        value = _worse(view, value, _evaluate(view, codes, counts, known, view.full))
    return value


@kernel(inline="always")
def _worse(view: RuleView, a: float, b: float) -> float:
    return min(a, b) if view.sense == AT_LEAST else max(a, b)


@kernel
def judge_rule(
    rules: Rules, r: int, indptr: np.ndarray, codes: np.ndarray, counts: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """Value of rule ``r`` for every group of compressed histograms."""
    return judge_view(rule_view(rules, r), indptr, codes, counts, known)


@kernel
def judge_view(
    view: RuleView, indptr: np.ndarray, codes: np.ndarray, counts: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """Value of one rule by itself for every group of compressed histograms."""
    values = np.empty(indptr.size - 1, dtype=np.float64)
    for g in range(values.size):
        a, b = indptr[g], indptr[g + 1]
        values[g] = rule_value(view, codes[a:b], counts[a:b], float(known[g]))
    return values
