// Near records of every record: windows in several sorted orders, then the neighbours of neighbours.
#include "price/cells.hpp"
#include "shared/bind.hpp"

namespace shoal {
namespace {

// Neighbours followed, and taken of each: the work grows with the square of their number.
constexpr i64 STEPS = 12;

// Ticks of the cells that two records would share.
i64 pair_cost(const Prices& p, Span<const i32> one, Span<const i32> other) {
    i64 total = 0;
    for (i64 a = 0; a < one.size; ++a) {
        const i64 low = smaller(one[a], other[a]), high = larger(one[a], other[a]);
        if (p.kind[a] != FLAT) total += cell(p, a, low, high);
        else if (low != high) total += high == p.missing[a] ? whole_of(p, a) : p.sizes[p.size_at[a] + 2];
    }
    return total;
}

// Insert a neighbour into one record's list, nearest first; the earlier of two equally near ones stays ahead.
void offer(Span<i32> near, Span<i64> distance, i32 other, i64 d) {
    i64 last = near.size - 1;
    if (d >= distance[last]) return;
    for (i32 listed : near)
        if (listed == other) return;
    for (; last > 0 && distance[last - 1] > d; --last) {
        distance[last] = distance[last - 1];
        near[last] = near[last - 1];
    }
    distance[last] = d;
    near[last] = other;
}

void require_lists(
    const char* kernel, Table<const i32> codes, const Prices& p, Table<const i32> near, Table<const i64> distance
) {
    require_size(kernel, "prices.kind", p.columns(), codes.columns);
    require_size(kernel, "near", near.rows, codes.rows);
    require_room(kernel, "near's columns", near.columns, 1);
    require_shape(kernel, "distance", distance, near.rows, near.columns);
}

// Offer the records order[first:last] the `width` records on either side of each.
void offer_windows(
    Table<const i32> codes, const Prices& p, Span<const i32> order, i64 width, Table<i32> near, Table<i64> distance, i64 first,
    i64 last
) {
    require_lists("offer_windows", codes, p, near, distance);
    require_number("offer_windows", "first", first, 0, order.size);
    require_number("offer_windows", "last", last, first, order.size);
    require_number("offer_windows", "width", width, 0, NO_LIMIT);
    width = smaller(width, order.size);
    for (i64 at = first; at < last; ++at) {
        const i32 i = order[at];
        for (i64 q = larger(i64(0), at - width); q < smaller(order.size, at + width + 1); ++q)
            if (q != at) offer(near[i], distance[i], order[q], pair_cost(p, codes[i], codes[order[q]]));
    }
}

// Offer the records from `first` to `last` the neighbours `before` of their neighbours.
void offer_neighbours(
    Table<const i32> codes, const Prices& p, Table<const i32> before, Table<i32> near, Table<i64> distance, i64 first, i64 last
) {
    require_lists("offer_neighbours", codes, p, near, distance);
    require_shape("offer_neighbours", "before", before, near.rows, near.columns);
    require_number("offer_neighbours", "first", first, 0, near.rows);
    require_number("offer_neighbours", "last", last, first, near.rows);
    const i64 most = smaller(near.columns, STEPS);
    for (i64 i = first; i < last; ++i)
        for (i64 c = 0; c < most && before(i, c) >= 0; ++c)
            for (i64 e = 0; e < most; ++e) {
                const i32 other = before(before(i, c), e);
                if (other < 0) break;
                if (other != i) offer(near[i], distance[i], other, pair_cost(p, codes[i], codes[other]));
            }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("offer_windows", "codes, prices, order, width, near, distance, first, last", &offer_windows);
    kernels.add("offer_neighbours", "codes, prices, before, near, distance, first, last", &offer_neighbours);
}

}  // namespace shoal
