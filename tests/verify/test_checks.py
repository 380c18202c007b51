"""Checks that gate and re-check share, each on the smallest table that tells a fault from none."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.checks import (
    check_cells,
    check_classes,
    check_codes,
    check_columns,
    check_sensitive,
    class_figures,
    no_figures,
)
from shoal.verify.classes import Classes
from shoal.verify.manifest import read_claims
from shoal.verify.manifest_schema import Claims
from tests.verify.cases import manifest
from tests.verify.whole import check_exact, facts_of, find_classes, find_look

QUASI = {"name": "q", "role": "quasi", "type": "categorical", "cells": "set"}
SENSITIVE = {"name": "s", "role": "sensitive", "type": "categorical", "cells": "value"}
EXACT = {"name": "q", "role": "quasi", "type": "categorical", "cells": "value"}
TREE = [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]]


def claims(*columns: dict[str, Any], **changes: Any) -> Claims:
    return read_claims(manifest(columns, [], **changes))


def bucketised(*columns: dict[str, Any]) -> Claims:
    return claims(*columns, kind="bucketised", group="group", publication="tables")


# Columns


@pytest.mark.parametrize(
    "found, passed, end",
    [
        (["q", "s"], True, "has the manifest's 2 columns, in order."),
        (["s", "q"], False, "has its columns in another order than the manifest."),
        (["s"], False, "lacks the column 'q'."),
        ([], False, "lacks the column 'q'."),
        (["q", "x", "s", "y"], False, "has a column 'x' that the manifest does not list."),
        (["q", "x"], False, "has a column 'x' that the manifest does not list."),
    ],
)
def test_columns_of_one_table(found: list[str], passed: bool, end: str) -> None:
    (check,) = check_columns(found, None, claims(QUASI, SENSITIVE))
    assert (check.name, check.passed, check.detail) == ("columns", passed, f"The release {end}")


def test_columns_of_two_tables() -> None:
    left, right = pl.DataFrame({"q": ["a"], "group": [1]}), pl.DataFrame({"group": [1], "s": ["a"]})
    two = bucketised(EXACT, SENSITIVE)
    for apart, passed, end in (
        (right, True, "has the manifest's 2 columns, in order."),
        (None, False, "lacks the column 'group'."),
    ):
        first, second = check_columns(left.columns, None if apart is None else apart.columns, two)
        assert first.passed
        assert (second.name, second.passed) == ("sensitive columns", passed)
        assert second.detail == f"The table of sensitive values {end}"
    (_, spare) = check_columns(["q", "s"], right.columns, claims(QUASI, SENSITIVE))
    assert spare.detail == "The table of sensitive values has a column 'group' that the manifest does not list."


# Codes


@pytest.mark.parametrize(
    "kind, columns, accepted, lost",
    [
        ("generalised", [QUASI], [], None),
        ("microaggregated", [EXACT], [], None),
        ("randomised", [EXACT], [], "W-RA-LINK"),
        ("randomised", [EXACT], ["W-RA-LINK"], None),
        ("pseudonymised", [EXACT, SENSITIVE | {"coded": "mapping"}], [], "W-PP-REV"),
        ("pseudonymised", [EXACT, SENSITIVE | {"coded": "token"}], [], "W-PP-REV"),
        ("pseudonymised", [EXACT, SENSITIVE | {"coded": "token"}], ["W-PP-REV"], "W-TRAJECTORY"),
        ("pseudonymised", [EXACT, SENSITIVE | {"coded": "mapping"}], ["W-PP-REV"], None),
        ("pseudonymised", [EXACT, SENSITIVE | {"coded": "token"}], ["W-PP-REV", "W-TRAJECTORY"], None),
    ],
)
def test_what_has_to_be_accepted(kind: str, columns: list[Any], accepted: list[str], lost: str | None) -> None:
    said = claims(*columns, kind=kind)
    check = check_codes({"acknowledged": accepted}, said)
    fine = f"What this kind of release needs is acknowledged: {', '.join(accepted) or 'nothing'}."
    assert (check.name, check.passed) == ("warning codes", lost is None)
    assert check.detail == (fine if lost is None else f"The release is {kind}, and '{lost}' is not acknowledged.")


def test_classes_in_words() -> None:
    none = Classes(names=[], sizes=np.array([], dtype=int), cells={})
    assert (check_classes(none).passed, check_classes(none).detail) == (False, "The release has no row in any class.")
    some = Classes(names=[], sizes=np.array([3, 2]), cells={})
    found = check_classes(some)
    assert (found.name, found.passed, found.detail) == ("classes", True, "2 classes, the smallest 2 rows.")
    assert no_figures() == {"count": 0, "smallest": 0, "digest": {}}


# Cells


@pytest.mark.parametrize(
    "column, cells, problem",
    [
        ({"cells": "set"}, ["{a|b}", "a"], None),
        ({"cells": "set"}, ["{a", "{b", "a", "{a"], "2 distinct cells of 'q' are not values or sets of values."),
        ({"cells": "value"}, ["{a|b}"], None),
        ({"cells": "label", "hierarchy": TREE}, ["x", "z"], "1 distinct cells of 'q' are not nodes of its hierarchy."),
        ({"type": "numeric", "cells": "interval"}, ["[2,1]"],
         "1 distinct cells of 'q' are not values or intervals with ends in order."),
        ({"type": "numeric", "cells": "interval", "domain": ["0", "9"]}, ["[0,9]"], None),
        ({"type": "numeric", "cells": "interval", "domain": ["0", "9"]}, ["[0,10]", "x"],
         "1 distinct cells of 'q' are not values or intervals with ends in order; "
         "1 distinct cells of 'q' leave its declared domain."),
        ({"type": "ordinal", "cells": "representative", "order": ["lo", "hi"]}, ["mid"],
         "1 distinct cells of 'q' are not values."),
    ],
)  # fmt: skip
def test_cells_in_words(column: dict[str, Any], cells: list[str], problem: str | None) -> None:
    said = claims(QUASI | column)
    check, found = check_cells(said, find_classes(pl.DataFrame({"q": cells}), said))
    fine = "Every quasi-identifier cell can be read."
    assert (check.name, check.passed, check.detail) == ("cells", problem is None, problem or fine)
    assert list(found) == ["q"]


def test_bounds_in_words() -> None:
    said = claims({"name": "q", "role": "quasi", "type": "numeric", "cells": "bounds", "columns": ["from", "to"]})
    check, _ = check_cells(said, find_classes(pl.DataFrame({"from": [3], "to": [1]}), said))
    assert check.detail == "1 distinct cells of 'q' are not two ends in order."


def test_exact_values_are_no_cells_and_cells_no_values() -> None:
    frame = pl.DataFrame({"q": ["x", "2"], "group": [1, 1]})
    exact = bucketised(EXACT | {"type": "numeric"})
    check, found = check_cells(exact, find_classes(frame, exact))
    assert (check.passed, found) == (True, {})
    wrong = check_exact(frame, exact)
    assert (wrong.name, wrong.passed) == ("quasi-identifier values", False)
    assert wrong.detail == "1 rows of 'q' hold something that is not a number."
    fine = check_exact(frame, claims(QUASI | {"type": "numeric", "cells": "interval"}))
    assert (fine.passed, fine.detail) == (True, "Every quasi-identifier value fits its column's description.")
    missing = pl.DataFrame({"q": [None, "2"], "group": [1, 1]})
    assert check_exact(missing, exact).passed


# Values

NO_NUMBER = "rows of 's' hold something that is not a number"
OUTSIDE = "rows of 's' hold something outside its declared domain"
NO_LEAF = "rows of 's' hold something that is no leaf of its hierarchy"


@pytest.mark.parametrize(
    "column, values, problems",
    [
        ({"type": "numeric"}, ["1", "x", "y", "x", None], [f"3 {NO_NUMBER}"]),
        ({"type": "date"}, ["2020-01-01", "1.1.20"], ["1 rows of 's' hold something that is not an ISO date"]),
        ({"type": "numeric", "domain": ["0", "9"]}, ["0", "9"], []),
        ({"type": "numeric", "domain": ["0", "9"]}, ["-1", "10", "5"],
         [f"2 {OUTSIDE}"]),
        ({"type": "numeric", "domain": ["0", "9"]}, ["x", "10"],
         [f"1 {NO_NUMBER}", f"1 {OUTSIDE}"]),
        ({"type": "date", "domain": ["2020-01-01", "2020-01-09"]}, ["2020-01-10"],
         [f"1 {OUTSIDE}"]),
        ({"type": "ordinal", "order": ["lo", "hi"]}, ["lo", "hi", "mid"],
         ["1 rows of 's' hold something outside its order"]),
        ({"hierarchy": TREE}, ["a", "c", None], []),
        ({"hierarchy": TREE}, ["x", "z"], [f"2 {NO_LEAF}"]),
        ({"hierarchy": TREE, "cells": "label"}, ["a", "x", "*"], []),
        ({"hierarchy": TREE, "cells": "label"}, ["z"], [f"1 {NO_LEAF}".replace("leaf", "node")]),
        ({"hierarchy": [[None, "x", "*"], ["c", "y", "*"]]}, ["c"], []),
        ({"type": "numeric", "non_answers": ["no"]}, ["no", "1"], []),
        ({}, ["anything"], []),
    ],
)  # fmt: skip
def test_values_in_words(column: dict[str, Any], values: list[Any], problems: list[str]) -> None:
    said = claims(QUASI, SENSITIVE | column)
    frame = pl.DataFrame({"q": ["a"] * len(values), "s": values})
    check = check_sensitive(facts_of(frame, said))
    fine = "Every sensitive value fits its column's description."
    assert (check.name, check.passed) == ("sensitive values", not problems)
    assert check.detail == (f"{'; '.join(problems)}." if problems else fine)


def test_figures_of_two_tables_pin_quasi_identifiers_too() -> None:
    """Groups of the same sizes and values, whose people are others."""
    said = bucketised(EXACT, SENSITIVE)
    apart = pl.DataFrame({"group": [1, 1, 2, 2], "s": ["x", "y", "x", "y"]})
    figures = []
    for ages in (["a", "b", "c", "d"], ["a", "c", "b", "d"]):
        frame = pl.DataFrame({"q": ages, "group": [1, 1, 2, 2]})
        look = find_look(frame, apart, said)
        figures.append(class_figures(facts_of(frame, said, apart=apart), look))
    one, other = figures
    assert (one["count"], one["smallest"]) == (2, 2)
    assert one["digest"]["quasi"] != other["digest"]["quasi"]
    assert one["digest"]["s"] == other["digest"]["s"]
