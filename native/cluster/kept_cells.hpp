// Checks of cells that Python keeps between calls.
#pragma once
#include "price/extents.hpp"
#include "shared/bind.hpp"

namespace shoal {

inline i64 count_words(const Prices& p) { return p.word_at[p.columns()]; }

// Raise TypeError unless there are the cells of so many groups, with room for the sets of flat columns.
template <Layout layout>
void require_cells(
    const char* kernel, const std::string& argument, const KeptExtentsOf<layout>& cells, const Prices& p, i64 groups
) {
    const bool by_column = layout == Layout::COLUMNS;
    auto require = [&](const char* field, auto table, i64 entries) {
        require_shape(kernel, argument + field, table, by_column ? entries : groups, by_column ? groups : entries);
    };
    require(".low", cells.lows, p.columns());
    require(".high", cells.highs, p.columns());
    require(".bits", cells.sets, count_words(p));
}

}  // namespace shoal
