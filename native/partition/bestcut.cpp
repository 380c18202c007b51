// The parts of pricing cuts that need not know the types of codes and weights.
#include "partition/bestcut.hpp"

namespace shoal {

Cuts allowed_cuts(const Held& held, i64 n, i64 k) {
    i64 m = held.at.size - 1;
    Cuts cuts{Array<i64>(m, 0), Array<i64>(m, 0)};
    for (i64 a = 0; a < m; ++a) {
        i64 rows = 0;
        for (i64 place = 0; place < held.size(a) - 1; ++place) {
            rows += held.counts[held.at[a] + place];
            if (rows < k) cuts.first[a] = place + 1;
            if (n - rows >= k) cuts.last[a] = place + 1;
        }
        cuts.last[a] = larger(cuts.first[a], cuts.last[a]);
    }
    return cuts;
}

void narrow_ticks(
    const Prices& p, const Held& held, const u64* words, i64 lanes, i64 step, const std::vector<i64>& narrow,
    i64 start, i64 stop, i64* ticks
) {
    for (i64 lane = 0; lane < i64(narrow.size()); ++lane) {
        i64 b = narrow[lane], cost = 0;
        u64 joined = 0, priced = 0;
        Span<const i32> values = held.values.slice(held.at[b], held.at[b + 1]);
        for (i64 place = 0; place < stop; ++place) {
            joined |= words[place * step * lanes + lane];
            // A cell that has not grown costs the same.
            if (place >= start && joined != priced) {
                priced = joined;
                const i64 low = values[__builtin_ctzll(joined)], high = values[63 - __builtin_clzll(joined)];
                if (p.kind[b] != FLAT) cost = cell(p, b, low, high);
                else if (high == p.missing[b] && low < high) cost = whole_of(p, b);
                else cost = p.sizes[p.size_at[b] + popcount(joined)];
            }
            if (place >= start) ticks[place * step] += cost;
        }
    }
}

i64 same_ticks(const Prices& p, const Held& held) {
    i64 ticks = 0;
    for (i64 b = 0; b < held.at.size - 1; ++b) {
        if (held.size(b) != 1) continue;
        i64 value = held.values[held.at[b]];
        ticks += p.kind[b] != FLAT ? cell(p, b, value, value) : p.sizes[p.size_at[b] + 1];
    }
    return ticks;
}

}  // namespace shoal
