"""What a manifest shows of a hierarchy is a part of the one behind it, and no more than stands in the release."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from shoal.verify.gate import gate
from shoal.verify.hierarchies import check_labels
from shoal.verify.manifest import read_claims
from tests.verify.cases import COLUMNS, ZIPS, check_of, failed, hospital, hospital_case, manifest, sensitive_case
from tests.verify.whole import check_hierarchies

FINE = "The hierarchies of the manifest show what stands in the release."
SHOWN = [[None, "100*", "*"], [None, "101*", "*"]]
LABEL = {"role": "quasi", "type": "categorical", "cells": "label"}
VALUE = {"role": "sensitive", "type": "numeric", "cells": "value"}


def said(
    shown: Any, standing: list[Any] | None, behind: Any = ZIPS, apart: list[Any] | None = None, **column: Any
) -> str:
    """What is found about a column ``zip``, shortened to its problems."""
    entry = {"name": "zip", **(LABEL | column)}
    if shown is not None:
        entry["hierarchy"] = shown
    case = hospital_case(
        released=pl.DataFrame({"zip": standing} if standing is not None else {"x": [1]}),
        apart=None if apart is None else pl.DataFrame({"zip": apart} if apart else {"x": [1]}),
        hierarchies={} if behind is None else {"zip": behind},
    )  # fmt: skip
    found = check_hierarchies(read_claims(manifest([entry], [])), case)
    assert (found.name, found.passed) == ("hierarchies", found.detail == FINE)
    return found.detail.removeprefix("What the manifest shows is too much or untrue: ")


def more(count: int) -> str:
    return f"{count} labels of 'zip' stand in the manifest and in no cell."


def untrue(count: int) -> str:
    return f"{count} rows of the hierarchy of 'zip' are not in the one behind it."


def test_what_stands_in_the_cells_may_be_shown() -> None:
    assert said(SHOWN, ["100*", "101*"]) == FINE
    assert said([*SHOWN, [None, None, "*"]], ["100*", "101*", None]) == FINE
    assert said(SHOWN, ["100*", "*"]) == more(1)
    assert said(SHOWN, ["*"]) == more(2)
    assert said([["1000", "100*", "*"], SHOWN[1]], ["100*", "101*"]) == more(1)
    assert said([["1000", None, "*"], SHOWN[1]], ["1000", "101*"]) == FINE


def test_a_missing_value_may_be_shown() -> None:
    behind = [*ZIPS, ["<missing>", "none", "*"]]
    assert said([["<missing>", None, "*"]], ["100*"], behind) == FINE
    assert said([["<missing>", "none", "*"]], [3.0], behind, type="numeric", role="sensitive", cells="value") == FINE


def test_what_is_not_behind_is_untrue() -> None:
    assert said([[None, "102*", "*"], SHOWN[1]], ["102*", "101*"]) == untrue(1)
    assert said([["1000", "101*", "*"]], ["1000"]) == untrue(1)
    assert said([["1000", "100*", "all"], ["1001", "100*", "all"]], ["1000", "1001"]) == untrue(2)
    assert said([["1000", None, "all"]], ["1000"]) == untrue(1)
    assert said([["1000", "100*"]], ["1000"]) == untrue(1)
    assert said([["1000", "100*", "*", "world"]], ["1000"]) == untrue(1)
    assert said([["100*", None, "*"]], ["100*"]) == untrue(1)


def test_a_whole_hierarchy_is_the_one_behind() -> None:
    assert said(ZIPS, ["*"], whole=True) == FINE
    assert said(ZIPS[:3], ["*"], whole=True) == "the hierarchy of 'zip' is not the whole one."
    assert said(ZIPS, ["*"], [tuple(row) for row in ZIPS], whole=True) == FINE
    assert said(ZIPS[:1], ["1000"], ZIPS[:1]) == FINE


@pytest.mark.parametrize("column", [{}, {"whole": True}])
def test_without_one_behind_there_is_nothing_to_compare(column: dict[str, Any]) -> None:
    assert said(SHOWN if not column else ZIPS, ["100*"], None, **column) == FINE
    assert said(None, ["100*"], cells="value") == FINE


def test_values_are_labels_in_any_spelling() -> None:
    behind = [["1", "low", "*"], ["2.50", "low", "*"], ["3", "high", "*"]]
    assert said([["1", "low", "*"], ["2.50", "low", "*"]], [1.0, 2.5], behind, **VALUE) == FINE
    assert said(behind, [1.0, 2.5], behind, **VALUE) == more(1)
    assert said([*behind[:1], [None, "high", "*"]], [1.0], behind, **VALUE) == more(1)


def test_values_may_stand_in_a_table_of_their_own() -> None:
    behind = [["1", "low", "*"], ["2", "low", "*"]]
    assert said(behind, None, behind, apart=[1, 2], **VALUE) == FINE
    assert said(behind, None, behind, apart=[1], **VALUE) == more(1)
    assert said(behind, [1, 2], behind, apart=[], **VALUE) == FINE
    assert said(behind, None, behind, apart=[], **VALUE) == more(2)
    assert said(behind, None, behind, **VALUE) == more(2)


def test_problems_of_all_columns_are_told() -> None:
    entries = [{"name": name, "hierarchy": [[None, "102*", "*"]], **LABEL} for name in ("zip", "area")]
    entries.insert(1, {"name": "free", **LABEL, "cells": "set"})
    entries.insert(2, {"name": "whole", "hierarchy": ZIPS, "whole": True, **LABEL})
    case = hospital_case(hierarchies=dict.fromkeys(("zip", "free", "whole", "area"), ZIPS))
    found = check_hierarchies(read_claims(manifest(entries, [])), case)
    assert found.detail.count("are not in the one behind it") == 2


def test_labels_at_a_re_check_stand_in_cells_or_above_them() -> None:
    shown = [[None, "100*", "*"], [None, "101*", "*"], [None, None, "*"]]
    entry = next(entry for entry in COLUMNS if entry["name"] == "zip") | {"whole": False}
    cells = {"zip": pl.Series(["100*", "101*"])}

    def found(rows: list[list[str | None]]) -> bool:
        return check_labels(read_claims(manifest([entry | {"hierarchy": rows}], [])), cells).passed

    assert found(shown)
    assert found(shown[:2])
    assert not found([*shown, ["Nobody can be found.", None, "*"]])
    assert not found([*shown, [None, "102*", "*"]])
    public = read_claims(manifest([entry | {"hierarchy": ZIPS, "whole": True}], []))
    assert check_labels(public, cells).passed


# At the gate


def partly(hierarchies: Any, **changes: Any) -> Any:
    shown = {"hierarchy": SHOWN, "whole": False}
    columns = [entry | shown if entry["name"] == "zip" else entry for entry in COLUMNS]
    return hospital_case(manifest=manifest(columns), hierarchies=hierarchies, **changes)


def test_cells_are_held_against_the_whole_hierarchy() -> None:
    """A part names no leaf, so that nothing could be covered by what the manifest shows."""
    assert failed(gate(partly({"zip": ZIPS}))) == []
    assert failed(gate(partly({"zip": ZIPS, "job": [["baker", "*"]]}))) == []
    assert failed(gate(partly({}))) == ["coverage"]
    assert failed(gate(partly({"job": ZIPS}))) == ["coverage"]


def test_too_much_shown_stops_the_gate() -> None:
    report = gate(partly({"zip": ZIPS}, released=hospital()[1].with_columns(zip=pl.lit("*"))))
    assert failed(report) == ["hierarchies"]
    assert check_of(report, "hierarchies").detail.endswith(more(2))
    assert not report.verdicts


def test_a_hierarchy_that_the_manifest_does_not_show_judges_nothing() -> None:
    """Distances are those that a reader of the manifest would take."""
    tree = [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]]
    model = {"name": "t-closeness", "t": 1, "reference": "released"}
    case = sensitive_case([["a", "a"], ["b", "b"]], model, hierarchies={"s": tree})
    assert gate(case).verdicts[0].value == 0.5
    below = sensitive_case([["a", "a"], ["b", "b"]], model, column={"hierarchy": tree[:2]}, hierarchies={"s": tree})
    assert gate(below).verdicts[0].value == 0.25


def test_ranges_are_the_whole_policys() -> None:
    whole = {"sets": [["a", "b"], ["c", "d"]], "else": "error"}
    shown = {"sets": [["a", "b"]], "else": "error", "part": True}
    model = {"name": "range-confidence", "p": 1}
    values = [["a", "b", "c", "d"]]
    told = gate(sensitive_case(values, model, column={"policy": shown}, policies={"s": whole}))
    assert (told.verdicts[0].value, told.verdicts[0].by) == (0.5, "attested")
    unknown = gate(sensitive_case(values, model, policies={"s": whole}))
    assert unknown.verdicts[0].value == 0.25
