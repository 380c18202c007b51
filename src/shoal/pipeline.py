"""From a table and models to a gated release. START HERE to see how the parts fit together.

An algorithm puts records in groups, an engine counts them, a model judges the counts, a measure prices the result,
and the verifier trusts none of them. A release that the gate does not pass is never returned.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from shoal.algorithms.base import Algorithm, Problem
from shoal.errors import GateError, ParameterError, RefusalError
from shoal.io.describe import describe
from shoal.io.frames import from_polars
from shoal.io.output import check_output, read_release
from shoal.io.recipes import Recipe, dump_recipe, load_recipe
from shoal.io.source import read
from shoal.models.base import Judge, Model
from shoal.models.enforce import enforce
from shoal.models.feasible import refuse_infeasible, vacuous, whole_reference
from shoal.models.joint import split_verdicts
from shoal.models.refusals import refuse_settings, refuse_unknown_codes, refuse_unprotected
from shoal.params import choice
from shoal.recoding.publish import publish
from shoal.recoding.released import apply_recoding
from shoal.registry import load, make, names
from shoal.reports.release import release_html
from shoal.results import GateCase, GateReport, Release
from shoal.table.keys import Keys
from shoal.table.table import Table, iso_dates
from shoal.verify import gate, recheck
from shoal.version import VERSION

Progress = Callable[[str], None]


def anonymize(
    table: Table,
    *,
    algorithm: Algorithm | str = "mondrian",
    models: Sequence[Model] = (),
    seed: int | None = None,
    acknowledge: Collection[str] = (),
    suppressed: str = "drop",
    order: str = "shuffled",
    engine: str = "memory",
    neutral_limit: float = 0.05,
    keys: Keys | None = None,
    progress: Progress = lambda step: None,
) -> Release:
    """Anonymise a table and gate the result.

    Parameters
    ----------
    algorithm
        A configured algorithm, or the name of one to run with its defaults.
    models
        What every class must satisfy; an algorithm's shorthand such as ``k`` adds to them.
    seed
        Only for tests and papers; by default a fresh secret is drawn and kept in the evidence.
    acknowledge
        Warning codes accepted.
    """
    started = time.perf_counter()
    chosen = load("algorithm", algorithm)() if isinstance(algorithm, str) else algorithm
    choice("the output", "suppressed", suppressed, ("drop", "star"))
    choice("the output", "order", order, ("shuffled", "kept"))
    refuse_unknown_codes(acknowledge)
    wanted = all_models(table, models, chosen)
    counter = load("engine", engine)()
    keys = keys or Keys.from_seed(seed)

    judge = Judge(wanted, whole_reference(table, wanted, counter))
    empty = vacuous(judge)
    refuse_unprotected(table, wanted, empty, acknowledge)
    refuse_settings(table, order, acknowledge)
    refuse_infeasible(judge, chosen.suppression_limit)

    recoding = chosen.run(Problem(table=table, judge=judge, engine=counter, keys=keys, progress=progress))
    progress("judging the classes")
    released = enforce(apply_recoding(table, recoding), judge, counter, chosen.suppression_limit)
    frame, source = publish(released, keys, suppressed=suppressed, order=order)

    progress("checking every cell at the gate")
    parameters = [model.parameters() for model in wanted]
    manifest = describe(
        table,
        parameters,
        version=VERSION,
        suppressed=suppressed,
        order=order,
        acknowledged=sorted(acknowledge),
    )
    report = _pass_gate(table, frame, source, released, manifest, neutral_limit, acknowledge)
    manifest |= {
        "verdicts": [_plain(verdict) for verdict in report.verdicts],
        "classes": dict(report.classes),
    }
    progress("measuring")
    scores = {name: load("measure", name)().score(released.price_stats()) for name in names("measure")}
    evidence: dict[str, Any] = {
        "secret": keys.secret,
        "seed": seed,
        "algorithm": chosen.parameters(),
        "search": dict(recoding.notes),
        "models": parameters,
        "counts": _counts(table, released),
        "measures": scores,
        "split_verdicts": split_verdicts(released, judge, counter),
        "vacuous": [{"model": model.parameters(), "on": list(on or ())} for model, on in empty],
        "report_html": release_html(manifest),
        "seconds": time.perf_counter() - started,
    }
    return Release(
        frame=from_polars(frame, table.backend) if table.backend is not None else frame,
        manifest=manifest,
        verdict=report.verdicts,
        checks=report.checks,
        evidence=evidence,
        released=released,
        table=table,
        source=source,
    )


def run(recipe: Recipe | str | Path, *, replace: bool = False, progress: Progress = lambda step: None) -> Release:
    """Read, anonymise, gate and write what a recipe describes; returns the release."""
    if not isinstance(recipe, Recipe):
        recipe = load_recipe(Path(recipe))
    folder = recipe.resolve(recipe.output.folder)
    check_output(folder, recipe.resolve(recipe.source.path), replace=replace)
    release = anonymize_recipe(recipe, progress=progress)
    progress("writing")
    release.write(folder, replace=replace, format=recipe.output.format)
    return release


def anonymize_recipe(recipe: Recipe, *, progress: Progress = lambda step: None) -> Release:
    """The same without writing anything."""
    algorithm, models = make("algorithm", recipe.algorithm), [make("model", spec) for spec in recipe.models]
    progress("reading")
    table = read_recipe_source(recipe)
    release = anonymize(
        table,
        algorithm=algorithm,
        models=models,
        seed=recipe.seed,
        acknowledge=recipe.acknowledge,
        suppressed=recipe.output.suppressed,
        order=recipe.output.order,
        neutral_limit=recipe.output.neutral_limit,
        engine=recipe.engine.name,
        progress=progress,
    )
    private = {"recipe": dump_recipe(recipe), "source_path": str(recipe.resolve(recipe.source.path))}
    return dataclasses.replace(release, evidence={**release.evidence, **private})


def read_recipe_source(recipe: Recipe) -> Table:
    """The table a recipe names, coded."""
    source, roles = recipe.source, recipe.roles
    return read(
        source.path,
        name=source.name,
        columns=source.columns,
        separator=source.separator,
        encoding=source.encoding,
        missing_markers=source.missing_markers,
        missing=source.missing,
        base=recipe.base,
        weights=recipe.weights,
        hierarchies=recipe.hierarchies,
        settings={name: entry.model_dump() for name, entry in recipe.columns.items()},
        **roles.model_dump(),
    )


def verify_release(folder: str | Path) -> GateReport:
    """Re-derive what a written release promises, from its data and manifest alone."""
    frame, manifest = read_release(Path(folder))
    return recheck(frame, manifest)


def all_models(table: Table, models: Sequence[Model], algorithm: Algorithm) -> list[Model]:
    """The models asked for and those an algorithm's shorthand stands for; a contradiction is an error."""
    wanted = list(models)
    for extra in algorithm.models():
        same = [model for model in wanted if model.name == extra.name]
        if same and same[0] != extra:
            raise ParameterError(f"The algorithm and the models set '{extra.name}' differently: keep one of them.")
        if not same:
            wanted.append(extra)
    return [model for one in wanted for model in one.resolved(table)]


def _pass_gate(
    table: Table,
    frame: pl.DataFrame,
    source: Any,
    released: Any,
    manifest: dict[str, Any],
    neutral_limit: float,
    acknowledge: Collection[str],
) -> GateReport:
    roles = table.schema
    case = GateCase(
        original=iso_dates(table).select(roles.released),
        released=frame,
        source=source,
        suppressed=(released.classes < 0).nonzero()[0],
        n_read=table.n_read,
        n_dropped=table.n_dropped,
        identifiers=table.frame.select(list(roles.identifiers)),
        subject=table.frame[roles.subject] if roles.subject is not None else None,
        manifest=manifest,
        neutral_limit=neutral_limit,
        acknowledged=sorted(acknowledge),
    )
    report = gate(case)
    if not report.passed:
        failed = [check.detail for check in report.checks if not check.passed]
        if [check.name for check in report.checks if not check.passed] == ["neutral columns"]:
            raise RefusalError(f"{failed[0].removesuffix('.')}: drop or generalise a neutral column.", ["W-NEUTRAL"])
        failed += [f"model {verdict.model['name']} fails" for verdict in report.verdicts if not verdict.holds]
        raise GateError(f"The gate refused the release, so nothing is written: {failed[0]}")
    return report


def _plain(verdict: Any) -> dict[str, Any]:
    """A verdict for the manifest; an attested figure would tell something about the input, so it stays private."""
    on = verdict.on if verdict.on is None or isinstance(verdict.on, str) else list(verdict.on)
    return {
        "model": dict(verdict.model),
        "on": on,
        "holds": verdict.holds,
        "by": verdict.by,
        "value": verdict.value if verdict.by == "rechecked" else None,
        "limit": verdict.limit,
    }


def _counts(table: Table, released: Any) -> dict[str, int]:
    return {
        "read": table.n_read,
        "dropped": table.n_dropped,
        "suppressed": released.n_suppressed,
        "released": table.n - released.n_suppressed,
        "classes": released.n_classes,
        "clusters": released.groups,
    }
