"""Census and Adult, released by every algorithm: no file tells a value that was read and is not released.

The census is released as it was recorded, too, which ``tests/test_recorded.py`` looks at for other tables.

What is looked for here is simple: every text of some length, date or long number that was read and stands in no
released cell, as whole words in manifest and report. Short ones are left to the gate, whose check every release passes.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.cli.targets import Target, open_target
from shoal.io.census_hierarchies import hierarchies
from shoal.registry import make, names
from shoal.release.entry import verify_release
from shoal.release.explain import explain
from shoal.risk.assess import assess
from shoal_papers.adult import COLUMNS
from tests.recorded.digests import digests

SETTINGS: dict[str, dict[str, Any]] = {
    "alpha-k": {"alpha": 0.8, "k": 3}, "upc": {"utility": 0.9, "protection": 0.9}, "anatomy": {"l": 2},
    "personalised": {"p": 0.5, "guard_level": 0}, "m-invariant": {"m": 2},
    "auto": {"sample": 50, "candidates": [{"name": "mondrian", "mode": "relaxed"}]},
    "k-optimize": {"nodes": 9}, "genetic": {"population": 9, "evaluations": 90},
    "record-swapping": {"geography": ["education"]},
    # Where any number of rows may be suppressed these generalise nothing; with other limits no two are alike.
    "samarati": {"suppression_limit": 0.4, "prefer": "min-suppression"},
    "incognito": {"suppression_limit": 0.4, "measure": "dm"},
    "rv-global": {"suppression_limit": 0.4}, "rv-local": {"suppression_limit": 0.3},
    "rv-hybrid": {"suppression_limit": 0.2}, "rv-cluster": {"suppression_limit": 0.2},
    "rv-distributed": {"max_strings": 9, "suppression_limit": 0.1}, "graded": {"bounds": "quantile"},
    "set-partition": {"suppression_limit": 0.1}, "top-down-subtree": {"suppression_limit": 0.2},
}  # fmt: skip
CODED = {"graded", "table-transform"}
CODES = ["W-NO-K", "W-RA-LINK", "W-PP-REV", "W-EXACT-QI", "W-NEUTRAL", "W-ROWS", "W-TIGHT"]
PERTURBED = {"condensation", "noise", "pram", "record-swapping", "shuffling", "swapping"}
LIMITED = {"graded", "mapping", "random", "table-transform", *PERTURBED}


def census() -> dict[str, Any]:
    rows = shoal.example_census(300)
    trees = {name: tree for name, tree in hierarchies().items() if name in ("postcode", "education", "diagnosis")}
    trees |= {"age": {"quantiles": [8, 4, 2]}, "birth_date": {"dates": ["year", "decade"]}}
    quasi = ["age", "postcode", "education", "birth_date"]
    return {
        "source": rows, "identifiers": ["name"], "quasi": quasi, "sensitive": ["diagnosis"],
        "drop": [name for name in rows.columns if name not in ("name", *quasi, "diagnosis")], "missing": "drop",
        "hierarchies": trees, "settings": {"postcode": {"type": "categorical"}}, "name": "census",
    }  # fmt: skip


def adult(folder: Path) -> dict[str, Any]:
    files = folder / "data" / "adult"
    rows = pl.read_csv(files / "adult.data", has_header=False, new_columns=list(COLUMNS), n_rows=600)
    rows = rows.with_columns(pl.col(pl.String).str.strip_chars())
    quasi = ["age", "sex", "education", "marital-status", "race"]
    return {
        "source": rows, "quasi": quasi, "sensitive": ["occupation"], "missing_markers": ["?"], "missing": "drop",
        "drop": [name for name in rows.columns if name not in (*quasi, "occupation")], "name": "adult",
        "hierarchies": {name: str(next(files.rglob(f"*hierarchy_{name}.csv"))) for name in (*quasi, "occupation")},
    }  # fmt: skip


def released(name: str, given: dict[str, Any], folder: Path) -> tuple[Path, pl.DataFrame]:
    source = given["source"]
    if name in CODED:  # codes that rise are for numbers
        target = "income" if "income" in source.columns and source["income"].dtype.is_numeric() else "hours-per-week"
        given = given | {"sensitive": [target], "drop": [one for one in given["drop"] if one != target]}
        given["drop"].append(next(one for one in ("diagnosis", "occupation") if one in source.columns))
        given["hierarchies"] = {key: tree for key, tree in given["hierarchies"].items() if key in given["quasi"]}
    table = shoal.read(**given)
    spec = {"name": name, **({} if name in LIMITED else {"suppression_limit": 1.0}), **SETTINGS.get(name, {})}
    models = [] if name in (*LIMITED, "anatomy") else [{"name": "k", "k": 3}]
    release = shoal.anonymize(
        table, algorithm=make("algorithm", spec), models=[make("model", one) for one in models], seed=1,
        acknowledge=[
            *CODES, *(["W-PERTURBED"] if name in PERTURBED else []),
            *(f"W-UNMODELLED:{one}" for one in given["sensitive"]),
        ],
    )  # fmt: skip
    return release.write(folder / "out", format="parquet" if name in ("mondrian", "optimal") else "csv"), source


def told(folder: Path, source: pl.DataFrame) -> set[str]:
    """Values read and not released that stand in manifest or report, as whole words."""
    tables = [
        pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema=False)
        for path in folder.iterdir() if path.stem in ("release", "sensitive")
    ]  # fmt: skip
    cells = {text for table in tables for column in table for text in column.cast(pl.String).drop_nulls().to_list()}
    parts = {part for text in cells for part in re.split(r"[\[\]{}|,()<>=]", text)} | cells
    public = unescape(" ".join((folder / name).read_text("utf-8") for name in ("manifest.json", "report.html")))
    read = {text for column in source for text in column.cast(pl.String).drop_nulls().to_list()}
    known = {word for name in source.columns for word in (name, name.replace("_", " "))}
    telling = {text for text in read - parts - known if len(text) >= 5 or re.search(r"[A-Za-z]{4}", text)}
    found = {text for text in telling if text in public and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", public)}
    return {text for text in found if text.lower() not in ("other", "single")}  # words of ours


@pytest.mark.parametrize("column", ["name", "birth_date", "income", "occupation"])
@pytest.mark.parametrize("where", ["manifest.json", "report.html"])
def test_a_planted_value_is_found(tmp_path: Path, where: str, column: str) -> None:
    folder, source = released("mondrian", census(), tmp_path)
    value = source[column].cast(pl.String)[3]
    assert value not in told(folder, source)
    public = folder / where
    public.write_text(public.read_text("utf-8").replace("anonymous", f"anonymous <td>{value}</td>", 1), "utf-8")
    assert value in told(folder, source)


@pytest.mark.parametrize("name", names("algorithm"))
def test_the_census_by_every_algorithm(tmp_path: Path, name: str) -> None:
    folder, source = released(name, census(), tmp_path)
    groups = [hierarchies()[tree]["nested"]["*"] for tree in ("education", "diagnosis")]
    whole = {one for group in groups for values in group.values() for one in values}
    assert not told(folder, source) - whole  # lists of words that are public as a whole
    assert verify_release(folder).passed
    with open_target(Target(str(folder), {})) as (rows, _):
        assert assess(rows, suda=0).rows > 0
    assert explain(folder).why
    from tests.recorded.releases import RECORD_ANEW, recorded  # which releases the same census

    assert digests(folder).split()[0] == recorded()[f"census {name}"].split()[0], RECORD_ANEW


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", names("algorithm"))
def test_adult_by_every_algorithm(tmp_path: Path, shared: Path, name: str) -> None:
    folder, source = released(name, adult(shared), tmp_path)
    assert not told(folder, source)
    assert verify_release(folder).passed
