"""Exact Bayes against random redrawing, without ever listing pairs of vectors.

A record whose columns S were redrawn agrees with its original outside S, so all that a released vector needs to know
about the originals is, for each S, how many agree with it there: buckets of equal cells outside S. Weights of single
columns come as ``weights`` (float64, vectors by columns); a set's weight is ``scale`` times the product of its
columns' (a float); ``redraw`` is how many columns of a record are drawn anew, from 0 to all. Columns are flagged by
``inside``, uint8. Numbers of buckets, vectors and values are int32 or int64, the same
for all arguments of a call.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native

Summary = tuple[np.ndarray, np.ndarray, np.ndarray]


def reach(weights: np.ndarray, inside: np.ndarray, redraw: int, scale: float, sums: np.ndarray) -> float:
    """Compute the probability that a record which differs in the columns flagged ``inside`` becomes one vector.

    It is the total weight of all sets of ``redraw`` columns that contain those: their product times an elementary
    symmetric polynomial of the others. Cost: O(columns times redraw).

    Parameters
    ----------
    weights
        float64, shape (columns,): of the vector it becomes.
    sums
        Scratch, float64, shape (redraw + 1,).
    """
    return _native.reach(weights, inside, redraw, scale, sums)


def reach_all(weights: np.ndarray, inside: np.ndarray, redraw: int, scale: float) -> np.ndarray:
    """Compute `reach` of every vector, for weights of shape (vectors, columns): float64."""
    found = np.empty(weights.shape[0])
    _native.reach_all(weights, inside, redraw, scale, found)
    return found


def summarise(buckets: np.ndarray, counts: np.ndarray, n_buckets: int) -> Summary:
    """Summarise buckets in O(vectors): int64 records, records of the commonest vector, and vectors as common.

    ``buckets`` and ``counts`` (int64) are the bucket and the records of each original vector.
    """
    records, most, ties = (np.empty(n_buckets, dtype=np.int64) for _ in range(3))
    summary = (records, most, ties)
    _native.summarise(np.ascontiguousarray(buckets), np.ascontiguousarray(counts), summary)
    return summary


def weigh(
    weights: np.ndarray,
    inside: np.ndarray,
    redraw: int,
    scale: float,
    buckets: np.ndarray,
    summary: Summary,
    total: np.ndarray,
    top: np.ndarray,
    tied: np.ndarray,
) -> None:
    """Add the candidates that agree with each released vector outside one set of columns.

    ``total`` collects the weight of all candidates (from sets of ``redraw`` columns alone), ``top`` the largest weight
    of one candidate and ``tied`` how many have it. A candidate that differs in fewer columns than the set is heavier
    than it is priced here, and priced right when its own set comes. Cost: O(vectors times columns times redraw).

    Parameters
    ----------
    buckets
        Bucket of each released vector.
    summary
        Of buckets of original vectors, as from `summarise`.
    total, top, tied
        float64, float64, int64: one a released vector.
    """
    _native.weigh(weights, inside, redraw, scale, buckets, summary, total, top, tied)


def own_chances(
    weights: np.ndarray, before: np.ndarray, after: np.ndarray, released: np.ndarray, redraw: int, scale: float
) -> np.ndarray:
    """Compute the probability that each record became what it was released as, float64.

    Cost: O(records times columns times redraw).

    Parameters
    ----------
    weights
        Shape (released vectors, columns).
    before, after
        int32, shape (columns, n).
    released
        Vector of each record.
    """
    found = np.empty(before.shape[1])
    before, after = np.ascontiguousarray(before), np.ascontiguousarray(after)
    _native.own_chances(weights, before, after, released, redraw, scale, found)
    return found


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

    Cost: O(people times values + records).

    Parameters
    ----------
    people
        Bucket of each person.
    slot_of
        Scratch, int32, one a bucket, all -1; left as it was.
    buckets, gains
        Of each released vector: bucket, and what one record of it says (float64).
    released, values
        Released vector and sensitive value of each record.
    scores
        float64, shape (people, values).
    """
    _native.spread_scores(people, slot_of, buckets, gains, released, values, scores)


def guess_values(scores: np.ndarray, hits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Guess the value of each person in O(people times values).

    Parameters
    ----------
    scores
        float64, shape (people, values).
    hits
        int64, shape (people, values): records of each person's vector with each value.

    Returns
    -------
    tuple
        float64 share of the best value, and expected number of records guessed right, ties guessed at random.
    """
    confidence, right = np.empty(scores.shape[0]), np.empty(scores.shape[0])
    _native.guess_values(scores, hits, confidence, right)
    return confidence, right


def guess_without(
    scores: np.ndarray, person: np.ndarray, values: np.ndarray, own: float, prior: np.ndarray
) -> np.ndarray:
    """Compute the chance that each record's value is guessed from the records of others alone, float64.

    Cost: O(records times values).

    Parameters
    ----------
    scores
        float64, shape (people, values), whole numbers: votes of all records.
    person, values
        Of each record: whose it is, and its sensitive value.
    own
        Votes that each record gave for itself.
    prior
        float64: chance that a guess without any vote hits each value.
    """
    found = np.empty(person.size)
    _native.guess_without(scores, person, values, own, prior, found)
    return found
