"""Manifests whose figures of attacks, perturbation or labels are forged do not verify, whatever the kind of release."""

from __future__ import annotations

import math
from itertools import islice

import pytest

from shoal.errors import InfeasibleError
from tests.conftest import many
from tests.verify.forging import ALGORITHMS, Manifest, forgeries, manifest_of, problems, release_of

# What only the publisher knows and nothing in the release bounds: it is attested, and has to be a share.
ATTESTED = (
    "unchanged: baseline", "unique-and-unchanged: baseline", "recovered: baseline", ": control in the sentence",
    ": spread in the sentence",
)  # fmt: skip
# Figures that anybody can count in the release.
COUNTED = ("unique", "uniqueness", "trajectories", "homogeneity of disease")


def interval(share: float, trials: int) -> list[float]:
    """Give the 95 % Wilson interval, by its formula."""
    z = 1.959963984540054
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return [round(max(middle - half, 0.0), 4), round(min(middle + half, 1.0), 4)]


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_forgery_is_refused_unless_it_is_attested(name: str) -> None:
    for seed in range(many(1, 6)):
        release = release_of(name, seed)
        manifest = manifest_of(release)
        assert problems(release, manifest) == []
        # A run that is not thorough tries some of them, others of every kind of release.
        for label, forged in islice(forgeries(manifest), len(name) % 8, None, many(40, 1)):
            if not label.endswith(ATTESTED):
                assert problems(release, forged), (seed, label)


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_honest_figures_pass(name: str) -> None:
    for seed in range(100, 100 + many(1, 40)):
        try:
            release = release_of(name, seed)
        except InfeasibleError:  # one disease is too frequent for anatomy
            continue
        assert problems(release, manifest_of(release)) == [], seed


@pytest.mark.parametrize("name", ["mapping", "anatomy", "tokens", "tokens beside groups"])
def test_figures_that_can_be_counted_cannot_be_changed_consistently(name: str) -> None:
    release = release_of(name, 3)
    manifest = manifest_of(release)
    changed = 0
    for at, figure in enumerate(manifest["measured"]):
        if figure["name"] in COUNTED:
            for trials in range(release.frame.height, 0, -many(release.frame.height // 2, 1)):
                forged = manifest | {"measured": list(manifest["measured"])}
                forged["measured"][at] = _reduced(figure, trials)
                if forged["measured"][at]["value"] != figure["value"]:
                    assert problems(release, forged), (figure["name"], trials)
                    changed += 1
    assert changed > 0


def _reduced(figure: Manifest, trials: int) -> Manifest:
    """Halve a share, with the sentence and an interval that fit."""
    share = round(math.floor(figure["value"] * trials / 2) / trials, 4)
    _, _, rest = figure["sentence"].partition("%")
    return figure | {"value": share, "interval": interval(share, trials), "sentence": f"{share:.1%}{rest}"}


def test_the_detail_says_which_figures_are_attested() -> None:
    from shoal.verify.recheck import recheck

    release = release_of("anatomy", 3)
    report = recheck(release.frame, manifest_of(release), release.apart)
    (check,) = [check for check in report.checks if check.name == "measured"]
    assert check.detail == (
        "What attacks achieve is told. Counted again in the release: 'uniqueness', 'homogeneity of disease'. "
        "Attested, since they rest on the publisher's evidence: 'relinking of disease'."
    )
