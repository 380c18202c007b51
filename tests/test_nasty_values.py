"""Whatever stands in a cell: a release that its own check accepts, or one clean refusal."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import InfeasibleError, UserError
from shoal.registry import make
from shoal.release.write import read_tables
from shoal.verify.recheck import recheck

NUMBERS = [
    "1", "1.0", "+1", "-0", "0", "1e0", "1e23", "100000000000000000000000", "0.1", ".1", "1e-7", "-5", "2.50",
    "9007199254740993", "9007199254740992", "9007199254740994", "18446744073709551616",
    "0.1000000000000000055511151231", "0.1234567890123456", "1e100", "-1e100", "1e101", "1e300", "1e-100",
    "1e-300", "1e-400", "1e400", "inf", "nan", "NaN",
]  # fmt: skip
TEXTS = [
    "HIV", "HIV ", "HIV\u200b", "\ufeffHIV", "flu", "flu\u00a0", "*", "<missing>", "\\*", "{a|b}", "[1,2]",
    "a|b", "a\\", "\\", "a,b", '"', '""', "'", "=1+1", "@x", "-x", "\t", " ", "", "a\nb", "a\rb", "\r", "\r\n",
    "\x01", "x\x00y", "caf\u00e9", "cafe\u0301", "1", "1.0", "01", "true", "\u202eabc", "\U0001f600",
    "a\u2028b", "\u240d", "e\ufe0f", "null", "None", "~", "#x",
]  # fmt: skip
DATES = ["2020-01-01", "2020-1-1", "0001-01-01", "9999-12-31", "10000-01-01", "2020-02-30", "-0001-01-01", "2020-01-02"]
POOLS = {"numbers": NUMBERS, "texts": TEXTS, "dates": DATES, "mixed": NUMBERS + TEXTS + DATES}
MODELS = [
    [shoal.KAnonymity(k=2)],
    [shoal.KAnonymity(k=2), shoal.DistinctL(l=2, on="s")],
    [shoal.KAnonymity(k=2), shoal.Variance(v=0.5, on="s")],
    [shoal.KAnonymity(k=2), shoal.TCloseness(t=0.5, on="s")],
]


def column(rng: random.Random, rows: int) -> tuple[list[str], dict[str, Any]]:
    """Cells from a few values of one pool, and perhaps a declared type."""
    name = rng.choice(list(POOLS))
    few = rng.sample(POOLS[name], rng.randint(1, 4))
    kind = rng.choice([None, "categorical", "categorical", {"numbers": "numeric", "dates": "date"}.get(name)])
    return [rng.choice(few) for _ in range(rows)], {} if kind is None else {"type": kind}


def attempt(rng: random.Random, folder: Path) -> str:
    """One table on its way from a file or frame to a written and re-checked release; says how far it came."""
    rows = rng.randint(4, 12)
    made = {name: column(rng, rows) for name in ("q", "r", "s", "n")}
    frame = pl.DataFrame({name: cells for name, (cells, _) in made.items()})
    source: Any = frame
    if rng.random() < 0.5:
        source = folder / "x.csv"
        frame.write_csv(source, quote_style="always")
    try:
        table = shoal.read(
            source,
            quasi=["q", "r"],
            sensitive=["s"],
            neutral=["n"],
            settings={name: spec for name, (_, spec) in made.items() if spec and name != "n"},
            hierarchies={"r": {"prefix": [1]}} if rng.random() < 0.3 else {},
            missing=rng.choice(["value", "value", "drop", "error"]),
        )
        release = shoal.anonymize(
            table,
            algorithm=shoal.Mondrian(suppression_limit=rng.choice([0, 1])),
            models=rng.choice(MODELS),
            suppressed=rng.choice(["drop", "star"]),
            acknowledge=["W-UNMODELLED:s", "W-NEUTRAL", "W-TIGHT"],
            seed=rng.randint(0, 99),
        )
    except (UserError, InfeasibleError):
        return "refused"
    release.write(folder / "out", format=rng.choice(["csv", "parquet"]), replace=True)
    frames, manifest = read_tables(folder / "out")
    report = recheck(frames["release"], manifest, frames.get("sensitive"))
    assert report.passed, [check.detail for check in report.checks if not check.passed]
    return "released"


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(8))
def test_a_release_that_its_own_check_accepts_or_a_refusal(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    found = [attempt(rng, tmp_path) for _ in range(20)]
    assert min(found.count("released"), found.count("refused")) >= 2


def test_fractions_beside_starred_rows_are_those_of_their_source() -> None:
    frame = pl.DataFrame({"age": ["20", "20", "22", "22", "99"], "share": [1.0, 2.5, 1e20, 1e-7, 3.0]})
    table = shoal.read(frame, quasi=["age"], neutral=["share"])
    method = make("algorithm", {"name": "none", "suppression_limit": 0.5})
    release = shoal.anonymize(
        table, algorithm=method, models=[shoal.KAnonymity(k=2)], suppressed="star", acknowledge=["W-NEUTRAL"]
    )
    assert sorted(release.frame["share"]) == ["*", "1.0", "1e+20", "1e-7", "2.5"]
