"""A release before the gate: what the gate is given, and what a manifest says of what it found."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import polars as pl

from shoal.data.domain import Domain
from shoal.data.schema import Schema
from shoal.data.table import held_dates
from shoal.errors import GateError, RefusalError, ShoalError
from shoal.io.describe import Promised, inferred_types, uncoded_columns, whole_hierarchies, whole_policies
from shoal.recoding.publish import Output, Published, behind_representatives
from shoal.recoding.recoded import Released
from shoal.recoding.snap import declared_steps, grids
from shoal.verify.gate import gate
from shoal.verify.identifier_scan import FreeText
from shoal.verify.person_columns import PersonColumns, PersonRoles
from shoal.verify.report import Check, GateCase, GateReport, Verdict
from shoal.verify.values import Coded

_REMEDY = "drop, clean or generalise the column"
_REMEDIES = {"W-ROWS": "name the column that tells people apart as 'subject' under [roles]"}


def pass_gate(
    released: Released, published: Published, manifest: Mapping[str, Any], models: Sequence[Promised], output: Output
) -> GateReport:
    """What the gate finds; a release that it does not pass goes no further."""
    report = gate(gate_case(released, published, manifest, models, output))
    refuse_failed(report)
    return report


def refuse_failed(report: GateReport) -> None:
    """Refuse what the gate did not pass."""
    if not report.passed:
        raise refusal_of(report.checks, report.verdicts)


def gate_case(
    released: Released, published: Published, manifest: Mapping[str, Any], models: Sequence[Promised], output: Output
) -> GateCase:
    """The input, what is to be published of it, and what the gate needs to hold the two against each other."""
    table, roles = released.table, released.table.schema
    return GateCase(
        original=held_dates(table).select(roles.released),
        released=published.frame,
        source=published.source,
        suppressed=(released.classes < 0).nonzero()[0],
        n_read=table.n_read,
        n_dropped=table.n_dropped,
        identifiers=table.kept.select(list(roles.identifiers)),
        subject=table.series(roles.subject) if roles.subject is not None else None,
        manifest=dict(manifest),
        behind=behind_representatives(released),
        neutral_limit=output.neutral_limit,
        acknowledged=sorted(output.acknowledged),
        apart=published.apart,
        values_from=published.values_from,
        uncoded=uncoded_columns(released, models),
        guard=table.series(roles.guard) if roles.guard is not None else None,
        history=None if table.history is None else table.history.lists(),
        counterfeits=table.counterfeits,
        hierarchies=whole_hierarchies(released.public_domain),
        policies=whole_policies(released.public_domain),
        grids=grids(released.public_domain),
        steps=declared_steps(table.domain),
        inferred=inferred_types(table.domain),
        left_out={} if table.dropped is None else hidden_of(roles, table.dropped.to_dict()),
        across_classes=roles.across_classes,
        aside=table.kept.select(list(roles.drop)) if roles.drop else None,
        population=None if table.domain.population is None else table.domain.population.frame,
        population_counts=None if table.domain.population is None else table.domain.population.counts,
    )


def hidden_of(roles: Schema, columns: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
    """Of some columns, those that say who somebody is."""
    return {name: columns[name] for name in naming(roles) if name in columns}


def naming(roles: Schema) -> list[str]:
    """Columns that say who somebody is."""
    people = [] if roles.subject is None else [roles.subject]
    return list(dict.fromkeys([*roles.identifiers, *roles.pseudonym, *people]))


def person_refusals(
    domain: Domain, batches: Iterable[pl.DataFrame], acknowledged: Collection[str], *, models: bool
) -> list[ShoalError]:
    """Why the gate would refuse columns of a source that tell people apart: identifiers that repeat, or are published.

    Parameters
    ----------
    batches
        Rows as they were read: the columns that have a role.
    models
        Whether any model is set; without one, nothing that counts rows is promised.
    """
    roles, columns = domain.schema, domain.columns
    closed = [name for name in roles.sensitive if columns[name].hierarchy is not None or columns[name].spec.order]
    coded = [*roles.coded, *roles.shifted]
    published = [name for name in (*roles.sensitive, *roles.neutral) if name not in coded]
    hidden = [*roles.identifiers, *roles.pseudonym] if models else []
    batches = iter(batches)
    first = next(batches)
    # A database may refuse to show a column that is dropped.
    dropped = [name for name in roles.drop if name in first.columns] if models else []
    found = PersonColumns(
        PersonRoles(
            quasi=roles.quasi,
            hidden=hidden,
            tokens=roles.pseudonym,
            published=published,
            dropped=dropped,
            people=roles.subject is not None,
        )  # fmt: skip
    )
    texts, wordy = FreeText(), [name for name in published if name not in closed]
    for frame in chain([first], batches):
        rows = Coded(frame)
        found.see(rows, None if roles.subject is None else frame[roles.subject])
        texts.see(rows.select(wordy))
    free = [str(check.code).partition(":")[2] for check in texts.checks(())]
    return [refusal_of([check]) for check in found.checks(acknowledged, free) if not check.passed]


def refuse_first(found: Sequence[ShoalError]) -> None:
    """Raise the first of some refusals, if there is one."""
    if found:
        raise found[0]


def refusal_of(found: Sequence[Check], verdicts: Sequence[Verdict] = ()) -> GateError | RefusalError:
    """Why the gate refused: what a warning code accepts where that is all, else the first fault."""
    checks = [check for check in found if not check.passed]
    failed = [check.detail for check in checks]
    codes = [check.code for check in checks if check.code is not None]
    if checks and len(codes) == len(checks) and all(verdict.holds for verdict in verdicts):
        told = "; ".join(detail.removesuffix(".") for detail in failed)
        remedies = [_REMEDIES.get(code.partition(":")[0], _REMEDY) for code in codes]
        return RefusalError(f"{told}: {'; '.join(dict.fromkeys(remedies))}.", codes)
    failed += [f"model {verdict.model['name']} fails" for verdict in verdicts if not verdict.holds]
    return GateError(f"The gate refused the release, so nothing is written: {failed[0]}")


def with_verdicts(manifest: Mapping[str, Any], report: GateReport) -> dict[str, Any]:
    """A manifest with what the gate found."""
    verdicts = [_plain(verdict) for verdict in report.verdicts]
    return {**manifest, "verdicts": verdicts, "classes": dict(report.classes)}


def _plain(verdict: Verdict) -> dict[str, Any]:
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
