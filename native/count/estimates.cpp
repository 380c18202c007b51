// Answer count queries: exactly over rows, or as expected counts over groups of generalised cells.
#include <cmath>

#include "shared/bind.hpp"

namespace shoal {
namespace {

void cell_chances(
    Table<const u8> asked, Span<const i64> starts, Span<const i32> codes, Table<double> chances, i64 start, i64 stop
) {
    require_starts("cell_chances", "starts", starts, codes.size);
    require_size("cell_chances", "chances", chances.rows, asked.rows);
    require_size("cell_chances", "chances' columns", chances.columns, starts.size - 1);
    require_range("cell_chances", start, stop, asked.rows);
    const i64 cells = starts.size - 1, values = asked.columns;
    Array<i64> before(values + 1);
    for (i64 q = start; q < stop; ++q) {
        before[0] = 0;
        for (i64 v = 0; v < values; ++v) before[v + 1] = before[v] + asked(q, v);
        for (i64 c = 0; c < cells; ++c) {
            const i64 size = starts[c + 1] - starts[c];
            if (size == 0) {
                chances(q, c) = NAN;
                continue;
            }
            const i64 first = codes[starts[c]];
            i64 hits = 0;
            if (codes[starts[c + 1] - 1] - first == size - 1) {  // neighbouring values, as in every interval and subtree
                hits = before[first + size] - before[first];
            } else {
                for (i64 i = starts[c]; i < starts[c + 1]; ++i) hits += asked(q, codes[i]);
            }
            chances(q, c) = double(hits) / double(size);
        }
    }
}

// Rows of one side of a release, group by group: their cells and how many records each stands for.
struct Side {
    Span<const i64> starts;
    Table<const i32> cells;
    Span<const double> records;

    void check(const char* kernel) const {
        require_starts(kernel, "starts", starts, cells.rows);
        require_size(kernel, "records", records.size, cells.rows);
    }

    using Fields = std::tuple<Span<const i64>, Table<const i32>, Span<const double>>;
    static constexpr const char* names = "starts, cells, records";
};

void expected_counts(
    Table<const double> chance, Table<const i32> order, Side left, Side right, Span<double> counts, i64 start, i64 stop
) {
    require_size("expected_counts", "order", order.rows, chance.rows);
    require_size("expected_counts", "counts", counts.size, chance.rows);
    require_size("expected_counts", "right.starts", right.starts.size, left.starts.size);
    require_range("expected_counts", start, stop, chance.rows);
    const i64 groups = left.starts.size - 1;
    for (i64 q = start; q < stop; ++q) {
        Span<const double> chances = chance[q];
        double total = 0.0;
        for (i64 g = 0; g < groups; ++g) {
            double matching = 0.0;
            for (i64 i = left.starts[g]; i < left.starts[g + 1]; ++i) {
                double p = left.records[i];
                for (i32 j : order[q]) {
                    if (j < 0) break;
                    p *= chances[left.cells(i, j)];
                    if (p == 0.0) break;
                }
                matching += p;
            }
            if (matching == 0.0) continue;
            double held = 0.0, size = 0.0;
            for (i64 i = right.starts[g]; i < right.starts[g + 1]; ++i) {
                double p = right.records[i];
                size += p;
                for (i32 cell : right.cells[i]) {
                    p *= chances[cell];
                    if (p == 0.0) break;
                }
                held += p;
            }
            // A group that matches as a whole must not lose a digit.
            total += matching == size ? held : matching * held / size;
        }
        counts[q] = total;
    }
}

// Clear the bits of rows that fail one condition. Columns of few values have a bitmap a value, from row `at` of `bits`.
void keep_matching(
    Span<u64> kept, Span<const u8> asked, i64 hits, Span<const i32> codes, Table<const u64> bits, i64 at, Span<u64> any
) {
    if (at < 0) {
        for (i64 i = 0; i < codes.size; i += 64) {
            u64 word = 0;
            for (i64 row = i; row < smaller(i + 64, codes.size); ++row) word |= u64(asked[codes[row]] != 0) << (row - i);
            kept[i >> 6] &= word;
        }
        return;
    }
    // Fewer bitmaps are read by clearing what is not asked for, or by collecting what is.
    const bool clear = 2 * hits > asked.size;
    any.fill(0);
    for (i64 v = 0; v < asked.size; ++v) {
        if (bool(asked[v]) == clear) continue;
        Span<const u64> mine = bits[at + v];
        for (i64 w = 0; w < kept.size; ++w) any[w] |= mine[w];
    }
    for (i64 w = 0; w < kept.size; ++w) kept[w] &= clear ? ~any[w] : any[w];
}

SHOAL_CLONES void exact_counts(
    Table<const u8> asked, Span<const i64> first, Table<const i32> codes, Table<const u64> bits, Span<const i64> bit_at,
    Span<i64> counts, i64 start, i64 stop
) {
    require_size("exact_counts", "first", first.size, codes.rows + 1);
    require_size("exact_counts", "bit_at", bit_at.size, codes.rows);
    require_size("exact_counts", "counts", counts.size, asked.rows);
    require_range("exact_counts", start, stop, asked.rows);
    require_starts("exact_counts", "first", first, asked.columns);
    const i64 rows = codes.columns, words = (rows + 63) / 64;
    require_size("exact_counts", "bits' columns", bits.columns, words);
    for (i64 j = 0; j < codes.rows; ++j)
        if (bit_at[j] >= 0) require_room("exact_counts", "bits", bits.rows, bit_at[j] + first[j + 1] - first[j]);
    Array<u64> kept(words), any(words);
    for (i64 q = start; q < stop; ++q) {
        kept.fill(~u64(0));
        for (i64 j = 0; j < codes.rows; ++j) {
            Span<const u8> mine = asked[q].slice(first[j], first[j + 1]);
            i64 hits = 0;
            for (u8 value : mine) hits += value;
            if (hits < mine.size) keep_matching(kept, mine, hits, codes[j], bits, bit_at[j], any);
        }
        if (rows % 64) kept[words - 1] &= (u64(1) << (rows % 64)) - 1;
        i64 total = 0;
        for (u64 word : kept) total += popcount(word);
        counts[q] = total;
    }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("cell_chances", "asked, starts, codes, chances, start, stop", &cell_chances);
    kernels.add("expected_counts", "chance, order, left, right, counts, start, stop", &expected_counts);
    kernels.add("exact_counts", "asked, first, codes, bits, bit_at, counts, start, stop", &exact_counts);
}

}  // namespace shoal
