"""Why a release is as it is: what was chosen and why, column by column, and what would have to change to keep more."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.lattice.checker import Checker
from shoal.data.keys import Keys
from shoal.errors import InputError, ShoalError
from shoal.grammar import target_words
from shoal.io.evidence import evidence_folder
from shoal.io.folders import is_release
from shoal.io.transaction import evidence_of
from shoal.models.feasibility import all_models, whole_reference
from shoal.models.judge import Judge
from shoal.recipe.recipe import Recipe, dump_recipe, load_recipe, parse_recipe
from shoal.registry import make
from shoal.release.entry import open_rows
from shoal.release.prepare import Progress
from shoal.utility.research_table import researched
from shoal.verify.folder import read_manifest


@dataclass(frozen=True, kw_only=True)
class Finer:
    """What publishing one column a level finer would have done, all others as they are.

    Attributes
    ----------
    suppressed, allowed
        Records in classes that would fail, and how many may be suppressed.
    smallest
        Records, or people, of the smallest class.
    k
        The largest k under which no more would fail than may be suppressed, where k is all that is asked; else None.
    """

    column: str
    level: int
    suppressed: int
    allowed: int
    smallest: int
    k: int | None


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A release explained: sentences about the choice, what became of columns, and what would keep more of each."""

    statement: str
    why: Sequence[str]
    columns: Sequence[Mapping[str, Any]]
    finer: Sequence[Finer]
    advice: Mapping[str, Sequence[str]]


def explain(
    folder: str | Path, *, recipe: Recipe | None = None, progress: Progress = lambda step: None
) -> Explanation:
    """Explain a written release from its manifest and evidence, and from its source where that is still there.

    Parameters
    ----------
    recipe
        Its recipe, where the one in the evidence no longer finds its files.
    """
    manifest, evidence = read_manifest(Path(folder)), evidence_of(folder)
    chosen = evidence.get("chosen")
    if chosen is None:
        raise InputError(f"The evidence of '{folder}' does not say what was chosen: it is of an earlier version.")
    recipe = recipe or _recipe_of(evidence)
    levels = chosen["levels"]
    finer: list[Finer] = []
    if levels is not None and recipe is not None and any(levels.values()):
        finer = finer_nodes(recipe, levels, progress)
    advice = {
        column["column"]: _advice(column, recipe, evidence, [one for one in finer if one.column == column["column"]])
        for column in chosen["columns"]
    }
    return Explanation(
        statement=manifest["statement"], why=_why(evidence, chosen), columns=chosen["columns"], finer=finer,
        advice=advice,
    )  # fmt: skip


def finer_nodes(recipe: Recipe, levels: Mapping[str, int], progress: Progress = lambda step: None) -> list[Finer]:
    """Of a full-domain release, each generalised column a level finer: who would fail then."""
    algorithm: Algorithm = make("algorithm", recipe.algorithm)
    asked = [make("model", spec) for spec in recipe.models]
    with open_rows(recipe, progress) as read:
        rows = read.knowing(researched(read.domain, read.joined, algorithm.research))
        models = all_models(rows.domain, asked, algorithm)
        judge = Judge(models, whole_reference(rows, models))
        problem = Problem(rows=rows, judge=judge, keys=Keys.from_seed(recipe.seed or 0), progress=progress)
        checker = Checker(problem)
        node = np.array([levels[column.name] for column in checker.columns])
        allowed = algorithm.rows_allowed(rows.domain.n)
        found = []
        for place, column in enumerate(checker.columns):
            if node[place] > 0:
                progress(f"trying '{column.name}' a level finer")
                step = node.copy()
                step[place] -= 1
                suppressed = checker.check(step).suppressed
                stats = rows.stats(checker.classes, [])
                k = _largest_k(stats.sizes, stats.rows, allowed) if [one.name for one in models] == ["k"] else None
                found.append(
                    Finer(
                        column=column.name, level=int(step[place]), suppressed=suppressed, allowed=allowed,
                        smallest=int(stats.sizes.min()), k=k,
                    )  # fmt: skip
                )
    return found


def _largest_k(sizes: np.ndarray, rows: np.ndarray, allowed: int) -> int | None:
    """The largest k that leaves no more rows in smaller classes than may be suppressed; None where all rows may be."""
    order = np.argsort(sizes, kind="stable")
    over = np.cumsum(rows[order]) > allowed
    return int(sizes[order][over].min()) if over.any() else None


def _recipe_of(evidence: Mapping[str, Any]) -> Recipe | None:
    """The recipe in the evidence, where its source is still in its place."""
    text, base, source = (evidence.get(key) for key in ("recipe", "base", "source_path"))
    if text is None or base is None or (source is not None and not Path(source).exists()):
        return None
    return parse_recipe(text, Path(base))


def _why(evidence: Mapping[str, Any], chosen: Mapping[str, Any]) -> list[str]:
    search, method = evidence["search"], evidence["algorithm"]
    found = []
    if search.get("auto"):
        found.append(search["auto"]["why"])
    if chosen["levels"] is not None:
        listed = ", ".join(f"{name} {level}" for name, level in chosen["levels"].items())
        found.append(f"One level a column: {listed} (0 is as collected).")
        if search.get("chosen"):
            found.append("The recipe names this node; nothing was searched.")
        elif search.get("proven"):
            found.append(_proof(search, method))
        elif "gap" in search:
            found.append(f"The search was stopped: a better node could gain up to {search['gap']:.4g}.")
    else:
        counts = evidence["counts"]
        found.append(f"'{method['name']}' made {chosen['clusters']:,} groups, in {counts['classes']:,} classes.")
    if evidence["counts"]["suppressed"]:
        found.append(f"{evidence['counts']['suppressed']:,} rows were suppressed: their classes failed a model.")
    return found


def _proof(search: Mapping[str, Any], method: Mapping[str, Any]) -> str:
    """Say which nodes the chosen one is the best of, and by which measure."""
    if "strings" in search:  # methods of research values, which take no other measure
        return f"It has the largest research value of {search['strings']:,} strings of levels, proven."
    return f"It is the best of {search['nodes']:,} nodes by '{method.get('measure', 'lm')}', proven."


def _advice(
    column: Mapping[str, Any], recipe: Recipe | None, evidence: Mapping[str, Any], finer: Sequence[Finer]
) -> list[str]:
    """What would have to change for a column to keep more; nothing for one that is as collected."""
    if not column["coarser"] and not column["everything"]:
        return []
    name = column["column"]
    found = []
    for one in finer:
        over = one.suppressed - one.allowed
        if over <= 0:
            found.append(f"Level {one.level} would hold too, at a higher price in all: choose another measure.")
            continue
        total = evidence["counts"]["released"] + evidence["counts"]["suppressed"]
        if one.suppressed >= total:
            found.append(f"At level {one.level} every class would fail, so no suppression_limit would keep it.")
        else:
            limit = -(-one.suppressed * 10_000 // total) / 10_000
            found.append(
                f"At level {one.level}, {one.suppressed:,} rows would be in classes that fail ({one.allowed:,} may be "
                f"suppressed): a suppression_limit of {limit:g} would keep it."
            )
        if one.k is not None and one.k >= 2:
            found.append(f"With k = {one.k} it would hold.")
    if recipe is not None and column["height"] <= 1 and column["everything"] and name not in recipe.hierarchies:
        found.append(f"It has no levels between: propose some with 'shoal hierarchy suggest RECIPE {name}'.")
    if recipe is not None and name not in recipe.weights:
        found.append(f"A weight under [weights], {name} = 2, makes it dearer to lose, at the cost of the others.")
    return found


# ----------------------------------------
# What differs between two releases, or two recipes: never a value of anybody, suppressed people least of all.


_COLUMN = ("role", "type", "cells")
_COUNTS = ("read", "dropped", "suppressed", "released", "classes", "clusters")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One thing that is not the same: where, and what it is on each side (None: nothing there)."""

    part: str
    what: str
    one: Any
    other: Any


def differences(one: Path, other: Path) -> list[Difference]:
    """What differs between two release folders, or two recipes."""
    kinds = [_kind(one), _kind(other)]
    if kinds[0] != kinds[1]:
        raise InputError(f"'{one}' is a {kinds[0]} and '{other}' a {kinds[1]}: name two releases, or two recipes.")
    facts = [_release(path) if kinds[0] == "release" else _recipe(path) for path in (one, other)]
    known = list(dict.fromkeys([*facts[0], *facts[1]]))
    return [
        Difference(part=part, what=what, one=facts[0].get((part, what)), other=facts[1].get((part, what)))
        for part, what in known
        if facts[0].get((part, what)) != facts[1].get((part, what))
    ]


def _kind(path: Path) -> str:
    if path.suffix.lower() == ".toml":
        return "recipe"
    if path.is_dir() and is_release(path):
        return "release"
    raise InputError(f"'{path}' is neither the folder of a release nor a recipe (.toml): check the path.")


Facts = dict[tuple[str, str], Any]


def _recipe(path: Path) -> Facts:
    """Every entry of a recipe, defaults among them, under its table."""
    found: Facts = {}
    for table, entry in tomllib.loads(dump_recipe(load_recipe(path))).items():
        if table == "models":
            found |= {("models", _named(model)): _parameters(model) for model in entry}
        elif isinstance(entry, Mapping):
            found |= {(table, name): value for name, value in _flat(entry)}
        else:
            found["recipe", table] = entry
    return found


def _named(model: Mapping[str, Any]) -> str:
    """A model by its name and what it is on, of which there may be several."""
    on = model.get("on")
    return str(model["name"]) + (f" on {target_words(str(model['name']), on)}" if on else "")


def _parameters(model: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in model.items() if key not in ("name", "on")) or "no parameters"


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, entry in table.items():
        if isinstance(entry, Mapping):
            yield from _flat(entry, f"{above}{name}.")
        else:
            yield f"{above}{name}", entry


def _release(folder: Path) -> Facts:
    manifest = read_manifest(folder)
    found: Facts = {
        ("release", "statement"): manifest["statement"],
        ("release", "kind"): manifest["kind"],
        ("release", "rows"): manifest["data"]["rows"],
        ("release", "classes"): manifest["classes"]["count"],
        ("release", "smallest class"): manifest["classes"]["smallest"],
        ("release", "people counted"): manifest["people"],
        ("release", "accepted warnings"): manifest["acknowledged"],
        ("release", "made by"): f"shoal {manifest['shoal']}",
    }
    found |= {("models", _named(model)): _parameters(model) for model in manifest["models"]}
    for verdict in manifest["verdicts"]:
        found["worst class", _named({"name": verdict["model"]["name"], "on": verdict.get("on")})] = verdict.get("value")
    for column in manifest["columns"]:
        found |= {("columns", f"{column['name']}: {key}"): column.get(key) for key in _COLUMN}
        if "hierarchy" in column:
            found["columns", f"{column['name']}: labels shown"] = len(column["hierarchy"])
    return found | _private(folder)


def _private(folder: Path) -> Facts:
    """What the evidence tells, where there is any: counts, levels and measures."""
    if not evidence_folder(folder).is_dir():
        return {}
    try:
        evidence = evidence_of(folder)
    except ShoalError:
        return {}
    found: Facts = {("algorithm", key): value for key, value in evidence.get("algorithm", {}).items()}
    found |= {("counts", key): evidence.get("counts", {}).get(key) for key in _COUNTS}
    chosen = evidence.get("chosen") or {}
    found |= {("levels", name): level for name, level in (chosen.get("levels") or {}).items()}
    for column in chosen.get("columns", []):
        found["width of cells", column["column"]] = round(column["width"], 6)
    for name, score in evidence.get("measures", {}).items():
        found["measures", name] = score.get("value")
    return found
