"""With a subject, enough values remain possible for everybody over all classes of their rows, by plain loops."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.cli.main import execute
from shoal.errors import GateError, InfeasibleError, ParameterError, RefusalError, SchemaError
from shoal.models import suppression
from shoal.models.base import Model
from shoal.models.suppression import judge_people
from shoal.registry import load, names
from shoal.results import Release
from shoal.verify.terms.base import term_of
from tests.conftest import many

TABLES = many(16, 600)
DIAGNOSES = ["asthma", "cancer", "cold", "flu", "hiv", "none"]
UNKNOWN = {"refused", None}


def visits(seed: int, people: int = 120, diagnoses: int = 6, spread: int = 30) -> pl.DataFrame:
    """People with 1 to 6 visits and the same diagnosis at each."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        age, sex, diagnosis = int(rng.integers(20, 80)), "mf"[rng.integers(2)], DIAGNOSES[rng.integers(diagnoses)]
        for _ in range(int(rng.integers(1, 7))):
            zip_code = 1000 + int(rng.integers(spread))
            rows.append((f"p{person}", age + int(rng.integers(6)), zip_code, sex, diagnosis))
    return pl.DataFrame(rows, schema=["id", "age", "zip", "sex", "diagnosis"], orient="row")


def left_possible(release: Release, frame: pl.DataFrame, column: str = "diagnosis") -> dict[str, set[Any]]:
    """The known values in all classes of each released person, read off the released cells."""
    cells = release.frame.select("age", "zip", "sex").rows()
    values, classes = defaultdict(set), defaultdict(set)
    for key, row in zip(cells, release.source.tolist(), strict=True):
        values[key].add(frame[column][row])
        classes[frame["id"][row]].add(key)
    known = {key: found - UNKNOWN for key, found in values.items()}
    every = set(frame[column].to_list()) - UNKNOWN
    return {who: set.intersection(every, *(known[key] for key in keys if known[key])) for who, keys in classes.items()}


def released(frame: pl.DataFrame, models: list[Any], algorithm: Any = None, **roles: Any) -> Release:
    table = shoal.read(
        frame,
        quasi=["age", "zip", "sex"],
        sensitive=["diagnosis"],
        subject="id",
        missing="value",
        settings={"diagnosis": {"non_answers": ["refused"]}},
        **roles,
    )
    return shoal.anonymize(table, algorithm=algorithm or MONDRIAN, models=models, seed=1)


def agreeing(release: Release, frame: pl.DataFrame, column: str = "diagnosis") -> set[str]:
    """People without different known values in their released rows."""
    values = defaultdict(set)
    for row in release.source.tolist():
        values[frame["id"][row]] |= {frame[column][row]} - UNKNOWN
    return {who for who, found in values.items() if len(found) < 2}


def least_left(release: Release, frame: pl.DataFrame) -> int:
    """The fewest values that remain for anybody whose own values do not differ."""
    left = left_possible(release, frame)
    return min(len(left[who]) for who in agreeing(release, frame))


MONDRIAN = {"name": "mondrian", "suppression_limit": 1.0}


def test_rows_of_one_person_in_several_classes_gave_the_diagnosis_away() -> None:
    frame = visits(1)
    truth = dict(frame.select("id", "diagnosis").rows())
    before = released(frame, ["k=4", "distinct-l=3"], across_classes=False)
    alone = {who: found for who, found in left_possible(before, frame).items() if len(found) == 1}
    assert len(alone) >= 12
    assert all(found == {truth[who]} for who, found in alone.items())
    assert before.manifest["across_classes"] == []
    assert any(text.startswith("The values of 'diagnosis' of people") for text in before.manifest["not_protected"])
    now = released(frame, ["k=4", "distinct-l=3"])
    assert min(map(len, left_possible(now, frame).values())) >= 3
    assert now.manifest["across_classes"] == ["diagnosis"]
    assert not any("people with several records" in text for text in now.manifest["not_protected"])
    left_out = "People whose records differ in 'diagnosis': the classes of their records may share a single value."
    assert left_out in now.manifest["not_protected"]
    assert left_out not in before.manifest["not_protected"]


# Each model with the fewest values that must remain.
MODELS: list[tuple[Any, int]] = [
    ("distinct-l=2", 2),
    ("distinct-l=3", 3),
    ("entropy-l=1.8", 2),
    ("recursive-cl=2 c=3", 2),
    ("p-sensitive=2 k=2", 2),
    ("alpha-k-general=0.6 k=2", 2),
]
METHODS: list[dict[str, Any]] = [
    {"name": "mondrian"},
    {"name": "k-members"},
    {"name": "optimal"},
    {"name": "top-down"},
    {"name": "set-partition"},
]


def drawn(seed: int, slips: float = 0.0) -> tuple[pl.DataFrame, list[Any], dict[str, Any], int]:
    """A table of few different values, so that people meet in classes, with some odd rows and unknown values.

    A share of the people, ``slips``, has another diagnosis in the first row.
    """
    rng, other = np.random.default_rng([seed, 14]), np.random.default_rng([seed, 41])
    people, values = int(rng.integers(15, 90)), int(rng.integers(2, 7))
    ages, zips = (int(rng.integers(1, 4)) for _ in range(2))
    rows = []
    for person in range(people):
        home = int(rng.integers(ages)), int(rng.integers(zips)), "mf"[rng.integers(2)]
        diagnosis: str | None = DIAGNOSES[rng.integers(values)]
        first = DIAGNOSES[other.integers(values)] if other.random() < slips else diagnosis
        for visit in range(int(rng.integers(1, 7))):
            age, zip_code, sex = home
            if rng.random() < 0.2:
                age, zip_code = int(rng.integers(ages)), int(rng.integers(zips))
            value = diagnosis if visit else first
            if seed % 3 == 0 and rng.random() < 0.1:
                value = ["refused", None][rng.integers(2)]
            rows.append((f"p{person}", 10 * age, 1000 + zip_code, sex, value))
    frame = pl.DataFrame(rows, schema=["id", "age", "zip", "sex", "diagnosis"], orient="row")
    model, least = MODELS[seed % len(MODELS)]
    method = {**METHODS[(seed // len(MODELS)) % len(METHODS)], "suppression_limit": 1.0}
    return frame, ["k=2", model], method, least


def tried(seed: int, slips: float = 0.0, **roles: Any) -> tuple[Release, pl.DataFrame, int] | None:
    frame, models, method, least = drawn(seed, slips)
    try:
        return released(frame, models, method, **roles), frame, least
    except InfeasibleError:
        return None


@pytest.mark.parametrize("part", range(4))
def test_nobody_is_left_with_fewer_values_than_the_model_asks_for(part: int) -> None:
    made = 0
    for seed in range(part, TABLES, 4):
        found = tried(seed)
        if found is None:
            continue
        release, frame, least = found
        assert release.manifest["across_classes"] == ["diagnosis"]
        assert min(map(len, left_possible(release, frame).values())) >= least, seed
        made += 1
    assert made


# Shares of people with another diagnosis in one row.
SLIPS = [0.05, 0.1, 0.2, 0.4, 0.8]


@pytest.mark.parametrize("part", range(4))
def test_people_whose_values_agree_are_judged_however_many_have_different_ones(part: int) -> None:
    made, differing = 0, 0
    for seed in range(part, TABLES, 4):
        found = tried(seed, SLIPS[seed % len(SLIPS)])
        if found is None or not agreeing(*found[:2]):
            continue
        release, frame, least = found
        assert release.manifest["across_classes"] == ["diagnosis"]
        assert least_left(release, frame) >= least, seed
        differing += len(left_possible(release, frame)) > len(agreeing(release, frame))
        made += 1
    assert made
    assert differing


def test_the_tables_leave_some_people_with_too_few_values_otherwise() -> None:
    found = [tried(seed, across_classes=False) for seed in range(many(12, 60))]
    narrow = [one for one in found if one and min(map(len, left_possible(one[0], one[1]).values())) < one[2]]
    assert len(narrow) >= len(found) // 6


def changed(frame: pl.DataFrame, people: int) -> pl.DataFrame:
    """The same visits with another diagnosis at the first visit of some of the people who have several."""
    several = frame.group_by("id", maintain_order=True).len().filter(pl.col("len") > 1)["id"]
    first = pl.col("id").is_in(several[:people].to_list()) & pl.col("id").is_first_distinct()
    return frame.with_columns(diagnosis=pl.when(first).then(pl.lit("other")).otherwise("diagnosis"))


@pytest.mark.parametrize("people", [5, 10, 40])
def test_people_are_protected_whatever_others_have(people: int) -> None:
    frame = changed(visits(1), people)
    before = released(frame, ["k=4", "distinct-l=3"], across_classes=False)
    left = left_possible(before, frame)
    assert sum(len(left[who]) == 1 for who in agreeing(before, frame)) >= 5
    now = released(frame, ["k=4", "distinct-l=3"])
    assert least_left(now, frame) >= 3


def test_people_with_different_values_are_not_judged() -> None:
    frame = changed(visits(2), 120)
    release = released(frame, ["k=4", "distinct-l=3"], {"name": "mondrian", "suppression_limit": 0.0})
    left = left_possible(release, frame)
    assert min(map(len, left.values())) < 3
    assert least_left(release, frame) >= 3
    assert release.released.n_suppressed == 0


def test_a_slip_in_the_rows_of_one_person_leaves_the_others_protected() -> None:
    frame = changed(visits(1), 1)
    before = released(frame, ["k=4", "distinct-l=3"], across_classes=False)
    assert sum(len(found) == 1 for found in left_possible(before, frame).values()) >= 12
    now = released(frame, ["k=4", "distinct-l=3"])
    assert now.manifest["across_classes"] == ["diagnosis"]
    assert min(map(len, left_possible(now, frame).values())) >= 3


def test_over_the_limit_there_is_no_release() -> None:
    with pytest.raises(InfeasibleError, match="distinct-l over all classes of a person.*across_classes = false"):
        released(visits(1), ["k=4", "distinct-l=3"], {"name": "mondrian", "suppression_limit": 0.1})


def test_the_setting_needs_a_subject() -> None:
    with pytest.raises(SchemaError, match="name a 'subject'"):
        shoal.read(visits(1).drop("id"), quasi=["age"], sensitive=["diagnosis"], rest="drop", across_classes=False)


@pytest.mark.parametrize("others", [0, 40])
@pytest.mark.parametrize("claimed", [True, False])
def test_the_gate_finds_people_who_were_not_judged(claimed: bool, others: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*given: Any) -> Any:
        rows, across, names = judge_people(*given)
        return rows[:0], across if claimed else [], names[:0]

    monkeypatch.setattr(suppression, "judge_people", nobody)
    said = "left with too few values" if claimed else "'across_classes' lack an attribute"
    with pytest.raises(GateError, match=said):
        released(changed(visits(1), others), ["k=4", "distinct-l=3"])


def test_sets_of_quasi_identifiers_are_judged_one_by_one() -> None:
    rng = np.random.default_rng(3)
    frame = visits(3, people=200, diagnoses=4).with_columns(
        age=pl.Series(rng.integers(0, 3, visits(3, people=200, diagnoses=4).height)), zip=pl.col("zip") % 3
    )
    sets = [["age", "sex"], ["zip"]]
    table = shoal.read(
        frame,
        quasi=["age", "zip", "sex"],
        sensitive=["diagnosis"],
        subject="id",
        quasi_sets=sets,
        hierarchies={"age": {"widths": [2]}, "zip": {"widths": [2]}},
    )
    method = {"name": "optimal", "suppression_limit": 1.0}
    release = shoal.anonymize(table, algorithm=method, models=["k=2", "distinct-l=3"], seed=1)
    for one in sets:
        values, classes = defaultdict(set), defaultdict(set)
        for key, row in zip(release.frame.select(one).rows(), release.source.tolist(), strict=True):
            values[key].add(frame["diagnosis"][row])
            classes[frame["id"][row]].add(key)
        assert all(len(set.intersection(*(values[key] for key in keys))) >= 3 for keys in classes.values())


def test_cells_cover_released_people_alone() -> None:
    frame = visits(1)
    table = shoal.read(
        frame, quasi=["age", "zip", "sex"], sensitive=["diagnosis"], subject="id", settings={"age": {"snap": "off"}}
    )
    models = ["k=4", "distinct-l=3"]
    release = shoal.anonymize(table, algorithm=MONDRIAN, models=models, seed=1, acknowledge=["W-TIGHT"])
    members = defaultdict(list)
    for cells, row in zip(release.frame.select("age", "zip", "sex").rows(), release.source.tolist(), strict=True):
        members[cells].append(frame["age"][row])
    for (cell, *_), ages in members.items():
        assert cell in (f"[{min(ages)},{max(ages)}]", str(min(ages)))


CAPS: list[tuple[dict[str, Any], Callable[[set[str]], bool]]] = [
    ({"name": "alpha-k-simple", "alpha": 0.5, "k": 2, "value": "hiv"}, lambda left: left != {"hiv"}),
    (
        {"name": "alpha-k-complete", "alpha": {"hiv": 0.4, "flu": 0.4}, "k": 2},
        lambda left: sum(0.4 if one in ("hiv", "flu") else 1.0 for one in left) >= 1 - 1e-9,
    ),
    ({"name": "t-closeness", "t": 0.3, "distance": "equal"}, lambda left: len(left) >= 2),
    ({"name": "delta-disclosure", "delta": 6.0}, lambda left: len(left) >= 2),
]


@pytest.mark.parametrize("model, enough", CAPS, ids=lambda one: one["name"] if isinstance(one, dict) else "")
def test_other_models_ask_for_what_their_classes_are_worth(
    model: dict[str, Any], enough: Callable[[set[str]], bool]
) -> None:
    made = 0
    for seed in range(many(12, 60)):
        frame, _, method, _ = drawn(seed)
        try:
            release = released(frame, ["k=2", model], method)
        except (InfeasibleError, ParameterError, RefusalError):  # a value that is not there, a model that cannot fail
            continue
        assert all(map(enough, left_possible(release, frame).values())), seed
        made += 1
    assert made


def test_who_fails_is_found_as_plain_loops_find_it() -> None:
    from shoal.data.stats import ENOUGH, Possible

    for seed in range(many(50, 500)):
        rng = np.random.default_rng(seed)
        classes, values, people = (int(rng.integers(1, high)) for high in (6, 7, 9))
        held = [sorted(set(rng.integers(0, values, rng.integers(0, 5)).tolist())) for _ in range(classes)]
        worth = rng.choice([ENOUGH // 3 + 1, ENOUGH // 2, ENOUGH, 1], values)
        codes = np.array(list(itertools.chain(*held)), dtype=np.int64)
        possible = Possible(indptr=np.cumsum([0, *map(len, held)]), codes=codes, worth=worth[codes].astype(np.int64))
        rows = int(rng.integers(0, 40))
        who, where = rng.integers(0, people, rows), rng.integers(-1, classes, rows)
        narrow = []
        for person in range(people):
            mine = {int(one) for one in where[who == person] if one >= 0 and held[one]}
            common = set.intersection(*(set(held[one]) for one in mine)) if mine else set()
            least = min([ENOUGH, *(sum(int(worth[v]) for v in held[one]) for one in mine)])
            if mine and sum(int(worth[v]) for v in common) < least:
                narrow.append(person)
        assert possible.narrow(who, where).tolist() == narrow, seed


def test_a_recipe_turns_it_off(tmp_path: Path) -> None:
    visits(1).write_csv(tmp_path / "visits.csv")
    text = """
seed = 1
[source]
path = "visits.csv"
[roles]
quasi = ["age", "zip", "sex"]
sensitive = ["diagnosis"]
subject = "id"
{off}
[[models]]
name = "k"
k = 4
[[models]]
name = "distinct-l"
l = 3
[algorithm]
name = "mondrian"
[output]
folder = "out"
"""
    (tmp_path / "on.toml").write_text(text.format(off=""), encoding="utf-8")
    (tmp_path / "off.toml").write_text(text.format(off="across_classes = false"), encoding="utf-8")
    assert execute(["run", str(tmp_path / "on.toml")]) == 3
    assert execute(["run", str(tmp_path / "off.toml")]) == 0
    assert execute(["verify", str(tmp_path / "out")]) == 0
    off = text.format(off="across_classes = false")
    limited = off.replace("[output]", "[limits]\nsubject-intersection = 0.1\n[output]")
    (tmp_path / "limited.toml").write_text(limited.replace('"out"', '"limited"'), encoding="utf-8")
    assert execute(["run", str(tmp_path / "limited.toml")]) == 4


def test_models_that_ask_for_remaining_values_are_those_whose_terms_do() -> None:
    asking = {name for name in names("model") if _asks(load("model", name))}
    assert asking == {name for name in names("model") if term_of({"name": name}).asks_left}
    assert len(asking) == 12


def _asks(model: type[Model]) -> bool:
    return model.across or model.worth_left is not Model.worth_left


def test_a_model_of_a_plug_in_asks_for_nothing_that_its_term_does_not_check() -> None:
    class Two(Model):
        name: ClassVar[str] = "two"

        def distinct_needed(self) -> int:
            return 2

    assert not _asks(Two)
