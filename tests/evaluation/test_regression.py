"""Linear regression: equal on equal rows, nothing from stars, and coefficients by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shoal.errors import InputError, ParameterError
from shoal.utility.regression import Regression, fit_and_score, r_squared
from tests.evaluation.samples import people, reading, without_quasi


def test_equal_rows_explain_the_same() -> None:
    one = Regression().run(reading(people()))[0]
    assert one.value == one.also["original"]
    assert one.also["target"] == "income"
    assert one.interval is not None
    assert 0.9 < one.interval[0] < one.value < one.interval[1]
    assert one.baseline == pytest.approx(0.0, abs=0.05)


def test_stars_explain_nothing() -> None:
    one = Regression().run(without_quasi(people(), keep="income"))[0]
    assert one.value == pytest.approx(one.baseline, abs=1e-9)
    assert one.also["original"] > 0.9


def test_noise_explains_less() -> None:
    frame = people()
    mixed = frame.with_columns(pl.col("town").shuffle(1), pl.col("age").shuffle(2))
    one = Regression().run(reading(frame, mixed))[0]
    assert one.value is not None
    assert one.value < one.also["original"] - 0.3


def test_a_line_by_hand() -> None:
    train = pl.DataFrame({"x": [0.0, 1.0, 2.0, 3.0], "g": ["a", "b", "a", "b"], "y": [1.0, 13.0, 5.0, 17.0]})
    # y = 1 + 2 x, and 10 more in b.
    test = pl.DataFrame({"x": [10.0, 20.0], "g": ["a", "b"], "y": [21.0, 51.0]})
    assert fit_and_score(train, test, "y") == pytest.approx(1.0)
    renamed = train.with_columns(pl.col("g").replace({"a": "z"}))
    assert fit_and_score(renamed, renamed, "y") == fit_and_score(train, train, "y")
    assert fit_and_score(train, train, "y", columns=["g"]) == pytest.approx(1 - 16 / 160)


def test_r_squared_by_hand() -> None:
    assert r_squared(np.array([1.0, 3.0]), np.array([1.0, 2.0])) == 0.5
    assert r_squared(np.array([1.0, 3.0]), np.array([3.0, 1.0])) == -3.0
    assert r_squared(np.array([2.0, 2.0]), np.array([2.0, 2.0])) is None


def test_there_has_to_be_a_number() -> None:
    made = reading(people())
    texts = replace(made, features={name: made.features[name] for name in ("sex", "town")})
    assert Regression().refusal(texts) == "No released column holds numbers."
    assert Regression().refusal(made) is None
    with pytest.raises(ParameterError, match="column of numbers"):
        Regression(target="sex").run(made)
    with pytest.raises(InputError, match="without gaps"):
        fit_and_score(people(), people(), "sex")
