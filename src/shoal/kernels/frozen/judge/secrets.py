"""Range diversity and range confidence of a growing cluster (Loukides 2008, Defs 5.1.2 to 5.1.4).

A cluster's state is a row (TOTAL, KNOWN, CROWD) a sensitive column: its sum over ordered pairs, the values that count,
and most of these in one sensitive range.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.frozen.judge.ranges import EQUAL, POSITIONS
from shoal.kernels.frozen.judge.rules import TOLERANCE

# codes: (n, columns) of sensitive columns, below 0 where unknown. whole, real: one row a column, see below. policy: one
# row a code, see below. ref, tree: positions or leaf counts, and nodes. near: closeness of all pairs of codes, for
# columns of few codes. Few arrays, because handing them on takes time.
Secrets = namedtuple("Secrets", "codes whole real policy ref tree near")
# Of `whole`: kind of closeness, number of codes, where its ref, tree, policy and near (-1: it has none) begin.
KIND, CARD, REF_AT, TREE_AT, CODE_AT, NEAR_AT = range(6)
# Of `real`: 1 / width of the domain, largest range diversity, largest range confidence (1: not limited).
SCALE, LIMIT, SHARE = range(3)
# Of `policy`: the code's place, the ends of its range, how far a range that begins at or before it reaches.
AXIS, LOW, HIGH, REACH = range(4)
TOTAL, KNOWN, CROWD = range(3)


@kernel(inline="always")
def _closeness_both(s: Secrets, a: int, x: int, y: int) -> float:
    """Closeness of two codes, once for each of them whose range holds the other."""
    at = s.whole[a, CODE_AT]
    here, there = s.policy[at + x, AXIS], s.policy[at + y, AXIS]
    both = 0.0
    if s.policy[at + x, LOW] <= there <= s.policy[at + x, HIGH]:
        both += 1.0
    if s.policy[at + y, LOW] <= here <= s.policy[at + y, HIGH]:
        both += 1.0
    if both > 0.0 and x != y:
        ref = s.whole[a, REF_AT]
        if s.whole[a, KIND] == EQUAL:
            both *= 1.0 - s.real[a, SCALE]
        elif s.whole[a, KIND] == POSITIONS:
            both *= 1.0 - abs(s.ref[ref + x] - s.ref[ref + y]) * s.real[a, SCALE]
        else:
            up = s.whole[a, TREE_AT]
            while s.tree[up + x] != s.tree[up + y]:
                up += s.whole[a, CARD]
            both *= 1.0 - (s.ref[ref + up - s.whole[a, TREE_AT] + x] - 1.0) * s.real[a, SCALE]
    return both


@kernel(inline="always")
def closeness_of(s: Secrets, a: int, x: int, y: int) -> float:
    """The same, looked up where the column has a table of it."""
    at = s.whole[a, NEAR_AT]
    return s.near[at + x * s.whole[a, CARD] + y] if at >= 0 else _closeness_both(s, a, x, y)


@kernel
def fill_near(s: Secrets) -> None:
    """Work out the closeness of all pairs, for the columns that have room for it."""
    for a in range(s.whole.shape[0]):
        card = s.whole[a, CARD]
        if s.whole[a, NEAR_AT] >= 0:
            for x in range(card):
                for y in range(card):
                    s.near[s.whole[a, NEAR_AT] + x * card + y] = _closeness_both(s, a, x, y)


@kernel
def add_closeness(
    s: Secrets, a: int, codes: np.ndarray, one: int, others: np.ndarray, count: int, out: np.ndarray
) -> None:
    """Add a member to the pairs that each of the first ``count`` others would bring; ``out`` is by record, as codes."""
    x = codes[one]
    at = s.whole[a, NEAR_AT]
    if at >= 0:
        at += x * s.whole[a, CARD]
        for i in range(count):
            y = codes[others[i]]
            if y >= 0:
                out[others[i]] += s.near[at + y]
        return
    for i in range(count):
        y = codes[others[i]]
        if y >= 0:
            out[others[i]] += _closeness_both(s, a, x, y)


@kernel
def pairs_with(s: Secrets, inside: np.ndarray, members: np.ndarray, size: int, row: int, a: int) -> float:
    """What a row whose value counts adds to the sum over ordered pairs; ``inside`` is 0 for members that do not."""
    x = s.codes[row, a]
    total = 1.0
    for i in range(size):
        j = members[i]
        if inside[j, a]:
            total += closeness_of(s, a, x, s.codes[j, a])
    return total


@kernel
def counts(
    codes: np.ndarray, inside: np.ndarray, subjects: np.ndarray, members: np.ndarray, size: int, row: int, a: int
) -> bool:
    """Whether a row's value counts beside the members': it is known, and counted once a person."""
    if codes[row, a] < 0:
        return False
    if subjects.size:
        for i in range(size):
            j = members[i]
            if subjects[j] == subjects[row] and codes[j, a] == codes[row, a] and inside[j, a]:
                return False
    return True


@kernel
def crowd_with(
    s: Secrets, inside: np.ndarray, members: np.ndarray, size: int, row: int, a: int, keep: bool
) -> int:
    """Most members in one range once a row has joined; ``keep`` notes what that changes.

    ``inside``: of each member, how many lie in the longest range that holds its value and none below.
    """
    at = s.whole[a, CODE_AT] + s.codes[row, a]
    here, end = s.policy[at, AXIS], s.policy[at, REACH]
    own = 1
    most = 0
    for i in range(size):
        j = members[i]
        if inside[j, a]:
            at = s.whole[a, CODE_AT] + s.codes[j, a]
            there = s.policy[at, AXIS]
            crowd = inside[j, a] + (there <= here <= s.policy[at, REACH])
            own += here <= there <= end
            if keep:
                inside[j, a] = crowd
            most = max(most, crowd)
    if keep:
        inside[row, a] = own
    return max(most, own)


@kernel
def range_diversity(total: float, known: float) -> float:
    """rd: mean over ordered pairs; 0 where nothing is known."""
    return total / (known * known) if known else 0.0


@kernel
def exposure(state: np.ndarray) -> float:
    """Mean range diversity of a cluster's state."""
    found = 0.0
    for a in range(state.shape[0]):
        found += range_diversity(state[a, TOTAL], state[a, KNOWN]) / state.shape[0]
    return found


@kernel
def protected(real: np.ndarray, state: np.ndarray) -> bool:
    """Whether a cluster's state keeps every limit."""
    for a in range(state.shape[0]):
        known = state[a, KNOWN]
        if range_diversity(state[a, TOTAL], known) > real[a, LIMIT] + TOLERANCE:
            return False
        if known and real[a, SHARE] < 1.0 and state[a, CROWD] / known > real[a, SHARE] + TOLERANCE:
            return False
    return True


@kernel
def admit(
    s: Secrets, inside: np.ndarray, members: np.ndarray, size: int, row: int, state: np.ndarray, then: np.ndarray
) -> None:
    """Make the state after one more record that of the cluster."""
    for a in range(state.shape[0]):
        joins = then[a, KNOWN] > state[a, KNOWN]
        inside[row, a] = joins
        if joins and s.real[a, SHARE] < 1.0:
            crowd_with(s, inside, members, size, row, a, True)
        for f in range(3):
            state[a, f] = then[a, f]
