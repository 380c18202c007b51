"""Columns that tell people apart are refused before a run, in a check and at the gate, in memory and by engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.cli.main import execute
from shoal.errors import RefusalError

MODELS = ["k=5", "distinct-l=2"]
DISEASES = ["flu", "asthma", "cold"]


def visits() -> pl.DataFrame:
    """20 patients of 5 visits each, whose age and sex tell them apart."""
    rng = np.random.default_rng(1)
    rows = np.repeat(np.arange(20), 5)
    return pl.DataFrame(
        {
            "name": [f"Person{one} Family{one}" for one in rows],
            "number": (rng.permutation(20) + 4711)[rows],
            "age": rng.permutation(np.arange(20, 60))[:20][rows],
            "sex": rng.choice(["f", "m"], 20)[rows],
            "disease": [DISEASES[one % 3] for one in range(100)],
            "row": np.arange(100),
        }
    )


def patients(n: int = 400) -> pl.DataFrame:
    """One row a person, with a patient number and a year of birth."""
    rng = np.random.default_rng(2)
    born = rng.integers(1950, 2000, n)
    return pl.DataFrame(
        {
            "number": [f"P{100_000 + one}" for one in rng.permutation(n)],
            "age": 2020 - born - rng.integers(0, 2, n),
            "sex": rng.choice(["f", "m"], n),
            "born": born,
            "disease": rng.choice(DISEASES, n),
            "row": np.arange(n),
        }
    )


def refused(frame: pl.DataFrame, acknowledge: list[str] | None = None, **roles: object) -> tuple[str, ...]:
    """The codes that a release is refused for."""
    table = shoal.read(frame, quasi=["age", "sex"], sensitive=["disease"], **roles)  # type: ignore[arg-type]
    try:
        shoal.anonymize(table, models=MODELS, seed=1, acknowledge=["W-NEUTRAL", *(acknowledge or [])])
    except RefusalError as error:
        return error.codes
    return ()


@pytest.mark.parametrize(
    "roles",
    [
        {"identifiers": ["name", "number"], "drop": ["row"]},
        {"identifiers": ["row"], "drop": ["name", "number"]},
        {"pseudonym": ["number"], "drop": ["name", "row"]},
    ],
)
def test_rows_of_a_person_are_refused_until_they_are_acknowledged_or_people_counted(
    roles: dict[str, list[str]],
) -> None:
    accepted = ["W-TRAJECTORY"] if "pseudonym" in roles else []
    assert refused(visits(), accepted, **roles) == ("W-ROWS",)
    assert refused(visits(), [*accepted, "W-ROWS"], **roles) == ()


def test_a_subject_that_is_new_on_every_row_hides_no_repeated_number() -> None:
    assert refused(visits(), subject="row", identifiers=["name", "number"]) == ("W-ROWS",)
    assert refused(visits(), ["W-ROWS"], subject="row", identifiers=["name", "number"]) == ()


def test_people_are_counted_where_a_subject_is_named() -> None:
    table = shoal.read(
        visits(), identifiers=["name"], subject="number", drop=["row"], quasi=["age", "sex"], sensitive=["disease"]
    )
    release = shoal.anonymize(table, models="k=5", seed=1, acknowledge=["W-UNMODELLED:disease"])
    assert release.manifest["people"]


def test_what_is_acknowledged_is_said_in_public(tmp_path: Path) -> None:
    table = shoal.read(visits(), identifiers=["name", "number", "row"], quasi=["age", "sex"], sensitive=["disease"])
    shoal.anonymize(table, models=MODELS, seed=1, acknowledge=["W-ROWS"]).write(tmp_path / "out")
    manifest = (tmp_path / "out" / "manifest.json").read_text("utf-8")
    assert "models count records, and one person may have all of a class" in manifest
    assert shoal.verify_release(tmp_path / "out").passed


def test_a_published_number_of_a_person_is_refused() -> None:
    assert refused(patients(), neutral=["number"], drop=["born", "row"]) == ("W-IDENTIFIES:number",)
    assert refused(patients(), ["W-IDENTIFIES:number"], neutral=["number"], drop=["born", "row"]) == ()


def test_a_year_of_birth_beside_an_age_is_refused() -> None:
    assert refused(patients(), neutral=["born"], drop=["number", "row"]) == ("W-DETERMINES:born",)
    assert refused(patients(), ["W-DETERMINES:born"], neutral=["born"], drop=["number", "row"]) == ()


@pytest.mark.parametrize(
    "told",
    [
        {"hierarchies": {"born": {"widths": [10]}}},
        {"settings": {"born": {"type": "ordinal", "order": [str(year) for year in range(1950, 2000)]}}},
    ],
)
def test_a_hierarchy_or_an_order_hides_no_year_of_birth(told: dict[str, Any]) -> None:
    table = shoal.read(patients(), quasi=["age", "sex"], sensitive=["disease", "born"], drop=["number", "row"], **told)
    with pytest.raises(RefusalError) as refusal:
        shoal.anonymize(table, models=MODELS, seed=1)
    assert refusal.value.codes == ("W-DETERMINES:born",)


@pytest.mark.parametrize("gate", [False, True])
def test_a_hierarchy_hides_no_number_of_a_person(gate: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if gate:
        monkeypatch.setattr("shoal.release.prepare.person_refusals", lambda *given, **more: [])
    tree = {"number": {"prefix": [4, 2]}}
    table = shoal.read(
        patients(), quasi=["age", "sex"], sensitive=["disease", "number"], drop=["born", "row"], hierarchies=tree
    )
    with pytest.raises(RefusalError) as refusal:
        shoal.anonymize(table, models=MODELS, seed=1)
    assert refusal.value.codes == ("W-IDENTIFIES:number",)


def test_the_gate_refuses_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.release.prepare.person_refusals", lambda *given, **more: [])
    assert refused(visits(), identifiers=["name"], drop=["number", "row"]) == ("W-ROWS",)
    assert refused(visits(), identifiers=["row"], drop=["name", "number"]) == ("W-ROWS",)
    assert refused(patients(), neutral=["number"], drop=["born", "row"]) == ("W-IDENTIFIES:number",)


RECIPE = """
seed = 1
acknowledge = ["W-NEUTRAL"{codes}]

[source]
path = "{path}"

[roles]
{roles}
quasi = ["age", "sex"]
sensitive = ["disease"]
key = "row"

[[models]]
name = "k"
k = 5

[[models]]
name = "distinct-l"
l = 2

[algorithm]
name = "mondrian"

[engine]
name = "{engine}"

[output]
folder = "out"
"""
def wards() -> pl.DataFrame:
    """The visits, whose patients are told apart by their exact age, while ward and name have no digits."""
    rng = np.random.default_rng(3)
    letters = [f"{chr(97 + one)} {chr(110 - one)}" for one in range(20)]
    names = [letters[row // 5] for row in range(100)]
    return visits().with_columns(name=pl.Series(names), sex=pl.Series(rng.choice(list("ABCDEF"), 100)))


CASES = {
    "W-ROWS of names": (wards, 'identifiers = ["name"]\ndrop = ["number"]'),
    "W-ROWS": (visits, 'identifiers = ["name"]\ndrop = ["number"]'),
    "W-ROWS of a dropped column": (visits, 'drop = ["name", "number"]'),
    "W-IDENTIFIES:number": (patients, 'neutral = ["number"]\ndrop = ["born"]'),
    "W-DETERMINES:born": (patients, 'neutral = ["born"]\ndrop = ["number"]'),
}


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("case", CASES)
def test_a_run_and_a_check_refuse_on_every_engine(
    case: str, engine: str, format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    made, roles = CASES[case]
    frame, path = made(), tmp_path / f"rows.{format}"
    frame.write_csv(path) if format == "csv" else frame.write_parquet(path)
    code, recipe = case.partition(" ")[0], tmp_path / "recipe.toml"
    text = RECIPE.format(path=path.name, roles=roles, engine=engine, codes="{codes}")
    recipe.write_text(text.replace("{codes}", ""))
    # What the released cells are compared with is known once there are some.
    early = ["run", "--dry-run"] if code == "W-DETERMINES:born" else ["check"]
    for command in (["run"], early):
        assert execute([*command, str(recipe)]) == 2
        assert f'add "{code}" to' in " ".join(capsys.readouterr().err.split())
    recipe.write_text(text.replace("{codes}", f', "{code}"'))
    assert execute(["run", str(recipe)]) == 0


def test_the_gate_of_an_engine_refuses_a_dropped_person_number_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("duckdb")
    monkeypatch.setattr("shoal.release.prepare.person_refusals", lambda *given, **more: [])
    visits().write_csv(tmp_path / "rows.csv")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        RECIPE.format(path="rows.csv", roles=CASES["W-ROWS of a dropped column"][1], engine="duckdb", codes="")
    )
    assert execute(["run", str(recipe)]) == 2
    assert '"W-ROWS"' in capsys.readouterr().err
