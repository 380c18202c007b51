"""A bucketised release against its input: exact quasi-identifiers on one side, groups of values on the other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.types import Check
from shoal.verify.values import each_once, encode, read_together

# An order that a shuffle gives more often than this is no leak: one value apart in a group of twenty stands beside its
# own row in one release of twenty.
_CHANCE = 1e-6


def check_bucketised(
    original: pl.DataFrame,
    released: pl.DataFrame | Mapping[str, pl.DataFrame],
    source: np.ndarray,
    claims: Mapping[str, Any],
) -> list[Check]:
    """What must hold for Anatomy, permutation and bucketisation.

    Parameters
    ----------
    original
        Input rows, before any coding.
    released
        The tables ``"quasi"`` (quasi-identifiers, neutral columns and the group) and ``"sensitive"`` (the group and
        sensitive columns, a row a record); or one frame that holds both, sensitive values permuted within groups.
    source
        Row of ``original`` of each released row of quasi-identifiers.
    claims
        The manifest: ``columns`` with name, role and type, and ``group``, the name of the column of group numbers.
    """
    group = claims.get("group", "group")
    one = isinstance(released, pl.DataFrame)
    left = released if isinstance(released, pl.DataFrame) else released["quasi"]
    right = released if isinstance(released, pl.DataFrame) else released["sensitive"]
    columns = list(claims["columns"])
    seen = [column for column in columns if column["role"] in ("quasi", "neutral")]
    hidden = [column for column in columns if column["role"] == "sensitive"]
    shape = _check_tables(original, left, right, source, group, [seen, hidden], one)
    if not shape.passed:
        return [shape]
    source = np.asarray(source, dtype=np.int64)
    joint, groups = encode(pl.concat([left[group].cast(pl.String), right[group].cast(pl.String)]))
    ours, theirs = joint[: left.height], joint[left.height :]
    pairs = {
        column["name"]: read_together(right[column["name"]], original[column["name"]].gather(source), column["type"])
        for column in hidden
    }
    return [
        shape,
        _check_quasi(original, left, source, seen),
        _check_sizes(ours, theirs, len(groups)),
        _check_groups(ours, theirs, pairs),
        _check_apart(ours, theirs, pairs),
    ]


def _check_tables(
    original: pl.DataFrame,
    left: pl.DataFrame,
    right: pl.DataFrame,
    source: np.ndarray,
    group: str,
    wanted: list[list[Mapping[str, Any]]],
    one: bool,
) -> Check:
    """The tables hold their own columns and share nothing but the group, least of all a record number."""
    seen, hidden = ([column["name"] for column in side] for side in wanted)
    name = "tables"
    if one:
        if sorted(left.columns) != sorted([group, *seen, *hidden]):
            return Check(name=name, passed=False, detail="The released columns are not those of the manifest.")
    elif sorted(left.columns) != sorted([group, *seen]) or sorted(right.columns) != sorted([group, *hidden]):
        return Check(
            name=name, passed=False,
            detail=f"The two tables do not hold just their own columns and '{group}', the only one they may share.",
        )  # fmt: skip
    rows = np.asarray(source)
    if len(rows) != left.height or left.height != right.height:
        return Check(name=name, passed=False, detail="The tables and their list of source rows differ in length.")
    if not each_once(rows, original.height):
        return Check(name=name, passed=False, detail="A released row has no source row, or shares it with another.")
    return Check(name=name, passed=True, detail=f"The tables share the column '{group}' and nothing else.")


def _check_quasi(
    original: pl.DataFrame, left: pl.DataFrame, source: np.ndarray, seen: list[Mapping[str, Any]]
) -> Check:
    """Quasi-identifier rows are those of their source, so that as a whole they are the input's."""
    problems = []
    for column in seen:
        values, theirs = read_together(left[column["name"]], original[column["name"]].gather(source), column["type"])
        differ = int((values.codes != theirs).sum())
        if differ:
            problems.append(f"{differ:,} rows of '{column['name']}'")
    detail = (
        f"Values differ from their source in {' and '.join(problems)}."
        if problems
        else "Quasi-identifier rows are those of the input."
    )
    return Check(name="exact rows", passed=not problems, detail=detail)


def _check_sizes(ours: np.ndarray, theirs: np.ndarray, groups: int) -> Check:
    wrong = int((np.bincount(ours, minlength=groups) != np.bincount(theirs, minlength=groups)).sum())
    fine = "Groups are equally large in both tables."
    detail = f"{wrong:,} groups are not equally large in both tables." if wrong else fine
    return Check(name="group sizes", passed=not wrong, detail=detail)


_Pairs = Mapping[str, tuple[Any, np.ndarray]]


def _check_groups(ours: np.ndarray, theirs: np.ndarray, pairs: _Pairs) -> Check:
    """Every group's sensitive values are, as a whole, those of the input rows in it."""
    problems = []
    for name, (values, truth) in pairs.items():
        if not np.array_equal(_in_order(theirs, values.codes), _in_order(ours, truth)):
            problems.append(f"'{name}'")
    detail = (
        f"The values of {' and '.join(problems)} in some groups are not those of the input rows in them."
        if problems
        else "The sensitive values of every group are those of the input rows in it."
    )
    return Check(name="group values", passed=not problems, detail=detail)


def _in_order(group: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Pairs of group and value, sorted."""
    order = np.lexsort((value, group))
    return np.stack([group[order], value[order]])


def _check_apart(ours: np.ndarray, theirs: np.ndarray, pairs: _Pairs) -> Check:
    """Values of a group do not stand in the order of the rows they belong to, where hardly a shuffle does that."""
    aligned = []
    left, right = np.argsort(ours, kind="stable"), np.argsort(theirs, kind="stable")
    for name, (values, truth) in pairs.items():
        if (values.codes[right] == truth[left]).all() and _log_orders(ours, truth) >= -math.log(_CHANCE):
            aligned.append(f"'{name}'")
    detail = (
        f"The values of {' and '.join(aligned)} stand in the order of the rows they belong to."
        if aligned
        else "Sensitive values do not stand in the order of their rows."
    )
    return Check(name="apart", passed=not aligned, detail=detail)


def _log_orders(group: np.ndarray, value: np.ndarray) -> float:
    """In how many orders the values of all groups can stand that look different, as a logarithm."""
    alike = pl.DataFrame({"group": group, "value": value}).group_by("group", "value").len()["len"]
    of_groups, of_alike = (sum(math.lgamma(size + 1) for size in sizes) for sizes in (np.bincount(group), alike))
    return of_groups - of_alike
