// Extents of groups: lowest and highest code, or the set of codes.
#include <algorithm>

#include "count/ids.hpp"
#include "shared/bind.hpp"

namespace shoal {
namespace {

void group_ranges(Span<const i32> codes, Span<const i32> ids, Span<i32> low, Span<i32> high) {
    require_size("group_ranges", "high", high.size, low.size);
    require_size("group_ranges", "codes", codes.size, ids.size);
    low.fill(std::numeric_limits<i32>::max());
    high.fill(-1);
    for (i64 i = 0; i < ids.size; ++i) {
        const i32 g = ids[i];
        if (!is_in_group("group_ranges", g, low.size)) continue;
        low[g] = smaller(low[g], codes[i]);
        high[g] = larger(high[g], codes[i]);
    }
}

// List the different codes of each group in ascending order; `starts` (groups + 1) tells where each group's begin.
Array<i32> group_sets(Span<const i32> codes, Span<const i32> ids, i64 card, Span<i64> starts) {
    require_size("group_sets", "codes", codes.size, ids.size);
    require_room("group_sets", "starts", starts.size, 1);
    require_number("group_sets", "card", card, 0, NO_LIMIT - 1);
    const i64 n = ids.size, groups = starts.size - 1;
    Array<i64> place(card + 1, 0);
    for (i32 code : codes) ++place[code + 1];
    for (i64 code = 0; code < card; ++code) place[code + 1] += place[code];
    Array<i32> by_code(n);
    for (i64 i = 0; i < n; ++i) by_code[place[codes[i]]++] = i32(i);
    // Rows in the order of their codes bring equal codes of a group one after the other.
    Array<i32> last(groups, -1);
    starts.fill(0);
    for (i32 row : by_code) {
        const i32 g = ids[row], code = codes[row];
        if (!is_in_group("group_sets", g, groups) || last[g] == code) continue;
        last[g] = code;
        ++starts[g + 1];
    }
    for (i64 g = 0; g < groups; ++g) starts[g + 1] += starts[g];
    last.fill(-1);
    Array<i64> next(starts);
    Array<i32> members(starts[groups]);
    for (i32 row : by_code) {
        const i32 g = ids[row], code = codes[row];
        if (g < 0 || last[g] == code) continue;
        last[g] = code;
        members[next[g]++] = code;
    }
    return members;
}

// Number sets by first appearance; return the first set of each number.
Array<i64> number_sets(Span<const i64> starts, Span<const i32> members, Span<i32> numbers) {
    require_starts("number_sets", "starts", starts, members.size);
    require_size("number_sets", "numbers", numbers.size, starts.size - 1);
    constexpr u64 MULTIPLIER = 0x9E3779B97F4A7C15u;
    const i64 count = starts.size - 1;
    i64 bits = 4;
    while (i64(1) << bits < 2 * count) ++bits;
    const u64 shift = u64(64 - bits);
    Array<i32> table(i64(1) << bits, 0);  // a set's number and one, or 0
    Array<i64> first(count);
    i32 distinct = 0;
    for (i64 g = 0; g < count; ++g) {
        Span<const i32> mine = members.slice(starts[g], starts[g + 1]);
        u64 key = u64(mine.size);
        for (i32 code : mine) {
            key = (key ^ u64(code)) * MULTIPLIER;
            key ^= key >> 32;
        }
        i64 slot = i64((key * MULTIPLIER) >> shift);
        for (; table[slot]; slot = (slot + 1) & (table.size - 1)) {
            const i64 known = first[table[slot] - 1];
            Span<const i32> other = members.slice(starts[known], starts[known + 1]);
            if (std::equal(mine.begin(), mine.end(), other.begin(), other.end())) break;
        }
        if (!table[slot]) {
            first[distinct] = g;
            table[slot] = ++distinct;
        }
        numbers[g] = table[slot] - 1;
    }
    first.resize(distinct);
    return first;
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("group_ranges", "codes, ids, low, high", &group_ranges);
    kernels.add("group_sets", "codes, ids, card, starts", &group_sets);
    kernels.add("number_sets", "starts, members, numbers", &number_sets);
}

}  // namespace shoal
