// The last few records of K-Members, fewer than k: each joins the cluster that it costs least.
#pragma once
#include "cluster/protection.hpp"

namespace shoal {

// The clusters of one part. Clusters and leftovers hold entries, which are equal records.
struct MemberClusters {
    MemberClusters(const Prices& p, i64 count, i64 k, i64 left)
        : members(count, k), late(left, 2), cells(p, count + 1), now(p.columns(), count, 0), people(p.columns(), count, 0),
          near(p.columns(), count, 0), raised(2, count, 0) {}

    i64 count() const { return members.rows; }

    Grid<i64> members;  // (clusters, k)
    Grid<i64> late;     // (leftovers, 2): cluster and entry
    Extents cells;      // with one more for a record that looks for its cluster
    // By column and cluster: ticks of the cell; known values, and the closeness of all ordered pairs of them.
    Grid<i64> now, people, near;
    Grid<i64> raised;  // (2, clusters): buffer for the rise of the costs that decide and of those that break ties
};

// Closeness of a value to all members of a cluster, given its closeness to every value.
inline i64 member_closeness(const MemberClusters& cl, i64 c, i64 placed, Span<const i32> local, Span<const i64> close) {
    i64 total = 0;
    for (i64 entry : cl.members[c]) total += close[local[entry]];
    for (i64 i = 0; i < placed; ++i)
        if (cl.late(i, 0) == c) total += close[local[cl.late(i, 1)]];
    return total;
}

// Add to `raised` the rise of every cluster's cost with a value of one column; `grown` is a buffer.
inline void raise_column(
    const Prices& p, const Guide& guide, const MemberClusters& cl, Span<const i64> sizes, i64 a, i64 code, Span<i64> grown
) {
    const i64 count = sizes.size;
    clear(cl.cells, count);
    extend(p, cl.cells, count, a, code);
    grown.fill(0);
    joint_column(p, cl.cells, count, a, 0, count, grown);
    const Span<const i64> now = cl.now[a];
    const Span<i64> raised = cl.raised[guide.role[a] == ROLE_TIE ? 1 : 0];
    for (i64 c = 0; c < count; ++c) {
        if (guide.role[a] == ROLE_SPREAD) raised[c] -= grown[c] - now[c];
        else raised[c] += (sizes[c] + 1) * grown[c] - sizes[c] * now[c];
    }
}

// Add to `raised` the rise of every cluster's range diversity. `close`: the value's closeness to every value of the column,
// `local`: number of each entry's value.
inline void raise_pairs(
    const Prices& p, const MemberClusters& cl, i64 placed, i64 a, Span<const i32> local, Span<const i64> close
) {
    const i64 whole = whole_of(p, a);
    for (i64 c = 0; c < cl.count(); ++c) {
        const i64 near = cl.near(a, c), people = cl.people(a, c);
        const i64 more = whole + member_closeness(cl, c, placed, local, close);
        cl.raised(0, c) += mean_closeness(near + more, people + 1) - mean_closeness(near, people);
    }
}

// The cluster that is raised least, of equals the first.
inline i64 least_raised(const MemberClusters& cl) {
    i64 best = 0;
    for (i64 c = 1; c < cl.count(); ++c)
        if (cl.raised(0, c) < cl.raised(0, best)
            || (cl.raised(0, c) == cl.raised(0, best) && cl.raised(1, c) < cl.raised(1, best)))
            best = c;
    return best;
}

// Put a known value into a cluster.
inline void admit_value(
    const Prices& p, const Guide& guide, const MemberClusters& cl, i64 c, i64 placed, i64 a, i64 code, Span<const i32> local,
    Span<const i64> close
) {
    if (guide.role[a] == ROLE_PAIRS) {
        cl.near(a, c) += whole_of(p, a) + member_closeness(cl, c, placed, local, close);
        cl.people(a, c) += 1;
    }
    extend(p, cl.cells, c, a, code);
    cl.now(a, c) = own_cell(p, cl.cells, c, a);
}

}  // namespace shoal
