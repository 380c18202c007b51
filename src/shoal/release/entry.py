"""The doors to a release: recipes, tables in memory, open rows and written releases."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import polars as pl
import tomlkit

from shoal.algorithms.base import Algorithm
from shoal.data.domain import History
from shoal.data.keys import Keys
from shoal.data.rows import in_memory
from shoal.data.table import Table
from shoal.engines.base import Capability, OpenRows
from shoal.errors import ParameterError
from shoal.grammar import as_list, as_made
from shoal.io.batches import Batches, DrawnBatches, PreparedBatches, draw_batches
from shoal.io.copies import compare_copies
from shoal.models.base import Model
from shoal.recipe.fields import memory_bytes
from shoal.recipe.profiles import refuse_unfit
from shoal.recipe.recipe import Recipe, load_recipe, parse_recipe
from shoal.recipe.source import open_source, read_table, schema_of, settled, told_by
from shoal.recoding.publish import Output
from shoal.recoding.secrets import Secret, SecretKey, by_column
from shoal.registry import VERSION, load, make, names
from shoal.release.capabilities import CLUSTER, refuse_keyless, refuse_misplaced, require
from shoal.release.gating import bring_vouched, naming
from shoal.release.prepare import MEMORY, Judged, Plan, Progress, silent
from shoal.release.publish import publish
from shoal.release.secrets import Secrets, trial_secrets
from shoal.release.sinks import Frames, Sink, Staged
from shoal.release.write import read_release
from shoal.reports.release import release_html
from shoal.results import Release
from shoal.verify.folder import open_folder
from shoal.verify.recheck import Recheck
from shoal.verify.report import Check, GateReport

if TYPE_CHECKING:
    from shoal.utility.unbiased import Estimate

T = TypeVar("T")
Given: TypeAlias = T | Mapping[str, Any] | str

# ----------------------------------------
# A table in memory.


def anonymize(
    table: Table,
    *,
    algorithm: Given[Algorithm] = "mondrian",
    models: Given[Model] | Sequence[Given[Model]] = (),
    seed: int | None = None,
    acknowledge: Collection[str] = (),
    suppressed: str = "drop",
    order: str = "shuffled",
    engine: str = "memory",
    neutral_limit: float = 0.05,
    keys: Keys | None = None,
    token_key: SecretKey | None = None,
    codes: Sequence[Secret] = (),
    history: History | None = None,
    date: datetime.date | str | None = None,
    review: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Release:
    """Anonymise a table and gate the result.

    Parameters
    ----------
    algorithm
        A configured algorithm, its name, or a mapping as a recipe has it: ``{"name": "optimal", "measure": "ncp"}``.
    models
        What every class must satisfy, one or several: ``KAnonymity(5)``, ``"k=5"``, or ``{"name": "k", "k": 5}``.
    seed
        Only for tests and papers; by default a fresh secret is drawn and kept in the evidence.
    acknowledge
        Warning codes accepted.
    token_key
        Tokens and date offsets follow from it, so that releases made with it can be joined; by default from fresh keys.
    codes
        Mappings and gradings of earlier releases (`Release.secrets`, or from a vault) to code later records with.
    history
        What earlier releases left of the rows' people (``Registry.history_of``), for the model ``m-invariance``.
    date, review
        What manifest and report are dated with (if nothing, the bytes are the same on any day), and say in your words.
    """
    output = Output(
        suppressed=suppressed, order=order, acknowledged=acknowledge, neutral_limit=neutral_limit,
        joinable=token_key is not None, same_codes=bool(codes), date=date, review=review or {},
    )  # fmt: skip
    plan = Plan(
        rows=_rows_of(table, engine, history), method=as_made("algorithm", algorithm),
        models=as_list("model", models), output=output,
        keys=keys or Keys.from_seed(seed), seed=seed, token_key=token_key, codes=by_column(codes), progress=progress,
    )  # fmt: skip
    return publish(plan.judged(), Frames(table.backend))


def anonymize_table(
    recipe: Recipe,
    table: Table,
    *,
    token_key: SecretKey | None = None,
    codes: Sequence[Secret] | None = None,
    history: History | None = None,
    progress: Progress = silent,
) -> Release:
    """Do what a recipe says to a table that was read already, or to a part of it; its limits are not looked at."""
    secrets = trial_secrets(recipe, token_key=token_key, codes=codes)
    rows = _rows_of(table, recipe.engine.name, history)
    plan = plan_of(recipe, rows, *methods(recipe), Keys.from_seed(recipe.seed), progress, secrets)
    return publish(plan.judged(), Frames(table.backend))


def _rows_of(table: Table, engine: str, history: History | None) -> OpenRows:
    """Open the rows of a table, with what earlier releases left of their people."""
    found = load("engine", engine)
    if not hasattr(found, "open"):
        raise ParameterError(
            f"The engine '{engine}' opens the source of a recipe, and a table is in memory: leave 'engine' out, or use "
            "shoal.run."
        )
    rows: OpenRows = found().open(table if history is None else table.remembering(history))
    return rows


# ----------------------------------------
# A recipe, and the rows that it names in the hands of its engine.


def as_recipe(given: Recipe | Mapping[str, Any] | str | Path, base: Path = Path()) -> Recipe:
    """A recipe, given as one, as its file, or as nested mappings with paths relative to ``base``."""
    if isinstance(given, Recipe):
        return given
    return parse_recipe(tomlkit.dumps(given), base) if isinstance(given, Mapping) else load_recipe(Path(given))


def keeps_rows(recipe: Recipe) -> bool:
    """Whether a recipe's engine keeps the rows elsewhere than in arrays of this process."""
    name = recipe.engine.name
    return name in names("engine") and Capability.ARRAYS not in load("engine", name).capabilities


def methods(recipe: Recipe) -> tuple[Algorithm, list[Model]]:
    """The algorithm and the models of a recipe."""
    return make("algorithm", recipe.algorithm), [make("model", spec) for spec in recipe.models]


def plan_of(
    recipe: Recipe,
    rows: OpenRows,
    method: Algorithm,
    models: Sequence[Model],
    keys: Keys,
    progress: Progress,
    secrets: Secrets | None = None,
) -> Plan:
    """Plan the release of a recipe from open rows."""
    given, output = secrets or Secrets(), recipe.output
    asked = Output(
        suppressed=output.suppressed, order=output.order, acknowledged=recipe.acknowledge,
        neutral_limit=output.neutral_limit, joinable=given.token_key is not None, same_codes=bool(given.codes),
        date=output.date, review={} if recipe.review is None else recipe.review.published(),
    )  # fmt: skip
    return Plan(
        rows=rows, method=method, models=models, output=asked, keys=keys, seed=recipe.seed, progress=progress,
        memory=memory_of(recipe), token_key=given.token_key, codes=by_column(given.codes),
    )  # fmt: skip


def sink_of(rows: OpenRows) -> Sink:
    """Where released rows are kept until they are written: where the engine has the others."""
    if Capability.ARRAYS in rows.capabilities:
        return Frames(in_memory(rows).table.backend)
    return Staged(rows.private("judged"))


@contextmanager
def judged_release(recipe: Recipe, progress: Progress) -> Iterator[tuple[Judged, dict[str, Any]]]:
    """A release that passed the gate, of which nothing is kept, and its manifest."""
    method, models = methods(recipe)
    require(recipe, method)
    keys = Keys.from_seed(recipe.seed)
    with opened(recipe, keys, progress) as rows:
        judged = plan_of(recipe, rows, method, models, keys, progress).judged()
        yield judged, publish(judged, sink_of(rows)).manifest


@contextmanager
def open_rows(
    recipe: Recipe | Mapping[str, Any] | str | Path, progress: Progress = silent
) -> Iterator[Any]:
    """The rows that a recipe names, coded, with its engine to count them: for `shoal.assess` and `shoal.discover`.

    They are in memory only where the engine keeps none elsewhere. A recipe may be nested mappings, as for :func:`run`.
    """
    recipe = as_recipe(recipe)
    progress("reading")
    with opened(recipe, Keys.from_seed(recipe.seed), progress) as rows:
        yield rows


@contextmanager
def opened(recipe: Recipe, keys: Keys, progress: Progress) -> Iterator[Any]:
    """The rows that a recipe names, coded, in the hands of its engine."""
    refuse_misplaced(recipe)
    refuse_keyless(recipe.engine.name, recipe.roles.key)
    with source_of(recipe, progress) as source:
        if recipe.sample is not None and isinstance(source, Batches | PreparedBatches):
            progress("drawing a sample")
            roles = settled(recipe).roles
            source = draw_batches(source, recipe.sample, keys, subject=roles.subject, key=roles.key)
        with opened_on(recipe, source, keys, progress) as rows:
            yield rows


@contextmanager
def opened_on(recipe: Recipe, source: Any, keys: Keys, progress: Progress) -> Iterator[Any]:
    """Open rows on an opened source."""
    schema, told = schema_of(recipe), cache(partial(told_by, recipe))

    def build(frame: pl.DataFrame, *given: Any, **settings: Any) -> Table:
        return told().table(frame, *given, **settings)

    # Where no column says whose row it is, one that is dropped might.
    followed = schema.drop if schema.subject is None else ()
    with engine_of(recipe).opened(
        source, schema, build, keys, missing=recipe.source.missing, name=recipe.source.name or source.name,
        followed=followed, progress=progress,
    ) as rows:  # fmt: skip
        refuse_unfit(recipe, rows.domain)
        yield _known(rows, source) if isinstance(source, DrawnBatches) else rows


def _known(rows: Any, source: DrawnBatches) -> Any:
    """Rows that know how they were drawn, and who was not."""
    drawn = rows.knowing(dataclasses.replace(rows.domain, sample=source.sample))
    others = source.left_out(naming(rows.domain.schema), rows.known.dropped)
    drawn.known = dataclasses.replace(drawn.known, dropped=others)
    return drawn


def engine_of(recipe: Recipe) -> Any:
    """The engine that a recipe names, as it is set there."""
    settings = recipe.engine
    scratch = None if settings.scratch is None else recipe.resolve(settings.scratch)
    return load("engine", settings.name)(memory=memory_of(recipe), folder=scratch)


@contextmanager
def source_of(recipe: Recipe, progress: Progress = silent) -> Iterator[Any]:
    """Where the rows are, as the engine of a recipe takes them: a table, or what is read batch by batch."""
    if Capability.ARRAYS in load("engine", recipe.engine.name).capabilities:
        progress("reading")
        yield read_table(recipe)
    elif recipe.engine.name == CLUSTER:
        from shoal.release.spark import spark_source

        with spark_source(recipe) as frame:
            yield frame
    else:
        yield open_source(recipe)


def memory_of(recipe: Recipe) -> int:
    """Bytes that a recipe lets its engine take."""
    given = recipe.engine.memory
    return MEMORY if given is None else memory_bytes(given)


# ----------------------------------------
# Written releases.


def verify_release(folder: str | Path, *, progress: Progress = silent) -> GateReport:
    """Re-derive what a written release promises, from its data and manifest alone."""
    tables, manifest = open_folder(Path(folder))
    bring_vouched(manifest)
    again, seen = Recheck(manifest), 0
    for name, batches in tables.items():
        for batch in batches:
            (again.see if name == "release" else again.see_apart)(batch)
            seen += batch.height
            progress(f"deriving every verdict again: {seen:,} rows read")
    found = again.report()
    # A page can only be written from a manifest in which everything is as it should be.
    if not found.passed:
        return found
    checks = [*found.checks, _check_report(manifest), *compare_copies(Path(folder), manifest)]
    return dataclasses.replace(found, checks=checks)


def estimate(
    release: Release | str | Path, *, queries: Sequence[str] = (), rules: Sequence[str] = ()
) -> list[Estimate]:
    """Counts of queries, and supports and confidences of rules, in the original of a randomised release.

    They need nothing but the release, made just now or in a folder: its manifest says how likely each column was to be
    redrawn. See :class:`shoal.utility.unbiased.Estimate` for what stands beside each.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.example_census(400).select("age", "sex", "region", "diagnosis").drop_nulls()
    >>> table = shoal.read(people, quasi=["age", "sex", "region"], sensitive=["diagnosis"])
    >>> made = shoal.anonymize(table, algorithm="random", seed=1, acknowledge=["W-RA-LINK"])
    >>> found = shoal.estimate(made, queries=["age in [30, 50]"], rules=["sex = male -> diagnosis = diabetes"])
    >>> [one.figure for one in found]
    ['count', 'support', 'confidence']
    """
    from shoal.utility.unbiased import estimate_released

    if isinstance(release, Release):
        frame, manifest = release.gated.tables["release"], release.manifest
    else:
        frame, manifest = read_release(release)
    return estimate_released(frame, manifest, queries=queries, rules=rules)


def _check_report(manifest: Mapping[str, Any]) -> Check:
    """The report, whose hash is the manifest's, is what is written for that manifest, and says nothing else."""
    again = hashlib.sha256(release_html(manifest).encode()).hexdigest()
    same, made = again == manifest["report"]["sha256"], manifest["shoal"]
    detail = "The report is the manifest in words." if same else "The report is not what the manifest says in words."
    if not same and made != VERSION:
        detail = f"The report is not what Shoal {VERSION} writes: verify it with Shoal {made}, which is said to have."
    return Check(name="report", passed=same, detail=detail)
