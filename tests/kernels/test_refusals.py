"""Every argument of every native kernel refuses other types, depths, layouts and None, and never crashes.

Refusals say what arguments there are: what one should be is put in its place, until the last is refused. The last is
never put right, so that no kernel runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from shoal.kernels import _native

KERNELS = sorted(name for name in dir(_native) if not name.startswith("_"))
REFUSAL = re.compile(r"(\w+): '([\w.]+)' must be (.*)\. Got .*\.", re.DOTALL)
ARRAY = re.compile(r"a (writable )?contiguous array of (\w+), shape \(([n, ml]+)\)")
TUPLE = re.compile(r"a tuple of \d+ \(([\w, ]+)\)")
UNFIT = object()
BUFFERS = "slots.table 16; slots.keys n; room.narrow n; room.wide n; room.class_of n; room.sizes n; room.first n"
# Lengths that must agree: equal letters stand for equal lengths, and numbers for themselves. Those with a star may be
# shorter than the others, which are buffers.
SHAPES = {
    "alias_table": "counts n; keep n; other n",
    "anonymise_items": "ptr n+1; items k; counts n; parent p; leaves p; out k",
    "cell_chances": "asked q,v; starts c+1; chances q,c",
    "check_sizes": f"entries.codes m,n; entries.weight n; entries.layout.cards a,l; levels a; {BUFFERS}",
    "children": "listed.heights a; plain a,l",
    "class_histograms": "histogram.owner n; histogram.codes n; histogram.counts n; bad g; inherits g; indptr 1",
    "climb": "listed.nodes n; listed.heights a; plain a,l; done n; allowed k,a",
    "count_block": "counts 256",
    "count_node": f"codes m,n; weight n; layout.cards a,l; levels a; {BUFFERS}",
    "count_rows": f"codes m,n; rows r; cards r; weight n; {BUFFERS}",
    "count_wildcard_matches": "codes n,m; sizes n; matches n",
    "cross_counts": "rows r; weight r; cells m,n; item i; share i; target n",
    "draw_block": "key 2; rows n; out n",
    "exact_counts": "asked q,v; first m+1; codes m,n; bit_at m; counts q",
    "expected_counts": (
        "chance q,v; order q,m; left.starts g+1; left.cells n,l; left.records n; right.starts g+1; right.cells k,w; "
        "right.records k; counts q"
    ),
    "fewest_sharing": "groups g+1; ptr n+1; counts n; fewest g",
    "find_keys": "known w,k; wanted w,n; found n",
    "flag_small": "least 2",
    "flag_values": (
        "histograms.indptr g+1; histograms.codes n; histograms.counts n; histograms.known g; bad g; inherits g; gone g"
    ),
    "gather_part": "rows n; local n; ids n",
    "group_ranges": "codes n; ids n; low g; high g",
    "histograms": "offsets g+1; indptr g+1",
    "inherit_bounds": "listed.nodes n; known.source n; known.hopeless n; done n",
    "inverse_moments": "sizes n; shares n; inverse n; square n",
    "judge_rule": "indptr g+1; codes n; counts n; known g; values g",
    "judge_view": "indptr g+1; codes n; counts n; known g; values g",
    "known_sizes": "offsets g+1; sizes g",
    "level_codes": "leaf a,n; layout.row_at a+1; codes m,n",
    "lift_nodes": "starts g+1; node n; guard n; times n; worked g",
    "list_nodes": "heights a; nodes n; levels n,a",
    "list_pairs": "prices.kind m; pair_at m",
    "lost_codes": (
        "losing.weight n; losing.places n,m; losing.deep r; losing.rows r; losing.offsets n+1; class_of n; every v; "
        "lost v"
    ),
    "lost_prices": "lost v; prices l,v; card_at a+1; out a,l",
    "mix_block": "codes n; keys n",
    "narrow": "rows r; weight r; item i; share i",
    "node_cost": "search.plain a,l; levels a",
    "number_direct": "keys n; ids n",
    "number_part": "rows n; parted n; local n; firsts n; counts n",
    "number_sets": "starts g+1; numbers g",
    "number_words": "keys n; numbers n",
    "order_bits": "bits n; order n",
    "pack_block": "codes m,n; radices m; keys n",
    "price_gone": "gone c*; first c; levels a; out a,l",
    "price_others": "sizes c*; bad c; inherits c; first c; levels a; sums a",
    "restore_spare": "codes n,m; sizes n; stars n; matches n; fixed n",
    "rule_out": "listed.nodes n; hopeless n",
    "scatter_block": "keys n; next 256; rows n; parted n",
    "subject_histograms": "offsets g+1; values n; subjects n; indptr g+1",
    "suppress_short": "codes n,m; sizes n; stars n; matches n",
    "swap_ranks": "draws n; partner n",
    "tally": "out 5",
    "widest_columns": "prices.kind m; codes m,n; starts g+1; out g",
    "worst_breaches": "starts g+1; node n; guard n; times n; out g",
}


class Arguments:
    """Arguments of a kernel: a value for each path, such as ``groups.cells.low`` for a field of a field."""

    def __init__(self, kernel: str) -> None:
        self.kernel = getattr(_native, kernel)
        with pytest.raises(TypeError, match=rf"^{kernel} takes \d+ arguments\. Got 0\.$") as caught:
            self.kernel()
        self.names = [""] * int(str(caught.value).split()[2])
        self.fields: dict[str, list[str]] = {}
        self.values: dict[str, Any] = {}
        self.expected: dict[str, str] = {}

    def value(self, path: str) -> Any:
        if path in self.fields and path not in self.values:
            return tuple(self.value(f"{path}.{name}") for name in self.fields[path])
        return self.values.get(path, UNFIT)

    def call(self) -> None:
        self.kernel(*(self.value(name) for name in self.names))

    def refused(self) -> tuple[str, str]:
        """Return the path that a call refuses, and what should be there."""
        with pytest.raises(TypeError) as caught:
            self.call()
        refusal = REFUSAL.fullmatch(str(caught.value))
        assert refusal, str(caught.value)
        assert refusal[1] == self.kernel.__name__
        return refusal[2], refusal[3]

    def find_all(self) -> None:
        """Find all paths, with values that fit all but the last."""
        for place in range(len(self.names)):
            path, expected = self.refused()
            self.names[place] = path
            self.fit(path, expected, place == len(self.names) - 1)

    def fit(self, path: str, expected: str, is_last: bool) -> None:
        self.expected[path] = expected
        if fields := TUPLE.match(expected):
            self.fields[path] = fields[1].split(", ")
            for name in self.fields[path]:
                found, wanted = self.refused()
                assert found == f"{path}.{name}"
                self.fit(found, wanted, is_last and name == self.fields[path][-1])
        elif not is_last:
            self.values[path] = fitting(expected)


def fitting(expected: str) -> Any:
    """Make the first of what may be in a place; kernels of several types name them all."""
    if array := ARRAY.match(expected):
        return np.zeros((1,) * len(re.findall(r"\w", array[3])), dtype=array[2])
    return {"an int": 0, "a float": 0.0, "a bool": False}[" ".join(expected.split()[:2])]


def unfit(expected: str) -> Iterator[Any]:
    """List values that are refused where an expected one should be."""
    yield from ("text", [0], {}, UNFIT, np.zeros((2, 2, 2, 2)), np.array(["text"]), np.array([None]))
    if ", or None" not in expected:
        yield None
    if array := ARRAY.match(expected):
        good = fitting(expected)
        yield from (0, 0.0, good.astype(complex), good.astype("float16"), good[None], good[0], good[:0].astype(">c16"))
        yield np.zeros((4,) * good.ndim, dtype=good.dtype)[(slice(None, None, 2),) * good.ndim]
        if good.itemsize > 1:
            yield good.astype(good.dtype.newbyteorder())
        if array[1]:
            good.flags.writeable = False
            yield good
    elif TUPLE.match(expected):
        yield from ((), (0,), 0, np.zeros(2))
    elif expected.startswith("an int"):
        yield from (0.0, 1.5, 1 << 64, -1 << 64, np.zeros(2, dtype=int), np.float64(0))
        if expected.startswith("an int of at least 0"):
            yield -1
    else:
        yield from (1j, np.zeros(2)) if expected.startswith("a float") else (0, 1, 0.0, np.ones(1, dtype=bool))


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_does_not_fit_is_refused_by_name(kernel: str) -> None:
    arguments = Arguments(kernel)
    arguments.find_all()
    for path, expected in arguments.expected.items():
        before = arguments.values.get(path)
        for wrong in unfit(expected):
            arguments.values[path] = wrong
            found, wanted = arguments.refused()
            assert (found, wanted) == (path, expected), wrong
        del arguments.values[path]
        if before is not None:
            arguments.values[path] = before
    for count in range(len(arguments.names)):
        with pytest.raises(TypeError, match=f"^{kernel} takes {len(arguments.names)} arguments. Got {count}"):
            arguments.kernel(*[None] * count)


@pytest.mark.parametrize("kernel", SHAPES)
def test_lengths_that_do_not_agree_are_refused(kernel: str) -> None:
    """Arrays are one entry too short along one axis after another; nothing else is wrong with them."""
    shapes = {path: axes.split(",") for path, axes in (one.rsplit(" ", 1) for one in SHAPES[kernel].split("; "))}
    letters = [axis[0] for axes in shapes.values() for axis in axes]
    length = {letter: 3 + place for place, letter in enumerate(sorted({*letters} - {*"0123456789"}))}
    arguments = Arguments(kernel)
    arguments.find_all()
    *_, last = arguments.expected
    arguments.values[last] = fitting(arguments.expected[last])

    def entries(axis: str) -> int:
        letter, _, more = axis.removesuffix("*").partition("+")
        return length[letter] + int(more or 0) if letter in length else int(letter)

    def zeros(path: str, short: int = -1) -> np.ndarray:
        shape = [entries(axis) - (place == short) for place, axis in enumerate(shapes[path])]
        return np.zeros(shape, dtype=fitting(arguments.expected[path]).dtype)

    arguments.values |= {path: zeros(path) for path in shapes}
    for path, axes in shapes.items():
        for place, axis in enumerate(axes):
            if axis.isdigit() or (letters.count(axis[0]) > 1 and not axis.endswith("*")):
                arguments.values[path] = zeros(path, place)
                with pytest.raises(TypeError, match=rf"^{kernel}: '.+' must have \d+ entries\. Got \d+\.$"):
                    arguments.call()
        arguments.values[path] = zeros(path)
