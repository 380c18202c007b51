"""What the pipeline refuses, and what a release gives back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.errors import InfeasibleError, ParameterError, RefusalError

ACCEPT = ["W-UNMODELLED:disease"]


def people(rows: int = 60) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": [f"Person {i:03d}" for i in range(rows)],
            "age": [20 + (7 * i) % 50 for i in range(rows)],
            "sex": ["f" if i % 2 else "m" for i in range(rows)],
            "disease": [("flu", "cold", "asthma", "gout")[(i // 3) % 4] for i in range(rows)],
            "cost": [100 * (i % 9) for i in range(rows)],
        }
    )


def table(frame: object = None, **changes: object) -> Table:
    roles: dict[str, object] = {
        "identifiers": ["name"], "quasi": ["age", "sex"], "sensitive": ["disease"], "drop": ["cost"],
    } | changes  # fmt: skip
    return shoal.read(people() if frame is None else frame, **roles)


def test_a_sensitive_column_without_a_model_is_refused() -> None:
    with pytest.raises(RefusalError, match="'disease' has no model") as caught:
        shoal.anonymize(table(), algorithm=shoal.Mondrian(k=3))
    assert caught.value.codes == ("W-UNMODELLED:disease",)


def test_a_vacuous_model_protects_nothing() -> None:
    with pytest.raises(RefusalError, match="vacuous"):
        shoal.anonymize(table(), algorithm=shoal.Mondrian(k=3), models=[shoal.TCloseness(t=1.0)])


def test_no_identity_model_is_refused() -> None:
    with pytest.raises(RefusalError, match="W-NO-K"):
        shoal.anonymize(table(), models=[shoal.DistinctL(l=2)])
    release = shoal.anonymize(table(), models=[shoal.DistinctL(l=2)], acknowledge=["W-NO-K"])
    assert any("Identity" in sentence for sentence in release.manifest["not_protected"])


def test_order_and_tight_intervals_need_their_codes() -> None:
    with pytest.raises(RefusalError, match="W-ORDER"):
        shoal.anonymize(table(), algorithm=shoal.Mondrian(k=3), acknowledge=ACCEPT, order="kept")
    tight = table(settings={"age": {"snap": "off"}})
    with pytest.raises(RefusalError, match="W-TIGHT"):
        shoal.anonymize(tight, algorithm=shoal.Mondrian(k=3), acknowledge=ACCEPT)


def test_unknown_warning_codes_are_refused() -> None:
    with pytest.raises(ParameterError, match="W-NO-K"):
        shoal.anonymize(table(), algorithm=shoal.Mondrian(k=3), acknowledge=[*ACCEPT, "W-NOK"])


def test_unique_neutral_columns_fail_the_gate() -> None:
    neutral = table(neutral=["cost"], drop=[])
    with pytest.raises(RefusalError, match="W-NEUTRAL"):
        shoal.anonymize(neutral, algorithm=shoal.Mondrian(k=3), acknowledge=ACCEPT)
    shoal.anonymize(neutral, algorithm=shoal.Mondrian(k=3), acknowledge=[*ACCEPT, "W-NEUTRAL"])


def test_the_algorithm_and_the_models_must_agree_on_k() -> None:
    with pytest.raises(ParameterError, match="differently"):
        shoal.anonymize(table(), algorithm=shoal.Mondrian(k=3), models=[shoal.KAnonymity(k=4)])


@pytest.mark.parametrize(
    "models, match",
    [
        ([shoal.KAnonymity(k=61)], "only 60 rows"),
        ([shoal.KAnonymity(k=2), shoal.DistinctL(l=5)], "reaches 4"),
        ([shoal.KAnonymity(k=2), shoal.EntropyL(l=4.5)], "reaches 4"),
        ([shoal.AlphaKGeneral(k=2, alpha=0.2)], "at least 0.25"),
    ],
)
def test_infeasible_models_name_the_nearest_limit(models: list, match: str) -> None:
    with pytest.raises(InfeasibleError, match=match):
        shoal.anonymize(table(), models=models, acknowledge=ACCEPT)


def test_suppression_stays_within_its_limit() -> None:
    exact = shoal.NoAlgorithm(suppression_limit=0.3)
    with pytest.raises(InfeasibleError, match="suppression_limit"):
        shoal.anonymize(table(), algorithm=exact, models=[shoal.KAnonymity(k=2)], acknowledge=ACCEPT)
    starred = shoal.NoAlgorithm(levels={"age": 1}, suppression_limit=0.3)
    release = shoal.anonymize(table(), algorithm=starred, models=[shoal.KAnonymity(k=2)], acknowledge=ACCEPT)
    assert set(release.frame["age"]) == {"*"}
    assert release.evidence["counts"]["suppressed"] == 0


def test_a_number_of_rows_limits_suppression_as_a_share_does() -> None:
    odd = people(60).with_columns(sex=pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("x")).otherwise("sex"))

    def suppressed(**limits: Any) -> int:
        made = shoal.NoAlgorithm(levels={"age": 1}, **limits)
        found = shoal.anonymize(table(odd), algorithm=made, models=[shoal.KAnonymity(k=4)], acknowledge=ACCEPT)
        return int(found.evidence["counts"]["suppressed"])

    assert suppressed(max_suppressed=3) == suppressed(suppression_limit=0.05) == 3
    assert suppressed(max_suppressed=3, suppression_limit=0.5) == 3
    with pytest.raises(InfeasibleError, match="and max_suppressed is 2: raise it"):
        suppressed(max_suppressed=2)
    with pytest.raises(InfeasibleError, match="and max_suppressed is 2 and the suppression_limit is 50.00%: raise it"):
        suppressed(max_suppressed=2, suppression_limit=0.5)
    with pytest.raises(InfeasibleError, match="the suppression_limit is 1.00%"):
        suppressed(max_suppressed=60, suppression_limit=0.01)


def test_searches_keep_to_a_number_of_rows() -> None:
    tree = {"age": {"widths": [10, 30]}}
    frame = people(60).select("age", "disease").with_row_index("id")
    some = shoal.read(frame, key="id", quasi=["age"], sensitive=["disease"], hierarchies=tree)
    models = [shoal.KAnonymity(k=7)]
    share, count = shoal.Optimal(suppression_limit=6 / 60), shoal.Optimal(max_suppressed=6)
    by_share, by_count = (
        shoal.anonymize(some, algorithm=one, models=models, acknowledge=ACCEPT, seed=1) for one in (share, count)
    )
    assert by_share.frame.equals(by_count.frame)
    assert count.parameters()["max_suppressed"] == 6


def test_a_number_of_rows_that_is_none() -> None:
    with pytest.raises(ParameterError, match="'max_suppressed' of Mondrian must be a whole number of at least 0"):
        shoal.Mondrian(max_suppressed=-1)
    with pytest.raises(ParameterError, match="Noise suppresses nobody: leave out the 'max_suppressed'"):
        shoal.RandomAnonymisation(max_suppressed=1)
    with pytest.raises(ParameterError, match="The 'grouping' of Anatomy has a max_suppressed"):
        shoal.Anatomy(grouping={"name": "mondrian", "max_suppressed": 1})


@pytest.mark.parametrize("reference, by", [("input", "attested"), ("released", "rechecked")])
def test_t_closeness_holds_against_its_reference_after_suppression(reference: str, by: str) -> None:
    frame = people(200)
    some = shoal.NoAlgorithm(levels={"age": 1}, suppression_limit=0.9)
    release = shoal.anonymize(
        table(frame.with_columns(pl.when(pl.col("age") > 60).then(pl.lit("x")).otherwise(pl.col("sex")).alias("sex"))),
        algorithm=some, models=[shoal.KAnonymity(k=45), shoal.TCloseness(t=0.2, reference=reference)],
    )  # fmt: skip
    assert release.evidence["counts"]["suppressed"] > 0
    sides = {verdict.by for verdict in release.verdict if verdict.model["name"] == "t-closeness"}
    assert sides == {by}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_same_kind_of_frame_comes_back(library: str) -> None:
    frame = people()
    given = {"pandas": frame.to_pandas, "polars": lambda: frame, "pyarrow": frame.to_arrow}[library]()
    release = shoal.anonymize(table(given), algorithm=shoal.Mondrian(k=3), acknowledge=ACCEPT, seed=4)
    kinds = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
    assert isinstance(release.frame, kinds[library])
    aligned = release.aligned()
    assert len(aligned) == 60
    if library == "pandas":
        assert list(release.frame.index) == list(range(60))
        assert list(aligned["disease"]) == frame["disease"].to_list()


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_categories_without_rows_do_not_leak(tmp_path: Path, format: str) -> None:
    frame = people().to_pandas()
    frame["sex"] = pd.Categorical(frame["sex"], categories=["m", "f", "secret category"])
    release = shoal.anonymize(table(frame), algorithm=shoal.Mondrian(k=3), acknowledge=ACCEPT)
    assert "secret category" not in release.frame["sex"].cat.categories
    published = [path.read_bytes() for path in release.write(tmp_path / "out", format=format).iterdir()]
    assert not [content for content in published if b"secret category" in content]


def test_a_seed_fixes_every_byte_and_a_secret_does_not() -> None:
    def release(seed: int | None) -> pl.DataFrame:
        return shoal.anonymize(table(), algorithm=shoal.Mondrian(k=3), acknowledge=ACCEPT, seed=seed).frame

    assert release(5).equals(release(5))
    assert not release(None).equals(release(None))


def test_rows_keep_their_draws_when_they_have_keys() -> None:
    frame = people()
    keyed = {"identifiers": [], "key": "name"}

    def classes(one: pl.DataFrame) -> dict[str, tuple]:
        release = shoal.anonymize(
            table(one, **keyed), algorithm=shoal.Mondrian(k=3, mode="relaxed"), acknowledge=ACCEPT, seed=2
        )
        cells = release.aligned().select("age", "sex").rows()
        return dict(zip(one["name"].to_list(), cells, strict=True))

    assert classes(frame) == classes(frame.reverse())


def test_starred_rows_are_no_class() -> None:
    frame = pl.DataFrame({"age": [1, 1, 1, 2], "s": ["a", "b", "a", "b"]})
    release = shoal.anonymize(
        shoal.read(frame, quasi=["age"], sensitive=["s"]), algorithm=shoal.NoAlgorithm(suppression_limit=0.5),
        models=[shoal.KAnonymity(k=2)], acknowledge=["W-UNMODELLED:s"], suppressed="star",
    )  # fmt: skip
    assert sorted(release.frame["age"]) == ["*", "1", "1", "1"]
    assert sorted(release.frame["s"]).count("*") == 1
    assert release.manifest["classes"]["count"] == 1


OUTLIERS = [
    ("Zed", 97, "9999", "poet", "rabies", 450), ("Yan", 3, "5555", "diver", "leprosy", -60),
    ("Xi", 61, "2222", "diver", "flu", 100), ("Wim", 97, "9998", "poet", "rabies", 900),
]  # fmt: skip


def with_outliers(outliers: list[tuple[object, ...]]) -> shoal.Release:
    """A recoding that was fixed before, so that nothing but what is suppressed depends on the outliers."""
    jobs, ills = ("cook", "smith"), ("flu", "cold", "gout")
    crowd = [
        (f"P{i}", 20 + i, f"1{i % 2}0{i % 10}", jobs[i % 2], ills[i % 3], i % 4 * 100) for i in range(40)
    ]
    frame = pl.DataFrame(crowd + outliers, schema=["name", "age", "zip", "job", "disease", "cost"], orient="row")
    tree = {"*": {"craft": [*jobs, "diver"], "art": ["poet"]}}
    source = shoal.read(
        frame, identifiers=["name"], quasi=["age", "zip", "job"], sensitive=["disease", "cost"], name="people",
        hierarchies={"age": {"widths": [10, 40]}, "zip": {"prefix": [1]}, "job": {"nested": tree}},
        settings={"zip": {"type": "categorical"}},
    )  # fmt: skip
    models = [
        shoal.KAnonymity(k=3), shoal.DistinctL(l=2), shoal.TCloseness(t=0.8, on="disease"),
        shoal.TCloseness(t=0.95, on="cost", reference="released"), shoal.MaxRange(limit=0.95, on="cost"),
        shoal.WorstGroupUtility(u=0.9), shoal.RangeDiversity(p=0.9, on="disease"),
    ]  # fmt: skip
    fixed = shoal.NoAlgorithm(levels={"age": 1, "zip": 1, "job": 1}, suppression_limit=0.2)
    return shoal.anonymize(source, algorithm=fixed, models=models, seed=1)


@pytest.mark.parametrize("outliers", [OUTLIERS[:1], OUTLIERS[1:2], OUTLIERS[2:3], OUTLIERS[:2], OUTLIERS])
def test_nothing_observed_from_suppressed_people_is_published(outliers: list[tuple[object, ...]]) -> None:
    """Whoever is suppressed, and however many, manifest and report are those of a table without them."""
    without, made = with_outliers([]), with_outliers(outliers)
    assert made.evidence["counts"]["suppressed"] == len(outliers)
    assert made.manifest == without.manifest
    assert made.gated.report == without.gated.report
    assert sorted(made.frame.rows()) == sorted(without.frame.rows())


def test_the_manifest_holds_no_secret_no_parameter_and_no_timing() -> None:
    frame = people().with_columns(pl.col("age") * 1000 + pl.int_range(pl.len()))
    release = shoal.anonymize(table(frame), algorithm=shoal.Mondrian(k=3), acknowledge=ACCEPT, keys=Keys(b"\x01" * 32))
    text = str(dict(release.manifest))
    for word in ("seed", "secret", "seconds", "suppression", "Person", "dropped", "measures"):
        assert word not in text


def test_a_flat_quasi_identifier_may_have_a_hundred_thousand_values() -> None:
    rows = 100_000
    frame = pl.DataFrame({"code": pl.Series(range(rows)).cast(pl.String), "age": pl.Series(range(rows)) % 90})
    given = shoal.read(frame, quasi=["code", "age"], settings={"code": {"type": "categorical"}})
    assert shoal.anonymize(given, algorithm=shoal.Mondrian(k=10)).frame.height == rows


@pytest.mark.parametrize("name", ["mondrian", "optimal", "k-members", "local-suppression"])
def test_a_release_of_nothing_but_stars_is_infeasible(name: str) -> None:
    """Without other columns a class of stars looks as suppressed records do, and is none to the gate."""
    table = shoal.read(pl.DataFrame({"a": list("uvwx"), "b": list("klmn")}), quasi=["a", "b"])
    asked: dict[str, Any] = {"algorithm": name, "models": [shoal.KAnonymity(k=4)], "seed": 1}
    with pytest.raises(InfeasibleError, match="Every cell of the release would be '\\*', as those of suppressed"):
        shoal.anonymize(table, suppressed="star", **asked)
    assert set(shoal.anonymize(table, **asked).frame["a"]) == {"*"}


def test_rows_of_stars_stand_in_for_nobody_where_they_look_suppressed() -> None:
    """To the gate these are suppressed records, which nobody could be: k-wildcard has to hold without them."""
    table = shoal.read(pl.DataFrame({"a": list("uuwvw"), "b": list("mlkln")}), quasi=["a", "b"])
    asked: dict[str, Any] = {"algorithm": "local-suppression", "models": [shoal.KWildcard(k=4)], "seed": 1}
    with pytest.raises(InfeasibleError):  # and not the gate
        shoal.anonymize(table, suppressed="star", **asked)
    assert shoal.anonymize(table, **asked).frame.height == 5


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_an_engine_of_sources_opens_no_table_in_memory(engine: str) -> None:
    with pytest.raises(ParameterError, match="a table is in memory: leave 'engine' out"):
        shoal.anonymize(table(), models="k=3", acknowledge=ACCEPT, engine=engine)
