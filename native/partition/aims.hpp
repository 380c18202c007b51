// Scores of cuts for the prediction of one column: the uncertainty that is left on both sides.
//
// For labels it is the number of records times the entropy of their side (InfoGain Mondrian), for numbers the squared
// deviation from the mean of their side (LSD Mondrian; both LeFevre, DeWitt & Ramakrishnan 2006).
#pragma once
#include <cmath>
#include <tuple>

#include "shared/bind.hpp"

namespace shoal {

// The column to predict. See `Aim` in shoal.kernels.partition.aims for the fields.
struct Aim {
    Span<const i32> labels;
    i64 kinds;
    Span<const i64> numbers;
    double unit;
    Optional<Span<const i64>> at, counts;

    using Fields = std::tuple<
        Span<const i32>, i64, Span<const i64>, double, Optional<Span<const i64>>, Optional<Span<const i64>>>;
    static constexpr const char* names = "labels, kinds, numbers, unit, at, counts";

    void check(const char* kernel, i64 rows) const {
        if (numbers.size) require_size(kernel, "aim.numbers", numbers.size, kinds);
        if (at) require_room(kernel, "aim.at", at->size, rows + 1);
        else require_room(kernel, "aim.labels", labels.size, rows);
        // Both or neither.
        if (at || counts) require_size(kernel, "aim.counts", counts->size, at ? labels.size : 0);
    }

    // First label of a row or cell, and the one after its last; and how many rows have it.
    i64 first(i64 unit) const { return at ? (*at)[unit] : unit; }
    i64 after(i64 unit) const { return at ? (*at)[unit + 1] : unit + 1; }
    i64 times(i64 e) const { return counts ? (*counts)[e] : 1; }
};

constexpr i64 NEVER = std::numeric_limits<i64>::max();

// Scores are rounded to these parts of a bit (or of the column's variance), so that equal ones tie.
constexpr double AIM_STEPS = double(1 << 20);

// Count the ascending cut values that lie below a code.
inline i64 bucket_of(Span<const i64> values, i64 code) {
    i64 low = 0, high = values.size;
    while (low < high) {
        i64 middle = (low + high) / 2;
        if (values[middle] < code) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Records times the entropy of their labels, in bits.
inline double uncertainty(Span<const i64> counts, i64 rows) {
    double total = 0.0;
    for (i64 count : counts)
        if (count > 0) total += double(count) * std::log2(double(rows) / double(count));
    return total;
}

// Squared deviation of so many numbers from their mean, given their sum and the sum of their squares.
inline double deviation(const i64* sums) { return double(sums[2]) - double(sums[1]) * double(sums[1]) / double(sums[0]); }

template <class Code>
void score_labels(
    Table<Code> codes, Span<const i32> order, i64 lo, i64 hi, i64 a, const Aim& aim, Span<const i64> values,
    Span<i64> scores
) {
    i64 buckets = values.size + 1, n = hi - lo, below = 0, above = 0, done = 0;
    // Rows bucket by bucket: a table of buckets by labels would grow with the square of the rows.
    Array<i64> left(aim.kinds, 0), right(aim.kinds, 0), bucket(n), ends(buckets + 1, 0), ordered(n);
    for (i64 i = 0; i < n; ++i) {
        bucket[i] = bucket_of(values, codes(lo + i, a));
        ++ends[bucket[i] + 1];
        for (i64 e = aim.first(order[lo + i]); e < aim.after(order[lo + i]); ++e) {
            right[aim.labels[e]] += aim.times(e);
            above += aim.times(e);
        }
    }
    for (i64 cut = 0; cut < buckets; ++cut) ends[cut + 1] += ends[cut];
    for (i64 i = 0; i < n; ++i) ordered[ends[bucket[i]]++] = order[lo + i];
    for (i64 cut = 0; cut < buckets - 1; ++cut) {
        for (; done < ends[cut]; ++done)
            for (i64 e = aim.first(ordered[done]); e < aim.after(ordered[done]); ++e) {
                i64 rows = aim.times(e);
                left[aim.labels[e]] += rows;
                right[aim.labels[e]] -= rows;
                below += rows;
                above -= rows;
            }
        double rest = uncertainty(left, below) + uncertainty(right, above);
        scores[cut] = i64(std::floor(rest * AIM_STEPS + 0.5));
    }
}

template <class Code>
void score_numbers(
    Table<Code> codes, Span<const i32> order, i64 lo, i64 hi, i64 a, const Aim& aim, Span<const i64> values,
    Span<i64> scores
) {
    i64 buckets = values.size + 1;
    // Whole numbers: sums of floats would depend on what was added first.
    Array<i64> table(3 * (buckets + 1), 0);
    i64* whole = table.data + 3 * buckets;
    for (i64 i = lo; i < hi; ++i) {
        i64* mine = table.data + 3 * bucket_of(values, codes(i, a));
        for (i64 e = aim.first(order[i]); e < aim.after(order[i]); ++e) {
            i64 number = aim.numbers[aim.labels[e]], rows = aim.times(e);
            mine[0] += rows;
            mine[1] += rows * number;
            mine[2] += rows * number * number;
        }
    }
    for (i64 at = 0; at < 3 * buckets; ++at) whole[at % 3] += table[at];
    for (i64 cut = 0; cut < buckets - 1; ++cut) {
        i64* mine = table.data + 3 * cut;
        i64 rest[3] = {whole[0] - mine[0], whole[1] - mine[1], whole[2] - mine[2]};
        scores[cut] = i64(std::floor((deviation(mine) + deviation(rest)) * aim.unit * AIM_STEPS + 0.5));
        for (i64 part = 0; part < 3; ++part) mine[3 + part] += mine[part];
    }
}

// Score every cut, in steps; cuts are given column by column, by ascending values.
template <class Code>
Array<i64> aim_scores(
    Table<Code> codes, Span<const i32> order, i64 lo, i64 hi, const Aim& aim, Span<const i64> columns,
    Span<const i64> values
) {
    Array<i64> scores(columns.size, 0);
    for (i64 start = 0, stop; start < columns.size; start = stop) {
        for (stop = start; stop < columns.size && columns[stop] == columns[start];) ++stop;
        auto score = aim.numbers.size == 0 ? score_labels<Code> : score_numbers<Code>;
        score(codes, order, lo, hi, columns[start], aim, values.slice(start, stop), scores.slice(start, stop));
    }
    return scores;
}

// The cut with the lowest score, of equals the least lossy, then the first; -1 when the losses of all are NEVER.
inline i64 first_cut(Span<const i64> scores, Span<const i64> losses) {
    i64 best = -1;
    for (i64 cut = 0; cut < scores.size; ++cut) {
        if (losses[cut] == NEVER) continue;
        bool better = best < 0 || scores[cut] < scores[best];
        if (better || (scores[cut] == scores[best] && losses[cut] < losses[best])) best = cut;
    }
    return best;
}

}  // namespace shoal
