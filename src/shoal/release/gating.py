"""A release before the gate: what the gate is given, and what a manifest says of what it found."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import polars as pl

from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.data.schema import Schema
from shoal.errors import GateError, RefusalError, ShoalError, VerificationError
from shoal.registry import OURS, PROGRAM, load, names, origin
from shoal.verify.identifier_scan import FreeText
from shoal.verify.person_columns import PersonColumns, PersonRoles
from shoal.verify.report import Check, GateReport, Sayable, Verdict
from shoal.verify.terms.base import register_term
from shoal.verify.values import Coded

_REMEDY = "drop, clean or generalise the column"
_REMEDIES = {"W-ROWS": "name the column that tells people apart as 'subject' under [roles]"}


def refuse_failed(report: GateReport) -> None:
    """Refuse what the gate did not pass."""
    if not report.passed:
        raise refusal_of(report.checks, report.verdicts)


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


# ----------------------------------------
# The verifier's terms of models that plug-ins bring, and who vouches for verdicts by them.


def bring_terms(models: Iterable[str]) -> None:
    """Let the verifier judge models by the terms that installed plug-ins have for them."""
    for name in _plugged(models):
        register_term(load("model", name).term, vouched_by=origin("model", name))


def bring_vouched(manifest: Mapping[str, Any]) -> None:
    """The same for a release that may have been made elsewhere; a verdict by a term that is not here is refused."""
    for verdict in manifest["verdicts"]:
        by, model = verdict.get("vouched_by"), verdict.get("model")
        name = model.get("name") if isinstance(model, Mapping) else None
        # For a model of ours nobody else has to be installed, whatever the manifest says: the verifier refuses that.
        if by is not None and (name not in names("model") or origin("model", name) not in (OURS, by)):
            distribution, _, version = by.rpartition(" ")
            raise VerificationError(
                f"The verdict on '{name}' is said to be derived by {by}, which is not installed here, so it cannot be "
                f"derived again: run pip install {distribution}=={version}."
            )
    bring_terms(model["name"] for model in manifest["models"] if isinstance(model.get("name"), str))


def said_by_plugins(models: Iterable[str]) -> Iterator[str]:
    """What a release says about models of plug-ins in words that are not ours, and who vouches for them."""
    for name in _plugged(models):
        made = load("model", name)
        yield from (text for text in (made.words, made.group_words, made.leaves_open) if text is not None)
        yield origin("model", name)


def _plugged(models: Iterable[str]) -> list[str]:
    """Those that an installed distribution brings; what a program registers for itself has nobody to vouch for it."""
    known = names("model")
    return [name for name in models if name in known and origin("model", name) not in (OURS, PROGRAM)]


# ----------------------------------------
# What was read, and what may be said about it in public, for the check of everything that is published.


def sayable(domain: Domain, models: Sequence[Mapping[str, Any]]) -> Sayable:
    """What the recipe declares, and labels that do not follow from the data.

    Parameters
    ----------
    models
        Models with their parameters, which may name values.
    """
    named = [domain.name or "", *domain.schema.roles(), *_texts([dict(model) for model in models])]
    if domain.schema.quasi_sets:
        named.append(str(len(domain.schema.quasi_sets)))  # which a statement says
    named += said_by_plugins(str(model["name"]) for model in models)
    declared = {"": frozenset(named)}
    labels = {}
    for name in domain.schema.released:
        spec, column = domain.schema.spec(name), domain.columns.get(name)
        given = [*_texts([list(spec.order or ()), list(spec.domain or ()), list(spec.non_answers)])]
        given += [] if column is None else [*_by_recipe(column)]
        declared[name] = frozenset(given)
        labels[name] = frozenset(() if column is None else _labels(column))
    return Sayable(declared=declared, labels=labels)


def _by_recipe(column: Column) -> Iterator[str]:
    """Ranges that a recipe lists itself, and how it has a hierarchy built."""
    plain = None if column.policy is None else column.policy.plain
    if plain is not None and ("intervals" in plain or "sets" in plain):
        yield from _texts(dict(plain))
    tree = column.hierarchy or column.tree
    if tree is not None and tree.rule is not None:
        yield from _texts(dict(tree.rule))


def _labels(column: Column) -> Iterator[str]:
    """All labels of a public hierarchy; else those above the values, which released ones alone lead to."""
    tree = column.hierarchy or column.tree
    if tree is None:
        return
    values = () if tree.public else tree.leaf_code
    yield from (label for label in tree.node_labels if label not in values)


def _texts(value: Any) -> Iterator[str]:
    """Every key, text and number in nested plain data, numbers as our sentences write them too."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield str(key)
            yield from _texts(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _texts(entry)
    elif value is not None:
        yield str(value)
        if isinstance(value, float):
            yield f"{value:g}"
