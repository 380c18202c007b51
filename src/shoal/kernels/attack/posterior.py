"""Exact Bayes against random redrawing, without ever listing pairs of vectors.

A record whose columns S were redrawn agrees with its original outside S, so all that a released vector needs to know
about the originals is, for each S, how many agree with it there: buckets of equal cells outside S. Weights of single
columns come as ``weights`` (vectors by columns); a set's weight is ``scale`` times the product of its columns'.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel

# Weights of two candidates are sums of the same products in another order.
_TIE = 1e-12


@kernel
def reach(weights: np.ndarray, inside: np.ndarray, redraw: int, scale: float, sums: np.ndarray) -> float:
    """Probability that a record which differs in the columns flagged ``inside`` becomes one vector.

    It is the total weight of all sets of ``redraw`` columns that contain those: their product times an elementary
    symmetric polynomial of the others.

    Parameters
    ----------
    weights
        float64, shape (columns,): of the vector it becomes.
    sums
        Scratch, float64, shape (redraw + 1,).
    """
    product = scale
    need = redraw
    for j in range(weights.size):
        if inside[j]:
            product *= weights[j]
            need -= 1
    if need < 0:
        return 0.0
    sums[0] = 1.0
    for k in range(1, need + 1):
        sums[k] = 0.0
    for j in range(weights.size):
        if not inside[j]:
            for k in range(need, 0, -1):
                sums[k] += sums[k - 1] * weights[j]
    return product * sums[need]


@kernel
def reach_all(weights: np.ndarray, inside: np.ndarray, redraw: int, scale: float) -> np.ndarray:
    """`reach` of every vector, shape (vectors, columns)."""
    sums = np.empty(redraw + 1)
    found = np.empty(weights.shape[0])
    for r in range(found.size):
        found[r] = reach(weights[r], inside, redraw, scale, sums)
    return found


@kernel
def summarise(buckets: np.ndarray, counts: np.ndarray, n_buckets: int) -> tuple:
    """Of every bucket of original vectors: records, records of its commonest vector, and vectors as common."""
    records = np.zeros(n_buckets, dtype=np.int64)
    most = np.zeros(n_buckets, dtype=np.int64)
    ties = np.zeros(n_buckets, dtype=np.int64)
    for v in range(counts.size):
        b = buckets[v]
        records[b] += counts[v]
        if counts[v] > most[b]:
            most[b] = counts[v]
            ties[b] = 1
        elif counts[v] == most[b]:
            ties[b] += 1
    return records, most, ties


@kernel
def weigh(
    weights: np.ndarray,
    inside: np.ndarray,
    redraw: int,
    scale: float,
    buckets: np.ndarray,
    summary: tuple,
    total: np.ndarray,
    top: np.ndarray,
    tied: np.ndarray,
) -> None:
    """Add the candidates that agree with each released vector outside one set of columns.

    ``total`` collects the weight of all candidates (from sets of ``redraw`` columns alone), ``top`` the largest weight
    of one candidate and ``tied`` how many have it. A candidate that differs in fewer columns than the set is heavier
    than it is priced here, and priced right when its own set comes.
    """
    records, most, ties = summary
    whole = inside.sum() == redraw
    sums = np.empty(redraw + 1)
    for r in range(buckets.size):
        b = buckets[r]
        if records[b] == 0:
            continue
        chance = reach(weights[r], inside, redraw, scale, sums)
        if whole:
            total[r] += chance * records[b]
        weight = chance * most[b]
        if weight > top[r] * (1.0 + _TIE):
            top[r] = weight
            tied[r] = ties[b]
        elif weight >= top[r] * (1.0 - _TIE):
            tied[r] += ties[b]


@kernel
def own_chances(
    weights: np.ndarray, before: np.ndarray, after: np.ndarray, released: np.ndarray, redraw: int, scale: float
) -> np.ndarray:
    """Probability that each record became what it was released as.

    Parameters
    ----------
    weights
        Shape (released vectors, columns).
    before, after
        int32, shape (columns, n).
    released
        Vector of each record.
    """
    columns, n = before.shape
    inside = np.zeros(columns, dtype=np.uint8)
    sums = np.empty(redraw + 1)
    found = np.empty(n)
    for i in range(n):
        for j in range(columns):
            inside[j] = before[j, i] != after[j, i]
        found[i] = reach(weights[released[i]], inside, redraw, scale, sums)
    return found


@kernel
def spread_scores(
    people: np.ndarray,
    slot_of: np.ndarray,
    buckets: np.ndarray,
    gains: np.ndarray,
    released: np.ndarray,
    values: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Add to each person's score of each sensitive value what the released records of the same bucket say.

    Parameters
    ----------
    people
        Bucket of each person.
    slot_of
        Scratch, int32, one a bucket, all -1; left as it was.
    buckets, gains
        Of each released vector: bucket, and what one record of it says.
    released, values
        Released vector and sensitive value of each record.
    scores
        float64, shape (people, values).
    """
    slots = 0
    for person in range(people.size):
        if slot_of[people[person]] < 0:
            slot_of[people[person]] = slots
            slots += 1
    said = np.zeros((slots, scores.shape[1]))
    for i in range(released.size):
        slot = slot_of[buckets[released[i]]]
        if slot >= 0:
            said[slot, values[i]] += gains[released[i]]
    for person in range(people.size):
        slot = slot_of[people[person]]
        for value in range(scores.shape[1]):
            scores[person, value] += said[slot, value]
    for person in range(people.size):
        slot_of[people[person]] = -1


@kernel
def guess_values(scores: np.ndarray, hits: np.ndarray) -> tuple:
    """The best guess for each person.

    Parameters
    ----------
    scores
        Shape (people, values).
    hits
        int64, shape (people, values): records of each person's vector with each value.

    Returns
    -------
    tuple
        Share of the best value, and expected number of records guessed right, ties guessed at random.
    """
    people, card = scores.shape
    confidence = np.zeros(people)
    right = np.zeros(people)
    for person in range(people):
        best = 0.0
        whole = 0.0
        for value in range(card):
            whole += scores[person, value]
            best = max(best, scores[person, value])
        tied = found = 0
        for value in range(card):
            if scores[person, value] >= best * (1.0 - _TIE):
                tied += 1
                found += hits[person, value]
        right[person] = found / tied
        confidence[person] = best / whole if whole > 0.0 else 0.0
    return confidence, right


@kernel
def guess_without(
    scores: np.ndarray, person: np.ndarray, values: np.ndarray, own: float, prior: np.ndarray
) -> np.ndarray:
    """Chance that each record's value is guessed from the records of others alone.

    Parameters
    ----------
    scores
        Shape (people, values), whole numbers: votes of all records.
    person, values
        Of each record: whose it is, and its sensitive value.
    own
        Votes that each record gave for itself.
    prior
        Chance that a guess without any vote hits each value.
    """
    found = np.zeros(person.size)
    for i in range(person.size):
        votes = scores[person[i]]
        mine = votes[values[i]] - own
        others = tied = 0
        for value in range(votes.size):
            if value != values[i]:
                others += votes[value] > mine
                tied += votes[value] == mine
        if others == 0 and mine > 0.0:
            found[i] = 1.0 / (tied + 1)
        elif others == 0:
            found[i] = prior[values[i]]
    return found
