// Redraw cells of records: which columns and which values, both keyed by the record alone.
#include "shared/bind.hpp"
#include "shared/random.hpp"

namespace shoal {
namespace {

// Alias table of one column (Walker 1977; Vose 1991): the share of itself that each slot keeps, and the code that gets
// the rest.
void alias_table(Span<const i64> counts, Span<double> keep, Span<i32> other) {
    const i64 card = counts.size;
    require_size("alias_table", "keep", keep.size, card);
    require_size("alias_table", "other", other.size, card);
    i64 rows = 0;
    for (i64 count : counts) rows += count;
    // In units of 1 / (rows * card) a slot holds exactly `rows`.
    Array<i64> left(card), small(card), large(card);
    i64 n_small = 0, n_large = 0;
    for (i64 code = 0; code < card; ++code) {
        left[code] = counts[code] * card;
        keep[code] = 1.0;
        other[code] = i32(code);
        if (left[code] < rows) small[n_small++] = code;
        else large[n_large++] = code;
    }
    while (n_small > 0 && n_large > 0) {
        const i64 low = small[--n_small], high = large[n_large - 1];
        keep[low] = double(left[low]) / double(rows);
        other[low] = i32(high);
        left[high] -= rows - left[low];
        if (left[high] < rows) {
            --n_large;
            small[n_small++] = high;
        }
    }
}

// Choose a column by `bounds` in the first turn, and any of those not yet taken (ascending) in later turns.
inline i64 choose_column(double draw, Span<const double> bounds, Span<const i64> taken) {
    if (taken.size == 0) {
        // Adding up comparisons instead of stopping at the first: a processor cannot predict where that would be.
        i64 column = 0;
        for (double bound : bounds) column += draw >= bound;
        return column;
    }
    i64 column = i64(draw * double(bounds.size + 1 - taken.size));
    for (i64 before : taken) column += column >= before;
    return column;
}

// Slots of all columns, one column behind the other; those of column j begin at[j].
struct Slots {
    Span<const double> keep;
    Span<const i32> other;
    Span<const i64> at;

    using Fields = std::tuple<Span<const double>, Span<const i32>, Span<const i64>>;
    static constexpr const char* names = "keep, other, at";
};

SHOAL_CLONES void draw_words(
    Span<const u64> key, Span<const u64> rows, u64 turn, Span<double> first, Span<double> second
) {
    constexpr double UNIT = 1.0 / double(i64(1) << 53);
    const u64 key0 = key[0], key1 = key[1];
    for (i64 i = 0; i < rows.size; ++i) {
        const Words words = threefry_pair(key0, key1, rows[i], turn);
        first[i] = double(i64(words.first >> 11)) * UNIT;
        second[i] = double(i64(words.second >> 11)) * UNIT;
    }
}

void redraw_block(
    Table<i32> codes, Span<const u64> rows, Span<const u64> key, Span<const double> bounds, i64 redraw, Slots slots,
    i64 start, i64 stop
) {
    require_size("redraw_block", "codes' columns", codes.columns, rows.size);
    require_size("redraw_block", "key", key.size, 2);
    require_size("redraw_block", "codes", codes.rows, bounds.size + 1);
    require_size("redraw_block", "slots.at", slots.at.size, codes.rows + 1);
    require_size("redraw_block", "slots.other", slots.other.size, slots.keep.size);
    require_starts("redraw_block", "slots.at", slots.at, slots.keep.size);
    require_range("redraw_block", start, stop, rows.size);
    require_number("redraw_block", "redraw", redraw, 0, codes.rows);
    // Words of a few records at a time stay in the nearest cache.
    constexpr i64 BATCH = 512;
    Array<double> which(BATCH), what(BATCH);
    Grid<i64> taken(BATCH, redraw);
    for (i64 first = start; first < stop; first += BATCH) {
        const i64 size = smaller(BATCH, stop - first);
        for (i64 turn = 0; turn < redraw; ++turn) {
            draw_words(key, rows.slice(first, first + size), u64(turn), which, what);
            for (i64 i = 0; i < size; ++i) {
                Span<i64> mine = taken[i];
                const i64 column = choose_column(which[i], bounds, mine.slice(0, turn));
                i64 place = turn;
                for (; place > 0 && mine[place - 1] > column; --place) mine[place] = mine[place - 1];
                mine[place] = column;
                const i64 at = slots.at[column];
                const double spot = what[i] * double(slots.at[column + 1] - at);
                const i64 slot = i64(spot);
                const i32 rest = slots.other[at + slot];
                codes(column, first + i) = spot - double(slot) < slots.keep[at + slot] ? i32(slot) : rest;
            }
        }
    }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("alias_table", "counts, keep, other", &alias_table);
    kernels.add("redraw_block", "codes, rows, key, bounds, redraw, slots, start, stop", &redraw_block);
}

}  // namespace shoal
