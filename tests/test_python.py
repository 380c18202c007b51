"""What calls from Python take and give: models in every form, the same frame out, short words in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.errors import InputError, ParameterError
from shoal.grammar import as_list
from tests import settings

PEOPLE = shoal.example_census(240).select("age", "sex", "region", "diagnosis").drop_nulls()
ROLES: dict[str, Any] = {"quasi": ["age", "sex"], "sensitive": ["diagnosis"], "neutral": ["region"]}


def released(frame: Any, **roles: Any) -> shoal.Release:
    table = shoal.read(frame, **(roles or ROLES))
    return shoal.anonymize(
        table, algorithm={"name": "mondrian"}, models=["k=5", shoal.DistinctL(2)], seed=1, acknowledge=["W-NEUTRAL"]
    )


@pytest.mark.parametrize(
    "given",
    ["k=5", {"name": "k", "k": 5}, shoal.KAnonymity(5), shoal.KAnonymity(k=5), ["k=5"], [{"name": "k", "k": 5}]],
)
def test_a_model_is_given_as_text_as_a_mapping_or_made_alone_or_in_a_list(given: Any) -> None:
    table = shoal.read(PEOPLE.select("age", "sex"), quasi=["age", "sex"])
    made = shoal.anonymize(table, models=given, seed=1)
    assert made.manifest["statement"] == "5-anonymous"


def test_every_model_takes_its_main_parameter_first() -> None:
    assert shoal.EntropyL(3) == shoal.EntropyL(l=3)
    assert shoal.TCloseness(0.2, on="diagnosis") == shoal.TCloseness(t=0.2, on="diagnosis")
    assert as_list("model", "entropy-l=3 on diagnosis") == [shoal.EntropyL(3, on="diagnosis")]
    with pytest.raises(TypeError):
        shoal.TCloseness(0.2, "diagnosis")  # type: ignore[call-arg, misc]


@pytest.mark.parametrize("given", [5, shoal.KAnonymity, [None]])
def test_what_is_no_model_is_refused_with_the_forms_there_are(given: Any) -> None:
    table = shoal.read(PEOPLE.select("age", "sex"), quasi=["age", "sex"])
    with pytest.raises(ParameterError, match="given as text, as a mapping with its 'name', or made"):
        shoal.anonymize(table, models=given)


def test_unknown_settings_are_refused_with_the_nearest() -> None:
    with pytest.raises(ParameterError, match="column 'age'.*Did you mean 'type'"):
        shoal.read(PEOPLE, **ROLES, settings={"age": {"typ": "numeric"}})
    with pytest.raises(TypeError, match="sensitiv"):
        shoal.read(PEOPLE, sensitiv=["diagnosis"])  # type: ignore[call-arg]


def test_the_names_of_settings_are_those_of_the_sections_of_a_recipe() -> None:
    assert settings.FILE.read_text("utf-8") == settings.text(), "run python -m tests.settings"


@pytest.mark.parametrize(
    "given, said",
    [
        ({"quasi": "age"}, "The 'quasi' of roles must be a list. Got 'age'."),
        ({"quasi": ["age", 3.5]}, "Entry 2 of the 'quasi' of roles must be text. Got 3.5."),
        ({"missing_markers": "NA"}, "The 'missing_markers' of the source must be a list. Got 'NA'."),
        ({"across_classes": "no"}, "The 'across_classes' of roles must be true or false. Got 'no'."),
        ({"unpack_limit": True}, "The 'unpack_limit' of the source must be a whole number. Got True."),
        ({"missing": "values"}, "The 'missing' of the source must be one of error, drop, value. Got 'values'. "
         "Did you mean 'value'?"),
    ],
)  # fmt: skip
def test_settings_of_another_kind_are_refused_in_a_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError) as refused:
        shoal.read(PEOPLE, **(ROLES | given))
    assert str(refused.value) == said


def test_a_lazy_frame_comes_back_lazy() -> None:
    frame = released(PEOPLE.lazy()).frame
    assert isinstance(frame, pl.LazyFrame)
    assert frame.collect().equals(released(PEOPLE).frame)


def test_categories_of_pandas_come_back_as_those_that_are_released() -> None:
    given = PEOPLE.to_pandas()
    given["region"] = pd.Categorical(given["region"], ["nowhere", *sorted(set(given["region"]))], ordered=True)
    given["sex"] = given["sex"].astype("category")
    given["diagnosis"] = given["diagnosis"].astype("string")
    frame = released(given).frame
    assert frame["region"].cat.categories.tolist() == sorted(set(frame["region"]))
    assert frame["region"].cat.ordered
    assert set(frame["sex"].cat.categories) == set(frame["sex"])
    assert frame["diagnosis"].dtype == given["diagnosis"].dtype


def test_an_order_goes_where_a_category_was_generalised() -> None:
    given = PEOPLE.to_pandas()
    given["region"] = pd.Categorical(given["region"], sorted(set(given["region"])), ordered=True)
    made = released(given, quasi=["age", "sex", "region"], sensitive=["diagnosis"])
    assert not made.frame["region"].cat.ordered
    assert set(made.frame["region"].cat.categories) == set(made.frame["region"])


def test_categories_of_polars_and_arrow_come_back() -> None:
    there = sorted(PEOPLE["region"].unique())
    given = PEOPLE.with_columns(pl.col("region").cast(pl.Enum(["nowhere", *there])), pl.col("sex").cast(pl.Categorical))
    frame = released(given).frame
    assert frame["region"].dtype == pl.Enum(there)
    assert frame["sex"].dtype == pl.Categorical
    table = released(given.to_arrow()).frame
    assert pa.types.is_dictionary(table.schema.field("region").type)
    assert not pa.types.is_dictionary(table.schema.field("diagnosis").type)


def test_time_zones_come_back() -> None:
    given = PEOPLE.to_pandas()
    days = pd.date_range("2020-03-01", periods=3, tz="Europe/Berlin")
    given["seen"] = days[[row % 3 for row in range(len(given))]]
    frame = released(given, **{**ROLES, "neutral": ["region", "seen"]}).frame
    assert frame["seen"].dt.tz is not None
    assert set(frame["seen"]) <= set(days)


def test_numbers_may_name_columns() -> None:
    given = PEOPLE.to_pandas().set_axis(range(4), axis=1)
    frame = released(given, quasi=[0, 1], sensitive=[3], neutral=[2], settings={0: {"type": "numeric"}}).frame
    assert frame.columns.tolist() == [0, 1, 2, 3]
    with pytest.raises(InputError, match="two columns of the same name"):
        shoal.read(given.rename(columns={1: "0"}), quasi=[0])


def test_words_are_short_and_a_notebook_sees_a_table() -> None:
    people = PEOPLE.with_columns(region=pl.lit("<script>alert(1)</script>"))
    table = shoal.read(people, **ROLES)
    made = released(people)
    assert repr(made) == f"Release({made.frame.height:,} rows: 5-anonymous, distinct 2-diverse on diagnosis)"
    assert len(repr(table)) < 100
    for shown in (table._repr_html_(), made._repr_html_()):
        assert shown.count("<table>") >= 1
        assert "<script>" not in shown
    assert not [value for value in PEOPLE["diagnosis"].unique() if value in table._repr_html_()]


def test_a_release_that_an_engine_wrote_shows_itself(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("sex,town\n" + "m,a\nf,b\n" * 4)
    recipe = {
        "source": {"path": str(tmp_path / "people.csv")},
        "roles": {"quasi": ["sex", "town"]},
        "models": [{"name": "k", "k": 2}],
        "engine": {"name": "duckdb"},
        "output": {"folder": str(tmp_path / "out")},
    }
    made = shoal.run(recipe)
    assert repr(made) == "Release(8 rows: 2-anonymous)"
    assert "8 rows" in made._repr_html_()
    with pytest.raises(InputError, match="The rows of this release are in '.*out': read them there"):
        _ = made.frame
    with pytest.raises(InputError, match="read them there"):
        made.measure("ncp")
