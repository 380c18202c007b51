"""A coded release as it would be published, without the gate."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.data.keys import Keys
from shoal.recoding.publish import Publisher
from shoal.recoding.recoded import Released


def publish(released: Released, keys: Keys, *, suppressed: str, order: str) -> tuple[pl.DataFrame, np.ndarray]:
    """One table with every column, and the input row of each of its rows."""
    rows = released.rows
    publisher = Publisher.of(released, rows.placing(released.classmap), suppressed)
    ((batch, _, frame),) = rows.published(publisher, order, keys)
    return frame, batch.rows
