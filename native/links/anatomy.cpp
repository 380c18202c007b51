// Anatomy's groups: one record each from the l largest buckets, again and again (Xiao & Tao 2006).
#include "shared/bind.hpp"
#include "shared/heap.hpp"

namespace shoal {
namespace {

// A bucket's key orders by records left, most first, then by the place of its next record.
constexpr i64 RECORDS = i64(1) << 32;

void draw_groups(Span<const i32> codes, i64 card, i64 l, Span<i32> ids) {
    require_size("draw_groups", "ids", ids.size, codes.size);
    require_number("draw_groups", "card", card, 0, NO_LIMIT - 1);
    require_number("draw_groups", "l", l, 1, NO_LIMIT);
    const i64 n = codes.size;
    Array<i64> start(card + 1, 0);
    for (i32 code : codes) ++start[i64(code) + 1];
    for (i64 value = 0; value < card; ++value) start[value + 1] += start[value];
    Array<i64> end(start.span());
    Array<i64> bucket(n);
    for (i64 i = 0; i < n; ++i) bucket[end[codes[i]]++] = i;
    Array<i64> heap(card), drawn(l);
    i64 full = 0;
    for (i64 value = 0; value < card; ++value) {
        const i64 size = start[value + 1] - start[value];
        if (size > 0) heap[full++] = bucket[start[value]] - size * RECORDS;
    }
    make_heap(heap, full);
    ids.fill(-1);
    for (i32 group = 0; full >= l; ++group) {
        for (i64& record : drawn) {
            record = pop_heap(heap, full--) & (RECORDS - 1);
            ids[record] = group;
        }
        // Buckets go back only now, so that a group has one record of each.
        for (i64 record : drawn) {
            const i32 value = codes[record];
            const i64 left = end[value] - ++start[value];
            if (left > 0) push_heap(heap, full++, bucket[start[value]] - left * RECORDS);
        }
    }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("draw_groups", "codes, card, l, ids", &draw_groups);
}

}  // namespace shoal
