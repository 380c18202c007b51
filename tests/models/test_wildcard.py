"""k where a star counts as any value: models and verifier against plain Python, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.engines.memory import MemoryRows
from shoal.errors import InfeasibleError, ParameterError, VerificationError
from shoal.recoding.population_match import with_anybody
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.recodings import Starred
from shoal.registry import make
from shoal.verify.judge import slots
from shoal.verify.manifest import read_claims
from shoal.verify.recheck import recheck
from tests.models.judging import judge_of, verdicts

TREE = [["0", "few", "all"], ["1", "few", "all"], ["2", "many", "all"], ["3", "many", "all"]]
CODES = ["W-UNMODELLED:s", "W-TIGHT"]


def table(rows: int, seed: int, **more: Any) -> Any:
    random = np.random.default_rng(seed)
    frame = pl.DataFrame({name: random.integers(0, 4, rows) for name in "nft"} | {"s": ["x"] * rows})
    frame = frame.with_columns(f=pl.concat_str(pl.lit("v"), "f"), t=pl.col("t").cast(pl.String))
    given = {"hierarchies": {"t": TREE}, "settings": {"n": {"snap": "off"}}} | more
    return shoal.read(frame, quasi=["n", "f", "t"], sensitive=["s"], **given)


def starred(table: Any, seed: int) -> Released:
    """Every row with stars of its own."""
    random = np.random.default_rng(seed)
    stars = {name: random.random(table.n) < 0.3 for name in table.schema.quasi}
    recoding = Starred(ids=np.arange(table.n, dtype=np.int32), groups=table.n, stars=stars, levels={"t": 1})
    return apply_recoding(MemoryRows(table), recoding)


def plainly(frame: pl.DataFrame) -> list[int]:
    cells = frame.select("n", "f", "t").rows()
    anything = ("*", "all")
    return [
        sum(all(a == b or a in anything or b in anything for a, b in zip(one, other, strict=True)) for other in cells)
        for one in cells
    ]


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), rows=st.integers(2, 14), k=st.integers(2, 6))
def test_figures_are_the_verifiers_and_plain_ones(seed: int, rows: int, k: int) -> None:
    released = starred(table(rows, seed), seed)
    model = make("model", {"name": "k-wildcard", "k": k})
    judge = judge_of(released.table, model)
    stats = with_anybody(released.rows.stats(released.classmap, []), list(released.cells.values()))
    (found,) = judge.judge(stats)
    (verdict,) = verdicts(released, [model])
    texts = pl.DataFrame([cells.texts().gather(released.classes).alias(name) for name, cells in released.cells.items()])
    plain = plainly(texts)
    assert found.values[released.classes].tolist() == plain
    assert (verdict.value, verdict.holds) == (min(plain), min(plain) >= k)
    assert verdict.classes == int((~found.ok).sum())


def test_records_are_counted_as_sdcmicro_counts_them() -> None:
    """Its manual's example of frequencies where cells are missing: eight records, five cells."""
    keys = {"a": [1, 1, 1, 3, 4, 4, 6, 1], "b": [2, 2, 2, 3, 3, 3, 2, 2], "c": [5, 1, 1, 1, 1, 1, 1, 5],
            "d": [1, 1, 1, 5, 4, 1, 5, 1]}  # fmt: skip
    gone = {"a": [3, 5], "b": [3], "c": [2], "d": [4]}
    frame = pl.DataFrame({name: [f"v{value}" for value in values] for name, values in keys.items()})
    read = shoal.read(frame, quasi=list(keys))
    stars = {name: np.isin(np.arange(8), gone[name]) for name in keys}
    released = apply_recoding(MemoryRows(read), Starred(ids=np.arange(8, dtype=np.int32), groups=8, stars=stars))
    stats = with_anybody(released.rows.stats(released.classmap, []), list(released.cells.values()))
    (found,) = judge_of(read, make("model", {"name": "k-wildcard", "k": 2})).judge(stats)
    assert found.values[released.classes].tolist() == [3, 2, 4, 3, 3, 2, 2, 3]


def test_a_few_records_of_stars_would_do_for_everybody() -> None:
    """What 'k-wildcard' leaves open: two records of stars make a release of singletons hold it, and 'k' not."""
    names = [f"v{row}" for row in range(12)]
    frame = pl.DataFrame({"a": names, "b": names, "s": ["x"] * 12})
    read = shoal.read(frame, quasi=["a", "b"], sensitive=["s"])
    stars = np.arange(12) < 2
    recoding = Starred(ids=np.arange(12, dtype=np.int32), groups=12, stars={"a": stars, "b": stars})
    released = apply_recoding(MemoryRows(read), recoding)
    (holds,), (fails,) = (
        verdicts(released, [make("model", {"name": name, "k": 3})]) for name in ("k-wildcard", "k")
    )
    assert (holds.holds, holds.value) == (True, 3.0)
    assert (fails.holds, fails.value) == (False, 1.0)


@pytest.mark.parametrize("algorithm", ["mondrian", "k-members", "optimal"])
def test_any_method_that_generalises_can_be_asked_for_it(algorithm: str) -> None:
    tree = {"n": [[str(value), "*"] for value in range(4)], "f": [[f"v{value}", "*"] for value in range(4)], "t": TREE}
    made = shoal.anonymize(
        table(40, 3, hierarchies=tree), algorithm=algorithm, models=[shoal.KWildcard(k=4)], acknowledge=CODES, seed=1
    )
    (verdict,) = made.verdict
    assert (verdict.holds, verdict.by) == (True, "rechecked")
    assert min(plainly(made.frame)) == verdict.value
    assert "4-anonymous where * counts as any value" in made.manifest["statement"]
    assert any("k-wildcard lets '*' count as any value" in one for one in made.manifest["not_protected"])


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="The 'k' of KWildcard must be a whole number of at least 2"):
        shoal.KWildcard(k=1)
    with pytest.raises(InfeasibleError, match="k = 9 cannot be met: the table has only 5 rows"):
        shoal.anonymize(table(5, 1), models=[shoal.KWildcard(k=9)], acknowledge=CODES)
    frame = table(30, 1).frame.with_columns(who=pl.int_range(30) // 2)
    people = shoal.read(frame, quasi=["n", "f", "t"], sensitive=["s"], subject="who")
    with pytest.raises(ParameterError, match="counts rows, and a subject may have several"):
        shoal.anonymize(people, models=[shoal.KWildcard(k=3)], acknowledge=CODES)
    single = table(30, 1, hierarchies={}, settings={"n": {"style": "representative"}})
    with pytest.raises(ParameterError, match="those of 'n' are representatives: choose another style"):
        shoal.anonymize(single, models=[shoal.KWildcard(k=3)], acknowledge=CODES)


def test_no_file_can_claim_it_of_people_or_keep_it_with_a_cell_changed() -> None:
    made = shoal.anonymize(
        table(40, 3), algorithm=shoal.LocalSuppression(k=4, stars="wildcard"), acknowledge=CODES, seed=1
    )
    manifest = {**made.manifest, "data": {"rows": made.frame.height}}
    assert recheck(made.frame, manifest).passed
    with pytest.raises(VerificationError, match="claims k-wildcard of people"):
        recheck(made.frame, {**manifest, "people": True})
    changed = made.frame.with_columns(f=pl.when(pl.int_range(40) == 0).then(pl.lit("v9")).otherwise("f"))
    assert not recheck(changed, manifest).passed
    (verdict,) = manifest["verdicts"]
    claimed = {**manifest, "verdicts": [verdict | {"value": verdict["value"] + 1}]}
    assert not recheck(made.frame, claimed).passed


def test_nobody_can_count_it_again_where_some_rows_are_counterfeit() -> None:
    made = shoal.anonymize(
        table(40, 3), algorithm=shoal.LocalSuppression(k=4, stars="wildcard"), acknowledge=CODES, seed=1
    )
    models = [*made.manifest["models"], {"name": "m-invariance", "m": 2}]
    claimed = {**made.manifest, "models": models, "counterfeits": 3, "data": {"rows": 40}}
    assert {slot.model["name"]: slot.by for slot in slots(read_claims(claimed)) if slot.side != "history"} == {
        "k-wildcard": "attested", "m-invariance": "rechecked",
    }  # fmt: skip


def test_suppressed_rows_are_nobody() -> None:
    released = starred(table(8, 5), 5)
    (bad,) = [np.arange(released.n_classes) == 0]
    kept = replace(released).suppress(bad)
    stats = with_anybody(kept.rows.stats(kept.classmap, []), list(kept.cells.values()))
    assert stats.anybody is not None
    assert stats.anybody.max() <= 7
