// Cells of groups that grow and join: what they hold, what they cost, and what they would cost with one more record.
//
// Codes below 0 are unknown values: they leave a cell as it is. A cell without any value costs nothing. Records are
// columns of `codes` (columns, records), of int16 or int32: a Table, or RecordCodes where records lie one after another.
#pragma once
#include "price/cells.hpp"

namespace shoal {

// Whether the cells of one column, or those of one group, are next to each other in memory.
enum class Layout { COLUMNS, GROUPS };

constexpr i32 NO_CODE = std::numeric_limits<i32>::max();

// Lowest and highest code of each column and group, and the sets of flat columns as bits (words, groups).
template <Layout layout>
class ExtentsOf {
public:
    static constexpr Layout order = layout;

    // All groups are empty.
    ExtentsOf(const Prices& p, i64 groups)
        : columns(p.columns()), words(p.word_at[p.columns()]), groups(groups), low_(columns * groups, NO_CODE),
          high_(columns * groups, -1), bits_(words * groups, 0) {}

    i32& low(i64 a, i64 g) const { return low_[at(a, g, columns)]; }
    i32& high(i64 a, i64 g) const { return high_[at(a, g, columns)]; }
    u64& bits(i64 w, i64 g) const { return bits_[at(w, g, words)]; }

    i64 columns, words, groups;

private:
    i64 at(i64 row, i64 g, i64 rows) const { return layout == Layout::COLUMNS ? row * groups + g : g * rows + row; }

    Array<i32> low_, high_;
    Array<u64> bits_;
};

// For methods that look at many groups of one column, and for those that look at one group after another.
using Extents = ExtentsOf<Layout::COLUMNS>;
using RecordExtents = ExtentsOf<Layout::GROUPS>;

// Extents whose memory Python keeps between calls; see `Extents` in shoal.kernels.price.extents.
template <Layout layout>
struct KeptExtentsOf {
    static constexpr Layout order = layout;

    Table<i32> lows, highs;
    Table<u64> sets;
    i64 columns = layout == Layout::COLUMNS ? lows.rows : lows.columns;
    i64 words = layout == Layout::COLUMNS ? sets.rows : sets.columns;
    i64 groups = layout == Layout::COLUMNS ? sets.columns : sets.rows;

    i32& low(i64 a, i64 g) const { return at(lows, a, g); }
    i32& high(i64 a, i64 g) const { return at(highs, a, g); }
    u64& bits(i64 w, i64 g) const { return at(sets, w, g); }

    void check(const char* kernel) const {
        const bool by_column = layout == Layout::COLUMNS;
        require_size(kernel, "high", highs.rows, lows.rows);
        require_size(kernel, "high's columns", highs.columns, lows.columns);
        require_size(
            kernel, by_column ? "bits' columns" : "bits", by_column ? sets.columns : sets.rows,
            by_column ? lows.columns : lows.rows);
    }

    using Fields = std::tuple<Table<i32>, Table<i32>, Table<u64>>;
    static constexpr const char* names = "low, high, bits";

private:
    template <class T>
    static T& at(Table<T> table, i64 row, i64 g) { return layout == Layout::COLUMNS ? table(row, g) : table(g, row); }
};

using KeptExtents = KeptExtentsOf<Layout::COLUMNS>;
using KeptRecordExtents = KeptExtentsOf<Layout::GROUPS>;

// Codes of records that lie one after another in memory (records, columns), read as (columns, records).
template <class Code>
class RecordCodes {
public:
    explicit RecordCodes(Table<const Code> records) : rows(records.columns), records_(records) {}

    Code operator()(i64 a, i64 i) const { return records_(i, a); }

    i64 rows;

private:
    Table<const Code> records_;
};

inline u64 bit_of(i64 code) { return u64(1) << (code & 63); }

// Take a known value into a group's cell; return whether the cell changed.
template <class E>
bool extend(const Prices& p, const E& ext, i64 g, i64 a, i64 code) {
    bool changed = code < ext.low(a, g) || code > ext.high(a, g);
    if (changed) {
        ext.low(a, g) = i32(smaller(i64(ext.low(a, g)), code));
        ext.high(a, g) = i32(larger(i64(ext.high(a, g)), code));
    }
    if (p.kind[a] == FLAT) {
        u64& word = ext.bits(p.word_at[a] + (code >> 6), g);
        changed = !(word & bit_of(code));
        word |= bit_of(code);
    }
    return changed;
}

// Take record `i` into a group.
template <class E, class Codes>
void extend_all(const Prices& p, const E& ext, i64 g, const Codes& codes, i64 i) {
    for (i64 a = 0; a < codes.rows; ++a) {
        const i32 code = codes(a, i);
        if (code < 0) continue;
        ext.low(a, g) = smaller(ext.low(a, g), code);
        ext.high(a, g) = larger(ext.high(a, g), code);
        if (p.kind[a] == FLAT) ext.bits(p.word_at[a] + (code >> 6), g) |= bit_of(code);
    }
}

// Make a group consist of record `i` alone; `now` gets the ticks of its cells.
template <class E, class Codes>
void open_group(const Prices& p, const E& ext, i64 g, const Codes& codes, i64 i, Span<i64> now) {
    for (i64 w = 0; w < ext.words; ++w) ext.bits(w, g) = 0;
    for (i64 a = 0; a < codes.rows; ++a) {
        const i32 code = codes(a, i);
        ext.low(a, g) = code >= 0 ? code : NO_CODE;
        ext.high(a, g) = code >= 0 ? code : -1;
        now[a] = 0;
        if (code < 0) continue;
        if (p.kind[a] != FLAT) now[a] = cell(p, a, code, code);
        else ext.bits(p.word_at[a] + (code >> 6), g) = bit_of(code);
    }
}

// Empty a group.
template <class E>
void clear(const E& ext, i64 g) {
    for (i64 a = 0; a < ext.columns; ++a) {
        ext.low(a, g) = NO_CODE;
        ext.high(a, g) = -1;
    }
    for (i64 w = 0; w < ext.words; ++w) ext.bits(w, g) = 0;
}

// Take group `h` into group `g`.
template <class E>
void join(const E& ext, i64 g, i64 h) {
    for (i64 a = 0; a < ext.columns; ++a) {
        ext.low(a, g) = smaller(ext.low(a, g), ext.low(a, h));
        ext.high(a, g) = larger(ext.high(a, g), ext.high(a, h));
    }
    for (i64 w = 0; w < ext.words; ++w) ext.bits(w, g) |= ext.bits(w, h);
}

// Copy group `g` over group `h` of other extents.
template <class E, class F>
void copy_cells(const E& ext, i64 g, const F& into, i64 h) {
    for (i64 a = 0; a < ext.columns; ++a) {
        into.low(a, h) = ext.low(a, g);
        into.high(a, h) = ext.high(a, g);
    }
    for (i64 w = 0; w < ext.words; ++w) into.bits(w, h) = ext.bits(w, g);
}

// Number of values in a group's set of a flat column.
template <class E>
i64 count_values(const Prices& p, const E& ext, i64 g, i64 a) {
    i64 count = 0;
    for (i64 w = p.word_at[a]; w < p.word_at[a + 1]; ++w) count += popcount(ext.bits(w, g));
    return count;
}

// Ticks of one cell of a group.
template <class E>
i64 own_cell(const Prices& p, const E& ext, i64 g, i64 a) {
    const i64 high = ext.high(a, g);
    if (high < 0) return 0;
    if (p.kind[a] != FLAT) return cell(p, a, ext.low(a, g), high);
    return set_cell(p, a, count_values(p, ext, g, a), high);
}

// Ticks of a record of a group; `out` gets those of each cell.
template <class E>
i64 own_cells(const Prices& p, const E& ext, i64 g, Span<i64> out) {
    i64 total = 0;
    for (i64 a = 0; a < out.size; ++a) total += out[a] = own_cell(p, ext, g, a);
    return total;
}

// Ticks of a record of a group.
template <class E>
i64 own_cost(const Prices& p, const E& ext, i64 g) {
    i64 total = 0;
    for (i64 a = 0; a < p.columns(); ++a) total += own_cell(p, ext, g, a);
    return total;
}

// Ticks of a record of a group with record `i` in it as well; `now` and `out` are the ticks of its cells before and after.
template <class E, class Codes>
i64 cost_with(const Prices& p, const E& ext, i64 g, const Codes& codes, i64 i, Span<const i64> now, Span<i64> out) {
    i64 total = 0;
    for (i64 a = 0; a < now.size; ++a) {
        const i64 code = codes(a, i);
        i64 ticks = now[a];
        if (code >= 0 && p.kind[a] != FLAT) {
            const i64 low = ext.low(a, g), high = ext.high(a, g);
            if (code < low || code > high) ticks = cell(p, a, smaller(low, code), larger(high, code));
        } else if (code >= 0 && !(ext.bits(p.word_at[a] + (code >> 6), g) & bit_of(code))) {
            ticks = set_cell(p, a, 1 + count_values(p, ext, g, a), larger(i64(ext.high(a, g)), code));
        }
        out[a] = ticks;
        total += ticks;
    }
    return total;
}

}  // namespace shoal
