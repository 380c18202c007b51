// Sparse histograms of integer codes: distinct values in ascending order, and how often each occurs.
#pragma once
#include <algorithm>

#include "shared/array.hpp"

namespace shoal {

// Write the distinct values of sorted `values` and their counts; return how many there are.
template <class T>
i64 run_lengths(Span<T> values, Span<i32> codes, Span<i64> counts) {
    i64 distinct = 0;
    for (i64 i = 0; i < values.size; ++i) {
        if (distinct > 0 && codes[distinct - 1] == values[i]) {
            ++counts[distinct - 1];
        } else {
            codes[distinct] = i32(values[i]);
            counts[distinct++] = 1;
        }
    }
    return distinct;
}

// Sort in place: by insertion for the few values of a typical group, where the library's sort is slower.
template <class T>
void sort_small(Span<T> values) {
    if (values.size > 48) {
        std::sort(values.begin(), values.end());
        return;
    }
    for (i64 i = 1; i < values.size; ++i) {
        T value = values[i];
        i64 j = i - 1;
        for (; j >= 0 && values[j] > value; --j) values[j + 1] = values[j];
        values[j + 1] = value;
    }
}

// Count the codes of one group. `values` is sorted as a side effect; `dense` has a zero for each of `card` codes, and has
// zeros again afterwards.
template <class T>
i64 count_segment(Span<T> values, i64 card, Span<i64> dense, Span<i32> codes, Span<i64> counts) {
    if (values.size <= card) {
        sort_small(values);
        return run_lengths(values, codes, counts);
    }
    for (T value : values) ++dense[value];
    i64 distinct = 0;
    for (i64 code = 0; code < card; ++code) {
        if (!dense[code]) continue;
        codes[distinct] = i32(code);
        counts[distinct++] = dense[code];
        dense[code] = 0;
    }
    return distinct;
}

// Count distinct subjects for each value in one group of rows; return the number of distinct values.
inline i64 pair_histogram(
    Span<const i32> rows, Span<const i32> values, Span<const i32> subjects, i64 n_subjects, Span<i32> codes,
    Span<i64> counts
) {
    Array<i64> pairs(rows.size);
    for (i64 i = 0; i < rows.size; ++i) pairs[i] = i64(values[rows[i]]) * n_subjects + subjects[rows[i]];
    std::sort(pairs.begin(), pairs.end());
    i64 distinct = 0;
    for (i64 i = 0; i < pairs.size; ++i) {
        if (i > 0 && pairs[i] == pairs[i - 1]) continue;
        i32 code = i32(floor_div(pairs[i], n_subjects));
        if (distinct > 0 && codes[distinct - 1] == code) {
            ++counts[distinct - 1];
        } else {
            codes[distinct] = code;
            counts[distinct++] = 1;
        }
    }
    return distinct;
}

// Count distinct subjects of the rows whose value is not flagged; without flags, of all rows.
inline i64 distinct_subjects(
    Span<const i32> rows, Span<const i32> subjects, Span<const u8> flags, Span<const i32> values
) {
    Array<i32> kept(rows.size);
    i64 size = 0;
    for (i32 row : rows)
        if (flags.size == 0 || flags[values[row]] == 0) kept[size++] = subjects[row];
    Span<i32> sorted = kept.slice(0, size);
    sort_small(sorted);
    i64 distinct = 0;
    for (i64 i = 0; i < size; ++i) distinct += i == 0 || sorted[i] != sorted[i - 1];
    return distinct;
}

}  // namespace shoal
