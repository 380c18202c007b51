"""From a table and models to a gated release. START HERE to see how the parts fit together.

An algorithm puts records in groups (or rewrites values), an engine counts them, a model judges the counts, a measure
prices the result, an attack tries what is not protected, and the verifier trusts none of them. A release that the gate
does not pass is never returned.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np
import polars as pl
import tomlkit

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.partitioned import grouped_in_parts
from shoal.data.domain import History
from shoal.data.keys import Keys
from shoal.data.rows import PeopledRows, Rows
from shoal.data.table import Table, crowded, with_crowd
from shoal.engines.base import Engine
from shoal.engines.base import Keeping as Writable
from shoal.engines.external_rows import KeptRows, Publisher, StoredBatch
from shoal.engines.prefetch import ahead, begun
from shoal.engines.store import StoredRows
from shoal.errors import GateError, InputError, RecipeError
from shoal.grammar import as_list, as_made
from shoal.io.batches import DrawnBatches, draw_batches, open_batches
from shoal.io.cell_format import count_formulas
from shoal.io.copies import compare_copies
from shoal.io.evidence import frame_stamp, manifest_bytes, row_bytes, write_evidence
from shoal.io.statistics_files import read_labels
from shoal.io.transaction import BOUND, Holder, publish
from shoal.io.transaction import resume as settle
from shoal.models.base import Model, smallest_class
from shoal.models.feasibility import all_models, asked_items, refuse_beforehand, vacuous, whole_reference
from shoal.models.judge import Judge
from shoal.models.refusals import refuse_measured, refuse_misfits, refuse_unknown_codes
from shoal.models.suppression import enforce, other_references, split_verdicts
from shoal.recipe.fields import memory_bytes
from shoal.recipe.profiles import refuse_unfit
from shoal.recipe.recipe import Recipe, dump_recipe, load_recipe, parse_recipe
from shoal.recipe.source import open_source, read_table, schema_of, settled, told_by
from shoal.recoding.coded_columns import pseudonymise, refuse_idle_key, refuse_uncodable
from shoal.recoding.exact import with_counterfeits
from shoal.recoding.items import with_items
from shoal.recoding.kinds import Trait
from shoal.recoding.outcome import chosen, overlap_report
from shoal.recoding.publish import Output, Published, Publishing, group_name, publish_tables
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.recodings import Recoding
from shoal.recoding.secrets import KEY_BYTES, Secret, SecretKey, by_column
from shoal.recoding.snap import declared_steps, grids
from shoal.registry import VERSION, load, make, names
from shoal.release.attack_sample import SAMPLE, Attacked, attack_stream
from shoal.release.capabilities import CLUSTER, refuse_keyless, refuse_misplaced, refuse_unheld, refuse_unserved
from shoal.release.gating import (
    bring_terms,
    bring_vouched,
    naming,
    pass_gate,
    person_refusals,
    refuse_failed,
    refuse_first,
    sayable,
    with_verdicts,
)
from shoal.release.manifest import describe, inferred_types, uncoded_columns, whole_hierarchies, whole_policies
from shoal.release.publish import Buckets, Showing, person_frames
from shoal.release.publish import Given as publish_Given
from shoal.release.write import Growing, check_output, log_of, read_release, refuse_unlogged, write_release, writing
from shoal.reports.release import release_html
from shoal.results import Gated, Release, Written
from shoal.risk.attacks.base import AttackFigure
from shoal.risk.attacks.limits import RISKS, known_limits, refuse_over_limits
from shoal.risk.attacks.required import Measured, attack_release
from shoal.risk.before_after import counted_facts, risk_facts
from shoal.utility.base import every_score, release_facts
from shoal.utility.research_table import refuse_broken, research_facts, researched, with_research
from shoal.utility.workload import preference_facts, with_preferences
from shoal.verify.folder import MANIFEST, open_folder
from shoal.verify.gate import Gate
from shoal.verify.leaks import Leaks
from shoal.verify.recheck import Recheck
from shoal.verify.report import Batch, Check, GateReport, Setting
from shoal.verify.staged import check_staged

if TYPE_CHECKING:
    from shoal.utility.unbiased import Estimate
    from shoal.vault.files import Keeper
    from shoal.vault.registry_file import Memory
    from shoal.vault.seal import Key

T = TypeVar("T")
Given: TypeAlias = T | Mapping[str, Any] | str
Progress = Callable[[str], None]


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
    progress: Progress = lambda step: None,
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
    method: Algorithm = as_made("algorithm", algorithm)
    refuse_unknown_codes(acknowledge)
    table = table if history is None else table.remembering(history)
    given = table.domain.research
    table = with_research(table, method.research, method.kind)
    wanted = all_models(table.domain, as_list("model", models), method)
    bring_terms(model.name for model in wanted)
    table = with_crowd(table, smallest_class(wanted))
    refuse_idle_key(table.schema, token_key)
    refuse_uncodable(table.domain, method.kind)
    run = Run(
        table=table, method=method, models=wanted, output=output, engine=load("engine", engine)(), seed=seed,
        keys=keys or Keys.from_seed(seed), token_key=token_key, codes=by_column(codes), progress=progress,
    )  # fmt: skip
    # What one algorithm was told of levels is not the table's, which another may be run on.
    return replace(made := run.release(), table=made.table.knowing(research=given))


@dataclass(frozen=True, eq=False, kw_only=True)
class Run:
    """One table on its way to a release: what is asked of it, and the steps."""

    table: Table
    method: Algorithm
    models: list[Model]
    output: Output
    engine: Engine
    keys: Keys
    seed: int | None
    token_key: SecretKey | None
    codes: Mapping[str, Secret]
    progress: Progress

    def release(self) -> Release:
        """Judge what is asked, recode, attack, describe and gate, in this order."""
        started, method, output, progress = time.perf_counter(), self.method, self.output, self.progress
        table, rows, judge = self.table, *self._opened(self.table)
        empty = vacuous(judge, method.share_allowed(table.n))
        refuse_beforehand(rows, judge, empty, output, method)
        refuse_first(person_refusals(table.domain, [table.kept], output.acknowledged, models=bool(self.models)))

        # A workload guides the algorithm alone: measures and gate see the table as it is.
        preferred = with_preferences(table)
        guided = rows if preferred is table else self.engine.open(preferred)
        recoding = method.run(self._problem(guided, judge))
        if recoding.counterfeits is not None:
            table, recoding = with_counterfeits(table, recoding)
            rows, judge = self._opened(table)

        progress("judging the classes")
        recoded = with_items(apply_recoding(rows, recoding), asked_items(judge))
        refuse_misfits(recoded, self.models, output.suppressed, method.kind)
        held = enforce(recoded, judge, method.share_allowed(table.n), method.limit_words, output.suppressed)
        released, keys_used = pseudonymise(held, self.keys, self.token_key, self.codes)
        refuse_broken(wanted := research_facts(released.price_stats()), method.name)
        published = publish_tables(released, self.keys, suppressed=output.suppressed, order=output.order)

        progress("attacking it")
        measured = attack_release(released, self.keys)
        refuse_measured(measured.telling, output.acknowledged)

        progress("checking every cell at the gate")
        manifest = describe(
            table.domain, self.models, version=VERSION, output=output, released=released, published=published,
            figures=measured.figures,
        )  # fmt: skip
        report = pass_gate(released, published, manifest, self.models, output)

        progress("measuring")
        evidence = {
            "secret": self.keys.secret,
            "seed": self.seed,
            "algorithm": method.parameters(),
            "models": [model.parameters() for model in self.models],
            **_facts(released, measured),
            **preference_facts(self.table, preferred),
            "research": wanted,
            **risk_facts(released, published),
            "split_verdicts": split_verdicts(released, judge),
            "other_references": other_references(released, judge),
            "vacuous": [{"model": model.parameters(), "on": list(on or ())} for model, on in empty],
            "seconds": time.perf_counter() - started,
        }
        return Release(
            gated=_gated(published, with_verdicts(manifest, report)),
            verdict=report.verdicts,
            checks=report.checks,
            evidence=evidence,
            released=released,
            table=table,
            source=_frozen(published.source),
            secrets=(*recoding.secrets, *keys_used),
        )

    def _problem(self, rows: Rows, judge: Judge) -> Problem:
        """What the method is given."""
        return Problem(rows=rows, judge=judge, keys=self.keys, codes=self.codes, progress=self.progress)

    def _opened(self, table: Table) -> tuple[Rows, Judge]:
        """The rows of a table, ready to be counted, and the models with what they compare classes with."""
        rows = self.engine.open(table)
        return rows, Judge(self.models, whole_reference(rows, self.models))


def _facts(released: Released, measured: Measured) -> dict[str, Any]:
    """What was found out about a release; private, since it tells about suppressed people too."""
    table = released.table
    priced = released.price_stats()
    return {
        **release_facts(released),
        "search": dict(released.recoding.notes),
        "chosen": chosen(released),
        "items": dict(released.items),
        "counts": {
            "read": table.n_read,
            "dropped": table.n_dropped,
            "suppressed": released.n_suppressed,
            "released": table.n - released.n_suppressed,
            "counterfeits": table.counterfeits,
            "classes": released.n_classes,
            "clusters": released.groups,
        },
        "measures": every_score(priced),
        "overlaps": overlap_report(released) if released.made.generalises else [],
        "attacks": list(measured.figures),
        "attack_notes": list(measured.notes),
    }


def _gated(published: Published, manifest: dict[str, Any]) -> Gated:
    """What the gate judged, put away: nothing that is handed out leads back to it."""
    tables = {"release": published.frame} | ({} if published.apart is None else {"sensitive": published.apart})
    return Gated(
        kept=MappingProxyType({name: frame.clone() for name, frame in tables.items()}),
        stamps=MappingProxyType({name: frame_stamp(frame) for name, frame in tables.items()}),
        manifest=manifest_bytes(manifest),
        report=release_html(manifest).encode(),
    )


def _frozen(rows: np.ndarray) -> np.ndarray:
    rows = rows.copy()
    rows.setflags(write=False)
    return rows


# ----------------------------------------
# Carrying out a recipe: read, anonymise, gate, keep the secrets, write.


def run(
    recipe: Recipe | Mapping[str, Any] | str | Path,
    *,
    replace: bool = False,
    resume: bool = False,
    key: Key | None = None,
    progress: Progress = lambda step: None,
) -> Release | Written:
    """Read, anonymise, gate and write what a recipe describes; returns the release.

    Where the recipe's engine keeps the rows, what comes back is what is known of it without them.

    Parameters
    ----------
    recipe
        A file, or its tables as nested mappings, whose paths are then as seen from the working folder.
    replace
        Swap an earlier release, and its entry in the vault, for this one.
    resume
        Keep what is read of the source in the scratch folder until a run succeeds, and take up what an earlier one
        has kept there (engine ``duckdb``).
    key
        What opens the vault and the registry that the recipe names (`shoal.vault.Key`).
    """
    recipe = settled(as_recipe(recipe))
    folder = recipe.resolve(recipe.output.folder)
    settle(folder.resolve())
    refuse_unlogged(recipe)
    return _carry_out(recipe, folder, replace=replace, resume=resume, key=key, progress=progress)


def _carry_out(
    recipe: Recipe, folder: Path, *, replace: bool, resume: bool, key: Key | None, progress: Progress
) -> Release | Written:
    """Read, anonymise, gate and write."""
    if resume or keeps_rows(recipe):
        if resume:
            refuse_unresumed(recipe)
        secrecy = _secrecy(recipe, key, replace)
        return run_stream(recipe, replace=replace, resume=resume, secrecy=secrecy, progress=progress)
    source = recipe.resolve(recipe.source.file)
    check_output(folder, None if source.is_dir() else source, replace=replace)  # reading says that it takes no folder
    keeper = _keeper(recipe, key, replace)
    memory = remembered(recipe, key)
    token_key = keeper.token_key if keeper else None
    release, memory = _anonymize_recipe(
        recipe, token_key=token_key, codes=given_codes(recipe, key), memory=memory, progress=progress
    )
    progress("writing")
    if keeper is not None:
        keeper = keeper.with_secrets(release.secrets)
    release = dataclasses.replace(release, evidence={**release.evidence, "vault": keeper and keeper.facts()})
    # The release that is returned names no log, so writing it elsewhere adds no line.
    logged = dataclasses.replace(release, evidence={**release.evidence, "log": log_of(recipe)})
    holders: list[Holder] = [holder for holder in (keeper, memory) if holder is not None]
    write_release(
        logged, folder, replace=replace, format=recipe.output.format, formulas=recipe.output.formulas, holders=holders,
        copies=recipe.output.copies, labels=read_labels(recipe.resolve(recipe.source.file)),
    )  # fmt: skip
    return release


def keeps_rows(recipe: Recipe) -> bool:
    """Whether a recipe's engine keeps the rows, and opens sources instead of tables in memory."""
    name = recipe.engine.name
    return name in names("engine") and not hasattr(load("engine", name), "open")


def as_recipe(given: Recipe | Mapping[str, Any] | str | Path, base: Path = Path()) -> Recipe:
    """A recipe, given as one, as its file, or as nested mappings with paths relative to ``base``."""
    if isinstance(given, Recipe):
        return given
    return parse_recipe(tomlkit.dumps(given), base) if isinstance(given, Mapping) else load_recipe(Path(given))


def _keeper(recipe: Recipe, key: Key | None, replace: bool) -> Keeper | None:
    """How the secrets of a release will be kept, after checking before any work that they can be."""
    refuse_unkept(recipe)
    if recipe.output.vault is None:
        return None
    from shoal.vault.files import open_keeper

    return open_keeper(recipe, key, replace=replace, coded=_is_coded(recipe))


def _secrecy(recipe: Recipe, key: Key | None, replace: bool) -> Secrecy:
    """The same for a run that writes as it goes."""
    keeper = _keeper(recipe, key, replace)
    return Secrecy(
        token_key=keeper.token_key if keeper else None,
        codes=given_codes(recipe, key),
        kept=lambda secrets: keeper.with_secrets(secrets) if keeper else None,
    )


def _is_coded(recipe: Recipe) -> bool:
    """Whether the method, or a column's code, makes secrets."""
    codes = any(entry.code is not None for entry in recipe.columns.values())
    return codes or bool(load("algorithm", recipe.algorithm["name"]).kind.undone)


def given_codes(recipe: Recipe, key: Key | None) -> list[Secret]:
    """The mappings and gradings that a recipe gives: of a file, or of an entry of its vault where there is a key."""
    named = recipe.output.codes
    if named is None:
        return []
    from shoal.vault.files import load, read_secrets

    if named.endswith(".json"):
        found = read_secrets(recipe.resolve(named))
    elif recipe.output.vault is None:
        raise RecipeError(
            f"The codes '{named}' under [output] are an entry of a vault, and none is named: name it, or a .json file."
        )
    elif key is None:
        return []
    else:
        found = load(recipe.resolve(recipe.output.vault), key, named)
    codes = [one for one in found if not isinstance(one, SecretKey)]
    if not codes:
        raise RecipeError(
            f"The codes '{named}' under [output] hold no mapping and no grading: name others, or leave them out."
        )
    return codes


def refuse_unkept(recipe: Recipe) -> None:
    """Refuse a coded release whose secrets nobody keeps, and a vault or a key with nothing to keep or to make."""
    output = recipe.output
    if output.token_key is not None and (output.vault is None or not recipe.roles.pseudonym):
        lacking = "a vault, which keeps the key" if output.vault is None else "a column with the role 'pseudonym'"
        raise RecipeError(f"The token_key under [output] needs {lacking}: add it, or remove the token_key.")
    shifts = any(entry.shift is not None for entry in recipe.columns.values())
    has_secrets = _is_coded(recipe) or shifts or bool(recipe.roles.pseudonym)
    if output.vault is None and has_secrets and not output.discard_secret:
        raise RecipeError(
            "This release would be coded, and nothing keeps what undoes it: name a vault under [output], or set "
            "discard_secret = true there."
        )
    if output.vault is not None and (output.discard_secret or not has_secrets):
        why = "discard_secret is set" if output.discard_secret else "this release has no secrets"
        raise RecipeError(f"There is a vault under [output], and {why}: remove one of the two.")


def remembered(recipe: Recipe, key: Key | None) -> Memory | None:
    """The registry of earlier releases that a recipe names, opened, or None."""
    from shoal.vault.registry_file import open_memory

    return open_memory(recipe, key)


def anonymize_recipe(
    recipe: Recipe,
    *,
    token_key: SecretKey | None = None,
    codes: Sequence[Secret] | None = None,
    memory: Memory | None = None,
    progress: Progress = lambda step: None,
) -> Release:
    """The same without writing anything.

    Parameters
    ----------
    token_key
        The key that the recipe names; without it a fresh one takes its place, and the tokens are good for nothing.
    codes
        The codes that the recipe gives; by default those of a file, while those of a vault are made afresh.
    memory
        The registry that the recipe names; without it the release is held against no earlier one.
    """
    return _anonymize_recipe(recipe, token_key=token_key, codes=codes, memory=memory, progress=progress)[0]


def _anonymize_recipe(
    recipe: Recipe,
    *,
    token_key: SecretKey | None,
    codes: Sequence[Secret] | None,
    memory: Memory | None,
    progress: Progress,
) -> tuple[Release, Memory | None]:
    """The release, and the memory with it, neither of them written."""
    _methods(recipe)  # a parameter that cannot be is told before anything is read
    known_limits(recipe.limits, RISKS, recipe.roles.sensitive)
    progress("reading")
    table = read_table(recipe)
    if memory is not None:
        memory.refuse_strangers(table, recipe.acknowledge)
    algorithm, models = _methods(recipe)
    wanted = [] if memory is None else all_models(table.domain, models, algorithm)
    history = None if memory is None else memory.history_of(table, wanted)
    release = anonymize_table(recipe, table, token_key=token_key, codes=codes, history=history, progress=progress)
    source = str(recipe.resolve(recipe.source.file))
    private: dict[str, Any] = {"recipe": dump_recipe(recipe), "source_path": source, "base": str(recipe.base.resolve())}
    if recipe.output.format == "csv" and recipe.output.formulas == "keep":
        private["formulas"] = count_formulas(release.gated.kept)
    if recipe.review is not None:
        from shoal.risk.attacks.run import attacked_briefly
        from shoal.utility.evaluate import reviewed

        progress("measuring what reviewers ask for")
        private |= {"review": recipe.review.stated(), "utility": reviewed(release)}
        private["attacked"] = attacked_briefly(release)
    if recipe.limits:
        progress("holding it against its limits")
        private |= {"limits": refuse_over_limits(recipe.limits, release)}
    if memory is not None:
        progress("holding it against earlier releases")
        memory, private["registry"] = memory.with_release(release, wanted)
    return dataclasses.replace(release, evidence={**release.evidence, **private}), memory


def anonymize_table(
    recipe: Recipe,
    table: Table,
    *,
    token_key: SecretKey | None = None,
    codes: Sequence[Secret] | None = None,
    history: History | None = None,
    progress: Progress = lambda step: None,
) -> Release:
    """What a recipe does to a table that was read already, or to a part of it; its limits are not looked at."""
    if recipe.output.token_key is not None and token_key is None and recipe.roles.pseudonym:
        token_key = SecretKey(recipe.roles.pseudonym[0], secrets.token_bytes(KEY_BYTES))
    algorithm, models = _methods(recipe)
    return anonymize(
        table,
        algorithm=algorithm,
        models=models,
        seed=recipe.seed,
        acknowledge=recipe.acknowledge,
        suppressed=recipe.output.suppressed,
        order=recipe.output.order,
        neutral_limit=recipe.output.neutral_limit,
        date=recipe.output.date,
        review=None if recipe.review is None else recipe.review.published(),
        engine=recipe.engine.name,
        token_key=token_key,
        codes=given_codes(recipe, None) if codes is None else codes,
        history=history,
        progress=progress,
    )


def _methods(recipe: Recipe) -> tuple[Algorithm, list[Model]]:
    return make("algorithm", recipe.algorithm), [make("model", spec) for spec in recipe.models]


@contextmanager
def open_rows(
    recipe: Recipe | Mapping[str, Any] | str | Path, progress: Progress = lambda step: None
) -> Iterator[PeopledRows]:
    """The rows that a recipe names, coded, with its engine to count them: for `shoal.assess` and `shoal.discover`.

    They are in memory only where the engine keeps none elsewhere. A recipe may be nested mappings, as for :func:`run`.
    """
    recipe = as_recipe(recipe)
    progress("reading")
    if keeps_rows(recipe):
        with opened(recipe, Keys.from_seed(recipe.seed), progress) as rows:
            yield rows
    else:
        yield load("engine", recipe.engine.name)().open(read_table(recipe))


def verify_release(folder: str | Path, *, progress: Progress = lambda step: None) -> GateReport:
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


# ----------------------------------------
# From a source that need not fit into memory to a gated release on disk: `pipeline` for rows that an engine keeps.
#
# The steps are those of :class:`shoal.release.run.Run`. What differs is that nobody ever holds all rows: the search
# looks at the frequency table, rows are published batch by batch, and the gate sees each batch, beside the rows
# that it comes from, before it is written.


# Bytes that a run may take where nobody says.
MEMORY = 4 << 30


@dataclass(frozen=True, eq=False, kw_only=True)
class Stream:
    """One open source on its way to a written release.

    Attributes
    ----------
    memory
        Bytes that it may take.
    token_key
        What tokens and offsets of dates follow from; by default fresh keys.
    codes
        Mappings and gradings that are given, by column.
    """

    rows: KeptRows
    method: Algorithm
    models: Sequence[Model]
    output: Output
    keys: Keys
    seed: int | None
    progress: Progress
    memory: int = MEMORY
    token_key: SecretKey | None = None
    codes: Mapping[str, Secret] = field(default_factory=dict)

    def prepared(self) -> tuple[KeptRows, Judge]:
        """The rows with all that is known before a search, and the models with what they compare classes with."""
        rows, method = self.rows, self.method
        rows = rows.knowing(researched(rows.domain, rows.joined, method.research, method.kind))
        models = all_models(rows.domain, self.models, method)
        bring_terms(model.name for model in models)
        refuse_idle_key(rows.domain.schema, self.token_key)
        refuse_uncodable(rows.domain, method.kind)
        rows = rows.knowing(crowded(rows.domain, smallest_class(models), rows.people_with))
        return rows, Judge(models, whole_reference(rows, models))

    def searched(self, rows: KeptRows, judge: Judge) -> Recoding:
        """What the method makes of the rows: of their frequency table, or part by part."""
        problem = Problem(rows=rows, judge=judge, keys=self.keys, codes=self.codes, progress=self.progress)
        method = self.method
        if not isinstance(rows, StoredRows):
            if method.by_cells(rows.domain):
                self._refuse_too_many_cells(rows)
            return method.run(problem)
        most = rows.most(self.memory)
        # Cells take what rows take, where they are grouped as these are.
        few = min(most, rows.most_cells(self.memory))
        if method.by_cells(rows.domain) and (not method.in_parts or rows.holds_cells(few)):
            self._refuse_too_many_cells(rows)
            return method.run(problem)
        if method.in_parts:
            return grouped_in_parts(method, problem, rows, most)
        self._refuse_too_many(rows, f"The algorithm '{method.name}'")
        return method.run(replace(problem, rows=rows.fetched(None, judge.attributes)))

    def _refuse_too_many(self, rows: KeptRows, what: str) -> None:
        """Refuse what looks at all records at once where memory does not hold them."""
        n = rows.domain.n
        if isinstance(rows, StoredRows) and n > rows.most(self.memory):
            raise InputError(
                f"{what} looks at all records at once as it is set here, and {n:,} of them need "
                f"{rows.needed(n) / 1e9:.1f}GB: give 'memory' under [engine] as much, or use an algorithm such as "
                "'optimal' or 'mondrian' and models of class sizes and values."
            )

    def _holds_cells(self, rows: KeptRows) -> bool:
        """Whether memory holds the frequency table."""
        return rows.holds_cells(rows.most_cells(self.memory))

    def _refuse_too_many_cells(self, rows: KeptRows) -> None:
        """Refuse a frequency table that memory does not hold."""
        if not self._holds_cells(rows):
            count = rows.n_cells()
            parts = isinstance(rows, StoredRows)
            other = "a method that goes part by part, such as 'mondrian'" if parts else "the engine 'duckdb'"
            raise InputError(
                f"The algorithm '{self.method.name}' searches the frequency table, and its {count:,} combinations "
                f"need, with the values in them, {rows.cells_needed(count) / 1e9:.1f}GB: give 'memory' under [engine] "
                f"as much, code these columns more coarsely, or use {other}."
            )

    def judged(self) -> Judged:
        """Search, recode and judge the classes: all that does not need the rows one by one."""
        started, method, output = time.perf_counter(), self.method, self.output
        refuse_unknown_codes(output.acknowledged)
        rows, judge = self.prepared()
        refuse_unheld(rows, self.memory)
        models = judge.models
        empty = vacuous(judge, method.share_allowed(rows.domain.n))
        refuse_beforehand(rows, judge, empty, output, method)
        self.progress("looking for people with several rows")
        refuse_first(person_refusals(rows.domain, person_frames(rows), output.acknowledged, models=bool(models)))
        recoding = self.searched(rows, judge)
        if judge.needs_breaches:
            self._refuse_too_many(rows, "The model 'personalised'")
        self.progress("judging the classes")
        recoded = apply_recoding(rows, recoding)
        refuse_misfits(recoded, models, output.suppressed, method.kind)
        held = enforce(recoded, judge, method.share_allowed(rows.domain.n), method.limit_words, output.suppressed)
        released, secrets = pseudonymise(held, self.keys, self.token_key, self.codes)
        wanted = research_facts(released.price_stats())
        refuse_broken(wanted, method.name)
        attacked = self._attacked(released, rows)
        evidence = {
            "secret": self.keys.secret,
            "seed": self.seed,
            "algorithm": method.parameters(),
            "models": [model.parameters() for model in models],
            "search": dict(released.recoding.notes),
            "chosen": chosen(released),
            "items": dict(released.items),
            "counts": _counts(released, rows),
            **release_facts(released),
            "measures": every_score(attacked.measurable.price_stats()),
            "overlaps": overlap_report(released) if released.made.generalises else [],
            "attacks": list(attacked.measured.figures),
            "attack_notes": [*attacked.measured.notes, *attacked.notes],
            "research": wanted,
            **counted_facts(released, cells=self._holds_cells(rows)),
            "split_verdicts": split_verdicts(released, judge),
            "other_references": other_references(released, judge),
            "vacuous": [{"model": model.parameters(), "on": list(on or ())} for model, on in empty],
            "seconds": time.perf_counter() - started,
        }
        released.forget()
        rows.forget()
        # What one algorithm was told of levels is not the source's.
        kept = rows.knowing(replace(rows.domain, research=self.rows.domain.research))
        return Judged(
            rows=kept, released=released, models=models, output=output, evidence=evidence, progress=self.progress,
            keys=self.keys, figures=attacked.measured.figures, secrets=(*recoding.secrets, *secrets),
        )  # fmt: skip

    def _attacked(self, released: Released, rows: KeptRows) -> Attacked:
        """What attacks find, after refusing what nobody accepted."""
        self.progress("attacking it")
        most = rows.most(self.memory) if isinstance(rows, StoredRows) else SAMPLE
        found = attack_stream(released, rows, self.keys, most)
        refuse_measured(found.measured.telling, self.output.acknowledged)
        return found


def _counts(released: Released, rows: KeptRows) -> dict[str, int]:
    return {
        "read": rows.known.n_read,
        "dropped": rows.known.n_read - rows.domain.n,
        "suppressed": released.n_suppressed,
        "released": rows.domain.n - released.n_suppressed,
        "counterfeits": 0,
        "classes": released.n_classes,
        "clusters": released.groups,
    }


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged:
    """A release whose classes hold, before its rows are published."""

    rows: KeptRows
    released: Released
    models: Sequence[Model]
    output: Output
    evidence: Mapping[str, Any]
    progress: Progress
    keys: Keys
    figures: Sequence[AttackFigure] = ()
    secrets: Sequence[Secret] = ()

    def fill(self, folder: Path, *, format: str, formulas: str) -> Written:
        """Write data, manifest and report into an empty folder, each row gated before it is written."""
        data = Growing(folder / f"release.{format}", self.rows.private("judged"), formulas)
        values = Growing(folder / f"sensitive.{format}", self.rows.private("judged-values"), formulas)
        public, found = self.gated(data.add, values.add, lambda: data.judged)
        entry = data.finish(values.finish() if values.rows else None)
        self.progress("reading back what was written")
        page = release_html(public).encode()
        (folder / "report.html").write_bytes(page)
        public |= {
            "data": entry,
            "report": {"file": "report.html", "sha256": hashlib.sha256(page).hexdigest()},
        }
        (folder / "manifest.json").write_bytes(manifest_bytes(public))
        said = {name: (folder / name).read_bytes() for name in ("manifest.json", "report.html")}
        leaks = Leaks(said, sayable(self.released.public_domain, self.evidence["models"]))
        given = {"release": data.given} | ({"sensitive": values.given} if values.rows else {})
        with ThreadPoolExecutor(1, "shoal-again") as pool:
            # One writes them anew while the other reads them; where either fails, what has begun is waited for.
            alone = [pool.submit(one.refuse_more) for one in (data, *([values] if values.rows else []))]
            try:
                check_staged(folder, given, see=leaks.see, ahead=ahead)
                for one in alone:
                    one.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
        self._refuse_leaks(leaks)
        counted = {"formulas": data.formulas + values.formulas} if format == "csv" and formulas == "keep" else {}
        types = data.judged.collect_schema().dtypes()
        return replace(found, manifest=public, evidence={**found.evidence, **counted}, types=types)

    def gated(
        self,
        add: Callable[[pl.DataFrame], None],
        add_values: Callable[[pl.DataFrame], None] = lambda frame: None,
        judged: Callable[[], pl.LazyFrame] = pl.LazyFrame,
    ) -> tuple[dict[str, Any], Written]:
        """Publish all rows batch by batch, each seen by the gate before it is added to anything.

        Parameters
        ----------
        add, add_values
            Are given the released rows, and the sensitive values that stand in a table of their own.
        judged
            Gives the released rows that were added, of a release whose sensitive values are shuffled.

        Returns
        -------
        tuple of dict and Written
            The manifest, without what only writing can tell, and what was found.
        """
        domain, output = self.rows.domain, self.output
        manifest = describe(
            domain, self.models, version=VERSION, output=output, released=self.released,
            published=Showing(self.rows, self.released, self._group), figures=self.figures,
        )  # fmt: skip
        gate, placing = Gate(self._setting(manifest)), self.rows.placing(self.released.classmap)
        publisher = Publisher(
            classes=placing, publishing=Publishing(self.released, output.suppressed),
            drop=output.suppressed == "drop", columns=domain.columns, rewriting=self.released.rewriting,
        )  # fmt: skip
        seen, given, buckets = 0, publish_Given(self.rows, self.released), self._buckets(publisher)
        found = self.rows.published(publisher, output.order) if buckets is None else buckets.published()
        # Rows are put in the order of the release while the gate reads them in that of the source.
        with begun(given.beside(found)) as published:
            digest = self._input_read(gate, given, placing)
            for released in published:
                gate.see(released)
                add(released.released)
                seen += released.released.height
                self.progress(f"checking and writing: {seen:,} rows")
        if buckets is not None:
            for batch, classes, frame in buckets.valued(judged()):
                rows = given.rows_of(batch, classes)
                gate.see_values(Batch(released=frame, source=batch.rows, rows=rows), apart=buckets.apart)
                if buckets.apart:
                    add_values(frame)
        report = gate.report()
        refuse_failed(report)
        public = json.loads(manifest_bytes(with_verdicts(manifest, report)))
        evidence = {**self.evidence, "input_hash": digest}
        return public, Written(manifest=public, verdict=report.verdicts, checks=report.checks, evidence=evidence)

    def _input_read(self, gate: Gate, given: publish_Given, placing: Callable[[StoredBatch], np.ndarray]) -> str:
        """Show the gate all rows of the source; gives their keyed hash, by each different value once."""
        digest = hmac.new(self.evidence["secret"], digestmod=hashlib.sha256)
        for values in self.rows.known.ordered.values():
            digest.update(row_bytes(values.to_frame()))
        for batch, told in ahead((batch, row_bytes(batch.ranked)) for batch in self.rows.batches("kept")):
            gate.read(given.rows_of(batch, placing(batch) if given.represented else None))
            digest.update(told)
            self.progress(f"reading for the gate: {int(batch.rows[-1]) + 1:,} of {self.rows.domain.n:,} rows")
        return digest.hexdigest()

    @property
    def _group(self) -> str | None:
        """Name of the column of group numbers, None where there are no groups."""
        return group_name(self.rows.domain.types) if self.released.made.has(Trait.GROUPS) else None

    def _buckets(self, publisher: Publisher) -> Buckets | None:
        """Who publishes sensitive values by group, None where they stand beside their records."""
        if self._group is None:
            return None
        assert isinstance(self.rows, StoredRows)  # others were refused before
        return Buckets(
            rows=self.rows, released=self.released, publisher=publisher, keys=self.keys, order=self.output.order
        )  # fmt: skip

    def refuse_telling(self, manifest: Mapping[str, Any], released: Iterable[pl.DataFrame]) -> None:
        """Refuse a manifest that tells what was read and is not among the released rows."""
        terms = sayable(self.released.public_domain, self.evidence["models"])
        leaks = Leaks({"manifest.json": manifest_bytes(manifest)}, terms)
        for frame in released:
            leaks.see(frame)
        self._refuse_leaks(leaks)

    def _setting(self, manifest: Mapping[str, Any]) -> Setting:
        domain, public = self.rows.domain, self.released.public_domain
        dropped = self.released.n_suppressed
        return Setting(
            manifest=dict(manifest),
            suppressed=self.rows.suppressed(self.released.classmap) if dropped else np.zeros(0, dtype=np.int64),
            n_read=self.rows.known.n_read,
            n_dropped=self.rows.known.n_read - domain.n,
            neutral_limit=self.output.neutral_limit,
            acknowledged=sorted(self.output.acknowledged),
            uncoded=uncoded_columns(self.released, self.models),
            hierarchies=whole_hierarchies(public),
            policies=whole_policies(public),
            grids=grids(public),
            steps=declared_steps(domain),
            inferred=inferred_types(domain),
            left_out=self.rows.left_out(naming(domain.schema)),
            across_classes=domain.schema.across_classes,
            population=None if domain.population is None else domain.population.frame,
            population_counts=None if domain.population is None else domain.population.counts,
        )

    def _refuse_leaks(self, leaks: Leaks) -> None:
        """Refuse files that tell what was read and is not released."""
        known = self.rows.known
        for name, column in [*known.plain.items(), *known.parsed.items(), *known.dropped.items()]:
            leaks.read(name, column)
        if known.subjects is not None:
            leaks.read(self.rows.domain.schema.subject or "", known.subjects)
        for others in self.rows.others():
            for series in others.get_columns():
                leaks.read(series.name, series)
        check = leaks.report()
        if not check.passed:
            raise GateError(f"The gate refused the release, so nothing is written: {check.detail}")


# ----------------------------------------
# Carrying out a recipe whose rows an engine keeps: read, search, gate and write, batch by batch.


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
            roles = settled(recipe).roles
            source = draw_batches(found, recipe.sample, keys, subject=roles.subject, key=roles.key)
        with opened_on(recipe, source, keys, progress, resume=resume) as rows:
            yield rows


@contextmanager
def source_of(recipe: Recipe) -> Iterator[Any]:
    """Where the rows are, as the engine of a recipe takes them."""
    if recipe.engine.name == CLUSTER:
        from shoal.release.spark import spark_source

        with spark_source(recipe) as frame:
            yield frame
    else:
        yield open_source(recipe)


@contextmanager
def opened_on(
    recipe: Recipe, source: Any, keys: Keys, progress: Progress, *, resume: bool = False
) -> Iterator[KeptRows]:
    """The same of a source that is open."""
    build, schema = told_by(recipe).table, schema_of(recipe)
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


def memory_of(recipe: Recipe) -> int:
    """Bytes that a recipe lets its engine take."""
    given = recipe.engine.memory
    return MEMORY if given is None else memory_bytes(given)


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
