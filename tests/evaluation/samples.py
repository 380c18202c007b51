"""Small readings made by hand, in which what depends on what is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal.data.keys import Keys
from shoal.recoding.kinds import GENERALISED
from shoal.utility.features import frame_features
from shoal.utility.reading import Feature, Reading

ROLES = {"age": "quasi", "sex": "quasi", "town": "quasi", "income": "neutral", "disease": "sensitive"}


def people(rows: int = 400) -> pl.DataFrame:
    """The old are ill, men in the city earn more; some noise."""
    random = np.random.default_rng(7)
    age, sex = random.integers(20, 80, rows), random.integers(0, 2, rows)
    town = random.integers(0, 4, rows)
    ill = np.where(random.random(rows) < 0.9, age >= 50, random.random(rows) < 0.3)
    return pl.DataFrame(
        {
            "age": age,
            "sex": np.array(["f", "m"])[sex],
            "town": np.array(["north", "south", "east", "city"])[town],
            "income": 1000 + 10 * age + 300 * sex + 500 * (town == 3) + random.integers(0, 200, rows),
            "disease": np.where(ill, np.array(["gout", "asthma"])[sex], "none"),
        }
    )


def reading(frame: pl.DataFrame, released: pl.DataFrame | None = None, **changes: Any) -> Reading:
    """An exact release of a frame in another order, or of other rows in the same order."""
    order = np.random.default_rng(3).permutation(frame.height)
    released = frame[order] if released is None else released[order]
    made = frame_features(released, frame)
    features = {name: replace(one, role=ROLES.get(name, "quasi")) for name, one in made.items()}
    given: dict[str, Any] = {
        "kind": GENERALISED, "made": GENERALISED, "n": frame.height, "rows": frame.height, "source": order,
        "features": features, "groups": np.zeros(frame.height, dtype=np.int32), "suppression": 0.0,
        "keys": Keys.from_seed(1),
    }  # fmt: skip
    return Reading(**(given | changes))


def starred(feature: Feature) -> Feature:
    """The same column with a star in every released row."""
    size = len(feature.values)
    return replace(
        feature, cell=np.zeros_like(feature.cell), texts=["*"], at=np.array([0, size]), share=np.full(size, 1 / size),
        code=np.arange(size, dtype=np.int32),
    )  # fmt: skip


def without_quasi(frame: pl.DataFrame, keep: str = "disease") -> Reading:
    """A release that says nothing but one column."""
    made = reading(frame)
    return replace(made, features={n: one if n == keep else starred(one) for n, one in made.features.items()})
