// Combinations with suppressed values, where such a value matches any: count matches, suppress, restore.
#include "shared/bind.hpp"

namespace shoal {
namespace {

constexpr i64 MOST_COLUMNS = 62;  // sets of columns are bits of one number

void count_matches(Table<const i32> codes, Span<const i64> sizes, Span<i64> matches) {
    require_size("count_wildcard_matches", "matches", matches.size, codes.rows);
    require_size("count_wildcard_matches", "sizes", sizes.size, codes.rows);
    const i64 count = codes.rows, columns = codes.columns;
    matches.copy(sizes);
    Array<u8> starred(count, 0);
    for (i64 c = 0; c < count; ++c)
        for (i32 code : codes[c])
            if (code < 0) starred[c] = 1;
    for (i64 d = 0; d < count; ++d) {
        if (!starred[d]) continue;
        Span<const i32> there = codes[d];
        for (i64 c = 0; c < count; ++c) {
            if (c == d) continue;
            Span<const i32> here = codes[c];
            bool same = true;
            for (i64 j = 0; same && j < columns; ++j) same = here[j] == there[j] || here[j] < 0 || there[j] < 0;
            if (!same) continue;
            matches[c] += sizes[d];
            if (!starred[c]) matches[d] += sizes[c];
        }
    }
}

// Columns, as bits, in which two combinations differ and neither is suppressed.
inline i64 differing(Table<const i32> codes, Span<const i64> stars, i64 r, i64 s) {
    i64 bits = 0;
    Span<const i32> one = codes[r], other = codes[s];
    for (i64 j = 0; j < codes.columns; ++j) bits |= i64(one[j] != other[j]) << j;
    return bits & ~(stars[r] | stars[s]);
}

i64 suppress_short(
    Table<const i32> codes, Span<const i64> sizes, Span<i64> stars, Span<i64> matches, i64 k, Span<const i64> masks,
    i64 most
) {
    require_number("suppress_short", "codes' columns", codes.columns, 0, MOST_COLUMNS);
    require_number("suppress_short", "most", most, 0, masks.size);
    require_size("suppress_short", "sizes", sizes.size, codes.rows);
    require_size("suppress_short", "stars", stars.size, codes.rows);
    require_size("suppress_short", "matches", matches.size, codes.rows);
    const i64 count = codes.rows, columns = codes.columns, sets = i64(1) << columns;
    // Rows that would match if a set of columns were suppressed.
    Array<i64> rows(sets);
    i64 left = 0;
    for (i64 r = 0; r < count; ++r) {
        if (matches[r] >= k) continue;
        rows.fill(0);
        for (i64 s = 0; s < count; ++s) rows[differing(codes, stars, r, s)] += sizes[s];
        for (i64 j = 0; j < columns; ++j)
            for (i64 mask = 0; mask < sets; ++mask)
                if (mask >> j & 1) rows[mask] += rows[mask ^ (i64(1) << j)];
        i64 chosen = 0;
        while (chosen < most && rows[masks[chosen]] < k) ++chosen;
        if (chosen == most) {
            ++left;
            continue;
        }
        const i64 more = masks[chosen];
        for (i64 s = 0; s < count; ++s) {
            const i64 apart = differing(codes, stars, r, s);
            if (apart == 0 || (apart & ~more) != 0) continue;
            matches[r] += sizes[s];
            matches[s] += sizes[r];
        }
        stars[r] |= more;
    }
    return left;
}

void restore_spare(
    Table<const i32> codes, Span<const i64> sizes, Span<i64> stars, Span<i64> matches, i64 k, Span<const i64> columns,
    Span<const i64> fixed
) {
    require_number("restore_spare", "codes' columns", codes.columns, 0, MOST_COLUMNS);
    require_size("restore_spare", "sizes", sizes.size, codes.rows);
    require_size("restore_spare", "stars", stars.size, codes.rows);
    require_size("restore_spare", "matches", matches.size, codes.rows);
    require_size("restore_spare", "fixed", fixed.size, codes.rows);
    const i64 count = codes.rows;
    Array<i64> losing(count);
    for (i64 r = 0; r < count; ++r) {
        if (stars[r] == 0) continue;
        for (i64 j : columns) {
            const i64 bit = i64(1) << j;
            if ((stars[r] & ~fixed[r] & bit) == 0) continue;
            i64 lost = 0, own = 0;
            bool fine = true;
            for (i64 s = 0; fine && s < count; ++s) {
                if (codes(s, j) == codes(r, j) || (stars[s] & bit) != 0 || differing(codes, stars, r, s) != 0) continue;
                losing[lost++] = s;
                own += sizes[s];
                fine = matches[s] - sizes[r] >= k;
            }
            if (!fine || matches[r] - own < k) continue;
            stars[r] ^= bit;
            matches[r] -= own;
            for (i64 s : losing.slice(0, lost)) matches[s] -= sizes[r];
        }
    }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("count_wildcard_matches", "codes, sizes, matches", &count_matches);
    kernels.add("suppress_short", "codes, sizes, stars, matches, k, masks, most", &suppress_short);
    kernels.add("restore_spare", "codes, sizes, stars, matches, k, columns, fixed", &restore_spare);
}

}  // namespace shoal
