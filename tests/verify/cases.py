"""Small releases made by hand, for every test of the verifier."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.gate import gate
from shoal.verify.manifest import read_claims
from shoal.verify.report import Check, GateCase, GateReport, Verdict
from shoal.verify.wording import needed_codes, not_protected, statement

ZIPS = [["1000", "100*", "*"], ["1001", "100*", "*"], ["1010", "101*", "*"], ["1011", "101*", "*"]]
COLUMNS = [
    {"name": "age", "role": "quasi", "type": "numeric", "cells": "interval", "domain": ["0", "120"]},
    {"name": "zip", "role": "quasi", "type": "categorical", "cells": "label", "hierarchy": ZIPS, "whole": True},
    {"name": "job", "role": "quasi", "type": "categorical", "cells": "set"},
    {"name": "sex", "role": "quasi", "type": "categorical", "cells": "value"},
    {"name": "disease", "role": "sensitive", "type": "categorical", "cells": "value"},
    {"name": "income", "role": "sensitive", "type": "numeric", "cells": "value"},
    {"name": "ward", "role": "neutral", "type": "categorical", "cells": "value"},
]
MODELS = [{"name": "k", "k": 6}, {"name": "entropy-l", "l": 3, "on": "disease"}]


def hospital() -> tuple[pl.DataFrame, pl.DataFrame]:
    """24 people in 4 classes of 6: the input, and the same rows generalised."""
    original, released = [], []
    for group in range(4):
        for row in range(6):
            original.append(
                {
                    "age": 20 + 10 * group + row,
                    "zip": f"10{group // 2}{row % 2}",
                    "job": ("cook", "nurse")[row % 2],
                    "sex": "fm"[group % 2],
                    "disease": ("flu", "cold", "asthma")[row % 3],
                    "income": 1000.0 * group + 100.5 * row,
                    "ward": ("north", "south")[row % 2],
                }
            )
            released.append(
                original[-1]
                | {
                    "age": f"[{20 + 10 * group},{25 + 10 * group}]",
                    "zip": f"10{group // 2}*",
                    "job": "{cook|nurse}",
                    "sex": "fm"[group % 2],
                }
            )
    return pl.DataFrame(original), pl.DataFrame(released)


def manifest(
    columns: Sequence[Mapping[str, Any]] = COLUMNS,
    models: Sequence[Mapping[str, Any]] = MODELS,
    **changes: Any,
) -> dict[str, Any]:
    """A manifest as it goes to the gate."""
    return {
        "manifest": 1,
        "kind": "generalised",
        "statement": "6-anonymous",
        "not_protected": [],
        "suppressed": "drop",
        "order": "shuffled",
        "people": False,
        "columns": [dict(column) for column in columns],
        "models": [dict(model) for model in models],
        "acknowledged": [],
    } | changes


def hospital_case(**changes: Any) -> GateCase:
    """A case that passes, with some of its fields changed."""
    original, released = hospital()
    source = np.random.default_rng(5).permutation(len(original))
    fields: dict[str, Any] = {
        "original": original,
        "released": released[source],
        "source": source,
        "suppressed": np.array([], dtype=np.int64),
        "n_read": len(original),
        "n_dropped": 0,
        "identifiers": pl.DataFrame({"name": [f"Person {row:03}" for row in range(len(original))]}),
        "subject": None,
        "manifest": manifest(),
    }
    return GateCase(**(fields | changes))


def sensitive_case(
    classes: Sequence[Sequence[Any]],
    model: Mapping[str, Any],
    *,
    column: Mapping[str, Any] | None = None,
    others: Sequence[Any] = (),
    subjects: Sequence[Any] | None = None,
    **changes: Any,
) -> GateCase:
    """Classes of given sensitive values, and suppressed rows with ``others``.

    Parameters
    ----------
    classes
        The sensitive values (tuples for several columns) of each class.
    model
        The one model.
    column
        Changes to the description of the sensitive column ``s`` (categorical by default).
    subjects
        One for each row, class after class, then for ``others``.
    """
    values = [value for group in classes for value in group]
    width = len(values[0]) if isinstance(values[0], tuple) else 1
    names = ["s"] if width == 1 else [f"s{place}" for place in range(width)]
    group = [f"g{place}" for place, members in enumerate(classes) for _ in members]
    rows = [value if isinstance(value, tuple) else (value,) for value in [*values, *others]]
    sensitive = {name: pl.Series([row[place] for row in rows]) for place, name in enumerate(names)}
    original = pl.DataFrame({"q": [*group, *(["g0"] * len(others))]} | sensitive)
    base = {"role": "sensitive", "type": "categorical", "cells": "value"}
    columns = [
        {"name": "q", "role": "quasi", "type": "categorical", "cells": "set"},
        *({"name": name} | base | dict(column or {}) for name in names),
    ]
    released = len(values)
    fields: dict[str, Any] = {
        "original": original,
        "released": original[:released],
        "source": np.arange(released),
        "suppressed": np.arange(released, len(rows)),
        "n_read": len(rows),
        "n_dropped": 0,
        "identifiers": pl.DataFrame(),
        "subject": None if subjects is None else pl.Series("who", subjects),
        "manifest": manifest(columns, [model], people=subjects is not None, order="kept"),
    }
    return GateCase(**(fields | changes))


def judged(classes: Sequence[Sequence[Any]], model: Mapping[str, Any], **options: Any) -> Verdict:
    """The (first) verdict on hand-made classes; every other check must pass."""
    report = gate(sensitive_case(classes, model, **options))
    assert [name for name in failed(report) if not name.startswith(model["name"])] == []
    return report.verdicts[0]


def failed(report: GateReport) -> list[str]:
    """Names of the checks that failed."""
    return [check.name for check in report.checks if not check.passed]


def check_of(report: GateReport, name: str) -> Check:
    """The check of this name."""
    return next(check for check in report.checks if check.name == name)


def in_words(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The same with the words and codes that its models and columns call for."""
    claims = read_claims(manifest)
    codes = sorted({*manifest["acknowledged"], *needed_codes(claims)})
    words = {"statement": statement(claims), "not_protected": not_protected(claims, codes), "acknowledged": codes}
    return dict(manifest) | words


def published(case: GateCase, report: GateReport | None = None) -> dict[str, Any]:
    """The manifest that is published with a gated release."""
    report = report or gate(case)
    verdicts = [
        {"model": dict(v.model), "on": v.on, "holds": v.holds, "by": v.by, "value": v.value, "limit": v.limit}
        for v in report.verdicts
    ]
    return in_words(case.manifest) | {
        "data": {"file": "release.csv", "format": "csv", "sha256": "0" * 64, "rows": case.released.height},
        "verdicts": verdicts,
        "classes": dict(report.classes),
    }


@functools.cache
def _hospital_published() -> dict[str, Any]:
    return published(hospital_case())


def hospital_manifest() -> dict[str, Any]:
    """The manifest of the case that passes, gated once for all tests, to be changed at will."""
    return deepcopy(_hospital_published())
