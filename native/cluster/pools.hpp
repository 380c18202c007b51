// Records in subspaces, and the clusters and leftovers of each subspace; shared by TOC and UPC.
#pragma once
#include "cluster/kept_cells.hpp"

namespace shoal {

// Records, subspace after subspace. See `Pool` in shoal.kernels.cluster.pools for the fields.
template <class Code>
struct Pool {
    Table<const Code> codes;
    Span<const i32> subjects, turn;

    using Fields = std::tuple<Table<const Code>, Span<const i32>, Span<const i32>>;
    static constexpr const char* names = "codes, subjects, turn";

    void check(const char* kernel, const Prices& p) const {
        require_size(kernel, "task.prices.kind", p.columns(), codes.columns);
        if (subjects.size) require_size(kernel, "task.pool.subjects", subjects.size, codes.rows);
        if (turn.size) require_size(kernel, "task.pool.turn", turn.size, codes.rows);
    }
};

// The cluster of every row, and the leftovers and the number of clusters of every subspace.
struct Found {
    Span<i32> ids, queue;
    Span<i64> clusters, left;

    using Fields = std::tuple<Span<i32>, Span<i32>, Span<i64>, Span<i64>>;
    static constexpr const char* names = "ids, queue, clusters, left";

    void check(const char* kernel, const std::string& path, i64 rows, i64 parts) const {
        require_size(kernel, (path + "found.ids").c_str(), ids.size, rows);
        require_size(kernel, (path + "found.queue").c_str(), queue.size, rows);
        require_size(kernel, (path + "found.clusters").c_str(), clusters.size, parts);
        require_size(kernel, (path + "found.left").c_str(), left.size, parts);
    }
};

// Cells of the clusters, their ticks and their numbers of rows, one slot each.
struct Made {
    KeptRecordExtents cells;
    Table<i64> now;
    Span<i32> size;

    using Fields = std::tuple<KeptRecordExtents, Table<i64>, Span<i32>>;
    static constexpr const char* names = "cells, now, size";

    void check(const char* kernel, const std::string& path, const Prices& p) const {
        require_shape(kernel, path + "made.now", now, size.size, p.columns());
        require_cells(kernel, path + "made.cells", cells, p, size.size);
    }
};

// The cluster that grows: its cells, their ticks, and their ticks with one more record.
struct Grown {
    explicit Grown(const Prices& p) : cells(p, 1), now(p.columns()), then(p.columns()) {}

    RecordExtents cells;
    Array<i64> now, then;
};

// Check the arguments of a kernel that looks at the subspaces from `first` to `last`, or to the last one there is.
// `path` is that of the results, with a dot.
template <class Task>
void require_subspaces(
    const char* kernel, const Task& task, const char* name_of_k, i64 k, const std::string& path, const Found& found,
    const Made& made, i64 first, i64 last
) {
    const i64 rows = task.pool.codes.rows, parts = task.parts();
    task.pool.check(kernel, task.prices);
    require_room(kernel, "task.starts", task.starts.size, 1);
    found.check(kernel, path, rows, parts);
    made.check(kernel, path, task.prices);
    require_number(kernel, "first", first, 0, parts);
    require_number(kernel, "last", last, first, NO_LIMIT);
    // With those next to them, which leftovers may join.
    const i64 before = larger(i64(0), first - 1), after = smaller(parts, smaller(parts, last) + 1);
    require_starts(kernel, "task.starts", task.starts.slice(before, after + 1), rows);
    require_number(kernel, name_of_k, k, 1, NO_LIMIT);
    require_size(kernel, (path + "made.size").c_str(), made.size.size, rows / k);
}

// Store a cluster that has stopped growing.
inline void keep_cluster(const Made& made, i64 slot, const Grown& e, i64 rows) {
    copy_cells(e.cells, 0, made.cells, slot);
    made.now[slot].copy(e.now);
    made.size[slot] = i32(rows);
}

// Put one more row into a stored cluster.
template <class Codes>
void take_row(const Prices& p, const Made& made, i64 slot, const Codes& codes, i64 row) {
    extend_all(p, made.cells, slot, codes, row);
    own_cells(p, made.cells, slot, made.now[slot]);
    ++made.size[slot];
}

// Codes of the rows from `lo` to `hi`, one column after another.
template <class Code>
Grid<Code> by_column(Table<const Code> codes, i64 lo, i64 hi) {
    Grid<Code> turned(codes.columns, hi - lo);
    for (i64 i = lo; i < hi; ++i)
        for (i64 a = 0; a < codes.columns; ++a) turned(a, i - lo) = codes(i, a);
    return turned;
}

// Remove the next seed from the first `count` places; the others keep their order.
inline i64 take_seed(Span<const i32> turn, i64 lo, Span<i64> rest, i64 count) {
    i64 at = 0;
    if (turn.size)
        for (i64 i = 1; i < count; ++i)
            if (turn[lo + rest[i]] < turn[lo + rest[at]]) at = i;
    const i64 seed = rest[at];
    for (i64 i = at; i < count - 1; ++i) rest[i] = rest[i + 1];
    return seed;
}

// Whether a row is about a person who has no row among the members yet.
inline bool is_new(Span<const i32> subjects, Span<const i64> members, i64 size, i64 row) {
    if (subjects.size)
        for (i64 i = 0; i < size; ++i)
            if (subjects[members[i]] == subjects[row]) return false;
    return true;
}

inline i64 sum(Span<const i64> values) {
    i64 total = 0;
    for (i64 value : values) total += value;
    return total;
}

}  // namespace shoal
