// Weights of the units that are cut: a row counts once, a cell of the frequency table as often as it has rows.
#pragma once
#include "shared/array.hpp"

namespace shoal {

// Rows: no weights are stored.
struct Once {
    static i64 times(i64) { return 1; }
    static i64 total(i64 lo, i64 hi) { return hi - lo; }
    void put(i64, Once, i64) const {}
};

struct Weights {
    Span<i64> values;

    i64 times(i64 i) const { return values[i]; }
    i64 total(i64 lo, i64 hi) const {
        i64 rows = 0;
        for (i64 i = lo; i < hi; ++i) rows += values[i];
        return rows;
    }
    // Move a weight along with its cell.
    void put(i64 at, Weights from, i64 i) const { values[at] = from.values[i]; }
};

}  // namespace shoal
