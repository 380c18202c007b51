"""Which worked vectors are asserted, by their names in the specification.

RA: Yang & Qiao 2010; SV: Sumana & Hareesh; PP: Poovammal & Ponnavaikko; LU, LP: Loukides 2008, utility and
protection; MO: Morton et al.; AL: derived. Vectors of methods that do not exist yet are in no list.
"""

from __future__ import annotations

from tests.golden import (
    test_adult,
    test_audit,
    test_full_domain,
    test_links,
    test_loukides,
    test_measures,
    test_models,
    test_mondrian,
    test_queries,
    test_random,
    test_ranges,
    test_research,
    test_transform,
)

MODULES = (
    test_adult, test_audit, test_full_domain, test_links, test_loukides, test_measures, test_models, test_mondrian,
    test_queries, test_random, test_ranges, test_research, test_transform,
)  # fmt: skip


def run(prefix: str, first: int, last: int) -> set[str]:
    return {f"{prefix}-{number:02}" for number in range(first, last + 1)}


# Recoding kinds are asserted in tests/recoding/test_kinds.py.
ELSEWHERE = run("LU", 54, 57)
COVERED = (
    run("RA", 1, 38)
    | run("SV", 1, 18)
    | run("PP", 1, 17)
    | run("MO", 1, 15)
    | run("LU", 1, 49) | {"LU-53"} | ELSEWHERE
    | run("LP", 1, 31)
    | run("AL", 1, 24)
)  # fmt: skip


def test_every_vector_is_asserted_where_it_is_said_to_be() -> None:
    asserted = set().union(*(module.COVERED for module in MODULES))
    assert asserted | ELSEWHERE == COVERED
    assert not asserted & ELSEWHERE


def test_no_vector_is_asserted_twice() -> None:
    assert sum(len(module.COVERED) for module in MODULES) + len(ELSEWHERE) == len(COVERED) == 197
