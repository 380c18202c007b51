// Cut a set of rows in two along one column, in place.
//
// Rows are moved, not only numbered, so that every pass over a part reads memory in order. Parts are next to each other, so
// that several cores can work on them with the same result as one.
#pragma once
#include <tuple>

#include "partition/bestcut.hpp"
#include "partition/weights.hpp"
#include "price/cells.hpp"
#include "shared/bind.hpp"

namespace shoal {

// Rows that are cut and moved in place. codes, spare: the rows' codes and a buffer to move them; order, spare_order: the
// input row of each; ends: 1 at the last row of a finished part; weights, spare_weights: rows of each where they are cells.
template <class Code>
struct Work {
    Table<Code> codes, spare;
    Span<i32> order, spare_order;
    Span<u8> ends;
    Optional<Span<i64>> weights, spare_weights;

    using Fields = std::tuple<
        Table<Code>, Table<Code>, Span<i32>, Span<i32>, Span<u8>, Optional<Span<i64>>, Optional<Span<i64>>>;
    static constexpr const char* names = "codes, spare, order, spare_order, ends, weights, spare_weights";

    void check(const char* kernel, const Prices& p) const {
        require_size(kernel, "prices.kind", p.columns(), codes.columns);
        require_room(kernel, "prices.kind", p.columns(), 1);
        require_shape(kernel, "work.spare", spare, codes.rows, codes.columns);
        require_size(kernel, "work.order", order.size, codes.rows);
        require_size(kernel, "work.spare_order", spare_order.size, codes.rows);
        if (weights) require_size(kernel, "work.weights", weights->size, codes.rows);
        // Both or neither.
        if (weights || spare_weights) require_size(kernel, "work.spare_weights", spare_weights->size, weights->size);
    }
};

// A cut of column `a`: rows below `value` go left, and the first `ties` that are equal to it; `left` counts both.
struct Cut {
    i64 a, value, ties, left;
};

// Fill in the lowest and the highest code of every column.
template <class Code>
void ranges(Table<Code> codes, i64 lo, i64 hi, Span<Code> low, Span<Code> high) {
    for (i64 a = 0; a < codes.columns; ++a) low[a] = high[a] = codes(lo, a);
    for (i64 i = lo + 1; i < hi; ++i)
        for (i64 a = 0; a < codes.columns; ++a) {
            Code x = codes(i, a);
            low[a] = x < low[a] ? x : low[a];
            high[a] = x > high[a] ? x : high[a];
        }
}

// Count the different codes of a column.
template <class Code>
i64 count_distinct(Table<Code> codes, i64 lo, i64 hi, i64 a, i64 first, i64 last) {
    constexpr i64 MULTIPLIER = 0x9E3779B1;  // spreads codes that are next to each other
    i64 found = 0;
    if (last - first >= 8 * (hi - lo)) {  // clearing a flag for every value between would take longer
        i64 size = 16;
        while (size < 2 * (hi - lo)) size *= 2;
        Array<i32> table(size, -1);
        for (i64 i = lo; i < hi; ++i) {
            i64 slot = (i64(codes(i, a)) * MULTIPLIER >> 16) & (size - 1);
            while (table[slot] >= 0 && table[slot] != codes(i, a)) slot = (slot + 1) & (size - 1);
            if (table[slot] >= 0) continue;
            table[slot] = codes(i, a);
            ++found;
        }
        return found;
    }
    Array<u8> seen(last - first + 1, 0);
    for (i64 i = lo; i < hi; ++i) {
        u8& one = seen[codes(i, a) - first];
        found += one == 0;
        one = 1;
    }
    return found;
}

// Ticks of every column's cell: none where all rows have the same value, and at least one where they do not.
template <class Code>
Array<i64> widths_of(Table<Code> codes, i64 lo, i64 hi, const Prices& p, Limits<Code> limits) {
    Array<i64> widths(codes.columns, 0);
    for (i64 a = 0; a < codes.columns; ++a) {
        i64 first = limits.low[a], last = limits.high[a];
        if (first == last || p.unit[a] == 0.0) continue;
        if (p.kind[a] != FLAT) widths[a] = cell(p, a, first, last);
        else if (last == p.missing[a]) widths[a] = whole_of(p, a);
        else widths[a] = p.sizes[p.size_at[a] + count_distinct(codes, lo, hi, a, first, last)];
        // Near an extreme value, or under a tiny weight, a cell may cost less than a tick.
        widths[a] = larger(widths[a], i64(1));
    }
    return widths;
}

// The first of the widest columns.
inline i64 widest(Span<const i64> widths) {
    i64 a = 0;
    for (i64 b = 1; b < widths.size; ++b)
        if (widths[b] > widths[a]) a = b;
    return a;
}

struct Median {
    i64 value, below;
};

// Element number ceil(n/2) of a column whose codes have these limits, and the number of rows below it.
template <class Code, class W>
Median lower_median(Table<Code> codes, i64 lo, i64 hi, i64 a, i64 first, i64 last, W weights) {
    i64 n = hi - lo, rank = (weights.total(lo, hi) + 1) / 2, below = 0;
    if (last - first < 4 * n) {
        Array<i64> counts(last - first + 1, 0);
        for (i64 i = lo; i < hi; ++i) counts[codes(i, a) - first] += weights.times(i);
        i64 value = 0;
        for (; below + counts[value] < rank; ++value) below += counts[value];
        return {value + first, below};
    }
    // Halving the range of values takes one pass for each bit, which is faster than sorting.
    while (first < last) {
        i64 middle = first + (last - first) / 2, found = 0;
        for (i64 i = lo; i < hi; ++i) found += codes(i, a) <= middle ? weights.times(i) : 0;
        if (found >= rank) {
            last = middle;
        } else {
            first = middle + 1;
            below = found;
        }
    }
    return {first, below};
}

// Whether a row lies left of a cut that takes `ties` more rows that are equal to `value`.
inline bool goes_left(i64 x, i64 value, i64 ties) { return x < value || (x == value && ties > 0); }

// Move rows to both sides of a cut, keeping their order on each; return where the right side starts.
template <class Code, class W>
i64 move_rows(const Work<Code>& work, i64 lo, i64 hi, Cut cut, W weights, W spare_weights) {
    i64 m = work.codes.columns, at = lo, right = lo, ties = cut.ties;
    auto copy = [m](Table<Code> from, i64 i, Table<Code> to, i64 j) {
        for (i64 b = 0; b < m; ++b) to(j, b) = from(i, b);
    };
    for (i64 i = lo; i < hi; ++i) {
        i64 x = work.codes(i, cut.a);
        if (goes_left(x, cut.value, ties)) {
            ties -= x == cut.value;
            if (at != i) {
                copy(work.codes, i, work.codes, at);
                work.order[at] = work.order[i];
                weights.put(at, weights, i);
            }
            ++at;
        } else {
            copy(work.codes, i, work.spare, right);
            work.spare_order[right] = work.order[i];
            spare_weights.put(right, weights, i);
            ++right;
        }
    }
    for (i64 i = 0; i < right - lo; ++i) {
        copy(work.spare, lo + i, work.codes, at + i);
        work.order[at + i] = work.spare_order[lo + i];
        weights.put(at + i, spare_weights, lo + i);
    }
    return at;
}

// List the input rows of both sides of a cut in `spare_order`; return where the right side starts.
template <class Code>
i64 left_rows(const Work<Code>& work, i64 lo, i64 hi, Cut cut) {
    i64 at = lo, end = hi, ties = cut.ties;
    for (i64 i = lo; i < hi; ++i) {
        i64 x = work.codes(i, cut.a);
        if (goes_left(x, cut.value, ties)) {
            ties -= x == cut.value;
            work.spare_order[at++] = work.order[i];
        } else {
            work.spare_order[--end] = work.order[i];
        }
    }
    return at;
}

}  // namespace shoal
