"""Work that takes longer than a page may: what jobs do with a recipe, as plain data for JSON.

Each takes the recipe, parameters that a form gave, and a function that is told the step; :func:`compared` alone gives
cells of people, which belong into a private file and never into the database.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.catalogue import working
from shoal.data.schema import Schema
from shoal.errors import ParameterError
from shoal.params import whole
from shoal.recipe.recipe import Recipe
from shoal.recipe.source import settled
from shoal.release.attack_case import some_beside
from shoal.release.compare.result import comparison_data
from shoal.release.compare.run import compare
from shoal.release.compare.source import HOLD_OUT, attack_data, kept_case, recipe_case
from shoal.release.run import Judged, anonymize_recipe, judged_release, keeps_rows, open_rows
from shoal.results import Release
from shoal.risk.assess import assess
from shoal.risk.attacks.run import run_attacks
from shoal.utility.evaluate import reviewed
from shoal.web.views.looks import shortened

Progress = Callable[[str], None]
SHOWN = 200
_MOST_CELLS = 20_000  # of one side, that a page shows
MEASURED = ("lm", "c-avg", "dm")
_MOST_POINTS = 60
_WORST = ("distinct_l", "entropy_l", "recursive_c", "t")


def plain(value: Any) -> Any:
    """Plain data that every database takes: no arrays, no objects, no numbers that are none."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain({one.name: getattr(value, one.name) for one in dataclasses.fields(value)})
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def assessed(recipe: Recipe, parameters: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """How likely people are found in the source as it is."""
    with open_rows(settled(recipe), progress) as rows:
        found = assess(rows, threshold=float(parameters.get("threshold", 0.2)), progress=progress)
    told = found.as_dict()
    told["sensitive"] = {name: {key: one.get(key) for key in _WORST} for name, one in found.sensitive.items()}
    return plain(told)  # type: ignore[no-any-return]


def explored(
    recipe: Recipe, parameters: Mapping[str, Any], progress: Progress, work: Path | None = None
) -> dict[str, Any]:
    """Algorithms and values of k side by side: utility, protection and measured risk of each, and the front."""
    algorithms = [str(one) for one in parameters.get("algorithms", ())] or ["mondrian", "top-down"]
    for name in algorithms:
        if name not in working("algorithm"):
            raise ParameterError(f"There is no algorithm '{name}': choose one of the list.")
    sizes = [whole("explore", "k", one, least=2) for one in parameters.get("k", ())] or [3, 5, 10]
    if len(algorithms) * len(sizes) > _MOST_POINTS:
        raise ParameterError(f"That is more than {_MOST_POINTS} points: choose fewer algorithms or values of k.")

    def step(done: int, total: int, label: str) -> None:
        progress(f"point {min(done + 1, total)} of {total}: {label}" if label else f"{done} of {total} points")

    found = compare(
        settled(recipe), algorithms=[_own(recipe, name) for name in algorithms], grid={"k": sizes}, work=work,
        progress=step,
    )  # fmt: skip
    return plain(comparison_data(found))  # type: ignore[no-any-return]


def _own(recipe: Recipe, name: str) -> dict[str, Any]:
    """An algorithm as the recipe has it, but for a k of its own, which the grid sets."""
    given = recipe.algorithm if recipe.algorithm["name"] == name else {"name": name}
    return {key: value for key, value in given.items() if key != "k"}


def attacked(recipe: Recipe, parameters: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Attacks on a release made of the recipe, with people held out as a control unless an engine keeps the rows."""
    part = float(parameters.get("hold_out", HOLD_OUT))
    if keeps_rows(recipe):
        part = 0.0
        case, statement, _ = kept_case(settled(recipe), progress=progress)
    else:
        case, statement = recipe_case(settled(recipe), part=part, progress=progress)
    progress("attacking")
    results = [attack_data(one) | {"also": {}} for one in run_attacks(case, [])]
    return plain(  # type: ignore[no-any-return]
        {"statement": statement, "kind": case.kind.name, "hold_out": part, "attacks": results}
    )


def compared(recipe: Recipe, parameters: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """A release of the recipe beside the rows that it was made of, and both distributions. Private: it has cells."""
    asked = settled(recipe)
    if keeps_rows(recipe):
        with judged_release(asked, progress) as (judged, manifest):
            progress("comparing")
            return _kept_beside(judged, manifest)
    release = anonymize_recipe(asked, progress=progress)
    progress("comparing")
    return beside(release)


def beside(release: Release, shown: int = SHOWN) -> dict[str, Any]:
    """Original and released cells of some rows, spread over the table, and how columns are distributed."""
    table = release.table
    names = [name for name in table.frame.columns if name in table.schema.released]
    after = release.aligned()
    after = after if isinstance(after, pl.DataFrame) else pl.DataFrame(after)
    kept = [name for name in names if name in after.columns]
    n = min(table.frame.height, after.height)
    rows = np.unique(np.linspace(0, max(n - 1, 0), min(shown, n)).astype(np.int64)) if n else np.array([], np.int64)
    before = pl.DataFrame([_read(release, name, rows) for name in kept])
    return plain({  # type: ignore[no-any-return]
        **_side_by_side(table.schema, rows, before, after.select(kept)[rows.tolist()]),
        "total": n,
        "suppressed": n - int(release.frames["release"].shape[0]) if n else 0,
        "measures": {name: release.measure(name).value for name in MEASURED},
        "statement": release.manifest["statement"],
        "distributions": reviewed(release)["distributions"],
    })  # fmt: skip


def _kept_beside(judged: Judged, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The same where an engine keeps the rows, without distributions: of the rows that come first in the release."""
    schema, counts = judged.rows.domain.schema, judged.evidence["counts"]
    rows, before, after = some_beside(judged, SHOWN)
    kept = [name for name in before.columns if name in after.columns]
    measures = judged.evidence["measures"]
    return plain({  # type: ignore[no-any-return]
        **_side_by_side(schema, rows, before.select(kept), after.select(kept)),
        "total": judged.rows.domain.n,
        "suppressed": counts["suppressed"],
        "measures": {name: measures[name].value for name in MEASURED if name in measures},
        "statement": manifest["statement"],
        "distributions": {},
    })  # fmt: skip


def _side_by_side(schema: Schema, rows: np.ndarray, before: pl.DataFrame, after: pl.DataFrame) -> dict[str, Any]:
    """Columns with their roles, and cells of rows before and after: no more, and no longer, than a page can show."""
    most = max(1, _MOST_CELLS // max(before.width, 1))
    places = np.unique(np.linspace(0, rows.size - 1, min(most, rows.size)).astype(np.int64)) if rows.size else rows
    chosen = [side[places.tolist()].iter_rows() for side in (before, after)]
    return {
        "columns": [{"name": name, "role": schema.role(name)} for name in before.columns],
        "rows": [
            {"number": int(number) + 1, **dict(zip(("before", "after"), _texts(one, other), strict=True))}
            for number, one, other in zip(rows[places].tolist(), *chosen, strict=True)
        ],
    }


def _read(release: Release, name: str, rows: np.ndarray) -> pl.Series:
    """Cells of a column as they were read: dates and numbers as a release writes them."""
    table = release.table
    column = table.columns.get(name)
    if column is None or name not in table.codes:
        return table.frame[name][rows.tolist()].cast(pl.String)
    return column.texts[np.asarray(table.codes[name])[rows].tolist()].alias(name)


def _texts(before: Sequence[Any], after: Sequence[Any]) -> tuple[list[str | None], list[str | None]]:
    """Cells of a row as a page shows them; those that differ further on than it shows still differ."""
    full = [[None if cell is None else str(cell) for cell in row] for row in (before, after)]
    old, new = ([None if cell is None else shortened(cell) for cell in row] for row in full)
    differ = [one != other and old[at] == new[at] for at, (one, other) in enumerate(zip(*full, strict=True))]
    return old, [f"{cell}…" if more else cell for cell, more in zip(new, differ, strict=True)]
