// k^m-anonymity of sets of items, class by class (apriori anonymisation: Terrovitis, Mamoulis & Kalnis, VLDB 2008).
#include <algorithm>

#include "shared/bind.hpp"

namespace shoal {
namespace {

constexpr i64 SUPPRESSED = -1;
constexpr i64 UNCHANGED = -2;

// The cells of one class: cell c has the items items[starts[c]:starts[c + 1]] and stands for counts[c] records.
struct Cells {
    Span<const i64> starts, items, counts;
    i64 first, last;
};

void require_cells(
    const char* kernel, Span<const i64> groups, Span<const i64> starts, Span<const i64> items, Span<const i64> counts
) {
    require_starts(kernel, "ptr", starts, items.size);
    require_size(kernel, "counts", counts.size, starts.size - 1);
    require_starts(kernel, "groups", groups, counts.size);
}

// Write the different labels of one cell in ascending order; return how many there are.
i64 labels_of(const Cells& cells, i64 cell, Span<const i64> label, Span<i64> out) {
    i64 count = 0;
    for (i64 at = cells.starts[cell]; at < cells.starts[cell + 1]; ++at) {
        const i64 mine = label[cells.items[at]];
        if (mine < 0) continue;
        i64 place = count;
        while (place > 0 && out[place - 1] > mine) --place;
        if (place > 0 && out[place - 1] == mine) continue;
        for (i64 move = count; move > place; --move) out[move] = out[move - 1];
        out[place] = mine;
        ++count;
    }
    return count;
}

i64 choose(i64 n, i64 size) {
    i64 ways = 1;
    for (i64 i = 0; i < size; ++i) ways = floor_div(ways * (n - i), i + 1);
    return ways;
}

struct Combination {
    i64 key, records;
};

// Append every combination of `size` labels as one number; return where they end.
i64 combine(Span<const i64> labels, i64 size, i64 base, i64 records, Span<Combination> out, i64 at, Span<i64> place) {
    const i64 count = labels.size;
    if (count < size) return at;
    for (i64 i = 0; i < size; ++i) place[i] = i;
    while (true) {
        i64 key = 0;
        for (i64 i = 0; i < size; ++i) key = key * base + labels[place[i]];
        out[at++] = {key, records};
        i64 moved = size - 1;
        while (moved >= 0 && place[moved] == count - size + moved) --moved;
        if (moved < 0) return at;
        ++place[moved];
        for (i64 i = moved + 1; i < size; ++i) place[i] = place[i - 1] + 1;
    }
}

// Combinations of `size` labels in the cells of one class, ascending, and the records that share each.
Array<Combination> supports(const Cells& cells, Span<const i64> label, i64 size, i64 base) {
    i64 widest = 0, total = 0;
    for (i64 cell = cells.first; cell < cells.last; ++cell)
        widest = larger(widest, cells.starts[cell + 1] - cells.starts[cell]);
    Array<i64> labels(widest), place(size);
    for (i64 cell = cells.first; cell < cells.last; ++cell) total += choose(labels_of(cells, cell, label, labels), size);
    Array<Combination> found(total);
    i64 at = 0;
    for (i64 cell = cells.first; cell < cells.last; ++cell) {
        const i64 count = labels_of(cells, cell, label, labels);
        at = combine(labels.slice(0, count), size, base, cells.counts[cell], found, at, place);
    }
    std::sort(found.begin(), found.end(), [](const Combination& a, const Combination& b) { return a.key < b.key; });
    i64 distinct = 0;
    for (const Combination& one : found) {
        if (distinct && found[distinct - 1].key == one.key) found[distinct - 1].records += one.records;
        else found[distinct++] = one;
    }
    found.resize(distinct);
    return found;
}

void fewest_sharing(
    Span<const i64> groups, Span<const i64> starts, Span<const i64> items, Span<const i64> counts, i64 labels, i64 m,
    Span<i64> fewest
) {
    require_cells("fewest_sharing", groups, starts, items, counts);
    require_number("fewest_sharing", "labels", labels, 0, NO_LIMIT);
    require_size("fewest_sharing", "fewest", fewest.size, groups.size - 1);
    // Negative items are no labels: they get a number of their own, whose label is -1.
    Array<i64> numbered(items.size), label(labels + 1);
    for (i64 i = 0; i < items.size; ++i) numbered[i] = items[i] < 0 ? labels : items[i];
    for (i64 i = 0; i < labels; ++i) label[i] = i;
    label[labels] = -1;
    for (i64 group = 0; group < fewest.size; ++group) {
        fewest[group] = 0;
        Cells cells{starts, numbered, counts, groups[group], groups[group + 1]};
        for (i64 size = 1; size <= m; ++size)
            for (const Combination& one : supports(cells, label, size, labels + 1))
                fewest[group] = fewest[group] == 0 ? one.records : smaller(fewest[group], one.records);
    }
}

// Labels form a tree: the parent of each (-1 at the top) and the number of leaves below it; the last is the top.
struct Tree {
    Span<const i64> parent, leaves;

    bool is_under(i64 label, i64 node) const {
        while (label >= 0 && label != node) label = parent[label];
        return label == node;
    }
};

struct Raise {
    i64 from, to;
};

// Choose the label of a combination whose generalisation to its parent, or suppression, loses least.
Raise choose_raise(
    i64 key, i64 size, Span<const Combination> singles, const Tree& tree, Span<const i64> weight, Span<const i64> changed
) {
    const i64 base = tree.parent.size, pass = changed[base], whole = tree.leaves[base - 1];
    i64 least = -1;
    Raise chosen{UNCHANGED, SUPPRESSED};
    for (i64 i = 0; i < size; ++i) {
        const i64 label = floor_mod(key, base);
        key = floor_div(key, base);
        // A label of the combination has changed in this pass: it is counted anew before it changes again.
        if (changed[label] == pass) return {UNCHANGED, SUPPRESSED};
        const i64 up = tree.parent[label];
        i64 lost = weight[label] * (whole + 1 - tree.leaves[label]), node = SUPPRESSED;
        if (up >= 0) {
            i64 raised = 0;
            for (const Combination& one : singles)
                if (weight[one.key] && tree.is_under(one.key, up))
                    raised += weight[one.key] * (tree.leaves[up] - tree.leaves[one.key]);
            if (raised <= lost) lost = raised, node = up;
        }
        if (chosen.from == UNCHANGED || lost < least) least = lost, chosen = {label, node};
    }
    return chosen;
}

void anonymise_items(
    Span<const i64> groups, Span<const i64> starts, Span<const i64> items, Span<const i64> counts, Span<const i64> parent,
    Span<const i64> leaves, i64 k, i64 m, Span<i64> out
) {
    require_cells("anonymise_items", groups, starts, items, counts);
    require_size("anonymise_items", "out", out.size, items.size);
    require_size("anonymise_items", "leaves", leaves.size, parent.size);
    const Tree tree{parent, leaves};
    const i64 base = parent.size;
    Array<i64> label(base), weight(base, 0);
    for (i64 i = 0; i < base; ++i) label[i] = i;
    Array<i64> changed(base + 1, 0);  // the pass in which a label changed last; at the end, the number of this pass
    for (i64 group = 0; group < groups.size - 1; ++group) {
        const Cells cells{starts, items, counts, groups[group], groups[group + 1]};
        Array<i64> mine(items.slice(starts[cells.first], starts[cells.last]));
        std::sort(mine.begin(), mine.end());
        mine.resize(std::unique(mine.begin(), mine.end()) - mine.begin());
        for (i64 size = 1; size <= m; ++size) {
            while (true) {
                Array<Combination> combinations = supports(cells, label, size, base);
                auto is_shared = [&](const Combination& one) { return one.records >= k; };
                if (std::all_of(combinations.begin(), combinations.end(), is_shared)) break;
                Array<Combination> singles = supports(cells, label, 1, base);
                for (const Combination& one : singles) weight[one.key] = one.records;
                const i64 pass = ++changed[base];
                for (const Combination& few : combinations) {
                    if (few.records >= k) continue;
                    const Raise raise = choose_raise(few.key, size, singles, tree, weight, changed);
                    if (raise.from == UNCHANGED) continue;
                    for (i64 item : mine) {
                        const i64 now = label[item];
                        if (now < 0 || (now != raise.from && !(raise.to >= 0 && tree.is_under(now, raise.to)))) continue;
                        changed[now] = pass;
                        label[item] = raise.to;
                    }
                    if (raise.to >= 0) changed[raise.to] = pass;
                }
            }
        }
        for (i64 at = starts[cells.first]; at < starts[cells.last]; ++at) out[at] = label[items[at]];
        for (i64 item : mine) label[item] = item;
    }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("fewest_sharing", "groups, ptr, items, counts, labels, m, fewest", &fewest_sharing);
    kernels.add("anonymise_items", "groups, ptr, items, counts, parent, leaves, k, m, out", &anonymise_items);
}

}  // namespace shoal
