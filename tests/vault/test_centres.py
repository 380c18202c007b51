"""Cluster centres that were made up: to have codes for nothing, or one centre confirmed beside others that are none."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest

from shoal.vault.protocol.decision import Examined, Policy, examine
from shoal.vault.protocol.recount import Counter
from shoal.vault.protocol.statements import Released
from shoal.vault.protocol.submission import Submission
from tests.vault.test_hostile_questions import CODES, OPEN, ward  # noqa: F401
from tests.vault.test_invented import centres


def asked(ward: Counter, columns: str, rows: Sequence[Sequence[object]], policy: Policy = OPEN) -> Examined:  # noqa: F811
    lines = [",".join(map(str, (place, *row))) for place, row in enumerate(rows)]
    return examine(Submission(text="\n".join([f"cluster,{columns}", *lines]), form="csv"), ward, policy)


def commonest(frame: pl.DataFrame, column: str) -> str:
    return str(frame[column].value_counts().sort("count", column, descending=True)[column][0])


def test_a_code_that_is_as_common_everywhere_is_not_told_with_a_centre(ward: Counter) -> None:  # noqa: F811
    """Hours have nothing to do with illnesses; one of them is the commonest by chance all the same."""
    low, high = centres(ward)
    near = (pl.col("hours") - low).abs() <= (pl.col("hours") - high).abs()
    parts = [ward.released.frame.filter(one) for one in (near, ~near)]
    modes = [commonest(part, "disease") for part in parts]
    found = asked(ward, "hours,disease", list(zip((low, high), modes, strict=True)))
    assert (found.state, found.gained.plain()) == ("refused", {})
    assert {one.why for one in found.refused} == {
        "has a coordinate of column 'disease' that is no other than that of all rows"
    }
    ages = [part["age"].mean() for part in parts]
    found = asked(ward, "hours,age", [(low, ages[0]), (high, ages[1])])
    assert found.gained.plain() == {}


def test_a_clustering_does_not_go_through_the_codes_of_a_column() -> None:
    """A centre for every code, of a column of numbers that goes with it."""
    frame = pl.DataFrame({"ill": [CODES[row % 12] for row in range(1200)], "hours": [row % 12 for row in range(1200)]})
    counter = Counter(Released.of(frame, {"ill": "mapping"}))
    found = asked(counter, "hours,ill", [(place, code) for place, code in enumerate(CODES)])
    assert (found.state, found.gained.plain()) == ("refused", {})
    assert {one.why for one in found.refused} == {"is one of a list that goes through the codes of a column one by one"}
    wide = Policy(waiting=1, budget=1, together=1, enumeration=1)
    assert len(asked(counter, "hours,ill", list(enumerate(CODES)), wide).accepted) == 12


def test_a_centre_beside_one_that_is_none_is_none_either(ward: Counter) -> None:  # noqa: F811
    """All rows are nearest to the mean of all rows, where the other one is out of everybody's way."""
    hours = float(ward.released.frame["hours"].mean())  # type: ignore[arg-type]
    found = asked(ward, "hours", [(hours,), (1e9,)])
    assert [one.why for one in found.refused] == [
        "is one of centres of which another does not hold", "is not the mean of the rows that are nearest to it",
    ]  # fmt: skip
    assert asked(ward, "hours", [(one,) for one in centres(ward)]).state == "answered"


@pytest.mark.parametrize("cell", ["NaN", "inf", None])
def test_a_number_that_is_none_bears_no_coordinate_out(ward: Counter, cell: str | None) -> None:  # noqa: F811
    low, high = centres(ward)
    pay = pl.when(pl.int_range(pl.len()) == 5).then(pl.lit(cell)).otherwise(pl.lit("3"))
    frame = ward.released.frame.with_columns(pay=pay if cell else pl.lit(None, dtype=pl.String))
    odd = Counter(Released.of(frame, ward.released.coded))
    assert asked(odd, "hours,pay", [(low, 777), (high, 777)]).accepted == ()
    assert asked(odd, "hours", [(low,), (high,)]).state == "answered"


def test_a_cell_that_is_no_number_is_above_none() -> None:
    frame = pl.DataFrame({"pay": ["NaN", "1", "2"] * 20, "sex": ["F", "M", "F"] * 20})
    counter = Counter(Released.of(frame, {}))
    found = examine(Submission(text="IF pay > 1 THEN sex = F (20/0)"), counter, OPEN)
    assert found.state == "answered", found.refused
