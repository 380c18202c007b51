"""A growing group: extend it by a record, and price it before doing so.

Codes below 0 are unknown values: they leave an extent as it is. An extent without any value is (card, -1) and costs
nothing, as one with a single value does.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.price.geometry import FLAT, Geometry, price, price_set


@kernel
def open_group(geo: Geometry, row: np.ndarray, low: np.ndarray, high: np.ndarray, bits: np.ndarray) -> None:
    """Make the extent that of one record."""
    for w in range(bits.size):
        bits[w] = np.uint64(0)
    for a in range(row.size):
        low[a] = geo.card[a]
        high[a] = -1
    extend(geo, row, low, high, bits)


@kernel
def extend(geo: Geometry, row: np.ndarray, low: np.ndarray, high: np.ndarray, bits: np.ndarray) -> None:
    """Make room in the extent for a record."""
    for a in range(row.size):
        x = row[a]
        if x < 0:
            continue
        low[a] = min(low[a], x)
        high[a] = max(high[a], x)
        if geo.kind[a] == FLAT:
            bits[geo.word_at[a] + (x >> 6)] |= np.uint64(1) << np.uint64(x & 63)


@kernel
def prices(geo: Geometry, low: np.ndarray, high: np.ndarray, bits: np.ndarray, out: np.ndarray) -> None:
    """Unweighted price of every column of an extent."""
    for a in range(out.size):
        if high[a] < 0:
            out[a] = 0.0
        elif geo.kind[a] == FLAT:
            out[a] = price_set(geo, a, bits)
        else:
            out[a] = price(geo, a, low[a], high[a])


@kernel
def price_with(
    geo: Geometry, row: np.ndarray, low: np.ndarray, high: np.ndarray, bits: np.ndarray, now: np.ndarray,
    out: np.ndarray,
) -> float:  # fmt: skip
    """Weighted price of the extent after one more record; ``now`` and ``out`` are the columns' prices before and after.

    A function a column would be neater, but handing a geometry on costs more than pricing a cell.
    """
    total = 0.0
    for a in range(row.size):
        x = row[a]
        value = now[a]
        if x < 0:
            pass
        elif geo.kind[a] != FLAT:
            if x < low[a] or x > high[a]:
                value = price(geo, a, min(low[a], x), max(high[a], x))
        elif high[a] >= 0 and not (bits[geo.word_at[a] + (x >> 6)] >> np.uint64(x & 63)) & np.uint64(1):
            value = 1.0 if max(high[a], x) == geo.missing[a] else value + geo.scale[a]
        out[a] = value
        total += geo.weight[a] * value
    return total


@kernel
def price_each(
    geo: Geometry, row: np.ndarray, low: np.ndarray, high: np.ndarray, bits: np.ndarray, now: np.ndarray,
    first: int, after: int, out: np.ndarray,
) -> None:  # fmt: skip
    """The same for the groups from ``first`` to ``after``: weighted price and mean over columns, a row of out each."""
    for c in range(first, after):
        total = 0.0
        plain = 0.0
        for a in range(row.size):
            x = row[a]
            value = now[c, a]
            if x < 0:
                pass
            elif geo.kind[a] != FLAT:
                if x < low[c, a] or x > high[c, a]:
                    value = price(geo, a, min(low[c, a], x), max(high[c, a], x))
            elif high[c, a] >= 0 and not (bits[c, geo.word_at[a] + (x >> 6)] >> np.uint64(x & 63)) & np.uint64(1):
                value = 1.0 if max(high[c, a], x) == geo.missing[a] else value + geo.scale[a]
            total += geo.weight[a] * value
            plain += value
        out[c - first, 0] = total
        out[c - first, 1] = plain / row.size


@kernel
def pair_prices(
    geo: Geometry, codes: np.ndarray, one: int, others: np.ndarray, count: int, base: float, out: np.ndarray
) -> None:
    """``base`` + weighted price of the pairs of one record with each of the first ``count`` others.

    ``codes`` are (columns, records). One column at a time, so that its kind is looked up once.
    """
    for i in range(count):
        out[i] = base
    for a in range(codes.shape[0]):
        x = codes[a, one]
        weight = geo.weight[a]
        if geo.kind[a] == FLAT:
            for i in range(count):
                y = codes[a, others[i]]
                if x != y and x >= 0 and y >= 0:
                    out[i] += weight * (1.0 if max(x, y) == geo.missing[a] else geo.scale[a])
            continue
        for i in range(count):
            y = codes[a, others[i]]
            if max(x, y) >= 0:
                low = min(x, y) if min(x, y) >= 0 else max(x, y)
                out[i] += weight * price(geo, a, low, max(x, y))


@kernel(inline="always")
def reprice(
    geo: Geometry, codes: np.ndarray, others: np.ndarray, count: int, low: np.ndarray, high: np.ndarray,
    bits: np.ndarray, now: np.ndarray, stale: np.ndarray, shares: np.ndarray, totals: np.ndarray,
) -> None:  # fmt: skip
    """Keep ``totals``, the weighted price of the extent with each of the first ``count`` others, up to date.

    ``codes`` and ``shares``, the columns' prices in each total, are (columns, records), totals by record; no value is
    unknown. Only ``stale`` columns, those whose price has changed, are looked at, and are stale no longer: a column
    whose price has not changed prices every other record as before.
    """
    for a in range(codes.shape[0]):
        if not stale[a]:
            continue
        stale[a] = 0
        for i in range(count):
            place = others[i]
            x = codes[a, place]
            value = now[a]
            if geo.kind[a] != FLAT:
                if x < low[a] or x > high[a]:
                    value = price(geo, a, min(low[a], x), max(high[a], x))
            elif not (bits[geo.word_at[a] + (x >> 6)] >> np.uint64(x & 63)) & np.uint64(1):
                value = 1.0 if max(high[a], x) == geo.missing[a] else value + geo.scale[a]
            totals[place] += geo.weight[a] * (value - shares[a, place])
            shares[a, place] = value
