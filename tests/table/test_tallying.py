"""Tallies of several batches, added up by anybody, tell the coder what one reading of all rows would."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal

import polars as pl
import pytest

from shoal.data.gather import Gathering
from shoal.data.schema import Schema
from shoal.engines.spark_tasks import Tallying
from shoal.errors import InputError
from shoal.io.frames import Arriving

ROWS = pl.DataFrame(
    {
        "key": [1, 2, 3, 4, 5], "text": ["a", " a", None, "b", ""], "real": [0.1, -0.0, 0.0, None, 1e300],
        "short": pl.Series([0.1, 0.5, None, 0.1, 2.0], dtype=pl.Float32),
        "day": [dt.date(1960, 5, 1), None, None, None, dt.date(2020, 1, 1)],
        "time": pl.Series([dt.datetime(2020, 1, 1, 7)] * 5, dtype=pl.Datetime("us", "Europe/Vienna")),
        "flag": [True, False, None, True, True], "exact": [Decimal("1.10"), Decimal("2.00"), None, None, None],
    }
)  # fmt: skip
CODED = ROWS.columns[1:]


def tallying(missing: str = "value") -> Tallying:
    arriving = Arriving(where="the frame")
    schema = Schema(quasi=CODED[:3], sensitive=CODED[3:], key="key")
    made = Tallying(schema=schema, columns=ROWS.columns, missing=missing, faults=arriving.faults, clean=arriving.clean)
    return pickle.loads(pickle.dumps(made))


@pytest.mark.parametrize("missing", ["value", "drop"])
def test_tallies_of_batches_are_what_one_reading_tells(missing: str) -> None:
    mine = tallying(missing)
    total = pl.concat([mine.tally(ROWS[:2]), mine.tally(ROWS[2:])]).group_by("what", "col", "t", "w").agg(pl.sum("n"))
    clean = Arriving(where="the frame").clean(ROWS)
    found, whole = mine.gathering(total, dict(clean.schema)), Gathering(mine.schema, missing)
    whole.see(clean)
    assert (found.n_read, found.n, found.types) == (whole.n_read, whole.n, whole.types)
    for name in CODED:
        counted = [
            dict(zip(map(str, one.columns[name].values), one.columns[name].counts.tolist(), strict=True))
            for one in (found, whole)
        ]
        assert {key.replace("-0.0", "0.0"): count for key, count in counted[1].items()} == counted[0], name
        assert found.columns[name].values.dtype == ROWS[name].dtype
    assert mine.faulty(total) == {}


def test_faults_of_all_batches_are_counted_before_they_are_refused() -> None:
    mine = tallying()
    faulty = ROWS.with_columns(real=pl.lit(float("inf")), text=pl.lit("a\0"))
    found = mine.faulty(pl.concat([mine.tally(faulty[:2]), mine.tally(ROWS), mine.tally(faulty[:2])]).filter(n=2))
    assert found == {("real", "infinite"): 2, ("text", "zero"): 2}
    with pytest.raises(InputError, match="'real' of the frame has 2 infinite cells"):
        Arriving(where="the frame").refuse(found)
    with pytest.raises(InputError, match="'text' of the frame has 2 cells with a zero byte"):
        Arriving(where="the frame").refuse({("text", "zero"): 2})
    marks = Arriving(where="'x.csv'", decoded=True)
    with pytest.raises(InputError, match="1 cells that are not UTF-8"):
        marks.refuse(marks.faults(pl.DataFrame({"a": ["ok", "\ufffd"]})))
