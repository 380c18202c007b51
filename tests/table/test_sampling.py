"""Samples: what is drawn, by whose chance, and what is said of it."""

from __future__ import annotations

import contextlib
import io
import json

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.cli.main import execute
from shoal.data.keys import Keys
from shoal.data.sampling import Sampling, draw_sample
from shoal.errors import GateError, InputError, ParameterError, RecipeError, SchemaError
from shoal.grammar import parse_sample
from shoal.io import batches
from shoal.recipe.recipe import dump_recipe, parse_recipe
from shoal.release.entry import verify_release
from shoal.release.run import run

ROWS = pl.DataFrame(
    {
        "id": [f"p{i // 3:03}" for i in range(900)],
        "region": ["north" if i // 3 % 10 else "south" for i in range(900)],
        "age": [20 + i // 3 % 40 for i in range(900)],
        "ward": ["abc"[i % 3] for i in range(900)],
        "illness": ["flu" if i // 3 % 7 % 2 else "cold" for i in range(900)],
    }
)
ROLES = {"quasi": ["age"], "sensitive": ["illness"], "drop": ["region", "ward"]}


def drawn(seed: int = 1, **how: object) -> tuple[np.ndarray, object]:
    roles = {"subject": how.pop("subject", None), "key": how.pop("key", None)}
    return draw_sample(ROWS, Sampling(**how), Keys.from_seed(seed), **roles)


def test_a_share_is_drawn_and_the_same_seed_draws_the_same() -> None:
    flags, sample = drawn(share=0.1)
    assert flags.sum() == sample.drawn in (90, 91)
    assert np.array_equal(flags, drawn(share=0.1)[0])
    assert not np.array_equal(flags, drawn(2, share=0.1)[0])


def test_everybody_has_the_chance_of_the_share_however_small_their_stratum() -> None:
    often = np.mean([drawn(seed, share=0.25, by=["region", "age"], subject="id")[0] for seed in range(300)], axis=0)
    assert abs(often.mean() - 0.25) < 0.01
    assert often.min() > 0.12
    assert often.max() < 0.40


def test_a_number_is_drawn_exactly_and_dealt_out_to_strata_in_proportion() -> None:
    flags, sample = drawn(number=101, by="region")
    assert flags.sum() == sample.drawn == 101
    assert sample.strata == 2
    assert abs(ROWS.filter(flags)["region"].eq("south").sum() - 10.1) < 1


def test_whole_people_are_drawn_where_there_is_a_subject() -> None:
    flags, sample = drawn(number=50, by=["region"], subject="id")
    kept = ROWS.filter(flags)
    assert (sample.drawn, sample.source, kept["id"].n_unique(), kept.height) == (50, 300, 50, 150)


def test_rows_of_a_key_are_drawn_wherever_they_stand() -> None:
    keyed = ROWS.with_row_index("key")
    order = np.random.default_rng(1).permutation(ROWS.height)
    how = {"subject": None, "key": "key"}
    one = keyed.filter(draw_sample(keyed, Sampling(number=70), Keys.from_seed(1), **how)[0])
    other = keyed[order].filter(draw_sample(keyed[order], Sampling(number=70), Keys.from_seed(1), **how)[0])
    assert set(one["key"]) == set(other["key"])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "The sample needs either a 'share' of the rows or a 'number' of them: give one."),
        ({"share": 0.1, "number": 3}, "The sample needs either a 'share' of the rows or a 'number' of them: give one."),
        ({"share": 0}, "The 'share' of the sample must be a number above 0 and up to 1. Got 0."),
        ({"share": 1.0}, "The 'share' of the sample is all rows: make it smaller, or leave the sample out."),
        ({"number": 2.5}, "The 'number' of the sample must be a whole number of at least 1. Got 2.5."),
        ({"number": 901}, "The sample is to have 901 rows, and the source has 900: draw fewer."),
        ({"number": 9, "by": "regin"}, "The sample is to be drawn by 'regin', and there is no such column. "
         "Did you mean 'region'?"),
        ({"number": 9, "by": ["ward", "ward"]}, "The 'by' of the sample must be a column or a list of different ones."),
        ({"number": 9, "by": "ward", "subject": "id"}, "The sample is of people, and 300 of them are in several strata "
         "of 'ward': draw by columns that are the same in all rows of a person."),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_said(how: dict[str, object], message: str) -> None:
    with pytest.raises((ParameterError, InputError, SchemaError)) as caught:
        drawn(**how)
    assert str(caught.value) == message


def test_models_hold_on_the_sample_and_a_secret_of_the_evidence_drew_it() -> None:
    table = shoal.read(ROWS, **ROLES, subject="id", sample={"share": 0.4, "by": "region"}, population=ROWS)
    release = shoal.anonymize(table, models=["k=4", "distinct-l=2"])
    again = draw_sample(
        ROWS, Sampling(share=0.4, by="region"), Keys(release.evidence["sample_secret"]), subject="id", key=None
    )[0]
    assert again.sum() == table.n
    assert table.frame["id"].unique().sort().to_list() == ROWS.filter(again)["id"].unique().sort().to_list()
    assert all(verdict.holds for verdict in release.verdict)
    assert release.manifest["sample"] == {"of": "people", "share": 0.4, "stratified": True}
    told = release.evidence["sample"]
    assert told["drawn"] == table.n_subjects
    assert told["prosecutor"] > told["in_source"] == pytest.approx(told["prosecutor"] * told["drawn"] / 300)
    assert told["journalist"] <= told["prosecutor"]


def test_two_releases_of_one_sample_cannot_be_laid_side_by_side() -> None:
    """Nothing but the sample follows from what drew it: in one order, rows of both would be joined by their places."""
    table = shoal.read(ROWS, **ROLES, identifiers=["id"], sample=0.5)
    first, second = (
        shoal.anonymize(table, models=[f"k={k}", "distinct-l=2"], algorithm="mondrian", acknowledge=["W-ROWS"])
        for k in (4, 20)
    )
    assert first.evidence["secret"] != second.evidence["secret"]
    assert first.evidence["sample_secret"] == second.evidence["sample_secret"]
    assert first.frame.height == second.frame.height == table.n
    assert first.released.table.row_keys.tolist() == second.released.table.row_keys.tolist()
    assert first.frame["illness"].to_list() != second.frame["illness"].to_list()


NAMED = pl.DataFrame(
    {
        "name": [f"Zork{chr(97 + i // 26)}{chr(97 + i % 26)} Blim{chr(97 + i % 26)}" for i in range(200)],
        "age": [20 + i % 4 for i in range(200)],
        "illness": ["flu" if i % 3 else "cold" for i in range(200)],
    }
)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_nobody_who_was_not_drawn_is_named_in_a_cell(engine: str, tmp_path) -> None:
    """Friends of people who were drawn may not have been, and are in the source all the same."""
    (tmp_path / "recipe.toml").write_text(
        'seed = 5\nacknowledge = ["W-UNMODELLED:illness"]\n[source]\npath = "rows.csv"\n[sample]\nshare = 0.5\n'
        '[roles]\nidentifiers = ["name"]\nquasi = ["age"]\nsensitive = ["illness"]\n[[models]]\nname = "k"\nk = 3\n'
        f'[algorithm]\nname = "none"\n[engine]\nname = "{engine}"\n'
    )
    flags, _ = draw_sample(NAMED, Sampling(share=0.5), Keys.from_seed(5), subject=None, key=None)
    friend = NAMED.filter(~flags)["name"][0]
    seen = pl.Series(["cold"] * 200).scatter(np.flatnonzero(flags)[:1], friend)
    NAMED.write_csv(tmp_path / "rows.csv")
    run(tmp_path / "recipe.toml")
    NAMED.with_columns(illness=seen).write_csv(tmp_path / "rows.csv")
    with pytest.raises(GateError, match="1 cells of 'illness' hold somebody's 'name'"):
        run(tmp_path / "recipe.toml", replace=True)


def test_nobody_whose_row_was_dropped_is_named_in_a_cell() -> None:
    ages = pl.Series([None, *NAMED["age"][1:]])
    rows = NAMED.with_columns(age=ages, illness=NAMED["illness"].scatter([7], NAMED["name"][0]))
    table = shoal.read(rows, identifiers=["name"], quasi=["age"], sensitive=["illness"], missing="drop")
    with pytest.raises(GateError, match="1 cells of 'illness' hold somebody's 'name'"):
        shoal.anonymize(table, models="k=3", algorithm="none", acknowledge=["W-UNMODELLED:illness"])


def test_a_number_is_not_published_since_it_would_tell_how_many_were_suppressed() -> None:
    table = shoal.read(ROWS, **ROLES, identifiers=["id"], sample=137, seed=1)
    release = shoal.anonymize(table, models=["k=4", "distinct-l=2"], seed=1, acknowledge=["W-ROWS"])
    assert release.manifest["sample"] == {"of": "rows", "stratified": False}
    assert "137" not in json.dumps({key: one for key, one in release.manifest.items() if key != "classes"})


def test_rows_of_missing_cells_are_left_out_of_the_sample() -> None:
    gaps = ROWS.with_columns(age=pl.when(pl.col("age") != 33).then("age"))
    table = shoal.read(gaps, **ROLES, identifiers=["id"], sample=0.5, seed=1, missing="drop")
    assert table.n + table.n_dropped == table.domain.sample.drawn == table.n_read
    assert table.dropped.height == 900 - table.n


RECIPE = """
seed = 1
acknowledge = ["W-ROWS"]
[source]
path = "rows.csv"
[sample]
number = 300
by = "region"
[roles]
identifiers = ["id"]
quasi = ["age"]
sensitive = ["illness"]
drop = ["region", "ward"]
[[models]]
name = "k"
k = 4
[[models]]
name = "distinct-l"
l = 2
"""


def test_a_recipe_draws_a_sample_and_its_release_can_be_verified(tmp_path) -> None:
    ROWS.write_csv(tmp_path / "rows.csv")
    (tmp_path / "recipe.toml").write_text(RECIPE)
    release = run(tmp_path / "recipe.toml")
    assert release.evidence["counts"]["read"] == 300
    assert verify_release(tmp_path / "out").passed
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "random sample, drawn by strata" in (tmp_path / "out" / "report.html").read_text()
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest | {"sample": {"of": "rows", "share": 2}}))
    with pytest.raises(shoal.errors.VerificationError, match="The 'sample' of the manifest must say of what it is"):
        verify_release(tmp_path / "out")


def test_recipes_keep_their_sample_and_engines_that_draw_none_say_so(tmp_path) -> None:
    recipe = parse_recipe(RECIPE, tmp_path)
    assert parse_recipe(dump_recipe(recipe), tmp_path).sample == recipe.sample
    ROWS.write_csv(tmp_path / "rows.csv")
    (tmp_path / "recipe.toml").write_text(
        RECIPE.replace("[roles]", '[roles]\nkey = "age"').replace('quasi = ["age"]', 'quasi = ["sex"]')
        + '[engine]\nname = "spark"\n'
    )
    with pytest.raises(RecipeError, match="'spark' does not draw samples: draw one in the source"):
        run(tmp_path / "recipe.toml")


@pytest.mark.parametrize("people", [False, True])
def test_rows_in_batches_give_the_same_sample_and_the_same_bytes(tmp_path, monkeypatch, people: bool) -> None:
    pytest.importorskip("duckdb")
    monkeypatch.setattr(batches, "BATCH", 100)
    ROWS.write_parquet(tmp_path / "rows.parquet")
    text = RECIPE.replace("rows.csv", "rows.parquet")
    if people:
        text = text.replace('identifiers = ["id"]', 'subject = "id"')
        text = text.replace("number = 300", "share = 0.4").replace('acknowledge = ["W-ROWS"]\n', "")
    found = []
    for engine in ("memory", "duckdb"):
        recipe = tmp_path / f"{engine}.toml"
        recipe.write_text(text + f'[engine]\nname = "{engine}"\n[output]\nfolder = "{engine}"\n')
        made = run(recipe)
        assert verify_release(tmp_path / engine).passed
        names = ("release.csv", "manifest.json", "report.html")
        found.append([(tmp_path / engine / name).read_bytes() for name in names])
        told = made.evidence["sample"]
        found[-1].append({key: told[key] for key in ("source", "drawn", "strata", "prosecutor")})
    assert found[0] == found[1]


def test_flags_draw_a_sample_too(tmp_path) -> None:
    ROWS.write_csv(tmp_path / "rows.csv")
    roles = ["--identifier", "id", "--quasi", "age", "--sensitive", "illness", "--drop", "region", "--drop", "ward"]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = execute([
            "anonymize", str(tmp_path / "rows.csv"), "-o", str(tmp_path / "out"), *roles, "--model", "k=4", "--model",
            "distinct-l=2", "--sample", "300 by region", "--seed", "1", "--json",
            "--acknowledge", "W-ROWS",
        ])  # fmt: skip
    assert code == 0, err.getvalue()
    told = json.loads(out.getvalue())["sample"]
    assert (told["drawn"], told["source"], told["strata"], told["by"]) == (300, 900, 2, ["region"])
    with pytest.raises(ParameterError, match="The --sample must be a share such as 0.1"):
        parse_sample("all")
