"""Minimal full-domain recodings by trying every node of the lattice, and prefix masking."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.data.hierarchy_builders import prefix
from shoal.engines.memory import MemoryRows
from shoal.recipe.source import read
from shoal.recoding.lattice import Lattice
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import FullDomain
from tests.golden import data

# Poovammal & Ponnavaikko, Table 1: ages in tens, twenties, all; sex or not; zips short of one or two digits.
HIERARCHIES = {
    "age": [
        [str(age), f"{age // 10} x 10", f"{age // 20} x 20", "*"]
        for age in data.PP_TABLE_1["age"].sort().to_list()
    ],
    "sex": [["M", "*"], ["F", "*"]],
    "zip": [[code, code[:2] + "*", code[:1] + "**"] for code in ("006", "008", "009", "018", "019")],
}

# k, records that may be suppressed, minimal nodes (age, sex, zip) with what each suppresses.
MINIMAL: dict[str, tuple[int, int, list[tuple[list[int], int]]]] = {
    "AL-09": (2, 0, [([3, 0, 1], 0)]),
    "AL-10": (2, 1, [([1, 0, 2], 1), ([3, 0, 1], 0)]),
    "AL-11": (3, 0, [([3, 1, 2], 0)]),
    "AL-12": (3, 1, [([2, 1, 2], 1)]),
    "AL-13": (7, 0, [([3, 1, 2], 0)]),
    "AL-14": (8, 0, []),
}

# Leaves, and what masking one digit makes of them (Sumana & Hareesh, Sec. 2).
MASKED = {
    "SV-04": {"560054": "56005*", "540059": "54005*"},
    "SV-05": {"560054": "56005*", "560059": "56005*", "560064": "56006*"},
}
COVERED = {*MINIMAL, *MASKED}


@pytest.fixture(scope="module")
def sizes() -> dict[tuple[int, ...], np.ndarray]:
    """Class size of every record, a node of the lattice."""
    table = read(data.PP_TABLE_1, quasi=["age", "sex", "zip"], hierarchies=HIERARCHIES)
    lattice = Lattice((3, 1, 2))
    found = {}
    for levels in lattice.decode(np.arange(lattice.size)).tolist():
        recoding = FullDomain(levels=dict(zip(table.schema.quasi, levels, strict=True)))
        released = apply_recoding(MemoryRows(table), recoding)
        found[tuple(levels)] = released.sizes[released.classes]
    return found


@pytest.mark.parametrize("name", MINIMAL)
def test_minimal_nodes(name: str, sizes: dict[tuple[int, ...], np.ndarray]) -> None:
    k, most, expected = MINIMAL[name]
    suppressed = {node: int((size < k).sum()) for node, size in sizes.items()}
    good = {node for node, count in suppressed.items() if count <= most}
    minimal = [
        node
        for node in sorted(good)
        if not any(other != node and all(a <= b for a, b in zip(other, node, strict=True)) for other in good)
    ]
    assert [(list(node), suppressed[node]) for node in minimal] == expected


@pytest.mark.parametrize("name", MASKED)
def test_prefix_masking(name: str) -> None:
    wanted = MASKED[name]
    tree = prefix("zip", list(wanted), keep=[5])
    assert {row[0]: row[1] for row in tree.rows()} == wanted
