// Weights of sets of items, for association rules.
#include "shared/bind.hpp"

namespace shoal {
namespace {

void cross_counts(
    Span<const i64> rows, Span<const double> weight, i64 begin, Table<const i32> cells, Span<const i64> starts,
    Span<const i64> item, Span<const double> share, Span<const i32> target, Table<double> sums
) {
    require_number("cross_counts", "begin", begin, 0, cells.rows);
    require_starts("cross_counts", "at", starts, item.size);
    require_size("cross_counts", "share", share.size, item.size);
    require_size("cross_counts", "target", target.size, cells.columns);
    require_size("cross_counts", "weight", weight.size, rows.size);
    sums.flat().fill(0.0);
    for (i64 place = 0; place < rows.size; ++place) {
        const i64 row = rows[place];
        for (i64 column = begin; column < cells.rows; ++column) {
            const i64 cell = cells(column, row);
            for (i64 i = starts[cell]; i < starts[cell + 1]; ++i) sums(item[i], target[row]) += weight[place] * share[i];
        }
    }
}

// The records whose cell may stand for the wanted item, and the weight of each.
std::tuple<Array<i64>, Array<double>> narrow(
    Span<const i64> rows, Span<const double> weight, Span<const i32> cells, Span<const i64> starts, Span<const i64> item,
    Span<const double> share, i64 wanted
) {
    require_starts("narrow", "at", starts, item.size);
    require_size("narrow", "share", share.size, item.size);
    require_size("narrow", "weight", weight.size, rows.size);
    Array<i64> kept(rows.size);
    Array<double> weights(rows.size);
    i64 count = 0;
    for (i64 place = 0; place < rows.size; ++place) {
        const i64 cell = cells[rows[place]];
        bool found = false;
        double chance = 0.0;
        for (i64 i = starts[cell]; i < starts[cell + 1]; ++i)
            if (item[i] == wanted) chance += share[i], found = true;
        if (!found) continue;
        kept[count] = rows[place];
        weights[count++] = weight[place] * chance;
    }
    kept.resize(count);
    weights.resize(count);
    return {std::move(kept), std::move(weights)};
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("cross_counts", "rows, weight, begin, cells, at, item, share, target, found", &cross_counts);
    kernels.add("narrow", "rows, weight, cells, at, item, share, wanted", &narrow);
}

}  // namespace shoal
