// Top-down local recoding (Xu et al. 2006): part records around two that are far apart, again and again.
//
// Costs of records are looked up in tables, one entry for each value that the subspace has in a column; only the tables
// of columns in which a side's cell changed are made anew.
#pragma once
#include "price/many.hpp"
#include "shared/random.hpp"

namespace shoal {

// Records of one part, numbered from 0 in order, and two groups of them, the sides.
//
// codes, local: (columns, records) code, and its number among the part's values; values: codes, column after column from
// value_at. key: of the random draws, and the part's first place.
class BisectPart {
public:
    BisectPart(
        const Prices& p, Table<const i32> codes, Table<const i32> local, Span<const i32> values, Span<const i64> value_at,
        Span<const u64> key
    )
        : p(p), codes(codes), cells_(p, 2), local_(local), values_(values), value_at_(value_at), key_(key),
          table_(2, values.size) {}

    // Ticks of a record of a side with record `i` in it.
    i64 cost_of(i64 side, i64 i) const {
        const Span<const i64> table = table_[side];
        i64 total = 0;
        for (i64 a = 0; a < local_.rows; ++a) total += table[value_at_[a] + local_(a, i)];
        return total;
    }

    // Put a record into a side, and price the side's cells with every value again where they changed, or if `fresh`.
    void admit(i64 side, i64 i, bool fresh) {
        for (i64 a = 0; a < p.columns(); ++a)
            if (extend(p, cells_, side, a, codes(a, i)) || fresh) retable(side, a);
        cost_[side] = cost_of(side, i);
    }

    void empty_side(i64 side) { clear(cells_, side); }

    // Make side 0 the same as side 1.
    void copy_side() {
        copy_cells(cells_, 1, cells_, 0);
        table_[0].copy(table_[1]);
    }

    // Part the records order[lo:hi], which stay in order on either side; return where the second side starts.
    i64 bisect(Span<i64> order, Span<i64> spare, i64 lo, i64 hi) {
        const u64 draw = threefry(key_[0], key_[1], key_[2] + u64(order[lo]), u64(hi - lo));
        i64 u = order[lo + i64(draw % u64(hi - lo))], v = u;
        for (i64 round = 0; round < 3; ++round) {
            v = furthest(order, lo, hi, u);
            u = furthest(order, lo, hi, v);
        }
        for (i64 side = 0; side < 2; ++side) {
            empty_side(side);
            admit(side, side == 0 ? u : v, true);
        }
        i64 first = 1, second = 1, at = lo, other = 0;
        for (i64 i = lo; i < hi; ++i) {
            const i64 one = order[i];
            bool left = one == u;
            if (one != u && one != v) {
                const i64 raise0 = (first + 1) * cost_of(0, one) - first * cost_[0];
                const i64 raise1 = (second + 1) * cost_of(1, one) - second * cost_[1];
                // Records that do not matter to either side go where there are fewer.
                left = raise0 < raise1 || (raise0 == raise1 && first <= second);
                admit(left ? 0 : 1, one, false);
                first += left;
                second += !left;
            }
            if (left) order[at++] = one;
            else spare[other++] = one;
        }
        for (i64 i = 0; i < other; ++i) order[at + i] = spare[i];
        return at;
    }

    // Bisect until no group has more than k records; `ends` flags the last record of each.
    void bisect_all(Span<i64> order, Span<i64> spare, i64 k, Span<u8> ends) {
        struct { i64 lo, hi; } stack[128];
        stack[0] = {0, order.size};
        for (i64 depth = 1; depth;) {
            const auto [lo, hi] = stack[--depth];
            if (hi - lo <= k) {
                ends[hi - 1] = 1;
                continue;
            }
            const i64 middle = bisect(order, spare, lo, hi);
            // The smaller side goes first, which keeps the stack short.
            const i64 small = middle - lo <= hi - middle;
            stack[depth + small] = {lo, middle};
            stack[depth + 1 - small] = {middle, hi};
            depth += 2;
        }
    }

    const Prices& p;
    const Table<const i32> codes;

private:
    void retable(i64 side, i64 a) {
        const i64 at = value_at_[a], end = value_at_[a + 1];
        cells_with(p, cells_, side, a, values_.slice(at, end), table_[side].slice(at, end));
    }

    // The record that costs most together with `u`, of equals the first; -1 if there is no other.
    i64 furthest(Span<const i64> order, i64 lo, i64 hi, i64 u) {
        empty_side(0);
        admit(0, u, true);
        i64 best = -1, most = -1;
        for (i64 i = lo; i < hi; ++i) {
            const i64 cost = cost_of(0, order[i]);
            if (order[i] != u && cost > most) best = order[i], most = cost;
        }
        return best;
    }

    Extents cells_;
    Table<const i32> local_;
    Span<const i32> values_;
    Span<const i64> value_at_;
    Span<const u64> key_;
    Grid<i64> table_;         // ticks of each side's cell with each value
    i64 cost_[2] = {0, 0};    // ticks of a record of each side
};

}  // namespace shoal
