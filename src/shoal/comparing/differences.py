"""What differs between two releases, or two recipes: never a value of anybody, suppressed people least of all."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError, ShoalError
from shoal.grammar import target_words
from shoal.io.evidence import evidence_folder
from shoal.io.folders import is_release
from shoal.io.transaction import evidence_of
from shoal.recipe.recipe import dump_recipe, load_recipe
from shoal.verify.folder import read_manifest

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
