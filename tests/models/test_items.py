"""k^m-anonymity: worked examples, corner cases, what is refused, and what the gate and a re-check notice."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.coding import NONE
from shoal.data.rows import Batch
from shoal.errors import GateError, HierarchyError, InputError, ParameterError, RecipeError, SchemaError
from shoal.recoding.publish import Publisher
from shoal.release.entry import verify_release
from shoal.release.run import run
from shoal.verify.recheck import recheck
from shoal.verify.report import GateReport

TREE = [["a1", "A", "*"], ["a2", "A", "*"], ["b1", "B", "*"], ["b2", "B", "*"]]
PAPER = ["a1|b1|b2", "b1|a2", " a2 |b1|b2|b2|", "a1|a2|b2"]


def table(cells: list[str | None], wards: list[str] | None = None, tree: object = TREE, **more: object) -> shoal.Table:
    frame = pl.DataFrame({"ward": wards or ["w"] * len(cells), "has": cells})
    trees = {} if tree is None else {"has": tree}
    return shoal.read(
        frame, quasi=["ward"], sensitive=["has"], settings={"has": {"items": "|"}}, hierarchies=trees, **more
    )


def released(made: shoal.Table, k: int = 2, m: int = 2, **more: object) -> shoal.Release:
    how = {"algorithm": {"name": "none"}, "acknowledge": ["W-NO-K"]} | more
    return shoal.anonymize(made, models=[{"name": "k-m", "k": k, "m": m}], seed=1, **how)


def fewest(frame: pl.DataFrame, m: int) -> int:
    """The fewest records of a class that share up to m labels."""
    found: Counter[tuple[str, ...]] = Counter()
    for ward, cell in frame.iter_rows():
        for size in range(1, m + 1):
            for some in combinations([] if cell in (None, NONE) else cell.split("|"), size):
                found[ward, *some] += 1
    return min(found.values(), default=0)


def test_the_worked_example_of_the_paper() -> None:
    """Four transactions, k = m = 2: a1 and a2 become A, and b1 and b2 stay."""
    made = released(table(PAPER))
    assert sorted(made.frame["has"]) == ["A|b1", "A|b1|b2", "A|b1|b2", "A|b2"]
    assert made.manifest["statement"] == "2^2-anonymous on has"
    (verdict,) = made.verdict
    assert (verdict.value, verdict.limit, verdict.by) == (2, 2, "rechecked")
    assert made.evidence["items"]["has"]["suppressed"] == 0
    entry = made.manifest["columns"][1]
    assert (entry["cells"], entry["several"]) == ("items", "|")
    assert [row[0] for row in entry["hierarchy"]] == [None, None, "b1", "b2"]


def test_a_label_that_covers_no_more_is_no_step() -> None:
    """Above x stands X alone, which would hide nothing: x keeps its name, or becomes what covers y too."""
    tree = [["x", "X", "all"], ["y", "Y", "all"], ["z", "Z", "all"]]
    made = released(table(["x|y", "x|y", "x|z", "x|z", "x", "x"], tree=tree))
    assert sorted(made.frame["has"]) == ["x", "x", "x|y", "x|y", "x|z", "x|z"]
    made = released(table(["x|y", "x|y", "x", "x", "z", "z|y"], tree=tree))
    assert set("|".join(made.frame["has"]).split("|")) <= {"x", "y", "all", NONE}


def test_items_are_suppressed_where_there_is_no_hierarchy() -> None:
    made = released(table(["x|y", "x|y", "x|z", "x"], tree=None))
    assert sorted(made.frame["has"]) == ["x", "x", "x|y", "x|y"]
    assert "hierarchy" not in made.manifest["columns"][1]


def test_it_holds_within_every_class_of_quasi_identifiers() -> None:
    """Over both wards x would be shared by two; in each it is one person's."""
    made = released(table(["x|y", "y", "x|z", "z"], wards=["v", "v", "w", "w"], tree=None))
    assert sorted(made.frame.iter_rows()) == [("v", "y"), ("v", "y"), ("w", "z"), ("w", "z")]
    assert fewest(made.frame, 2) == 2


def test_missing_cells_stay_missing_and_cells_of_nothing_say_so() -> None:
    made = released(table(["x", "x", "q", None, "|", "<none>"], tree=None, missing="value"))
    assert sorted(made.frame["has"], key=str) == [NONE, NONE, NONE, None, "x", "x"]
    empty = released(table(["|", NONE, None], tree=None, missing="value"))
    assert sorted(empty.frame["has"], key=str) == [NONE, NONE, None]


@pytest.mark.parametrize(("k", "m"), [(2, 1), (3, 2), (4, 3)])
def test_random_records_keep_k_and_m_by_any_method_of_classes(k: int, m: int) -> None:
    people = shoal.example_census(300, seed=k).select("age", "sex").drop_nulls()
    cells = ["|".join(name for bit, name in enumerate(["a1", "a2", "b1", "b2"]) if i * 7919 % 97 >> bit & 1)
             for i in range(people.height)]  # fmt: skip
    read = shoal.read(
        people.with_columns(has=pl.Series(cells)), quasi=["age", "sex"], sensitive=["has"], hierarchies={"has": TREE},
        settings={"has": {"items": "|"}}, missing="value",
    )  # fmt: skip
    made = shoal.anonymize(read, models=["k=12", {"name": "k-m", "k": k, "m": m}], seed=1)
    joined = made.frame.select(pl.concat_str("age", "sex", separator="/"), "has")
    assert fewest(joined, m) >= k
    report = recheck(made.frame, {**made.manifest, "data": {"rows": made.frame.height}})
    assert report.passed, [check for check in report.checks if not check.passed]


def gated(cells: list[str], column: dict[str, object] | None = None) -> list[str]:
    """What the gate finds wrong when the worked example is published with other cells."""
    honest, reports = Publisher.frame, list[GateReport]()

    def changed(publisher: Publisher, batch: Batch, classes: np.ndarray) -> pl.DataFrame:
        return honest(publisher, batch, classes).with_columns(has=pl.Series(cells).gather(batch.rows))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Publisher, "frame", changed)
        patch.setattr("shoal.release.publish.refuse_failed", reports.append)
        released(table(PAPER))
    return [check.name for check in reports[0].checks if not check.passed]


@pytest.mark.parametrize(
    ("cells", "faults"),
    [
        (["A|b1|b2", "A|b1", "A|b1|b2", "A|b2"], []),
        (["a1|b1|b2", "A|b1", "A|b1|b2", "A|b2"], ["k-m on has"]),
        (["A|b1|b2", "A|b1|b2", "A|b1|b2", "A|b2"], ["items of has"]),
        (["A|B|b1|b2", "A|b1", "A|b1|b2", "A|b2"], ["items of has", "k-m on has"]),
        (["b1|A|b2", "A|b1", "A|b1|b2", "A|b2"], ["sensitive values"]),
        (["A|b1|b2", "A|b1", "b1|b2", "A"], ["k-m on has"]),
        (["A|b1|b2", "A|b1", "A|b1|b2", NONE], []),
        (["*|b1", "A|b1", "A|b1|b2", "A|b2"], ["items of has", "k-m on has"]),
    ],
)
def test_the_gate_notices_other_cells(cells: list[str], faults: list[str]) -> None:
    assert [name for name in gated(cells) if name != "hierarchies"] == faults


def test_a_recheck_notices_a_release_that_was_tampered_with() -> None:
    made = released(table(PAPER))
    manifest = {**made.manifest, "data": {"rows": 4}}
    assert recheck(made.frame, manifest).passed
    other = made.frame.with_columns(has=pl.Series(["A|b1", "A|b1", "A|b2", "A|b1|b2"]))
    assert not recheck(other, manifest).passed
    stronger = json.loads(json.dumps(manifest).replace('"k": 2', '"k": 3'))
    assert any(check.name == "k-m on has" for check in recheck(made.frame, stronger).checks if not check.passed)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"settings": {"has": {"items": "ab"}}}, ParameterError, "must be the one character between them"),
        ({"settings": {"has": {"items": "|", "order": ["x"]}}}, ParameterError, "'order' of a column is for single"),
        ({"sensitive": [], "neutral": ["has"]}, SchemaError, "holds items, which is for sensitive columns"),
        ({"hierarchies": {"has": TREE[:3]}}, HierarchyError, "lacks 1 of 4 items: add a line for each"),
        ({"hierarchies": {"has": [["a1", "A|", "*"], *TREE[1:]]}}, HierarchyError, "1 labels with '|' in them"),
    ],
)
def test_what_cannot_be_read_is_said(change: dict[str, object], error: type[Exception], message: str) -> None:
    given = {"quasi": ["ward"], "sensitive": ["has"], "settings": {"has": {"items": "|"}}} | change
    with pytest.raises(error, match=message.replace("|", r"\|")):
        shoal.read(pl.DataFrame({"ward": ["w"] * 4, "has": PAPER}), **given)


def test_items_that_would_be_read_as_something_else_are_refused() -> None:
    with pytest.raises(InputError, match="1 different cells with an item written as '\\*'"):
        table(["a1|*", "a1"])


def test_what_does_not_go_with_items_is_said() -> None:
    made = table(PAPER)
    with pytest.raises(ParameterError, match="the model 'k-m' is set on it nowhere: set it once"):
        shoal.anonymize(made, models="k=2", acknowledge=["W-UNMODELLED:has"])
    with pytest.raises(ParameterError, match="'distinct-l' is about single values, and 'has' holds items"):
        shoal.anonymize(made, models=["k=2", "k-m=2", "distinct-l=2"])
    with pytest.raises(ParameterError, match="set on it twice"):
        shoal.anonymize(made, models=["k=2", "k-m=2", "k-m m=1 k=3"])
    with pytest.raises(ParameterError, match="The 'm' of KMAnonymity must be at most 4"):
        shoal.KMAnonymity(2, m=5)
    plain = shoal.read(pl.DataFrame({"ward": ["w"] * 4, "has": PAPER}), quasi=["ward"], sensitive=["has"])
    with pytest.raises(ParameterError, match="sensitive columns of items, and there is no such column"):
        shoal.anonymize(plain, models=["k=2", "k-m=2"])
    frame = pl.DataFrame({"id": [1, 1, 2, 3], "ward": ["w"] * 4, "has": PAPER})
    people = shoal.read(frame, subject="id", quasi=["ward"], sensitive=["has"], settings={"has": {"items": "|"}})
    with pytest.raises(ParameterError, match="put the items of a person into one row"):
        shoal.anonymize(people, models=["k=2", "k-m=2"])
    with pytest.raises(ParameterError, match="about generalised cells"):
        shoal.anonymize(table(PAPER, list("vvww")), models="k-m=2", algorithm="random", acknowledge=["W-RA-LINK"])


RECIPE = """
seed = 1
acknowledge = ["W-NO-K"]
[source]
path = "rows.csv"
[roles]
quasi = ["ward"]
sensitive = ["has"]
[columns.has]
items = ";"
[hierarchies]
has = { prefix = [1] }
[[models]]
name = "k-m"
k = 2
m = 2
[algorithm]
name = "none"
"""


def test_a_recipe_publishes_items_that_can_be_verified(tmp_path) -> None:
    frame = pl.DataFrame({"ward": ["w"] * 5, "has": [*(cell.replace("|", ";") for cell in PAPER), "c9"]})
    frame.write_csv(tmp_path / "rows.csv")
    (tmp_path / "recipe.toml").write_text(RECIPE)
    made = run(tmp_path / "recipe.toml")
    assert verify_release(tmp_path / "out").passed
    assert sorted(made.frame["has"]) == [NONE, "a*;b1", "a*;b1;b2", "a*;b1;b2", "a*;b2"]
    assert "c9" not in (tmp_path / "out" / "manifest.json").read_text()
    (tmp_path / "recipe.toml").write_text(RECIPE + '[engine]\nname = "duckdb"\n')
    with pytest.raises(RecipeError, match="those of 'has' hold items: use the engine 'memory'"):
        run(tmp_path / "recipe.toml", replace=True)


def test_an_item_that_nobody_released_is_no_part_of_the_manifest(tmp_path) -> None:
    made = released(table([*PAPER, "b1|b2|a1"], tree=TREE))
    manifest = json.loads(json.dumps(made.manifest))
    manifest["columns"][1]["hierarchy"].append(["a1", "A", "*"])
    from dataclasses import replace

    from shoal.io.evidence import manifest_bytes

    told = replace(made, gated=replace(made.gated, manifest=manifest_bytes(manifest)))
    with pytest.raises(GateError, match="1 labels of 'has' stand in the manifest and in no cell"):
        told.write(tmp_path / "out")
