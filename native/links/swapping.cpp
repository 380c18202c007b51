// Partners for swapping: ranks that are near, and alike records from different areas.
#include "shared/bind.hpp"

namespace shoal {
namespace {

// One of `size` places, from a draw between 0 and 1.
inline i64 drawn_place(double draw, i64 size) { return smaller(i64(draw * double(size)), size - 1); }

void swap_ranks(i64 window, Span<const double> draws, Span<i64> partner) {
    require_size("swap_ranks", "partner", partner.size, draws.size);
    const i64 n = draws.size;
    partner.fill(-1);
    for (i64 rank = 0; rank < n; ++rank) {
        if (partner[rank] >= 0) continue;
        partner[rank] = rank;
        const i64 reach = smaller(window, n - 1 - rank);
        if (reach <= 0) continue;
        const i64 begin = drawn_place(draws[rank], reach);
        for (i64 step = 0; step < reach; ++step) {
            const i64 other = rank + 1 + (begin + step) % reach;
            if (partner[other] >= 0) continue;
            partner[rank] = other;
            partner[other] = rank;
            break;
        }
    }
}

void pair_apart(
    Span<const i64> members, Span<const i64> starts, Span<const i32> area, Span<const u8> wanted, Span<const double> draws,
    Span<i64> partner
) {
    require_size("pair_apart", "area", area.size, partner.size);
    require_size("pair_apart", "wanted", wanted.size, partner.size);
    require_size("pair_apart", "draws", draws.size, partner.size);
    require_starts("pair_apart", "starts", starts, members.size);
    for (i64 group = 0; group < starts.size - 1; ++group) {
        Span<const i64> mine = members.slice(starts[group], starts[group + 1]);
        for (i64 one : mine) {
            if (wanted[one] == 0 || partner[one] != one) continue;
            const i64 begin = drawn_place(draws[one], mine.size);
            i64 chosen = -1;
            for (i64 step = 0; step < mine.size; ++step) {
                const i64 other = mine[(begin + step) % mine.size];
                if (partner[other] != other || area[other] == area[one]) continue;
                if (chosen < 0 || wanted[other] != 0) chosen = other;
                if (wanted[other] != 0) break;
            }
            if (chosen < 0) continue;
            partner[one] = chosen;
            partner[chosen] = one;
        }
    }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("swap_ranks", "window, draws, partner", &swap_ranks);
    kernels.add("pair_apart", "members, starts, area, wanted, draws, partner", &pair_apart);
}

}  // namespace shoal
