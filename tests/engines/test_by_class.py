"""Pairs of class and value are never all in memory: some classes come after others, and figures are the same."""

from __future__ import annotations

import gc
import math
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.classes import Cells, ClassMap, RowIds, Split, Together, in_runs, runs_of
from shoal.data.rows import with_tuples
from shoal.data.stats import Histogram, InRuns, attribute
from shoal.engines.sql_rows import CountedRows
from shoal.io.evidence import read_evidence
from shoal.release import run
from shoal.release.prepare import Judged
from shoal.release.sinks import Sink
from tests.engines.alike import outcome
from tests.engines.test_duckdb import census
from tests.engines.test_plain import same

pytest.importorskip("duckdb")
ROWS, GROUPS = 600, 70
WHO = {True: "who", False: ["who"]}


def _whole(histogram: InRuns) -> None:
    raise AssertionError("nobody may ask for the pairs of all classes")


@pytest.mark.parametrize("sizes", [[], [0], [3, 2, 0, 4], [9, 1, 9], [0, 0, 0], [1] * 20])
def test_runs_are_of_so_many_rows_or_of_one_class(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.data.classes._ROWS", 5)
    monkeypatch.setattr("shoal.data.classes._GOES", 100)
    cuts = runs_of(np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]))
    assert (cuts[0], cuts[-1], len(cuts) > 1) == (0, len(sizes), True)
    for first, stop in zip(cuts[:-1], cuts[1:], strict=True):
        assert sum(sizes[first:stop]) <= 5 or stop == first + 1
        assert stop > first or not sizes


def test_all_rows_are_looked_at_in_few_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are: a run grows with them."""
    monkeypatch.setattr("shoal.data.classes._ROWS", 1)
    assert len(runs_of(np.arange(10_001))) <= 18


def test_classes_in_runs_are_the_same_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.data.classes._ROWS", 3)
    ids = np.array([4, 0, -1, 2, 2, 1, 0, 4, 3, 4], dtype=np.int32)
    found = list(in_runs(RowIds(ids, 5), np.bincount(ids[ids >= 0])))
    assert [one.groups for one in found] == [2, 2, 1]
    back, first = np.full(ids.size, -1, dtype=np.int32), 0
    for one in found:
        assert isinstance(one, RowIds)
        back = np.where(one.ids >= 0, one.ids + first, back)
        first += one.groups
    assert back.tolist() == ids.tolist()


@pytest.mark.parametrize("people", [False, True])
def test_counts_of_classes_are_those_of_memory(
    people: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Single columns and tuples, values that are unknown, classes joined and split, people with several rows."""
    random = np.random.default_rng(3)
    frame = pl.DataFrame({
        "age": random.integers(20, 90, ROWS), "s": random.integers(0, 300, ROWS),
        "x": random.choice(["a", "b", ""], ROWS), "who": random.integers(0, ROWS // 3, ROWS),
    })  # fmt: skip
    frame.write_csv(tmp_path / "rows.csv")
    recipe = {
        "source": {"path": str(tmp_path / "rows.csv"), "missing": "value"},
        "roles": {"quasi": ["age"], "sensitive": ["s", "x"], "subject" if people else "neutral": WHO[people]},
    }
    ids = random.integers(-1, GROUPS, ROWS).astype(np.int32)
    maps: list[ClassMap] = [RowIds(ids, GROUPS), Together(RowIds(ids, GROUPS)), Split(RowIds(ids, GROUPS), "x")]
    monkeypatch.setattr("shoal.data.classes._ROWS", 40)
    monkeypatch.setattr("shoal.engines.sql_rows.PAIRS", 10)
    with shoal.open_rows(recipe) as plain, shoal.open_rows({**recipe, "engine": {"name": "duckdb"}}) as rows:
        domain = with_tuples(plain, [("s", "x")])
        asked = [attribute(domain, names) for names in (["s"], ["x"], ["s", "x"])]
        # Classes of cells, whose pairs come by few questions.
        of = random.integers(-1, 5, plain.frequency([]).rows.size).astype(np.int32)
        for classes in (*maps, Cells(of, 5), Cells(np.arange(of.size, dtype=np.int32), of.size)):
            same(rows.stats(classes, asked), plain.stats(classes, asked))
        found = rows.stats(maps[0], asked[:1]).histograms[asked[0].key]
        assert isinstance(found, InRuns)
        assert max(run.codes.size for run in found.runs()) <= 40


def test_a_release_never_has_all_pairs_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searched, judged, measured and described by runs of classes, it is what it is by all of them at once."""
    monkeypatch.setattr("shoal.engines.store.StoredRows.most", lambda rows, memory: 300)
    found = []
    for place, rows in (("whole", 1 << 20), ("runs", 50)):
        monkeypatch.setattr("shoal.data.classes._ROWS", rows)
        (tmp_path / place).mkdir()
        recipe = census(tmp_path / place, 900, algorithm="toc")
        recipe.write_text(recipe.read_text().replace("t = 0.3", "t = 0.45"))
        found.append((outcome(recipe, "duckdb"), read_evidence(tmp_path / place / "out-duckdb")))
        monkeypatch.setattr(InRuns, "_whole", property(_whole))
    (at_once, told), (by_runs, again) = found
    assert at_once == by_runs
    assert (at_once[0], again["search"]["parts"] > 1) == (0, True)
    for private in ("measures", "split_verdicts", "other_references", "risk", "counts"):
        assert again[private] == told[private]


def _of_unique_incomes(folder: Path, rows: int) -> Path:
    random = np.random.default_rng(1)
    people = {"age": random.integers(20, 60, rows), "sex": random.choice(["f", "m"], rows)}
    pl.DataFrame({**people, "income": random.permutation(rows)}).write_csv(folder / "people.csv")
    recipe = folder / "recipe.toml"
    recipe.write_text(
        'acknowledge = ["W-IDENTIFIES:income"]\nseed = 1\n[source]\npath = "people.csv"\n'
        '[roles]\nquasi = ["age", "sex"]\nsensitive = ["income"]\n'
        '[hierarchies]\nage = { widths = [5, 10] }\n[[models]]\nname = "k"\nk = 20\n[[models]]\nname = "distinct-l"\n'
        'l = 3\n[algorithm]\nname = "optimal"\n[engine]\nname = "duckdb"\n',
        encoding="utf-8",
    )
    return recipe


def test_values_that_hardly_repeat_count_in_what_a_frequency_table_needs(tmp_path: Path) -> None:
    with shoal.open_rows(_of_unique_incomes(tmp_path, 20_000)) as rows:
        found = rows.frequency([attribute(rows.domain, ["income"])]).histograms.popitem()[1]
        taken = found.codes.nbytes + found.counts.nbytes
        count = rows.n_cells()
        assert taken == 20_000 * 12
        assert rows.cells_needed(count) > 2 * taken
        assert rows.most_cells(taken) < count <= rows.most_cells(math.ceil(rows.cells_needed(count)))


def test_what_was_counted_of_values_is_gone_when_rows_are_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.data.classes._ROWS", 500)
    counted: list[weakref.ref[Histogram]] = []
    forget, publish = CountedRows.forget, run.publish

    def watched(rows: CountedRows) -> None:
        counted.extend(weakref.ref(one) for one in rows._found.values() if isinstance(one, Histogram))
        forget(rows)

    def published(judged: Judged, sink: Sink) -> Any:
        gc.collect()
        assert [one() for one in counted] == [None]
        made = publish(judged, sink)
        assert not any(isinstance(one, Histogram) for one in judged.rows._found.values())  # nobody asked again
        return made

    monkeypatch.setattr(CountedRows, "forget", watched)
    monkeypatch.setattr(run, "publish", published)
    assert shoal.run(_of_unique_incomes(tmp_path, 4000)).gated.sink.height("release") == 4000


@pytest.mark.parametrize("algorithm", ["mondrian", "optimal"])
def test_nothing_is_sensitive(algorithm: str, tmp_path: Path) -> None:
    recipe = _of_unique_incomes(tmp_path, 400)
    text = recipe.read_text().replace('sensitive = ["income"]\n', 'drop = ["income"]\n').partition("[engine]")[0]
    text = text.replace('[[models]]\nname = "distinct-l"\nl = 3\n', "").replace("optimal", algorithm)
    recipe.write_text(text, encoding="utf-8")
    found = outcome(recipe, "duckdb")
    assert found[0] == 0, found[1]
    assert found == outcome(recipe, "memory")


def test_a_method_that_can_go_part_by_part_does_where_values_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = _of_unique_incomes(tmp_path, 4000)
    recipe.write_text(recipe.read_text().replace("optimal", "mondrian").partition("[engine]")[0], encoding="utf-8")
    monkeypatch.setattr("shoal.engines.store.StoredRows.most", lambda rows, memory: 1500)
    monkeypatch.setattr("shoal.engines.store.StoredRows.most_cells", lambda rows, memory: 20)
    code, sentence, _ = outcome(recipe, "duckdb")
    assert (code, sentence) == (0, "")
    assert read_evidence(tmp_path / "out-duckdb")["search"]["parts"] > 2
