"""Where one batch ends and the next begins changes nothing: no check, no verdict, no figure and no word."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ShoalError, VerificationError
from shoal.verify.folder import stored_batches
from shoal.verify.gate import Gate, _rows, gate
from shoal.verify.recheck import Recheck
from shoal.verify.report import Batch, GateCase
from tests.conftest import THOROUGH, many
from tests.verify.cases import check_of, failed, hospital_case, manifest, published, sensitive_case
from tests.verify.test_recheck_tables import permuted
from tests.verify.test_shifted_dates import shifted_case
from tests.verify.test_two_tables import coded, tokens, two_tables
from tests.verify.whole import ALL, parts, plain

SIZES = (7, 2, 1) if THOROUGH else (7, 1)
QUASI = {"name": "x", "role": "quasi", "type": "numeric", "cells": "value"}
SENSITIVE = {"name": "s", "role": "sensitive", "type": "categorical", "cells": "value"}
NEUTRAL = {"name": "w", "role": "neutral", "type": "categorical", "cells": "value"}
N = 24


def plain_case(kind: str, released: pl.DataFrame, columns: Any = (QUASI, SENSITIVE, NEUTRAL), **said: Any) -> GateCase:
    """A release of values of the same people, in an order of their own."""
    original = pl.DataFrame(
        {"x": [row // 4 * 10 + row % 4 for row in range(N)], "s": ["flu", "cold", "gout"] * 8, "w": ["n", "s"] * 12}
    )
    source = np.random.default_rng(8).permutation(N)
    return hospital_case(
        original=original, released=original.with_columns(released.get_columns())[source], source=source, n_read=N,
        neutral_limit=1.0, manifest=manifest(columns, [{"name": "k", "k": 1}], kind=kind, **said),
    )  # fmt: skip


def randomised() -> GateCase:
    shown = pl.DataFrame({"x": [(row + row % 3) // 4 * 10 % 60 for row in range(N)]})
    columns = (QUASI | {"p": 1.0}, SENSITIVE, NEUTRAL)
    return plain_case("randomised", shown, columns, redraw=1, acknowledged=["W-RA-LINK"])


def microaggregated() -> GateCase:
    return plain_case("microaggregated", pl.DataFrame({"x": [row // 4 * 10 + 1.5 for row in range(N)]}))


def people() -> GateCase:
    """Several rows a person, models that compare with the input, and two suppressed rows."""
    models = {"name": "t-closeness", "t": 1.0, "reference": "input"}
    classes = [["flu", "cold", "flu"], ["gout", None, "cold", "flu"], ["cold", "no", "gout"]]
    return sensitive_case(
        classes, models, column={"non_answers": ["no"]}, others=["flu", "rare"], subjects=list("aabbcdefghij"),
        identifiers=pl.DataFrame({"name": [f"Ann Berg{row}" for row in range(12)]}),
    )  # fmt: skip


def starred() -> GateCase:
    case = sensitive_case([["a", "b", "a"], ["c", "b", "c"]], {"name": "distinct-l", "l": 2})
    cells = pl.DataFrame({"q": ["g0", "g0", "*", "g1", "g1", "*"], "s": ["a", "b", "*", "c", "b", "*"]})
    said = dict(case.manifest) | {"suppressed": "star"}
    return replace(case, released=cells, suppressed=np.array([2, 5]), manifest=said)


def remembered() -> GateCase:
    case = sensitive_case([["a", "b"], ["b", "c"], ["a", "b"]], {"name": "m-invariance", "m": 2})
    return replace(case, history=pl.Series([["a", "b"], None, ["b", "c"], ["c", "b"], ["b", "a"], None]))


def guarded() -> GateCase:
    tree = [["flu", "lung", "all"], ["cough", "lung", "all"], ["ulcer", "gut", "all"]]
    column = {"cells": "label", "hierarchy": tree}
    case = sensitive_case(
        [["flu", "ulcer", "cough"], ["ulcer", "flu"]], {"name": "personalised", "p": 0.7}, column=column
    )
    return replace(case, guard=pl.Series(["lung", None, "flu", "gut", "lung"]))


def representative() -> GateCase:
    entry = {"name": "x", "role": "quasi", "type": "numeric", "cells": "representative"}
    models = [{"name": "worst-group-utility", "u": 0.9}]
    shown = pl.DataFrame({"x": [row // 4 * 10 + 2 for row in range(N)]})
    case = plain_case("generalised", shown, (entry, SENSITIVE, NEUTRAL))
    behind = pl.DataFrame({"x": [f"[{row // 4 * 10},{row // 4 * 10 + 3}]" for row in range(N)]})
    return replace(case, behind=behind, manifest=manifest([entry, SENSITIVE, NEUTRAL], models), grids={"x": 5.0})


CASES: dict[str, Callable[[], GateCase]] = {
    "generalised": hospital_case, "tables": two_tables, "permuted": permuted, "tokens": tokens, "coded": coded,
    "shifted": shifted_case, "shifted tables": lambda: shifted_case(True), "randomised": randomised,
    "microaggregated": microaggregated, "people": people, "starred": starred, "remembered": remembered,
    "guarded": guarded, "representative": representative,
}  # fmt: skip


def several(case: GateCase) -> list[int]:
    """Sizes of batches to try; a row at a time where there are few."""
    return [size for size in SIZES if size > 1 or case.original.height <= 12]


def told(case: GateCase, size: int) -> Any:
    """What the gate says, errors included."""
    try:
        return plain(gate(case, size))
    except ShoalError as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", CASES)
def test_batches_of_every_kind_come_to_the_same(name: str) -> None:
    case = CASES[name]()
    report = gate(case, ALL)
    assert failed(report) == []
    whole = plain(report)
    assert all(told(case, size) == whole for size in several(case))


def spoiled(case: GateCase, what: int, one: int, other: int, column: int) -> GateCase:
    """The same with one thing wrong, wherever that is."""
    height = case.released.height
    one, other = one % height, other % height
    table = "released" if case.apart is None or what % 2 else "apart"
    frame = getattr(case, table)
    name = frame.columns[column % frame.width]
    values = frame[name].to_list()
    if what < 4:  # a cell is another's
        values[one] = values[other]
    elif what < 6:  # two cells are exchanged
        values[one], values[other] = values[other], values[one]
    elif what == 6:  # a row is released twice
        source = case.source.copy()
        source[one] = source[other]
        return replace(case, source=source)
    elif what == 7:  # an identifier stands in a cell, or there is none
        values[one] = case.identifiers.row(other)[0] if case.identifiers.width else None
        if frame[name].dtype != pl.String:
            values[one] = None
    elif what == 8:
        return replace(case, source=np.where(np.arange(height) == one, height + 99, case.source))
    else:
        return replace(case, released=case.released[:one])
    return replace(case, **{table: frame.with_columns(pl.Series(name, values, dtype=frame[name].dtype))})


@settings(max_examples=many(8, 50))
@given(
    name=st.sampled_from(sorted(CASES)), what=st.integers(0, 9), one=st.integers(0, 23), other=st.integers(0, 23),
    column=st.integers(0, 6), size=st.sampled_from(SIZES),
)  # fmt: skip
def test_faults_are_told_alike_in_whatever_batch_they_lie(
    name: str, what: int, one: int, other: int, column: int, size: int
) -> None:
    case = spoiled(CASES[name](), what, one, other, column)
    assert told(case, size) == told(case, ALL)


# Faults that no batch shows by itself


def changed_case(case: GateCase, **cells: Any) -> GateCase:
    return replace(case, released=case.released.with_columns(**{name: pl.Series(new) for name, new in cells.items()}))


def twice() -> GateCase:
    case = hospital_case()
    return replace(case, source=np.append(case.source[:-1], case.source[0]))


def stranger() -> GateCase:
    """The first cell of a ward holds the name of whoever stands in the last row."""
    case = hospital_case(acknowledged=["W-NEUTRAL"])
    name = case.identifiers["name"][int(case.source[-1])]
    wards = [name, *case.released["ward"][1:]]
    at = int(case.source[0])
    original = [name if row == at else ward for row, ward in enumerate(case.original["ward"])]
    return replace(changed_case(case, ward=wards), original=case.original.with_columns(ward=pl.Series(original)))


def small() -> GateCase:
    """A class of five rows where six are asked for: one of them has moved to the class of another batch."""
    case = hospital_case()
    ages = case.released["age"].to_list()
    ages[0] = "*"
    return changed_case(case, age=ages)


def one_person() -> GateCase:
    """Two rows of each class, first and last, are the same person's."""
    return sensitive_case(
        [["a", "b", "a"], ["a", "b", "c"]], {"name": "k", "k": 3}, subjects=["p", "q", "p", "r", "s", "r"]
    )


def code_of_two() -> GateCase:
    case = coded()
    codes = case.released["s"].to_list()
    codes[-1] = codes[0]
    return changed_case(case, s=codes)


def mean_of_all() -> GateCase:
    """The cell of a class is right for its first rows, and wrong for all of them."""
    case = microaggregated()
    original = case.original["x"].to_list()
    original[int(case.source[-1])] += 40
    return replace(case, original=case.original.with_columns(x=pl.Series(original)))


def unlike() -> GateCase:
    """Rows that are unique only in the batches they are in are no reason to refuse; one that is unique in all is."""
    case = hospital_case(neutral_limit=0.01)
    return changed_case(case, ward=["attic", *case.released["ward"][1:]])


def ascending() -> GateCase:
    """Every batch is in order, and so is the whole."""
    case = hospital_case()
    return replace(case, released=case.released[np.argsort(case.source)], source=np.arange(N))


def moved_apart() -> GateCase:
    """Somebody's first date has moved by another number of days than their last."""
    case = shifted_case()
    who = [f"P{row % 6}" for row in range(12)]
    return replace(case, subject=pl.Series("who", who))


def aligned() -> GateCase:
    """Values of all groups stand in the order of the rows they belong to."""
    case = two_tables()
    own = case.original[case.source].select(pl.Series(case.source // 3).alias("group"), "note", "cost")
    return replace(case, apart=own, values_from=case.source)


FAULTS: dict[str, tuple[Callable[[], GateCase], str]] = {
    "a row twice": (twice, "rows"),
    "somebody's name": (stranger, "identifiers of anybody"),
    "a class that is too small": (small, "k"),
    "a person twice in a class": (one_person, "k"),
    "a code of two values": (code_of_two, "one to one: s"),
    "a mean of some": (mean_of_all, "centroids"),
    "a row unlike any other": (unlike, "neutral columns"),
    "the order of the source": (ascending, "order"),
    "dates that moved apart": (moved_apart, "shifted dates"),
    "groups in the order of their rows": (aligned, "apart"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_lies_in_two_batches_is_found_in_any(fault: str) -> None:
    make, check = FAULTS[fault]
    case = make()
    reports = [gate(case, ALL), *(gate(case, size) for size in several(case))]
    assert all(check in failed(report) for report in reports)
    assert all(check_of(report, check) == check_of(reports[0], check) for report in reports)
    assert all(plain(report) == plain(reports[0]) for report in reports)


def test_what_is_unlike_in_a_batch_alone_is_not_unlike() -> None:
    report = gate(hospital_case(), 1)
    assert report.passed
    assert check_of(report, "order").passed


def test_a_batch_that_cannot_be_looked_at_is_not_passed_over() -> None:
    """Every row is accounted for, but one batch has other columns, or was given without the rows it comes from."""
    case = hospital_case()
    halves = slice(0, 12), slice(12, 24)
    for spoil in ("columns", "rows"):
        for wrong in halves:
            found = Gate(case)
            found.read(_rows(case, slice(0, N)))
            for part in halves:
                frame, source = case.released[part], case.source[part]
                rows = None if part is wrong and spoil == "rows" else _rows(case, source)
                other = frame.select(frame.columns[::-1]) if part is wrong and spoil == "columns" else frame
                found.see(Batch(released=other, source=source, rows=rows))
            if spoil == "columns" and wrong is halves[0]:
                with pytest.raises(VerificationError, match="are not like the others"):
                    found.report()
            else:
                assert not found.report().passed


# Files


@pytest.mark.parametrize("size", [5, 24, 1000])
def test_the_gate_over_a_file_is_the_gate_over_a_frame(tmp_path: Path, size: int) -> None:
    """The input in batches of its own, the release as it is read back from disk."""
    for number, make in enumerate((hospital_case, people, microaggregated)):
        case = make()
        case.released.write_parquet(tmp_path / "release.parquet")
        found = Gate(case)
        for part in parts(case.original.height, 5):
            found.read(_rows(case, part))
        start = 0
        for frame in stored_batches(tmp_path, described(tmp_path, case.released.height), size=size):
            source = case.source[start : start + frame.height]
            found.see(Batch(released=frame, source=source, rows=_rows(case, source)))
            start += frame.height
        assert plain(found.report()) == plain(gate(case)), number


def described(folder: Path, rows: int) -> dict[str, Any]:
    raw = (folder / "release.parquet").read_bytes()
    return {"file": "release.parquet", "sha256": hashlib.sha256(raw).hexdigest(), "rows": rows}


@pytest.mark.parametrize("make", [hospital_case, two_tables, permuted, people])
def test_batches_of_a_re_check_come_to_the_same(make: Callable[[], GateCase]) -> None:
    case = make()
    said = published(case)
    found = []
    for size in (ALL, *SIZES):
        one = Recheck(said)
        for part in parts(case.released.height, size):
            one.see(case.released[part])
        for part in parts(case.apart.height, size) if case.apart is not None else ():
            one.see_apart(case.apart[part])
        found.append(plain(one.report()))
    assert all(one == found[0] for one in found)
