"""From a table and models to a gated release. START HERE to see how the parts fit together.

An algorithm puts records in groups (or rewrites values), an engine counts them, a model judges the counts, a measure
prices the result, an attack tries what is not protected, and the verifier trusts none of them. A release that the gate
does not pass is never returned.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Collection, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.attacks.required import Measured, attack_release
from shoal.catalogue import load, working
from shoal.errors import GateError, ParameterError, RefusalError
from shoal.evaluation.workload import preference_facts, with_preferences
from shoal.io.describe import describe, uncoded_columns, whole_hierarchies, whole_policies
from shoal.io.evidence import frame_stamp
from shoal.io.manifest import manifest_bytes
from shoal.io.vouching import bring_terms
from shoal.judging.enforce import enforce
from shoal.judging.feasible import refuse_infeasible, vacuous, whole_reference
from shoal.judging.refusals import (
    refuse_measured,
    refuse_neutral,
    refuse_settings,
    refuse_unknown_codes,
    refuse_unprotected,
)
from shoal.judging.splits import other_references, split_verdicts
from shoal.models.base import Model, smallest_class
from shoal.models.judge import Judge
from shoal.params import choice, iso_date
from shoal.pseudonyms.columns import pseudonymise, refuse_idle_key
from shoal.pseudonyms.secrets import SecretKey
from shoal.recoding.applied import Released, apply_recoding
from shoal.recoding.counterfeits import with_counterfeits
from shoal.recoding.overlaps import overlap_report
from shoal.recoding.publish import Published, behind_representatives, publish_tables
from shoal.recoding.recodings import Recoding
from shoal.recoding.snap import grids
from shoal.reports.release import release_html
from shoal.results import Gated, Release
from shoal.risk.beside import before_and_after
from shoal.table.domain import Domain
from shoal.table.history import History
from shoal.table.keys import Keys
from shoal.table.table import Table, iso_dates, with_crowd
from shoal.verify import gate
from shoal.verify.types import GateCase, GateReport
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
    token_key: SecretKey | None = None,
    history: History | None = None,
    date: datetime.date | str | None = None,
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
    token_key
        Tokens and date offsets follow from it, so that releases made with it can be joined; by default from fresh keys.
    history
        What earlier releases left of the rows' people (``Registry.history_of``), for the model ``m-invariance``.
    date
        What manifest and report are dated with; they have no date of their own accord, so that the same table and
        secret give the same bytes on every day.
    """
    started = time.perf_counter()
    chosen = load("algorithm", algorithm)() if isinstance(algorithm, str) else algorithm
    choice("the output", "suppressed", suppressed, ("drop", "star"))
    choice("the output", "order", order, ("shuffled", "kept"))
    refuse_unknown_codes(acknowledge)
    table = table if history is None else table.remembering(history)
    wanted = all_models(table.domain, models, chosen)
    bring_terms(model.name for model in wanted)
    opened = load("engine", engine)()
    keys = keys or Keys.from_seed(seed)

    table = with_crowd(table, smallest_class(wanted))
    rows = opened.open(table)
    judge = Judge(wanted, whole_reference(rows, wanted))
    empty = vacuous(judge, chosen.suppression_limit)
    refuse_unprotected(table.domain, wanted, empty, acknowledge, chosen.kind)
    refuse_settings(table.domain, order, acknowledge)
    refuse_neutral(rows, neutral_limit, chosen.suppression_limit, acknowledge, chosen.kind)
    refuse_idle_key(table, token_key)
    if not chosen.invents:
        refuse_infeasible(judge, chosen.suppression_limit)

    # A workload guides the algorithm alone: measures and gate see the table as it is.
    given, preferred = table, with_preferences(table)
    guided = rows if preferred is given else opened.open(preferred)
    recoding = chosen.run(Problem(rows=guided, judge=judge, keys=keys, progress=progress))
    if recoding.counterfeits is not None:
        table, recoding = with_counterfeits(table, recoding)
        rows = opened.open(table)
        judge = Judge(wanted, whole_reference(rows, wanted))
    progress("judging the classes")
    recoded = apply_recoding(rows, recoding)
    refuse_misfits(recoded, wanted, suppressed)
    released, keys_used = pseudonymise(enforce(recoded, judge, chosen.suppression_limit), keys, token_key)
    published = publish_tables(released, keys, suppressed=suppressed, order=order)
    progress("attacking it")
    measured = attack_release(released, keys)
    refuse_measured(measured.telling, acknowledge)

    progress("checking every cell at the gate")
    parameters = [model.parameters() for model in wanted]
    manifest = describe(
        table,
        wanted,
        version=VERSION,
        suppressed=suppressed,
        order=order,
        acknowledged=sorted(acknowledge),
        released=released,
        published=published,
        figures=measured.figures,
        joinable=token_key is not None,
        date=None if date is None else iso_date("the output", "date", date),
    )
    report = _pass_gate(released, published, manifest, wanted, neutral_limit, acknowledge)
    manifest |= {
        "verdicts": [_plain(verdict) for verdict in report.verdicts],
        "classes": dict(report.classes),
    }
    progress("measuring")
    evidence = {
        "secret": keys.secret,
        "seed": seed,
        "algorithm": chosen.parameters(),
        "models": parameters,
        **_facts(released, recoding, measured),
        **preference_facts(given, preferred),
        "risk": before_and_after(released, published),
        "split_verdicts": split_verdicts(released, judge),
        "other_references": other_references(released, judge),
        "vacuous": [{"model": model.parameters(), "on": list(on or ())} for model, on in empty],
        "seconds": time.perf_counter() - started,
    }
    return Release(
        gated=_gated(published, manifest),
        verdict=report.verdicts,
        checks=report.checks,
        evidence=evidence,
        released=released,
        table=table,
        source=_frozen(published.source),
        secrets=(*recoding.secrets, *keys_used),
    )


def all_models(domain: Domain, models: Sequence[Model], algorithm: Algorithm) -> list[Model]:
    """The models asked for and those an algorithm's shorthand stands for; a contradiction is an error."""
    wanted = list(models)
    for extra in algorithm.models():
        same = [model for model in wanted if model.name == extra.name]
        if same and same[0] != extra:
            raise ParameterError(f"The algorithm and the models set '{extra.name}' differently: keep one of them.")
        if not same:
            wanted.append(extra)
    return [model for one in wanted for model in one.resolved(domain)]


def refuse_misfits(released: Released, models: Sequence[Model], suppressed: str) -> None:
    """Say so where settings are for generalised cells and the method makes none, or models for values it lifted."""
    for model in models:
        lifted = [name for names in model.targets(released.table.domain) for name in names if name in _lifted(released)]
        if lifted and not model.of_nodes:
            raise ParameterError(
                f"The model '{model.name}' is set on '{lifted[0]}', whose values are lifted: set it on other columns."
            )
    if released.made.generalises:
        return
    what = f"a {released.made} release has none"
    if suppressed == "star":
        raise ParameterError(f"suppressed = \"star\" is for generalised cells, and {what}: leave it out.")
    styled = [column.name for column in released.table.quasi if column.spec.style != "auto"]
    if styled:
        raise ParameterError(f"The style of column '{styled[0]}' is for generalised cells, and {what}: leave it out.")
    of_cells = [model.name for model in models if model.of_cells]
    if of_cells:
        raise ParameterError(f"The model '{of_cells[0]}' is about generalised cells, and {what}: leave it out.")


def _lifted(released: Released) -> Collection[str]:
    """Sensitive columns that are published as nodes above their values."""
    return released.recoding.lifted


def _pass_gate(
    released: Released,
    published: Published,
    manifest: dict[str, Any],
    models: Sequence[Model],
    neutral_limit: float,
    acknowledge: Collection[str],
) -> GateReport:
    table, roles = released.table, released.table.schema
    case = GateCase(
        original=iso_dates(table).select(roles.released),
        released=published.frame,
        source=published.source,
        suppressed=(released.classes < 0).nonzero()[0],
        n_read=table.n_read,
        n_dropped=table.n_dropped,
        identifiers=table.frame.select(list(roles.identifiers)),
        subject=table.frame[roles.subject] if roles.subject is not None else None,
        manifest=manifest,
        behind=behind_representatives(released),
        neutral_limit=neutral_limit,
        acknowledged=sorted(acknowledge),
        apart=published.apart,
        values_from=published.values_from,
        uncoded=uncoded_columns(released, models),
        guard=table.frame[roles.guard] if roles.guard is not None else None,
        history=None if table.history is None else table.history.lists(),
        counterfeits=table.counterfeits,
        hierarchies=whole_hierarchies(table),
        policies=whole_policies(table),
        grids=grids(table),
        population=None if table.domain.population is None else table.domain.population.frame,
        population_counts=None if table.domain.population is None else table.domain.population.counts,
    )
    report = gate(case)
    if not report.passed:
        checks = [check for check in report.checks if not check.passed]
        failed = [check.detail for check in checks]
        codes = [check.code for check in checks if check.code is not None]
        if checks and len(codes) == len(checks) and all(verdict.holds for verdict in report.verdicts):
            found = "; ".join(detail.removesuffix(".") for detail in failed)
            raise RefusalError(f"{found}: drop, clean or generalise the column.", codes)
        failed += [f"model {verdict.model['name']} fails" for verdict in report.verdicts if not verdict.holds]
        raise GateError(f"The gate refused the release, so nothing is written: {failed[0]}")
    return report


def _plain(verdict: Any) -> dict[str, Any]:
    """A verdict for the manifest; an attested figure would tell something about the input, so it stays private."""
    on = verdict.on if verdict.on is None or isinstance(verdict.on, str) else list(verdict.on)
    vouched = {} if verdict.vouched_by is None else {"vouched_by": verdict.vouched_by}
    return vouched | {
        "model": dict(verdict.model),
        "on": on,
        "holds": verdict.holds,
        "by": verdict.by,
        "value": verdict.value if verdict.by == "rechecked" else None,
        "limit": verdict.limit,
    }


def _facts(released: Released, recoding: Recoding, measured: Measured) -> dict[str, Any]:
    """What was found out about a release; private, since it tells about suppressed people too."""
    table = released.table
    priced = released.price_stats()
    return {
        "search": dict(recoding.notes),
        "counts": {
            "read": table.n_read,
            "dropped": table.n_dropped,
            "suppressed": released.n_suppressed,
            "released": table.n - released.n_suppressed,
            "counterfeits": table.counterfeits,
            "classes": released.n_classes,
            "clusters": released.groups,
        },
        "measures": {name: load("measure", name)().score(priced) for name in working("measure")},
        "overlaps": overlap_report(released) if released.made.generalises else [],
        "attacks": list(measured.figures),
        "attack_notes": list(measured.notes),
    }


def _gated(published: Published, manifest: dict[str, Any]) -> Gated:
    """What the gate judged, put away: nothing that is handed out leads back to it."""
    tables = {"release": published.frame} | ({} if published.apart is None else {"sensitive": published.apart})
    return Gated(
        tables=MappingProxyType({name: frame.clone() for name, frame in tables.items()}),
        stamps=MappingProxyType({name: frame_stamp(frame) for name, frame in tables.items()}),
        manifest=manifest_bytes(manifest),
        report=release_html(manifest).encode(),
    )


def _frozen(rows: np.ndarray) -> np.ndarray:
    rows = rows.copy()
    rows.setflags(write=False)
    return rows
