"""Contract of every algorithm: gated, verifiable, accountable, repeatable, and its input is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.catalogue import make, names
from shoal.errors import InfeasibleError, ParameterError
from shoal.io.output import read_release
from shoal.verify import recheck
from tests.strategies import frames

ALGORITHMS: list[dict[str, Any]] = [
    {"name": "mondrian"},
    {"name": "mondrian", "mode": "relaxed"},
    {"name": "mondrian", "cut": "best"},
    {"name": "mondrian", "cut": "best", "mode": "relaxed"},
    {"name": "mondrian", "fallback_lt": True, "suppression_limit": 0.5},
    {"name": "mondrian", "mode": "relaxed", "polish": "lm"},
    {"name": "mondrian", "polish": "arx-loss", "polish_rounds": 2, "suppression_limit": 0.5},
    {"name": "auto", "sample": 10, "candidates": [{"name": "mondrian", "cut": "best"}, {"name": "top-down"}]},
    {"name": "none", "suppression_limit": 1.0},
    {"name": "samarati"},
    {"name": "samarati", "suppression_limit": 0.3, "prefer": "min-suppression", "all_minimal": True},
    {"name": "incognito"},
    {"name": "incognito", "suppression_limit": 0.3, "measure": "lm"},
    {"name": "optimal"},
    {"name": "optimal", "suppression_limit": 1.0, "measure": "dm", "seconds": 1e-9},
    {"name": "optimal", "suppression_limit": 0.2, "measure": "arx-loss", "repeat": True},
    {"name": "optimal", "suppression_limit": 0.2, "repeat": True, "polish": "ilm"},
    {"name": "top-down-subtree"},
    {"name": "top-down-subtree", "suppression_limit": 0.5, "measure": "entropy"},
    {"name": "rv-global", "suppression_limit": 0.2},
    {"name": "rv-local", "weights": "association"},
    {"name": "rv-local", "variant": "printed", "suppression_limit": 0.5},
    {"name": "rv-hybrid", "normalise": False, "suppression_limit": 1.0},
    {"name": "rv-distributed", "max_strings": 9, "suppression_limit": 0.2},
    {"name": "k-members"},
    {"name": "k-members", "seeds": "random", "loss": "spread", "prepartition": 5},
    {"name": "k-members-p", "suppression_limit": 0.3},
    {"name": "k-members-p", "objective": "range-diversity", "seeds": "random", "prepartition": 4},
    {"name": "bottom-up"},
    {"name": "bottom-up", "prepartition": 6, "suppression_limit": 0.2},
    {"name": "top-down"},
    {"name": "top-down", "prepartition": 5},
    {"name": "alpha-k", "alpha": 0.7, "k": 2},
    {"name": "alpha-k", "alpha": 0.7, "k": 2, "prepartition": 6, "suppression_limit": 0.5},
    {"name": "toc"},
    {"name": "toc", "delta": 0.6, "size": 4},
    {"name": "toc", "delta": 0.75, "size": 6, "max_size": 5, "scale": "raw", "assign": "increment", "seeds": "order"},
    {
        "name": "toc", "utility_weight": 1.0, "protection_weight": 0.0, "prepartition": False, "score": "weighted",
        "with_replacement": True, "leftover": "suppress", "suppression_limit": 0.9, "fallback": "single",
    },
    {"name": "upc", "utility": 0.4, "protection": 0.6},
    {"name": "upc", "utility": 0.4, "protection": 0.6, "max_size": 5, "assign": "increment", "leftover_scope": "all"},
    {"name": "random"},
    {"name": "random", "redraw": 1, "p": "optimal", "keep_constant": True},
    {"name": "mapping"},
    {"name": "mapping", "prefix": "code", "suppression_limit": 0.9},
    {"name": "graded"},
    {"name": "table-transform", "suppression_limit": 0.9},
    {"name": "anatomy", "l": 2},
    {"name": "anatomy", "l": 2, "publication": "permuted"},
    {"name": "anatomy", "l": 1.2, "grouping": "entropy-mondrian", "suppression_limit": 0.5},
    {"name": "anatomy", "grouping": {"name": "mondrian"}, "publication": "permuted", "suppression_limit": 0.5},
    {"name": "personalised", "p": 0.6, "guard_level": 0},
    {"name": "personalised", "p": 0.4, "guard_level": 1, "k": 2, "suppression_limit": 0.5},
    {"name": "m-invariant", "m": 2, "suppression_limit": 0.9},
    {"name": "m-invariant", "m": 2, "counterfeits": True, "suppression_limit": 0.5},
    {"name": "microaggregation"},
    {"name": "microaggregation", "suppression_limit": 0.5},
]
# What their kinds of release need.
CODES = ["W-NO-K", "W-RA-LINK", "W-PP-REV", "W-EXACT-QI", "W-UNMODELLED:s", "W-UNMODELLED:n"]
# Those that say what they cannot do, on some tables or beside some models, in one sentence.
MAY_REFUSE = {
    "samarati", "incognito", "random", "mapping", "graded", "anatomy", "microaggregation", "table-transform",
    "m-invariant",
}  # fmt: skip
# Those that search the levels of hierarchies.
NEED_TREES = {
    "samarati", "incognito", "optimal", "top-down-subtree", "rv-global", "rv-local", "rv-hybrid", "rv-distributed",
    "personalised",
}  # fmt: skip
KINDS = {
    "random": "randomised", "mapping": "pseudonymised", "graded": "pseudonymised", "table-transform": "pseudonymised",
    "anatomy": "bucketised", "microaggregation": "microaggregated",
}  # fmt: skip
# Their codes accept that no model holds.
UNMODELLED = ("random", "mapping", "graded", "table-transform")
MODELS: list[list[dict[str, Any]]] = [
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


def test_every_algorithm_has_a_contract_case() -> None:
    assert {spec["name"] for spec in ALGORITHMS} == set(names("algorithm"))


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


@settings(max_examples=100, deadline=None)
@given(case=frames(), algorithm=st.sampled_from(ALGORITHMS), models=st.sampled_from(MODELS), seed=st.integers(0, 9))
def test_release_or_documented_error(case: Any, algorithm: Any, models: Any, seed: int) -> None:
    frame, roles = with_trees(*case) if algorithm["name"] in NEED_TREES else case
    if algorithm["name"] in ("graded", "table-transform"):
        frame = frame.with_columns(n=pl.int_range(pl.len()) % 7 * 10)
        roles = roles | {"sensitive": ["s", "n"]}
    if algorithm["name"] == "personalised":
        roles["hierarchies"]["s"] = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]
        models = []
    if algorithm["name"] in UNMODELLED and seed % 2:
        models = []
    before = frame.clone()
    table = shoal.read(frame, **roles)
    arguments: dict[str, Any] = {
        "algorithm": make("algorithm", algorithm),
        "models": [make("model", spec) for spec in models],
        "acknowledge": CODES,
    }
    try:
        release = shoal.anonymize(table, seed=seed, **arguments)
    except InfeasibleError:
        return
    except ParameterError:
        # Some refuse models that would mislead their pruning, or tables of several rows a person.
        assert algorithm["name"] in MAY_REFUSE
        return
    assert frame.equals(before)
    again = shoal.anonymize(shoal.read(frame, **roles), seed=seed, **arguments)
    assert again.frame.equals(release.frame)
    assert again.manifest == release.manifest
    counts = release.evidence["counts"]
    assert counts["read"] == counts["dropped"] + counts["suppressed"] + counts["released"] == frame.height
    assert release.frame.height == counts["released"]
    assert all(check.passed for check in release.checks)
    if algorithm["name"] in KINDS:
        assert release.manifest["kind"] == KINDS[algorithm["name"]]
    report = recheck(release.frame, {**release.manifest, "data": {"rows": release.frame.height}}, release.apart)
    assert report.passed, [check for check in report.checks if not check.passed]


@settings(max_examples=10, deadline=None)
@given(case=frames(max_rows=25), starred=st.booleans(), format=st.sampled_from(["csv", "parquet"]))
def test_written_releases_verify(case: Any, starred: bool, format: str, tmp_path_factory: Any) -> None:
    frame, roles = case
    folder = tmp_path_factory.mktemp("release") / "out"
    algorithm = make("algorithm", {"name": "none", "suppression_limit": 1.0})
    try:
        release = shoal.anonymize(
            shoal.read(frame, **roles),
            algorithm=algorithm,
            models=[shoal.KAnonymity(k=2)],
            acknowledge=["W-UNMODELLED:s"],
            suppressed="star" if starred else "drop",
        )
    except InfeasibleError:
        return
    release.write(folder, format=format)
    report = shoal.verify_release(folder)
    assert report.passed, [check for check in report.checks if not check.passed]
    back, manifest = read_release(folder)
    assert back.height == manifest["data"]["rows"] == release.frame.height


def test_one_subject_with_many_rows_never_makes_a_class_pass() -> None:
    frame = pl.DataFrame({"who": ["p"] * 100 + ["q"], "age": [30] * 101, "s": ["a"] * 50 + ["b"] * 51})
    table = shoal.read(frame, subject="who", quasi=["age"], sensitive=["s"])
    with pytest.raises(InfeasibleError, match="only 2 people"):
        shoal.anonymize(table, algorithm=shoal.Mondrian(k=3), acknowledge=["W-UNMODELLED:s"])


@pytest.mark.parametrize("mode", ["strict", "relaxed"])
def test_sorting_the_input_by_the_sensitive_value_changes_nothing(mode: str) -> None:
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(
        {"age": rng.integers(20, 26, 240), "sex": rng.integers(0, 2, 240), "s": rng.integers(0, 4, 240)}
    )
    shares = []
    for one in (frame, frame.sort("s")):
        table = shoal.read(one.with_columns(pl.col("s").cast(pl.String)), quasi=["age", "sex"], sensitive=["s"])
        mine = []
        for seed in range(100):
            release = shoal.anonymize(
                table, algorithm=shoal.Mondrian(k=2, mode=mode), seed=seed, acknowledge=["W-UNMODELLED:s"]
            )
            audit = shoal.audit(release.frame, quasi=["age", "sex"], sensitive=["s"])
            mine.append(audit.own_value.sensitive["s"].homogeneous_share)
        shares.append(np.array(mine))
    error = np.sqrt(sum(share.var() / share.size for share in shares)) + 1e-12
    assert abs(shares[0].mean() - shares[1].mean()) <= 4 * error
