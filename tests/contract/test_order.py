"""What must not decide who is grouped with whom: the order of the file, who has which sensitive value, or its name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import polars as pl
import pytest

from shoal.registry import names
from tests.contract.examples import ALGORITHMS, QUASI, Spec, label, people, release, some

# Who look at sensitive values by definition, and what for. All others are blind to them under a model of sizes.
LOOKING = {
    "k-members-p": "grows clusters by protection, which is the spread of sensitive values",
    "alpha-k": "keeps the share of every value within alpha",
    "toc": "trades the spread of quasi-identifiers against that of sensitive values",
    "upc": "keeps the range diversity of sensitive values within its limit",
    "anatomy": "makes groups of different values",
    "personalised": "blurs the values that people guard",
    "m-invariant": "makes groups of different values, the same in every release",
}
# Another order of the alphabet, within the nodes of the hierarchy and between them.
NAMES = {"flu": "cold", "cold": "flu", "gout": "burn", "burn": "gout"}


def test_those_that_look_are_registered() -> None:
    assert set(LOOKING) <= set(names("algorithm"))


def looks(spec: Spec) -> bool:
    # Association weighs a column by what it tells about sensitive values, a cut for a target and a search by labels by
    # what they do, and polish by a sum what classes tell.
    weighed = spec.get("weights") == "association" or "+" in (spec.get("polish") or "") or spec.get("measure") == "cm"
    return spec["name"] in LOOKING or weighed or spec.get("cut") in ("info-gain", "lsd")


def crowd() -> pl.DataFrame:
    """The example with few different quasi-identifiers, so that there are many ties to break."""
    return people().with_columns(pl.col("age") // 6, pl.col("zip").str.head(2))


def cells(spec: Spec, frame: pl.DataFrame) -> pl.DataFrame:
    """The publisher's side of a release of the example, by key."""
    return release(spec, frame).aligned().with_columns(frame["id"]).sort("id")


@cache
def plain(at: int) -> pl.DataFrame:
    """That of the example as it is."""
    return cells(ALGORITHMS[at], crowd())


def of(wanted: Callable[[Spec], bool]) -> pytest.MarkDecorator:
    chosen = [(ALGORITHMS.index(spec), spec) for spec in some([spec for spec in ALGORITHMS if wanted(spec)])]
    return pytest.mark.parametrize("at, spec", chosen, ids=[label(spec) for _, spec in chosen])


@of(lambda spec: True)
def test_sorting_the_input_by_the_sensitive_value_changes_nothing(at: int, spec: Spec) -> None:
    assert cells(spec, crowd().sort("s", "n")).equals(plain(at))


@of(lambda spec: not looks(spec))
def test_who_has_which_value_changes_no_cell(at: int, spec: Spec) -> None:
    dealt = crowd().with_columns(pl.col("s", "n").shuffle(seed=3))
    assert not dealt.equals(crowd())
    assert cells(spec, dealt).select(QUASI).equals(plain(at).select(QUASI))


@of(looks)
def test_the_names_of_values_change_no_cell(at: int, spec: Spec) -> None:
    """Whoever looks at sensitive values tells them apart, and no more."""
    renamed = crowd().with_columns(pl.col("s", "guard").replace(NAMES))
    assert cells(spec, renamed).drop("s", strict=False).equals(plain(at).drop("s", strict=False))
