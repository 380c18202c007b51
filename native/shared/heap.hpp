// A binary heap of int64 keys in an array, smallest first: for taking a few of many in order.
#pragma once
#include <cmath>

#include "array.hpp"

namespace shoal {

// A key holds a price of at most 2^38 steps and, for order among equals, a place below PLACES.
constexpr i64 PLACES = i64(1) << 24;
constexpr double PRICE_STEPS = double(i64(1) << 38);

// Order by ticks, then by place.
inline i64 ticks_key(i64 ticks, i64 place) { return larger(i64(0), ticks) * PLACES + place; }

// Order by a price in 0..1, then by place. Prices that differ by rounding alone are equal.
inline i64 price_key(double price, i64 place) {
    return i64(std::rint(larger(0.0, smaller(1.0, price)) * PRICE_STEPS)) * PLACES + place;
}

inline void sift_down(Span<i64> keys, i64 at, i64 size) {
    const i64 key = keys[at];
    while (true) {
        i64 child = 2 * at + 1;
        if (child >= size) break;
        if (child + 1 < size && keys[child + 1] < keys[child]) ++child;
        if (keys[child] >= key) break;
        keys[at] = keys[child];
        at = child;
    }
    keys[at] = key;
}

// Order the first `size` keys as a heap.
inline void make_heap(Span<i64> keys, i64 size) {
    for (i64 at = size / 2 - 1; at >= 0; --at) sift_down(keys, at, size);
}

// Take the smallest key out of a heap of `size` keys; one fewer is left.
inline i64 pop_heap(Span<i64> keys, i64 size) {
    const i64 smallest = keys[0];
    keys[0] = keys[size - 1];
    sift_down(keys, 0, size - 1);
    return smallest;
}

// Add a key to a heap of `size` keys; one more is there.
inline void push_heap(Span<i64> keys, i64 size, i64 key) {
    i64 place = size;
    while (place > 0) {
        const i64 above = (place - 1) / 2;
        if (keys[above] <= key) break;
        keys[place] = keys[above];
        place = above;
    }
    keys[place] = key;
}

}  // namespace shoal
