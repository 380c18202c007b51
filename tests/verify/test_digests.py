"""Digests of classes and counts: those that a manifest has had since it was published, of any order of rows."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify import classes
from shoal.verify.classes import Looking, starred
from shoal.verify.gate import gate
from shoal.verify.manifest import read_claims
from shoal.verify.recheck import recheck
from shoal.verify.values import Coded
from tests.verify.cases import failed, hospital_case, manifest, published, sensitive_case
from tests.verify.test_two_tables import two_tables
from tests.verify.whole import find_classes, find_look

HOSPITAL = {
    "quasi": "0f8df39bf27fcd89bd0f2c7dfb62d8f93b07f0a52c554fd7903a49933f41aab0",
    "disease": "a42be3f8b17dc408946275e2ffb0afb65275ee1bdbfa71240bd53a69e13f8b5a",
    "income": "58cf5c78cff13e1f056bcfa46cb1f800123a0e8df4cceadf9bdd8d6803c95f5e",
}
TABLES = {
    "quasi": "61839bf3b3d8211d5ac289311f53698192c45fd63bbc6c826363299fd9154a0b",
    "note": "a6f1fd5865fbef746179da224b3ed5222df4ae174ca003558d2148ffc47ff650",
    "cost": "2ef1ad90eee555123a7debbd909b7ebb95c5d29b348de67b92e2bb7f357bad6c",
}
ODD = {
    "quasi": "ee79bee364c1a127747604c0fb266fabdb3ad7f9164c81b32a3436c1424d8ed2",
    "s": "8148aa522e7aacd040c043429103b654b01b5d5b46da055ec5ef3746022e1a69",
}


def test_manifests_that_are_out_keep_their_digests() -> None:
    """What was published with an earlier version has to be found again, to the last bit."""
    assert gate(hospital_case()).classes == {"count": 4, "smallest": 6, "digest": HOSPITAL}
    assert gate(two_tables()).classes == {"count": 8, "smallest": 3, "digest": TABLES}
    odd = sensitive_case([["a", None, "b", "a"], ["b", "é"], ["*"]], {"name": "k", "k": 1})
    assert gate(odd).classes == {"count": 3, "smallest": 1, "digest": ODD}


def test_quasi_identifiers_moved_between_groups_are_another_release() -> None:
    case = two_tables()
    ages = case.released["age"].to_list()
    groups = case.released["group"].to_list()
    other = next(row for row in range(len(ages)) if groups[row] != groups[0])
    ages[0], ages[other] = ages[other], ages[0]
    report = recheck(case.released.with_columns(pl.Series("age", ages)), published(case), case.apart)
    assert failed(report) == ["digest of the classes"]


def without_quasi(cells: list[str], suppressed: str = "drop") -> Any:
    entry = {"name": "s", "role": "sensitive", "type": "categorical", "cells": "value"}
    claims = read_claims(manifest([entry], [], suppressed=suppressed))
    return find_classes(pl.DataFrame({"s": cells}, schema={"s": pl.String}), claims)


def test_without_quasi_identifiers_there_is_one_class() -> None:
    found = without_quasi(["a", "b", "*"])
    assert (found.count, found.smallest, found.cells) == (1, 3, {})
    starred_out = without_quasi(["a", "*", "b"], "star")
    assert (starred_out.count, starred_out.smallest) == (1, 2)
    nobody = without_quasi([])
    assert (nobody.count, nobody.smallest) == (0, 0)
    case = hospital_case(
        original=pl.DataFrame({"s": ["a", "b"]}), released=pl.DataFrame({"s": ["a", "b"]}), source=np.arange(2),
        n_read=2, identifiers=pl.DataFrame(),
        manifest=manifest([{"name": "s", "role": "sensitive", "type": "categorical", "cells": "value"}], []),
    )  # fmt: skip
    figures = gate(case).classes
    assert (figures["count"], figures["smallest"]) == (1, 2)
    assert figures["digest"] == {
        "quasi": "04108b25db5fdcf5b33b4f0ab5b5c947c3394ec07c71790af7879b1a2bc0f098",
        "s": "ef4ad53044978b074cc8f929ebafa2e7ee02ce8748d36226773d01baa6117e73",
    }


@pytest.mark.parametrize(
    "columns, expected",
    [
        ({"a": ["*", "*", "x", None], "b": ["*", "y", "*", "*"]}, [True, False, False, False]),
        ({"a": ["*", "*"], "b": [1, 2]}, [False, False]),
        ({}, []),
    ],
)
def test_starred_rows_hold_nothing_but_stars(columns: dict[str, Any], expected: list[bool]) -> None:
    assert starred(pl.DataFrame(columns)).tolist() == expected


def test_rows_in_classes_are_those_that_are_not_starred() -> None:
    entry = {"name": "q", "role": "quasi", "type": "categorical", "cells": "set"}
    frame = pl.DataFrame({"q": ["b", "*", "a", "b"]})
    for suppressed, rows, sizes in (("star", [0, 2, 3], [2, 1]), ("drop", [0, 1, 2, 3], [2, 1, 1])):
        claims = read_claims(manifest([entry], [], suppressed=suppressed))
        found = find_classes(frame, claims)
        assert (found.sizes.tolist(), found.smallest) == (sizes, 1)
        codes, texts = found.cells["q"]
        looking = Looking(claims)
        for _ in range(2):
            placed = looking.see(Coded(frame))
            assert placed.rows.tolist() == rows
            assert [texts[int(code)] for code in codes[placed.of_row]] == frame["q"].gather(rows).to_list()
            mine, own = placed.cells["q"]
            assert [own[int(code)] for code in mine] == frame["q"].gather(rows).to_list()
        assert looking.look().quasi.sizes.tolist() == [2 * size for size in sizes]


def test_two_columns_of_bounds_are_one_cell() -> None:
    entry = {"name": "age", "role": "quasi", "type": "numeric", "cells": "bounds", "columns": ["from", "to"]}
    frame = pl.DataFrame({"from": [1, 1, 2], "to": [3, 3, 2]})
    found = find_classes(frame, read_claims(manifest([entry], [])))
    assert (found.sizes.tolist(), found.cells["age"][1].to_list()) == ([2, 1], ["[1,3]", "2"])


def test_groups_in_one_table_are_its_classes() -> None:
    case = two_tables()
    claims = read_claims(dict(case.manifest) | {"publication": "permuted"})
    both = case.released.with_columns(note=pl.lit("x"), cost=pl.lit(1))
    look = find_look(both, None, claims)
    assert (look.judged.count, look.pinned.count, look.quasi.count) == (8, 24, 24)


def test_classes_are_in_the_order_of_their_cells_however_many_are_written_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The digest is that of all cells one after another, each with its length before it."""
    rng = np.random.default_rng(5)
    texts = [pl.Series(["*", "10", "9", "[1,12]", "é"]), pl.Series(["", "a", "ab", "b:1", "1:"])]
    rows = np.array(sorted({(int(a), int(b)) for a, b in rng.integers(0, 5, (40, 2))})).T
    rows = rows[:, rng.permutation(rows.shape[1])]
    cells = {"p": (rows[0], texts[0]), "q": (rows[1], texts[1])}
    sizes = rng.integers(1, 9, rows.shape[1])
    named = [[texts[0][p], texts[1][q]] for p, q in rows.T.tolist()]
    keys = ["".join(f"{len(one.encode())}:{one}" for one in row) for row in named]
    order = sorted(range(len(keys)), key=lambda place: keys[place].encode())
    parts = [b"1:p\n1:q", "\n".join(keys[place] for place in order).encode(), sizes[order].astype("<i8").tobytes()]
    expected = hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).hexdigest()
    for size in (1, 3, 1 << 14):
        monkeypatch.setattr(classes, "_KEYS", size)
        found = classes.order_classes(classes.Classes(names=["p", "q"], sizes=sizes, cells=cells))
        assert found.digest == expected
        assert [keys[place] for place in np.argsort(found.rank)] == sorted(keys, key=str.encode)
