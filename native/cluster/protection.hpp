// Guidance of K-Members and K-Members-p: which columns decide, which break ties, and how close sensitive values are.
#pragma once
#include "price/many.hpp"
#include "shared/bind.hpp"

namespace shoal {

// The part of a column: its loss decides; its loss breaks ties; its spread counts in favour; its range diversity decides.
enum ColumnRole : i64 { ROLE_COST, ROLE_TIE, ROLE_SPREAD, ROLE_PAIRS };

// See `Guide` in shoal.kernels.cluster.protection for the fields.
struct Guide {
    Span<const i64> role;
    Span<const u8> known;
    Span<const i64> axis, low, high, at;

    bool is_known(i64 a, i64 code) const { return known[at[a] + code] != 0; }

    using Ints = Span<const i64>;
    using Fields = std::tuple<Ints, Span<const u8>, Ints, Ints, Ints, Ints>;
    static constexpr const char* names = "role, known, axis, low, high, at";

    void check(const char* kernel, i64 columns) const {
        require_size(kernel, "guide.role", role.size, columns);
        require_size(kernel, "guide.at", at.size, columns + 1);
        require_starts(kernel, "guide.at", at, known.size);
        require_size(kernel, "guide.axis", axis.size, known.size);
        require_size(kernel, "guide.low", low.size, known.size);
        require_size(kernel, "guide.high", high.size, known.size);
    }
};

// Ticks of the cells of a value and each of some others; 0 where either is unknown. `one` is a buffer for one group.
inline void distances(
    const Prices& p, const Guide& guide, const Extents& one, i64 a, i64 code, Span<const i32> values, Span<i64> out
) {
    one.low(a, 0) = NO_CODE;
    one.high(a, 0) = -1;
    if (p.kind[a] == FLAT)
        for (i64 w = p.word_at[a]; w < p.word_at[a + 1]; ++w) one.bits(w, 0) = 0;
    extend(p, one, 0, a, code);
    cells_with(p, one, 0, a, values, out);
    for (i64 v = 0; v < values.size; ++v)
        if (!guide.is_known(a, code) || !guide.is_known(a, values[v])) out[v] = 0;
}

// Ticks that a value and each of some others add to all ordered pairs.
//
// That is their closeness, once for each of the two whose range holds the other, and 0 for unknown values.
inline void pair_closeness(
    const Prices& p, const Guide& guide, const Extents& one, i64 a, i64 code, Span<const i32> values, Span<i64> out
) {
    distances(p, guide, one, a, code, values, out);
    const i64 whole = whole_of(p, a), x = guide.at[a] + code;
    for (i64 v = 0; v < values.size; ++v) {
        const i64 y = guide.at[a] + values[v];
        i64 inside = 0;
        if (guide.known[x] && guide.known[y]) {
            inside += guide.low[x] <= guide.axis[y] && guide.axis[y] <= guide.high[x];
            inside += guide.low[y] <= guide.axis[x] && guide.axis[x] <= guide.high[y];
        }
        out[v] = inside * (whole - out[v]);
    }
}

// Range diversity in ticks (Loukides, Def. 5.1.4): the mean over all ordered pairs of known values.
inline i64 mean_closeness(i64 near, i64 people) {
    return people == 0 ? 0 : i64(double(near) / double(people * people) + 0.5);
}

}  // namespace shoal
