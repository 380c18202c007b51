"""What a best node gives away, against all tables and all assignments that would have led to the same release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError
from shoal.results import Release
from shoal.risk.attacks.arrangements import arrangements, weigh
from shoal.risk.attacks.minimality import World
from shoal.risk.attacks.optimality_leak import forced_splits, least_rows
from tests.algorithms.lattice.lattices import MODELS, Case, best, cases, every_node

TREES: dict[str, list[list[str]]] = {
    "x": [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]],
    "y": [["p", "*"], ["q", "*"]],
}
K = 2
Row = tuple[str, ...]


def node_of(name: str, leaf: str, level: int) -> str:
    return next(path[level] for path in TREES[name] if path[0] == leaf)


def loss(name: str, node: str) -> float:
    """What the loss metric says of a cell."""
    held = sum(node in path for path in TREES[name])
    return (held - 1) / (len(TREES[name]) - 1)


def taken(rows: Sequence[Row], names: Sequence[str], limit: int) -> tuple[tuple[int, ...], tuple[Row, ...], int] | None:
    """Levels, released cells and number of suppressed rows of the best node, by looking at all."""
    found = []
    for levels in product(*(range(len(TREES[name][0])) for name in names)):
        cells = [
            tuple(node_of(name, leaf, level) for name, leaf, level in zip(names, row, levels, strict=True))
            for row in rows
        ]
        sizes = Counter(cells)
        kept = [cell for cell in cells if sizes[cell] >= K]
        gone = len(rows) - len(kept)
        if gone <= min(limit, len(rows) - 1):
            cost = gone * len(names) + sum(
                loss(name, node) for cell in kept for name, node in zip(names, cell, strict=True)
            )
            found.append((round(cost, 9), gone, levels, tuple(sorted(kept))))
    if not found:
        return None
    _, gone, levels, kept_cells = min(found)
    return levels, kept_cells, gone


def tables(cells: Sequence[Row], gone: int, names: Sequence[str]) -> Iterator[list[Row]]:
    """Every table of rows that some released cells cover, and any suppressed rows."""
    options = [
        list(
            product(
                *([path[0] for path in TREES[name] if node in path] for name, node in zip(names, cell, strict=True))
            )
        )
        for cell in cells
    ]
    options += [list(product(*([path[0] for path in TREES[name]] for name in names)))] * gone
    for rows in product(*options):
        yield list(rows)


def release_of(rows: Sequence[Row], names: Sequence[str], limit: float) -> Release:
    data = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    table = shoal.read(
        pl.DataFrame(data | {"s": ["u"] * len(rows)}), quasi=list(names), sensitive=["s"],
        hierarchies={name: TREES[name] for name in names},
    )  # fmt: skip
    algorithm = shoal.Optimal(suppression_limit=limit)
    return shoal.anonymize(
        table, algorithm=algorithm, models=[shoal.KAnonymity(k=K)], seed=1, acknowledge=["W-UNMODELLED:s"]
    )


def test_deduced_splits_hold_in_every_table_that_leads_to_the_release() -> None:
    """Random tables of a few rows, with and without suppression, each against all tables there may have been."""
    made = deduced = 0
    seen = set()
    leaves = {name: [path[0] for path in TREES[name]] for name in TREES}
    one, two = ("x",), ("x", "y")
    wanted = [(one, 5, 0.0), (one, 5, 0.2), (("y",), 5, 0.2), (two, 4, 0.0), (two, 4, 0.25)]
    rng = np.random.default_rng(1)
    for names, n, limit in wanted:
        for _ in range(8):
            rows = [tuple(str(rng.choice(leaves[name])) for name in names) for _ in range(n)]
            plain = taken(rows, names, int(limit * n + 1e-9))
            if plain is None or (names, limit, plain) in seen or not any(plain[0]):
                continue
            seen.add((names, limit, plain))
            release = release_of(rows, names, limit)
            assert release.released.levels is not None
            assert tuple(release.released.levels.values()) == plain[0]
            claims = {name: one for name, one in forced_splits(release).items() if one.any()}
            made += 1
            if not claims:
                continue
            texts = [release.released.cells[name].texts().to_list() for name in names]
            classes = list(zip(*texts, strict=True))
            for table in tables(plain[1], plain[2], names):
                if taken(table, names, int(limit * n + 1e-9)) != plain:
                    continue
                deduced += 1
                for name, least in claims.items():
                    at, level = names.index(name), release.released.levels[name]
                    for number in np.flatnonzero(least).tolist():
                        mine = [row for row, cell in zip(table, plain[1], strict=False) if cell == classes[number]]
                        below = Counter(node_of(name, row[at], level - 1) for row in mine)
                        wide = {path[level - 1] for path in TREES[name] if path[level] == classes[number][at]}
                        assert all(below[child] >= least[number] for child in wide)
    assert made >= 12
    assert deduced > 100


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(2, 6), st.integers(1, 3)), min_size=1, max_size=3),
    st.integers(2, 3),
    st.integers(1, 6),
)
def test_least_rows_are_those_of_all_ways_to_split(shapes: list[tuple[int, int]], k: int, needed: int) -> None:
    shapes = [(max(size, k), parts) for size, parts in shapes]

    def ways(size: int, parts: int) -> list[tuple[int, ...]]:
        return [one for one in product(range(size + 1), repeat=parts) if sum(one) == size]

    good = [
        split
        for split in product(*(ways(*shape) for shape in shapes))
        if sum(part for one in split for part in one if 0 < part < k) >= needed
    ]
    if not good:
        return
    found = least_rows(np.array([one[0] for one in shapes]), np.array([one[1] for one in shapes]), k, needed)
    for place, (_, parts) in enumerate(shapes):
        if parts > 1:
            assert found[place] == min(min(split[place]) for split in good)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 3))
def test_ways_are_weighed_as_if_all_combinations_were_listed(seed: int, classes: int, bits: int) -> None:
    rng = np.random.default_rng(seed)
    ways = rng.integers(1, 4, classes)
    masks = rng.integers(0, 1 << bits, (3, classes)) * (rng.random((3, classes)) < 0.7)
    full = (1 << bits) - 1
    fitting = [
        one
        for one in product(*(range(many) for many in ways))
        if np.bitwise_or.reduce([masks[way, place] for place, way in enumerate(one)]) == full
    ]
    weights, share = weigh(masks, ways, bits)
    assert share == pytest.approx(len(fitting) / np.prod(ways), abs=1e-12)
    if fitting:
        for place in range(classes):
            counts = np.bincount([one[place] for one in fitting], minlength=3)
            assert weights[:, place] == pytest.approx(counts / len(fitting), abs=1e-9)


def dealt(case: Case, order: Sequence[int]) -> Case:
    """The same table with its sensitive rows in another order."""
    frame = case.table.frame.with_columns(case.table.frame.select("s", "x")[list(order)])
    trees = {one.name: one.hierarchy for one in [*case.table.quasi, case.table.columns["s"]] if one.hierarchy}
    table = shoal.read(
        frame, quasi=list(case.table.schema.quasi), sensitive=["s", "x"], hierarchies=trees, missing="value",
        weights=case.table.domain.weights,
    )  # fmt: skip
    return Case(table, case.specs)


@settings(max_examples=15)
@given(cases([*MODELS[2:9], MODELS[10]], rows=6, people=False, unknown=False), st.sampled_from([0.0, 0.2, 0.5]))
def test_no_assignment_that_leads_to_the_release_is_excluded(case: Case, limit: float) -> None:
    algorithm = shoal.Optimal(suppression_limit=limit)
    try:
        release = shoal.anonymize(
            case.table, algorithm=algorithm, models=case.models, seed=1,
            acknowledge=["W-UNMODELLED:s", "W-UNMODELLED:x", "W-NO-K"],
        )  # fmt: skip
    except (InfeasibleError, shoal.ShoalError):
        return
    world = World.of(release)
    assert release.released.levels is not None
    members = [world.rows[world.classes == one] for one in range(release.released.n_classes)]
    ways = [list(permutations(rows.tolist())) for rows in members]
    for chosen in [one for _, one in zip(range(12), product(*ways), strict=False)]:
        order = np.arange(case.table.n)
        for rows, way in zip(members, chosen, strict=True):
            order[rows] = way
        other = dealt(case, order.tolist())
        node = best(every_node(other.problem()), "lm", limit)
        assert node is not None
        same = node.levels == tuple(release.released.levels.values()) and np.array_equal(
            node.released.classes >= 0, release.released.classes >= 0
        )
        place = np.zeros(case.table.n, dtype=np.int64)
        place[world.rows] = np.arange(world.rows.size)
        if same:
            assert world.fits(place[order[world.rows]])


def test_suppression_that_would_have_cost_more_excludes_nothing() -> None:
    """Two of six rows may go, and would have to at level 0; yet one level more costs less than suppressing them."""
    tree = [[f"z{one}", f"pair {one // 2}", "*"] for one in range(20)]
    table = shoal.read(
        pl.DataFrame({"z": ["z0"] * 2 + ["z1"] * 4, "s": ["hiv"] * 2 + ["none"] * 4}), quasi=["z"], sensitive=["s"],
        hierarchies={"z": tree},
    )  # fmt: skip
    model = shoal.AlphaKSimple(alpha=0.5, k=2, value="hiv", on="s")
    release = shoal.anonymize(table, algorithm=shoal.Optimal(suppression_limit=0.34), models=[model], seed=1)
    assert release.released.levels == {"z": 1}
    world = World.of(release)
    assert len(world.lower) == 1
    assert world.fits(np.arange(6))
    # Nobody at z0 ill, or nobody at z1: then nobody would have had to go.
    assert not world.fits(np.array([2, 3, 0, 1, 4, 5]))


def test_arrangements_are_all_and_distinct() -> None:
    ways = list(arrangements([1, 1, 2, 3]))
    assert len(ways) == len(set(ways)) == 12
    assert all(sorted(way) == [1, 1, 2, 3] for way in ways)


def test_a_workload_has_prices_that_the_attacker_does_not_know() -> None:
    people = pl.DataFrame({"age": [*range(20, 40)], "illness": list("abcd") * 5})
    for workload, known in ((None, True), ({"boundaries": {"age": [30]}}, False)):
        table = shoal.read(
            people, quasi=["age"], sensitive=["illness"], hierarchies={"age": {"widths": [5, 10]}}, workload=workload
        )
        release = shoal.anonymize(table, algorithm=shoal.Optimal(), models=[shoal.DistinctL(l=2)], seed=1,
                                  acknowledge=["W-NO-K"])  # fmt: skip
        (found,) = shoal.attack(release, only=["minimality"])
        assert bool(found.figures) is known
