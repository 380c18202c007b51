// Threefry-2x64 with 20 rounds (Salmon et al. 2011), a counter-based generator.
//
// It needs only additions, rotations and exclusive ors, so that every engine can reproduce its bits exactly.
#pragma once
#include "array.hpp"

namespace shoal {

struct Words {
    u64 first, second;
};

// Encrypt the counter (counter0, counter1) under (key0, key1).
inline Words threefry_pair(u64 key0, u64 key1, u64 counter0, u64 counter1) {
    constexpr u64 ROTATIONS[8] = {16, 42, 12, 31, 16, 32, 24, 21};
    constexpr u64 PARITY = 0x1BD11BDAA9FC1A22u;
    const u64 keys[3] = {key0, key1, key0 ^ key1 ^ PARITY};
    u64 x0 = counter0 + key0, x1 = counter1 + key1;
    for (u64 four = 0; four < 5; ++four) {
        for (u64 r = 0; r < 4; ++r) {
            u64 rotation = ROTATIONS[four % 2 * 4 + r];
            x0 += x1;
            x1 = ((x1 << rotation) | (x1 >> (64 - rotation))) ^ x0;
        }
        x0 += keys[(four + 1) % 3];
        x1 += keys[(four + 2) % 3] + four + 1;
    }
    return {x0, x1};
}

inline u64 threefry(u64 key0, u64 key1, u64 counter0, u64 counter1) {
    return threefry_pair(key0, key1, counter0, counter1).first;
}

}  // namespace shoal
