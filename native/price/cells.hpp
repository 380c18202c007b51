// Losses of cells in whole ticks: sums never drift, so that ties are ties whatever was added first.
#pragma once
#include <cmath>
#include <tuple>

#include "shared/bind.hpp"

namespace shoal {

enum ColumnKind : i64 { INTERVAL, TREE, FLAT };

// What the cells of each column cost. See `Prices` in shoal.kernels.price.cells for the fields.
struct Prices {
    i64 one;
    Span<const i64> kind, card, missing;
    Span<const double> scale, unit, place, top;
    Span<const i64> place_at;
    Span<const i32> tree;
    Span<const i64> steps, tree_at, sizes, size_at, word_at, pair, pair_at;

    i64 columns() const { return kind.size; }

    void check(const char* kernel) const;

    using Ints = Span<const i64>;
    using Reals = Span<const double>;
    using Fields = std::tuple<
        i64, Ints, Ints, Ints, Reals, Reals, Reals, Reals, Ints, Span<const i32>, Ints, Ints, Ints, Ints, Ints, Ints, Ints>;
    static constexpr const char* names =
        "one, kind, card, missing, scale, unit, place, top, place_at, tree, steps, tree_at, sizes, size_at, word_at, pair, "
        "pair_at";
};

inline void Prices::check(const char* kernel) const {
    require_size(kernel, "card", card.size, columns());
    require_size(kernel, "missing", missing.size, columns());
    require_size(kernel, "scale", scale.size, columns());
    require_size(kernel, "unit", unit.size, columns());
    require_size(kernel, "top", top.size, place.size);
    require_size(kernel, "place_at", place_at.size, columns() + 1);
    require_starts(kernel, "place_at", place_at, place.size);
    require_size(kernel, "steps", steps.size, tree.size);
    require_size(kernel, "tree_at", tree_at.size, columns() + 1);
    require_starts(kernel, "tree_at", tree_at, tree.size);
    require_size(kernel, "size_at", size_at.size, columns() + 1);
    require_starts(kernel, "size_at", size_at, sizes.size);
    require_size(kernel, "word_at", word_at.size, columns() + 1);
    require_starts(kernel, "word_at", word_at, NO_LIMIT);
    require_size(kernel, "pair_at", pair_at.size, columns());
    for (i64 a = 0; a < columns(); ++a) {
        if (pair_at[a] >= 0) require_room(kernel, "pair", pair.size, pair_at[a] + card[a] * card[a]);
        if (kind[a] == INTERVAL) require_room(kernel, "place", place.size, place_at[a] + card[a]);
        if (kind[a] == TREE) require_room(kernel, "tree", tree.size, tree_at[a] + card[a]);
        if (kind[a] != FLAT) continue;
        require_room(kernel, "sizes", sizes.size, size_at[a] + card[a] + 1);
        require_number(kernel, "word_at", word_at[a + 1], word_at[a] + (card[a] + 63) / 64, NO_LIMIT);
    }
}

inline i64 round_ticks(double ticks) { return i64(std::floor(ticks + 0.5)); }

// The same of fewer than 2^51 ticks: added to 1.5 * 2^52, a whole number is the lowest bits of the sum. Processors without
// AVX-512 have no instruction that converts several doubles to 64 bits.
inline i64 round_small_ticks(double ticks) {
    const double shift = 0x1.8p52, sum = std::floor(ticks + 0.5) + shift;
    i64 sum_bits, shift_bits;
    std::memcpy(&sum_bits, &sum, sizeof sum);
    std::memcpy(&shift_bits, &shift, sizeof shift);
    return sum_bits - shift_bits;
}

// Ticks of the whole loss of column `a`.
inline i64 whole_of(const Prices& p, i64 a) { return round_ticks(p.unit[a]); }

// Ticks of an interval between two codes that are not missing.
inline i64 interval_cell(const Prices& p, i64 a, i64 low, i64 high) {
    const i64 at = p.place_at[a];
    return round_ticks(smaller(1.0, (p.top[at + high] - p.place[at + low]) * p.scale[a]) * p.unit[a]);
}

// Ticks of an interval or tree cell between two codes, computed from the column's ends or its tree.
inline i64 compute_cell(const Prices& p, i64 a, i64 low, i64 high) {
    if (p.kind[a] == INTERVAL) {
        if (high == p.missing[a]) return low == high ? 0 : whole_of(p, a);
        return interval_cell(p, a, low, high);
    }
    i64 at = p.tree_at[a];
    while (p.tree[at + low] != p.tree[at + high]) at += p.card[a];
    return p.steps[at + low];
}

// Ticks of an interval or tree cell, looked up where the column lists its pairs.
inline i64 cell(const Prices& p, i64 a, i64 low, i64 high) {
    if (p.pair_at[a] >= 0) return p.pair[p.pair_at[a] + low * p.card[a] + high];
    return compute_cell(p, a, low, high);
}

// Ticks of a flat column's cell of `count` values, of which `high` is the last.
inline i64 set_cell(const Prices& p, i64 a, i64 count, i64 high) {
    if (count > 1 && high == p.missing[a]) return whole_of(p, a);
    return p.sizes[p.size_at[a] + count];
}

// Mean over columns of their prices without weights, each between 0 and 1. No column may weigh next to nothing.
inline double mean_price(const Prices& p, Span<const i64> ticks) {
    double total = 0.0;
    for (i64 a = 0; a < ticks.size; ++a) total += double(ticks[a]) / p.unit[a];
    return total / double(ticks.size);
}

}  // namespace shoal
