"""What the experiments of Yang & Qiao have in common: the table of Adult, and the methods they compare."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from shoal.algorithms.links.anatomy import Anatomy
from shoal.algorithms.links.random import RandomAnonymisation
from shoal.algorithms.mondrian import Mondrian
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.models.diversity import EntropyL
from shoal.recipe.source import read
from shoal.results import Release
from shoal.utility.reading import Reading, read_release
from shoal_papers.adult import adult_hierarchies
from shoal_papers.base import Claim
from shoal_papers.runs import release

QUASI = (
    "education", "race", "sex", "workclass", "marital-status", "age", "relationship", "native-country", "salary-class",
)  # fmt: skip
SENSITIVE = "occupation"
RA, DIVERSE, PERMUTED, NEIGHBOURS = "RA", "l-diverse", "permutation", "permutation in classes"
PLAIN = "l-diverse, no trees"
GROUPS = (
    "The document permutes as Xiao & Tao do, within Anatomy's groups: one group of its Fig. 4 holds a doctor of the "
    "USA between 50 and 60 and a trader of the UK between 20 and 30, who share no class of Mondrian's. Anatomy needs "
    "every occupation to have at most 1/l of the records, which on Adult ends at l = 7: for 8 and 10, records that fit "
    "in no group join groups at random. 'permutation in classes' shuffles inside classes of entropy l-diverse Mondrian "
    "instead."
)
ENTROPY = "Entropy at least ln l counts as l-diverse, equality included; the document asks for more than ln l."
CHANCES = "Uniform p: the document derives an optimal p, but its Pa of 34 is that of uniform p."


def table_of(frame: pl.DataFrame, *, trees: bool = True) -> Table:
    """Nine quasi-identifiers and occupation; categories have a hierarchy of ours, or none, and age is an interval."""
    known = adult_hierarchies([name for name in QUASI if name != "age"]) if trees else {}
    return read(frame.select([*QUASI, SENSITIVE]), quasi=list(QUASI), sensitive=[SENSITIVE], hierarchies=known)


def made_by(method: str, tables: Mapping[bool, Table], l: float, seed: int) -> Release:  # noqa: E741
    """The release of one of the methods; ``tables`` are those with and without trees."""
    if method == RA:
        return release(tables[True], RandomAnonymisation(), seed=seed)
    if method == PERMUTED:
        return release(tables[True], Anatomy(l=l, leftovers="join"), seed=seed)
    if method == NEIGHBOURS:
        return release(tables[True], Anatomy(l=l, grouping="entropy-mondrian"), seed=seed)
    return release(tables[method == DIVERSE], Mondrian(cut="widest"), models=[EntropyL(l=l)], seed=seed)


def reading_of(made: Release, seed: int) -> Reading:
    """A release as its readers see it; all releases of a seed are asked the same."""
    return read_release(made, keys=Keys.from_seed(seed))


def told(claim: Claim, reading: str = "") -> str:
    """A claim under another reading, in a sentence."""
    return f"{reading}{': ' if reading else ''}{claim.text}: {claim.verdict}. {claim.evidence}"


def at_all(points: Mapping[object, np.ndarray], value: np.ndarray) -> dict[object, np.ndarray]:
    """The same values at every point of a curve: a method that the points do not change."""
    return dict.fromkeys(points, value)
