"""Tables that are written otherwise than a release: an error that names column and share, never a low risk."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from shoal.cli.main import execute
from tests.cli.conftest import Result

Shoal = Callable[..., Result]

RECIPE = """\
acknowledge = ["W-UNMODELLED:disease", "W-UNMODELLED:income", "W-DETERMINES:income"]
seed = 1

[source]
path = "people.csv"

[roles]
quasi = ["born", "zip", "town", "height"]
sensitive = ["disease", "income"]

[columns.zip]
type = "categorical"

[hierarchies]
born = { dates = ["month", "year", "decade"] }
zip = { prefix = [3, 1] }

[[models]]
name = "k"
k = 3

[algorithm]
name = "mondrian"
"""
TOWNS = ("Köln", "Bonn", "Ulm")


def people(first: int, count: int) -> pl.DataFrame:
    numbers = range(first, first + count)
    return pl.DataFrame(
        {
            "born": [f"{1950 + n * 7 % 50}-{1 + n % 12:02}-{1 + n * 5 % 28:02}" for n in numbers],
            "zip": [f"0{1000 + n * 37 % 90}" for n in numbers],
            "town": [TOWNS[n % 3] for n in numbers],
            "height": [150 + n * 11 % 50 for n in numbers],
            "disease": [("flu", "cold", "gout")[n * 5 % 11 % 3] for n in numbers],
            "income": [20_000 + 130 * (n * 17 % 100) for n in numbers],
        }
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release."""
    folder = tmp_path_factory.mktemp("made")
    people(0, 150).write_csv(folder / "people.csv")
    people(1000, 60).write_csv(folder / "others.csv")
    (folder / "recipe.toml").write_text(RECIPE, "utf-8")
    assert execute(["run", str(folder / "recipe.toml")]) == 0
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "out"


text, number = pl.col("zip"), pl.col("height")
day = pl.col("born").str.to_date()
# What is done to a column, and the share of its cells that do not meet the release.
CHANGES = {
    "dates as dd.mm.yyyy": ("born", day.dt.strftime("%d.%m.%Y"), 100.0),
    "dates as mm/dd/yyyy": ("born", day.dt.strftime("%m/%d/%Y"), 100.0),
    "dates as day numbers": ("born", day.cast(pl.Int32).cast(pl.String), 100.0),
    "some unknown dates": ("born", pl.when(number < 160).then(pl.lit("unknown")).otherwise(pl.col("born")), 20.0),
    "leading zeros lost": ("zip", text.cast(pl.Int64).cast(pl.String), 100.0),
    "codes with a country": ("zip", "D-" + text, 100.0),
    "towns in capitals": ("town", pl.col("town").str.to_uppercase(), 100.0),
    "some towns in capitals": ("town", pl.when(number < 160).then(pl.lit("BONN")).otherwise(pl.col("town")), 20.0),
    "towns in another encoding": ("town", pl.col("town").str.replace("ö", "Ã¶"), 33.3),
    "towns as numbers": ("town", pl.col("town").replace({town: str(at) for at, town in enumerate(TOWNS)}), 100.0),
    "heights in metres": ("height", (number / 100).cast(pl.String), 100.0),
    "heights with a unit": ("height", number.cast(pl.String) + " cm", 100.0),
    "heights with a comma": ("height", number.cast(pl.String) + ",0", 100.0),
    "no heights at all": ("height", pl.lit(None), None),
    "diseases in capitals": ("disease", pl.col("disease").str.to_uppercase(), 100.0),
    "diseases in words of another language": ("disease", "x" + pl.col("disease"), 100.0),
    "incomes in thousands": ("income", (pl.col("income") / 1000).cast(pl.String), 100.0),
    "incomes with a currency": ("income", "EUR " + pl.col("income").cast(pl.String), 100.0),
}


def spoiled(change: str, count: int = 150, first: int = 0) -> pl.DataFrame:
    name, made, _ = CHANGES[change]
    return people(first, count).with_columns(made.alias(name))


def assert_named(result: Result, change: str) -> None:
    """Exit code 2, with the column and about the share."""
    name, _, share = CHANGES[change]
    assert result.code == 2, result.out
    assert f"'{name}'" in result.err
    if share is not None:
        found = re.search(r"([\d.]+)%", result.err)
        assert found is not None, result.err
        assert float(found[1]) == pytest.approx(share, abs=5)


@pytest.mark.parametrize("change", CHANGES)
def test_people_who_do_not_meet_a_release_are_refused(shoal: Shoal, folder: Path, change: str) -> None:
    other, source = folder.parent / "other.csv", folder.parent / "people.csv"
    spoiled(change).write_csv(other)
    assert_named(shoal("attack", folder, "--against", other), change)
    assert_named(shoal("attack", folder.parent / "recipe.toml", "--against", other), change)
    spoiled(change, 60, 1000).write_csv(other)
    assert_named(shoal("attack", folder, "--against", source, "--control", other), change)


@pytest.mark.parametrize("change", CHANGES)
def test_rows_that_do_not_meet_a_release_are_refused_as_its_original(shoal: Shoal, folder: Path, change: str) -> None:
    other = folder.parent / "other.csv"
    spoiled(change).write_csv(other)
    result = shoal("measure", folder, "--evaluate", "distributions", "--against", other)
    assert result.code == 2, result.out
    assert f"'{CHANGES[change][0]}'" in result.err


@pytest.mark.parametrize("change", [one for one in CHANGES if CHANGES[one][0] in ("town", "zip")])
def test_a_file_is_held_to_the_same(shoal: Shoal, folder: Path, change: str) -> None:
    """Cells of any tool's file, read by how they are written."""
    other, file = folder.parent / "other.csv", folder.parent / "people.csv"
    spoiled(change).write_csv(other)
    flags = ["--quasi", "town", "--quasi", "zip", "--type", "zip=categorical", "--sensitive", "disease"]
    assert_named(shoal("attack", file, *flags, "--against", other), change)


@pytest.mark.parametrize("change", [one for one in CHANGES if CHANGES[one][0] not in ("disease", "income")])
def test_a_population_is_held_to_the_same(shoal: Shoal, folder: Path, change: str) -> None:
    other, file = folder.parent / "other.csv", folder.parent / "people.csv"
    spoiled(change).write_csv(other)
    quasi = [word for name in ("born", "zip", "town", "height") for word in ("--quasi", name)]
    result = shoal("risk", file, *quasi, "--population", other)
    assert result.code == 2
    assert f"'{CHANGES[change][0]}'" in result.err or "30 of 150 classes have more records" in result.err


def test_outsiders_are_no_mistake(shoal: Shoal, folder: Path) -> None:
    """A register of other people, few people of the data, typed columns, and missing cells."""
    source, other = people(0, 150), folder.parent / "other.csv"
    unknown = pl.lit(None, dtype=pl.String)
    abroad = people(0, 900).with_columns(town=pl.lit("Paris"), zip="9" + text, height=number + 100)
    for table in (pl.concat([source, abroad]), source.head(3), source.with_columns(town=unknown).vstack(source)):
        table.write_csv(other)
        result = shoal("attack", folder, "--against", other, "--only", "linkage", "--json")
        assert result.code == 0, result.out
        assert result.json["attacks"][0]["figures"][0]["value"] > 0
    source.with_columns(day.alias("born")).write_parquet(folder.parent / "typed.parquet")
    assert shoal("attack", folder, "--against", folder.parent / "typed.parquet", "--only", "linkage").code == 0


def test_attacks_take_parameters(shoal: Shoal, folder: Path) -> None:
    def found(*only: str) -> dict[str, float]:
        flags = [word for one in only for word in ("--only", one)]
        result = shoal("attack", folder.parent / "recipe.toml", "--hold-out", "0", *flags, "--json")
        assert result.code == 0, result.out
        return {one["name"]: one["value"] for attack in result.json["attacks"] for one in attack["figures"]}

    assert found("proximity eps=0")["proximity:income"] < found("proximity=5000")["proximity:income"]
    assert set(found("homogeneity on disease")) < set(found("homogeneity"))
    for wrong, what in {
        "proximity eps=-1": "eps", "proximity reach=1": "'reach'", "linkage=3": "no parameter", "linkag": "'linkage'",
        "homogeneity on zip": "'zip'", "proximity 'eps": "quote", "": "NAME", "proximity eps": "key=value",
    }.items():  # fmt: skip
        result = shoal("attack", folder, "--only", wrong)
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert what in result.err
