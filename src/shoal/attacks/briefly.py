"""The attacks that reviewers ask for first, run in passing and kept in the evidence."""

from __future__ import annotations

from shoal.attacks.base import AttackResult
from shoal.attacks.run import attack
from shoal.results import Release

# Singling out, linking and inference, in this order.
BRIEF = (
    "singling-out",
    "linkage",
    "nearest",
    "homogeneity",
    "skewness",
    "subject-intersection",
    "ra-linkage",
    "record-linkage",
    "relinking",
)
# People times classes beyond which somebody would wait.
_MOST = 200_000_000


def attacked_briefly(release: Release) -> list[AttackResult]:
    """What those of them find that have something to work on; nothing where that would take long."""
    if not release.source.size or release.table.n * max(release.released.n_classes, 1) > _MOST:
        return []
    return [one for one in attack(release, only=BRIEF) if one.figures]
