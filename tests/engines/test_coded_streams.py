"""Codes, tokens and moved dates of sources larger than memory: the bytes, and the secrets, that memory gives."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.data.schema import ColumnSpec, Schema
from shoal.engines.external_rows import _dates
from shoal.engines.store import StoredRows
from shoal.errors import InputError
from shoal.release.publish import Showing
from shoal.vault.files import contents
from shoal.vault.seal import Key
from tests.engines.alike import outcome

pytest.importorskip("duckdb")

RECIPE = """
acknowledge = ["W-NEUTRAL", "W-PP-REV", "W-TRAJECTORY"]
seed = 1
[source]
path = "people.csv"
missing = "{missing}"
[roles]
quasi = ["age", "sex", "region"]
sensitive = ["diagnosis", "income"]
neutral = ["admitted"]
{who}
drop = ["name", "birth_date", "postcode", "marital_status", "education", "occupation", "industry", "visits"]
[hierarchies]
age = {{ widths = [5, 10, 20] }}
sex = {{ prefix = [1] }}
region = {{ prefix = [1] }}
[columns.income]
type = "numeric"
code = {{ how = "graded", categories = 4 }}
[columns.diagnosis]
code = "mapping"
[columns.admitted]
shift = {{ days = 40 }}
[[models]]
name = "k"
k = 3
[[models]]
name = "distinct-l"
l = 2
[algorithm]
name = "{algorithm}"
suppression_limit = 0.6
[output]
{output}
"""
PEOPLE = 'pseudonym = ["person"]\nsubject = "person"'


def coded(folder: Path, rows: int = 500, **changed: str) -> Path:
    """A recipe for some of the synthetic census, whose people, dates and sensitive values are coded."""
    shoal.example_census(rows).write_csv(folder / "people.csv")
    given = {"missing": "value", "who": PEOPLE, "algorithm": "optimal", "output": "discard_secret = true"}
    recipe = folder / "recipe.toml"
    recipe.write_text(RECIPE.format(**given | changed), encoding="utf-8")
    return recipe


@pytest.mark.parametrize("changed", [{}, {"missing": "drop"}, {"algorithm": "mondrian"}], ids=str)
def test_coded_columns_tokens_and_moved_dates_are_those_of_memory(changed: dict[str, str], tmp_path: Path) -> None:
    recipe = coded(tmp_path, **changed)
    found = outcome(recipe, "duckdb")
    assert found[0] == 0, found[1]
    assert found == outcome(recipe, "memory")
    assert json.loads(found[2]["manifest.json"])["kind"] == "pseudonymised"


def test_batches_make_no_difference_to_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = coded(tmp_path)
    expected = outcome(recipe, "memory")
    monkeypatch.setattr("shoal.io.batches._BYTES", 5000)
    monkeypatch.setattr("shoal.io.batches.BATCH", 97)
    assert outcome(recipe, "duckdb") == expected


def test_what_undoes_them_is_kept_in_a_vault(tmp_path: Path) -> None:
    kept = 'vault = "the.vault"\ntoken_key = "people"\nvault_entry = "{}"'
    recipe, key = coded(tmp_path, output=kept.format("first")), Key.passphrase("four words are enough here")
    files = {}
    for engine, entry in (("memory", "first"), ("duckdb", "second")):
        folder = f"out-{engine}"
        text = recipe.read_text().replace('vault_entry = "first"', f'vault_entry = "{entry}"\nfolder = "{folder}"')
        mine = tmp_path / f"{engine}.toml"
        mine.write_text(f'{text}\n[engine]\nname = "{engine}"\n')
        shoal.run(mine, key=key)
        files[engine] = {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()}
        facts = json.loads((tmp_path / f"{folder}.evidence" / "evidence.json").read_text())["vault"]
        assert facts["entry"] == entry
    assert files["duckdb"] == files["memory"]
    held = contents(tmp_path / "the.vault", key)
    assert set(held) == {"first", "second", "people"}
    assert held["first"] == held["second"]


@pytest.mark.parametrize("algorithm", ["random", "anatomy", "auto"])
def test_an_engine_that_has_no_records_side_by_side_says_so_before_it_starts(algorithm: str, tmp_path: Path) -> None:
    recipe = coded(tmp_path, 10, algorithm="optimal")
    text = recipe.read_text().replace('name = "optimal"\nsuppression_limit = 0.6', f'name = "{algorithm}"')
    more = {"anatomy": "l = 2", "random": "max_posterior = 0.9"}.get(algorithm, "")
    text = text.replace(f'name = "{algorithm}"', f'name = "{algorithm}"\n{more}')
    recipe.write_text(text)
    code, sentence, _ = outcome(recipe, "spark")
    assert code == 2
    assert f"The algorithm '{algorithm}' looks at records one by one" in sentence
    assert "use the engine 'duckdb'" in sentence


def test_of_more_rows_than_memory_holds_a_sample_is_attacked_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = coded(tmp_path, rows=900, algorithm="table-transform")
    bare = recipe.read_text().replace('code = "mapping"\n', "").replace("suppression_limit = 0.6\n", "")
    bare = bare.replace('code = { how = "graded", categories = 4 }\n', "")
    recipe.write_text(bare[: bare.index("[[models]]")] + bare[bare.index("[algorithm]") :])
    whole = json.loads(outcome(recipe, "memory")[2]["manifest.json"])["measured"]
    monkeypatch.setattr(StoredRows, "most", lambda rows, memory: 300)
    accepted = recipe.read_text()
    recipe.write_text(accepted.replace('"W-PP-REV", ', ""))
    assert whole[0]["sentence"] in outcome(recipe, "duckdb")[1]  # why it is refused
    recipe.write_text(accepted)
    code, sentence, files = outcome(recipe, "duckdb")
    assert code == 0, sentence
    sampled = json.loads(files["manifest.json"])["measured"]
    assert [one["name"] for one in sampled] == [one["name"] for one in whole]
    assert sampled[0] == whole[0]  # anybody can count who is alone, so that is told of all
    assert all(" of the 900 records." in one["sentence"] for one in sampled[1:])
    said = {one["name"]: one["sentence"] for one in sampled[1:]}  # which way it errs
    assert all("rather too low than" in text for name, text in said.items() if "matching" in name)
    assert all("rather too" in text for text in said.values())
    (rows,) = {one["sentence"].split("a sample of ")[1].split(" ")[0] for one in sampled[1:]}
    assert 150 < int(rows) <= 300
    assert shoal.verify_release(tmp_path / "out-duckdb").passed


def test_a_sample_tells_of_nobody_who_was_suppressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = coded(tmp_path, rows=900)
    monkeypatch.setattr(StoredRows, "most", lambda rows, memory: 300)
    code, sentence, files = outcome(recipe, "duckdb")
    assert code == 0, sentence
    manifest = json.loads(files["manifest.json"])
    released = manifest["data"]["rows"]
    assert released < 900
    told = [re.search(r"a sample of (\d+) of the (\d+) records\.", one["sentence"]) for one in manifest["measured"]]
    assert {int(one[2]) for one in told if one} == {released}
    # A share that depends on how many rows were read would tell their number.
    assert all(one and 0.2 < int(one[1]) / released < 0.3 for one in told)


def test_a_sample_with_few_codes_passes_the_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = coded(tmp_path, rows=600)
    text = recipe.read_text().replace(
        "acknowledge = [", 'acknowledge = ["W-UNMODELLED:diagnosis", "W-UNMODELLED:income", '
    )
    start, end = text.index('[[models]]\nname = "distinct-l"'), text.index("[algorithm]")
    recipe.write_text(text[:start] + text[end:])
    people = pl.read_csv(tmp_path / "people.csv", infer_schema=False)
    few = pl.int_range(pl.len()) < 20
    people.with_columns(pl.when(few).then("income"), pl.when(few).then("diagnosis")).write_csv(tmp_path / "people.csv")
    monkeypatch.setattr(StoredRows, "most", lambda rows, memory: 250)
    code, sentence, files = outcome(recipe, "duckdb")
    assert code == 0, sentence
    sizes = [one["name"] for one in json.loads(files["manifest.json"])["measured"]]
    assert sizes.count("frequency matching: diagnosis") == 1  # of two sizes where there are 15 codes
    assert shoal.verify_release(tmp_path / "out-duckdb").passed


def test_draws_of_a_sample_are_known_to_come_from_the_values_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tmp_path / "recipe.toml"
    lines = ["age,region,diagnosis", *(f"{n},{n * n % 3},{'abc'[n % 7 % 3]}" for n in range(600))]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    recipe.write_text(
        'acknowledge = ["W-NO-K", "W-RA-LINK", "W-UNMODELLED:diagnosis"]\nseed = 1\n[source]\npath = "people.csv"\n'
        '[roles]\nquasi = ["age", "region"]\nsensitive = ["diagnosis"]\n[algorithm]\nname = "random"\n'
    )
    whole = {one["name"]: one for one in json.loads(outcome(recipe, "memory")[2]["manifest.json"])["measured"]}
    monkeypatch.setattr(StoredRows, "most", lambda rows, memory: 150)
    code, sentence, files = outcome(recipe, "duckdb")
    assert code == 0, sentence
    sampled = {one["name"]: one for one in json.loads(files["manifest.json"])["measured"]}
    assert list(sampled) == list(whole)
    assert sampled["unchanged"]["baseline"] == whole["unchanged"]["baseline"]
    assert all(0.0 <= one["value"] <= 1.0 for one in sampled.values())


def test_codes_that_are_not_described_are_not_gathered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(showing: Showing, name: str) -> set[str]:
        raise AssertionError(f"the codes of '{name}' may be as many as people")

    monkeypatch.setattr(Showing, "texts", refused)
    code, sentence, _ = outcome(coded(tmp_path), "duckdb")
    assert code == 0, sentence


def test_a_cell_that_is_no_date_is_refused_without_being_quoted() -> None:
    spec = ColumnSpec(format="%d/%m/%Y", shift={"days": 30})
    schema = Schema(quasi=("age",), neutral=("day",), subject="id", specs={"day": spec})
    with pytest.raises(InputError, match="not dates of the form") as found:
        _dates(schema, pl.DataFrame({"day": ["01/02/2020", None, "hidden"]}))
    assert "hidden" not in str(found.value)
