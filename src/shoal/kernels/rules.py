"""Judge groups by rules, the conditions that models are made of.

A rule computes a value of one attribute's sparse histogram (codes ascending), to compare with a limit. Judging whole
tables and growing groups call the same functions (native/judge/rules.hpp), so a model is computed in one way only.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native

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

# One entry a rule: op, attr (-1: it looks at none) and sense, int64; limit, p0 and p1, float64. combine: int64, how
# many following rules (this one included) are averaged into one value, 0 for the followers. strict_parent: int64, 1
# when a failing parent frees its children. ref: float64 references of all rules; ref_at: int64 (rules, 3), where that
# with unknown values begins, where that without begins, and where this ends. tree: int32, level x code matrices of
# all rules, from tree_at, int64 (rules + 1). unknown: uint8, a flag a code of each attribute, from unknown_at, int64
# (attributes + 1). One entry an attribute: card, int64, its codes; people, uint8, 1 where it is counted by people.
Rules = namedtuple(
    "Rules",
    "op attr sense limit p0 p1 combine strict_parent ref ref_at tree tree_at unknown unknown_at card people",
)

# op, sense, p0, p1 and card are numbers, those of `Rules`. mixed, two, shared: bool. mixed: the attribute has unknown
# values; two: the reference differs with them; shared: a value that everybody has hides nothing, whatever else some
# of them have. flags: uint8 (card), 1 for unknown values; ref, full: float64, the reference without and with unknown
# values; tree: int32, a level x code matrix in one row.
RuleView = namedtuple("RuleView", "op sense p0 p1 card mixed two shared flags ref full tree")


def is_diversity(op: int) -> bool:
    """Whether a rule is about how different the values of a group are."""
    return op in (DISTINCT, ENTROPY, TAIL, SPREAD, CLOSENESS, RANGE_PAIRS)


def rule_view(rules: Rules, r: int) -> RuleView:
    """Select one rule with its own references."""
    attr = rules.attr[r]
    known_at = rules.ref_at[r, 1]
    ref = rules.ref[known_at : rules.ref_at[r, 2]]
    full = rules.ref[rules.ref_at[r, 0] : known_at]
    flags = rules.unknown[rules.unknown_at[attr] : rules.unknown_at[attr + 1]]
    return RuleView(
        op=int(rules.op[r]),
        sense=int(rules.sense[r]),
        p0=float(rules.p0[r]),
        p1=float(rules.p1[r]),
        card=int(rules.card[attr]),
        mixed=bool(flags.any()),
        two=full.size > 0,
        shared=bool(rules.people[attr]) and is_diversity(rules.op[r]),
        flags=flags,
        ref=ref,
        full=full if full.size > 0 else ref,
        tree=rules.tree[rules.tree_at[r] : rules.tree_at[r + 1]],
    )


def judge_rule(
    rules: Rules, r: int, indptr: np.ndarray, codes: np.ndarray, counts: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """Compute rule ``r`` for every group of compressed histograms (see `shoal.kernels.histograms`).

    Cost: O(entries) for most rules, O(entries log entries) for those that sort.

    Parameters
    ----------
    rules, r
        See `Rules`, and the number of a rule that looks at an attribute.
    indptr, codes, counts
        int64, int32 and int64: histograms of the rule's attribute.
    known
        int64, records of each group whose value is known.

    Returns
    -------
    float64, one a group; NaN where no value is known, which passes every rule.
    """
    values = np.empty(indptr.size - 1)
    _native.judge_rule(rules, r, indptr, codes, counts, known, values)
    return values


def judge_view(
    view: RuleView, indptr: np.ndarray, codes: np.ndarray, counts: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """Compute one rule for every group of compressed histograms; see `judge_rule`."""
    values = np.empty(indptr.size - 1)
    _native.judge_view(view, indptr, codes, counts, known, values)
    return values


# ----------------------------------------
# Kinds of closeness of two values, as sensitive ranges use them (native/judge/ranges.hpp).


# How close two values are: by their distance, by the leaves under their common ancestor, or equal or not.
POSITIONS, LEAVES, EQUAL = range(3)


# ----------------------------------------
# Sensitive attributes of rows, for kernels that judge groups while they grow or cut them.


# codes: int32 (attributes, rows); people: uint8 (attributes), 1 where an attribute is counted by subjects; subjects:
# int32 (rows), or empty when rows are people; n_subjects: how many there are.
Sensitive = namedtuple("Sensitive", "codes people subjects n_subjects")


# ----------------------------------------
# Histograms of the cells of a frequency table, for kernels that judge groups of cells.


# codes, counts: int32 and int64, the cells' histograms, an attribute after another; at: int64 (attributes, cells + 1),
# where those of each cell begin; rows: int64 (cells), rows of each cell.
Tallies = namedtuple("Tallies", "codes counts at rows")
