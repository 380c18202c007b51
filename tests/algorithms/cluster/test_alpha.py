"""The (alpha, k) clustering against a reference, and its worked example (Sumana & Hareesh, SV-15 to SV-18)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.cluster.alpha_k import AlphaK, smallest_class
from shoal.data.table import Table
from shoal.errors import InfeasibleError, ParameterError
from shoal.recipe.source import read
from tests.algorithms.cluster.naive import AlphaReference, as_sets, grouped, loss
from tests.table.random_tables import Case, cases


@pytest.mark.reference("cluster_classes")
@settings(max_examples=30, deadline=None)
@given(
    case=cases(rows=(2, 16), sensitive=(1, 1), sensitive_kinds=("flat",)), k=st.integers(2, 4),
    alphas=st.lists(st.sampled_from([0.2, 0.34, 0.5, 0.75, 1.0]), min_size=6, max_size=6),
)  # fmt: skip
def test_classes_equal_the_reference(case: Case, k: int, alphas: list[float]) -> None:
    k = min(k, case.n)
    silent = case.non_answers.get("s0", ())
    values = [None if value is None or value in silent else value for value in case.data["s0"]]
    caps = {value: alphas["abcdef".index(value)] for value in set(values) - {None}}
    if k < 2 or not caps:
        return
    table = case.table()
    spec = {"name": "alpha-k-complete", "alpha": caps, "k": k}
    one = table.attribute(["s0"])
    counts = table.columns["s0"].frequencies
    least = smallest_class(one, counts, [caps.get(text, 1.0) for text in one.column.texts], k)  # type: ignore[union-attr,arg-type]
    reference = AlphaReference(least, loss(case, "penalty"), values, caps.__getitem__)
    expected = reference.run()
    if len(reference.suppressed) == case.n:
        with pytest.raises(InfeasibleError, match=f"{case.n} of {case.n} rows"):
            grouped(table, [spec], AlphaK(suppression_limit=1.0))
        return
    found = grouped(table, [spec], AlphaK(suppression_limit=1.0))
    assert as_sets(found) == {frozenset(group) for group in expected}
    assert set((found.ids == -1).nonzero()[0].tolist()) == set(reference.suppressed)
    assert found.notes["suppressed"] == len(reference.suppressed)


def illness() -> Table:
    """Seven patients, three of them with an illness that must not be guessed."""
    rows = [
        ("clerk", 1975, "1541", "HIV"), ("clerk", 1976, "1541", "flu"), ("cook", 1975, "1542", "fever"),
        ("cook", 1974, "1543", "cancer"), ("nurse", 1975, "1542", "cancer"), ("nurse", 1975, "1542", "flu"),
        ("nurse", 1975, "1542", "HIV"),
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["job", "birth", "postcode", "illness"], orient="row")
    return read(frame, quasi=["job", "birth", "postcode"], sensitive=["illness"])


def shares(release: shoal.Release) -> list[dict[str, float]]:
    groups = release.frame.group_by("job", "birth", "postcode").agg("illness")["illness"].to_list()
    return [{value: count / len(group) for value, count in Counter(group).items()} for group in groups]


def test_every_value_keeps_its_own_cap() -> None:
    caps = {"HIV": 0.4, "cancer": 0.4, "flu": 0.9, "fever": 0.9}
    release = shoal.anonymize(illness(), algorithm=AlphaK(k=3, alpha=caps), seed=1)
    assert release.manifest["models"][0]["name"] == "alpha-k-complete"
    assert all(share <= caps[value] for one in shares(release) for value, share in one.items())


@pytest.mark.parametrize(("alpha", "value"), [(0.4, "HIV"), (0.4, None), (1.0, "flu")])
def test_shorthand_means_the_simple_or_the_general_model(alpha: float, value: str | None) -> None:
    release = shoal.anonymize(illness(), algorithm=AlphaK(k=3, alpha=alpha, value=value), seed=1, acknowledge=CODES)
    assert release.manifest["models"][0]["name"] == f"alpha-k-{'simple' if value else 'general'}"
    for one in shares(release):
        assert all(share <= alpha for name, share in one.items() if value in (None, name))


CODES = ["W-UNMODELLED:illness"]


@pytest.mark.parametrize("k", [2, 3, 4])
def test_below_one_in_2k_minus_1_classes_must_grow_beyond_rule_1(k: int) -> None:
    values = [f"v{i}" for i in range(2 * k)] * 6
    table = read(pl.DataFrame({"a": range(len(values)), "s": values}), quasi=["a"], sensitive=["s"])
    bound = 1 / (2 * k - 1)
    for alpha, beyond in ((bound, False), (bound - 1e-6, True)):
        release = shoal.anonymize(table, algorithm=AlphaK(k=k, alpha=alpha), seed=1)
        sizes = release.frame.group_by("a").len()["len"]
        notes = release.evidence["search"]
        assert notes["smallest_possible"] == 2 * k - 1 + beyond
        assert sizes.min() >= 2 * k - 1 + beyond
        assert (notes["above_2k_minus_1"] == len(sizes)) if beyond else True


def test_a_cap_below_the_tables_own_share_is_infeasible() -> None:
    with pytest.raises(InfeasibleError, match="cannot be met") as raised:
        shoal.anonymize(illness(), algorithm=AlphaK(k=2, alpha=0.2))
    assert raised.value.exit_code == 3


def test_what_fits_nowhere_is_suppressed_within_the_limit_or_refused_by_count() -> None:
    rows = [(i, "rare" if i == 0 else "b" if i % 2 else "c") for i in range(9)]
    table = read(pl.DataFrame(rows, schema=["a", "s"], orient="row"), quasi=["a"], sensitive=["s"])
    caps = {"rare": 0.1, "b": 0.6, "c": 0.6}
    with pytest.raises(InfeasibleError) as raised:
        shoal.anonymize(table, algorithm=AlphaK(k=3, alpha=caps), seed=1)
    assert "rare" not in str(raised.value)
    release = shoal.anonymize(table, algorithm=AlphaK(k=3, alpha=caps, suppression_limit=0.2), seed=1)
    assert release.evidence["counts"]["suppressed"] == 1
    assert "rare" not in release.frame["s"].to_list()


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"value": "x"}, "needs 'alpha'"),
        ({"alpha": 0.5}, "needs 'k'"),
        ({"alpha": 0.5, "k": 4, "prepartition": 3}, "at least k = 4"),
    ],
)
def test_bad_parameters(made: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        AlphaK(**made)


def test_it_needs_exactly_one_model_of_its_family_on_one_attribute() -> None:
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "s": list("xyxy"), "t": list("uuvv")})
    table = read(frame, quasi=["a"], sensitive=["s", "t"])
    two = [shoal.AlphaKGeneral(alpha=0.9, k=2, on="s"), shoal.AlphaKSimple(alpha=0.9, k=2, value="u", on="t")]
    for models, said in (([shoal.KAnonymity(k=2)], "exactly one"), (two, "exactly one"), (None, "set 'on'")):
        models = models or [shoal.AlphaKGeneral(alpha=0.9, k=2)]
        with pytest.raises(ParameterError, match=said):
            shoal.anonymize(table, algorithm=AlphaK(), models=models, acknowledge=["W-UNMODELLED:s", "W-UNMODELLED:t"])


def test_one_of_several_attributes_can_be_named() -> None:
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "s": list("xyxy"), "t": list("uuvv")})
    table = read(frame, quasi=["a"], sensitive=["s", "t"])
    algorithm = AlphaK(k=2, alpha=0.5, on="t")
    release = shoal.anonymize(table, algorithm=algorithm, acknowledge=["W-UNMODELLED:s"], seed=1)
    assert release.frame.group_by("a").agg(pl.col("t").n_unique())["t"].to_list() == [2, 2]
    assert hash(algorithm) == hash(AlphaK(k=2, alpha=0.5, on="t"))
    assert len({algorithm, AlphaK(k=2, alpha={"u": 0.5}, on="t")}) == 2
