// Which classes of a release each person could be in, by bit sets over classes.
#include "shared/bind.hpp"

namespace shoal {
namespace {

constexpr i64 WORD = 64;

// Runs of atoms that each cell covers, inclusive, column behind column.
struct Runs {
    Span<const i64> cell_at, run_at;
    Span<const i32> low, high;

    using Fields = std::tuple<Span<const i64>, Span<const i64>, Span<const i32>, Span<const i32>>;
    static constexpr const char* names = "cell_at, run_at, low, high";
};

void cover_bits(Table<const i32> cells, i64 first, i64 last, Runs runs, Span<const i64> atom_at, Table<u64> bits) {
    require_size("cover_bits", "runs.cell_at", runs.cell_at.size, cells.rows);
    require_size("cover_bits", "atom_at", atom_at.size, cells.rows);
    require_size("cover_bits", "runs.high", runs.high.size, runs.low.size);
    require_room("cover_bits", "runs.run_at", runs.run_at.size, 1);
    if (runs.cell_at.size) require_starts("cover_bits", "runs.cell_at", runs.cell_at, runs.run_at.size - 1);
    require_number("cover_bits", "runs.run_at", runs.run_at[runs.run_at.size - 1], 0, runs.low.size);
    if (atom_at.size) require_starts("cover_bits", "atom_at", atom_at, bits.rows);
    require_number("cover_bits", "first", first, 0, cells.columns);
    require_number("cover_bits", "last", last, first, cells.columns);
    require_room("cover_bits", "bits' columns", bits.columns, (last - first + WORD - 1) / WORD);
    bits.flat().fill(0);
    for (i64 j = 0; j < cells.rows; ++j) {
        for (i64 c = first; c < last; ++c) {
            const i64 place = c - first, word = place / WORD, cell = runs.cell_at[j] + cells(j, c);
            const u64 flag = u64(1) << (place % WORD);
            for (i64 r = runs.run_at[cell]; r < runs.run_at[cell + 1]; ++r)
                for (i64 atom = atom_at[j] + runs.low[r]; atom <= atom_at[j] + runs.high[r]; ++atom)
                    bits(atom, word) |= flag;
        }
    }
}

// Call `visit` for every class of a block that covers all atoms of a person, in order.
template <class Visit>
inline void visit_classes(Span<const i32> atoms, Span<const i64> atom_at, Table<const u64> bits, Visit visit) {
    if (atoms.size == 0) return;
    for (i64 w = 0; w < bits.columns; ++w) {
        u64 word = bits(atom_at[0] + atoms[0], w);
        for (i64 j = 1; word != 0 && j < atoms.size; ++j) word &= bits(atom_at[j] + atoms[j], w);
        for (; word != 0; word &= word - 1) visit(w * WORD + __builtin_ctzll(word));
    }
}

i64 count_matches(
    Table<const i32> people, Span<const i64> atom_at, Table<const u64> bits, i64 first, Span<const double> weight,
    Span<double> found, i64 start, i64 stop
) {
    require_size("count_matches", "atom_at", atom_at.size, people.columns);
    require_size("count_matches", "found", found.size, people.rows);
    if (atom_at.size) require_starts("count_matches", "atom_at", atom_at, bits.rows);
    require_range("count_matches", start, stop, people.rows);
    require_number("count_matches", "first", first, 0, weight.size);
    i64 total = 0;
    for (i64 p = start; p < stop; ++p) {
        visit_classes(people[p], atom_at, bits, [&](i64 place) {
            found[p] += weight[first + place];
            ++total;
        });
    }
    return total;
}

void list_matches(
    Table<const i32> people, Span<const i64> atom_at, Table<const u64> bits, i64 first, Table<i32> pairs
) {
    require_size("list_matches", "atom_at", atom_at.size, people.columns);
    require_size("list_matches", "pairs", pairs.rows, 2);
    if (atom_at.size) require_starts("list_matches", "atom_at", atom_at, bits.rows);
    require_number("list_matches", "first", first, 0, NO_LIMIT);
    i64 at = 0;
    for (i64 p = 0; p < people.rows; ++p) {
        visit_classes(people[p], atom_at, bits, [&](i64 place) {
            // `pairs` may be too short; what does not fit is counted, so that the error can say so.
            if (at < pairs.columns) pairs(0, at) = i32(p), pairs(1, at) = i32(first + place);
            ++at;
        });
    }
    require_size("list_matches", "pairs' columns", pairs.columns, at);
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("cover_bits", "cells, first, last, runs, atom_at, bits", &cover_bits);
    kernels.add("count_matches", "people, atom_at, bits, first, weight, found, start, stop", &count_matches);
    kernels.add("list_matches", "people, atom_at, bits, first, pairs", &list_matches);
}

}  // namespace shoal
