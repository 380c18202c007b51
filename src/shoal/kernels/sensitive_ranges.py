"""Range diversity and range confidence of a growing cluster (Loukides 2008, Defs 5.1.2 to 5.1.4).

Methods that grow clusters use them in native/judge/secrets.hpp.
"""

from __future__ import annotations

from collections import namedtuple

from shoal.kernels import _native

# codes: int16 or int32 (n, columns) of sensitive columns, below 0 where unknown. whole: int64 (columns, 6), and real:
# float64 (columns, 3), see below. policy: int32 (codes of all columns, 4), see below. ref: float64, positions or leaf
# counts; tree: int32, nodes. near: float64, closeness of all pairs of codes, for columns of few codes. Few arrays,
# because handing them on takes time.
Secrets = namedtuple("Secrets", "codes whole real policy ref tree near")
# Of `whole`: kind of closeness, number of codes, where its ref, tree, policy and near (-1: it has none) begin.
KIND, CARD, REF_AT, TREE_AT, CODE_AT, NEAR_AT = range(6)
# Of `real`: 1 / width of the domain, largest range diversity, largest range confidence (1: not limited).
SCALE, LIMIT, SHARE = range(3)
# Of `policy`: the code's place, the ends of its range, how far a range that begins at or before it reaches.
AXIS, LOW, HIGH, REACH = range(4)


def fill_near(s: Secrets) -> None:
    """Compute the closeness of all pairs of codes into ``s.near`` (float64), for the columns that have room for it.

    Cost: O(codes squared), times the levels of a tree.
    """
    _native.fill_near(s)
