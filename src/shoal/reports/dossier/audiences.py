"""Who reads a dossier, and so what stands in it and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from shoal.recoding.kinds import Trait, made_of
from shoal.reports.dossier import context, promises, risks, usefulness, variables
from shoal.reports.dossier.crosswalk import crosswalk
from shoal.reports.dossier.facts import Facts, count, share
from shoal.reports.dossier.model import NOT_MEASURED, NOT_STATED, Dossier, Section

Part = Callable[[Facts], Section]
INTERNAL, EXTERNAL, REGULATOR = "internal", "external", "regulator"
# As issues are raised at a review board.
_INTERNAL: tuple[Part, ...] = (
    context.identification, context.situation, context.principals, variables.variables, context.threats,
    risks.threshold, risks.risk, risks.criteria, risks.attacks, promises.models, usefulness.utility,
    context.deviations, context.history, context.hashes, context.sign_off, crosswalk,
)  # fmt: skip
# As the anonymisation reports of EMA and Health Canada go: method, variables, risk, utility, conclusion.
_REGULATOR: tuple[Part, ...] = (
    context.identification, promises.models, risks.threshold, variables.variables, context.principals,
    context.situation, context.threats, risks.risk, risks.criteria, risks.attacks, usefulness.utility,
    context.deviations, context.history, context.sign_off, context.hashes, crosswalk,
)  # fmt: skip
# What the manifest says, and nothing else.
_EXTERNAL: tuple[Part, ...] = (
    context.identification, context.situation, promises.models, risks.attacks, context.deviations, variables.columns,
    context.history, context.hashes,
)  # fmt: skip
AUDIENCES: Mapping[str, tuple[Part, ...]] = {INTERNAL: _INTERNAL, EXTERNAL: _EXTERNAL, REGULATOR: _REGULATOR}


def dossier(facts: Facts, audience: str) -> Dossier:
    """What some readers are told of a release; those outside never more than its manifest says."""
    private = audience != EXTERNAL
    seen = facts if private else public(facts.manifest, facts.digest)
    parts = AUDIENCES[audience]
    if not private and not seen.manifest.get("measured"):
        parts = tuple(part for part in parts if part is not risks.attacks)
    return Dossier(
        title=seen.named,
        audience=audience,
        private=private,
        statement=str(seen.manifest["statement"]),
        date=str(seen.manifest.get("date", NOT_STATED)),
        facts=_first_look(seen),
        sections=[part(seen) for part in parts],
    )


def public(manifest: Mapping[str, Any], digest: str = "") -> Facts:
    """What everybody knows: the manifest, and what its publisher says there."""
    return replace(Facts(manifest=manifest), review=manifest.get("review", {}), digest=digest)


def _first_look(facts: Facts) -> list[tuple[str, str]]:
    classes, alike = facts.manifest["classes"], made_of(facts.manifest).has(Trait.ALIKE)
    found = [
        ("rows released", count(facts.manifest["data"]["rows"])),
        ("classes", count(classes["count"])),
        ("smallest class", count(classes["smallest"])),
    ]
    if facts.evidence:
        found += [
            ("largest risk before", share(facts.risk("before", "prosecutor-max"))),
            *(
                (f"{words} risk after", share(facts.risk("after", f"prosecutor-{name}")) if alike else NOT_MEASURED)
                for name, words in (("max", "largest"), ("mean", "mean"))
            ),
        ]
        counts = facts.evidence["counts"]
        taking_part = counts["released"] + counts["suppressed"]
        found.append(("rows suppressed", share(counts["suppressed"] / taking_part if taking_part else 0.0)))
    return found
