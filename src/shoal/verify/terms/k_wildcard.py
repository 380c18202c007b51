"""k-anonymity where ``*`` counts as any value: every record could be at least k of the release."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.errors import VerificationError
from shoal.verify.claims import Claims, Column
from shoal.verify.classes import packed
from shoal.verify.facts import Facts, Sample
from shoal.verify.outcome import Outcome
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import count
from shoal.verify.values import STAR, group_rows


def judge(model: Model, sample: Sample) -> Outcome:
    """Rows that the records of every class could be."""
    found = could_be(sample.facts)
    return Outcome(found.astype(float), found >= model["k"], np.ones(len(found), dtype=bool), "low")


def could_be(facts: Facts) -> np.ndarray:
    """Rows of all classes that agree with each wherever neither has ``*``.

    Classes are sorted by where they have it; those of two such patterns are compared by the columns that are left.
    """
    columns = facts.claims.role("quasi")
    stars = np.array([_stars(facts, column) for column in columns]).reshape(len(columns), facts.classes.count)
    sizes, found = facts.sizes, np.zeros(facts.classes.count, dtype=np.int64)
    patterns, of_class = np.unique(stars, axis=1, return_inverse=True)
    members = [np.flatnonzero(of_class.ravel() == pattern) for pattern in range(patterns.shape[1])]
    for one, mine in enumerate(members):
        for other, theirs in enumerate(members):
            left = [at for at in range(len(columns)) if not patterns[at, one] and not patterns[at, other]]
            both = np.concatenate([mine, theirs])
            group = _groups(facts, [columns[at] for at in left], both)
            rows = np.bincount(group[len(mine) :], weights=sizes[theirs], minlength=int(group.max()) + 1)
            found[mine] += rows[group[: len(mine)]].astype(np.int64)
    return found


def _stars(facts: Facts, column: Column) -> np.ndarray:
    """Classes whose cell of a column is everything; the root of a hierarchy may have a name of its own."""
    codes, texts = facts.classes.cells[column.name]
    names = [STAR, *({row[-1] for row in column.hierarchy or ()} if column.cells == "label" else ())]
    return texts.is_in(names).to_numpy()[codes]


def _groups(facts: Facts, columns: Sequence[Column], classes: np.ndarray) -> np.ndarray:
    """A number for each of some classes, the same where they agree on some columns."""
    if not columns:
        return np.zeros(len(classes), dtype=np.int64)
    cells = [facts.classes.cells[column.name] for column in columns]
    keys = packed([codes[classes].astype(np.int64) for codes, _ in cells], [len(texts) for _, texts in cells])
    return group_rows(keys)[0]


def check(claims: Claims, model: Model, columns: Sequence[Column], joint: bool) -> None:
    """Rows are counted, so that nobody may have several."""
    if claims.people:
        raise VerificationError("The manifest claims k-wildcard of people, which is defined for rows alone.")


TERM = Term(
    name="k-wildcard",
    main="k",
    words="{k}-anonymous where * counts as any value",
    leaves_open=(
        "Records that share their cells with fewer: k-wildcard lets '*' count as any value, so that a record may be "
        "the only one that looks as it does, and a few records full of '*' stand in for the k of everybody."
    ),
    required={"k": count},
    limit=lambda model: model["k"],
    judge=judge,
    identity=True,
    valued=False,
    of_cells=True,
    check=check,
)
