// Bounds that checks of coarser nodes prove for finer ones, for lattices whose nodes can all be listed.
#include <algorithm>
#include <cmath>

#include "shared/bind.hpp"

namespace shoal {
namespace {

// All nodes of a lattice. nodes: ids by height, those of one height ascending; offsets: where each height's begin; levels:
// (nodes, attributes) of each id; strides: the id's growth for one level of each attribute; heights: of each attribute.
struct Listed {
    Span<const i64> nodes, offsets;
    Table<const i16> levels;
    Span<const i64> strides, heights;

    using Ints = Span<const i64>;
    using Fields = std::tuple<Ints, Ints, Table<const i16>, Ints, Ints>;
    static constexpr const char* names = "nodes, offsets, levels, strides, heights";

    void check(const char* kernel) const {
        require_starts(kernel, "offsets", offsets, nodes.size);
        require_size(kernel, "levels", levels.rows, nodes.size);
        require_size(kernel, "levels' columns", levels.columns, heights.size);
        require_size(kernel, "strides", strides.size, heights.size);
    }

    void require_height(const char* kernel, i64 height) const {
        require_number(kernel, "height", height, 0, offsets.size - 2);
    }

    void require_node(const char* kernel, const char* argument, i64 node) const {
        require_number(kernel, argument, node, 0, nodes.size - 1);
    }

    // Costs need an entry for every level of every attribute.
    void require_costs(const char* kernel, const char* rows, const char* columns, Table<const double> plain) const {
        require_size(kernel, rows, plain.rows, heights.size);
        for (i64 height : heights) require_room(kernel, columns, plain.columns, height + 1);
    }
};

// Costs of nodes. plain: (attributes, levels), what each attribute adds to the cost if nothing is suppressed; checks: (checks,
// attributes, levels), the same if the rows are that a check proves lost.
struct Search {
    Table<const double> plain;
    Cube<const double> checks;

    using Fields = std::tuple<Table<const double>, Cube<const double>>;
    static constexpr const char* names = "plain, checks";

    void check(const char* kernel) const {
        require_size(kernel, "checks' rows", checks.rows, plain.rows);
        require_size(kernel, "checks' columns", checks.columns, plain.columns);
    }

    // Cost of a node if just the rows that check `w` suppressed are lost (-1: none).
    double cost(Span<const i16> levels, i64 w) const {
        double total = 0.0;
        Table<const double> by = w < 0 ? plain : checks[w];
        for (i64 a = 0; a < levels.size; ++a) total += by(a, levels[a]);
        return total;
    }
};

// By node: source, the check that bounds it best (-1: none); hopeless, 1 where no finer node can be allowed either.
struct Known {
    Span<i32> source;
    Span<u8> hopeless;

    using Fields = std::tuple<Span<i32>, Span<u8>>;
    static constexpr const char* names = "source, hopeless";
};

// Ids by height, where each height's begin, and the levels of each id.
void list_nodes(Span<const i64> heights, Span<i64> nodes, Span<i64> offsets, Table<i16> levels) {
    i64 count = 1, highest = 0;
    for (i64 height : heights) {
        require_number("list_nodes", "heights", height, 0, std::numeric_limits<i16>::max());
        count *= height + 1;
        highest += height;
    }
    require_size("list_nodes", "nodes", nodes.size, count);
    require_size("list_nodes", "offsets", offsets.size, highest + 2);
    require_size("list_nodes", "levels", levels.rows, nodes.size);
    require_size("list_nodes", "levels' columns", levels.columns, heights.size);
    Array<i16> now(heights.size, 0);
    offsets.fill(0);
    for (i64 node = 0; node < nodes.size; ++node) {
        i64 total = 0;
        for (i64 a = 0; a < heights.size; ++a) total += levels(node, a) = now[a];
        ++offsets[total + 1];
        i64 a = heights.size - 1;
        for (; a >= 0 && now[a] == heights[a]; --a) now[a] = 0;
        if (a >= 0) ++now[a];
    }
    for (i64 height = 0; height < offsets.size - 1; ++height) offsets[height + 1] += offsets[height];
    Array<i64> next(offsets);
    for (i64 node = 0; node < nodes.size; ++node) {
        i64 total = 0;
        for (i16 level : levels[node]) total += level;
        nodes[next[total]++] = node;
    }
}

// Lower bounds on the cost of all nodes of one height, from checks of coarser nodes.
//
// What a check at a coarser node suppresses for good is suppressed here too. `known.source` gets the check that bounds a
// node best and `known.hopeless` is handed down; a hopeless node's bound is infinite.
void inherit_bounds(
    i64 height, const Listed& listed, const Known& known, Span<const u8> done, const Search& search, Span<double> bounds
) {
    require_size("inherit_bounds", "known.source", known.source.size, listed.nodes.size);
    require_size("inherit_bounds", "known.hopeless", known.hopeless.size, listed.nodes.size);
    require_size("inherit_bounds", "done", done.size, listed.nodes.size);
    listed.require_height("inherit_bounds", height);
    listed.require_costs("inherit_bounds", "search.plain", "search.plain's columns", search.plain);
    require_size("inherit_bounds", "bounds", bounds.size, listed.offsets[height + 1] - listed.offsets[height]);
    for (i64 i = 0; i < bounds.size; ++i) {
        i64 node = listed.nodes[listed.offsets[height] + i];
        Span<const i16> levels = listed.levels[node];
        for (i64 a = 0; a < levels.size && !known.hopeless[node]; ++a)
            if (levels[a] < listed.heights[a] && known.hopeless[node + listed.strides[a]]) known.hopeless[node] = 1;
        if (known.hopeless[node]) {
            bounds[i] = INFINITY;
            continue;
        }
        i32 best = -1;
        double highest = search.cost(levels, -1);
        for (i64 a = 0; a < levels.size; ++a) {
            if (levels[a] >= listed.heights[a]) continue;
            i32 w = known.source[node + listed.strides[a]];
            if (w < 0 || w == best) continue;
            double value = search.cost(levels, w);
            // A bound that is not a number is no better than another.
            if (best >= 0 && !(value > highest)) continue;
            highest = larger(highest, value);
            best = w;
        }
        // A check of the node itself knows more than any above it.
        if (!done[node] || known.source[node] < 0) known.source[node] = best;
        bounds[i] = highest;
    }
}

// Cost of a node if just the rows that check `w` suppressed are lost (-1: none).
double node_cost(const Search& search, Span<const i16> levels, i64 w) {
    require_size("node_cost", "levels", levels.size, search.plain.rows);
    require_number("node_cost", "w", w, -1, search.checks.tables - 1);
    for (i64 level : levels) require_number("node_cost", "levels", level, 0, search.plain.columns - 1);
    return search.cost(levels, w);
}

// Nodes one level below in one attribute, the cheapest first, and what each costs if nothing is suppressed.
std::tuple<Array<i64>, Array<double>> children(i64 node, const Listed& listed, Table<const double> plain) {
    listed.require_node("children", "node", node);
    listed.require_costs("children", "plain", "plain's columns", plain);
    struct Child {
        i64 node;
        double cost;
    };
    Array<Child> found(listed.heights.size);
    i64 size = 0;
    for (i64 a = 0; a < listed.heights.size; ++a) {
        if (listed.levels(node, a) <= 0) continue;
        Child child{node - listed.strides[a], 0.0};
        for (i64 b = 0; b < listed.heights.size; ++b) child.cost += plain(b, listed.levels(child.node, b));
        found[size++] = child;
    }
    std::stable_sort(found.begin(), found.begin() + size, [](const Child& a, const Child& b) { return a.cost < b.cost; });
    Array<i64> below(size);
    Array<double> costs(size);
    for (i64 i = 0; i < size; ++i) {
        below[i] = found[i].node;
        costs[i] = found[i].cost;
    }
    return {std::move(below), std::move(costs)};
}

// The nodes above one along the cheapest steps, up to the first that is checked or above an allowed one.
//
// `allowed` are the levels of allowed nodes.
Array<i64> climb(i64 node, const Listed& listed, Table<const double> plain, Span<const u8> done, Table<const i16> allowed) {
    require_size("climb", "done", done.size, listed.nodes.size);
    require_size("climb", "allowed' columns", allowed.columns, listed.heights.size);
    listed.require_node("climb", "node", node);
    listed.require_costs("climb", "plain", "plain's columns", plain);
    i64 steps = 0;
    for (i64 height : listed.heights) steps += height;
    Array<i64> chain(steps);
    auto finish = [&](i64 length) {
        chain.resize(length);
        return std::move(chain);
    };
    for (i64 found = 0;; ++found) {
        i64 pick = -1;
        double cheapest = INFINITY;
        for (i64 a = 0; a < listed.heights.size; ++a) {
            i64 level = listed.levels(node, a);
            if (level >= listed.heights[a]) continue;
            double step = plain(a, level + 1) - plain(a, level);
            // A step whose cost is infinite, or not a number, is not taken.
            if (!(step < cheapest)) continue;
            cheapest = step;
            pick = a;
        }
        if (pick < 0) return finish(found);
        node += listed.strides[pick];
        if (done[node]) return finish(found);
        for (i64 i = 0; i < allowed.rows; ++i) {
            bool above = true;
            for (i64 a = 0; a < allowed.columns; ++a) above = above && allowed(i, a) <= listed.levels(node, a);
            if (above) return finish(found);
        }
        chain[found] = node;
    }
}

// Make all nodes of one height hopeless that lie below a node.
void rule_out(i64 height, i64 above, const Listed& listed, Span<u8> hopeless) {
    require_size("rule_out", "hopeless", hopeless.size, listed.nodes.size);
    listed.require_height("rule_out", height);
    listed.require_node("rule_out", "above", above);
    for (i64 place = listed.offsets[height]; place < listed.offsets[height + 1]; ++place) {
        i64 node = listed.nodes[place];
        bool below = true;
        for (i64 a = 0; a < listed.heights.size; ++a) below = below && listed.levels(node, a) <= listed.levels(above, a);
        if (below) hopeless[node] = 1;
    }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("list_nodes", "heights, nodes, offsets, levels", &list_nodes);
    kernels.add("inherit_bounds", "height, listed, known, done, search, bounds", &inherit_bounds);
    kernels.add("node_cost", "search, levels, w", &node_cost);
    kernels.add("children", "node, listed, plain", &children);
    kernels.add("climb", "node, listed, plain, done, allowed", &climb);
    kernels.add("rule_out", "height, above, listed, hopeless", &rule_out);
}

}  // namespace shoal
