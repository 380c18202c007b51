// Price all cuts of a set of rows between two values of a column by the loss of both sides.
//
// A side's cells are unions over the values of the column that is cut. Where a column has at most 64 different values among
// the rows, its cells are words of bits, one for each place among them, and one pass over the rows collects those of all
// columns; wider columns are read once for each column that may be cut. A column of one value costs the same for every cut.
#pragma once
#include <algorithm>
#include <vector>

#include "partition/weights.hpp"
#include "price/cells.hpp"

namespace shoal {

constexpr i64 WORD = 64, LANES = 4;

// The different codes of every column, ascending, and the rows of each; a column's begin at `at`.
struct Held {
    Array<i32> values;
    Array<i64> counts, at;

    i64 size(i64 a) const { return at[a + 1] - at[a]; }
};

// For each column, the places that a cut may lie behind: from `first` up to `last`, none where they are equal.
struct Cuts {
    Array<i64> first, last;
};

// Loss, column and last left value of every cut.
struct Priced {
    Array<i64> losses, columns, values;
};

template <class Code>
struct Limits {
    Span<const Code> low, high;
};

// Sort the distinct codes of a column of many codes and fill in each row's place among them; return how many there are.
template <class Code>
i64 sorted_places(Table<Code> codes, i64 lo, i64 hi, i64 a, Table<Code> places, Span<i32> values) {
    i64 n = hi - lo;
    Array<i64> keys(n);
    for (i64 i = 0; i < n; ++i) keys[i] = (i64(codes(lo + i, a)) << 32) + i;
    std::sort(keys.begin(), keys.end());
    i64 found = 0;
    for (i64 key : keys) {
        i32 value = i32(key >> 32);
        if (found == 0 || values[found - 1] != value) values[found++] = value;
        places(lo + (key & 0xFFFFFFFF), a) = Code(found - 1);
    }
    return found;
}

// Different codes of all columns; fills in each row's places among them.
//
// `limits` are the lowest and the highest code of every column; `places` is a buffer of the shape of `codes`, of which
// rows `lo` to `hi` are used.
template <class Code, class W>
Held ranked(Table<Code> codes, Table<Code> places, i64 lo, i64 hi, Limits<Code> limits, W weights) {
    Span<const Code> low = limits.low, high = limits.high;
    i64 m = codes.columns, n = hi - lo, room = 0;
    // Where each column's slots start, one a code between its limits, none where they would be many.
    Array<i64> slot_at(m + 1, 0);
    for (i64 a = 0; a < m; ++a) {
        i64 span = i64(high[a]) - low[a] + 1;
        slot_at[a + 1] = slot_at[a] + (span < 4 * n + 64 ? span : 0);
        room += smaller(n, span);
    }
    auto slotted = [&](i64 a) { return slot_at[a] < slot_at[a + 1]; };
    Array<i64> slots(slot_at[m], 0);
    for (i64 i = lo; i < hi; ++i)
        for (i64 a = 0; a < m; ++a)
            if (slotted(a)) slots[slot_at[a] + codes(i, a) - low[a]] += weights.times(i);
    Held held{Array<i32>(room), Array<i64>(room, 0), Array<i64>(m + 1, 0)};
    for (i64 a = 0; a < m; ++a) {
        i64 found = held.at[a];
        for (i64 slot = slot_at[a]; slot < slot_at[a + 1]; ++slot) {
            if (!slots[slot]) continue;
            held.values[found] = i32(slot - slot_at[a] + low[a]);
            held.counts[found] = slots[slot];
            slots[slot] = found - held.at[a];
            ++found;
        }
        if (!slotted(a)) {
            i64 distinct = sorted_places(codes, lo, hi, a, places, held.values.from(found));
            for (i64 i = lo; i < hi; ++i) held.counts[found + places(i, a)] += weights.times(i);
            found += distinct;
        }
        held.at[a + 1] = found;
    }
    for (i64 i = lo; i < hi; ++i)
        for (i64 a = 0; a < m; ++a)
            if (slotted(a)) places(i, a) = Code(slots[slot_at[a] + codes(i, a) - low[a]]);
    return held;
}

// Cuts of every column that leave k rows on both sides.
Cuts allowed_cuts(const Held& held, i64 n, i64 k);

// For every value of the columns `cut`, whose rows start at `word_at`, one word for each of `narrow`.
template <class Code>
Array<u64> words_of(
    Table<Code> places, i64 lo, i64 hi, const std::vector<i64>& narrow, const std::vector<i64>& cut,
    Span<const i64> word_at, i64 lanes
) {
    i64 count = i64(cut.size());
    Array<u64> words(word_at[count] * lanes, 0), own(lanes, 0);
    for (i64 i = lo; i < hi; ++i) {
        for (i64 lane = 0; lane < i64(narrow.size()); ++lane) own[lane] = u64(1) << places(i, narrow[lane]);
        for (i64 one = 0; one < count; ++one) {
            u64* row = words.data + (word_at[one] + places(i, cut[one])) * lanes;
            for (i64 lane = 0; lane < lanes; lane += LANES)
                for (i64 four = lane; four < lane + LANES; ++four) row[four] |= own.data[four];
        }
    }
    return words;
}

// Add the ticks of the narrow columns' cells with all values up to each place, from place `start` up to `stop`.
//
// Values are taken in from the first word on, or backwards from the last.
void narrow_ticks(
    const Prices& p, const Held& held, const u64* words, i64 lanes, i64 step, const std::vector<i64>& narrow,
    i64 start, i64 stop, i64* ticks
);

// Add the ticks of the cells of a wide flat column: the left side has a value from the first place it occurs at.
template <class Code>
void set_ticks(
    const Prices& p, i64 b, const Held& held, Table<Code> places, i64 a, Span<i64> left, Span<i64> right
) {
    i64 count = held.size(b);
    Array<i64> first(count, left.size), last(count, -1), begin(left.size, 0), end(left.size, 0);
    for (i64 i = 0; i < places.rows; ++i) {
        i64 mine = places(i, a), beside = places(i, b);
        first[beside] = smaller(first[beside], mine);
        last[beside] = larger(last[beside], mine);
    }
    for (i64 value = 0; value < count; ++value) {
        ++begin[first[value]];
        ++end[last[value]];
    }
    // A missing value is the last of all.
    bool missing = held.values[held.at[b + 1] - 1] == p.missing[b];
    i64 found = 0;
    for (i64 place = 0; place < left.size; ++place) {
        found += begin[place];
        left[place] += set_cell(p, b, found, missing && first[count - 1] <= place ? p.missing[b] : -2);
    }
    found = 0;
    for (i64 place = left.size - 1; place >= 0; --place) {
        found += end[place];
        right[place] += set_cell(p, b, found, missing && last[count - 1] >= place ? p.missing[b] : -2);
    }
}

// Add the ticks of the cells of a wide interval or tree column.
template <class Code>
void range_ticks(
    const Prices& p, i64 b, const Held& held, Table<Code> places, i64 a, Span<i64> left, Span<i64> right
) {
    Span<const i32> values = held.values.slice(held.at[b], held.at[b + 1]);
    Array<i64> low(left.size, held.size(b)), high(left.size, -1);
    for (i64 i = 0; i < places.rows; ++i) {
        i64 mine = places(i, a), beside = places(i, b);
        low[mine] = smaller(low[mine], beside);
        high[mine] = larger(high[mine], beside);
    }
    i64 first = low[0], last = high[0];
    for (i64 place = 0; place < left.size; ++place) {
        first = smaller(first, low[place]);
        last = larger(last, high[place]);
        left[place] += cell(p, b, values[first], values[last]);
    }
    first = low[left.size - 1];
    last = high[left.size - 1];
    for (i64 place = left.size - 1; place >= 0; --place) {
        first = smaller(first, low[place]);
        last = larger(last, high[place]);
        right[place] += cell(p, b, values[first], values[last]);
    }
}

// Ticks of the cells of all columns of one value.
i64 same_ticks(const Prices& p, const Held& held);

// Loss, column and last left value of every cut of `rows` rows that leaves k of them on both sides.
//
// `held` and `places` are from `ranked`; of the places, `lo` to `hi` are those of the rows.
template <class Code>
Priced best_cuts(const Held& held, i64 rows, Table<Code> places, i64 lo, i64 hi, const Prices& p, i64 k) {
    Cuts cuts = allowed_cuts(held, rows, k);
    std::vector<i64> narrow, wider, cut, word_at{0}, start{0};
    for (i64 a = 0; a < places.columns; ++a) {
        i64 size = held.size(a);
        if (size > 1) (size <= WORD ? narrow : wider).push_back(a);
        if (cuts.last[a] > cuts.first[a]) {
            cut.push_back(a);
            word_at.push_back(word_at.back() + size);
            start.push_back(start.back() + cuts.last[a] - cuts.first[a]);
        }
    }
    i64 same = same_ticks(p, held), lanes = (i64(narrow.size()) + LANES - 1) / LANES * LANES;
    Priced found{Array<i64>(start.back()), Array<i64>(start.back()), Array<i64>(start.back())};
    Array<u64> words = words_of(places, lo, hi, narrow, cut, Span<const i64>{word_at.data(), i64(word_at.size())}, lanes);
    Table<Code> mine = places.slice(lo, hi);
    for (std::size_t one = 0; one < cut.size(); ++one) {
        i64 a = cut[one], count = held.size(a), first = cuts.first[a], last = cuts.last[a];
        const u64* own = words.data + word_at[one] * lanes;
        Array<i64> left(count, same), right(count, same);
        narrow_ticks(p, held, own, lanes, 1, narrow, first, last, left.data);
        // From the other end, the side right of the last cut is the smallest.
        narrow_ticks(
            p, held, own + (count - 1) * lanes, lanes, -1, narrow, count - 1 - last, count - 1 - first,
            right.data + count - 1
        );
        for (i64 b : wider) {
            if (p.kind[b] == FLAT) set_ticks(p, b, held, mine, a, left, right);
            else range_ticks(p, b, held, mine, a, left, right);
        }
        i64 below = 0;
        for (i64 place = 0; place < last; ++place) {
            below += held.counts[held.at[a] + place];
            if (place < first) continue;
            i64 to = start[one] + place - first;
            found.losses[to] = below * left[place] + (rows - below) * right[place + 1];
            found.columns[to] = a;
            found.values[to] = held.values[held.at[a] + place];
        }
    }
    return found;
}

}  // namespace shoal
