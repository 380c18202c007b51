"""Publishing sensitive values by group: in a table of their own, or shuffled within their groups."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import polars as pl

from shoal.data.keys import Keys
from shoal.recoding.applied import Released
from shoal.recoding.publish import Published, publish, written
from shoal.recoding.recodings import Bucketed

# The stream of draws that a table of sensitive values is put in order by.
SENSITIVE_ORDER = "sensitive order"


def by_group(released: Released, keys: Keys, *, suppressed: str, order: str) -> Published:
    """Rows with the numbers of their groups, and sensitive values that only these lead to."""
    assert isinstance(released.recoding, Bucketed)
    frame, source = publish(released, keys, suppressed=suppressed, order=order)
    group = group_name(released.domain.types)
    sensitive = [name for name in frame.columns if name in released.table.schema.sensitive]
    numbers = pl.Series(group, released.classes.astype(np.int64) + 1)
    if released.recoding.publication == "permuted":
        values_from = permuted(released.classes, released.table.row_keys, keys, source)
        moved = [written(released, name).gather(values_from).alias(name) for name in sensitive]
        frame = frame.with_columns(*moved, numbers.gather(source))
        return Published(frame=frame, source=source, apart=None, values_from=values_from, group=group)
    # Another order than the first table's, or rows would still stand side by side.
    rows = keys.shuffle(SENSITIVE_ORDER, released.table.row_keys)
    rows = rows[released.classes[rows] >= 0]
    apart = pl.DataFrame([numbers.gather(rows), *(written(released, name).gather(rows) for name in sensitive)])
    frame = frame.drop(sensitive).with_columns(numbers.gather(source))
    return Published(frame=frame, source=source, apart=apart, values_from=rows, group=group)


def group_name(taken: Collection[str]) -> str:
    """A name for the column of group numbers that no column of the table has."""
    name = "group"
    while name in taken:
        name = f"{name}_"
    return name


def permuted(classes: np.ndarray, row_keys: np.ndarray, keys: Keys, source: np.ndarray) -> np.ndarray:
    """For each released row a row of its group, each once, in an order that says nothing about the first."""
    drawn = keys.shuffle("permuted values", row_keys)
    drawn = drawn[classes[drawn] >= 0]
    by_group = drawn[np.argsort(classes[drawn], kind="stable")]
    places = np.argsort(classes[source], kind="stable")
    values_from = np.empty_like(source)
    values_from[places] = by_group
    return values_from
