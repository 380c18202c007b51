"""Cluster centres and tables of aggregates as Weka, R, pandas and scikit-learn print them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from shoal.vault.protocol.decision import Policy, answer
from shoal.vault.protocol.recount import Counter
from tests.vault.test_protocol import AGES, ILLS, ask, clustered, small, told  # noqa: F401

OPEN = Policy(waiting=1, budget=1, together=1, enumeration=1)
Centres = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def centres(small: Counter) -> Centres:  # noqa: F811
    """Two clusters of ages and hours, and how many rows each has."""
    return clustered(small)


def weka(found: np.ndarray, sizes: np.ndarray) -> str:
    (a, b), (c, d) = found
    return f"""
kMeans
======

Number of iterations: 4
Within cluster sum of squared errors: 62.14

Initial starting points (random):

Cluster 0: 1.3,41
Cluster 1: 2.25,33

Missing values globally replaced with mean/mode

Final cluster centroids:
                          Cluster#
Attribute    Full Data           0          1
              (1200.0)     ({sizes[0]}.0)    ({sizes[1]}.0)
=============================================
age             1.8231      {a:.4f}     {c:.4f}
hours          36.9123     {b:.4f}    {d:.4f}


Time taken to build model (full training data) : 0.02 seconds

Clustered Instances

0       {sizes[0]} ( 48%)
1       {sizes[1]} ( 52%)
"""


def r_kmeans(found: np.ndarray, sizes: np.ndarray) -> str:
    (a, b), (c, d) = found
    return f"""K-means clustering with 2 clusters of sizes {sizes[0]}, {sizes[1]}

Cluster means:
       age    hours
1 {a:.6f} {b:.5f}
2 {c:.6f} {d:.5f}

Clustering vector:
   [1] 1 1 2 2 1 2 1 2 2 2 1
  [12] 1 2 1 1

Within cluster sum of squares by cluster:
[1] 1.351 2.462
 (between_SS / total_SS =  88.4 %)

Available components:

[1] "cluster"      "centers"      "totss"
"""


def wide_r(found: np.ndarray, sizes: np.ndarray) -> str:
    (a, b), (c, d) = found
    return f"Cluster means:\n       age\n1 {a:.6f}\n2 {c:.6f}\n     hours\n1 {b:.5f}\n2 {d:.5f}\n"


def r_centers(found: np.ndarray, sizes: np.ndarray) -> str:
    (a, b), (c, d) = found
    return f"> km$centers\n       age    hours\n1 {a:.6f} {b:.5f}\n2 {c:.6f} {d:.5f}\n"


def numpy_array(found: np.ndarray, sizes: np.ndarray) -> str:
    return f"age hours\n{np.array2string(found, precision=6)}\n"


def numpy_repr(found: np.ndarray, sizes: np.ndarray) -> str:
    return f"columns: ['age', 'hours']\n{found!r}\n"


def pandas_frame(found: np.ndarray, sizes: np.ndarray) -> str:
    import pandas as pd

    return str(pd.DataFrame(found, columns=["age", "hours"])) + "\n"


CENTRES = [weka, r_kmeans, wide_r, r_centers, numpy_array, numpy_repr, pandas_frame]


@pytest.mark.parametrize("print_of", CENTRES)
def test_printed_centres_are_checked_like_a_table_of_them(
    small: Counter, centres: Centres, print_of: Callable[..., str]  # noqa: F811
) -> None:  # fmt: skip
    text = f"These are ours, near illness_12:\n\n{print_of(*centres)}\n\nIF age < 1.9 THEN disease = illness_3\n"
    found = ask(small, text, OPEN)
    assert len(found.accepted) == 3, (found.refused, found.left)
    made = answer(found, [AGES, ILLS])
    assert "IF age < 42 THEN disease = Flu\n" in made.text
    assert made.text.count("centre at age = ") == 2
    listed = [one.text for one in made.left]
    assert "illness_12" in listed
    others = {weka: ["Full Data", "1.3", "2.25"], r_kmeans: []}.get(print_of, [])
    assert [one for one in listed if one != "illness_12"] == others
    off = ask(small, print_of(centres[0] + [[0.3, 0], [0.3, 0]], centres[1]), OPEN)
    assert (off.state, off.accepted) == ("refused", ())
    assert "is not the mean of the rows" in {one.why for one in off.refused}.pop()


def test_centres_with_another_number_of_rows_are_refused(small: Counter, centres: Centres) -> None:  # noqa: F811
    for print_of in (weka, r_kmeans):
        found = ask(small, print_of(centres[0], centres[1][::-1] + 50), OPEN)
        assert "states another number of rows" in found.refused[0].why


def test_an_array_without_names_is_refused_by_a_sentence(small: Counter, centres: Centres) -> None:  # noqa: F811
    for text in (
        np.array2string(centres[0]), repr(centres[0]), str(centres[0].tolist()), f"age\n{centres[0]}",
        "Cluster means:\n      [,1]   [,2]\n1 1.2 31\n2 2.4 39\n", "age hours\n[[1.2 31.]\n ...\n [2.4 39.]]",
        "age hours\n[[1.2 31.]\n [2.4 39.]",
    ):  # fmt: skip
        found = ask(small, text)
        assert found.state == "refused"
        assert any("columns" in one.why for one in found.left), text
    matrix = ask(small, "IF age < 1.9 THEN disease = illness_3\n\n[[50  2]\n [ 3 45]]\n")
    assert matrix.state == "answered"


def test_a_centre_of_a_column_that_is_not_released_is_not_taken_without_it(
    small: Counter, centres: Centres  # noqa: F811
) -> None:  # fmt: skip
    text = weka(*centres).replace("hours   ", "town    ").replace("36.9123", "Rome")
    found = ask(small, text, OPEN)
    assert found.accepted == ()


def test_what_stands_between_centres_is_listed(small: Counter, centres: Centres) -> None:  # noqa: F811
    text = weka(*centres).replace("\nhours ", "\n   +/-  1.51  1.52  1.53\nage   1.6  1.7  1.8\nhours ", 1)
    found = ask(small, text, OPEN)
    assert len(found.accepted) == 2
    listed = " ".join(one.text for one in found.left)
    assert all(number in listed for number in ("1.51", "1.52", "1.53", "1.6", "1.7", "1.8"))


def tables(counter: Counter) -> dict[str, tuple[str, str]]:
    """True tables of illness 3 and 7 in everybody's print, and what their answers begin with."""
    frame = counter.released.frame
    flu, gout = (frame.filter(pl.col("disease") == f"illness_{one}") for one in (3, 7))
    n, m = flu.height, gout.height
    (a, b), (c, d) = ([one.filter(pl.col("work") == work).height for work in ("private", "state")]
                      for one in (flu, gout))  # fmt: skip
    x, y = (one["hours"].mean() for one in (flu, gout))
    p, q = (one["age"].mean() for one in (flu, gout))
    both = f"disease = Flu AND work = private (rows {a})\n"
    young = flu.filter(pl.col("work") == "private")["age"].mean()
    return {
        "R table": (f"""
           work
disease     private state
  illness_3     {a}     {b}
  illness_7     {c}   {d}
""", both),
        "crosstab": (f"""
work       private  state
disease
illness_3      {a}     {b}
illness_7      {c}    {d}""", both),
        "size": (f"""
disease    work
illness_3  private    {a}
           state      {b}
illness_7  state      {d}
dtype: int64""", both),
        "as_index": (f"""
     disease     work  size
0  illness_3  private   {a}
1  illness_7    state   {d}""", both),
        "aggregate": (f"""
    disease    work      age
1 illness_3 private {young:.6f}""", "disease = Flu AND work = private\n"),
        "groupby mean": (f"""
                age      hours
disease
illness_3  {p:.6f}  {x:.6f}
illness_7  {q:.6f}  {y:.6f}""", f"disease = Flu (mean of hours {x:g})\n"),
        "series mean": (f"""
disease
illness_3    {p:.6f}
illness_7    {q:.6f}
Name: age, dtype: float64""", "disease = Flu\n"),
        "agg": (f"""
                   mean_age    n
disease   work
illness_3 private  {young:.6f}  {a}""", both),
        "tibble": (f"""
# A tibble: 2 x 3
  disease   mean_age     n
  <chr>        <dbl> <int>
1 illness_3     {p:.3f}   {n}
2 illness_7     {q:.3f}   {m}""", f"disease = Flu (rows {n})\n"),
    }  # fmt: skip


def test_printed_tables_are_checked_like_csv(small: Counter) -> None:  # noqa: F811
    for name, (text, expected) in tables(small).items():
        found = ask(small, f"We found illness_12 as well:\n\n{text}\n\nThat is all.\n", OPEN)
        assert told(found).startswith(expected), (name, told(found), found.refused, found.left)
        assert not [one for one in found.refused if "the release has" in one.why], name
        assert [one.text for one in found.left] == ["illness_12"], name


def test_invented_figures_of_printed_tables_are_refused(small: Counter) -> None:  # noqa: F811
    for name, (text, _) in tables(small).items():
        lines = text.replace(".", ".9").splitlines()
        wrong = "\n".join(
            " ".join(str(int(one) + 11) if one.isdecimal() and len(one) > 1 else one for one in line.split(" "))
            for line in lines
        )
        found = ask(small, wrong, OPEN)
        assert (found.state, found.accepted) == ("refused", ()), (name, found.accepted)


def test_counts_of_one_column_are_read_and_say_nothing(small: Counter) -> None:  # noqa: F811
    """How often a code occurs is no finding, however it is printed."""
    codes, counts = small.codes("disease")
    parts = (f"{' '.join(codes[two])} \n {' '.join(map(str, counts[two]))} \n" for two in (slice(2), slice(2, 4)))
    wide = "disease\n" + "".join(parts)
    rows = "\n".join(f"{code}    {n}" for code, n in zip(codes, counts, strict=True))
    for text in (wide, f"disease\n{rows}\nName: count, dtype: int64", f"{rows}\nName: disease, dtype: int64"):
        found = ask(small, text, OPEN)
        assert {one.why for one in found.refused} == {"says no more of its codes than how often they occur"}, text
        assert len(found.refused) == 4
        assert not found.left
        listed = ask(small, text, Policy(waiting=1, budget=1, together=1))
        assert "goes through the codes" in listed.refused[0].why


def test_what_is_no_whole_print_is_listed(small: Counter) -> None:  # noqa: F811
    for text in (
        "\n illness_1 illness_12 \n 120 30 \n", "disease\nillness_1 Sum \n 120 30 \n",
        "illness_1 0.25\nName: proportion, dtype: float64", "disease work\nillness_1 private\n",
        "           \n             private state\n  illness_1  60  58\n",
    ):  # fmt: skip
        found = ask(small, text, OPEN)
        assert found.state == "refused"
        assert "illness_1" in " ".join(one.text for one in found.left), text
