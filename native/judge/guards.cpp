// Personalised anonymity: the chance that a record lies under a node that its owner guards, and lifting of released nodes.
//
// A node is a run of leaves, `first` to before `after`. Records of a class are next to each other; each has a released node
// (negative: its value is unknown and it is left out), a guarded node (negative: none) and, in `times`, the number of
// records of its owner in the class.
#include "judge/rules.hpp"
#include "shared/bind.hpp"
#include "shared/heap.hpp"

namespace shoal {
namespace {

// Distinct nodes of a hierarchy: their leaves, and the next larger node above (-1: the root).
struct Nodes {
    Span<const i64> first, after, parent;

    void check(const char* kernel) const {
        require_size(kernel, "after", after.size, first.size);
        require_size(kernel, "parent", parent.size, first.size);
    }

    i64 size() const { return first.size; }
    i64 leaves(i64 node) const { return after[node] - first[node]; }
    // Leaves by which a record's node grows when it is lifted.
    i64 lift_loss(i64 node) const { return leaves(parent[node]) - leaves(node); }

    using Fields = std::tuple<Span<const i64>, Span<const i64>, Span<const i64>>;
    static constexpr const char* names = "first, after, parent";
};

struct Records {
    Span<i64> node;
    Span<const i64> guard, times;
};

void require_records(const char* kernel, i64 classes, Span<const i64> starts, const Records& records) {
    require_size(kernel, "starts", starts.size, classes + 1);
    require_starts(kernel, "starts", starts, records.node.size);
    require_size(kernel, "guard", records.guard.size, records.node.size);
    require_size(kernel, "times", records.times.size, records.node.size);
}

// Chance that a value somewhere under `node` lies under `guard`, every leaf being as likely.
double share_under(const Nodes& nodes, i64 node, i64 guard) {
    if (nodes.first[guard] <= nodes.first[node] && nodes.after[node] <= nodes.after[guard]) return 1.0;
    if (nodes.first[node] <= nodes.first[guard] && nodes.after[guard] <= nodes.after[node])
        return double(nodes.leaves(guard)) / double(nodes.leaves(node));
    return 0.0;
}

struct Worst {
    double chance;
    i64 guard;
};

// Counts of one class: records at each node and the nodes in use; for each guard the most records of one owner, and the
// guards in use.
class Tally {
public:
    explicit Tally(const Nodes& nodes)
        : nodes(nodes), count(nodes.size(), 0), used(nodes.size()), times(nodes.size(), 0), guards(nodes.size()) {}

    void add(const Records& records, i64 low, i64 high) {
        for (i64 i = low; i < high; ++i) {
            const i64 node = records.node[i], guard = records.guard[i];
            if (node < 0) continue;
            if (count[node] == 0) used[n_used++] = node;
            ++count[node];
            if (guard < 0) continue;
            if (times[guard] == 0) guards[n_guards++] = guard;
            // More records of one owner are only likelier to contain one under the guard.
            times[guard] = larger(times[guard], records.times[i]);
        }
    }

    void clear() {
        for (i64 place = 0; place < n_used; ++place) count[used[place]] = 0;
        for (i64 place = 0; place < n_guards; ++place) times[guards[place]] = 0;
        n_used = n_guards = 0;
    }

    // Chance that one of the records that an owner with this guard has in the class lies under it.
    //
    // none[j] is the chance that none of j records drawn so far does: node after node, the j records are split between
    // those counted before and those of the node, and each split is a hypergeometric term.
    double breach(i64 guard) {
        const i64 most = times[guard];
        if (none.size < most + 1) none.resize(most + 1);
        none.fill(0.0);
        none[0] = 1.0;
        i64 size = 0;
        for (i64 place = 0; place < n_used; ++place) {
            const i64 own = count[used[place]];
            const double miss = 1.0 - share_under(nodes, used[place], guard);
            for (i64 j = smaller(most, size + own); j > 0; --j) {
                double total = 0.0;
                for (i64 mine = larger(i64(0), j - size); mine <= smaller(j, own); ++mine) {
                    double term = none[j - mine];
                    for (i64 t = 0; t < j; ++t) {
                        const i64 left = t < mine ? own - t : size - (t - mine);
                        term *= double(left) / double(size + own - t);
                    }
                    for (i64 t = 0; t < mine; ++t) term *= miss * double(j - t) / double(t + 1);
                    total += term;
                }
                none[j] = total;
            }
            size += own;
        }
        return 1.0 - none[most];
    }

    // The guard that is most likely to be breached, the first among equals, and its chance.
    Worst worst() {
        Worst found{0.0, -1};
        for (i64 place = 0; place < n_guards; ++place) {
            const double chance = breach(guards[place]);
            if (chance > found.chance + TOLERANCE || found.guard < 0) found = {chance, guards[place]};
        }
        return found;
    }

    bool is_used(i64 node) const {
        for (i64 place = 0; place < n_used; ++place)
            if (used[place] == node) return true;
        return false;
    }

    const Nodes& nodes;
    Array<i64> count, used, times, guards;
    Array<double> none;
    i64 n_used = 0, n_guards = 0;
};

void worst_breaches(
    Nodes nodes, Span<const i64> starts, Span<const i64> node, Span<const i64> guard, Span<const i64> times, Span<double> out
) {
    // Only `lift` writes nodes.
    const Records records{{const_cast<i64*>(node.data), node.size}, guard, times};
    require_records("worst_breaches", out.size, starts, records);
    Tally tally(nodes);
    for (i64 g = 0; g < out.size; ++g) {
        tally.add(records, starts[g], starts[g + 1]);
        out[g] = tally.n_used ? tally.worst().chance : NAN;
        tally.clear();
    }
}

// The node to lift a record from: largest share under the guard, then smallest loss, then earliest record.
i64 choose_node(const Nodes& nodes, const Tally& tally, i64 guard, Span<const i64> heaps, Span<const i64> room) {
    i64 best = -1;
    double most = 0.0;
    for (i64 place = 0; place < tally.n_used; ++place) {
        const i64 node = tally.used[place];
        if (tally.count[node] == 0 || nodes.parent[node] < 0) continue;
        const double share = share_under(nodes, node, guard);
        if (share <= 0.0 || share < most - TOLERANCE) continue;
        if (best >= 0 && share <= most + TOLERANCE) {
            const i64 loss = nodes.lift_loss(node) - nodes.lift_loss(best);
            if (loss > 0 || (loss == 0 && heaps[room[node]] > heaps[room[best]])) continue;
        }
        best = node;
        most = share;
    }
    return best;
}

// Lift records of one class until no breach is likelier than p; return whether that is possible.
bool lift_class(const Nodes& nodes, Tally& tally, Span<i64> node, i64 low, i64 high, double p) {
    // Each node has room for all records under it, since they may be lifted to it. The records at a node are a heap, so
    // that the earliest is lifted first.
    Array<i64> room(nodes.size() + 1, 0);
    for (i64 i = low; i < high; ++i)
        for (i64 up = node[i]; up >= 0; up = nodes.parent[up]) ++room[up + 1];
    for (i64 u = 0; u < nodes.size(); ++u) room[u + 1] += room[u];
    Array<i64> heaps(room[nodes.size()]);
    auto heap_of = [&](i64 u) { return heaps.slice(room[u], room[u + 1]); };
    for (i64 place = 0; place < tally.n_used; ++place) tally.count[tally.used[place]] = 0;
    for (i64 i = low; i < high; ++i)
        if (node[i] >= 0) heap_of(node[i])[tally.count[node[i]]++] = i;  // ascending, so a heap already
    while (true) {
        Worst worst = tally.worst();
        if (worst.chance <= p + TOLERANCE) return true;
        while (worst.chance > p + TOLERANCE) {
            const i64 u = choose_node(nodes, tally, worst.guard, heaps, room);
            if (u < 0) return false;
            const i64 record = pop_heap(heap_of(u), tally.count[u]--);
            const i64 up = nodes.parent[u];
            if (tally.count[up] == 0 && !tally.is_used(up)) tally.used[tally.n_used++] = up;
            push_heap(heap_of(up), tally.count[up]++, record);
            node[record] = up;
            worst.chance = tally.breach(worst.guard);
        }
    }
}

void lift(
    Nodes nodes, Span<const i64> starts, Span<i64> node, Span<const i64> guard, Span<const i64> times, double p,
    Span<u8> worked
) {
    const Records records{node, guard, times};
    require_records("lift_nodes", worked.size, starts, records);
    Tally tally(nodes);
    for (i64 g = 0; g < worked.size; ++g) {
        tally.add(records, starts[g], starts[g + 1]);
        worked[g] = 1;
        if (tally.n_guards && tally.worst().chance > p + TOLERANCE)
            worked[g] = lift_class(nodes, tally, node, starts[g], starts[g + 1], p);
        tally.clear();
    }
}

double probe_share(Nodes nodes, i64 node, i64 guard) {
    require_number("probe_guard_share", "node", node, 0, nodes.size() - 1);
    require_number("probe_guard_share", "guard", guard, 0, nodes.size() - 1);
    return share_under(nodes, node, guard);
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("worst_breaches", "nodes, starts, node, guard, times, out", &worst_breaches);
    kernels.add("lift_nodes", "nodes, starts, node, guard, times, p, worked", &lift);
    kernels.add("probe_guard_share", "nodes, node, guard", &probe_share);
}

}  // namespace shoal
