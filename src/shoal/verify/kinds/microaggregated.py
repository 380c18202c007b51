"""A microaggregated release against its input: every cell is the mean, median or mode of its own class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.types import Check
from shoal.verify.values import each_once, group_rows, read_together, read_values

_CLOSE = 1e-9


def check_microaggregated(
    original: pl.DataFrame, released: pl.DataFrame, source: np.ndarray, claims: Mapping[str, Any]
) -> list[Check]:
    """What must hold for microaggregation, on classes of equal released quasi-identifiers.

    Classes that publish the same cells are one here; the mean, median and mode of their union are the same again.

    Parameters
    ----------
    original
        Input rows, before any coding.
    released
        The frame that would be written.
    source
        Row of ``original`` of each released row.
    claims
        The manifest: ``columns`` with name, role and type; ``order`` of an ordinal column, ``hierarchy`` where it has
        one (its cells are then modes).
    """
    rows = np.asarray(source, dtype=np.int64)
    columns = list(claims["columns"])
    names = [column["name"] for column in columns]
    if sorted(released.columns) != sorted(names) or len(rows) != released.height:
        return [Check(name="columns", passed=False, detail="Released columns or rows are not those of the manifest.")]
    if not each_once(rows, original.height):
        return [Check(name="rows", passed=False, detail="A released row has no source row, or shares it with another.")]
    quasi = [column for column in columns if column["role"] == "quasi"]
    classes, _ = group_rows(released.select([column["name"] for column in quasi]))
    wrong = {column["name"]: _wrong_cells(original, released, rows, classes, column) for column in quasi}
    changed = {
        column["name"]: _changed(original, released, rows, column) for column in columns if column["role"] != "quasi"
    }
    return [
        _check("centroids", wrong, "are not the mean, median or mode of their class", "Every quasi-identifier cell is "
               "the mean, median or mode of its class."),
        _check("values", changed, "differ from their source",
               "Sensitive and neutral values are those of their source rows."),
    ]  # fmt: skip


def _check(name: str, problems: Mapping[str, int], what: str, fine: str) -> Check:
    found = " and ".join(f"{count:,} cells of '{column}'" for column, count in problems.items() if count)
    return Check(name=name, passed=not found, detail=f"{found} {what}." if found else fine)


def _changed(original: pl.DataFrame, released: pl.DataFrame, rows: np.ndarray, column: Mapping[str, Any]) -> int:
    name = column["name"]
    values, theirs = read_together(released[name], original[name].gather(rows), column["type"])
    return int((values.codes != theirs).sum())


def _wrong_cells(
    original: pl.DataFrame, released: pl.DataFrame, rows: np.ndarray, classes: np.ndarray, column: Mapping[str, Any]
) -> int:
    ours, theirs = released[column["name"]], original[column["name"]].gather(rows)
    if column["type"] in ("numeric", "date"):
        return _wrong_means(ours, theirs, classes, column["type"])
    if column["type"] == "ordinal" and not column.get("hierarchy"):
        return _wrong_medians(ours, theirs, classes, [str(value) for value in column["order"]])
    values, truth = read_together(ours, theirs, column["type"])
    return _wrong_modes(values.codes, truth, classes)


def _wrong_means(ours: pl.Series, theirs: pl.Series, classes: np.ndarray, kind: str) -> int:
    """Means of numbers to rounding, of dates to the nearest day."""
    released, truth = (values.numbers[values.codes] for values in (read_values(one, kind) for one in (ours, theirs)))
    sizes = np.bincount(classes)
    middle = (np.bincount(classes, weights=truth) / sizes)[classes]
    scale = np.abs(truth).max(initial=1.0)
    if kind == "date":
        return int((~(np.abs(released - middle) <= 0.5 + _CLOSE)).sum())
    return int((~(np.abs(released - middle) <= _CLOSE * scale)).sum())


def _wrong_medians(ours: pl.Series, theirs: pl.Series, classes: np.ndarray, order: list[str]) -> int:
    """Lower medians by the declared order; what is not in it is never right."""
    places = {value: place for place, value in enumerate(order)}
    released, truth = (
        one.cast(pl.String).replace_strict(places, default=None, return_dtype=pl.Float64).to_numpy()
        for one in (ours, theirs)
    )
    sizes = np.bincount(classes)
    ordered = truth[np.lexsort((truth, classes))]
    middle = ordered[np.cumsum(sizes) - sizes + (sizes - 1) // 2]
    return int((released != middle[classes]).sum())


def _wrong_modes(released: np.ndarray, truth: np.ndarray, classes: np.ndarray) -> int:
    """Any of the commonest values of the class."""
    frame = pl.DataFrame({"class": classes, "shown": released, "truth": truth})
    counts = frame.group_by("class", "truth").len()
    modes = counts.filter(pl.col("len") == pl.col("len").max().over("class"))
    return frame.join(modes, left_on=["class", "shown"], right_on=["class", "truth"], how="anti").height
