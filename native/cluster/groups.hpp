// Groups that change: lists of members, extents and prices, and the price of each group without each member.
//
// Records are columns of `codes`; see price/extents.hpp.
#pragma once
#include "cluster/exposure.hpp"
#include "cluster/kept_cells.hpp"

namespace shoal {

// Codes of the records that are grouped.
using GroupCodes = RecordCodes<i32>;

// See `Groups` in shoal.kernels.cluster.groups for the fields.
struct Groups {
    Span<i32> ids, after, before;
    Span<i64> bare;
    Span<i32> head, size;
    KeptRecordExtents cells;
    Table<i64> now;
    Span<i64> cost;
    Exposure shown;

    // The group of a record that another thread may be moving, -1 while it has none.
    i64 current_group(i64 r) const { return __atomic_load_n(&ids[r], __ATOMIC_RELAXED); }
    void set_group(i64 r, i64 g) const { __atomic_store_n(&ids[r], i32(g), __ATOMIC_RELAXED); }
    // Ticks of all records of a group.
    i64 whole(i64 g) const { return size[g] * cost[g]; }

    using Fields = std::tuple<
        Span<i32>, Span<i32>, Span<i32>, Span<i64>, Span<i32>, Span<i32>, KeptRecordExtents, Table<i64>, Span<i64>, Exposure>;
    static constexpr const char* names = "ids, after, before, bare, head, size, cells, now, cost, shown";

    void check(const char* kernel, const Prices& p) const {
        const i64 records = ids.size, count = size.size;
        require_size(kernel, "groups.after", after.size, records);
        require_size(kernel, "groups.before", before.size, records);
        require_size(kernel, "groups.bare", bare.size, records);
        require_size(kernel, "groups.head", head.size, count);
        require_size(kernel, "groups.cost", cost.size, count);
        require_shape(kernel, "groups.now", now, count, p.columns());
        require_cells(kernel, "groups.cells", cells, p, count);
        shown.check(kernel, "groups.shown.", records, count);
    }
};

// Buffers for the members of a group, and for the sets of a flat column.
struct MemberBuffers {
    MemberBuffers(const Groups& groups, const Prices& p) : rows(groups.ids.size), once(most_words(p)), again(once.size) {}

    static i64 most_words(const Prices& p) {
        i64 most = 0;
        for (i64 a = 0; a < p.columns(); ++a) most = larger(most, p.word_at[a + 1] - p.word_at[a]);
        return most;
    }

    Array<i64> rows;
    Array<u64> once, again;
};

// Take a record out of its group's list; the group's price is not changed.
inline void leave_group(const Groups& groups, i64 r) {
    const i64 g = groups.ids[r], before = groups.before[r], after = groups.after[r];
    if (before >= 0) groups.after[before] = i32(after);
    else groups.head[g] = i32(after);
    if (after >= 0) groups.before[after] = i32(before);
    --groups.size[g];
    groups.set_group(r, -1);
}

// Put a record at the head of a group's list; the group's price is not changed.
inline void join_group(const Groups& groups, i64 r, i64 g) {
    const i64 head = groups.head[g];
    groups.after[r] = i32(head);
    groups.before[r] = -1;
    if (head >= 0) groups.before[head] = i32(r);
    groups.head[g] = i32(r);
    groups.set_group(r, g);
    ++groups.size[g];
}

// Write a group's records from out[at] on; return where they end.
inline i64 list_members(const Groups& groups, i64 g, Span<i64> out, i64 at) {
    for (i64 r = groups.head[g]; r >= 0; r = groups.after[r]) out[at++] = r;
    return at;
}

// Ticks of some records without `skip` and with `extra` (-1: none) as one group; fills its cells and their ticks.
template <class E>
i64 price_rows(
    const Prices& p, const GroupCodes& codes, Span<const i64> rows, i64 skip, i64 extra, const E& cells, i64 g, Span<i64> now
) {
    clear(cells, g);
    for (i64 row : rows)
        if (row != skip) extend_all(p, cells, g, codes, row);
    if (extra >= 0) extend_all(p, cells, g, codes, extra);
    return own_cells(p, cells, g, now);
}

// Ticks of a group with one more record; `rows` is a buffer for its members, `out` for the ticks of its cells.
inline i64 cost_joined(
    const Groups& groups, i64 h, const Prices& p, const GroupCodes& codes, i64 r, Span<i64> rows, Span<i64> out
) {
    const i64 cost = cost_with(p, groups.cells, h, codes, r, groups.now[h], out);
    if (!groups.shown.columns()) return cost;
    const i64 end = groups.shown.all_listed() ? 0 : list_members(groups, h, rows, 0);
    return cost + exposed(groups.shown, h, rows.slice(0, end), -1, r);
}

// Add an ordered column's ticks without each member, which the two lowest and two highest codes decide.
inline void add_bare_ranges(
    const Groups& groups, i64 g, i64 a, const Prices& p, const GroupCodes& codes, Span<const i64> mine
) {
    const i64 low = groups.cells.low(a, g), high = groups.cells.high(a, g);
    i64 second = high, last = low, lows = 0, highs = 0;
    for (i64 row : mine) {
        const i64 x = codes(a, row);
        lows += x == low;
        highs += x == high;
        if (x > low) second = smaller(second, x);
        if (x < high) last = larger(last, x);
    }
    const i64 full = groups.now(g, a);
    // Of one value there is nothing to take away; with none at all, low is above high.
    const i64 without_low = lows > 1 || low >= high ? full : cell(p, a, second, high);
    const i64 without_high = highs > 1 || low >= high ? full : cell(p, a, low, last);
    for (i64 row : mine) {
        const i64 x = codes(a, row);
        groups.bare[row] += x == low ? without_low : x == high ? without_high : full;
    }
}

// Add a flat column's ticks without each member: one value less where the member alone has its value.
inline void add_bare_sets(
    const Groups& groups, i64 g, i64 a, const Prices& p, const GroupCodes& codes, Span<const i64> mine,
    const MemberBuffers& buffers
) {
    const i64 words = p.word_at[a + 1] - p.word_at[a], missing = p.missing[a];
    const Span<u64> once = buffers.once.slice(0, words), again = buffers.again.slice(0, words);
    once.fill(0);
    again.fill(0);
    for (i64 row : mine) {
        const i64 x = codes(a, row);
        if (x < 0) continue;
        again[x >> 6] |= once[x >> 6] & bit_of(x);
        once[x >> 6] |= bit_of(x);
    }
    i64 count = 0;
    for (u64 word : once) count += popcount(word);
    const bool mixed = count > 1 && groups.cells.high(a, g) == missing;
    const i64 full = groups.now(g, a), fewer = p.sizes[p.size_at[a] + larger(count - 1, i64(0))];
    for (i64 row : mine) {
        const i64 x = codes(a, row);
        const bool alone = x >= 0 && !(again[x >> 6] & bit_of(x));
        if (!alone || count <= 1) groups.bare[row] += full;
        else if (mixed && x != missing && count > 2) groups.bare[row] += whole_of(p, a);
        else groups.bare[row] += fewer;
    }
}

// Price a group anew, and without each of its members.
inline void refresh(const Groups& groups, i64 g, const Prices& p, const GroupCodes& codes, const MemberBuffers& buffers) {
    if (groups.size[g] == 0) {
        groups.cost[g] = 0;
        return;
    }
    const Span<const i64> mine = buffers.rows.slice(0, list_members(groups, g, buffers.rows, 0));
    groups.cost[g] = price_rows(p, codes, mine, -1, -1, groups.cells, g, groups.now[g]);
    groups.cost[g] += recount(groups.shown, g, mine);
    for (i64 row : mine) groups.bare[row] = exposed(groups.shown, g, mine, row, -1);
    if (mine.size == 1) return;  // without its only member a group costs nothing
    for (i64 a = 0; a < codes.rows; ++a) {
        if (p.kind[a] == FLAT) add_bare_sets(groups, g, a, p, codes, mine, buffers);
        else add_bare_ranges(groups, g, a, p, codes, mine);
    }
}

}  // namespace shoal
