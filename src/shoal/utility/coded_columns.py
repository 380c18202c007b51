"""A release with codes in the place of values, and its original: each is mined by itself, on its own columns.

Codes are one to one, so that whatever counts finds in T' (the release) what it finds in T (the original). What uses
distances sees the codes, and may find something else. Where it is known which code each original row has, T' is learned
from the release and judged on the original rows as it codes them; else, where nothing else is changed, on its own rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal.data.coding import infer_type
from shoal.data.schema import ColumnSpec
from shoal.errors import InputError
from shoal.recoding.kinds import Trait
from shoal.recoding.secrets import Secret
from shoal.utility.domains import Feature, Reading, column_domain, original_texts

# Codings whose codes stand for values: codes that rise with numbers are numbers, others are texts.
_TYPES = {"graded": "numeric", "mapping": "categorical"}
# What an original row has whose value got no code, since only suppressed rows have it. No code has blanks around it.
NO_CODE = " no code "


def is_mined(entry: Mapping[str, Any]) -> bool:
    """Whether a column's codes can be mined: tokens name people, and moved dates say nothing."""
    return entry.get("coded") in _TYPES


def codes_of(
    secrets: Sequence[Secret], manifest: Mapping[str, Any], original: pl.DataFrame
) -> dict[str, pl.Series]:
    """Code of every original row, by coded column, by what undoes a release; missing where a value has none."""
    entries = {entry["name"]: entry for entry in manifest["columns"] if is_mined(entry)}
    found: dict[str, pl.Series] = {}
    for one in secrets:
        if one.column in entries and one.column in original.columns:
            values, entry = original[one.column], entries[one.column]
            # A mapping knows texts: numbers and dates are to be written as they were when it was made.
            texts = original_texts(entry, values) if _TYPES[entry["coded"]] == "categorical" else values
            found[one.column] = one.encode(texts, strict=False)
            if found[one.column].null_count() == values.len() > values.null_count():
                raise InputError(
                    f"None of the original's values of '{one.column}' has a code: name the file that the release was "
                    "made from, and the entry of the vault that belongs to it."
                )
    return found


def with_codes(
    reading: Reading,
    entries: Sequence[Mapping[str, Any]],
    frame: pl.DataFrame,
    original: pl.DataFrame,
    codes: Mapping[str, pl.Series],
) -> Reading:
    """The reading with T' and T beside it, where some columns are codes that can be mined.

    Parameters
    ----------
    entries
        Quasi-identifying, sensitive and neutral columns of the manifest.
    codes
        Code of every original row, by column, where that is known.
    """
    coded = [entry for entry in entries if is_mined(entry)]
    known = all(entry["name"] in codes for entry in coded)
    exact = all(feature.exact for feature in reading.features.values()) and reading.made.has(Trait.CODES)
    if not coded or not (known or exact):
        return reading
    names = [entry["name"] for entry in entries if is_mined(entry) or entry["name"] in reading.features]
    of_rows = {one["name"]: _coded(one, codes[one["name"]], original) if known else frame[one["name"]] for one in coded}
    published = {one["name"]: _code_feature(one, frame, of_rows[one["name"]]) for one in coded}
    true = {one["name"]: _value_feature(one, original) for one in coded}
    left_out = [name for name in reading.left_out if name not in published]
    return replace(
        reading, after=replace(_after(reading, names, published, known), left_out=left_out),
        before=_before(reading, names, true), coded=tuple(published), paired=known,
    )  # fmt: skip


def _coded(entry: Mapping[str, Any], codes: pl.Series, original: pl.DataFrame) -> pl.Series:
    """Codes of original rows; a value without one is not missing, or T' would not be judged by who was suppressed."""
    refuse_absent(entry["name"], original)
    if _TYPES[entry["coded"]] != "categorical":  # there is no number that stands for none
        return codes
    lost = codes.is_null() & original[entry["name"]].is_not_null()
    return codes.zip_with(~lost, pl.Series([NO_CODE])) if lost.any() else codes


def _after(reading: Reading, names: Sequence[str], published: Mapping[str, Feature], known: bool) -> Reading:
    """The release with its codes; beside itself, where nobody said which code an original row has."""
    shared = reading.features if known else {name: _released(one) for name, one in reading.features.items()}
    made = replace(reading, features={name: published.get(name) or shared[name] for name in names})
    if known:
        return made
    return replace(made, n=reading.rows, source=np.arange(reading.rows), people=None, suppression=0.0)


def _before(reading: Reading, names: Sequence[str], true: Mapping[str, Feature]) -> Reading:
    """The original, beside itself."""
    return replace(
        reading, rows=reading.n, source=np.arange(reading.n), suppression=0.0, left_out=(),
        features={name: true[name] if name in true else _original(reading.features[name]) for name in names},
        groups=np.zeros(reading.n, dtype=np.int32),
    )  # fmt: skip


def read_back(reading: Reading, name: str) -> Mapping[str, str]:
    """The value behind each code of a column, as far as original rows have it."""
    after, before = reading.mined
    codes, values = after.features[name], before.features[name]
    pairs = np.unique(np.stack([codes.original, values.original]), axis=1)
    return {codes.values[code]: values.values[value] for code, value in pairs.T}


def _code_feature(entry: Mapping[str, Any], frame: pl.DataFrame, codes: pl.Series) -> Feature:
    plain = {"name": entry["name"], "role": entry["role"], "type": _TYPES[entry["coded"]], "cells": "value"}
    return Feature(name=entry["name"], role=entry["role"], type=plain["type"],
                   **vars(column_domain(plain, frame, codes, stands=False)))  # fmt: skip


def refuse_absent(name: str, original: pl.DataFrame) -> None:
    """Refuse rows without a column of the release."""
    if name not in original.columns:
        raise InputError(f"The original has no column '{name}', which the release has: name the file it was made from.")


def _value_feature(entry: Mapping[str, Any], original: pl.DataFrame) -> Feature:
    """A coded column's values, by themselves."""
    name, role = entry["name"], entry["role"]
    refuse_absent(name, original)
    kind = infer_type(name, original[name], ColumnSpec()) if role == "neutral" else entry["type"]
    plain = {"name": name, "role": role, "type": kind, "cells": "value"}
    return Feature(
        name=name, role=role, type=kind, **vars(column_domain(plain, original, original[name], stands=False))
    )


def _exact(feature: Feature, codes: np.ndarray) -> Feature:
    """A column of exact values on both sides."""
    every = np.arange(len(feature.values))
    return replace(
        feature, original=codes, cell=codes, texts=feature.values, at=np.append(every, every.size),
        code=every.astype(np.int32), share=np.ones(every.size), low=feature.numbers, high=feature.numbers,
    )  # fmt: skip


def _released(feature: Feature) -> Feature:
    return _exact(feature, feature.released())


def _original(feature: Feature) -> Feature:
    return _exact(feature, feature.original)
