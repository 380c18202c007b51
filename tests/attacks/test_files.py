"""Files without a manifest: the same figures as from the folder, and what cannot be known is refused or told."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shoal
from shoal.data.keys import Keys
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.recoding.reader_labels import publisher_manifest
from shoal.risk.attacks.files import attack_frame, file_case, strangers
from shoal.risk.attacks.run import make_case, run_attacks
from shoal.risk.attacks.views import public_view

PEOPLE = shoal.example_census(400).select("age", "sex", "education", "diagnosis").drop_nulls()
QUASI = ["age", "sex", "education"]
FIGURES = ["linkage", "homogeneity", "background", "skewness", "similarity", "singling-out"]


def values(results: Any) -> dict[str, Any]:
    found = {one.name: one.value for result in results for one in result.figures}
    return found | {f"{one.name} control": one.control for result in results for one in result.figures}


@pytest.mark.parametrize("algorithm", ["mondrian", "optimal"])
def test_a_release_without_its_manifest_gives_the_same_figures(algorithm: str) -> None:
    inside, outside = PEOPLE[:300], PEOPLE[300:]
    trees = {"diagnosis": shoal.Hierarchy.from_rows(
        "diagnosis", [[one, "ab"[one > "d"], "*"] for one in sorted(PEOPLE["diagnosis"].unique())]
    )}  # fmt: skip
    if algorithm == "optimal":
        trees["age"] = shoal.Hierarchy.from_rows("age", [[str(one), f"{one // 20 * 20}+", "*"] for one in range(120)])
        for name in ("sex", "education"):
            leaves = sorted(PEOPLE[name].unique())
            trees[name] = shoal.Hierarchy.from_rows(name, [[one, "*"] for one in leaves])
    table = shoal.read(inside, quasi=QUASI, sensitive=["diagnosis"], hierarchies=trees)
    release = shoal.anonymize(
        table, algorithm=algorithm, models=[shoal.KAnonymity(k=3)], acknowledge=["W-UNMODELLED:diagnosis"], seed=1
    )
    view = public_view(release.frame, publisher_manifest(release.manifest, table))
    case = make_case(view, release.manifest, Keys.from_seed(1), against=inside, control=outside)
    bare = attack_frame(
        release.frame, quasi=QUASI, sensitive=["diagnosis"], hierarchies=trees, against=inside, control=outside,
        only=FIGURES, seed=1,
    )  # fmt: skip
    expected = values(run_attacks(case, FIGURES))
    assert len(expected) > 6
    assert values(bare) == pytest.approx(expected)


def test_the_publishers_side_is_asked_for() -> None:
    frame = pl.DataFrame({"age": ["2*", "2*"], "s": ["a", "b"]})
    notes = {one.name: one.note for one in attack_frame(frame, quasi=["age"], sensitive=["s"])}
    assert "the publisher's side" in notes["downcoding"]
    assert "identified table" in notes["linkage"]


def test_rows_of_stars_are_no_class_and_subjects_are_people() -> None:
    frame = pl.DataFrame({"age": ["2*", "2*", "*"], "s": ["a", "b", "*"], "who": ["ann", "ann", "bob"]})
    case = file_case(frame, quasi=["age"], sensitive=["s"], subject="who", keys=Keys.from_seed(1))
    assert (case.view.rows, case.people.count) == (2, 1)


def test_texts_that_nobody_has_are_told() -> None:
    frame = pl.DataFrame({"job": ["clerical", "nurse"], "s": ["a", "b"]})
    people = pl.DataFrame({"job": ["typist", "nurse"], "s": ["a", "b"]})
    case = file_case(frame, quasi=["job"], sensitive=["s"], against=people, keys=Keys.from_seed(1))
    (told,) = strangers(case.view, people)
    assert "1 of 2 values of 'job'" in told
    assert "clerical" not in told
    assert strangers(case.view, people, ["job"]) == []


def test_builders_make_hierarchies_of_the_peoples_values() -> None:
    frame = pl.DataFrame({"zip": ["13**", "13**", "*"], "s": ["a", "a", "b"]})
    people = pl.DataFrame({"zip": ["1301", "1355", "2000"], "s": ["a", "a", "b"]})
    found = attack_frame(
        frame, quasi=["zip"], sensitive=["s"], hierarchies={"zip": {"prefix": [2]}}, against=people, only=["linkage"]
    )
    # Two people have three matches, and the last one has one.
    assert found[0].figures[0].value == pytest.approx((1 / 3 + 1 / 3 + 1) / 3)


FRAME = pl.DataFrame({"age": ["2*", "30"], "s": ["a", "b"]})
OTHERS = pl.DataFrame({"age": [21, 30], "s": ["a", "b"]})


@pytest.mark.parametrize("given, error, message", [
    ({"quasi": ["agee"]}, SchemaError, "no column 'agee'.*Did you mean 'age'"),
    ({"quasi": []}, SchemaError, "no quasi-identifier"),
    ({"quasi": ["age"], "hierarchies": {"agee": "x.csv"}}, SchemaError, "hierarchy for 'agee'.*did you mean 'age'"),
    ({"quasi": ["age"], "types": {"s2": "date"}}, SchemaError, "type for 's2'"),
    ({"quasi": ["age"], "types": {"age": "ordinal"}}, ParameterError, "'type' of column 'age'"),
    ({"quasi": ["age"], "kind": "randomised"}, ParameterError, "'kind' of a file"),
    ({"quasi": ["age"], "kind": "microaggregated", "hierarchies": {"age": "x.csv"}}, ParameterError, "no labels"),
    ({"quasi": ["age"], "control": OTHERS}, InputError, "control needs an identified table"),
    ({"quasi": ["age"], "against": OTHERS, "control": OTHERS}, InputError, "2 of 2 rows of the control"),
    ({"quasi": ["age"], "against": OTHERS.drop("age")}, InputError, "no column 'age'"),
    ({"quasi": ["age"], "subject": "age"}, SchemaError, "two roles"),
])  # fmt: skip
def test_refusals(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        attack_frame(FRAME, sensitive=["s"], **given)
