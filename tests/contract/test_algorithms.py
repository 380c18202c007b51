"""Contract of every algorithm: gated, verifiable, accountable, repeatable, and its input is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError, ParameterError
from shoal.registry import load, make, names
from shoal.release.write import read_release
from shoal.verify.recheck import recheck
from tests.contract.examples import (
    ALGORITHMS,
    CODES,
    KINDS,
    NEED_TREES,
    UNMODELLED,
    Spec,
    label,
    needs_numbers,
    people,
    release,
    some,
)
from tests.strategies import frames

# Those that say what they cannot do, on some tables or beside some models, in one sentence.
MAY_REFUSE = {
    "samarati", "incognito", "random", "mapping", "graded", "anatomy", "microaggregation", "table-transform",
    "m-invariant", "swapping", "condensation", "local-suppression", "pram", "noise", "shuffling", "record-swapping",
}  # fmt: skip
MODELS: list[list[Spec]] = [
    [{"name": "k", "k": 2}],
    [{"name": "k", "k": 3}, {"name": "distinct-l", "l": 2}],
    [{"name": "k", "k": 2}, {"name": "entropy-l", "l": 1.5}],
    [{"name": "k", "k": 2}, {"name": "recursive-cl", "c": 2.0, "l": 2}],
    [{"name": "k", "k": 2}, {"name": "t-closeness", "t": 0.4}],
    [{"name": "alpha-k-general", "alpha": 0.7, "k": 2}],
    [{"name": "p-sensitive", "p": 2, "k": 3}],
    [{"name": "k", "k": 2}, {"name": "max-range", "limit": 0.6}],
    [{"name": "k", "k": 2}, {"name": "range-diversity", "p": 0.6}, {"name": "range-confidence", "p": 0.75}],
    [{"name": "k", "k": 2}, {"name": "worst-group-utility", "u": 0.4}],
]


def test_every_algorithm_has_an_example() -> None:
    assert {spec["name"] for spec in ALGORITHMS} == set(names("algorithm"))


def hold(spec: Spec, made: shoal.Release, again: shoal.Release, rows: int) -> None:
    """What is promised of every release."""
    assert again.frame.equals(made.frame)
    assert again.manifest == made.manifest
    counts = made.evidence["counts"]
    assert counts["read"] == counts["dropped"] + counts["suppressed"] + counts["released"] == rows
    assert made.frame.height == counts["released"] + made.table.counterfeits
    assert all(check.passed for check in made.checks)
    assert made.manifest["kind"] == KINDS.get(spec["name"], "generalised")
    report = recheck(made.frame, {**made.manifest, "data": {"rows": made.frame.height}}, made.apart)
    assert report.passed, [check for check in report.checks if not check.passed]


@pytest.mark.sample(48)
@pytest.mark.parametrize("spec", ALGORITHMS, ids=label)
def test_an_example_is_released(spec: Spec) -> None:
    frame = people()
    hold(spec, release(spec, frame), release(spec, frame), frame.height)
    assert frame.equals(people())


def with_trees(frame: pl.DataFrame, roles: dict[str, Any]) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The same with a hierarchy of three levels a quasi-identifier; texts that no label may be get a letter."""
    text = [name for name in roles["quasi"] if frame[name].dtype == pl.String]
    frame = frame.with_columns(pl.concat_str(pl.lit("v"), pl.col(name)).alias(name) for name in text)
    columns = shoal.read(frame, **roles).quasi
    known = {column.name: column.texts.to_list()[: column.card - (column.missing >= 0)] for column in columns}
    trees = {
        name: [[one, f"group {i // 3}", "*"] for i, one in enumerate(texts or ["0"])] for name, texts in known.items()
    }
    return frame, roles | {"hierarchies": trees}


@pytest.mark.parametrize("spec", some(ALGORITHMS), ids=label)
@settings(max_examples=2)
@given(case=frames(), models=st.sampled_from(MODELS), seed=st.integers(0, 9))
def test_release_or_documented_error(spec: Spec, case: Any, models: Any, seed: int) -> None:
    frame, roles = with_trees(*case) if spec["name"] in NEED_TREES else case
    if needs_numbers(spec):
        frame = frame.with_columns(n=pl.int_range(pl.len()) % 7 * 10)
        roles = roles | {"sensitive": ["s", "n"]}
    if spec["name"] == "personalised":
        roles["hierarchies"]["s"] = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]
        models = []
    if spec["name"] in UNMODELLED and seed % 2:
        models = []
    before = frame.clone()
    arguments: dict[str, Any] = {
        "algorithm": make("algorithm", spec),
        "models": [make("model", one) for one in models],
        "seed": seed,
        "acknowledge": CODES,
    }
    try:
        made = shoal.anonymize(shoal.read(frame, **roles), **arguments)
    except InfeasibleError:
        return
    except ParameterError:
        # Some refuse models that would mislead their pruning, or tables of several rows a person.
        assert spec["name"] in MAY_REFUSE
        return
    hold(spec, made, shoal.anonymize(shoal.read(frame, **roles), **arguments), frame.height)
    assert frame.equals(before)


@pytest.mark.parametrize("engine", names("engine"))
@pytest.mark.parametrize("spec", [ALGORITHMS[0], {"name": "optimal"}], ids=label)
def test_every_engine_gives_what_memory_gives(engine: str, spec: Spec) -> None:
    if not hasattr(load("engine", engine), "open"):  # it keeps the rows, and has a file of its own
        assert (Path(__file__).parents[1] / "engines" / f"test_{engine}.py").is_file()
        return
    made, memory = release(spec, engine=engine), release(spec)
    assert made.frame.equals(memory.frame)
    assert made.manifest == memory.manifest


@settings(max_examples=10)
@given(case=frames(max_rows=25), starred=st.booleans(), format=st.sampled_from(["csv", "parquet"]))
def test_written_releases_verify(case: Any, starred: bool, format: str, tmp_path_factory: Any) -> None:
    frame, roles = case
    folder = tmp_path_factory.mktemp("release") / "out"
    algorithm = make("algorithm", {"name": "none", "suppression_limit": 1.0})
    try:
        made = shoal.anonymize(
            shoal.read(frame, **roles),
            algorithm=algorithm,
            models=[shoal.KAnonymity(k=2)],
            acknowledge=["W-UNMODELLED:s"],
            suppressed="star" if starred else "drop",
        )
    except InfeasibleError:
        return
    made.write(folder, format=format)
    report = shoal.verify_release(folder)
    assert report.passed, [check for check in report.checks if not check.passed]
    back, manifest = read_release(folder)
    assert back.height == manifest["data"]["rows"] == made.frame.height


def test_one_subject_with_many_rows_never_makes_a_class_pass() -> None:
    frame = pl.DataFrame({"who": ["p"] * 100 + ["q"], "age": [30] * 101, "s": ["a"] * 50 + ["b"] * 51})
    table = shoal.read(frame, subject="who", quasi=["age"], sensitive=["s"])
    with pytest.raises(InfeasibleError, match="only 2 people"):
        shoal.anonymize(table, algorithm=shoal.Mondrian(k=3), acknowledge=["W-UNMODELLED:s"])
