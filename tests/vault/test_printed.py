"""Cluster centres as Weka prints them; what other programs print is listed and not read."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.vault.protocol.decision import Policy, answer
from shoal.vault.protocol.recount import Counter
from tests.vault.test_protocol import AGES, ILLS, ask, clustered, small  # noqa: F401

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


def test_printed_centres_are_checked_like_a_table_of_them(small: Counter, centres: Centres) -> None:  # noqa: F811
    text = f"These are ours, near illness_12:\n\n{weka(*centres)}\n\nIF age < 1.9 THEN disease = illness_3\n"
    found = ask(small, text, OPEN)
    assert len(found.accepted) == 3, (found.refused, found.left)
    made = answer(found, [AGES, ILLS])
    assert "IF age < 42 THEN disease = Flu\n" in made.text
    assert made.text.count("centre at age = ") == 2
    listed = [one.text for one in made.left]
    assert "illness_12" in listed
    assert [one for one in listed if one != "illness_12"] == ["Full Data", "1.3", "2.25"]
    off = ask(small, weka(centres[0] + [[0.3, 0], [0.3, 0]], centres[1]), OPEN)
    assert (off.state, off.accepted) == ("refused", ())
    assert "is not the mean of the rows" in {one.why for one in off.refused}.pop()


def test_centres_with_another_number_of_rows_are_refused(small: Counter, centres: Centres) -> None:  # noqa: F811
    found = ask(small, weka(centres[0], centres[1][::-1] + 50), OPEN)
    assert "states another number of rows" in found.refused[0].why


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


def test_tables_and_centres_that_other_programs_print_are_listed_and_not_read(
    small: Counter, centres: Centres  # noqa: F811
) -> None:  # fmt: skip
    (a, b), (c, d) = centres[0]
    for text in (
        f"Cluster means:\n       age    hours\n1 {a:.6f} {b:.5f}\n2 {c:.6f} {d:.5f}\n",
        f"age hours\n{np.array2string(centres[0], precision=6)}\n",
        "           work\ndisease     private state\n  illness_3     24     31\n  illness_7     12   40\n",
        "disease\nillness_3    24\nillness_7    12\nName: count, dtype: int64\n",
        "     disease     work  size\n0  illness_3  private   24\n1  illness_7    state   12\n",
    ):
        found = ask(small, text, OPEN)
        assert (found.state, found.accepted) == ("refused", ()), text
        assert found.left, text
    frame = small.released.frame
    n = frame.filter(pl.col("disease") == "illness_3", pl.col("work") == "private").height
    assert ask(small, f"disease,work,n\nillness_3,private,{n}\n", OPEN).state == "answered"
