"""Releases made by hand, with a manifest as small as attacks need it, and plain references for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import polars as pl

from shoal.data.keys import Keys
from shoal.recoding import cell_text as grammar
from shoal.risk.attacks.base import AttackFigure, AttackResult
from shoal.risk.attacks.case import AttackCase
from shoal.risk.attacks.run import make_case, run_attacks
from shoal.risk.attacks.views import public_view

INTERVAL: dict[str, Any] = {"type": "numeric", "cells": "interval"}
LABEL: dict[str, Any] = {"type": "categorical", "cells": "label"}
SET: dict[str, Any] = {"type": "categorical", "cells": "set"}
TEXT: dict[str, Any] = {"type": "categorical", "cells": "value"}
NUMBER: dict[str, Any] = {"type": "numeric", "cells": "value"}


def manifest(
    quasi: Mapping[str, Mapping[str, Any]], sensitive: Mapping[str, Mapping[str, Any]], **more: Any
) -> dict[str, Any]:
    """What attacks read of a manifest."""
    columns = [{"name": name, "role": "quasi", **entry} for name, entry in quasi.items()]
    columns += [{"name": name, "role": "sensitive", **entry} for name, entry in sensitive.items()]
    return {"kind": "generalised", "suppressed": "drop", "columns": columns, **more}


def case_of(
    released: Mapping[str, Sequence[Any]],
    quasi: Mapping[str, Mapping[str, Any]],
    sensitive: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    against: Mapping[str, Sequence[Any]] | None = None,
    control: Mapping[str, Sequence[Any]] | None = None,
    seed: int = 1,
    aligned: bool = False,
    **more: Any,
) -> AttackCase:
    """A release, and people beside it."""
    described = manifest(quasi, {"s": TEXT} if sensitive is None else sensitive, **more)
    people, outside = (None if one is None else pl.DataFrame(one) for one in (against, control))
    view = public_view(pl.DataFrame(released), described)
    return make_case(view, described, Keys.from_seed(seed), against=people, control=outside, aligned=aligned)


def attacked(case: AttackCase, name: str) -> AttackResult:
    """One attack by its name."""
    return run_attacks(case, [name])[0]


def figures(result: AttackResult) -> dict[str, AttackFigure]:
    """Figures by name."""
    return {one.name: one for one in result.figures}


def covers(cell: str, entry: Mapping[str, Any], value: Any) -> bool:
    """Whether a cell covers a person's value, the plain way."""
    parsed = grammar.parse(cell, entry["cells"], entry["type"])
    if isinstance(parsed, grammar.Star):
        return True
    if isinstance(parsed, grammar.Missing) or value is None:
        return isinstance(parsed, grammar.Missing) and value is None
    if isinstance(parsed, grammar.Interval):
        return Decimal(parsed.lo_text) <= Decimal(str(value)) <= Decimal(parsed.hi_text)
    if isinstance(parsed, grammar.Set):
        return str(value) in parsed.values
    if isinstance(parsed, grammar.Label):
        return any(str(value) == path[0] and parsed.text in path for path in entry["hierarchy"])
    if entry["type"] == "numeric":
        return Decimal(parsed.text) == Decimal(str(value))
    return parsed.text == str(value)
