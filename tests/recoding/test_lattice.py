"""The lattice against plain enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.recoding.lattice import Lattice

heights = st.lists(st.integers(0, 3), max_size=5).map(tuple)


def listed(lattice: Lattice) -> list[tuple[int, ...]]:
    """All nodes in lexicographic order."""
    return list(product(*(range(height + 1) for height in lattice.heights)))


def test_an_example() -> None:
    lattice = Lattice((1, 2))
    assert (lattice.size, lattice.bottom, lattice.top, lattice.max_height) == (6, 0, 5, 3)
    assert lattice.decode(np.arange(6)).tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    source, above = lattice.successors(np.array([0, 5, 1]))
    assert (source.tolist(), above.tolist()) == ([0, 0, 2, 2], [3, 1, 4, 2])
    source, below = lattice.predecessors(np.array([0, 5]))
    assert (source.tolist(), below.tolist()) == ([1, 1], [2, 4])
    assert lattice.nodes_at_height(2).tolist() == [2, 4]


@given(heights)
def test_ids_are_ranks_in_lexicographic_order(sizes: tuple[int, ...]) -> None:
    lattice = Lattice(sizes)
    nodes = listed(lattice)
    ids = np.arange(lattice.size)
    assert lattice.size == len(nodes)
    assert [tuple(levels) for levels in lattice.decode(ids).tolist()] == nodes
    encoded = lattice.encode(np.array(nodes).reshape(len(nodes), len(sizes)))
    assert encoded.tolist() == ids.tolist()
    assert encoded.dtype == np.int64
    assert lattice.encode(lattice.decode(ids[:, np.newaxis])).shape == (lattice.size, 1)
    assert nodes[lattice.bottom] == (0,) * len(sizes)
    assert nodes[lattice.top] == sizes


@given(heights)
def test_neighbours(sizes: tuple[int, ...]) -> None:
    lattice = Lattice(sizes)
    nodes = listed(lattice)
    ids = np.arange(lattice.size)[::-1]
    for found, step in ((lattice.successors(ids), 1), (lattice.predecessors(ids), -1)):
        expected = []
        for index, node in enumerate(reversed(nodes)):
            for place, level in enumerate(node):
                other = (*node[:place], level + step, *node[place + 1 :])
                if other in nodes:
                    expected.append((index, nodes.index(other)))
        assert list(zip(found[0].tolist(), found[1].tolist(), strict=True)) == expected


@given(heights)
def test_heights(sizes: tuple[int, ...]) -> None:
    lattice = Lattice(sizes)
    nodes = listed(lattice)
    assert lattice.height(np.arange(lattice.size)).tolist() == [sum(node) for node in nodes]
    for height in range(-1, sum(sizes) + 2):
        found = lattice.nodes_at_height(height)
        assert found.tolist() == [place for place, node in enumerate(nodes) if sum(node) == height]
        assert found.dtype == np.int64


def test_scalars() -> None:
    lattice = Lattice((1, 2))
    assert int(lattice.height(5)) == 3


def test_the_largest_lattice() -> None:
    lattice = Lattice((1,) * 62)
    assert lattice.size == 2**62
    ids = np.array([0, 1, lattice.top, 2**61])
    assert lattice.encode(lattice.decode(ids)).tolist() == ids.tolist()
    assert lattice.nodes_at_height(1).tolist() == [2**place for place in range(62)]


def test_a_lattice_too_large_for_ids_still_has_a_size() -> None:
    lattice = Lattice((9,) * 30)
    assert (lattice.size, lattice.top) == (10**30, 10**30 - 1)
    for call in (
        lambda: lattice.encode([0] * 30),
        lambda: lattice.decode(0),
        lambda: lattice.nodes_at_height(1),
    ):
        with pytest.raises(ParameterError, match="more than 2\\*\\*62 nodes"):
            call()


@pytest.mark.parametrize("sizes", [(1, -1), (1.5,), ("a",), (True,)])
def test_heights_are_whole_numbers(sizes: tuple[object, ...]) -> None:
    with pytest.raises(ParameterError, match="'heights' of a lattice"):
        Lattice(sizes)  # type: ignore[arg-type]


@pytest.mark.parametrize("levels", [[0], [0, 0, 0], 0])
def test_one_level_an_attribute(levels: object) -> None:
    with pytest.raises(ParameterError, match="2 levels"):
        Lattice((1, 2)).encode(levels)  # type: ignore[arg-type]


@pytest.mark.parametrize("levels", [[0, 3], [-1, 0], [[0, 0], [2, 0]]])
def test_levels_lie_within_the_heights(levels: list[object]) -> None:
    with pytest.raises(ParameterError, match="between 0 and the heights"):
        Lattice((1, 2)).encode(levels)  # type: ignore[arg-type]


@pytest.mark.parametrize("ids", [6, -1, [0, 6]])
def test_ids_lie_within_the_lattice(ids: object) -> None:
    with pytest.raises(ParameterError, match="between 0 and 5"):
        Lattice((1, 2)).decode(ids)  # type: ignore[arg-type]


def test_lattices_compare_by_heights() -> None:
    assert Lattice([1, 2]) == Lattice((1, 2))  # type: ignore[arg-type]
    assert len({Lattice((1, 2)), Lattice((1, 2))}) == 1
