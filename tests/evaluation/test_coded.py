"""Transformed tables: T' is mined on its codes beside T, and untouched columns are not compared with themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms.base import Algorithm
from shoal.errors import InputError
from shoal.release.write import read_tables
from shoal.utility.association_rules import AssociationRules
from shoal.utility.classifiers import Classifiers
from shoal.utility.clustering import Clustering
from shoal.utility.coded_columns import NO_CODE, codes_of, read_back
from shoal.utility.distributions import Distributions
from shoal.utility.reading import Finding, Reading, read_published, read_release
from shoal.utility.regression import Regression
from tests.evaluation.samples import people

CODES = ["W-PP-REV", "W-NO-K", "W-NEUTRAL", "W-UNMODELLED:disease", "W-UNMODELLED:age"]
DOUBLED = shoal.TableTransform(names=[1, 2, 4, 8, 16])


def transformed(algorithm: Algorithm | None = None, frame: pl.DataFrame | None = None, **more: Any) -> shoal.Release:
    """Age is graded and disease mapped; the rest stays as it is."""
    given = people() if frame is None else frame
    table = shoal.read(given, quasi=["sex", "town"], sensitive=["age", "disease"], neutral=["income"], **more)
    return shoal.anonymize(table, algorithm=algorithm or shoal.TableTransform(), acknowledge=CODES, seed=2)


def written(made: shoal.Release, folder: Path, frame: pl.DataFrame, codes: dict[str, pl.Series]) -> Reading:
    made.write(folder)
    frames, manifest = read_tables(folder)
    return read_published(frames["release"], manifest, frame, codes=codes)


def by_name(found: list[Finding]) -> dict[str, Finding]:
    return {one.name: one for one in found}


def test_codes_are_columns_of_their_own() -> None:
    reading = read_release(transformed())
    assert (list(reading.coded), list(reading.left_out), reading.paired) == (["age", "disease"],) * 2 + (True,)
    after, before = reading.mined
    assert list(after.features) == list(before.features)
    assert set(after.features["disease"].values) == {"disease_1", "disease_2", "disease_3"}
    assert set(before.features["disease"].values) == {"asthma", "gout", "none"}
    assert after.features["age"].numbers is not None
    assert before.features["age"].numbers is not None
    assert after.features["age"].numbers.max() < 6
    assert before.features["age"].numbers.max() > 70
    assert sorted(read_back(reading, "disease").values()) == ["asthma", "gout", "none"]


def test_mapping_changes_no_guess_and_grading_does() -> None:
    given = Classifiers(target="disease", learners=("naive-bayes",))
    for algorithm, same in ((shoal.ValueMapping(), True), (DOUBLED, False)):
        (found,) = given.run(read_release(transformed(algorithm)))
        assert (found.value == found.also["original"]) == same, algorithm
        assert "coded as published" in found.sentence


def test_a_target_of_codes_is_the_default() -> None:
    (found,) = Classifiers(learners=("naive-bayes",)).run(read_release(transformed()))
    assert found.also["target"] == "disease"
    assert found.value is not None
    assert found.value > (found.baseline or 1.0)


def test_trees_ask_only_for_order() -> None:
    pytest.importorskip("sklearn")
    (found,) = shoal.evaluate(transformed(DOUBLED), ["partitioning"])
    assert found.value == pytest.approx(found.also["original"], abs=1e-12)
    assert found.also["release_buckets"] != found.also["original_buckets"]


def test_rules_are_read_back_and_are_the_same() -> None:
    recovered, artificial, items = AssociationRules(on="disease").run(read_release(transformed()))
    assert recovered.also["rules"] > 3
    assert (recovered.value, artificial.value, items.value) == (1.0, 0.0, 1.0)


def test_clusters_see_the_codes() -> None:
    pytest.importorskip("sklearn")
    plain, other = (
        by_name(Clustering(clusters=2).run(read_release(transformed(one))))["clustering agreement"]
        for one in (shoal.ValueMapping(), DOUBLED)
    )
    assert plain.value == 1.0
    assert other.value is not None
    assert other.value < 0.9


def test_regression_explains_a_graded_number_and_is_explained_by_it() -> None:
    reading = read_release(transformed(DOUBLED))
    (graded,) = Regression(target="age").run(reading)
    (income,) = Regression(target="income", columns=["age", "sex", "town"]).run(reading)
    for found in (graded, income):
        assert found.value is not None
        assert found.value != found.also["original"]
        assert found.value > 0.2


def test_distributions_compare_relations_and_codes_with_values() -> None:
    found = by_name(Distributions().run(read_release(transformed())))
    assert list(found) == ["distributions associations", "distributions codes"]
    assert 0 < found["distributions associations"].also["largest"] < 0.05
    assert "age" in found["distributions associations"].also["pair"]
    codes = found["distributions codes"]
    age, code = people()["age"].to_numpy(), transformed().aligned()["age"].to_numpy()
    assert codes.value == pytest.approx(np.corrcoef(age, code)[0, 1])


def test_a_written_release_is_judged_on_its_own_rows(tmp_path: Path) -> None:
    reading = written(transformed(), tmp_path / "out", people(), {})
    assert (list(reading.coded), reading.paired) == (["age", "disease"], False)
    (found,) = Classifiers(learners=("naive-bayes",)).run(reading)
    assert "of its own rows held out" in found.sentence
    assert found.value == pytest.approx(found.also["original"], abs=0.1)
    (number,) = AssociationRules(on="disease").run(reading)
    assert (number.name, number.value) == ("rules on disease number", 1.0)


def test_a_written_release_and_what_undoes_it_read_as_the_release_does(tmp_path: Path) -> None:
    made = transformed(DOUBLED)
    codes = {secret.column: secret.encode(people()[secret.column]) for secret in made.secrets}
    theirs = written(made, tmp_path / "out", people(), codes)
    ours = read_release(made)
    for name in ours.coded:
        assert np.array_equal(ours.mined[0].features[name].original, theirs.mined[0].features[name].original)
        assert list(ours.mined[0].features[name].values) == list(theirs.mined[0].features[name].values)
    assert AssociationRules(on="disease").run(theirs) == AssociationRules(on="disease").run(ours)


def mapped(pay: list[str]) -> tuple[shoal.Release, pl.DataFrame]:
    """Numbers that are mapped, as a file may write them."""
    frame = people().with_columns(pay=pl.Series([pay[row % len(pay)] for row in range(people().height)]))
    table = shoal.read(frame, quasi=["sex", "town"], sensitive=["pay"], neutral=["income"], drop=["age", "disease"],
                       settings={"pay": {"type": "numeric"}})  # fmt: skip
    return shoal.anonymize(table, algorithm=shoal.ValueMapping(on="pay"), acknowledge=CODES, seed=2), frame


def test_a_vault_reads_numbers_however_a_file_writes_them(tmp_path: Path) -> None:
    made, frame = mapped(["10.50", "20.5", "20.5", "30"])
    made.write(tmp_path / "out")
    frames, manifest = read_tables(tmp_path / "out")
    codes = codes_of(made.secrets, manifest, frame)
    assert codes["pay"].to_list() == made.aligned()["pay"].to_list()
    theirs = read_published(frames["release"], manifest, frame, codes=codes)
    assert AssociationRules().run(theirs) == AssociationRules().run(read_release(made))
    with pytest.raises(InputError, match="None of the original's values of 'pay' has a code"):
        codes_of(made.secrets, manifest, frame.with_columns(pay=pl.lit("99")))


def test_mapped_numbers_are_related_to_others_as_before() -> None:
    found = by_name(Distributions().run(read_release(mapped(["10", "20", "20", "30"])[0])))
    assert found["distributions associations"].value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", ["classifiers", "rules", "clustering", "regression", "distributions", "partitioning"])
def test_untouched_columns_are_not_compared_with_themselves(name: str) -> None:
    pytest.importorskip("sklearn")
    table = shoal.read(people(), quasi=["sex"], sensitive=["disease", "age"], neutral=["income", "town"])
    made = shoal.anonymize(table, algorithm=shoal.NoAlgorithm(), models=[shoal.KAnonymity(k=5)],
                           acknowledge=CODES, seed=1)  # fmt: skip
    found = shoal.evaluate(made, [name])
    assert [one.value for one in found] == [None]
    assert found[0].sentence.startswith("Untouched: ")


def test_counts_of_what_stands_beside_codes_are_not_compared_with_themselves() -> None:
    (found,) = shoal.evaluate(transformed(), ["count-queries"])
    assert found.value is None
    assert found.sentence.startswith("Untouched: 'sex', 'town', 'income' are published")


def test_what_touches_a_column_is_compared() -> None:
    columns = ("sex", "income")
    for algorithm, touched in ((None, False), (shoal.RandomAnonymisation(), True)):
        made = transformed(algorithm) if algorithm is None else _noisy(algorithm)
        (found,) = shoal.evaluate(made, [Classifiers(target="sex", columns=columns, learners=("naive-bayes",))])
        assert (found.value is not None) == touched


def test_values_without_a_code_are_told_wrong_and_not_left_out() -> None:
    odd = pl.DataFrame({"sex": ["x"] * 80, "town": [f"far {row}" for row in range(80)], "disease": "rare", "income": 9})
    frame = pl.concat([odd, people().select(odd.columns)], how="vertical_relaxed")
    table = shoal.read(frame, quasi=["sex", "town"], sensitive=["disease"], neutral=["income"],
                       settings={"disease": {"code": "mapping"}})  # fmt: skip
    made = shoal.anonymize(
        table, algorithm=shoal.NoAlgorithm(suppression_limit=0.9), models=[shoal.KAnonymity(k=2)], seed=1,
        acknowledge=["W-PP-REV", "W-NEUTRAL", "W-UNMODELLED:disease"],
    )  # fmt: skip
    feature = read_release(made).mined[0].features["disease"]
    assert {feature.values[code] for code in feature.original[:80]} == {NO_CODE}
    assert NO_CODE not in {feature.values[code] for code in feature.released()}
    (found,) = shoal.evaluate(made, [Classifiers(target="disease", learners=("naive-bayes",))])
    assert f"of {round(0.3 * frame.height)} original rows held out" in found.sentence
    assert found.value is not None
    assert found.value < found.also["original"] - 0.1  # which tells all that are rare


def test_swapped_columns_of_a_written_release_are_touched(tmp_path: Path) -> None:
    table = shoal.read(people().drop("age"), quasi=["sex", "town"], sensitive=["disease"], neutral=["income"])
    made = shoal.anonymize(table, algorithm="swapping", acknowledge=["W-PERTURBED", "W-NEUTRAL"], seed=1)
    assert not {"sex", "town"} & read_release(made).untouched
    theirs = written(made, tmp_path / "out", people(), {})
    assert not {"sex", "town"} & theirs.untouched
    assert "disease" in theirs.untouched


def _noisy(algorithm: Algorithm) -> shoal.Release:
    table = shoal.read(people().drop("age"), quasi=["sex", "town"], sensitive=["disease"], neutral=["income"])
    return shoal.anonymize(table, algorithm=algorithm, acknowledge=["W-RA-LINK", "W-NEUTRAL"], seed=1)


def test_suppressed_rows_touch_every_column() -> None:
    frame = people().with_columns(town=pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("far")).otherwise("town"))
    table = shoal.read(frame, quasi=["town"], sensitive=["disease"], neutral=["income"], drop=["age", "sex"])
    own = shoal.NoAlgorithm(suppression_limit=0.1)
    made = shoal.anonymize(table, algorithm=own, models=[shoal.KAnonymity(k=5)], acknowledge=CODES, seed=1)
    assert not read_release(made).untouched
