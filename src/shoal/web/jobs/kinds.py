"""What each kind of job does, in the child process: plain data in, plain data out."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import io
import json
import math
import shutil
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.data.schema import Schema
from shoal.errors import InputError, ParameterError, RecipeError
from shoal.io.evidence import evidence_folder
from shoal.io.files import extension_of, not_parquet
from shoal.io.folders import files_of
from shoal.io.partitions import partitions_of
from shoal.params import whole
from shoal.recipe.draft import Draft, drafted
from shoal.recipe.draft_text import recipe_text
from shoal.recipe.edit import update_recipe
from shoal.recipe.recipe import Recipe
from shoal.recipe.sniff import Given, read_raw
from shoal.recipe.source import settled
from shoal.registry import working
from shoal.release.attack_case import HOLD_OUT, attack_data, recipe_case, some_beside
from shoal.release.check import examine, tried
from shoal.release.compare.result import comparison_data
from shoal.release.compare.run import compare
from shoal.release.dossier import report
from shoal.release.entry import judged_release, keeps_rows, open_rows
from shoal.release.prepare import Judged
from shoal.release.run import anonymize_recipe, run
from shoal.release.secrets import refuse_unkept
from shoal.results import Release
from shoal.risk.assess import assess
from shoal.risk.attacks.run import run_attacks
from shoal.utility.evaluate import reviewed
from shoal.vault.files import load
from shoal.vault.seal import Key
from shoal.verify.folder import MANIFEST, read_manifest
from shoal.web.preview.head import LOOKED_AT, Bounds, make_beginning
from shoal.web.preview.looks import shortened
from shoal.web.projects.confinement import is_inside, offer_of, parse_confined
from shoal.web.settings import Offer

# ----------------------------------------
# Work that takes longer than a page may: what jobs do with a recipe, as plain data for JSON.
#
# Each takes the recipe, parameters that a form gave, and a function that is told the step; :func:`compared` alone
# gives cells of people, which belong into a private file and never into the database.


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


def explored(recipe: Recipe, parameters: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
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

    # The recipe's own algorithm keeps its parameters, but for a k, which the grid sets.
    own = {key: value for key, value in recipe.algorithm.items() if key != "k"}
    tried = [own if name == own["name"] else {"name": name} for name in algorithms]
    found = compare(settled(recipe), algorithms=tried, grid={"k": sizes}, progress=step)
    return plain(comparison_data(found))  # type: ignore[no-any-return]


def attacked(recipe: Recipe, parameters: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Attacks on a release made of the recipe, with people held out as a control unless an engine keeps the rows."""
    part = 0.0 if keeps_rows(recipe) else float(parameters.get("hold_out", HOLD_OUT))
    case, statement, _ = recipe_case(settled(recipe), part=part, progress=progress)
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


_KEY_FILE = b"f"  # the kind of key that needs no passphrase
_TEXT = ("a text", lambda value: isinstance(value, str))
_TEXTS = ("a list of texts", lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value))
_NAMED = (
    "texts by column", lambda value: isinstance(value, dict) and all(isinstance(one, str) for one in value.values())
)  # fmt: skip
_CUT = (".csv", ".tsv", ".txt", ".parquet")  # files whose beginning can be read alone
_SHARE = 16  # of the memory of a job may be a file that is read whole
_ROWS, _CELL = 200_000, 512  # of a beginning, and bytes of memory for a cell
_ONLY = "Only {:,} rows of its beginning were looked at: check it, since others may have other values and types."
_COUNT = ("a whole number of at least 2", lambda value: isinstance(value, int) and 2 <= value < 1 << 53)
# What entries of 'given' are that are no texts.
_TAKEN = {"columns": _TEXTS, "markers": _TEXTS, "formats": _NAMED, "roles": _NAMED, "k": _COUNT}
DOSSIERS = ("internal", "regulator")


def do(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Do a job."""
    kind = asked["kind"]
    if kind in _MEASURED:
        return _MEASURED[kind](_recipe(asked), asked["parameters"], progress)
    return _KINDS[kind](asked, progress)


def _recipe(asked: Mapping[str, Any]) -> Recipe:
    """The recipe of a job, with the password of a database that the server offers."""
    offers = [Offer(**one) for one in asked["offers"]]
    recipe = parse_confined(asked["text"], Path(asked["folder"]), offers)
    offer = offer_of(recipe, offers)
    if offer is not None and offer.in_database:
        recipe = _with(recipe, source=recipe.source.model_copy(update={"url": offer.place}))
    return recipe


def _with(recipe: Recipe, **changes: Any) -> Recipe:
    changed = recipe.model_copy(update=changes)
    changed._base = recipe.base
    return changed


def _start(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """A first recipe for the source, or the questions that only people can answer."""
    folder, (given, answers) = Path(asked["folder"]), _said(asked["parameters"])
    source = asked["source"]
    target, table = _looked_at(asked)
    progress("reading")
    part = _part(asked, target)
    raw = read_raw(part or target, replace(given, table=table))
    progress("looking at the columns")
    draft = drafted(raw, given)
    for column, answer in answers.items():
        draft = _answered(draft, column, answer)
    if draft.questions:
        listed = [
            {"column": one.column, "what": one.what, "asked": one.asked, "answers": list(one.answers)}
            for one in draft.questions
        ]
        return {"questions": listed}
    draft, rows = tried(draft, progress), raw.frame.height
    if part is not None:  # a run reads more than was tried
        draft = replace(draft, tried=False, notes=(*draft.notes, _ONLY.format(rows)))
    text = recipe_text(draft, folder)
    if part is not None:
        engine = {"engine": {"name": "duckdb"}, "algorithm": {"name": "optimal"}}
        text = update_recipe(text, {"source": {"path": source["path"]}, **engine})
    parse_confined(text, folder, [Offer(**one) for one in asked["offers"]])
    return {"text": text, "rows" if part is None else "rows_looked_at": rows, "columns": raw.frame.width}


def _looked_at(asked: Mapping[str, Any]) -> tuple[str, str | None]:
    """Where the source of a project is, and which table of a database."""
    source, folder = asked["source"], Path(asked["folder"])
    offers = [Offer(**one) for one in asked["offers"]]
    if "url" in source:
        for one in offers:
            if one.name == source["offer"]:
                return one.place, one.table
    elif is_inside(folder, source["path"], offers):
        return str(folder / source["path"]), None
    raise InputError("The source of this project is not offered by this server any more: choose or upload another one.")


def _part(asked: Mapping[str, Any], target: str) -> str | None:
    """The beginning of a folder, or of a file that memory would not hold with what is tried on it; None of others."""
    path = Path(target)
    bounds = Bounds(bytes=LOOKED_AT, rows=_ROWS, cells=asked["memory"] // _CELL)
    if "://" not in target and path.is_dir():
        return str(_begun(path, Path(asked["temporary"]), bounds))
    if "://" in target or path.suffix.lower() not in _CUT or path.stat().st_size <= asked["memory"] // _SHARE:
        return None
    place = Path(asked["temporary"]) / "beginning" / path.name
    return str(place) if make_beginning(path, place, bounds) else None


def _begun(folder: Path, temporary: Path, bounds: Bounds) -> Path:
    """The beginning of the first file of a folder, with what the folders of all files say, as a file of its name."""
    files = files_of(folder)
    if extension_of(files[0]) != ".parquet":
        raise InputError(f"The folder '{folder.name}' has no Parquet file in it: check what is offered.")
    partitions, where = partitions_of(folder, files), f"'{files[0].name}'"
    try:
        lazy = pl.scan_parquet(files[0], glob=False, hive_partitioning=False)
        names = partitions.behind(lazy.collect_schema().names(), where)
        rows = lazy.head(max(1, min(bounds.rows, bounds.cells // max(len(names), 1)))).collect()
    except pl.exceptions.PolarsError as error:
        raise not_parquet(files[0], error) from None
    # In turn, so that a few rows have the values of many files.
    told = [cells.gather(np.arange(rows.height) % len(files)) for cells in partitions.normal(where, ())]
    place = temporary / "beginning" / f"{folder.name}.parquet"
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    rows.with_columns(told).write_parquet(place)
    return place


def _said(parameters: Mapping[str, Any]) -> tuple[Given, Mapping[str, Any]]:
    """What somebody said of the source, and their answers; where it is, is not for them to say."""
    said, answers = parameters.get("given", {}), parameters.get("answers", {})
    known = {one.name for one in fields(Given)} - {"table", "query"}
    if not isinstance(said, dict) or not isinstance(answers, dict) or set(said) - known:
        raise ParameterError(f"A job 'start' takes 'answers', and 'given' with any of: {', '.join(sorted(known))}.")
    said = {name: value for name, value in said.items() if value is not None}
    for name, value in said.items():
        words, fits = _TAKEN.get(name, _TEXT)
        if not fits(value):
            raise ParameterError(f"The '{name}' in 'given' of a job 'start' must be {words}.")
    return Given(**said), answers


def _answered(draft: Draft, column: str, answer: str) -> Draft:
    for question in draft.questions:
        if question.column == column:
            given = question.answered(draft.given, str(answer))
            if given is None:
                raise InputError(f"The answer about '{column}' is none of those offered: choose one.")
            return drafted(draft.raw, given)
    return draft


def _run(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """A gated release in its folder; what is private of it goes to the worker, and into no file that stays."""
    recipe, folder, vault = _placed(asked), Path(asked["release"]), _vault(asked)
    key = Key(_KEY_FILE, bytes.fromhex(asked["key"]))
    evidence = evidence_folder(folder)
    try:
        run(recipe, replace=True, key=key, progress=progress)
        progress("writing the dossier")
        private = {f"dossier/{one}.html": report(folder, audience=one).encode() for one in DOSSIERS}
        private["evidence"] = _packed(evidence)
        if recipe.output.vault is not None and vault.exists():
            secrets = [one.reveal() for one in load(vault, key, str(recipe.output.vault_entry))]
            private["secrets"] = json.dumps(secrets).encode()
    finally:
        shutil.rmtree(evidence, ignore_errors=True)
        vault.unlink(missing_ok=True)
    manifest = read_manifest(folder)
    return {
        "statement": manifest["statement"], "kind": manifest["kind"], "rows": manifest["data"]["rows"],
        "manifest": hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest(),
        "private": {name: base64.b64encode(data).decode() for name, data in private.items()},
    }  # fmt: skip


def _placed(asked: Mapping[str, Any]) -> Recipe:
    """The recipe of a job with the places that a release and what is secret of it have here."""
    recipe = _recipe(asked)
    given = {"folder": asked["release"], "vault": None, "vault_entry": "release", "log": None, "table": None}
    return _with_vault(_with(recipe, output=recipe.output.model_copy(update=given)), _vault(asked))


def _vault(asked: Mapping[str, Any]) -> Path:
    return Path(asked["temporary"]) / "run.vault"


def _with_vault(recipe: Recipe, place: Path) -> Recipe:
    """With a vault where the release has secrets to keep."""
    if recipe.output.discard_secret:
        return recipe
    kept = recipe.with_vault(place)
    try:
        refuse_unkept(kept)
    except RecipeError:  # nothing to keep, or what the run itself refuses
        return recipe
    return kept


def _packed(folder: Path) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as packed:
        for path in sorted(folder.iterdir()):
            packed.add(path, path.name, recursive=False)
    return content.getvalue()


def _check(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Everything that a run here would refuse, and what it would take, as ``shoal check`` tells it."""
    data, _ = examine(settled(_placed(asked)), progress)
    return plain(data)  # type: ignore[no-any-return]


_KINDS: dict[str, Callable[[Mapping[str, Any], Progress], dict[str, Any]]] = {
    "start": _start, "check": _check, "run": _run,
}  # fmt: skip
# Cells that a comparison finds go to the worker, which seals them: they stand in no file and no database.
_MEASURED: dict[str, Callable[[Recipe, Mapping[str, Any], Progress], dict[str, Any]]] = {
    "risk": assessed, "explore": explored, "compare": compared, "attack": attacked,
}  # fmt: skip
