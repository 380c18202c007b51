"""What share of its domain a class's cell covers, cell by cell."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.facts import Facts, Sample
from shoal.verify.manifest import read_claims
from shoal.verify.terms.worst_group_utility import WorstGroupUtility, has_public_extent
from tests.verify.cases import manifest
from tests.verify.whole import facts_of

NUMBER = {"type": "numeric", "cells": "interval"}
ORDINAL = {"type": "ordinal", "order": ["lo", "mid", "hi", "top"]}
LABEL = {"type": "categorical", "cells": "label"}
TREE = [["a", "ab", "all"], ["b", "ab", "all"], ["c", "cd", "all"], ["d", "cd", "all"]]


def facts(cells: list[Any], column: dict[str, Any], values: list[Any] | None, files: list[str] | None = None) -> Facts:
    """Cells of one quasi-identifier, a row each, and its input values; extra input rows are suppressed."""
    entry = {"name": "q", "role": "quasi", **column}
    frame = pl.DataFrame({"q": cells}) if files is None else pl.DataFrame(dict(zip(files, cells, strict=True)))
    claims = read_claims(manifest([entry], [{"name": "worst-group-utility", "u": 0.5}]))
    original = None if values is None else pl.DataFrame({"q": pl.Series(values)})
    return facts_of(frame, claims, original=original, origin=np.arange(frame.height))


def spread(cells: list[Any], column: dict[str, Any], values: list[Any] | None, **options: Any) -> list[float]:
    """The share of each class, in the order of their first rows."""
    outcome = WorstGroupUtility().judge({"u": 0.5}, Sample(facts(cells, column, values, **options), (), ""))
    assert outcome.judged.all()
    assert outcome.passes.tolist() == [value <= 0.5 for value in outcome.value]
    return outcome.value.tolist()


CASES: list[tuple[list[str], dict[str, Any], list[Any], list[float]]] = [
    # the domain is the input's
    (["[10,20]", "15", "*", "<missing>", "[10,60]"], NUMBER, [10, 15, 20, 30, 60], [0.2, 0, 1, 0, 1]),
    (["[10,20]", "*"], NUMBER, [10, None, 60], [0.2, 1]),
    (["[1970-01-02,1970-01-12]", "*"], NUMBER | {"type": "date"}, ["1970-01-01", "1970-01-21"], [0.5, 1]),
    # the domain is declared, and nothing covers more than all of it
    (["[10,20]", "[0,120]", "*"], NUMBER | {"domain": ["5", "55"]}, [10, 20, 30], [0.2, 1, 1]),
    # one value is no domain
    (["[7,7]", "*"], NUMBER, [7, 7, 7], [0, 0]),
    (["[7,7]", "*"], NUMBER, [7, None, 7], [0, 1]),
    (["*", "a"], {"type": "categorical", "cells": "set"}, ["a", "a"], [0, 0]),
    # sets by their members
    (["{a|b}", "a", "*", "<missing>", "{a|b|c}"], {"type": "categorical", "cells": "set"}, ["a", "b", "c", "a", "a"],
     [0.5, 0, 1, 0, 1]),
    (["{a|b}", "*"], {"type": "categorical", "cells": "set"}, ["a", "b", "c", "d", "e"], [0.25, 1]),
    (["{a|b}", "{a", "*"], {"type": "categorical", "cells": "set"}, ["a", "b", "a"], [1, 0, 1]),
    (["*", "*"], NUMBER, [None, None], [0]),
    (["[0,0.5]", "[0.25,0.5]", "*"], NUMBER, [0.0, 0.5, 0.25], [1, 0.5, 1]),
    # an end that cannot be read
    (["[5,x]", "[x,5]", "[0,5]"], NUMBER, [0, 5, 10], [0, 0, 0.5]),
    # orders by ranks
    (["{lo|hi}", "mid", "{hi|mid|top}", "*", "{lo", "{lo|new}"], ORDINAL | {"cells": "set"}, ["lo"] * 6,
     [2 / 3, 0, 2 / 3, 1, 0, 0]),
    (["[lo,hi]", "mid", "[lo,top]", "*", "<missing>"], ORDINAL | {"cells": "interval"}, ["lo"] * 5,
     [2 / 3, 0, 1, 1, 0]),
    # labels by their leaves
    (["ab", "a", "all", "*", "other"], LABEL | {"hierarchy": TREE}, ["a"] * 5,
     [1 / 3, 0, 1, 1, 0]),
    (["all", "a"], LABEL | {"hierarchy": [["a", "all"], ["b", "all"]]}, ["a", "a"], [1, 0]),
    (["all", "*"], LABEL | {"hierarchy": [["a", "all"]]}, ["a", "a"], [0, 0]),
]  # fmt: skip


@pytest.mark.parametrize("cells, column, values, expected", CASES)
def test_shares_of_the_domain(cells: list[str], column: dict[str, Any], values: list[Any], expected: Any) -> None:
    assert spread(cells, column, values) == pytest.approx(expected)


def test_ends_are_subtracted_before_they_are_rounded() -> None:
    big = 10**30
    values = [str(big), str(big + 4)]
    assert spread([f"[{big},{big + 1}]", f"[{big},{big + 4}]"], NUMBER, values) == pytest.approx([0.25, 1])


def test_bounds_are_intervals() -> None:
    column = {"type": "numeric", "cells": "bounds", "columns": ["from", "to"]}
    found = spread([[10, 15, None], [20, 15, None]], column, [10, 20, 60], files=["from", "to"])
    assert found == pytest.approx([0.2, 0, 1])


def test_representatives_stand_for_what_their_members_span() -> None:
    column = {"type": "numeric", "cells": "representative"}
    found = spread([15, 15, 40, 40, None, 70], column, [10, 20, 40, None, 60, None])
    assert found == pytest.approx([0.2, 0, 1, 0])
    ordinal = ORDINAL | {"cells": "representative"}
    assert spread(["mid", "mid", "top", "*"], ordinal, ["lo", "hi", "top", "lo"]) == pytest.approx([2 / 3, 0, 1])
    strange = spread(["mid"] * 3 + ["hi"], ordinal, ["lo", "new", "mid", "new"])
    assert strange == pytest.approx([1 / 3, 0])  # what has no rank spans nothing
    assert spread([7, 7, 7], column, [7, 7, 7]) == [0]
    shown, truth = ([date(2020, 1, day) for day in days] for days in ((2, 2, 11), (1, 3, 11)))
    assert spread(shown, column | {"type": "date"}, truth) == pytest.approx([0.2, 0])
    assert spread([5, 5], column | {"domain": ["0", "5"]}, [-5, 5]) == [1]
    assert spread([0.3, 0.3, 0.9], column, [0.2, 0.4, 0.7]) == pytest.approx([0.4, 0])


def test_columns_count_alike() -> None:
    entries = [{"name": "q", "role": "quasi", **NUMBER}, {"name": "r", "role": "quasi", **NUMBER}]
    frame = pl.DataFrame({"q": ["[0,5]", "3"], "r": ["[0,10]", "[0,1]"]})
    claims = read_claims(manifest(entries, [{"name": "worst-group-utility", "u": 0.5}]))
    original = pl.DataFrame({"q": [0, 10], "r": [0, 10]})
    known = facts_of(frame, claims, original=original, origin=np.arange(2))
    assert WorstGroupUtility().judge({"u": 1}, Sample(known, (), "")).value == pytest.approx([0.75, 0.05])


@pytest.mark.parametrize(
    "column, public",
    [
        (NUMBER, False), (NUMBER | {"domain": ["0", "9"]}, True), (NUMBER | {"domain": ["9", "9"]}, False),
        (NUMBER | {"cells": "set", "domain": ["0", "9"]}, False),
        (NUMBER | {"cells": "representative", "domain": ["0", "9"]}, False),
        ({"type": "categorical", "cells": "set"}, False), ({"type": "categorical", "cells": "value"}, False),
        (LABEL | {"hierarchy": TREE}, False),
        (LABEL | {"hierarchy": TREE, "whole": True}, True), (ORDINAL | {"cells": "set"}, True),
        (ORDINAL | {"cells": "interval", "order": ["one", "two"]}, True),
        (ORDINAL | {"cells": "interval", "order": ["one"]}, False), ({"type": "ordinal", "cells": "set"}, False),
    ],
)  # fmt: skip
def test_what_anybody_can_measure(column: dict[str, Any], public: bool) -> None:
    (found,) = read_claims(manifest([{"name": "q", "role": "quasi", **column}], [])).columns
    assert has_public_extent(found) is public


def test_without_the_input_only_what_is_public_can_be_measured() -> None:
    assert spread(["[0,3]", "*"], NUMBER | {"domain": ["0", "9"]}, None) == pytest.approx([1 / 3, 1])
    assert spread(["{lo|mid}"], ORDINAL | {"cells": "set"}, None) == pytest.approx([1 / 3])
    assert spread(["*", "[0,0.25]"], NUMBER | {"domain": ["0", "1"]}, None) == pytest.approx([1, 0.25])
    for cells, column in ((["[0,3]"], NUMBER), (["{a|b}"], {"type": "categorical", "cells": "set"})):
        with pytest.raises(ValueError, match="only known at the gate"):
            spread(cells, column, None)
