"""Attacks on random anonymisation by somebody who knows the quasi-identifiers of everybody in the table.

The attacker knows how the release was made, but not whose record is whose: Yang & Qiao's own case of a table that holds
"all the individuals in the public data".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.data.column import Column
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_rows
from shoal.kernels.posterior import guess_values, guess_without, own_chances, spread_scores
from shoal.recoding.randomised import Randomised
from shoal.risk.attacks.base import AttackFigure, figure
from shoal.utility.posterior import Posterior, posterior, sets
from shoal.utility.randomised import wilson

# A guess somebody would act on.
CONFIDENT = 0.9
# Largest table of scores kept at once, in cells; more people are attacked in parts.
_CELLS = 1 << 24


def attack_randomised(described: Randomised) -> list[AttackFigure]:
    """All attacks: unchanged records, exact posterior, and linkage of every sensitive attribute."""
    known = posterior(described)
    figures = [*unchanged(described), *recover_vectors(described, known)]
    for column in described.table.sensitive:
        figures += link_values(described, column.name, known)
    return figures


def unchanged(described: Randomised) -> list[AttackFigure]:
    """Records released as they were, which is the least that the release gives away.

    The baseline is what the draw leads one to expect. Of those whose vector nobody else had, everything is known to
    anybody who knows the person.
    """
    n = described.table.n
    same = (described.before == described.after).all(axis=0)
    cards = np.array([column.card for column in described.columns])
    ids, _, counts = group_rows(described.before, cards)
    unique = counts[ids] == 1
    share, alone = float(same.mean()), float((same & unique).mean())
    return [
        figure(
            "unchanged", share, n, f"{share:.1%} of the records are released exactly as they were.",
            baseline=_expected_unchanged(described),
        ),
        figure(
            "unique-and-unchanged", alone, n,
            f"{alone:.1%} of the records are released exactly as they were, and nobody else had their "
            "quasi-identifiers.", baseline=float(unique.mean()) * _expected_unchanged(described),
        ),
    ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Recovered:
    """What exact Bayes makes of each released record.

    Attributes
    ----------
    truth
        Posterior of the true vector.
    recovered
        Chance that a guess among the likeliest vectors is the true one.
    own
        Probability that the record became what it was released as.
    """

    truth: np.ndarray
    recovered: np.ndarray
    own: np.ndarray


def recover(described: Randomised, known: Posterior) -> Recovered:
    """Hold the posterior of every released vector against the truth, record by record."""
    drawn, released = described.drawn, described.released_of
    own = own_chances(
        known.vectors.weights, described.before[drawn], described.after[drawn], released, described.redraw,
        described.scale,
    )  # fmt: skip
    weight = own * known.vectors.counts[described.original_of]
    hit = weight >= known.best[released] * (1.0 - 1e-12)
    truth = np.minimum(weight / known.total[released], 1.0)
    return Recovered(truth=truth, recovered=np.where(hit, 1.0 / known.tied[released], 0.0), own=own)


def recover_vectors(described: Randomised, known: Posterior | None = None) -> list[AttackFigure]:
    """Guess each record's original quasi-identifiers by exact Bayes.

    The first figure is the share recovered by guessing the likeliest vector (ties at random), with the commonest
    vector of the table as the naive guess; then the mean posterior of the truth, and the shares of records whose
    likeliest original has a posterior above 0.5, above 0.9, and of 1.
    """
    known = known or posterior(described)
    n, found_out = described.table.n, recover(described, known)
    naive = float(known.vectors.counts.max() / n)
    share, mean = float(found_out.recovered.mean()), float(found_out.truth.mean())
    found = [
        figure(
            "recovered", share, n,
            f"Somebody who knows everybody's quasi-identifiers recovers those behind {share:.1%} of the released "
            "records.", baseline=naive,
        ),
        figure(
            "posterior", mean, n,
            f"On average the true quasi-identifiers of a released record have a probability of {mean:.1%}.",
        ),
    ]  # fmt: skip
    top = known.top
    limits = [("above-half", top > 0.5, "above 50%"), ("above-0.9", top > CONFIDENT, "above 90%")]
    for name, flags, words in [*limits, ("certain", top >= 1.0 - 1e-12, "of 100%")]:
        share = known.share(flags)
        sentence = f"For {share:.1%} of the records one original has a probability {words}."
        found.append(figure(name, share, n, sentence))
    return found


def link_values(described: Randomised, sensitive: str, known: Posterior | None = None) -> list[AttackFigure]:
    """Guess a known person's sensitive value from the whole release.

    Every released record speaks for its value, by the probability that it is the person's. The baseline is the
    commonest value of the table; the control is what other people say who differ from the person in at most as many
    quasi-identifiers as are redrawn, in the raw table, the person's own record left out. Only what the attack gains
    over the control is due to the person's own record. The same attack on the raw table stands beside it, and how
    often the attacker is more than 90 % sure, and right.
    """
    column = next((one for one in described.table.sensitive if one.name == sensitive), None)
    if column is None:
        raise ParameterError(f"'{sensitive}' is not a sensitive attribute of the table: choose another target.")
    known = known or posterior(described)
    n, name = described.table.n, column.name
    confidence, right, control = _guess_everybody(described, column, known)
    counts = known.vectors.counts
    majority = float(column.frequencies.max() / n)
    share, raw = float(right.sum() / n), _raw(known, column) / n
    sure = confidence > CONFIDENT
    many, correct = int(counts[sure].sum()), float(right[sure].sum())
    accuracy = correct / many if many else 0.0
    return [
        figure(
            f"linkage:{name}", share, n,
            f"The {name} of {share:.1%} of the people is guessed right, against {majority:.1%} by the commonest value "
            f"and {control:.1%} from similar other people.", baseline=majority, control=control,
            control_interval=wilson(control, n),
        ),
        figure(
            f"linkage-raw:{name}", raw, n, f"On the raw table the same attack would guess {raw:.1%} right.",
            baseline=majority, control=control,
        ),
        figure(
            f"confident:{name}", many / n, n,
            f"Of {many / n:.1%} of the people the attacker is more than {CONFIDENT:.0%} sure.",
        ),
        figure(
            f"confident-right:{name}", accuracy, many,
            f"Of the people the attacker is sure of, the {name} of {accuracy:.1%} is right.", baseline=majority,
        ),
    ]  # fmt: skip


def _expected_unchanged(described: Randomised) -> float:
    """Mean probability that a draw returns the old values, columns being drawn independently."""
    again = np.array([float((described.shares[j] ** 2).sum()) for j in described.drawn])
    if described.redraw == 1:
        return float(described.p[described.drawn] @ again)
    sums = np.zeros(described.redraw + 1)
    sums[0] = 1.0
    for one in again:
        sums[1:] += sums[:-1] * one
    return float(sums[-1] * described.scale)


def _guess_everybody(described: Randomised, column: Column, known: Posterior) -> tuple[np.ndarray, np.ndarray, float]:
    """Confidence and records guessed right of each original vector, and the control's share."""
    original, n_vectors = described.original_of, known.vectors.counts.size
    confidence, right = np.empty(n_vectors), np.empty(n_vectors)
    most = column.frequencies == column.frequencies.max()
    prior = np.where(most, 1.0 / most.sum(), 0.0)
    others, votes = np.empty(described.table.n), math.comb(described.drawn.size, described.redraw)
    for part in _parts(n_vectors, column.card):
        people = np.arange(part.start, part.stop)
        rows = np.flatnonzero((original >= part.start) & (original < part.stop))
        person, values = original[rows] - part.start, described.table.codes[column.name][rows]
        hits = np.bincount(person * column.card + values, minlength=people.size * column.card)
        hits = hits.reshape(people.size, column.card)
        scores, similar = _scores(described, column, known, people)
        confidence[part], right[part] = guess_values(scores, hits)
        others[rows] = guess_without(similar, person, values, float(votes), prior)
    return confidence, right, float(others.mean())


def _scores(
    described: Randomised, column: Column, known: Posterior, people: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What released records, and what records of the raw table, say about each value of some original vectors."""
    found, values = known.vectors, described.table.codes[column.name]
    scores, similar = np.zeros((people.size, column.card)), np.zeros((people.size, column.card))
    for chosen in sets(described, described.redraw):
        ours, theirs, count = found.buckets(chosen)
        gains = described.scale * found.weights[:, list(chosen)].prod(axis=1) / known.total
        slot_of = np.full(count, -1, dtype=np.int32)
        spread_scores(ours[people], slot_of, theirs, gains, described.released_of, values, scores)
        spread_scores(ours[people], slot_of, ours, np.ones(ours.size), described.original_of, values, similar)
    return scores, similar


def _raw(known: Posterior, column: Column) -> float:
    """Records guessed right by the commonest value among those with equal quasi-identifiers."""
    original = known.vectors.described.original_of
    codes = known.vectors.described.table.codes[column.name]
    _, first, counts = group_rows(
        np.stack([original, codes]), np.array([known.vectors.counts.size, column.card])
    )
    best = np.zeros(known.vectors.counts.size, dtype=np.int64)
    np.maximum.at(best, original[first], counts)
    return float(best.sum())


def _parts(people: int, card: int) -> Sequence[slice]:
    size = max(1, _CELLS // card)
    return [slice(start, min(people, start + size)) for start in range(0, people, size)]
