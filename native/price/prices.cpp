// Price lists and prices of groups, and entry points through which tests reach functions that other kernels inline.
#include "price/many.hpp"
#include "shared/bind.hpp"
#include "shared/heap.hpp"

namespace shoal {

// Without branches and with pointers that the compiler knows, so that it works on several groups at a time.
SHOAL_CLONES void add_intervals(const Interval& group, const i32* lows, const i32* highs, i64 groups, i64* __restrict out) {
    const Interval g = group;
    for (i64 h = 0; h < groups; ++h) {
        const i32 low = smaller(g.first, lows[h]), high = larger(g.last, highs[h]);
        const double width = g.top[larger(high, 0)] - g.place[smaller(low, g.card - 1)];
        const i64 ticks = round_small_ticks(smaller(1.0, width * g.scale) * g.unit);
        out[h] += high != g.missing ? ticks : low == high ? 0 : g.whole;
    }
}

namespace {

// Word by word and group by group in loops that do one thing each, which the compiler can turn into vector instructions.
inline __attribute__((always_inline)) void add_sets_inlined(
    const ValueSet& group, const u64* own, const u64* sets, i64 step, const i32* highs, i64 groups, i64* __restrict out
) {
    const ValueSet s = group;
    constexpr i64 BLOCK = 256;
    i64 count[BLOCK], ticks[BLOCK];
    for (i64 start = 0; start < groups; start += BLOCK) {
        const i64 size = smaller(BLOCK, groups - start);
        for (i64 h = 0; h < size; ++h) count[h] = 0;
        for (i64 w = 0; w < s.words; ++w) {
            const u64 mine = own[w * step], *others = sets + w * step + start;
            for (i64 h = 0; h < size; ++h) count[h] += popcount(mine | others[h]);
        }
        for (i64 h = 0; h < size; ++h) ticks[h] = s.sizes[count[h]];
        if (s.missing >= 0)
            for (i64 h = 0; h < size; ++h)
                ticks[h] = (count[h] > 1) & (larger(s.last, highs[start + h]) == s.missing) ? s.whole : ticks[h];
        for (i64 h = 0; h < size; ++h) out[start + h] += ticks[h];
    }
}

// Where SHOAL_CLONES are: zig's library, for one, cannot tell which instructions a processor has.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(SHOAL_CHECK) && !defined(SHOAL_NO_CLONES)
#define SHOAL_AVX512
// For processors that count the bits of eight words at once, most since about 2020.
__attribute__((target("avx512f,avx512vpopcntdq"))) void add_sets_avx512(
    const ValueSet& group, const u64* own, const u64* sets, i64 step, const i32* highs, i64 groups, i64* out
) {
    add_sets_inlined(group, own, sets, step, highs, groups, out);
}

const bool counts_words_at_once = (__builtin_cpu_init(), __builtin_cpu_supports("avx512vpopcntdq"));
#endif

}  // namespace

void add_sets(
    const ValueSet& group, const u64* own, const u64* sets, i64 step, const i32* highs, i64 groups, i64* out
) {
#ifdef SHOAL_AVX512
    if (counts_words_at_once) return add_sets_avx512(group, own, sets, step, highs, groups, out);
#endif
    add_sets_inlined(group, own, sets, step, highs, groups, out);
}

SHOAL_CLONES void add_nodes(
    const i32* lows, const i32* highs, const i64* ticks, i64 card, i64 groups, i64* __restrict out
) {
    const i32 last = i32(card) - 1;
    for (i64 h = 0; h < groups; ++h) {
        const i64 low = ticks[smaller(lows[h], last)], high = ticks[larger(highs[h], 0)];
        out[h] += highs[h] >= 0 ? larger(low, high) : 0;
    }
}

namespace {

// Ticks of every low and high code of the columns that have a place in the list.
void list_pairs(Prices p, Span<const i64> pair_at, Span<i64> pair) {
    require_size("list_pairs", "pair_at", pair_at.size, p.columns());
    pair.fill(0);
    for (i64 a = 0; a < pair_at.size; ++a) {
        if (pair_at[a] < 0) continue;
        const i64 card = p.card[a];
        require_room("list_pairs", "pair", pair.size, pair_at[a] + card * card);
        for (i64 low = 0; low < card; ++low)
            for (i64 high = low; high < card; ++high)
                pair[pair_at[a] + low * card + high] = compute_cell(p, a, low, high);
    }
}

void widest_columns(Prices p, Table<const i32> codes, Span<const i64> starts, Span<i64> out) {
    require_size("widest_columns", "codes", codes.rows, p.columns());
    require_size("widest_columns", "starts", starts.size, out.size + 1);
    require_starts("widest_columns", "starts", starts, codes.columns);
    Extents ext(p, 1);
    for (i64 g = 0; g < out.size; ++g) {
        clear(ext, 0);
        for (i64 i = starts[g]; i < starts[g + 1]; ++i) extend_all(p, ext, 0, codes, i);
        i64 most = -1;
        out[g] = 0;
        for (i64 a = 0; a < codes.rows; ++a) {
            const i64 cost = own_cell(p, ext, 0, a);
            if (cost > most) {
                most = cost;
                out[g] = a;
            }
        }
    }
}

void probe_cells(Prices p, i64 a, Span<const i64> low, Span<const i64> high, Span<i64> out) {
    require_number("probe_cells", "column", a, 0, p.columns() - 1);
    require_size("probe_cells", "low", low.size, out.size);
    require_size("probe_cells", "high", high.size, out.size);
    for (i64 i = 0; i < out.size; ++i) out[i] = cell(p, a, low[i], high[i]);
}

double probe_mean_price(Prices p, Span<const i64> ticks) {
    require_size("probe_mean_price", "ticks", ticks.size, p.columns());
    return mean_price(p, ticks);
}

void require_cells(const char* kernel, const char* argument, Table<const i64> cells, i64 rows, i64 columns) {
    require_size(kernel, argument, cells.rows, rows);
    require_size(kernel, argument, cells.columns, columns);
}

// For the first 1, 2, ... rows as one group: ticks of each cell, the same as foretold by `cost_with`, and both sums.
template <class Code>
void probe_growth(
    Prices p, Table<const Code> codes, Span<const i64> rows, Table<i64> cells, Table<i64> foretold, Table<i64> totals
) {
    require_size("probe_growth", "codes", codes.rows, p.columns());
    require_room("probe_growth", "rows", rows.size, 1);
    require_cells("probe_growth", "cells", cells, rows.size, codes.rows);
    require_cells("probe_growth", "foretold", foretold, rows.size, codes.rows);
    require_cells("probe_growth", "totals", totals, rows.size, 2);
    RecordExtents ext(p, 2);
    open_group(p, ext, 0, codes, rows[rows.size - 1], foretold[0]);
    open_group(p, ext, 0, codes, rows[0], foretold[0]);
    for (i64 i = 0; i < rows.size; ++i) {
        if (i > 0) totals(i, 0) = cost_with(p, ext, 0, codes, rows[i], cells[i - 1], foretold[i]);
        extend_all(p, ext, 0, codes, rows[i]);
        totals(i, 1) = own_cells(p, ext, 0, cells[i]);
        // Joining groups of one, in the other place, must give the same.
        extend_all(p, ext, 1, codes, rows[i]);
        join(ext, 0, 1);
        copy_cells(ext, 0, ext, 1);
    }
}

// Ticks of a group with each of some other records.
template <class Code>
void probe_costs_with(Prices p, Table<const Code> codes, Span<const i64> group, Span<const i64> others, Span<i64> out) {
    require_size("probe_costs_with", "codes", codes.rows, p.columns());
    require_size("probe_costs_with", "out", out.size, others.size);
    RecordExtents ext(p, 1);
    for (i64 row : group) extend_all(p, ext, 0, codes, row);
    Array<i32> values(others.size);
    Array<i64> ticks(others.size);
    out.fill(0);
    costs_with(p, ext, 0, codes, others, values.span(), ticks.span(), out);
}

// Ticks of every group, of every group with the first, and of the first with each record; and of the first and last as one.
i64 probe_groups(
    Prices p, Table<const i32> codes, Span<const i64> ids, Span<i64> own, Span<i64> joint, Span<i64> grown
) {
    const i64 count = own.size;
    require_size("probe_groups", "codes", codes.rows, p.columns());
    require_size("probe_groups", "codes' columns", codes.columns, ids.size);
    require_room("probe_groups", "own", count, 1);
    require_size("probe_groups", "joint", joint.size, count);
    require_size("probe_groups", "grown", grown.size, ids.size);
    Extents ext(p, count);
    for (i64 i = 0; i < ids.size; ++i) extend_all(p, ext, ids[i], codes, i);
    for (i64 g = 0; g < count; ++g) own[g] = own_cost(p, ext, g);
    joint_costs(p, ext, 0, 0, count, joint);
    Array<i64> ticks(ids.size);
    grown.fill(0);
    for (i64 a = 0; a < codes.rows; ++a) {
        cells_with(p, ext, 0, a, codes[a], ticks.span());
        for (i64 i = 0; i < ids.size; ++i) grown[i] += ticks[i];
    }
    join(ext, 0, count - 1);
    return own_cost(p, ext, 0);
}

// Sort keys with a heap.
void probe_heap(Span<i64> keys, Span<i64> sorted) {
    require_size("probe_heap", "sorted", sorted.size, keys.size);
    make_heap(keys, keys.size);
    for (i64 i = 0; i < sorted.size; ++i) sorted[i] = pop_heap(keys, keys.size - i);
}

i64 probe_price_key(double price, i64 place) { return price_key(price, place); }

}  // namespace

SHOAL_KERNELS {
    kernels.add("list_pairs", "prices, pair_at, pair", &list_pairs);
    kernels.add("widest_columns", "prices, codes, starts, out", &widest_columns);
    kernels.add("probe_cells", "prices, column, low, high, out", &probe_cells);
    kernels.add("probe_mean_price", "prices, ticks", &probe_mean_price);
    kernels.add("probe_growth", "prices, codes, rows, cells, foretold, totals", &probe_growth<i16>, &probe_growth<i32>);
    kernels.add("probe_costs_with", "prices, codes, group, others, out", &probe_costs_with<i16>, &probe_costs_with<i32>);
    kernels.add("probe_groups", "prices, codes, ids, own, joint, grown", &probe_groups);
    kernels.add("probe_heap", "keys, sorted", &probe_heap);
    kernels.add("probe_price_key", "price, place", &probe_price_key);
}

}  // namespace shoal
