"""From a recipe to a gated release. START HERE to see how the parts fit together.

A recipe says what to read, promise and write. Its engine opens the rows and counts them; an algorithm puts records in
groups or rewrites values; models judge the groups, and those that fail are suppressed; attacks try what is not
protected. Rows are published batch by batch, each seen by the gate, into a sink. Data, manifest, evidence and secrets
are put in place together, or none of them. Memory is the engine whose rows come in one batch.

:mod:`shoal.release.prepare` goes from open rows to a release whose classes hold, :mod:`shoal.release.publish` through
the gate, :mod:`shoal.release.write` to disk; :mod:`shoal.release.entry` has the other doors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.data.domain import History
from shoal.data.keys import Keys
from shoal.data.rows import in_memory
from shoal.engines.base import Capability, Keeping, OpenRows
from shoal.io.cell_format import count_formulas
from shoal.io.statistics_files import read_labels
from shoal.io.transaction import resume as settle
from shoal.models.base import Model
from shoal.models.feasibility import all_models
from shoal.recipe.recipe import Recipe, dump_recipe
from shoal.recipe.source import settled
from shoal.recoding.secrets import Secret, SecretKey
from shoal.release.capabilities import require
from shoal.release.entry import as_recipe, methods, opened, plan_of, sink_of
from shoal.release.prepare import Judged, Progress, silent
from shoal.release.publish import publish
from shoal.release.secrets import Secrets, given_codes, open_registry, open_secrets, refuse_unkept, trial_secrets
from shoal.release.sinks import Elsewhere, Gone
from shoal.release.write import Target, check_output, leaks_of, log_of, refuse_leaks, refuse_unlogged, write_release
from shoal.results import Release
from shoal.risk.attacks.limits import RISKS, known_limits
from shoal.verify.folder import MANIFEST
from shoal.verify.manifest_schema import REPORT

if TYPE_CHECKING:
    from shoal.vault.registry_file import Memory
    from shoal.vault.seal import Key


def run(
    recipe: Recipe | Mapping[str, Any] | str | Path,
    *,
    replace: bool = False,
    dry_run: bool = False,
    key: Key | None = None,
    progress: Progress = silent,
) -> Release:
    """Read, anonymise, gate and write what a recipe describes; returns the release.

    Where the recipe's engine keeps the rows, the release that comes back has all but its rows, which are written.

    Parameters
    ----------
    recipe
        A file, or its tables as nested mappings, whose paths are then as seen from the working folder.
    replace
        Swap an earlier release, and its entry in the vault, for this one.
    dry_run
        Do everything but write: no file, no entry of a vault or a registry, no line of a log. Places that a run would
        write to are not looked at.
    key
        What opens the vault and the registry that the recipe names (`shoal.vault.Key`).
    """
    recipe = settled(as_recipe(recipe))
    require(recipe, methods(recipe)[0])
    if dry_run:
        refuse_unkept(recipe)
        secrets = trial_secrets(recipe, codes=given_codes(recipe, key), registry=open_registry(recipe, key))
        with made(recipe, secrets, progress) as (release, _):
            _refuse_telling(release)
            return without_rows(release, "The rows of a dry run are not kept: run the recipe to have them.")
    folder, output = recipe.resolve(recipe.output.folder).resolve(), recipe.output
    settle(folder)
    refuse_unlogged(recipe)
    check_output(folder, source_path(recipe), replace=replace)
    with made(recipe, open_secrets(recipe, key, replace=replace), progress) as (release, secrets):
        progress("writing")
        # The release that is returned names no log, so writing it elsewhere adds no line.
        logged = changed(release, evidence={**release.evidence, "log": log_of(recipe)})
        write_release(
            logged, folder, replace=replace, format=output.format, formulas=output.formulas, copies=output.copies,
            labels=read_labels(source_path(recipe) or Path()), holders=secrets.holders,
            target=_target(recipe, release.rows, progress),
        )  # fmt: skip
        return without_rows(release, f"The rows of this release are in '{folder}': read them there.")


def anonymize_recipe(
    recipe: Recipe,
    *,
    token_key: SecretKey | None = None,
    codes: Sequence[Secret] | None = None,
    memory: Memory | None = None,
    progress: Progress = silent,
) -> Release:
    """Do the same without writing anything.

    Parameters
    ----------
    token_key
        The key that the recipe names; without it a fresh one takes its place, and the tokens are good for nothing.
    codes
        The codes that the recipe gives; by default those of a file, while those of a vault are made afresh.
    memory
        The registry that the recipe names; without it the release is held against no earlier one.
    """
    require(recipe, methods(recipe)[0])
    secrets = trial_secrets(recipe, token_key=token_key, codes=codes, registry=memory)
    with made(recipe, secrets, progress) as (release, _):
        return without_rows(release, "The rows of this release were not kept: run the recipe to have them.")


@contextmanager
def made(recipe: Recipe, secrets: Secrets, progress: Progress) -> Iterator[tuple[Release, Secrets]]:
    """A release that passed the gate and keeps the recipe's limits, while its rows are open, and what it is kept by."""
    method, models = methods(recipe)
    known_limits(recipe.limits, RISKS, recipe.roles.sensitive)
    keys = Keys.from_seed(recipe.seed)
    with opened(recipe, keys, progress) as rows:
        wanted = [] if secrets.registry is None else all_models(rows.domain, models, method)
        rows = _remembering(recipe, rows, secrets.registry, wanted)
        judged = plan_of(recipe, rows, method, models, keys, progress, secrets).judged()
        release = publish(judged, sink_of(rows))
        facts = _recipe_facts(recipe, judged, release, progress)
        secrets = secrets.keeping(release.secrets)
        if secrets.registry is not None:
            progress("holding it against earlier releases")
            grown, facts["registry"] = secrets.registry.with_release(release, wanted)
            secrets = changed(secrets, registry=grown)
        yield changed(release, evidence={**release.evidence, **facts, **secrets.facts()}), secrets


def _remembering(recipe: Recipe, rows: OpenRows, registry: Memory | None, models: Sequence[Model]) -> OpenRows:
    """Rows with what earlier releases left of their people, where a model asks for it."""
    if registry is None:
        return rows
    table = in_memory(rows).table
    registry.refuse_strangers(table, recipe.acknowledge)
    history: History | None = registry.history_of(table, models)
    return rows if history is None else rows.remembering(history)


def _recipe_facts(recipe: Recipe, judged: Judged, release: Release, progress: Progress) -> dict[str, Any]:
    """Collect the facts that a recipe asks for, for the evidence; refuse a release over its limits."""
    path, sink = source_path(recipe), release.gated.sink
    facts: dict[str, Any] = {
        "recipe": dump_recipe(recipe),
        "source_path": None if path is None else str(path),
        "base": str(recipe.base.resolve()),
    }
    if recipe.output.format == "csv" and recipe.output.formulas == "keep":
        facts["formulas"] = sum(
            count_formulas({name: frame}, [] if number else None)
            for name in sink.names
            for number, frame in enumerate(sink.batches(name))
        )
    if recipe.review is not None:
        facts["review"] = recipe.review.stated()
        if Capability.ARRAYS in judged.rows.capabilities:
            from shoal.risk.attacks.run import attacked_briefly
            from shoal.utility.evaluate import reviewed

            progress("measuring what reviewers ask for")
            facts |= {"utility": reviewed(release), "attacked": attacked_briefly(release)}
    if recipe.limits:
        from shoal.release.attack_case import refuse_over_limits

        progress("holding it against its limits")
        facts["limits"] = refuse_over_limits(recipe, release, progress)
    return facts


def source_path(recipe: Recipe) -> Path | None:
    """The file of the source; None where it is in a database."""
    return None if recipe.source.path is None else recipe.resolve(recipe.source.path)


def without_rows(release: Release, where: str) -> Release:
    """A release that can be kept after its rows are closed; one in memory keeps them."""
    if Capability.ARRAYS in release.rows.capabilities:
        return release
    heights = {name: release.gated.sink.height(name) for name in release.gated.sink.names}
    gone: Any = Gone(where)
    return changed(release, gated=changed(release.gated, sink=Elsewhere(where, heights)), released=gone, rows=gone)


def _refuse_telling(release: Release) -> None:
    """Refuse a manifest or a report that tells what was read and is not among the released rows."""
    leaks = leaks_of(release, {MANIFEST: release.gated.manifest, REPORT: release.gated.report})
    for name in release.gated.sink.names:
        for frame in release.gated.sink.batches(name):
            leaks.see(frame)
    refuse_leaks(release, leaks)


def _target(recipe: Recipe, rows: Any, progress: Progress) -> Target | None:
    """The table that a release goes to in the database of its source, None where it does not."""
    if recipe.output.table is None:
        return None
    assert isinstance(rows.database, Keeping)  # the source is in a database, or the recipe would have been refused
    unchanged = recipe.roles.neutral if recipe.output.suppressed == "drop" else []
    return Target(database=rows.database, unchanged=unchanged, progress=progress)
