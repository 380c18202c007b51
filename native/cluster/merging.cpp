// Bottom-up local recoding (Xu et al. 2006): groups that are too small join the group with which they cost least.
#include "price/many.hpp"
#include "shared/bind.hpp"

namespace shoal {
namespace {

// The group that costs least as a whole together with `g`, of equals the first; -1 when there is no other.
i64 nearest_group(Span<const i64> size, Span<const i64> cost, i64 g, i64 count) {
    i64 best = -1, least = 0;
    for (i64 h = 0; h < count; ++h) {
        const i64 whole = (size[g] + size[h]) * cost[h];
        if (size[h] > 0 && h != g && (best < 0 || whole < least)) best = h, least = whole;
    }
    return best;
}

// Move the groups that are left together, in their order; return their number.
i64 compact(const Extents& ext, Span<i64> size, Span<i64> entry, i64 count) {
    i64 alive = 0;
    for (i64 g = 0; g < count; ++g) {
        if (size[g] == 0) continue;
        if (alive != g) {
            size[alive] = size[g];
            entry[alive] = entry[g];
            copy_cells(ext, g, ext, alive);
        }
        ++alive;
    }
    return alive;
}

// Merge the entries from `first` to `last` until none has fewer than k records; return the number of passes.
//
// Groups stay in the order of their first records, because a merged one keeps the lower place.
i64 merge_part(
    const Prices& p, Table<const i32> codes, Span<const i64> counts, i64 first, i64 last, i64 k, Span<i64> parent
) {
    require_size("merge_part", "counts", counts.size, codes.columns);
    require_size("merge_part", "parent", parent.size, codes.columns);
    require_size("merge_part", "prices.kind", p.columns(), codes.rows);
    require_number("merge_part", "first", first, 0, codes.columns);
    require_number("merge_part", "last", last, first, codes.columns);
    i64 count = last - first, passes = 0;
    Extents ext(p, count);
    Array<i64> size(count), entry(count), cost(count);
    Array<u8> met(count);
    for (i64 g = 0; g < count; ++g) {
        extend_all(p, ext, g, codes, first + g);
        size[g] = counts[first + g];
        entry[g] = parent[first + g] = first + g;
    }
    for (bool merged = true; merged && count > 1;) {
        merged = false;
        met.fill(0);
        for (i64 g = 0; g < count; ++g) {
            if (size[g] == 0 || size[g] >= k || met[g]) continue;
            joint_costs(p, ext, g, 0, count, cost);
            const i64 h = nearest_group(size, cost, g, count);
            if (h < 0) break;
            const i64 keep = smaller(g, h), gone = larger(g, h);
            join(ext, keep, gone);
            size[keep] += size[gone];
            size[gone] = 0;
            parent[entry[gone]] = entry[keep];
            met[keep] = 1;
            merged = true;
        }
        passes += merged;
        count = compact(ext, size, entry, count);
    }
    return passes;
}

// The first entry of each entry's group; parents come before their children.
void find_roots(Span<const i64> parent, Span<i64> roots) {
    require_size("find_roots", "roots", roots.size, parent.size);
    for (i64 i = 0; i < parent.size; ++i) roots[i] = parent[i] == i ? i : roots[parent[i]];
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("merge_part", "prices, codes, counts, first, last, k, parent", &merge_part);
    kernels.add("find_roots", "parent, roots", &find_roots);
}

}  // namespace shoal
