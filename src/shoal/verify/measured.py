"""Whether the figures of attacks stand beside the kinds of release that need them, and say what their sentences say.

What an attack achieved rests on the publisher's evidence, but for one figure: how many records are alone with
quasi-identifiers that are published exactly, anybody can count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.verify.claims import Claims
from shoal.verify.classes import Classes
from shoal.verify.types import Check

# The figure that nobody may leave out, by how quasi-identifiers were made or what a column is coded as.
_NEEDED = {
    "randomised": "unchanged",
    "perturbed": "unchanged",
    "bucketised": "uniqueness",
    "pseudonymised": "unique",
    "token": "trajectories",
    "shifted": "gap patterns",
}
# Codings of values, of which it is told how many can be read back.
_READ = ("graded", "mapping")
_COUNTED = ("uniqueness", "unique")
_PERCENT = re.compile(r"([0-9]+)(\.[0-9])?%")
_ROUNDED = 1e-4


def check_measured(manifest: Mapping[str, Any], claims: Claims, quasi: Classes) -> Check:
    """Figures of attacks are there exactly where they are needed, and each is the one that its sentence tells."""
    figures = manifest.get("measured", ())
    reasons = [claims.made, *(column.coded for column in claims.columns)]
    needed = [_NEEDED[reason] for reason in reasons if reason in _NEEDED]
    read = [column.name for column in claims.columns if column.coded in _READ and claims.made != "pseudonymised"]
    problem = _problem(figures, needed, read, quasi)
    if not needed and not read and not figures:
        detail = "This kind of release needs no figures of attacks."
    else:
        detail = problem or "What attacks achieve is told, and rests on the publisher's evidence."
    return Check(name="measured", passed=problem is None, detail=detail)


def _problem(
    figures: Sequence[Mapping[str, Any]], needed: Sequence[str], read: Sequence[str], quasi: Classes
) -> str | None:
    if figures and not needed and not read:
        return "The manifest has figures of attacks, which belong to other kinds of release."
    names = [figure["name"] for figure in figures]
    lost = [name for name in needed if name not in names]
    if lost:
        return f"The manifest does not tell what an attack on this kind of release achieves: '{lost[0]}' is missing."
    untold = [column for column in read if not any(name.endswith(f": {column}") for name in names)]
    if untold:
        return f"The manifest does not tell how many codes of '{untold[0]}' can be read back."
    if not all(_tells(figure) for figure in figures):
        return "A figure of an attack is not the one that its sentence tells."
    alone = float((quasi.sizes == 1).sum() / max(quasi.sizes.sum(), 1))
    if any(figure["name"] in _COUNTED and abs(figure["value"] - alone) > _ROUNDED for figure in figures):
        return "The share of records that are alone with their quasi-identifiers is not that of the file."
    return None


def _tells(figure: Mapping[str, Any]) -> bool:
    """Whether a sentence gives the figure, in percent; without anybody to attack there is none."""
    found = [(float("".join(parts)), 0.1 if parts[1] else 1.0) for parts in _PERCENT.findall(figure["sentence"])]
    if not found:
        return bool(figure["value"] == 0 and figure["interval"] == [0, 1])
    return any(abs(100 * figure["value"] - shown) <= 0.5 * step + 100 * _ROUNDED for shown, step in found)
