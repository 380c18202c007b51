"""A model on a combination of columns, or on the mean over several, protects none of them by itself."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import InfeasibleError, ParameterError, RefusalError
from shoal.registry import load, make, names
from shoal.verify.manifest import read_claims
from shoal.verify.wording import check_words, needed_codes
from tests.conftest import many
from tests.verify.test_words import MODELS

# Everybody in the first class has HIV, in different wards.
WARDS = pl.DataFrame({
    "age": [30, 31, 32, 50, 51, 52], "sex": list("fffmmm"),
    "disease": ["HIV", "HIV", "HIV", "flu", "cold", "asthma"], "ward": list("abcabc"),
})  # fmt: skip
BOTH = ["disease", "ward"]
CODES = ["W-UNMODELLED:disease", "W-UNMODELLED:ward"]
ON_BOTH: list[dict[str, Any]] = [
    {"name": "distinct-l", "l": 2}, {"name": "entropy-l", "l": 2}, {"name": "recursive-cl", "c": 2, "l": 2},
    {"name": "alpha-k-general", "alpha": 0.5, "k": 2}, {"name": "p-sensitive", "p": 2, "k": 2},
    {"name": "t-closeness", "t": 0.7}, {"name": "beta-likeness", "beta": 2}, {"name": "max-range", "limit": 0.5},
]  # fmt: skip


def released(models: Sequence[dict[str, Any]], acknowledge: Sequence[str] = ()) -> shoal.Release:
    table = shoal.read(WARDS, quasi=["age", "sex"], sensitive=BOTH)
    made = [make("model", model) for model in [{"name": "k", "k": 3}, *models]]
    return shoal.anonymize(table, algorithm=shoal.Mondrian(), models=made, seed=1, acknowledge=acknowledge)


@pytest.mark.parametrize("model", ON_BOTH, ids=lambda model: model["name"])
def test_a_combination_covers_none_of_its_parts(model: dict[str, Any], tmp_path: Path) -> None:
    on_both = model | {"on": BOTH}
    with pytest.raises(RefusalError, match="'disease' has no model of its own, only") as refused:
        released([on_both])
    assert list(refused.value.codes) == CODES[:1]
    with pytest.raises(RefusalError, match="'ward' has no model of its own"):
        released([on_both], CODES[:1])
    release = released([on_both], CODES)
    folder = release.write(tmp_path / "out")
    on = "disease, ward" if model["name"] == "max-range" else "the combination of disease and ward"
    assert release.manifest["statement"].endswith(f" on {on}")
    for name in BOTH:
        said = f"The values of '{name}' within a class: no model is set on it alone, and one on several columns"
        assert [one for one in release.manifest["not_protected"] if one.startswith(said)]
    assert f'<td class="text">{on}</td>' in (folder / "report.html").read_text() or "," in on
    assert shoal.verify_release(folder).passed


def test_a_manifest_without_the_codes_fails_verification() -> None:
    release = released([{"name": "distinct-l", "l": 2, "on": BOTH}], CODES)
    assert needed_codes(read_claims(release.manifest)) == CODES
    old = {**release.manifest, "statement": "3-anonymous, distinct 2-diverse on disease, ward", "acknowledged": []}
    failed = [check.name for check in check_words(old, read_claims(old)) if not check.passed]
    assert failed == ["statement", "not protected", "refusals"]


def test_a_model_of_its_own_is_enough() -> None:
    both, each = {"name": "entropy-l", "l": 2, "on": BOTH}, {"name": "distinct-l", "l": 2}
    table = shoal.read(WARDS.filter(pl.col("disease") == "HIV"), quasi=["age", "sex"], sensitive=BOTH)
    made = [make("model", model) for model in ({"name": "k", "k": 3}, both, each)]
    with pytest.raises(InfeasibleError):
        shoal.anonymize(table, algorithm=shoal.Mondrian(), models=made, seed=1)
    release = released([both, each])
    assert release.manifest["statement"] == (
        "3-anonymous, entropy 2-diverse on the combination of disease and ward, distinct 2-diverse on disease, ward"
    )
    assert not release.manifest["acknowledged"]


def test_a_mean_covers_each_column_only_where_none_can_be_constant() -> None:
    with pytest.raises(RefusalError, match="'disease' has no model of its own, only 'max-range' on several columns"):
        released([{"name": "max-range", "limit": 0.5}])
    assert not released([{"name": "max-range", "limit": 0.49}]).manifest["acknowledged"]


# Models that take a list of columns as something else than one joint attribute, or none at all.
NOT_JOINT = {"max-range"}


@pytest.mark.parametrize("name", [name for name in names("model") if load("model", name).valued])
def test_no_model_of_the_catalogue_covers_the_parts_of_a_list(name: str) -> None:
    try:
        model = make("model", {"name": name, **MODELS[name], "on": BOTH})
    except ParameterError:  # one that takes a single column
        return
    assert model.judged_together(BOTH) == BOTH
    assert model.protects_each(1)
    assert model.protects_each(2) == (name in NOT_JOINT and model.limit * 2 < 1)


# The oracle: conditions on one column of one class, counted in plain loops. It shares no code with the source.


def own_condition(model: dict[str, Any], columns: Sequence[str], name: str) -> dict[str, Any] | None:
    """The condition that a model puts on one column alone, None where it puts none."""
    on = model.get("on", list(columns))
    on = [on] if isinstance(on, str) else on
    if name not in on:
        return None
    if model["name"] == "max-range":  # the others may be as far apart as can be, which leaves this one all of the mean
        return {"name": "differ"} if len(on) > 1 else model
    return model if "on" not in model or len(on) == 1 else None


def satisfied(model: dict[str, Any], group: Sequence[Any], everybody: Sequence[Any]) -> bool:
    counts = Counter(group)
    shares = sorted((count / len(group) for count in counts.values()), reverse=True)
    if model["name"] == "differ":
        return len(counts) >= 2
    if model["name"] == "distinct-l":
        return len(counts) >= model["l"]
    if model["name"] == "p-sensitive":
        return len(counts) >= model["p"] and len(group) >= model["k"]
    if model["name"] == "entropy-l":
        return -sum(share * math.log(share) for share in shares) >= math.log(model["l"]) - 1e-9
    if model["name"] == "recursive-cl":
        return shares[0] < model["c"] * sum(shares[model["l"] - 1 :])
    if model["name"] == "alpha-k-general":
        return shares[0] <= model["alpha"] + 1e-9 and len(group) >= model["k"]
    if model["name"] == "max-range":
        return 1 - (len(counts) - 1) / (len(set(everybody)) - 1) <= model["limit"] + 1e-9
    assert model["name"] == "t-closeness"
    values = set(everybody)
    whole = Counter(everybody)
    apart = sum(abs(counts[value] / len(group) - whole[value] / len(everybody)) for value in values) / 2
    return apart <= model["t"] + 1e-9


def drawn_models(rng: random.Random, columns: Sequence[str]) -> list[dict[str, Any]]:
    options: list[dict[str, Any]] = [
        {"name": "distinct-l", "l": 2}, {"name": "entropy-l", "l": 1.5}, {"name": "recursive-cl", "c": 3, "l": 2},
        {"name": "alpha-k-general", "alpha": 0.7, "k": 2}, {"name": "p-sensitive", "p": 2, "k": 2},
        {"name": "t-closeness", "t": rng.choice([0.3, 0.5]), "reference": "released"},
        {"name": "max-range", "limit": rng.choice([0.2, 0.4, 0.6, 0.8])},
    ]  # fmt: skip
    found = []
    for _ in range(rng.randint(1, 3)):
        on: Any = rng.choice([None, rng.choice(columns), rng.sample(columns, rng.randint(1, len(columns)))])
        found.append(rng.choice(options) | ({} if on is None else {"on": on}))
    return found


def drawn_table(rng: random.Random, columns: Sequence[str]) -> pl.DataFrame:
    """Ages with a block in which one column is constant, the trap that a combination hides."""
    n, trap = rng.randint(8, 24), rng.choice([*columns, None])
    rows = []
    for place in range(n):
        row = {"age": place * 2, **{name: rng.choice("vwxyz") for name in columns}}
        if trap is not None and place < n // 2:
            row[trap] = "v"
        rows.append(row)
    return pl.DataFrame(rows)


@pytest.mark.parametrize("seed", range(many(60, 600)))
def test_without_a_code_every_column_has_a_model_of_its_own_that_holds(seed: int) -> None:
    rng = random.Random(seed)
    columns = ["a", "b", "c"][: rng.randint(2, 3)]
    frame, models = drawn_table(rng, columns), drawn_models(rng, columns)
    table = shoal.read(frame, quasi=["age"], sensitive=columns)
    made = [make("model", model) for model in [{"name": "k", "k": rng.randint(2, 3)}, *models]]
    algorithm = rng.choice([shoal.Mondrian, shoal.TopDown, shoal.KMembers])(suppression_limit=rng.choice([0.0, 0.4]))
    try:
        release = shoal.anonymize(table, algorithm=algorithm, models=made, seed=seed)
    except InfeasibleError:
        return
    except RefusalError as refused:
        codes = list(refused.codes)
        assert codes[0].startswith("W-UNMODELLED:")
        return
    classes = defaultdict(list)
    for row in release.frame.iter_rows(named=True):
        classes[row["age"]].append(row)
    for name in columns:
        own = [one for one in (own_condition(model, columns, name) for model in models) if one is not None]
        groups = [[row[name] for row in rows] for rows in classes.values()]
        everybody = {"max-range": frame[name].to_list()}  # its domain is that of the input
        assert any(
            all(satisfied(one, group, everybody.get(one["name"], release.frame[name].to_list())) for group in groups)
            for one in own
        )
