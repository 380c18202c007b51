// Finding, for groups that fail a model, the group to merge with that costs least.
#include "cluster/kept_cells.hpp"
#include "price/many.hpp"
#include "shared/bind.hpp"

namespace shoal {
namespace {

// See `Priced` in shoal.kernels.cluster.mending for the fields.
struct Priced {
    KeptExtents cells;
    Span<i64> size, loss;

    using Fields = std::tuple<KeptExtents, Span<i64>, Span<i64>>;
    static constexpr const char* names = "cells, size, loss";

    void check(const char* kernel, const Prices& p) const {
        require_size(kernel, "priced.loss", loss.size, size.size);
        require_cells(kernel, "priced.cells", cells, p, size.size);
    }
};

// Fill in the cells, sizes and losses of groups of records, or of cells that have rows as weights.
void price_groups(
    const Prices& p, Table<const i32> codes, Span<const i64> ids, Optional<Span<const i64>> weights, const Priced& priced
) {
    priced.check("price_groups", p);
    require_size("price_groups", "prices.kind", p.columns(), codes.rows);
    require_size("price_groups", "ids", ids.size, codes.columns);
    if (weights) require_size("price_groups", "weights", weights->size, ids.size);
    for (i64 i = 0; i < ids.size; ++i) {
        // Methods of users may give them.
        if (u64(ids[i]) >= u64(priced.size.size)) require_number("price_groups", "ids", ids[i], 0, priced.size.size - 1);
        priced.size[ids[i]] += weights ? (*weights)[i] : 1;
        extend_all(p, priced.cells, ids[i], codes, i);
    }
    for (i64 g = 0; g < priced.size.size; ++g) priced.loss[g] = priced.size[g] * own_cost(p, priced.cells, g);
}

// For the groups which[start:stop], the group among the `window` on either side whose joining raises the price least.
void nearest_groups(
    const Prices& p, const Priced& priced, Span<const i64> which, i64 window, Span<i64> nearest, i64 start, i64 stop
) {
    priced.check("nearest_groups", p);
    require_size("nearest_groups", "nearest", nearest.size, which.size);
    require_range("nearest_groups", start, stop, which.size);
    require_number("nearest_groups", "window", window, 0, NO_LIMIT);
    const Span<const i64> size = priced.size, loss = priced.loss;
    const i64 n = size.size;
    window = smaller(window, n);
    Array<i64> joint(smaller(n, 2 * window + 1));
    for (i64 i = start; i < stop; ++i) {
        const i64 g = which[i];
        // As wide at the ends of the numbering as in its middle.
        const i64 first = larger(i64(0), smaller(g - window, n - 1 - 2 * window));
        const i64 after = smaller(n, larger(g + window, 2 * window) + 1);
        joint_costs(p, priced.cells, g, first, after, joint);
        i64 best = -1, least = 0;
        for (i64 h = first; h < after; ++h) {
            const i64 rise = (size[g] + size[h]) * joint[h - first] - loss[g] - loss[h];
            if (h != g && (best < 0 || rise < least)) best = h, least = rise;
        }
        nearest[i] = best;
    }
}

// Number the groups after the pairs are merged; a group takes part in one merger at most.
void pair_off(Span<const i64> which, Span<const i64> nearest, Span<i32> number) {
    require_size("pair_off", "nearest", nearest.size, which.size);
    Array<i64> partner(number.size, -1);
    Array<u8> taken(number.size, 0);
    for (i64 i = 0; i < which.size; ++i) {
        const i64 g = which[i], h = nearest[i];
        if (h < 0 || taken[g] || taken[h]) continue;
        taken[g] = taken[h] = 1;
        partner[larger(g, h)] = smaller(g, h);
    }
    i32 count = 0;
    for (i64 g = 0; g < number.size; ++g) number[g] = partner[g] >= 0 ? number[partner[g]] : count++;
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("price_groups", "prices, codes, ids, weights, priced", &price_groups);
    kernels.add("nearest_groups", "prices, priced, which, window, nearest, start, stop", &nearest_groups);
    kernels.add("pair_off", "which, nearest, number", &pair_off);
}

}  // namespace shoal
