"""Work that takes longer than a page may: what jobs do with a recipe, as plain data for JSON.

Each takes the recipe, parameters that a form gave, and a function that is told the step; :func:`compared` alone gives
cells of people, which belong into a private file and never into the database.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.attacks.run import run_attacks
from shoal.catalogue import working
from shoal.comparing.attacked import HOLD_OUT, attack_data, recipe_case
from shoal.comparing.compare import compare
from shoal.comparing.data import comparison_data
from shoal.errors import InputError, ParameterError
from shoal.evaluation.reviewed import reviewed
from shoal.io.recipes import Recipe
from shoal.io.roles import settled
from shoal.params import whole
from shoal.results import Release
from shoal.risk.assess import assess
from shoal.running import anonymize_recipe, keeps_rows, open_rows

Progress = Callable[[str], None]
SHOWN = 200
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
    """Attacks on a release made of the recipe, with people held out as a control."""
    _refuse_kept(recipe)
    part = float(parameters.get("hold_out", HOLD_OUT))
    case, statement = recipe_case(settled(recipe), part=part, progress=progress)
    progress("attacking")
    results = [attack_data(one) | {"also": {}} for one in run_attacks(case, [])]
    return plain(  # type: ignore[no-any-return]
        {"statement": statement, "kind": case.kind.name, "hold_out": part, "attacks": results}
    )


def compared(recipe: Recipe, parameters: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """A release of the recipe beside the rows that it was made of, and both distributions. Private: it has cells."""
    _refuse_kept(recipe)
    release = anonymize_recipe(settled(recipe), progress=progress)
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
    then = after.select(kept)[rows.tolist()]
    return plain({  # type: ignore[no-any-return]
        "columns": [{"name": name, "role": table.schema.role(name)} for name in kept],
        "total": n,
        "suppressed": n - int(release.frames["release"].shape[0]) if n else 0,
        "rows": [
            {"number": int(number) + 1, "before": _texts(one), "after": _texts(other)}
            for number, one, other in zip(rows.tolist(), before.iter_rows(), then.iter_rows(), strict=True)
        ],
        "measures": {name: release.measure(name).value for name in ("lm", "c-avg", "dm")},
        "statement": release.manifest["statement"],
        "distributions": reviewed(release)["distributions"],
    })  # fmt: skip


def _read(release: Release, name: str, rows: np.ndarray) -> pl.Series:
    """Cells of a column as they were read: dates and numbers as a release writes them."""
    table = release.table
    column = table.columns.get(name)
    if column is None or name not in table.codes:
        return table.frame[name][rows.tolist()].cast(pl.String)
    return column.texts[np.asarray(table.codes[name])[rows].tolist()].alias(name)


def _texts(row: Sequence[Any]) -> list[str | None]:
    return [None if cell is None else str(cell) for cell in row]


def _refuse_kept(recipe: Recipe) -> None:
    if keeps_rows(recipe):
        raise InputError(
            f"The engine '{recipe.engine.name}' keeps the rows, and this needs them in memory: choose 'memory'."
        )


def write_private(folder: Path, name: str, data: Any) -> None:
    """A result with cells of people, where only the server can read it."""
    from shoal.io.private import write_private as write

    write(folder / name, json.dumps(data))
