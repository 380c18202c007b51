"""What must hold for a pseudonymised release: all but the coded columns unchanged, every code one to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.types import Check
from shoal.verify.values import Values, canonical, each_once, encode, read_values

# What a column's entry in the manifest may say under "coded".
GRADED, MAPPED, TOKEN = "graded", "mapping", "token"


def check_pseudonymised(
    original: pl.DataFrame,
    released: pl.DataFrame | Mapping[str, pl.DataFrame],
    source: np.ndarray,
    claims: Mapping[str, Any],
) -> list[Check]:
    """Compare a release with its input, cell by cell.

    Parameters
    ----------
    original
        Input rows as read.
    released
        The frame that would be written.
    source
        For each released row the row of ``original`` it comes from.
    claims
        The manifest; a column whose values are codes says so in its ``"coded"`` (``"graded"``, ``"mapping"`` or
        ``"token"``).
    """
    if isinstance(released, Mapping):
        return [Check(name="tables", passed=False, detail="A pseudonymised release is one table, not several.")]
    rows = _check_rows(original, released, source)
    columns = _check_columns(original, released, claims)
    if not rows.passed or not columns.passed:
        return [rows, columns]
    before = original.select(released.columns)[source]
    checks = [rows, columns]
    for entry in claims["columns"]:
        name, kind = entry["name"], entry["type"]
        if "coded" in entry:
            checks += _check_coded(name, entry["coded"], read_values(before[name], kind), released[name])
        else:
            old, new = canonical(before[name], kind)[0], canonical(released[name], kind)[0]
            checks.append(_check_unchanged(name, old, new))
    return checks


def _check_rows(original: pl.DataFrame, released: pl.DataFrame, source: np.ndarray) -> Check:
    """Every released row is an input row, and none is released twice."""
    passed = released.height == len(source) and each_once(source, original.height)
    detail = "Every released row is another input row." if passed else "Released rows are not input rows, each once."
    return Check(name="rows", passed=passed, detail=detail)


def _check_columns(original: pl.DataFrame, released: pl.DataFrame, claims: Mapping[str, Any]) -> Check:
    named = [entry["name"] for entry in claims["columns"]]
    lost = [name for name in named if name not in original.columns]
    coded = [entry["coded"] for entry in claims["columns"] if "coded" in entry]
    unknown = [what for what in coded if what not in (GRADED, MAPPED, TOKEN)]
    detail = f"The release has the manifest's {len(named)} columns."
    if released.columns != named:
        detail = "The release does not have the manifest's columns in their order."
    elif lost:
        detail = f"The column '{lost[0]}' is not in the input."
    elif unknown:
        detail = "A column is coded in a way that the verifier does not know."
    elif not coded:
        detail = "No column is coded, so nothing is pseudonymised."
    passed = released.columns == named and not lost and not unknown and bool(coded)
    return Check(name="columns", passed=passed, detail=detail)


def _check_unchanged(name: str, old: pl.Series, new: pl.Series) -> Check:
    changed = int(old.ne_missing(new).sum())
    detail = f"{changed:,} cells of '{name}' differ from the input." if changed else f"'{name}' is as it was."
    return Check(name=f"unchanged: {name}", passed=not changed, detail=detail)


def _check_coded(name: str, how: str, old: Values, new: pl.Series) -> list[Check]:
    """A code a value and a value a code, in the order of the values where they are graded, and no value left."""
    code, codes = encode(new)
    value, of_pair = np.unique(np.stack([old.codes, code]), axis=1)
    one_to_one = len(old.texts) == len(codes) == len(value)
    gaps = int((old.texts.is_null().to_numpy()[value] != codes.is_null().to_numpy()[of_pair]).sum())
    detail = f"{len(old.texts):,} values of '{name}' have {len(codes):,} codes, in {len(value):,} pairs."
    checks = [Check(name=f"one to one: {name}", passed=one_to_one and not gaps, detail=detail)]
    if how != GRADED:
        return [*checks, _check_absent(name, old, codes)]
    known = codes.is_not_null().to_numpy()[of_pair] & old.texts.is_not_null().to_numpy()[value]
    numbers = codes.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()[of_pair[known]]
    return [*checks, _check_increasing(name, old.numbers[value[known]], numbers)]


def _check_increasing(name: str, numbers: np.ndarray, codes: np.ndarray) -> Check:
    """Larger values have larger codes, and codes are not simply the values."""
    order = np.lexsort((codes, numbers))
    up, rise = np.diff(numbers[order]), np.diff(codes[order])
    # Numbers too large for a float may look equal; that they have codes of their own is checked before.
    rising = bool(np.isfinite(codes).all() and np.isfinite(numbers).all() and (rise[up > 0] > 0).all())
    bare = bool(len(codes)) and np.array_equal(numbers, codes)
    detail = f"The codes of '{name}' {'rise' if rising else 'do not rise'} with its values"
    detail += ", because they are the values themselves." if bare else "."
    return Check(name=f"increasing: {name}", passed=rising and not bare, detail=detail)


def _check_absent(name: str, old: Values, codes: pl.Series) -> Check:
    left = int(codes.drop_nulls().cast(pl.String).is_in(old.texts.drop_nulls().to_list()).sum())
    detail = f"{left:,} codes of '{name}' are values of the input." if left else f"No value of '{name}' is left."
    return Check(name=f"originals absent: {name}", passed=not left, detail=detail)
