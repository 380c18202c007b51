"""Reading pseudonymised columns back with a sample of true values: by rank, by frequency, by maximum likelihood.

The attacker holds some true values of the same population, such as a survey or an earlier release, and no key at all.
Codes that keep the order fall to sorting (rank matching), codes that keep frequencies to counting (frequency matching).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.data.table import Table
from shoal.errors import MissingExtraError, ParameterError
from shoal.kernels.grouping import group_rows
from shoal.risk.attacks.base import AttackFigure, figure
from shoal.utility.research_labels import places

SHARES = (0.01, 0.1)
_SAMPLES = 200
_WITHIN_RANGE = 0.05


def attack_pseudonymised(
    table: Table,
    coded: Mapping[str, pl.Series],
    generator: np.random.Generator,
    *,
    shares: Sequence[float] = SHARES,
    sizes: Sequence[int] = (),
) -> dict[str, list[AttackFigure]]:
    """All that is measured of a pseudonymised release, by column; what concerns no column is under ``""``.

    Parameters
    ----------
    coded
        Published codes by column, one entry a row of the table: numbers where they rise with the values, else texts.
    shares, sizes
        How large the attacker's samples are, as shares of the rows and as numbers.
    """
    ids, _, counts = group_rows(table.quasi_codes, np.array([column.card for column in table.quasi]))
    alone = float((counts[ids] == 1).mean())
    told = f"{alone:.1%} of the records are alone with their quasi-identifiers, which are published as they are."
    found: dict[str, list[AttackFigure]] = {"": [figure("unique", alone, table.n, told)]}
    for name, codes in coded.items():
        column = table.columns[name]
        values = table.codes[name]
        known = values != column.missing
        figures = found[name] = []
        rising = codes.dtype.is_numeric()  # a mapping puts numbers in no order either
        for size in sample_sizes(int(known.sum()), shares, sizes):
            if rising:
                truth = places(column)[values[known]]
                figures += rank_matching(truth, codes.filter(pl.Series(known)).to_numpy(), generator, size=size)
            else:
                # Numbers of released values alone: how many others there are would change what is drawn.
                truth = np.unique(values[known], return_inverse=True)[1]
                figures.append(frequency_matching(truth, generator, size=size))
    return found


def rank_guesses(counts: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """What an attacker takes every code for: the sample's value at the same mid-rank quantile.

    Parameters
    ----------
    counts
        Released rows of every code, codes in ascending order.
    sample
        True values, in any order.
    """
    quantile = (np.cumsum(counts) - counts / 2.0) / counts.sum()
    return np.quantile(sample, quantile, method="inverted_cdf")


def rank_shares(
    truth: np.ndarray, codes: np.ndarray, generator: np.random.Generator, *, size: int, limits: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Shares of records read within each limit, and those that one guess for all would read, for 200 samples.

    Parameters
    ----------
    truth, codes
        True numbers and released codes of the same rows, missing ones left out; a code has one true number.
    size
        True values in a sample; their rows are held out of what is scored.

    Returns
    -------
    tuple
        Two arrays of shape (samples, limits). Cost: O(n log n) once, then by distinct codes.
    """
    size = _sample_size(size, len(truth))
    _, first, code, counts = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    value = truth[first].astype(np.float64)
    slack = 1e-9 * max(float(value.max() - value.min()), 1.0)
    found, naive = np.zeros((_SAMPLES, len(limits))), np.zeros((_SAMPLES, len(limits)))
    for sample in range(_SAMPLES):
        held = np.bincount(code[generator.choice(len(code), size, replace=False)], minlength=len(counts))
        share = (counts - held) / (len(code) - size)
        off = np.abs(rank_guesses(counts, np.repeat(value, held)) - value)
        for place, limit in enumerate(limits):
            found[sample, place] = share @ (off <= limit + slack)
            naive[sample, place] = share @ (np.abs(value - _best_guess(value, held, limit)) <= limit + slack)
    return found, naive


def rank_matching(
    truth: np.ndarray, codes: np.ndarray, generator: np.random.Generator, *, size: int, unit: float = 1.0
) -> list[AttackFigure]:
    """Rank matching with samples of ``size`` true values: records read exactly, within a unit, within 5 % of the range.

    The baseline is the one value that would be right most often in the sample.

    Parameters
    ----------
    truth, codes
        As in :func:`rank_shares`.
    unit
        What "within one unit" means, 1 for whole numbers.
    """
    reach = _WITHIN_RANGE * float(truth.max() - truth.min())
    limits = {"exactly": 0.0, "within one unit": unit, "within 5 % of the range": reach}
    found, naive = rank_shares(truth, codes, generator, size=size, limits=list(limits.values()))
    return [
        _figure(
            f"rank matching, {what}",
            found[:, place],
            float(naive[:, place].mean()),
            len(truth) - size,
            f"Sorting the codes against {size:,} true values reads {{share}} of the other records {what}{{spread}}; "
            "one guess for all would be right for {naive}.",
        )
        for place, what in enumerate(limits)
    ]


def frequency_guesses(counts: np.ndarray, seen: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The value that each code is taken for: both sorted by frequency, ties at random.

    Parameters
    ----------
    counts
        Released rows of every code.
    seen
        Rows of every value in the sample; values never seen there are not guessed.

    Returns
    -------
    ndarray
        int64, one a code: place of the guessed value, -1 where there is none.
    """
    values = np.flatnonzero(seen)
    matched = min(len(counts), len(values))
    codes = np.lexsort((generator.random(len(counts)), -counts))
    order = np.lexsort((generator.random(len(values)), -seen[values]))
    guesses = np.full(len(counts), -1, dtype=np.int64)
    guesses[codes[:matched]] = values[order[:matched]]
    return guesses


def frequency_matching(truth: np.ndarray, generator: np.random.Generator, *, size: int) -> AttackFigure:
    """Frequency matching of one-to-one codes with samples of ``size`` true values; means over 200 samples and ties.

    A one-to-one code has the frequencies of the values themselves, so the codes need not be given.

    Parameters
    ----------
    truth
        Number of every row's true value, from 0; missing ones left out.
    """
    counts = np.bincount(truth)

    def right(held: np.ndarray) -> np.ndarray:
        return frequency_guesses(counts, held, generator) == np.arange(len(counts))

    return _scored("frequency matching", "Counting the codes", truth, None, generator, size, right)


def likelihood_matching(
    truth: np.ndarray, generator: np.random.Generator, *, size: int, beside: np.ndarray
) -> AttackFigure:
    """Maximum-likelihood matching: the one-to-one assignment under which the sample is most likely.

    Parameters
    ----------
    beside
        Number of every row's value of a public column, from 0: its frequencies together with the codes tell values
        apart that are equally common.
    """
    assign = _assignment()
    joint = _joint(truth, beside, (int(truth.max()) + 1, int(beside.max()) + 1))
    # Half a row more in every cell: what the release does not show is unlikely, not impossible.
    log_share = np.log((joint + 0.5) / (len(truth) + 0.5 * joint.size))

    def right(held: np.ndarray) -> np.ndarray:
        # Both sides in random order: among equally likely assignments the solver must not prefer the true one.
        value, code = generator.permutation(len(held)), generator.permutation(len(held))
        rows, columns = assign(held[value] @ log_share[code].T, maximize=True)
        made = np.zeros(len(held), dtype=bool)
        made[value[rows]] = value[rows] == code[columns]
        return made & (held.sum(axis=1) > 0)  # a value never seen cannot be guessed

    return _scored("likelihood matching", "The likeliest assignment", truth, beside, generator, size, right)


def sample_sizes(rows: int, shares: Sequence[float] = SHARES, sizes: Sequence[int] = ()) -> list[int]:
    """Sizes of samples to measure with: shares of the rows, and given sizes that leave something to score."""
    wanted = [max(1, round(share * rows)) for share in shares]
    return sorted({size for size in [*wanted, *sizes] if 0 < size < rows})


def _scored(
    name: str,
    what: str,
    truth: np.ndarray,
    other: np.ndarray | None,
    generator: np.random.Generator,
    size: int,
    right: Callable[[np.ndarray], np.ndarray],
) -> AttackFigure:
    """Records read, given which values were found (``right``) from the counts of a sample; 200 samples."""
    size = _sample_size(size, len(truth))
    rest, counts = len(truth) - size, np.bincount(truth)
    found, naive = np.zeros(_SAMPLES), np.zeros(_SAMPLES)
    for sample in range(_SAMPLES):
        rows = generator.choice(len(truth), size, replace=False)
        held = np.bincount(truth[rows], minlength=len(counts))
        seen = held if other is None else _joint(truth[rows], other[rows], (len(counts), int(other.max()) + 1))
        found[sample] = (counts - held) @ right(seen) / rest
        naive[sample] = (counts - held)[held.argmax()] / rest
    sentence = (
        f"{what} against {size:,} true values reads {{share}} of the other records{{spread}}; guessing the commonest "
        "value would be right for {naive}."
    )
    return _figure(name, found, float(naive.mean()), rest, sentence)


def _figure(name: str, found: np.ndarray, naive: float, rest: int, sentence: str) -> AttackFigure:
    """The mean over samples, with an interval that knows how much samples differ.

    Records of one sample are read or missed together, so they are worth fewer trials than there are: as many as would
    give a mean of independent trials the variance that the mean over samples has.
    """
    share = float(min(found.mean(), 1.0))
    variance = float(found.var()) / len(found)
    trials = rest if variance <= 0 else max(1, min(rest, int(share * (1.0 - share) / variance)))
    low, high = np.quantile(found, [0.025, 0.975])
    spread = f" (from {low:.0%} to {high:.0%}, by the sample)" if high - low > 0.01 else ""
    told = sentence.format(share=f"{share:.0%}", spread=spread, naive=f"{naive:.0%}")
    return figure(name, share, trials, told, baseline=naive)


def _joint(truth: np.ndarray, other: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Rows of every pair of values."""
    return np.bincount(truth * shape[1] + other, minlength=shape[0] * shape[1]).reshape(shape)


def _sample_size(size: int, rows: int) -> int:
    if not 0 < size < rows:
        raise ParameterError(f"The attacker's sample must have from 1 to {rows - 1} rows, which leaves some to read.")
    return int(size)


def _best_guess(values: np.ndarray, held: np.ndarray, limit: float) -> float:
    """The sample's value with the most others within a limit; values are in ascending order."""
    total = np.concatenate([[0], np.cumsum(held)])
    near = total[np.searchsorted(values, values + limit, side="right")] - total[np.searchsorted(values, values - limit)]
    return float(values[np.where(held > 0, near, -1).argmax()])


def _assignment() -> Any:
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError:
        raise MissingExtraError("The maximum-likelihood matching", "scipy", "eval") from None
    return linear_sum_assignment
