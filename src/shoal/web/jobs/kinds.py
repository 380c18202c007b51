"""What each kind of job does, in the child process: plain data in, plain data out."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import InputError, ParameterError, RecipeError
from shoal.io.evidence import evidence_folder
from shoal.io.files import extension_of, not_parquet
from shoal.io.folders import files_of
from shoal.io.partitions import partitions_of
from shoal.recipe.draft import Draft, drafted
from shoal.recipe.draft_text import recipe_text
from shoal.recipe.recipe import Output, Recipe, update_recipe
from shoal.recipe.sniff import Given, read_raw
from shoal.recipe.source import settled
from shoal.release.check import examine, tried
from shoal.release.dossier import report
from shoal.release.run import refuse_unkept, run
from shoal.vault.files import load
from shoal.vault.seal import Key
from shoal.verify.folder import MANIFEST, read_manifest
from shoal.web.projects.confined import is_inside, offer_of, parse_confined
from shoal.web.settings import Offer
from shoal.web.views import work
from shoal.web.views.beginnings import LOOKED_AT, Bounds, make_beginning

Progress = Callable[[str], None]
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
    found: dict[str, Any] = _KINDS[asked["kind"]](asked, progress)
    return found


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
    return _with_vault(_with(recipe, output=_output(recipe, Path(asked["release"]))), _vault(asked))


def _vault(asked: Mapping[str, Any]) -> Path:
    return Path(asked["temporary"]) / "run.vault"


def _output(recipe: Recipe, folder: Path) -> Output:
    """Where the server puts a release, whatever the recipe says of places."""
    given = {"folder": str(folder), "vault": None, "vault_entry": "release", "log": None, "table": None}
    return recipe.output.model_copy(update=given)


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


def _compare(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Rows before and after, which the worker seals: cells stand in no file and no database."""
    return work.compared(_recipe(asked), asked["parameters"], progress)


def _check(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Everything that a run here would refuse, and what it would take, as ``shoal check`` tells it."""
    data, _ = examine(settled(_placed(asked)), progress)
    return work.plain(data)  # type: ignore[no-any-return]


def _risk(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    return work.assessed(_recipe(asked), asked["parameters"], progress)


def _explore(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    return work.explored(_recipe(asked), asked["parameters"], progress)


def _attack(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    return work.attacked(_recipe(asked), asked["parameters"], progress)


_KINDS: dict[str, Callable[[Mapping[str, Any], Progress], dict[str, Any]]] = {
    "start": _start, "check": _check, "risk": _risk, "explore": _explore, "compare": _compare, "attack": _attack,
    "run": _run,
}  # fmt: skip
