"""A cell covers the values that it stands for, its ends included, and no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.cells import read_cells
from shoal.verify.coverage import uncovered
from shoal.verify.manifest import read_claims
from shoal.verify.values import read_values
from tests.verify.cases import manifest

TREE = [["a", "x", "*"], ["b", "y", "*"], ["c", "x", "*"]]


def left_out(pairs: list[tuple[str, Any]], **entry: Any) -> int:
    """How many of these pairs of a cell and a value do not fit."""
    (column,) = read_claims(manifest([{"name": "q", "role": "quasi", **entry}], [])).columns
    texts = pl.Series([cell for cell, _ in pairs]).unique(maintain_order=True)
    of_row = np.array([texts.to_list().index(cell) for cell, _ in pairs])
    values = read_values(pl.Series([value for _, value in pairs]), column.type)
    return uncovered(column, read_cells(column, texts), of_row, values, values.codes)


NUMBER = {"type": "numeric", "cells": "interval"}
DATE = {"type": "date", "cells": "interval"}
BOUNDS = {"type": "numeric", "cells": "bounds", "columns": ["from", "to"]}
RANK = {"type": "ordinal", "cells": "interval", "order": ["lo", "mid", "hi"]}
LABEL = {"type": "categorical", "cells": "label", "hierarchy": TREE}
SET = {"type": "categorical", "cells": "set"}
ALONE = {"type": "numeric", "cells": "value"}


@pytest.mark.parametrize(
    "entry, cell, covered, others",
    [
        (NUMBER, "[1,3]", ["1", "2.5", "3"], ["0.9", "3.1", None, "x"]),
        (NUMBER, "2", ["2", "2.0"], ["1", "3"]),
        (NUMBER, "*", ["1", None, "x"], []),
        (NUMBER, "<missing>", [None], ["1"]),
        (NUMBER, "[3,1]", [], ["1", "2", "3"]),
        (BOUNDS, "[1,3]", ["1", "3"], ["0", "4"]),
        (DATE, "[2020-01-01,2020-01-03]", ["2020-01-01", "2020-01-03"], ["2019-12-31", "2020-01-04"]),
        (RANK, "[lo,mid]", ["lo", "mid"], ["hi", None, "other"]),
        (RANK, "hi", ["hi"], ["lo", "mid"]),
        (LABEL, "x", ["a", "c"], ["b", None, "z"]),
        (LABEL, "b", ["b"], ["a", "c"]),
        (LABEL, "*", ["a", "b", None, "z"], []),
        (LABEL | {"hierarchy": [["a", "*"]]}, "a", ["a"], ["b"]),
        (LABEL | {"hierarchy": [*TREE, ["<missing>", "none", "*"]]}, "none", [None], ["a"]),
        (LABEL | {"hierarchy": [["1.0", "low"], ["2", "low"]], "type": "numeric"}, "low", ["1", "2.0"], ["3"]),
        (SET, "{a|b}", ["a", "b"], ["c", None]),
        (SET, "a", ["a"], ["b"]),
        (SET, "<missing>", [None], ["a"]),
        (SET, "{a", [], ["a", "{a"]),
        (ALONE, "1", ["1", "1.0"], ["2", None]),
    ],
)  # fmt: skip
def test_what_a_cell_covers(entry: dict[str, Any], cell: str, covered: list[Any], others: list[Any]) -> None:
    for value in covered:
        assert left_out([(cell, value)], **entry) == 0, value
    for value in others:
        assert left_out([(cell, value)], **entry) == 1, value


@pytest.mark.parametrize(
    "pairs, entry, wrong",
    [
        ([("[1,3]", "1"), ("[4,6]", "5"), ("[1,3]", "5"), ("*", "7"), ("[4,6]", None)], NUMBER, 2),
        ([("x", "a"), ("y", "b"), ("x", "b"), ("y", "a"), ("c", "c")], LABEL, 2),
        ([("{a|b}", "a"), ("{c|d}", "b"), ("{a|b}", "b"), ("{a|z}", "c"), ("c", "c")], SET, 2),
        ([("{x|z}", "b"), ("{a|y}", "a"), ("a", "b"), ("b", "a")], SET, 3),
        ([("y", "z"), ("x", "a"), ("b", "b"), ("x", "b")], LABEL, 2),
        ([("x", "a"), ("y", "z")], LABEL, 1),
    ],
)
def test_every_row_is_held_against_its_own_cell(pairs: list[tuple[str, Any]], entry: Any, wrong: int) -> None:
    assert left_out(pairs, **entry) == wrong
