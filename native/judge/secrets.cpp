// Closeness tables of sensitive codes.
#include "judge/secrets.hpp"

#include "shared/bind.hpp"

namespace shoal {
namespace {

// Compute the closeness of all pairs, for the columns that have room for it.
template <class Code>
void fill_near(SecretsOf<Code> s) {
    for (i64 a = 0; a < s.whole.rows; ++a) {
        const i64 card = s.whole(a, secret::CARD), at = s.whole(a, secret::NEAR_AT);
        if (at < 0) continue;
        for (i64 x = 0; x < card; ++x)
            for (i64 y = 0; y < card; ++y) s.near[at + x * card + y] = compute_closeness(s, a, x, y);
    }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("fill_near", "secrets", &fill_near<i16>, &fill_near<i32>);
}

}  // namespace shoal
