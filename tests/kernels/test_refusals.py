"""Every argument of every native kernel refuses other types, depths, layouts, lengths and None, and never crashes.

Refusals say what arguments there are: what one should be is put in its place, until the last is refused. The last is
never put right, so that no kernel runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from shoal.kernels import _native

KERNELS = sorted(name for name in dir(_native) if not name.startswith("_"))
REFUSAL = re.compile(r"(\w+): '([\w.]+)' must be (.*)\. Got .*\.", re.DOTALL)
ARRAY = re.compile(r"a (writable )?contiguous array of (\w+), shape \(([n, ml]+)\)")
TUPLE = re.compile(r"a tuple of \d+ \(([\w, ]+)\)")
UNFIT = object()
# Messages of lengths, as `require_size` and `require_room` of native/shared/bind.hpp write them.
LENGTH = re.compile(r"(\w+): '([\w.]+)(?:'s? (?:rows|columns))?' must have (?:at least )?\d+ entr(?:y|ies)\. Got \d+\.")
AXIS = re.compile(r"(>?)([a-z]+|\d+)(?:\+(\d))?")
BUFFERS = "slots.table >16; slots.keys >n; room.narrow >n; room.wide >n; room.class_of >n; room.sizes >n; room.first >n"
# Lengths of the fields of structs, which agree in every kernel. Equal letters stand for equal lengths, numbers for
# themselves, and > for arrays that may be longer.
STRUCTS = {
    "one kind card missing scale unit place top place_at tree steps tree_at sizes size_at word_at pair pair_at": (
        "kind m; card m; missing m; scale m; unit m; place p; top p; place_at m+1; tree t; steps t; tree_at m+1; "
        "size_at m+1; word_at m+1; pair_at m"
    ),
    "op attr sense limit p0 p1 combine strict_parent ref ref_at tree tree_at unknown unknown_at card people": (
        "op r; attr r; sense r; limit r; p0 r; p1 r; combine r; strict_parent r; ref_at r,3; tree_at r+1; "
        "unknown_at a+1; card a; people a"
    ),
    "codes whole real policy ref tree near": "codes n,c; whole c,6; real c,3; policy p,4",
    "codes people subjects n_subjects": "codes a,n; people a; subjects n",
    "codes counts at rows": "codes e; counts e; at a,n+1; rows n",
    "op sense p0 p1 card mixed two shared flags ref full tree": "flags 0",
    "first after parent": "first n; after n; parent n",
    "starts cells records": "cells n,m; records n",
    "nodes offsets levels strides heights": "nodes n; offsets h; levels n,a; strides a; heights a",
    "plain checks": "plain a,l; checks c,a,l",
    "cards row_at card_at labels": "cards a,l; row_at a+1; card_at a+1; labels l,c",
    "codes weight layout": "codes m,n; weight n",
    "weight places deep rows offsets": "weight n; places n,m; deep r; rows r; offsets n+1",
    "bad inherits gone": "bad c; inherits c; gone c",
    "owner codes counts": "owner n; codes n; counts n",
    "indptr codes counts known": "indptr g+1; codes n; counts n; known g",
}
SHOWN = (
    "{0}.secrets.codes n,c; {0}.unit c; {0}.step_at c; {0}.total g,c; {0}.known g,c; {0}.brings g,b; {0}.bring_at c; "
    "{0}.own n,c"
)
CELLS = "{0}.low g,m; {0}.high g,m; {0}.bits g,0"
PRICED = "priced.cells.low m,g; priced.cells.high m,g; priced.cells.bits 0,g; priced.size g; priced.loss g"
GROUPS = (
    "groups.ids n; groups.after n; groups.before n; groups.bare n; groups.head g; groups.size g; groups.now g,m; "
    f"groups.cost g; {CELLS.format('groups.cells')}; {SHOWN.format('groups.shown')}; prices.kind m"
)
POLISH = (
    f"{GROUPS}; scene.codes n,m; scene.near n,w; scene.order n; scene.zone g; scene.quiet n; scene.calm n; "
    "scene.touched n; done 4; judged.rules.card a; judged.data.codes a,q; judged.plain.kind >h"
)
# There are as many clusters as rows, because k is 1.
POOL = (
    "task.pool.codes n,m; task.pool.subjects n; task.pool.turn n; task.starts p+1; task.prices.kind m; {0}found.ids n; "
    "{0}found.queue n; {0}found.clusters p; {0}found.left p; {0}made.cells.low n,m; {0}made.cells.high n,m; "
    "{0}made.cells.bits n,0; {0}made.now n,m; {0}made.size n"
)
LIMITED = (
    f"{POOL.format('result.')}; task.secrets.codes n,c; result.guard.inside n,c; result.guard.state n,c,3; "
    "result.guard.last n; result.guard.before n"
)
WORK = (
    "work.codes n,m; work.spare n,m; work.order n; work.spare_order n; work.weights n; work.spare_weights n; "
    "prices.kind m"
)
SUMMARY = "summary.records b; summary.most b; summary.ties b"
# The same of other arguments; a kernel's row names a struct's field where its length is that of another argument.
SHAPES = {
    "alias_table": "counts n; keep n; other n",
    "anonymise_items": "groups g; ptr n+1; items k; counts n; parent p; leaves p; out k",
    "cell_chances": "asked q,v; starts c+1; chances q,c",
    "check_sizes": f"entries.codes a,n; entries.layout.cards a,l; levels a; {BUFFERS}; least 2; flags.bad >n; out 5",
    "children": "listed.heights a; plain a,l",
    "class_histograms": "bad g; inherits g; indptr 1",
    "climb": "listed.nodes n; listed.heights a; plain a,l; done n; allowed k,a",
    "cluster_classes": (
        "prices.kind m; records.codes m,n; records.value n; records.cap v; records.known v; ids n; done 4"
    ),
    "cluster_members": (
        "prices.kind m; guide.role m; guide.known v; guide.axis v; guide.low v; guide.high v; guide.at m+1; "
        "plan.rows n; plan.entry_at e+1; plan.part_at p+1; plan.codes m,e; plan.local m,e; plan.value_at p,m+1; "
        "ids n"
    ),
    "cluster_subspaces": POOL.format(""),
    "count_block": "counts 256",
    "count_far": "clusters p; far p",
    "count_matches": "people n,m; atom_at m; found n",
    "count_node": f"codes a,n; weight n; layout.cards a,l; levels a; {BUFFERS}",
    "count_rows": f"codes m,n; rows r; cards r; weight n; {BUFFERS}",
    "count_wildcard_matches": "codes n,m; sizes n; matches n",
    "cover_bits": "cells j,k; runs.cell_at j; runs.low r; runs.high r; atom_at j",
    "cross_counts": "at c; rows r; weight r; cells m,n; item i; share i; target n",
    "cut_parts": (
        f"{WORK}; work.ends n; starts p+1; middles p; aim.numbers 0; aim.labels l; aim.at >n+1; aim.counts l; "
        "judged.rules.card a; judged.data.codes a,q; judged.tallies.at a,t"
    ),
    "dissolve_groups": POLISH,
    "draw_block": "key 2; rows n; out n",
    "draw_groups": "codes n; ids n",
    "exact_counts": "asked q,v; first m+1; codes m,n; bits b,1; bit_at m; counts q",
    "expected_counts": "chance q,v; order q,m; left.starts g+1; right.starts g+1; counts q",
    "extend_uniques": "codes k,n; cards k; owner n; last n; items s; masks s; earlier s",
    "fewest_sharing": "groups g+1; ptr n+1; counts n; fewest g",
    "fill_groups": f"{GROUPS}; ids n; codes n,m",
    "fill_steps": SHOWN.format("exposure"),
    "find_keys": "known w,k; table 16; wanted w,n; found n",
    "find_roots": "parent n; roots n",
    "flag_small": "least 2",
    "flag_values": "histograms.known g; bad >g; inherits >g; gone >g",
    "gather_part": "rows n; local n; ids n",
    "group_ranges": "codes n; ids n; low g; high g",
    "group_sets": "codes n; ids n; starts g",
    "guess_values": "scores n,v; hits n,v; confidence n; right n",
    "guess_without": "scores p,v; person n; values n; prior v; found n",
    "halve_part": WORK,
    "halve_parts": WORK,
    "histograms": "offsets g+1; indptr g+1",
    "improve_records": POLISH,
    "inherit_bounds": (
        "listed.nodes n; known.source n; known.hopeless n; done n; listed.heights a; search.plain a,l; bounds 0"
    ),
    "inverse_moments": "sizes n; shares n; inverse n; square n",
    "join_far": f"{POOL.format('')}; far p",
    "join_limited": LIMITED,
    "join_near": f"{POOL.format('')}; far p",
    "judge_rule": "indptr g+1; codes n; counts n; known g; values g",
    "judge_view": "indptr g+1; codes n; counts n; known g; values g",
    "known_sizes": "offsets g+1; sizes g; subjects n; values n",
    "level_codes": "leaf a,n; layout.cards a,l; codes a,n",
    "lift_nodes": "starts g+1; node n; guard n; times n; worked g",
    "limit_subspaces": LIMITED,
    "list_matches": "people n,m; atom_at m; pairs 2,0",
    "list_nodes": "heights a; nodes 1; offsets 2; levels 1,a",
    "list_pairs": "prices.kind m; pair_at m",
    "lost_codes": "losing.weight n; class_of n; every v; lost v",
    "lost_prices": "lost v; prices l,v; card_at a+1; out a,l",
    "mdav": "data.spots a,n; data.codes b,n; data.tree t; data.cost t; data.tree_at b+1; data.card b; ids n",
    "merge_part": "prices.kind m; codes m,n; counts n; parent n",
    "mix_block": "codes n; keys n",
    "narrow": "at c; rows r; weight r; item i; share i",
    "nearest_block": "points n,a; codes n,b; centres c,a; labels c,b; sizes c; first n; best n; tied n",
    "nearest_groups": f"{PRICED}; prices.kind m; which w; nearest w",
    "node_cost": "search.plain a,l; levels a",
    "number_direct": "keys n; ids n",
    "number_part": "rows n; parted n; local n; firsts n; counts n",
    "number_sets": "starts g+1; numbers g",
    "number_words": "keys n; numbers n",
    "offer_neighbours": "codes n,m; prices.kind m; before n,w; near n,w; distance n,w",
    "offer_windows": "codes n,m; prices.kind m; near n,w; distance n,w",
    "order_bits": "bits n; order n",
    "own_chances": "weights r,m; before m,n; after m,n; released n; found n",
    "pack_block": "codes m,n; radices m; keys n",
    "pair_apart": "starts g+1; area n; wanted n; draws n; partner n",
    "pair_off": "which w; nearest w",
    "partition_part": "prices.kind m; codes m,n; local m,n; value_at m+1; key 3; ids n; repaired 3",
    "price_clusters": f"prices.kind m; {CELLS.format('made.cells')}; made.now g,m; made.size g; out m",
    "price_gone": "gone c; first >c; levels a; layout.cards a,l; codes a,n; prices k,0; out a,k",
    "price_groups": f"{PRICED}; prices.kind m; codes m,n; ids n; weights n",
    "price_others": (
        "sizes c; bad >c; inherits >c; first >c; levels a; layout.cards a,l; codes a,n; prices k,0; sums a"
    ),
    "probe_cells": "low n; high n; out n",
    "probe_costs_with": "prices.kind m; codes m,n; others k; out k",
    "probe_failing": "rules.op r; values r",
    "probe_groups": "prices.kind m; codes m,n; ids n; own g; joint g; grown n",
    "probe_growth": "prices.kind m; codes m,n; rows r; cells r,m; foretold r,m; totals r,2",
    "probe_heap": "keys n; sorted n",
    "probe_mean_price": "prices.kind m; ticks m",
    "probe_most_within": "codes n; counts n",
    "probe_rule_values": (
        "judged.rules.op r; judged.rules.card a; judged.data.codes a,n; judged.tallies.at a,k; values r"
    ),
    "probe_rules_hold": (
        "judged.rules.op r; judged.rules.card a; judged.data.codes a,n; judged.tallies.at a,k; freed r; values r"
    ),
    "reach": "weights m; inside m; sums 1",
    "reach_all": "weights n,m; inside m; found n",
    "redraw_block": "codes m+1,n; rows n; key 2; bounds m; slots.keep k; slots.other k; slots.at m+2",
    "regroup_records": POLISH,
    "restore_spare": "codes n,m; sizes n; stars n; matches n; fixed n",
    "rule_out": "listed.nodes n; hopeless n",
    "scatter_block": "keys n; next 256; rows n; parted n",
    "shortest_path": "values n; ids n",
    "spread_scores": "people p; scores p,v; buckets b; gains b; released r; values r",
    "subject_histograms": "offsets g+1; values n; subjects n; indptr g+1",
    "summarise": f"buckets n; counts n; {SUMMARY}",
    "suppress_short": "codes n,m; sizes n; stars n; matches n",
    "swap_ranks": "draws n; partner n",
    "tally": "out 5",
    "wake_records": "near n,w; touched n; quiet n; calm n",
    "weigh": f"weights n,m; inside m; buckets n; {SUMMARY}; total n; top n; tied n",
    "widest_columns": "prices.kind m; codes m,n; starts g+1; out g",
    "worst_breaches": "starts g+1; node n; guard n; times n; out g",
}
# Arrays that tell where groups begin in another array.
STARTS = {
    "anonymise_items": "groups ptr",
    "cell_chances": "starts",
    "cluster_members": "guide.at",
    "count_matches": "atom_at",
    "cover_bits": "runs.cell_at atom_at",
    "cut_parts": "starts",
    "exact_counts": "first",
    "expected_counts": "left.starts right.starts",
    "fewest_sharing": "groups ptr",
    "flag_values": "histograms.indptr",
    "histograms": "offsets",
    "inherit_bounds": "listed.offsets",
    "join_far": "task.starts",
    "judge_rule": "rules.ref_at rules.tree_at rules.unknown_at indptr",
    "judge_view": "indptr",
    "known_sizes": "offsets",
    "level_codes": "layout.card_at",
    "lift_nodes": "starts",
    "list_matches": "atom_at",
    "list_pairs": "prices.place_at prices.tree_at prices.size_at",
    "lost_codes": "losing.offsets",
    "lost_prices": "card_at",
    "mdav": "data.tree_at",
    "narrow": "at",
    "number_sets": "starts",
    "pair_apart": "starts",
    "partition_part": "value_at",
    "redraw_block": "slots.at",
    "subject_histograms": "offsets",
    "widest_columns": "starts",
    "worst_breaches": "starts",
}
# Arrays that have to have an entry, or a row, at least.
EMPTY = {
    "bucket_rows": "offsets",
    "cell_chances": "starts",
    "cross_counts": "at",
    "cut_parts": "starts",
    "find_keys": "known",
    "group_sets": "starts",
    "histograms": "offsets",
    "join_far": "task.starts",
    "known_sizes": "offsets",
    "number_sets": "starts",
    "pack_block": "codes",
    "pair_apart": "starts",
    "place_keys": "known",
    "probe_growth": "rows",
    "subject_histograms": "offsets",
}
# Values of arguments that zeros are not right for, by the ends of their paths.
VALUES = {"cards": 1, "k": 1, "n_subjects": 1, "op": 1, "shift": 60}
RANGE = (("start", -1), ("stop", -1), ("stop", 1 << 40))
# Numbers that are out of range: arguments, or the last entries of arrays.
NUMBERS = {
    "bucket_rows": (("ids", 1 << 30),),
    "cell_chances": RANGE,
    "children": (("node", -1), ("node", 1 << 40)),
    "climb": (("node", -1), ("node", 1 << 40)),
    "cluster_members": (("k", 0), ("part", 9)),
    "cluster_subspaces": (("task.aim.k", 0),),
    "count_block": RANGE,
    "count_matches": (("stop", 99),),
    "count_node": (("levels", 1),),
    "count_rows": (("rows", 1 << 40), ("cards", 0)),
    "cover_bits": (("last", 99),),
    "cross_counts": (("begin", -1), ("begin", 1 << 40)),
    "cut_parts": (("options.k", 0),),
    "draw_block": RANGE,
    "draw_groups": (("l", 0),),
    "exact_counts": RANGE,
    "expected_counts": RANGE,
    "extend_uniques": (("top", 99), ("found", 99), ("most", 0)),
    "fewest_sharing": (("labels", -1),),
    "fill_groups": (("ids", 99),),
    "find_keys": (*RANGE, ("shift", 0), ("shift", 64)),
    "gather_part": RANGE,
    "group_ranges": (("ids", 1 << 30),),
    "group_sets": (("ids", 1 << 30), ("card", -1)),
    "halve_part": (("hi", 99), ("size", 0)),
    "halve_parts": (("last", 99),),
    "histograms": (("card", -1),),
    "inherit_bounds": (("height", -1), ("height", 1 << 40)),
    "join_far": (("task.aim.k", 0),),
    "judge_rule": (("rule", -1), ("rule", 1 << 40), ("rules.attr", 1 << 40)),
    "judge_view": (("view.op", 0), ("view.op", 15)),
    "limit_subspaces": (("first", -1), ("task.limits.k", 0)),
    "list_nodes": (("heights", -1),),
    "mdav": (("k", 0),),
    "merge_part": (("last", 99),),
    "mix_block": RANGE,
    "nearest_block": RANGE,
    "nearest_groups": (("stop", 99), ("window", -1)),
    "node_cost": (("w", -2), ("w", 1 << 40), ("levels", -1)),
    "number_direct": (("limit", -1),),
    "number_part": RANGE,
    "offer_neighbours": (("last", 99),),
    "offer_windows": (("last", 99), ("width", -1)),
    "order_bits": (("shift", 0), ("shift", 64)),
    "pack_block": RANGE,
    "partition_part": (("k", 0),),
    "price_gone": (("levels", 1),),
    "price_groups": (("ids", 99),),
    "probe_cells": (("column", -1),),
    "probe_failing": (("rule", -1),),
    "probe_guard_share": (("node", -1), ("guard", 1 << 40)),
    "reach_all": (("redraw", 99),),
    "redraw_block": (("stop", 99), ("redraw", 99)),
    "regroup_records": (("limits.k", 0),),
    "rule_out": (("height", -1), ("above", 1 << 40)),
    "scatter_block": RANGE,
    "shortest_path": (("k", 0),),
    "subject_histograms": (("n_subjects", 0),),
    "suppress_short": (("most", -1), ("most", 1 << 40)),
}


class Arguments:
    """Arguments of a kernel: a value for each path, such as ``groups.cells.low`` for a field of a field.

    Of the types that an array may have, those at ``choice`` are taken.
    """

    def __init__(self, kernel: str, choice: int = 0) -> None:
        self.kernel, self.choice = getattr(_native, kernel), choice
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
            self.values[path] = fitting(expected, self.choice)


def fitting(expected: str, choice: int = 0) -> Any:
    """Make one of what may be in a place; kernels of several types name them all."""
    if ARRAY.match(expected):
        _, dtype, axes = ARRAY.findall(expected)[choice]
        return np.zeros((1,) * len(re.findall(r"\w", axes)), dtype=dtype)
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


@pytest.mark.parametrize("choice", [0, -1])
@pytest.mark.parametrize("kernel", KERNELS)
def test_what_does_not_fit_is_refused_by_name(kernel: str, choice: int) -> None:
    """Whichever of its types a kernel is called for."""
    arguments = Arguments(kernel, choice)
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


class Axis(NamedTuple):
    """The length of an array along one axis: that of all with this letter, and ``more``; ``room``: or longer."""

    room: bool
    letter: str
    more: int


def axes_of(shapes: str) -> dict[str, list[Axis]]:
    """Read a row of `SHAPES` or `STRUCTS`."""
    found = {}
    for one in shapes.split("; ") if shapes else ():
        path, axes = one.split(" ")
        parts = [AXIS.fullmatch(axis) for axis in axes.split(",")]
        found[path] = [Axis(bool(part[1]), part[2], int(part[3] or 0)) for part in parts if part]
    return found


def filled(path: str, zeros: np.ndarray) -> np.ndarray:
    last = path.rpartition(".")[2]
    if last == "row_at":
        zeros[:] = np.arange(zeros.size)  # each attribute has one level
    elif last in VALUES:
        zeros[...] = VALUES[last]
    return zeros


class Zeros(Arguments):
    """Arguments whose lengths agree, nearly all of them zeros; arrays that no table has a row of are of length 1."""

    def __init__(self, kernel: str) -> None:
        super().__init__(kernel)
        self.find_all()
        *_, last = self.expected
        self.values[last] = fitting(self.expected[last])
        self.shapes = axes_of(SHAPES.get(kernel, ""))
        for path, fields in self.fields.items():
            self.add_struct(path, axes_of(STRUCTS.get(" ".join(fields), "")))
        # The row's own letters come first, so that these lengths do not depend on how many structs there are.
        letters = sorted(
            {axis.letter for axes in self.shapes.values() for axis in axes}, key=lambda one: ("." in one, one)
        )
        self.length = {letter: int(letter) if letter.isdigit() else 3 + at for at, letter in enumerate(letters)}
        self.values |= {path: self.zeros(path) for path in self.shapes}
        for path, value in self.values.items():
            last = path.rpartition(".")[2]
            if isinstance(value, np.ndarray):
                filled(path, value)
            elif last in VALUES:
                self.values[path] = VALUES[last]

    def add_struct(self, path: str, fields: dict[str, list[Axis]]) -> None:
        """Add a struct's fields; its letters are its own, except those that the kernel's row gives other fields too."""
        shared = {
            axis.letter: given.letter
            for field, axes in fields.items()
            for axis, given in zip(axes, self.shapes.get(f"{path}.{field}", ()), strict=False)
        }
        for field, axes in fields.items():
            self.shapes[f"{path}.{field}"] = [
                axis
                if axis.letter.isdigit()
                else axis._replace(letter=shared.get(axis.letter, f"{path}.{axis.letter}"))
                for axis in axes
            ]

    def zeros(self, path: str, short: int = -1) -> np.ndarray:
        """Make an array, one entry too short along the axis ``short``."""
        sizes = [self.length[axis.letter] + axis.more - (at == short) for at, axis in enumerate(self.shapes[path])]
        return filled(path, np.zeros(sizes, dtype=fitting(self.expected[path]).dtype))

    def short(self) -> Iterator[tuple[str, set[str]]]:
        """Make arrays too short along one axis after another; name the array and those that it could be refused for."""
        for path, axes in self.shapes.items():
            for place, axis in enumerate(axes):
                others = [
                    (one, other)
                    for one, theirs in self.shapes.items()
                    for at, other in enumerate(theirs)
                    if other.letter == axis.letter and (one, at) != (path, place)
                ]
                if axis.letter.isdigit():
                    if not self.length[axis.letter]:
                        continue
                    others = []
                elif not [other for _, other in others if not (other.room and not axis.room)]:
                    continue
                self.values[path] = self.zeros(path, place)
                yield path, {path, *(one for one, _ in others)}
            self.values[path] = self.zeros(path)


@pytest.mark.parametrize("kernel", KERNELS)
def test_lengths_that_do_not_agree_are_refused(kernel: str) -> None:
    """Arrays are one entry too short along one axis after another; nothing else is wrong with them."""
    arguments = Zeros(kernel)
    for path, names in arguments.short():
        with pytest.raises(TypeError) as caught:
            arguments.call()
        refusal = LENGTH.fullmatch(str(caught.value))
        assert refusal, str(caught.value)
        assert (refusal[1], refusal[2] in names) == (kernel, True), (path, str(caught.value))


@pytest.mark.parametrize("kernel,arguments", [(kernel, row.split()) for kernel, row in STARTS.items()])
def test_starts_that_do_not_ascend_within_what_they_index_are_refused(kernel: str, arguments: list[str]) -> None:
    for path in arguments:
        zeros = Zeros(kernel)
        good = zeros.values[path]
        for place, value in ((-1, 1 << 40), (0, -1), (0, 1)):
            wrong = good.copy()
            wrong.flat[place] = value
            zeros.values[path] = wrong
            with pytest.raises(TypeError, match=rf"^{kernel}: '{re.escape(path)}' must ascend from 0 to at most \d+\."):
                zeros.call()


@pytest.mark.parametrize("kernel", EMPTY)
def test_arrays_without_the_entry_that_is_read_are_refused(kernel: str) -> None:
    for path in EMPTY[kernel].split():
        zeros = Zeros(kernel)
        good = zeros.values[path]
        zeros.values[path] = good[:0]
        with pytest.raises(
            TypeError, match=rf"^{kernel}: '{re.escape(path)}' must have at least \d+ entr(y|ies)\. Got 0\.$"
        ):
            zeros.call()


@pytest.mark.parametrize(
    "kernel,argument,value", [(kernel, *case) for kernel, cases in NUMBERS.items() for case in cases]
)
def test_numbers_out_of_range_are_refused(kernel: str, argument: str, value: int) -> None:
    zeros = Zeros(kernel)
    if "card" in zeros.values:
        zeros.values["card"] = 1  # codes are 0
    if isinstance(zeros.values[argument], np.ndarray):
        zeros.values[argument].flat[-1] = value
    else:
        zeros.values[argument] = value
    with pytest.raises(
        TypeError, match=rf"^{kernel}: '{re.escape(argument)}' must be (at least|from) -?\d+.*\. Got {value}\.$"
    ):
        zeros.call()
