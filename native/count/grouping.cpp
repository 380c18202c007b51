// Group rows by integer codes: pack each row into a key of 64 bits, then number the distinct keys.
#include "shared/bind.hpp"

namespace shoal {
namespace {

constexpr u64 MULTIPLIER = 0x9E3779B97F4A7C15u;
constexpr i64 PARTS = 256;  // by the top 8 bits of a hash

inline u64 hash(u64 key) {
    key ^= key >> 32;
    key *= MULTIPLIER;
    return key ^ (key >> 29);
}

// Combine the columns of a block of rows into keys, as digits of a number with one radix a column.
SHOAL_CLONES void pack_block(Table<const i32> codes, Span<const u64> radices, Span<u64> keys, i64 start, i64 stop) {
    require_room("pack_block", "codes", codes.rows, 1);
    require_size("pack_block", "radices", radices.size, codes.rows);
    require_size("pack_block", "keys", keys.size, codes.columns);
    require_range("pack_block", start, stop, keys.size);
    const i64 size = stop - start;
    u64* __restrict block = keys.slice(start, stop).data;
    const i32* column = codes[0].slice(start, stop).data;
    for (i64 i = 0; i < size; ++i) block[i] = u64(column[i]);
    for (i64 j = 1; j < codes.rows; ++j) {
        const u64 radix = radices[j];
        column = codes[j].slice(start, stop).data;
        for (i64 i = 0; i < size; ++i) block[i] = block[i] * radix + u64(column[i]);
    }
}

// Number keys by first appearance with one table: how many there are, the first row of each, and its rows. Gives up past
// `limit` distinct keys: -1 and nothing.
SHOAL_CLONES std::tuple<i64, Array<i64>, Array<i64>> number_direct(Span<const u64> keys, Span<i32> ids, i64 limit) {
    require_size("number_direct", "ids", ids.size, keys.size);
    require_number("number_direct", "limit", limit, 0, NO_LIMIT);
    limit = smaller(limit, keys.size);
    // The table has its final size from the start, so that the loop never has to look at it anew.
    i64 capacity = 16;
    while (capacity < 2 * limit) capacity *= 2;
    Array<i32> slots(capacity, -1);
    Array<u64> distinct(limit);
    Array<i64> first(limit), counts(limit);
    const u64 mask = u64(capacity - 1);
    i32 groups = 0;
    for (i64 i = 0; i < keys.size; ++i) {
        const u64 key = keys[i];
        u64 slot = hash(key) & mask;
        i32 group = slots[slot];
        while (group >= 0 && distinct[group] != key) {
            slot = (slot + 1) & mask;
            group = slots[slot];
        }
        if (group < 0) {
            if (groups == limit) return {-1, Array<i64>(0), Array<i64>(0)};
            group = groups++;
            slots[slot] = group;
            distinct[group] = key;
            first[group] = i;
            counts[group] = 0;
        }
        ++counts[group];
        ids[i] = group;
    }
    first.resize(groups);
    counts.resize(groups);
    return {groups, std::move(first), std::move(counts)};
}

// Count the keys of a block by the top 8 bits of their hash.
SHOAL_CLONES void count_block(Span<const u64> keys, i64 start, i64 stop, Span<i64> counts) {
    require_size("count_block", "counts", counts.size, PARTS);
    require_range("count_block", start, stop, keys.size);
    for (i64 i = start; i < stop; ++i) ++counts[i64(hash(keys[i]) >> 56)];
}

// Write the rows and keys of a block behind those of the same top bits; `next` tells where.
SHOAL_CLONES void scatter_block(
    Span<const u64> keys, i64 start, i64 stop, Span<i64> next, Span<i32> rows, Span<u64> parted
) {
    require_size("scatter_block", "next", next.size, PARTS);
    require_size("scatter_block", "rows", rows.size, keys.size);
    require_size("scatter_block", "parted", parted.size, keys.size);
    require_range("scatter_block", start, stop, keys.size);
    for (i64 i = start; i < stop; ++i) {
        const i64 to = next[i64(hash(keys[i]) >> 56)]++;
        rows[to] = i32(i);
        parted[to] = keys[i];
    }
}

// Number the keys of one part from 0, in the order of the part; return how many are distinct.
i64 number_part(
    Span<const i32> rows, Span<const u64> parted, i64 start, i64 stop, Span<i32> local, Span<i32> firsts,
    Span<i32> counts
) {
    require_size("number_part", "rows", rows.size, parted.size);
    require_size("number_part", "local", local.size, parted.size);
    require_size("number_part", "firsts", firsts.size, parted.size);
    require_size("number_part", "counts", counts.size, parted.size);
    require_range("number_part", start, stop, parted.size);
    i64 capacity = 16;
    while (capacity < 2 * (stop - start)) capacity *= 2;
    const u64 mask = u64(capacity - 1);
    Array<i32> slots(capacity, -1);
    i32 groups = 0;
    for (i64 i = start; i < stop; ++i) {
        const u64 key = parted[i];
        u64 slot = hash(key) & mask;
        while (slots[slot] >= 0 && parted[start + slots[slot]] != key) slot = (slot + 1) & mask;
        if (slots[slot] < 0) {
            // A slot holds the place of the key's first row in the part; the group's number is found there.
            slots[slot] = i32(i - start);
            local[i] = groups;
            firsts[start + groups] = rows[i];
            counts[start + groups] = 1;
            ++groups;
        } else {
            const i32 group = local[start + slots[slot]];
            local[i] = group;
            ++counts[start + group];
        }
    }
    return groups;
}

// Write the final group numbers of one part's rows.
void gather_part(Span<const i32> rows, i64 start, i64 stop, Span<const i32> local, i64 base, Span<i32> ids) {
    require_size("gather_part", "local", local.size, rows.size);
    require_size("gather_part", "ids", ids.size, rows.size);
    require_range("gather_part", start, stop, rows.size);
    for (i64 i = start; i < stop; ++i) ids[rows[i]] = i32(local[i] + base);
}

// Mix the codes of one column into the hashes of a block of rows.
SHOAL_CLONES void mix_block(Span<const i32> codes, Span<u64> keys, i64 start, i64 stop) {
    require_size("mix_block", "codes", codes.size, keys.size);
    require_range("mix_block", start, stop, keys.size);
    const i64 size = stop - start;
    u64* __restrict block = keys.slice(start, stop).data;
    const i32* column = codes.slice(start, stop).data;
    for (i64 i = 0; i < size; ++i) block[i] = hash(block[i] + u64(column[i]) + 1);
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("pack_block", "codes, radices, keys, start, stop", &pack_block);
    kernels.add("number_direct", "keys, ids, limit", &number_direct);
    kernels.add("count_block", "keys, start, stop, counts", &count_block);
    kernels.add("scatter_block", "keys, start, stop, next, rows, parted", &scatter_block);
    kernels.add("number_part", "rows, parted, start, stop, local, firsts, counts", &number_part);
    kernels.add("gather_part", "rows, start, stop, local, base, ids", &gather_part);
    kernels.add("mix_block", "codes, keys, start, stop", &mix_block);
}

}  // namespace shoal
