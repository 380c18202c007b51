// Price many cells at a time: a group's cell with each of some values, and with each of some other groups.
//
// One column after another, so that inner loops read plain arrays.
#pragma once
#include "price/extents.hpp"

namespace shoal {

// Ticks of a group's cell with each of some known values in it as well.
template <class E, class Value>
void cells_with(const Prices& p, const E& ext, i64 g, i64 a, Span<const Value> values, Span<i64> out) {
    const i64 low = ext.low(a, g), high = ext.high(a, g), card = p.card[a], missing = p.missing[a];
    if (p.kind[a] == FLAT) {
        const i64 count = count_values(p, ext, g, a), word = p.word_at[a], whole = whole_of(p, a);
        Span<const i64> sizes = p.sizes.slice(p.size_at[a], p.size_at[a + 1]);
        for (i64 v = 0; v < values.size; ++v) {
            const i64 code = values[v];
            const i64 more = count + !(ext.bits(word + (code >> 6), g) & bit_of(code));
            out[v] = more > 1 && larger(code, high) == missing ? whole : sizes[more];
        }
    } else if (p.pair_at[a] >= 0) {
        Span<const i64> pair = p.pair.slice(p.pair_at[a], p.pair_at[a] + card * card);
        for (i64 v = 0; v < values.size; ++v) {
            const i64 code = values[v];
            out[v] = pair[smaller(low, code) * card + larger(high, code)];
        }
    } else {
        for (i64 v = 0; v < values.size; ++v) {
            const i64 code = values[v];
            out[v] = compute_cell(p, a, smaller(low, code), larger(high, code));
        }
    }
}

// Ticks of a group's cell with each of some records in it; unknown values leave it as it is. `codes` are the column's;
// `values` is a buffer for the values of the others.
template <class E, class Code, class Other, class Value>
void column_with(
    const Prices& p, const E& ext, i64 g, i64 a, Span<const Code> codes, Span<const Other> others, Span<Value> values,
    Span<i64> out
) {
    i64 known = 0;
    // Any code of the group replaces an unknown value, so that the loops below need not ask.
    const i64 inside = ext.high(a, g) >= 0 ? i64(ext.low(a, g)) : 0;
    for (i64 i = 0; i < others.size; ++i) {
        const i64 code = codes[others[i]];
        known += code >= 0;
        values[i] = Value(code >= 0 ? code : inside);
    }
    cells_with(p, ext, g, a, Span<const Value>(values.slice(0, others.size)), out);
    if (known == others.size) return;
    const i64 now = own_cell(p, ext, g, a);
    for (i64 i = 0; i < others.size; ++i)
        if (codes[others[i]] < 0) out[i] = now;
}

// Add to `out` the ticks of a record of a group with each of some records in it; `values` and `ticks` are buffers.
template <class E, class Code, class Other, class Value>
void costs_with(
    const Prices& p, const E& ext, i64 g, Table<const Code> codes, Span<const Other> others, Span<Value> values,
    Span<i64> ticks, Span<i64> out
) {
    for (i64 a = 0; a < codes.rows; ++a) {
        Span<const Code> column = codes[a];
        if (p.pair_at[a] >= 0) {
            const i64 low = ext.low(a, g), high = ext.high(a, g), card = p.card[a];
            Span<const i64> pair = p.pair.slice(p.pair_at[a], p.pair_at[a] + card * card);
            const i64 now = high >= 0 ? pair[low * card + high] : 0;
            for (i64 i = 0; i < others.size; ++i) {
                const i64 code = column[others[i]];
                out[i] += code >= 0 ? pair[smaller(low, code) * card + larger(high, code)] : now;
            }
        } else {
            column_with(p, ext, g, a, column, others, values, ticks);
            for (i64 i = 0; i < others.size; ++i) out[i] += ticks[i];
        }
    }
}

// An interval column and a group's lowest and highest code in it, which may be missing, with what the ticks are computed from.
struct Interval {
    const double *place, *top;
    double scale, unit;
    i32 card, missing, first, last;
    i64 whole;
};

// Add to `out` the ticks of an interval column's cell of a group and each of others as one.
void add_intervals(const Interval& group, const i32* lows, const i32* highs, i64 groups, i64* out);

// A flat column and a group's highest code in it, with what the ticks are looked up in.
struct ValueSet {
    const i64* sizes;
    i64 words;
    i32 missing, last;
    i64 whole;
};

// Add to `out` the ticks of a flat column's cell of a group and each of others as one. `own` and `sets` are the first words
// of the group's set and of the others', and `step` leads from one word to the next.
void add_sets(
    const ValueSet& group, const u64* own, const u64* sets, i64 step, const i32* highs, i64 groups, i64* out);

// Add to `out` the larger of the ticks of each cell's lowest and highest code; cells without any value cost nothing.
void add_nodes(const i32* lows, const i32* highs, const i64* ticks, i64 card, i64 groups, i64* out);

// Add to `out` the ticks of tree cells from the lowest to the highest code of a group and each of others.
template <class E>
void joint_nodes(const Prices& p, const E& ext, i64 g, i64 a, i64 start, i64 stop, Span<i64> out) {
    const i64 first = ext.low(a, g), last = ext.high(a, g), card = p.card[a], groups = stop - start;
    Span<const i32> tree = p.tree.slice(p.tree_at[a], p.tree_at[a + 1]);
    Span<const i64> steps = p.steps.slice(p.tree_at[a], p.tree_at[a + 1]);
    auto common = [&](i64 lower, i64 upper) {
        i64 at = 0;
        while (tree[at + lower] != tree[at + upper]) at += card;
        return steps[at + lower];
    };
    const i32 *lows = &ext.low(a, start), *highs = &ext.high(a, start);
    if (card > groups) {
        for (i64 h = 0; h < groups; ++h) out[h] += common(smaller(first, i64(lows[h])), larger(last, i64(highs[h])));
        return;
    }
    // Ancestors of one node lie on one path: the common one of a group is the higher of those of its two ends, which costs
    // no less than the other.
    Array<i64> table(card);
    for (i64 code = 0; code < card; ++code) table[code] = common(smaller(first, code), larger(last, code));
    add_nodes(lows, highs, &table[0], card, groups, &out[0]);
}

// Add to `out` the ticks of one column's cell of group `g` and each group from `start` to `stop` as one. Cells of a column are
// next to each other in `ext`.
template <class E>
void joint_column(const Prices& p, const E& ext, i64 g, i64 a, i64 start, i64 stop, Span<i64> out) {
    static_assert(E::order == Layout::COLUMNS);
    const i64 groups = stop - start, whole = whole_of(p, a);
    if (groups < 1) return;
    const i32 first = ext.low(a, g), last = ext.high(a, g), missing = i32(p.missing[a]);
    const i32 *lows = &ext.low(a, start), *highs = &ext.high(a, start);
    if (p.kind[a] == INTERVAL) {
        const i64 at = p.place_at[a];
        const Interval group{
            &p.place[at], &p.top[at], p.scale[a], p.unit[a], i32(p.card[a]), missing, first, last, whole};
        add_intervals(group, lows, highs, groups, &out[0]);
    } else if (p.kind[a] == FLAT) {
        const i64 word = p.word_at[a];
        const ValueSet group{&p.sizes[p.size_at[a]], p.word_at[a + 1] - word, missing, last, whole};
        add_sets(group, &ext.bits(word, g), &ext.bits(word, start), ext.groups, highs, groups, &out[0]);
    } else {
        joint_nodes(p, ext, g, a, start, stop, out);
    }
}

// Ticks of a record of group `g` and each of the groups from `start` to `stop` as one. Groups have records, prices of a
// tree do not fall with the level, and the cells of one column are next to each other.
template <class E>
void joint_costs(const Prices& p, const E& ext, i64 g, i64 start, i64 stop, Span<i64> out) {
    for (i64 h = 0; h < stop - start; ++h) out[h] = 0;
    for (i64 a = 0; a < p.columns(); ++a) joint_column(p, ext, g, a, start, stop, out);
}

}  // namespace shoal
