"""What a file says against an attested verdict, for tests that change the file or the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from shoal.verify.judge import slots
from shoal.verify.manifest import read_claims
from shoal.verify.recheck import refuted
from tests.verify.cases import manifest
from tests.verify.whole import facts_of


def told(
    classes: Sequence[Sequence[Any]],
    model: Mapping[str, Any],
    *more: Mapping[str, Any],
    people: bool = True,
    counterfeits: int = 0,
    extra: Mapping[str, Any] | None = None,
    **column: Any,
) -> str | None:
    """What refutes the first verdict on classes of given values; with ``extra`` on a second column, ``u``, as well."""
    values = [value for group in classes for value in group]
    base = {"role": "sensitive", "type": "categorical", "cells": "value"}
    columns = [
        {"name": "q", "role": "quasi", "type": "categorical", "cells": "set"},
        {"name": "s"} | base | {key: value for key, value in column.items() if value is not None},
    ]
    cells = {"q": [f"g{place}" for place, group in enumerate(classes) for _ in group], "s": values}
    if extra is not None:
        columns.append({"name": "u"} | base | {key: extra[key] for key in extra if key != "cells of u"})
        cells["u"] = extra["cells of u"]
    coded = [one["coded"] for one in columns if one.get("coded") not in (None, "shifted")]
    kind = {"kind": "pseudonymised", "made": "generalised"} if coded else {}
    described = manifest(columns, [model, *more], people=people, counterfeits=counterfeits, **kind)
    return told_of(cells, described)


def told_of(cells: Mapping[str, Any], described: Mapping[str, Any], place: int = 0) -> str | None:
    """What refutes one of the verdicts that a manifest asks for."""
    claims = read_claims(described)
    facts = facts_of(pl.DataFrame(cells, schema=dict.fromkeys(cells, pl.String)), claims)
    check = refuted(slots(claims)[place], facts)
    assert check is None or not check.passed
    return None if check is None else check.detail
