// Number keys of 64 bits by first appearance, and find keys among known ones.
#include "shared/bind.hpp"

namespace shoal {
namespace {

constexpr u64 MULTIPLIER = 0x9E3779B97F4A7C15u;

// The first place to look for a key in a table of 2^(64 - shift) places.
inline i64 slot_of(u64 key, u64 shift) { return i64(((key ^ (key >> 32)) * MULTIPLIER) >> shift); }

// A table of the first `count` keys: each place holds a key's number and one, or 0.
Array<i32> make_table(Span<const u64> known, i64 count, u64 shift) {
    Array<i32> table(i64(1) << (64 - shift), 0);
    for (i64 number = 0; number < count; ++number) {
        i64 slot = slot_of(known[number], shift);
        while (table[slot]) slot = (slot + 1) & (table.size - 1);
        table[slot] = i32(number + 1);
    }
    return table;
}

// Number keys from `start` on until there is no room for a new one; return where that is. A loop of its own, so that the
// compiler sees arrays that do not move.
i64 number_some(
    Span<const u64> keys, i64 start, Span<i32> table, u64 shift, Span<u64> known, Span<i64> first, Span<u32> numbers,
    i64& count
) {
    for (i64 i = start; i < keys.size; ++i) {
        const u64 key = keys[i];
        i64 slot = slot_of(key, shift);
        i32 number = table[slot];
        while (number && known[number - 1] != key) {
            slot = (slot + 1) & (table.size - 1);
            number = table[slot];
        }
        if (!number) {
            if (count == known.size) return i;  // the table is half full
            first[count] = i;
            known[count] = key;
            number = table[slot] = i32(++count);
        }
        numbers[i] = u32(number - 1);
    }
    return keys.size;
}

// Number keys; return the first place of each number, or nothing where more than `most` are different.
Array<i64> number_words(Span<const u64> keys, i64 most, Span<u32> numbers) {
    require_size("number_words", "numbers", numbers.size, keys.size);
    u64 shift = 64 - 12;
    Array<i64> first(1 << 11);
    Array<u64> known(1 << 11);
    i64 count = 0;
    Array<i32> table = make_table(known, 0, shift);
    i64 at = number_some(keys, 0, table, shift, known, first, numbers, count);
    while (at < keys.size && count < most) {
        first.resize(2 * count);
        known.resize(2 * count);
        table = make_table(known, count, --shift);
        at = number_some(keys, at, table, shift, known, first, numbers, count);
    }
    first.resize(at < keys.size || count > most ? 0 : count);
    return first;
}

inline u64 mix_words(Table<const i64> words, i64 place) {
    u64 key = u64(words(0, place));
    for (i64 word = 1; word < words.rows; ++word) key = key * MULTIPLIER + u64(words(word, place));
    return key;
}

// A table in which the combinations (words, combinations) are found, and its shift.
std::tuple<Array<i32>, u64> place_keys(Table<const i64> known) {
    require_room("place_keys", "known", known.rows, 1);
    i64 bits = 4;
    while (i64(1) << bits < 2 * known.columns) ++bits;
    const u64 shift = u64(64 - bits);
    Array<i32> table(i64(1) << bits, 0);
    for (i64 place = 0; place < known.columns; ++place) {
        i64 slot = slot_of(mix_words(known, place), shift);
        while (table[slot]) slot = (slot + 1) & (table.size - 1);
        table[slot] = i32(place + 1);
    }
    return {std::move(table), shift};
}

void find_keys(
    Table<const i64> known, Span<const i32> table, i64 shift, Table<const i64> wanted, Span<i64> found, i64 start,
    i64 stop
) {
    require_room("find_keys", "known", known.rows, 1);
    require_size("find_keys", "wanted", wanted.rows, known.rows);
    require_size("find_keys", "found", found.size, wanted.columns);
    require_number("find_keys", "shift", shift, 2, 63);
    require_size("find_keys", "table", table.size, i64(1) << (64 - shift));
    require_range("find_keys", start, stop, found.size);
    for (i64 i = start; i < stop; ++i) {
        found[i] = -1;
        i64 slot = slot_of(mix_words(wanted, i), u64(shift));
        // A table of `place_keys` has free places, where every search ends.
        for (i64 left = table.size; table[slot] && left > 0; --left, slot = (slot + 1) & (table.size - 1)) {
            const i64 place = table[slot] - 1;
            bool same = true;
            for (i64 word = 0; word < wanted.rows; ++word) same = same && known(word, place) == wanted(word, i);
            if (same) {
                found[i] = place;
                break;
            }
        }
    }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("number_words", "keys, most, numbers", &number_words);
    kernels.add("place_keys", "known", &place_keys);
    kernels.add("find_keys", "known, table, shift, wanted, found, start, stop", &find_keys);
}

}  // namespace shoal
