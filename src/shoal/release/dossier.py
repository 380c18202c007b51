"""The dossier of a written release: what its folder and its evidence say, for those who may read it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomlkit

from shoal.errors import InputError
from shoal.io.evidence import read_evidence
from shoal.io.transaction import BOUND
from shoal.params import choice
from shoal.recipe.profiles import named_profile
from shoal.reports.dossier import (
    AUDIENCES,
    EXTERNAL,
    FORMATS,
    dossier,
    dossier_html,
    dossier_json,
    dossier_markdown,
    public,
)
from shoal.reports.dossier_model import Facts
from shoal.reports.release import release_html
from shoal.verify.folder import MANIFEST, open_folder


def report(
    folder: str | Path,
    *,
    audience: str = "internal",
    format: str = "html",
    attacks: Sequence[Mapping[str, Any]] = (),
    evaluations: Sequence[Mapping[str, Any]] = (),
    evidence: Mapping[str, Any] | None = None,
) -> str:
    """The dossier of a release as text. All but the external one is private: it tells about people left out.

    Parameters
    ----------
    folder
        Of the release; its evidence stands beside it, and is not read for those outside.
    audience
        ``"internal"``, ``"regulator"`` or ``"external"``, which is the public report.
    format
        ``"html"``, ``"md"`` or ``"json"``.
    attacks, evaluations
        What was measured afterwards, as ``shoal attack --json`` and ``shoal measure --json`` print it.
    evidence
        That of the release, where it is kept elsewhere.
    """
    choice("the report", "audience", audience, AUDIENCES)
    choice("the report", "format", format, FORMATS)
    _, manifest = open_folder(Path(folder))
    digest = hashlib.sha256((Path(folder) / MANIFEST).read_bytes()).hexdigest()
    # The evidence is not even read for those who may not see it.
    facts = public(manifest, digest)
    if audience != EXTERNAL:
        known = read_evidence(folder) if evidence is None else evidence
        facts = replace(_private(folder, facts, known), attacks=attacks, evaluations=evaluations)
    if audience == EXTERNAL and format == "html":
        return release_html(facts.manifest)
    made = dossier(facts, audience)
    return {"html": dossier_html, "md": dossier_markdown, "json": dossier_json}[format](made)


def _private(folder: str | Path, known: Facts, evidence: Mapping[str, Any]) -> Facts:
    """What is known of a release inside the house."""
    if evidence.get(BOUND, known.digest) != known.digest:
        raise InputError(f"The evidence beside '{folder}' is that of another release: name the folder that it is of.")
    recipe = tomlkit.parse(evidence.get("recipe", "")).unwrap()
    profile = recipe.get("profile")
    return Facts(
        manifest=known.manifest, evidence=evidence, recipe=recipe, review=evidence.get("review", {}),
        profile={} if profile is None else named_profile(profile).told(), digest=known.digest,
    )  # fmt: skip
