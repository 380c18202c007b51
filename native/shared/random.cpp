// Random bits for rows, and the order of random bits.
#include "shared/random.hpp"

#include "shared/bind.hpp"

namespace shoal {
namespace {

SHOAL_CLONES void draw_block(Span<const u64> key, Span<const u64> rows, u64 draw, Span<u64> out, i64 start, i64 stop) {
    require_size("draw_block", "key", key.size, 2);
    require_size("draw_block", "out", out.size, rows.size);
    require_range("draw_block", start, stop, rows.size);
    const u64 key0 = key[0], key1 = key[1];
    for (i64 i = start; i < stop; ++i) out[i] = threefry(key0, key1, rows[i], draw);
}

// Stable order of random bits: a counting sort by their top 64 - shift bits, then insertion within each bucket.
void order_bits(Span<const u64> bits, i64 shift, Span<i64> order) {
    require_number("order_bits", "shift", shift, 1, 63);
    require_size("order_bits", "order", order.size, bits.size);
    const i64 n = bits.size;
    Array<i64> ends((i64(1) << (64 - shift)) + 1, 0);
    for (u64 value : bits) ++ends[i64(value >> shift) + 1];
    for (i64 bucket = 0; bucket < ends.size - 1; ++bucket) ends[bucket + 1] += ends[bucket];
    Array<u64> keys(n);
    for (i64 i = 0; i < n; ++i) {
        // Starts of buckets move on as rows are placed, until they are where the buckets end.
        i64& place = ends[i64(bits[i] >> shift)];
        order[place] = i;
        keys[place] = bits[i];
        ++place;
    }
    i64 first = 0;
    for (i64 bucket = 0; bucket < ends.size - 1; ++bucket) {
        for (i64 i = first + 1; i < ends[bucket]; ++i) {
            const u64 key = keys[i];
            const i64 row = order[i];
            i64 place = i;
            for (; place > first && keys[place - 1] > key; --place) {
                keys[place] = keys[place - 1];
                order[place] = order[place - 1];
            }
            keys[place] = key;
            order[place] = row;
        }
        first = ends[bucket];
    }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("draw_block", "key, rows, draw, out, start, stop", &draw_block);
    kernels.add("order_bits", "bits, shift, order", &order_bits);
}

}  // namespace shoal
