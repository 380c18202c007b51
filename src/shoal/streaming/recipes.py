"""Carrying out a recipe whose rows an engine keeps: read, search, gate and write, batch by batch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from shoal.algorithms.base import Algorithm
from shoal.catalogue import load, make
from shoal.data.derive import changes
from shoal.data.keys import Keys
from shoal.data.sampling import Sampling
from shoal.engines.base import Keeping as Writable
from shoal.engines.external_rows import KeptRows
from shoal.errors import InputError, RecipeError
from shoal.io.batches import Batches, DrawnBatches, PreparedBatches, draw_batches, open_batches
from shoal.io.databases import Relation
from shoal.io.evidence import write_evidence
from shoal.io.gating import naming
from shoal.io.hash_chain import log_of
from shoal.io.output import check_output, writing
from shoal.io.transaction import BOUND, Holder, publish
from shoal.io.transaction import resume as settle
from shoal.models.base import Model
from shoal.pipeline import Progress
from shoal.recipe.fields import memory_bytes
from shoal.recipe.profiles import refuse_unfit
from shoal.recipe.recipe import Recipe, dump_recipe
from shoal.recipe.source import Told, read_population, schema_of, settled
from shoal.recoding.publish import Output
from shoal.recoding.secrets import Secret, SecretKey, by_column
from shoal.results import Written
from shoal.streaming.release import MEMORY as MOST_MEMORY
from shoal.streaming.release import Judged, Stream
from shoal.streaming.unordered import refuse_keyless
from shoal.streaming.unserved import CLUSTER, refuse_misplaced, refuse_unserved
from shoal.verify.folder import MANIFEST


class Holding(Holder, Protocol):
    """A vault that secrets go to."""

    def facts(self) -> dict[str, Any]:
        """Where everything goes, for the evidence."""
        ...


@dataclass(frozen=True, eq=False)
class Secrecy:
    """What a release is coded with, and what becomes of its secrets.

    Attributes
    ----------
    token_key
        What tokens and offsets of dates follow from; by default fresh keys.
    codes
        Mappings and gradings that are given.
    kept
        Takes the secrets, and gives who keeps them.
    """

    token_key: SecretKey | None = None
    codes: Sequence[Secret] = ()
    kept: Callable[[Sequence[Secret]], Holding | None] = lambda secrets: None


OPEN = Secrecy()
RESUMING = "duckdb"  # the engine that keeps what it has read


def run_stream(
    recipe: Recipe,
    *,
    replace: bool = False,
    dry_run: bool = False,
    resume: bool = False,
    secrecy: Secrecy = OPEN,
    progress: Progress = lambda step: None,
) -> Written:
    """Carry out a recipe on an engine that keeps the rows; what it cannot do is refused before any data is touched.

    Parameters
    ----------
    resume
        Whether to keep what is read until a run succeeds, and to take up what is kept.
    secrecy
        What codes the release, and what becomes of the secrets behind it.
    """
    method = make("algorithm", recipe.algorithm)
    refuse_unserved(recipe, method)
    models = [make("model", spec) for spec in recipe.models]
    folder = recipe.resolve(recipe.output.folder).resolve()
    if not dry_run:
        settle(folder)
        check_output(folder, _path(recipe), replace=replace)
    keys = Keys.from_seed(recipe.seed)
    with opened(recipe, keys, progress, resume=resume) as rows:
        table = _table(recipe, rows)
        judged = stream_of(recipe, rows, method, models, keys, progress, secrecy).judged()
        how = {"format": recipe.output.format, "formulas": recipe.output.formulas}
        if dry_run:
            return judged.fill(rows.private("release"), **how)
        found: list[Written] = []
        keeper = secrecy.kept(judged.secrets)

        def fill(staged: Path, private: Path) -> str:
            written = judged.fill(staged, **how)
            found.append(written)
            digest = hashlib.sha256((staged / MANIFEST).read_bytes()).hexdigest()
            facts: dict[str, Any] = {"recipe": dump_recipe(recipe), "source_path": str(_path(recipe) or "") or None}
            facts |= {"base": str(recipe.base.resolve()), "worst": [one.value for one in written.verdict]}
            facts |= {} if keeper is None else {"vault": keeper.facts()}
            facts |= {"log": log_of(recipe)} | ({} if recipe.review is None else {"review": recipe.review.stated()})
            write_evidence({**written.evidence, **facts, BOUND: digest}, private)
            if table is not None:
                progress("writing the table")
                _write_table(recipe, table, written, staged, digest)
            return digest

        with writing(folder):
            publish(
                folder, fill, _check(recipe, folder, replace), replace=replace, holders=[keeper] if keeper else [],
                log=log_of(recipe),
                **({} if table is None else {"then": table.commit}),
            )  # fmt: skip
    return found[0]


@contextmanager
def judged_release(recipe: Recipe, progress: Progress) -> Iterator[tuple[Judged, dict[str, Any]]]:
    """A release that passed the gate, of which nothing is written, and its manifest."""
    method = make("algorithm", recipe.algorithm)
    refuse_unserved(recipe, method)
    models = [make("model", spec) for spec in recipe.models]
    keys = Keys.from_seed(recipe.seed)
    with opened(recipe, keys, progress) as rows:
        judged = stream_of(recipe, rows, method, models, keys, progress).judged()
        yield judged, judged.gated(lambda frame: None)[0]


def stream_of(
    recipe: Recipe,
    rows: KeptRows,
    method: Algorithm,
    models: Sequence[Model],
    keys: Keys,
    progress: Progress,
    secrecy: Secrecy = OPEN,
) -> Stream:
    """What a recipe asks of open rows."""
    return Stream(
        rows=rows, method=method, models=models, output=_output(recipe, secrecy), keys=keys, seed=recipe.seed,
        progress=progress, memory=memory_of(recipe), token_key=secrecy.token_key, codes=by_column(secrecy.codes),
    )  # fmt: skip


def _table(recipe: Recipe, rows: KeptRows) -> Writable | None:
    """Where a release goes as a table; None where it does not."""
    if recipe.output.table is None:
        return None
    assert isinstance(rows.database, Writable)  # the source is in a database, or the recipe would have been refused
    return rows.database


def _write_table(recipe: Recipe, table: Writable, written: Written, folder: Path, digest: str) -> None:
    """Copy the gated file into a table."""
    data = written.manifest["data"]
    unchanged = recipe.roles.neutral if recipe.output.suppressed == "drop" else []
    frames = open_batches(folder / data["file"]).frames()
    found = table.write(frames, written.types, unchanged, f"Shoal release, SHA-256 of its manifest {digest}")
    if found != data["rows"]:
        raise InputError(f"The database took {found:,} of {data['rows']:,} rows, so nothing is written: run again.")


def refuse_unresumed(recipe: Recipe) -> None:
    """Refuse to resume where nothing is kept."""
    if recipe.engine.name != RESUMING or recipe.engine.scratch is None:
        raise RecipeError(
            f"A run is resumed by the engine '{RESUMING}' alone, from what it kept in a folder of yours: name both "
            "under [engine], as 'name' and 'scratch'."
        )


@contextmanager
def opened(recipe: Recipe, keys: Keys, progress: Progress, *, resume: bool = False) -> Iterator[KeptRows]:
    """The rows that a recipe names, coded, in the hands of its engine."""
    refuse_misplaced(recipe)
    refuse_keyless(recipe.engine.name, recipe.roles.key)
    with source_of(recipe) as found:
        source = found
        if recipe.sample is not None:
            progress("drawing a sample")
            how, roles = Sampling(**recipe.sample.model_dump()), settled(recipe).roles
            source = draw_batches(found, how, keys, subject=roles.subject, key=roles.key)
        with opened_on(recipe, source, keys, progress, resume=resume) as rows:
            yield rows


@contextmanager
def source_of(recipe: Recipe) -> Iterator[Any]:
    """Where the rows are, as the engine of a recipe takes them."""
    if recipe.engine.name == CLUSTER:
        from shoal.streaming.spark import spark_source

        with spark_source(recipe) as frame:
            yield frame
    else:
        yield _source(recipe, _how(recipe))


@contextmanager
def opened_on(
    recipe: Recipe, source: Any, keys: Keys, progress: Progress, *, resume: bool = False
) -> Iterator[KeptRows]:
    """The same of a source that is open."""
    build, schema = _told(recipe, _how(recipe)).table, schema_of(recipe)
    # Where no column says whose row it is, one that is dropped might.
    followed = schema.drop if schema.subject is None else ()
    with engine_of(recipe, resume=resume).opened(
        source, schema, build, keys, missing=recipe.source.missing, name=recipe.source.name or source.name,
        followed=followed, progress=progress,
    ) as rows:  # fmt: skip
        refuse_unfit(recipe, rows.domain)
        yield _known(rows, source) if isinstance(source, DrawnBatches) else rows


def _known(rows: KeptRows, source: DrawnBatches) -> KeptRows:
    """Rows that know how they were drawn, and who was not."""
    drawn = rows.knowing(replace(rows.domain, sample=source.sample))
    others = source.left_out(naming(rows.domain.schema), rows.known.dropped)
    drawn.known = replace(drawn.known, dropped=others)
    return drawn


def engine_of(recipe: Recipe, *, resume: bool = False) -> Any:
    """The engine that a recipe names, as it is set there."""
    settings = recipe.engine
    return load("engine", settings.name)(
        memory=memory_of(recipe), folder=None if settings.scratch is None else recipe.resolve(settings.scratch),
        **({"resume": True} if resume else {}),
    )  # fmt: skip


def _how(recipe: Recipe) -> dict[str, Any]:
    """How files are read."""
    source = recipe.source
    return {
        "separator": source.separator, "encoding": source.encoding, "missing_markers": source.missing_markers
    }  # fmt: skip


def _source(recipe: Recipe, how: Mapping[str, Any]) -> Batches | PreparedBatches | Relation:
    """Where the rows are: in files or in a database."""
    source = recipe.source
    specs = schema_of(recipe).specs
    if source.url is None:
        scratch = None if recipe.engine.scratch is None else recipe.resolve(recipe.engine.scratch)
        batches = open_batches(source.file, base=recipe.base, columns=source.columns, scratch=scratch, **how)
        return PreparedBatches(batches, specs) if changes(specs) else batches
    return Relation(
        url=source.url, table=source.table, query=source.query, missing_markers=source.missing_markers,
        target=recipe.output.table,
    )  # fmt: skip


def memory_of(recipe: Recipe) -> int:
    """Bytes that a recipe lets its engine take."""
    given = recipe.engine.memory
    return MOST_MEMORY if given is None else memory_bytes(given)


def _told(recipe: Recipe, how: dict[str, Any]) -> Told:
    population = recipe.source.population
    return Told(
        missing=recipe.source.missing,
        hierarchies=recipe.hierarchies,
        weights=recipe.weights,
        policies={name: entry.model_dump(by_alias=True) for name, entry in recipe.policies.items()},
        research={} if recipe.research is None else recipe.research.model_dump(exclude_defaults=True),
        population=None if population is None else read_population(population, recipe.base, how),
        base=recipe.base,
    )


def _output(recipe: Recipe, secrecy: Secrecy) -> Output:
    output = recipe.output
    return Output(
        suppressed=output.suppressed, order=output.order, acknowledged=recipe.acknowledge,
        neutral_limit=output.neutral_limit, joinable=secrecy.token_key is not None,
        same_codes=bool(secrecy.codes), date=output.date,
        review={} if recipe.review is None else recipe.review.published(),
    )  # fmt: skip


def _check(recipe: Recipe, folder: Path, replace: bool) -> Callable[[], None]:
    return lambda: check_output(folder, _path(recipe), replace=replace)


def _path(recipe: Recipe) -> Path | None:
    """The file of the source; None where it is in a database."""
    return None if recipe.source.path is None else recipe.resolve(recipe.source.path)
