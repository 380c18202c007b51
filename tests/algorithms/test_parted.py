"""Methods on more records than memory holds: parts that cover the table, and groups that hold in each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms.base import Problem
from shoal.algorithms.grouping import Grouper
from shoal.algorithms.partitioned import grouped_in_parts, halved, leaf_of_rows
from shoal.data.table import part_of
from shoal.engines.memory import MemoryRows
from shoal.errors import InfeasibleError
from shoal.io.evidence import read_evidence
from shoal.recoding.recodings import Grouping
from shoal.registry import make
from tests.algorithms.test_leftovers import Parted, asked, held
from tests.engines.alike import outcome
from tests.engines.test_duckdb import census

pytest.importorskip("duckdb")


def table(rows: int) -> shoal.Table:
    people = shoal.example_census(rows).select("age", "sex", "region", "diagnosis").drop_nulls()
    return shoal.read(people, quasi=["age", "sex", "region"], sensitive=["diagnosis"])


@pytest.mark.parametrize("most", [1, 7, 50, 400, 10_000])
def test_parts_hold_equal_records_together_and_no_more_rows_than_they_may(most: int) -> None:
    rows = Parted(MemoryRows(table(400)))
    root = halved(rows, most)
    low, high = np.stack([part.low for part in root.leaves()]), np.stack([part.high for part in root.leaves()])
    codes = rows.rows.table.quasi_codes.T[:, None, :]
    inside = ((codes >= low) & (codes <= high)).all(axis=2)
    assert (inside.sum(axis=1) == 1).all()  # every row is in one part
    assert (leaf_of_rows(rows, root) == inside.argmax(axis=1)).all()
    held = inside.sum(axis=0)
    assert (held > 0).all()
    assert ((held <= most) | (low == high).all(axis=1)).all()


def parting(rows: int, **models: object) -> Problem:
    """People whose illness goes by their age, which a table is cut by first."""
    age = np.arange(rows) % 100
    people = {"age": age, "room": np.arange(rows) // 100, "ill": np.where(age < 50, "flu", "cold")}
    table = shoal.read(pl.DataFrame(people), quasi=["age", "room"], sensitive=["ill"])
    return asked(table, [{"name": "k", "k": 5}, {"name": "distinct-l", "l": 2, "on": "ill"}])


@pytest.mark.parametrize("name", ["k-members", "top-down", "mondrian"])
def test_parts_that_models_rule_out_are_grouped_with_the_other_side_of_their_cut(name: str) -> None:
    problem = parting(1200)
    found = grouped_in_parts(make("algorithm", {"name": name}), problem, Parted(problem.rows), 400)
    assert found.notes["joined"] > 0
    assert found.notes["parts"] > 1
    assert held(problem, found).n_suppressed == 0


class Picky(Grouper):
    """Puts everybody in one group, if there is a room 0 among theirs."""

    name = "picky"

    def group(self, problem: Problem) -> Grouping:
        if (problem.table.codes["room"] != 0).all():
            raise InfeasibleError("There is no such room.")
        return Grouping(ids=np.zeros(problem.table.n, dtype=np.int32), groups=1)


def test_a_part_that_a_method_cannot_group_is_taken_together_with_another_until_it_can() -> None:
    problem = asked(parting(800).table, [{"name": "k", "k": 2}])
    found = grouped_in_parts(Picky(), problem, Parted(problem.rows), 150)
    assert found.notes["joined"] > 0
    assert held(problem, found).n_suppressed == 0


def test_what_no_part_can_be_grouped_by_ends_a_run() -> None:
    problem = asked(part_of(parting(300).table, np.arange(100, 300), []), [{"name": "k", "k": 2}])
    with pytest.raises(InfeasibleError, match="no such room"):
        grouped_in_parts(Picky(), problem, Parted(problem.rows), 60)


def test_as_many_are_suppressed_of_all_parts_as_may_be_of_the_whole() -> None:
    problem = parting(1200)
    method = make("algorithm", {"name": "k-members", "max_suppressed": 3})
    found = grouped_in_parts(method, problem, Parted(problem.rows), 200)
    assert held(problem, found).n_suppressed <= 3


LINKS: list[dict[str, object]] = [
    {"name": "anatomy", "l": 3, "on": "diagnosis"},
    {"name": "anatomy", "grouping": "entropy-mondrian", "l": 2, "on": "diagnosis"},
    {"name": "anatomy", "grouping": {"name": "k-members"}},
    {"name": "microaggregation", "k": 5},
]


@pytest.mark.parametrize("spec", LINKS, ids=lambda spec: f"{spec['name']}-{spec.get('grouping', 'own')}")
def test_groups_that_are_published_otherwise_come_from_parts_too(spec: dict[str, object]) -> None:
    method, data = make("algorithm", spec), table(900)
    models = [{"name": "k", "k": 5}] if spec.get("l") is None else [one.parameters() for one in method.models()]
    problem = asked(data, models)
    found = grouped_in_parts(method, problem, Parted(problem.rows), 250)
    assert found.notes["parts"] > 3
    assert type(found) is type(method.run(problem))
    released = held(problem, found)
    assert released.n_suppressed == 0
    # As many groups as in one piece, but for what is left over of each part.
    assert released.n_classes > 0.8 * held(problem, method.run(problem)).n_classes


def test_a_method_whose_time_grows_with_the_square_of_rows_has_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.algorithms.links.microaggregation._PART", 100)
    method, problem = make("algorithm", {"name": "microaggregation"}), asked(table(900), [{"name": "k", "k": 5}])
    assert grouped_in_parts(method, problem, Parted(problem.rows), 800).notes["parts"] > 8
    whole = grouped_in_parts(method, problem, Parted(problem.rows), 900)  # memory holds all of them
    assert "parts" not in whole.notes
    large = asked(table(900), [{"name": "k", "k": 150}])
    assert held(large, grouped_in_parts(method, large, Parted(large.rows), 800)).n_suppressed == 0


@pytest.mark.parametrize("most", [40, 130, 250])
@pytest.mark.parametrize("on", ["ill", ["ill", "ward"]])
def test_values_that_are_just_not_too_common_are_so_in_every_share(most: int, on: object) -> None:
    """A share drawn at random would have too much of one of them, and fail where the whole does not."""
    rows = np.arange(600)
    people = {"age": rows % 50, "ill": np.array(["flu", "cold", "cough"])[rows % 3], "ward": np.full(600, "north")}
    frame = pl.DataFrame(people).vstack(pl.DataFrame({"age": [1] * 40, "ill": [None] * 40, "ward": ["north"] * 40}))
    data = shoal.read(frame, quasi=["age"], sensitive=["ill", "ward"], missing="value")
    method = make("algorithm", {"name": "anatomy", "l": 3, "on": on})
    problem = asked(data, [one.parameters() for one in method.models()])
    found = grouped_in_parts(method, problem, Parted(problem.rows), most)
    assert found.notes["parts"] > 1
    assert held(problem, found).n_suppressed == 0


def test_no_part_is_one_outlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The widest column is that of one old person, who would be alone beyond its median."""
    recipe = census(tmp_path, 900, algorithm="k-members")
    text = recipe.read_text().replace('[[models]]\nname = "t-closeness"\nt = 0.3\non = "income"\n', "")
    text = text.replace("W-NEUTRAL", 'W-NEUTRAL", "W-UNMODELLED:income').replace("suppression_limit = 0.6\n", "")
    recipe.write_text(text.replace("age = { widths = [5, 10, 20] }\n", ""))
    people = pl.read_csv(tmp_path / "people.csv", infer_schema=False)
    people.with_columns(age=pl.Series(["30"] * (people.height - 1) + ["99"])).write_csv(tmp_path / "people.csv")
    monkeypatch.setattr("shoal.engines.store.StoredRows.most", lambda rows, memory: 300)
    code, sentence, _ = outcome(recipe, "duckdb")
    assert (code, sentence) == (0, "")
    assert read_evidence(tmp_path / "out-duckdb")["search"]["parts"] > 1


@pytest.mark.parametrize("algorithm", ["k-members", "bottom-up", "mondrian"])
def test_one_part_is_what_memory_gives(algorithm: str, tmp_path: Path) -> None:
    recipe = census(tmp_path, algorithm=algorithm)
    recipe.write_text(recipe.read_text().replace("t = 0.3", "t = 0.45"))
    found = outcome(recipe, "duckdb")
    assert found == outcome(recipe, "memory")
    assert found[0] == 0, found[1]


@pytest.mark.parametrize("algorithm", ["k-members", "toc", "top-down", "mondrian"])
def test_several_parts_are_released_and_lose_little_more(
    algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = census(tmp_path, 900, algorithm=algorithm)
    text = recipe.read_text()
    text = text.replace('[[models]]\nname = "t-closeness"\nt = 0.3\non = "income"\n', "")
    recipe.write_text(text.replace("W-NEUTRAL", 'W-NEUTRAL", "W-UNMODELLED:income'))
    whole = outcome(recipe, "memory")
    monkeypatch.setattr("shoal.engines.store.StoredRows.most", lambda rows, memory: 300)
    parts = outcome(recipe, "duckdb")
    assert whole[:2] == parts[:2] == (0, "")
    assert shoal.verify_release(tmp_path / "out-duckdb").passed
    private = [read_evidence(tmp_path / f"out-{engine}") for engine in ("memory", "duckdb")]
    assert private[1]["search"]["parts"] > 1
    lost = [one["measures"]["lm"]["value"] for one in private]
    assert lost[1] < 1.6 * lost[0]


def test_a_frequency_table_that_does_not_fit_is_said_to_need_so_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = census(tmp_path, 300)
    monkeypatch.setattr("shoal.engines.store.StoredRows.most_cells", lambda rows, memory: 20)
    code, sentence, _ = outcome(recipe, "duckdb")
    assert code == 2
    assert "combinations need, with the values in them, 0.0GB" in sentence


@pytest.mark.parametrize("algorithm", ["k-members", "mondrian"])
def test_parts_are_cut_without_a_frequency_table(
    algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(rows: object) -> None:
        raise AssertionError("nobody may ask for all combinations")

    monkeypatch.setattr("shoal.engines.store.StoredRows.most", lambda rows, memory: 200)
    monkeypatch.setattr("shoal.engines.store.StoredRows.most_cells", lambda rows, memory: 20)
    monkeypatch.setattr("shoal.engines.sql_rows.CountedRows._cells", property(none))
    found = outcome(census(tmp_path, 900, algorithm=algorithm), "duckdb")
    assert found[0] == 0, found[1]
    assert read_evidence(tmp_path / "out-duckdb")["search"]["parts"] > 2


def test_what_looks_at_all_records_says_how_much_they_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = census(tmp_path, 300)
    text = recipe.read_text().replace('name = "optimal"', 'name = "optimal"\nrepeat = true')
    recipe.write_text(text)
    monkeypatch.setattr("shoal.engines.store.StoredRows.most", lambda rows, memory: 200)
    code, sentence, _ = outcome(recipe, "duckdb")
    assert code == 2
    assert "'optimal' looks at all records at once" in sentence
    people = pl.read_csv(tmp_path / "people.csv", infer_schema=False).height
    assert f"{people} of them need" in sentence
