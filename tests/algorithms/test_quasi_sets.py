"""Several sets of quasi-identifiers: each satisfies the models alone, at less cost than all of them together."""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ParameterError, SchemaError
from shoal.release.entry import verify_release
from shoal.verify.recheck import recheck

NAMES = ["age", "sex", "zip", "job"]
SETS = [["age", "sex"], ["zip", "job"]]
TREES = {
    "age": [[str(x), f"{x // 4 * 4}-", "*"] for x in range(8)],
    "sex": [["f", "*"], ["m", "*"]],
    "zip": [[f"{a}{b}", f"{a}_", "*"] for a in "12" for b in "123"],
    "job": [["cook", "*"], ["nurse", "*"], ["clerk", "*"]],
}


def people(seed: int, n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    drawn = {name: rng.choice([row[0] for row in TREES[name]], n) for name in NAMES}
    return pl.DataFrame({**drawn, "ill": rng.choice(["flu", "gout", "cold"], n)})


def table(frame: pl.DataFrame, sets: Any = SETS, **more: Any) -> shoal.Table:
    return shoal.read(frame, quasi=NAMES, sensitive=["ill"], hierarchies=TREES, quasi_sets=sets, **more)


def run(frame: pl.DataFrame, sets: Any = SETS, limit: float = 0.0, k: int = 3, **more: Any) -> shoal.Release:
    models = [shoal.KAnonymity(k=k), shoal.DistinctL(l=2)]
    method = shoal.Optimal(suppression_limit=limit)
    return shoal.anonymize(table(frame, sets, **more), algorithm=method, models=models, seed=1)


def kept(frame: pl.DataFrame, levels: tuple[int, ...], k: int) -> list[int]:
    """Rows that are left at some levels, by plain loops."""
    up = {name: {row[0]: row for row in rows} for name, rows in TREES.items()}
    rows = [{n: up[n][row[n]][lv] for n, lv in zip(NAMES, levels, strict=True)} | {"ill": row["ill"]}
            for row in frame.iter_rows(named=True)]  # fmt: skip
    left = list(range(len(rows)))
    while True:
        good = set(left)
        for one in SETS:
            key = {at: tuple(rows[at][name] for name in one) for at in left}
            sizes, values = Counter(key.values()), Counter((cell, rows[at]["ill"]) for at, cell in key.items())
            seen = Counter(cell for cell, _ in values)
            good -= {at for at in left if sizes[key[at]] < k or seen[key[at]] < 2}
        if len(good) == len(left):
            return left
        left = sorted(good)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("limit", [0.0, 0.2])
def test_the_best_node_is_found(seed: int, limit: float) -> None:
    """Against all nodes, by the loss of what is kept and everything for what is not."""
    frame = people(seed)
    release = run(frame, limit=limit)
    lost = []
    for levels in itertools.product(*(range(len(rows[0])) for rows in TREES.values())):
        left = kept(frame, levels, 3)
        if left and frame.height - len(left) <= limit * frame.height:
            price = sum(
                sum((Counter(r[lv] for r in rows)[{r[0]: r for r in rows}[frame[n][at]][lv]] - 1) / (len(rows) - 1)
                    for at in left) + frame.height - len(left)
                for (n, rows), lv in zip(TREES.items(), levels, strict=True)
            )  # fmt: skip
            lost.append(price / (frame.height * len(NAMES)))
    assert release.measure("lm").value == pytest.approx(min(lost))


def test_each_set_holds_and_less_is_lost_than_by_all_together(tmp_path: Path) -> None:
    frame = people(1)
    release, together = run(frame), run(frame, ())
    assert release.measure("lm").value < together.measure("lm").value
    for one in SETS:
        counts = release.frame.group_by(one).agg(n=pl.len(), values=pl.col("ill").n_unique())
        assert counts["n"].min() >= 3
        assert counts["values"].min() >= 2
    assert release.frame.group_by(NAMES).len()["len"].min() < 3
    release.write(tmp_path / "out")
    assert verify_release(tmp_path / "out").passed
    manifest = release.manifest
    assert manifest["quasi_sets"] == SETS
    assert manifest["statement"].endswith("each by 2 sets of quasi-identifiers one by one")
    assert any("several sets of quasi-identifiers" in one for one in manifest["not_protected"])
    assert len(manifest["verdicts"]) == 4


def test_the_verifier_judges_every_set() -> None:
    release = run(people(1))
    frame, manifest = release.gated.tables["release"], release.manifest
    assert recheck(frame, {**manifest, "data": {"rows": frame.height}}).passed
    claim = copy.deepcopy(dict(manifest)) | {"data": {"rows": frame.height}, "quasi_sets": [NAMES, ["age"]]}
    failed = [check for check in recheck(frame, claim).checks if not check.passed]
    assert any(check.name.startswith("k by age, sex, zip, job") for check in failed)
    for sets, words in (([["age"]], "two or more"), ([["age"], ["sex"]], "together all"), ([["age"], "sex"], "list")):
        with pytest.raises(shoal.errors.VerificationError, match=words):
            recheck(frame, claim | {"quasi_sets": sets})


def test_people_with_several_rows_are_counted() -> None:
    frame = people(2, 90).with_columns(id=pl.Series([f"p{row // 2}" for row in range(90)]))
    release = run(frame, limit=0.3, subject="id")
    aligned = release.aligned().with_columns(id=frame["id"]) if release.aligned().height == 90 else None
    assert release.manifest["people"]
    if aligned is not None:
        for one in SETS:
            counts = aligned.drop_nulls().group_by(one).agg(n=pl.col("id").n_unique())
            assert counts["n"].min() >= 3


@pytest.mark.parametrize("sets, words", [
    ([["age", "sex", "zip", "job"]], "two or more lists of columns"),
    ([["age", "sex"], ["zip"]], "'job' is in none of the quasi_sets"),
    ([["age", "sex", "age"], ["zip", "job"]], "'age' is twice in a set of quasi-identifiers"),
    ([["age", "sex"], ["zip", "job", "ill"]], "Column 'ill' has two roles"),
])  # fmt: skip
def test_sets_that_cannot_be(sets: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        table(people(1), sets)


def test_what_knows_no_sets_refuses() -> None:
    frame = people(1)
    with pytest.raises(ParameterError, match="are for the algorithms 'optimal'"):
        shoal.anonymize(table(frame), algorithm="mondrian", models=[shoal.KAnonymity(k=3)])
    models = [shoal.KAnonymity(k=3), shoal.WorstGroupUtility(u=0.9)]
    with pytest.raises(ParameterError, match="is about all quasi-identifiers together, and not about sets"):
        shoal.anonymize(table(frame), algorithm="optimal", models=models, acknowledge=["W-UNMODELLED:ill"])
