"""Carrying out a recipe: read, anonymise, gate, keep the secrets, write."""

from __future__ import annotations

import dataclasses
import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomlkit

from shoal.algorithms.base import Algorithm
from shoal.catalogue import load, make, names
from shoal.data.domain import History
from shoal.data.keys import Keys
from shoal.data.rows import PeopledRows
from shoal.data.table import Table
from shoal.errors import RecipeError
from shoal.io.cell_format import count_formulas
from shoal.io.copies import compare_copies
from shoal.io.hash_chain import log_of, refuse_unlogged
from shoal.io.output import check_output, read_release, write_release
from shoal.io.statistics_files import read_labels
from shoal.io.transaction import Holder
from shoal.io.transaction import resume as settle
from shoal.io.vouching import bring_vouched
from shoal.models.base import Model
from shoal.models.feasibility import all_models
from shoal.pipeline import Progress, anonymize
from shoal.recipe.profiles import refuse_unfit
from shoal.recipe.recipe import Recipe, dump_recipe, load_recipe, parse_recipe
from shoal.recipe.source import read, settled
from shoal.recoding.secrets import KEY_BYTES, Secret, SecretKey
from shoal.reports.release import release_html
from shoal.results import Release, Written
from shoal.risk.attacks.limits import RISKS, known_limits, refuse_over_limits
from shoal.verify.folder import open_folder
from shoal.verify.recheck import Recheck
from shoal.verify.report import Check, GateReport
from shoal.version import VERSION

if TYPE_CHECKING:
    from shoal.streaming.recipes import Secrecy
    from shoal.utility.unbiased import Estimate
    from shoal.vault.keeper import Keeper
    from shoal.vault.remembering import Memory
    from shoal.vault.seal import Key


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
        from shoal.streaming.recipes import refuse_unresumed, run_stream

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
    from shoal.vault.keeper import open_keeper

    return open_keeper(recipe, key, replace=replace, coded=_is_coded(recipe))


def _secrecy(recipe: Recipe, key: Key | None, replace: bool) -> Secrecy:
    """The same for a run that writes as it goes."""
    from shoal.streaming.recipes import Secrecy

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
    from shoal.vault.remembering import open_memory

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
    table = read_recipe_source(recipe)
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


def read_recipe_source(recipe: Recipe) -> Table:
    """The table a recipe names, coded."""
    source, roles = recipe.source, recipe.roles
    table = read(
        source.file,
        name=source.name, columns=source.columns, separator=source.separator, sheet=source.sheet,
        encoding=source.encoding, decimal=source.decimal, thousands=source.thousands,
        unpack_limit=source.unpack_limit,
        missing_markers=source.missing_markers, missing=source.missing, population=source.population,
        sample=None if recipe.sample is None else recipe.sample.model_dump(),
        seed=recipe.seed, base=recipe.base, weights=recipe.weights,
        workload=None if recipe.workload is None else recipe.workload.model_dump(),
        research=None if recipe.research is None else recipe.research.model_dump(exclude_defaults=True),
        hierarchies=recipe.hierarchies,
        policies={name: entry.model_dump(by_alias=True) for name, entry in recipe.policies.items()},
        settings={name: entry.model_dump() for name, entry in recipe.columns.items()},
        **roles.model_dump(),
    )  # fmt: skip
    refuse_unfit(recipe, table)
    return table


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
        from shoal.streaming.recipes import opened

        with opened(recipe, Keys.from_seed(recipe.seed), progress) as rows:
            yield rows
    else:
        yield load("engine", recipe.engine.name)().open(read_recipe_source(recipe))


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
