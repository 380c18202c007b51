"""The census: repeatable, shaped as promised, and with the dependencies that make it worth anonymising."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.errors import ParameterError
from shoal.io import census as tables
from shoal.io.census import CENSUS_YEAR, COLUMNS, draw, generate
from shoal.io.census_hierarchies import DIAGNOSIS, EDUCATION, MARITAL_STATUS, OCCUPATION, REGION, SEX, leaves

N = 40_000


@pytest.fixture(scope="module")
def census() -> pl.DataFrame:
    return generate(N, seed=7)


def test_the_same_seed_gives_the_same_rows() -> None:
    assert generate(500, seed=3).equals(generate(500, seed=3))
    assert not generate(500, seed=3).equals(generate(500, seed=4))


@pytest.mark.parametrize("rows", [1, 2, 3, 17, 1000])
def test_any_number_of_rows(rows: int) -> None:
    census = generate(rows)
    assert census.height == rows
    assert census.columns == list(COLUMNS)


@pytest.mark.parametrize("rows", [0, -1, 1.5, "many", None])
def test_a_bad_number_of_rows_is_said_in_one_sentence(rows: object) -> None:
    with pytest.raises(ParameterError, match="'rows'"):
        generate(rows)  # type: ignore[arg-type]


def test_types_and_vocabulary(census: pl.DataFrame) -> None:
    types = dict(census.schema)
    assert types["birth_date"] == types["admitted"] == pl.Date
    assert types["age"] == types["income"] == types["visits"] == pl.Int64
    assert types["postcode"] == types["person"] == pl.String
    words = {
        "sex": SEX,
        "region": leaves(REGION),
        "marital_status": leaves(MARITAL_STATUS),
        "education": leaves(EDUCATION),
        "occupation": leaves(OCCUPATION),
        "industry": tables.INDUSTRY,
        "diagnosis": leaves(DIAGNOSIS),
    }
    for column, known in words.items():
        assert set(census[column].drop_nulls()) <= set(known), column
    assert census["postcode"].str.contains(r"^\d{5}$").all()
    assert census["postcode"].str.starts_with("0").any()


def test_only_the_promised_columns_have_missing_cells(census: pl.DataFrame) -> None:
    shares = {column: census[column].null_count() / N for column in COLUMNS}
    for column in ("education", "occupation", "income"):
        assert 0.008 < shares.pop(column) < 0.022
    assert not any(shares.values())


def test_some_people_have_several_rows_that_agree_on_the_person(census: pl.DataFrame) -> None:
    counts = census["person"].value_counts()["count"]
    assert 0.13 < (counts > 1).mean() < 0.17
    fixed = [column for column in COLUMNS if column not in ("diagnosis", "admitted", "visits")]
    assert census.select(fixed).unique().height == census["person"].n_unique()


def test_age_is_counted_on_the_census_day(census: pl.DataFrame) -> None:
    birthday = pl.col("birth_date")
    not_yet = (birthday.dt.month() > 1) | (birthday.dt.day() > 1)
    expected = census.select(CENSUS_YEAR - birthday.dt.year() - not_yet.cast(pl.Int32)).to_series()
    assert (expected.cast(pl.Int64) == census["age"]).all()
    assert census["age"].min() == 18
    assert census["age"].max() > 90


def test_the_first_digit_of_the_postcode_is_the_region(census: pl.DataFrame) -> None:
    pairs = census.select(pl.col("postcode").str.slice(0, 1), "region").unique()
    assert pairs.height == len(leaves(REGION))
    sizes = census["postcode"].value_counts()["count"].sort(descending=True)
    assert sizes[:24].sum() > N / 3
    assert sizes.len() > 400


def test_income_follows_education_and_has_a_heavy_tail(census: pl.DataFrame) -> None:
    medians = dict(census.group_by("education").agg(pl.col("income").median()).drop_nulls().iter_rows())
    assert medians["lower secondary"] < medians["vocational"] < medians["bachelor"] < medians["doctorate"]
    income = census["income"].drop_nulls()
    assert income.quantile(0.999) > 7 * income.median()
    assert (income % 100 == 0).all()
    assert income.min() >= 0


def test_occupation_depends_on_education_sex_and_age(census: pl.DataFrame) -> None:
    assert set(census.filter(pl.col("occupation") == "retired")["age"] >= 25) == {True}
    nurses = census.filter(pl.col("occupation") == "nurse")["sex"]
    assert (nurses == "female").mean() > 0.7
    physicians = census.filter((pl.col("occupation") == "physician") & pl.col("education").is_not_null())
    assert physicians["education"].is_in(["master", "doctorate"]).mean() > 0.6
    assert (census.filter(pl.col("age") < 25)["occupation"] == "student").mean() > 0.2
    assert (census.filter(pl.col("age") >= 70)["occupation"] == "retired").mean() > 0.9


def test_diagnosis_is_skewed_and_depends_on_age_and_sex(census: pl.DataFrame) -> None:
    shares = census["diagnosis"].value_counts(normalize=True)["proportion"]
    assert shares.max() > 10 * shares.min()
    assert shares.len() == len(leaves(DIAGNOSIS))
    assert "male" not in set(census.filter(pl.col("diagnosis") == "pregnancy")["sex"])
    dementia = census.filter(pl.col("diagnosis") == "dementia")["age"]
    assert dementia.median() > census["age"].median() + 20


def test_influenza_comes_in_winter(census: pl.DataFrame) -> None:
    months = census.filter(pl.col("diagnosis") == "influenza")["admitted"].dt.month()
    assert months.is_in([11, 12, 1, 2, 3, 4]).mean() > 0.9


def test_names_are_no_cell_of_another_column(census: pl.DataFrame) -> None:
    names = set(census["name"])
    for column in COLUMNS:
        if column != "name":
            assert not names & set(census[column].cast(pl.String)), column


def test_draw_follows_its_weights() -> None:
    rng = np.random.Generator(np.random.PCG64(5))
    weights = np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])
    cell = np.repeat([0, 1], 20_000)
    values = draw(rng, weights, cell)
    assert set(values[cell == 1]) == {1}
    assert set(values[cell == 0]) == {0, 2}
    assert abs((values[cell == 0] == 2).mean() - 0.75) < 0.015


def test_tables_have_a_row_for_every_cell() -> None:
    assert tables.education_shares().shape == (4 * 2, len(leaves(EDUCATION)))
    assert tables.marital_status().shape == (6 * 3, len(leaves(MARITAL_STATUS)))
    assert tables.occupation_shares().shape == (9 * 3 * 4, len(leaves(OCCUPATION)))
    assert tables.industry_shares().shape == (len(leaves(OCCUPATION)), len(tables.INDUSTRY))
    assert tables.diagnosis_shares().shape == (4 * 3, len(leaves(DIAGNOSIS)))
