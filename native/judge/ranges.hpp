// Shares of a group in the sensitive ranges of its values.
//
// A policy gives every code a place on an axis, on which the range of each code is an interval. Codes of ordered and tree
// columns are their own places; those of flat columns are ordered by blocks.
#pragma once
#include <algorithm>

#include "judge/rules.hpp"

namespace shoal {

// The index of the first place that is not below a value.
inline i64 searchsorted(Span<const double> places, double value) {
    return std::lower_bound(places.begin(), places.end(), value) - places.begin();
}

// The entries of a histogram in the order of their places.
inline Array<i64> along_axis(Span<const i32> codes, Span<const double> axis, bool sort) {
    Array<i64> keys(codes.size);
    for (i64 i = 0; i < codes.size; ++i) keys[i] = sort ? i + i64(axis[codes[i]]) * codes.size : i;
    if (!sort) return keys;
    std::sort(keys.begin(), keys.end());
    for (i64& key : keys) key %= codes.size;
    return keys;
}

// Weigh the records from `first` to `after` by their closeness to the value at `i`.
//
// Codes are in depth-first order, so that the common ancestor only rises with the distance.
inline double tree_mass(
    i64 i, i64 first, i64 after, Span<const i32> codes, Span<const i64> counts, double scale, Span<const double> leaves,
    Span<const i32> tree, i64 card
) {
    i64 own = codes[i];
    double mass = 0.0;
    for (i64 step : {i64(-1), i64(1)}) {
        i64 level = 0;
        for (i64 j = step < 0 ? i : i + 1; first <= j && j < after; j += step) {
            while (tree[level * card + codes[j]] != tree[level * card + own]) ++level;
            mass += double(counts[j]) * (1.0 - (leaves[level * card + own] - 1.0) / scale);
        }
    }
    return mass;
}

// Range diversity (Loukides, Def. 5.1.4): mean over ordered pairs of closeness, 0 outside the first one's range.
//
// `ref` holds place, low and high end of the range of every code, then positions or leaf counts. Distances add up from
// running sums, so that only trees need every pair.
inline double pair_share(
    Span<const i32> codes, Span<const i64> counts, double total, i64 kind, double scale, Span<const double> ref,
    Span<const i32> tree, i64 card
) {
    Array<i64> order = along_axis(codes, ref, kind == EQUAL);
    i64 size = codes.size;
    Array<double> places(size), mass(size + 1, 0.0), moment(size + 1, 0.0);
    for (i64 i = 0; i < size; ++i) {
        i64 code = codes[order[i]], count = counts[order[i]];
        places[i] = ref[code];
        mass[i + 1] = mass[i] + count;
        if (kind == POSITIONS && scale > 0.0) moment[i + 1] = moment[i] + count * (ref[3 * card + code] / scale);
    }
    double pairs = 0.0;
    for (i64 i = 0; i < size; ++i) {
        i64 code = codes[order[i]], count = counts[order[i]];
        i64 a = searchsorted(places, ref[card + code]), b = searchsorted(places, ref[2 * card + code] + 0.5);
        double near = mass[b] - mass[a];
        if (scale > 0.0 && b - a > 1) {
            if (kind == POSITIONS) {
                double x = ref[3 * card + code] / scale;
                near -= x * (mass[i] - mass[a]) - (moment[i] - moment[a]);
                near -= (moment[b] - moment[i]) - x * (mass[b] - mass[i]);
            } else if (kind == LEAVES) {
                near = tree_mass(i, a, b, codes, counts, scale, ref.from(3 * card), tree, card);
            } else {
                near -= (near - count) / scale;
            }
        }
        pairs += count * near;
    }
    return smaller(1.0, pairs / (total * total));
}

// Largest share of a group in one sensitive range of the policy.
//
// `ref` holds the place of every code, then how far a range that begins at or before it reaches. A range that holds a
// record holds a first value of the group, and of those with that first value the farthest holds most.
inline double range_share(
    Span<const i32> codes, Span<const i64> counts, double known, bool sort, Span<const double> ref, i64 card
) {
    Array<i64> order = along_axis(codes, ref, sort);
    double worst = 0.0, inside = 0.0;
    i64 after = 0;
    for (i64 i = 0; i < codes.size; ++i) {
        double reach = ref[card + codes[order[i]]];
        for (; after < codes.size && ref[codes[order[after]]] <= reach; ++after) inside += counts[order[after]];
        worst = larger(worst, inside / known);
        inside -= counts[order[i]];
    }
    // People with several values in one range are counted once for each.
    return smaller(1.0, worst);
}

}  // namespace shoal
