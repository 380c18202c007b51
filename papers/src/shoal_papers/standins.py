"""Data sets in place of those that cannot be had or that only a recipe is known of, generated under a seed.

None of them is the document's data, and their names say so: claims about them are claims "on the stand-in".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from shoal.data.hierarchy import Hierarchy
from shoal.data.hierarchy_builders import equal_width, intervals, nested
from shoal.data.keys import Keys
from shoal.errors import InputError, ParameterError
from shoal.io.files import read_frame
from shoal.params import whole
from shoal_papers.adult import adult_hierarchies

CENSUS_COLUMNS = ("age", "gender", "education", "marital", "occupation", "income")
INCOMES = 50
_B_EDGES = [[0, 5, 10, 16, 18, 20], [0, 10, 16, 20]]
_LEVELS = (6, 5, 4, 3, 3, 2, 2, 4, 1, 5, 2, 3)
_RARE = 0.001


@dataclass(frozen=True, kw_only=True, eq=False)
class StandIn:
    """A data set with its hierarchies, a name that says what it is, what it stands for, and its seed."""

    name: str
    what: str
    frame: pl.DataFrame
    hierarchies: Mapping[str, Hierarchy]
    seed: int


def synthetic_a(n: int = 100_000, sigma: float = 2.5, seed: int = 1) -> StandIn:
    """Loukides' first synthetic data: six quasi-identifiers q1.., two sensitive s1, s2, normal integers in 0..19."""
    columns = ["q1", "q2", "q3", "q4", "q5", "q6", "s1", "s2"]
    frame = _normal(n, columns, sigma, Keys.from_seed(seed).generator(f"papers/synthetic-a/{sigma}"))
    what = f"generated: integers of round(clip(N(9.5, {sigma:g}), 0, 19)), independent"
    return StandIn(name=f"synthetic-a, sigma {sigma:g}", what=what, frame=frame, hierarchies={}, seed=seed)


def synthetic_b(n: int = 50_000, seed: int = 1, sigma: float = 1.0) -> StandIn:
    """Loukides' second, standard normal: five quasi-identifiers and two sensitive attributes, one hierarchy for all."""
    columns = ["q1", "q2", "q3", "q4", "q5", "s1", "s2"]
    frame = _normal(n, columns, sigma, Keys.from_seed(seed).generator(f"papers/synthetic-b/{sigma}"))
    leaves = [str(value) for value in range(20)]
    trees = {name: intervals(name, leaves, _B_EDGES) for name in columns}
    what = f"generated: integers of round(clip(N(9.5, {sigma:g}), 0, 19)), independent; centre and hierarchy are ours"
    name = "synthetic-b" if sigma == 1.0 else f"synthetic-b, sigma {sigma:g}"
    return StandIn(name=name, what=what, frame=frame, hierarchies=trees, seed=seed)


def _normal(n: int, columns: Sequence[str], sigma: float, drawn: np.random.Generator) -> pl.DataFrame:
    whole("a stand-in", "n", n, least=1)
    values = np.rint(np.clip(drawn.normal(9.5, sigma, (n, len(columns))), 0, 19)).astype(np.int64)
    return pl.DataFrame({name: values[:, place] for place, name in enumerate(columns)})


def synthetic_mcphd(n: int = 20_000, seed: int = 1, attributes: int = 12) -> StandIn:
    """In place of the death certificates: categories with 1 to 6 levels of generalisation, skewed and dependent.

    Values are Zipf-distributed and depend on one of six hidden kinds of people; one row in a thousand is an outlier,
    an unlikely combination of rare values. Columns are called ``a01_6``: the attribute and its number of levels.
    """
    whole("a stand-in", "n", n, least=1)
    whole("a stand-in", "attributes", attributes, least=1)
    levels = [_LEVELS[place % len(_LEVELS)] for place in range(attributes)]
    drawn = Keys.from_seed(seed).generator("papers/synthetic-mcphd")
    kind = _zipf(6, n, drawn)
    rare = drawn.random(n) < _RARE
    columns, trees = {}, {}
    for place, height in enumerate(levels):
        name, size = f"a{place + 1:02d}_{height}", 3 * 2 ** (height - 1)
        shift = drawn.integers(0, size, 6)
        usual = _zipf(size, n, drawn)
        moved = (usual + shift[kind]) % size
        codes = np.where(drawn.random(n) < 0.7, moved, usual)
        codes = np.where(rare, (size - 1 - drawn.integers(0, max(1, size // 2), n)) % size, codes)
        columns[name] = pl.Series([f"v{code:02d}" for code in range(size)]).gather(codes)
        trees[name] = _halving(name, size, height)
    what = "generated, in place of the death certificates, which are not public; claims are about the stand-in"
    return StandIn(name="synthetic-mcphd", what=what, frame=pl.DataFrame(columns), hierarchies=trees, seed=seed)


def _zipf(size: int, n: int, drawn: np.random.Generator) -> np.ndarray:
    shares = 1.0 / np.arange(1, size + 1)
    return np.searchsorted(np.cumsum(shares / shares.sum())[:-1], drawn.random(n), side="right")


def _halving(name: str, size: int, height: int) -> Hierarchy:
    """Neighbours join two by two, level by level, and all of them at the top."""
    rows = [
        [f"v{code:02d}", *(f"g{level}.{code >> level:02d}" for level in range(1, height)), "*"] for code in range(size)
    ]
    return Hierarchy.from_rows(name, rows)


def census_standin(adult: pl.DataFrame | None = None, *, n: int | None = None, seed: int = 1) -> StandIn:
    """In place of the census extract: Adult with an income of 50 classes made up from it, or ``n`` generated people.

    From Adult, income is the rank of education-num times age, ties broken at random, in 50 classes of equal size.
    Generated people have as many ages, educations, marital states, occupations and incomes as the extract.
    """
    drawn = Keys.from_seed(seed).generator("papers/census-standin")
    if adult is None:
        frame = _generated_census(n or 100_000, drawn)
        return StandIn(
            name="census-standin, generated", what="generated, in place of the census extract, which may not be shared",
            frame=frame, hierarchies=_generated_trees(), seed=seed,
        )  # fmt: skip
    if n is not None and n > adult.height:
        raise ParameterError(f"Adult has {adult.height} complete rows, not {n}: generate the stand-in instead.")
    chosen = adult if n is None else adult[np.sort(drawn.permutation(adult.height)[:n])]
    index = chosen["education-num"].to_numpy() * chosen["age"].to_numpy()
    frame = chosen.select(
        age="age", gender="sex", education="education", marital="marital-status", occupation="occupation",
    ).with_columns(income=_classes(index, drawn))  # fmt: skip
    trees = adult_hierarchies(["age", "sex", "education", "marital-status", "occupation"])
    pairs = zip(CENSUS_COLUMNS[:-1], trees.values(), strict=True)
    named = {name: Hierarchy(name, tree.labels, tree.ancestors) for name, tree in pairs}
    return StandIn(
        name="census-standin, from Adult",
        what="UCI Adult with a made-up income of 50 classes, in place of the census extract",
        frame=frame, hierarchies={**named, "income": _income_tree()}, seed=seed,
    )  # fmt: skip


def _classes(index: np.ndarray, drawn: np.random.Generator) -> np.ndarray:
    order = np.lexsort((drawn.random(index.size), index))
    ranks = np.empty(index.size, dtype=np.int64)
    ranks[order] = np.arange(index.size)
    return ranks * INCOMES // index.size


def _generated_census(n: int, drawn: np.random.Generator) -> pl.DataFrame:
    whole("a stand-in", "n", n, least=INCOMES)
    age = np.clip(np.rint(17 + 78 * drawn.beta(1.6, 2.6, n)), 17, 95).astype(np.int64)
    schooling = drawn.normal(0, 1, n)
    education = np.clip(np.rint(8.5 + 3 * schooling), 0, 16).astype(np.int64)
    occupation = np.clip(np.rint(12.5 + 4 * schooling + 4 * drawn.normal(0, 1, n)), 0, 25).astype(np.int64)
    married = np.clip(np.rint((age - 17) / 14 + drawn.normal(0, 1.2, n)), 0, 5).astype(np.int64)
    worth = 0.5 * schooling + 0.25 * (occupation - 12.5) / 6 + 0.02 * (age - 45) + drawn.normal(0, 0.8, n)
    return pl.DataFrame({
        "age": age,
        "gender": pl.Series(["female", "male"]).gather(drawn.integers(0, 2, n)),
        "education": pl.Series([f"e{code:02d}" for code in range(17)]).gather(education),
        "marital": pl.Series([f"m{code}" for code in range(6)]).gather(married),
        "occupation": pl.Series([f"o{code:02d}" for code in range(26)]).gather(occupation),
        "income": _classes(worth, drawn),
    })  # fmt: skip


def _generated_trees() -> dict[str, Hierarchy]:
    ages = [str(age) for age in range(17, 96)]
    return {
        "age": equal_width("age", ages, [5, 10, 20, 40], origin=15),
        "gender": nested("gender", {"*": ["female", "male"]}),
        "education": _runs("education", [f"e{code:02d}" for code in range(17)], (3, 6)),
        "marital": _runs("marital", [f"m{code}" for code in range(6)], (2,)),
        "occupation": _runs("occupation", [f"o{code:02d}" for code in range(26)], (5, 10)),
        "income": _income_tree(),
    }


def _runs(name: str, values: Sequence[str], widths: Sequence[int]) -> Hierarchy:
    """Runs of neighbours, of a width a level."""
    rows = []
    for place, value in enumerate(values):
        groups = [values[place // width * width : place // width * width + width] for width in widths]
        rows.append([value, *(one[0] if len(one) == 1 else f"{one[0]} to {one[-1]}" for one in groups), "*"])
    return Hierarchy.from_rows(name, rows)


def _income_tree() -> Hierarchy:
    return equal_width("income", [str(value) for value in range(INCOMES)], [5, 10])


def census_from_file(path: Path, *, n: int | None = None, seed: int = 1) -> StandIn:
    """Your own census extract: numbers under the columns age, gender, education, marital, occupation and income."""
    frame = read_frame(path)
    absent = [name for name in CENSUS_COLUMNS if name not in frame.columns]
    if absent:
        raise InputError(f"'{path}' has no column '{absent[0]}': it needs {', '.join(CENSUS_COLUMNS)}.")
    numbers = frame.select(pl.col(CENSUS_COLUMNS).cast(pl.Int64, strict=False)).drop_nulls()
    if numbers.height < frame.height:
        lost = frame.height - numbers.height
        raise InputError(f"'{path}' has {lost} rows that are not all whole numbers: code or remove them.")
    if n is not None and n < numbers.height:
        drawn = Keys.from_seed(seed).generator("papers/census-file")
        numbers = numbers[np.sort(drawn.permutation(numbers.height)[:n])]
    trees = {}
    for name in CENSUS_COLUMNS:
        values = [str(value) for value in range(int(str(numbers[name].min())), int(str(numbers[name].max())) + 1)]
        widths = [5, 10] if name == "income" else [5, 10, 20] if len(values) > 10 else [2]
        trees[name] = equal_width(name, values, widths)
    what = "your own census extract"
    return StandIn(name="census, your own file", what=what, frame=numbers, hierarchies=trees, seed=seed)


GENERATORS: dict[str, Callable[..., StandIn]] = {
    "synthetic-mcphd": synthetic_mcphd,
    "synthetic-a": synthetic_a,
    "synthetic-b": synthetic_b,
    "census-standin": census_standin,
}
