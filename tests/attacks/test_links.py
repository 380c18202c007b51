"""Attacks on randomised, pseudonymised and bucketised releases, as the runner calls them on gated releases."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.keys import Keys
from shoal.recoding.randomised import describe_randomised
from shoal.recoding.recodings import Bucketed, Redrawn
from shoal.registry import make
from shoal.results import Release
from shoal.risk.attacks.bucketised import relinking
from shoal.risk.attacks.randomised import link_values, recover_vectors
from shoal.risk.attacks.run import attack, make_case, run_attacks
from shoal.risk.attacks.views import people_frame, public_view
from tests.attacks.cases import figures


def release_of(algorithm: dict[str, Any], acknowledge: list[str], **roles: Any) -> Release:
    rng = np.random.default_rng(1)
    n = 400
    job = rng.integers(0, 4, n)
    disease = np.where(rng.random(n) < 0.8, job, rng.integers(0, 4, n))
    frame = pl.DataFrame({
        "age": rng.integers(20, 60, n), "job": [f"job {one}" for one in job], "sex": rng.choice(["f", "m"], n),
        "disease": [f"d{one}" for one in disease], "income": rng.integers(10, 90, n) * 100,
    })  # fmt: skip
    given = {"quasi": ["age", "job", "sex"], "sensitive": ["disease"], "drop": ["income"], **roles}
    table = shoal.read(frame, **given)
    return shoal.anonymize(table, algorithm=make("algorithm", algorithm), seed=1, acknowledge=acknowledge)


def by_name(release: Release, *only: str) -> dict[str, Any]:
    return {one.name: one for one in attack(release, only=only, seed=1)}


def test_randomised_releases() -> None:
    release = release_of({"name": "random"}, ["W-RA-LINK", "W-NO-K", "W-UNMODELLED:disease"])
    results = by_name(release)
    assert list(results) == ["linkage", "posterior", "ra-linkage"]
    recoding = release.released.recoding
    assert isinstance(recoding, Redrawn)
    described = describe_randomised(release.table, recoding)
    assert figures(results["posterior"])["posterior"].value == recover_vectors(described)[0].value
    linked = figures(results["ra-linkage"])["ra-linkage:disease"]
    assert linked.value == link_values(described, "disease")[0].value
    assert linked.control is not None
    # Exact cells: only records that nothing changed can be found by them.
    same = (described.before == described.after).all(axis=0)
    assert figures(results["linkage"])["linkage"].value <= same.mean() + 1e-12
    assert results["posterior"].value == pytest.approx(figures(results["posterior"])["posterior"].value)


def test_bucketised_releases() -> None:
    release = release_of({"name": "anatomy", "l": 2}, ["W-EXACT-QI"])
    results = by_name(release)
    assert set(results) == {
        "linkage", "homogeneity", "background", "skewness", "similarity", "proximity", "divergence", "relinking",
        "subject-intersection",
    }  # fmt: skip
    made = figures(results["relinking"])["relinking:disease"]
    recoding = release.released.recoding
    assert isinstance(recoding, Bucketed)
    once = relinking(release.table, recoding, release.table.columns["disease"])
    assert made.beats
    # The job tells the disease of four in five; learning again from one's own guesses finds more of them.
    assert made.value > once.value > (once.baseline or 1.0)
    assert figures(results["homogeneity"])["homogeneity:disease"].value == 0.0
    assert figures(results["linkage"])["linkage-unique"].value > 0.2


def test_pseudonymised_releases() -> None:
    release = release_of(
        {"name": "table-transform"}, ["W-PP-REV", "W-NO-K", "W-UNMODELLED:disease", "W-UNMODELLED:income"],
        sensitive=["disease", "income"], drop=[],
    )  # fmt: skip
    results = by_name(release)
    assert list(results) == ["linkage", "rank-matching", "frequency-matching"]
    ranks = [one.name for one in results["rank-matching"].main]
    assert ranks == ["rank-matching:income, 40 known", "rank-matching:income, 4 known"]
    assert [one.name for one in results["frequency-matching"].main] == [
        "frequency-matching:disease, 40 known", "frequency-matching:disease, 4 known"
    ]  # fmt: skip
    assert not [one for one in results["linkage"].figures if one.name.startswith("linkage:")]


def test_what_does_not_apply_says_what_does() -> None:
    release = release_of({"name": "anatomy", "l": 2}, ["W-EXACT-QI"])
    found = by_name(release, "posterior")["posterior"]
    assert not found.figures
    assert "these do: linkage" in found.note
    assert "relinking" in found.note


def test_microaggregated_releases_have_no_cells_to_match() -> None:
    release = release_of(
        {"name": "microaggregation", "k": 4}, ["W-UNMODELLED:disease"], quasi=["age"], drop=["income", "job", "sex"]
    )
    results = by_name(release)
    assert set(results) == {
        "nearest", "homogeneity", "background", "skewness", "similarity", "proximity", "divergence",
        "subject-intersection",
    }  # fmt: skip
    assert figures(results["homogeneity"])["homogeneity:disease"].trials > 0


@pytest.mark.parametrize("publication", ["tables", "permuted"])
def test_a_bucketised_release_is_seen_alike_from_its_files(publication: str) -> None:
    release = release_of({"name": "anatomy", "l": 2, "publication": publication}, ["W-EXACT-QI"])
    frames = release.frames
    seen = public_view(frames["release"], release.manifest, values=frames.get("sensitive"))
    against = people_frame(release)
    case = make_case(seen, release.manifest, Keys.from_seed(1), against=against)
    inside = by_name(release, "linkage", "background")
    for name in ("linkage", "background"):
        outside, mine = figures(run_attacks(case, [name])[0]), figures(inside[name])
        assert {one: found.value for one, found in outside.items()} == pytest.approx(
            {one: found.value for one, found in mine.items()}
        )
