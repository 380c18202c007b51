"""Kinds of release beside the generalised one: what is published, refused, measured and kept apart."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.algorithms.base import Algorithm
from shoal.data.table import Table
from shoal.errors import InfeasibleError, InputError, ParameterError, RecipeError, RefusalError
from shoal.vault import Key, load, seal

DISEASES = ("flu", "cold", "asthma", "gout", "angina")
CASES: dict[str, tuple[Algorithm, list[str]]] = {
    "randomised": (shoal.RandomAnonymisation(), ["W-RA-LINK"]),
    "pseudonymised": (shoal.TableTransform(), ["W-PP-REV"]),
    "bucketised": (shoal.Anatomy(l=3, on="disease"), ["W-EXACT-QI", "W-UNMODELLED:cost"]),
    "perturbed": (shoal.Condensation(size=5), ["W-PERTURBED"]),
    "microaggregated": (shoal.Microaggregation(k=3), ["W-UNMODELLED:cost", "W-UNMODELLED:disease"]),
}


def people(rows: int = 90) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": [f"Person {i:03d}" for i in range(rows)],
            "age": [20 + (7 * i) % 50 for i in range(rows)],
            "sex": ["f" if i % 2 else "m" for i in range(rows)],
            "disease": [DISEASES[(i // 3) % 5] for i in range(rows)],
            "cost": [100.5 + 7 * (i % 31) for i in range(rows)],
            "ward": ["north" if i % 3 else "south" for i in range(rows)],
        }
    )


def table(frame: pl.DataFrame | None = None, **changes: Any) -> Table:
    roles: dict[str, Any] = {
        "identifiers": ["name"], "quasi": ["age", "sex"], "sensitive": ["disease", "cost"], "neutral": ["ward"],
    } | changes  # fmt: skip
    return shoal.read(people() if frame is None else frame, **roles)


def release(kind: str, **changes: Any) -> shoal.Release:
    algorithm, codes = CASES[kind]
    wanted: dict[str, Any] = {
        "algorithm": algorithm, "acknowledge": [*codes, "W-NEUTRAL"], "seed": 3,
    } | changes  # fmt: skip
    return shoal.anonymize(table(), **wanted)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_what_is_written_verifies(kind: str, format: str, tmp_path: Path) -> None:
    made = release(kind)
    made.write(tmp_path / "out", format=format)
    report = shoal.verify_release(tmp_path / "out")
    assert report.passed, [check for check in report.checks if not check.passed]
    assert made.manifest["kind"] == kind
    assert made.manifest["statement"].startswith(kind)
    assert all("name" not in frame.columns for frame in made.frames.values())


@pytest.mark.parametrize("kind", ["randomised", "pseudonymised", "bucketised", "perturbed"])
def test_a_refusal_says_what_was_measured(kind: str) -> None:
    algorithm, codes = CASES[kind]
    with pytest.raises(RefusalError, match=r"\d%") as caught:
        shoal.anonymize(table(), algorithm=algorithm, acknowledge=[*codes[1:], "W-NEUTRAL"], seed=3)
    assert caught.value.codes == (codes[0],)
    assert not [value for value in DISEASES if value in str(caught.value)]


def test_a_code_accepts_only_what_it_is_for() -> None:
    # Groups do protect sensitive values, so that one without a model is refused as ever.
    with pytest.raises(RefusalError, match="cost") as caught:
        shoal.anonymize(table(), algorithm=shoal.Anatomy(l=3, on="disease"), acknowledge=["W-EXACT-QI"])
    assert caught.value.codes == ("W-UNMODELLED:cost",)
    with pytest.raises(RefusalError, match="W-NO-K"):
        shoal.anonymize(table(), algorithm=shoal.NoAlgorithm(), acknowledge=["W-PP-REV", "W-RA-LINK", "W-EXACT-QI"])


@pytest.mark.parametrize("kind", ["randomised", "pseudonymised", "bucketised", "perturbed"])
def test_what_was_measured_is_published_and_in_the_evidence(kind: str) -> None:
    made = release(kind)
    measured = made.manifest["measured"]
    assert [one["name"] for one in measured] == [one.name for one in made.evidence["attacks"]]
    assert all(one["interval"][0] <= one["value"] <= one["interval"][1] for one in measured)
    text = str(measured)
    assert not [value for value in DISEASES if value in text]


@pytest.mark.parametrize("kind", CASES)
def test_nothing_is_called_anonymous_without_a_model(kind: str) -> None:
    made = release(kind)
    statement = made.manifest["statement"]
    assert ("anonymous" in statement) == (kind == "microaggregated")
    assert len(made.manifest["not_protected"]) > 3


def test_models_are_judged_on_released_classes() -> None:
    with pytest.raises(InfeasibleError, match="suppress"):
        release("randomised", models=[shoal.KAnonymity(k=2)])
    few = table(people().with_columns(age=pl.col("age") // 40))
    made = shoal.anonymize(
        few, algorithm=shoal.RandomAnonymisation(), models=[shoal.KAnonymity(k=2)], acknowledge=["W-RA-LINK"], seed=1
    )
    assert made.manifest["statement"] == "randomised; 2-anonymous"
    assert made.manifest["classes"]["smallest"] == made.frame.group_by("age", "sex").len()["len"].min()


def test_models_on_coded_columns_are_attested_and_look_at_values() -> None:
    few = table(people().with_columns(age=pl.col("age") // 40))
    models = [shoal.KAnonymity(k=2), shoal.TCloseness(t=0.9, on="cost"), shoal.DistinctL(l=3, on="disease")]
    made = shoal.anonymize(few, algorithm=shoal.TableTransform(), models=models, acknowledge=["W-PP-REV"], seed=1)
    by = {(verdict.model["name"], verdict.by) for verdict in made.verdict}
    assert by == {("k", "rechecked"), ("t-closeness", "attested"), ("distinct-l", "attested")}
    coded = [entry for entry in made.manifest["columns"] if "coded" in entry]
    assert {entry["name"]: entry["coded"] for entry in coded} == {"disease": "mapping", "cost": "graded"}
    assert all(set(entry) == {"name", "role", "type", "cells", "coded", "answers"} for entry in coded)


def test_groups_of_both_tables_hold_the_same_people() -> None:
    made = release("bucketised")
    assert set(made.frames) == {"release", "sensitive"}
    assert made.frame.columns == ["age", "sex", "ward", "group"]
    assert made.apart.columns == ["group", "disease", "cost"]
    truth = people().with_row_index("row")
    group = dict(zip(made.source.tolist(), made.frame["group"].to_list(), strict=True))
    expected = truth.with_columns(group=pl.Series([group[i] for i in range(truth.height)]))
    assert made.apart.sort("group", "disease", "cost").equals(
        expected.select("group", "disease", "cost").sort("group", "disease", "cost")
    )
    assert made.apart.group_by("group").agg(pl.col("disease").n_unique() == pl.len())["disease"].all()
    # In neither table do rows stand in an order that would join them.
    assert made.frame["group"].to_list() != made.apart["group"].to_list()


def test_permuted_values_stay_in_their_groups() -> None:
    made = release("bucketised", algorithm=shoal.Anatomy(l=3, on="disease", publication="permuted"))
    assert made.apart is None
    assert made.frame.columns == ["age", "sex", "disease", "cost", "ward", "group"]
    aligned = made.aligned()
    moved = (aligned["disease"] != people()["disease"]).mean()
    assert 0.3 < moved < 0.95
    assert aligned["age"].to_list() == people()["age"].to_list()


def test_types_stay_where_values_stay() -> None:
    for kind in ("randomised", "pseudonymised"):
        assert release(kind).frame.schema["age"] == pl.Int64
    assert release("microaggregated").frame.schema["age"] == pl.Float64
    assert release("pseudonymised").frame.schema["cost"] == pl.Float64


def test_a_column_called_group_is_no_clash() -> None:
    made = shoal.anonymize(
        table(people().rename({"ward": "group"}), neutral=["group"]),
        algorithm=CASES["bucketised"][0], acknowledge=[*CASES["bucketised"][1], "W-NEUTRAL"],
    )  # fmt: skip
    assert made.manifest["group"] == "group_"


def test_suppressed_groups_leave_both_tables(tmp_path: Path) -> None:
    model = shoal.AlphaKGeneral(alpha=0.5, k=3, on="disease")
    mondrian = shoal.Anatomy(grouping={"name": "none"}, suppression_limit=0.9)
    few = table(people().with_columns(age=pl.col("age") // 12))
    made = shoal.anonymize(
        few, algorithm=mondrian, models=[model], acknowledge=["W-EXACT-QI", "W-UNMODELLED:cost", "W-NEUTRAL"], seed=1
    )
    assert made.evidence["counts"]["suppressed"] > 0
    assert made.frame.height == made.apart.height == made.evidence["counts"]["released"]
    made.write(tmp_path / "out")
    assert shoal.verify_release(tmp_path / "out").passed


@pytest.mark.parametrize(
    "changes, match",
    [
        ({"suppressed": "star"}, "generalised"),
        ({"models": [shoal.KAnonymity(k=3), shoal.WorstGroupUtility(u=0.5)]}, "worst-group-utility"),
    ],
)
def test_settings_for_generalised_cells_are_refused(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        release("microaggregated", **changes)


def test_styles_are_for_generalised_cells() -> None:
    styled = table(settings={"age": {"style": "bounds"}})
    with pytest.raises(ParameterError, match="style"):
        shoal.anonymize(styled, algorithm=shoal.RandomAnonymisation(), acknowledge=["W-RA-LINK", "W-NEUTRAL"])


def test_secrets_are_redacted_and_nowhere_else(tmp_path: Path) -> None:
    made = release("pseudonymised")
    assert [secret.kind for secret in made.secrets] == ["mapping", "grading"]
    assert "flu" not in repr(made)
    assert "flu" not in repr(made.secrets)
    with pytest.raises(TypeError):
        pickle.dumps(made.secrets[0])
    made.write(tmp_path / "out")
    for path in [*(tmp_path / "out").iterdir(), *(tmp_path / "out.evidence").iterdir()]:
        text = path.read_text("utf-8")
        assert not [value for value in DISEASES if value in text], path.name
        assert "disease_1" not in text or path.name == "release.csv"


def test_a_release_holds_its_input_and_cannot_be_pickled() -> None:
    made = release("randomised")
    with pytest.raises(TypeError, match="cannot be serialised"):
        pickle.dumps(made)
    with pytest.raises(TypeError, match="cannot be serialised"):
        copy.deepcopy(made)


RECIPE = """
acknowledge = ["W-PP-REV"]
[source]
path = "people.csv"
[roles]
identifiers = ["name"]
quasi = ["age", "sex"]
sensitive = ["disease", "cost"]
drop = ["ward"]
[algorithm]
name = "table-transform"
[output]
"""


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(seal, "MEMORY", 10)
    people().write_csv(tmp_path / "people.csv")
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE, "utf-8")
    return path


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_coded_run_needs_a_vault_or_to_forget(recipe: Path, dry_run: bool) -> None:
    with pytest.raises(RecipeError, match="vault"):
        shoal.run(recipe, dry_run=dry_run)
    recipe.write_text(RECIPE + "discard_secret = true\n", "utf-8")
    assert shoal.run(recipe, dry_run=True).evidence["vault"] is None
    shoal.run(recipe)
    assert not list(recipe.parent.glob("*.vault"))


def test_a_run_keeps_its_secrets_in_the_vault(recipe: Path) -> None:
    recipe.write_text(RECIPE + 'vault = "keys.vault"\n', "utf-8")
    key = Key.passphrase("correct horse")
    with pytest.raises(InputError, match="needs a key"):
        shoal.run(recipe)
    made = shoal.run(recipe, key=key)
    secrets = load(recipe.parent / "keys.vault", key, "out")
    assert [secret.column for secret in secrets] == ["disease", "cost"]
    back = secrets[0].decode(made.aligned()["disease"])
    assert back.to_list() == people()["disease"].to_list()
    assert made.evidence["vault"]["entry"] == "out"
    with pytest.raises(InputError, match="not empty"):
        shoal.run(recipe, key=key)
    again = shoal.run(recipe, key=key, replace=True)
    fresh = load(recipe.parent / "keys.vault", key, "out")
    assert fresh[0].decode(again.aligned()["disease"]).to_list() == people()["disease"].to_list()
    # Five codes may fall as they did before; both columns, and the secret of the run, do not.
    assert again.evidence["secret"] != made.evidence["secret"]
    assert [one.reveal() for one in fresh] != [one.reveal() for one in secrets]


@pytest.mark.parametrize(
    "output, match",
    [
        ('vault = "out/keys.vault"', "public"),
        ('vault = "keys.txt"', ".vault"),
        ('vault = "keys.vault"\ndiscard_secret = true', "remove one"),
    ],
)
def test_a_vault_in_the_wrong_place_is_refused_before_any_work(recipe: Path, output: str, match: str) -> None:
    recipe.write_text(RECIPE + output + "\n", "utf-8")
    with pytest.raises((InputError, RecipeError), match=match):
        shoal.run(recipe, key=Key.passphrase("correct horse"))
    assert not (recipe.parent / "out").exists()


def test_a_release_without_secrets_needs_no_vault(recipe: Path) -> None:
    text = RECIPE.replace("table-transform", "random").replace("W-PP-REV", "W-RA-LINK")
    recipe.write_text(text + 'vault = "keys.vault"\n', "utf-8")
    with pytest.raises(RecipeError, match="no secrets"):
        shoal.run(recipe, key=Key.passphrase("correct horse"))
