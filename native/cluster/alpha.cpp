// Clustering for complete (alpha, k)-anonymity: the smallest class joins the nearest one that it is compatible with.
#include "judge/rules.hpp"
#include "price/many.hpp"
#include "shared/bind.hpp"

namespace shoal {
namespace {

// Entries of `done`, as in shoal.kernels.cluster.alpha.
enum Step : i64 { MERGED, BEYOND, MOVED, SUPPRESSED };

// See `Records` in shoal.kernels.cluster.alpha for the fields.
struct Records {
    Table<const i32> codes;
    Span<const i32> value;
    Span<const double> cap;
    Span<const i64> known;

    using Fields = std::tuple<Table<const i32>, Span<const i32>, Span<const double>, Span<const i64>>;
    static constexpr const char* names = "codes, value, cap, known";
};

// Classes of records, one slot each and one more as a buffer. The first `count_` slots are in use.
class Classes {
public:
    Classes(const Prices& p, const Records& records, Span<i32> ids, i64 count, i64 k, Span<i64> done)
        : p_(p), records_(records), ids_(ids), count_(count), k_(k), done_(done), spare_(count), size_(count + 1, 0),
          known_(count + 1, 0), cost_(count + 1, 0), head_(count + 1, -1), tail_(count + 1, -1), link_(ids.size, -1),
          stuck_(count + 1, 0), cells_(p, count + 1), tally_(records.cap.size, 0), joint_(count + 1) {
        for (i64 i = 0; i < ids.size; ++i) append(ids[i], i);
        for (i64 g = 0; g < count; ++g) cost_[g] = own_cost(p, cells_, g);
    }

    // Merge by both rules until every class of fewer than k records is stuck.
    void settle() {
        i64 level = 1, cursor = 0, gone = 0;
        while (level < k_) {
            if (cursor >= count_) {
                ++level;
                cursor = 0;
                continue;
            }
            const i64 g = cursor++;
            if (size_[g] != level || stuck_[g]) continue;
            const i64 h = nearest(g, 2 * k_ - 1);
            if (h < 0) {
                stuck_[g] = 1;
                continue;
            }
            const i64 keep = merge(g, h, joint_[h]);
            ++done_[MERGED];
            ++gone;
            const i64 freed = unstick(keep);
            if (4 * gone > count_) {
                compact();
                gone = cursor = 0;
            }
            if (freed <= level) level = freed, cursor = 0;
        }
        compact();
    }

    // Waive rule 1 for classes that stay too small, or dissolve them, or suppress their records.
    void mend() {
        for (i64 g = smallest(); g >= 0; g = smallest()) {
            const i64 h = nearest(g, ids_.size);
            if (h >= 0) {
                const i64 keep = merge(g, h, joint_[h]);
                ++done_[BEYOND];
                unstick(keep);
            } else {
                dissolve(g);
            }
            settle();
        }
    }

    // Write the class of every record that is not suppressed; return the number of classes.
    i64 number() const {
        for (i64 g = 0; g < count_; ++g)
            for (i64 i = head_[g]; i >= 0; i = link_[i]) ids_[i] = i32(g);
        return count_;
    }

private:
    // Put a record at the end of a class; its cost is left as it was.
    void append(i64 g, i64 i) {
        if (head_[g] < 0) head_[g] = i;
        else link_[tail_[g]] = i;
        tail_[g] = i;
        link_[i] = -1;
        ++size_[g];
        known_[g] += records_.known[records_.value[i]];
        extend_all(p_, cells_, g, records_.codes, i);
    }

    template <class Visit>
    void each_value(i64 g, i64 h, Visit visit) const {
        for (i64 slot : {g, h})
            for (i64 i = head_[slot]; i >= 0; i = link_[i]) visit(records_.value[i]);
    }

    // Rule 2: no value's share of both classes is above its cap; small classes are judged as if filled up to k.
    bool compatible(i64 g, i64 h) {
        const double people = double(known_[g] + known_[h] + larger(i64(0), k_ - size_[g] - size_[h]));
        bool good = true;
        each_value(g, h, [&](i64 x) { tally_[x] += records_.known[x]; });
        each_value(g, h, [&](i64 x) {
            good = good && (tally_[x] == 0 || double(tally_[x]) / (people * records_.cap[x]) <= 1.0 + TOLERANCE);
        });
        each_value(g, h, [&](i64 x) { tally_[x] = 0; });
        return good;
    }

    // The compatible class whose merging raises the loss of a record least, of equals the first; -1 if there is none.
    //
    // Both classes may have `most` records together (rule 1). Leaves the ticks of all joint classes in `joint_`.
    i64 nearest(i64 g, i64 most) {
        joint_costs(p_, cells_, g, 0, count_, joint_);
        i64 best = -1;
        double least = INFINITY;
        for (i64 h = 0; h < count_; ++h) {
            const i64 total = size_[g] + size_[h];
            if (size_[h] == 0 || h == g || total > most) continue;
            const double raised = double(total * joint_[h] - size_[g] * cost_[g] - size_[h] * cost_[h]) / double(total);
            if (raised < least && compatible(g, h)) best = h, least = raised;
        }
        return best;
    }

    // Make one class of two, in the lower slot, and return that.
    i64 merge(i64 g, i64 h, i64 cost) {
        const i64 keep = smaller(g, h), gone = larger(g, h);
        link_[tail_[keep]] = head_[gone];
        tail_[keep] = tail_[gone];
        size_[keep] += size_[gone];
        known_[keep] += known_[gone];
        cost_[keep] = cost;
        stuck_[keep] = 0;
        join(cells_, keep, gone);
        empty(gone);
        return keep;
    }

    void empty(i64 g) {
        size_[g] = known_[g] = 0;
        head_[g] = tail_[g] = -1;
    }

    // Free classes that a changed one is compatible with; return the size of the smallest of them, or k.
    i64 unstick(i64 changed) {
        i64 least = k_;
        for (i64 g = 0; g < count_; ++g) {
            if (!stuck_[g] || size_[g] == 0 || g == changed || size_[g] + size_[changed] > 2 * k_ - 1) continue;
            if (!compatible(g, changed)) continue;
            stuck_[g] = 0;
            least = smaller(least, size_[g]);
        }
        return least;
    }

    // Move the classes that are left together, in their order.
    void compact() {
        i64 alive = 0;
        for (i64 g = 0; g < count_; ++g) {
            if (size_[g] == 0) continue;
            if (alive != g) {
                size_[alive] = size_[g], known_[alive] = known_[g];
                cost_[alive] = cost_[g], stuck_[alive] = stuck_[g];
                head_[alive] = head_[g], tail_[alive] = tail_[g];
                copy_cells(cells_, g, cells_, alive);
            }
            ++alive;
        }
        for (i64 g = alive; g < count_; ++g) empty(g);
        count_ = alive;
    }

    // Move each record of a class to where it costs least and rule 2 holds; suppress those with no such class.
    void dissolve(i64 g) {
        i64 i = head_[g];
        empty(g);
        while (i >= 0) {
            const i64 after = link_[i];
            empty(spare_);
            clear(cells_, spare_);
            append(spare_, i);
            cost_[spare_] = own_cost(p_, cells_, spare_);
            const i64 h = nearest(spare_, ids_.size);
            if (h < 0) {
                ids_[i] = -1;
                ++done_[SUPPRESSED];
            } else {
                merge(spare_, h, joint_[h]);
                ++done_[MOVED];
                unstick(h);
            }
            i = after;
        }
        empty(spare_);
    }

    // The first of the smallest classes of fewer than k records; -1 if there is none.
    i64 smallest() const {
        i64 best = -1;
        for (i64 g = 0; g < count_; ++g)
            if (0 < size_[g] && size_[g] < k_ && (best < 0 || size_[g] < size_[best])) best = g;
        return best;
    }

    const Prices& p_;
    const Records& records_;
    Span<i32> ids_;
    i64 count_, k_;
    Span<i64> done_;
    i64 spare_;  // the slot that is a buffer
    // Of each class: records, those with a known value, ticks of a record, and the ends of its list.
    Array<i64> size_, known_, cost_, head_, tail_;
    Array<i64> link_;  // by record, the next one of its class
    Array<u8> stuck_;  // 1 while nothing is compatible
    Extents cells_;
    Array<i64> tally_, joint_;  // buffers, by code and by class
};

// Merge `count` classes, numbered by their first records; return the number of classes that are left.
i64 cluster_classes(const Prices& p, const Records& records, Span<i32> ids, i64 count, i64 k, bool mend, Span<i64> done) {
    require_size("cluster_classes", "ids", ids.size, records.codes.columns);
    require_size("cluster_classes", "records.value", records.value.size, records.codes.columns);
    require_size("cluster_classes", "records.known", records.known.size, records.cap.size);
    require_size("cluster_classes", "done", done.size, 4);
    require_size("cluster_classes", "prices.kind", p.columns(), records.codes.rows);
    require_number("cluster_classes", "count", count, 0, ids.size);
    Classes classes(p, records, ids, count, k, done);
    classes.settle();
    if (mend) classes.mend();
    return classes.number();
}

}  // namespace

SHOAL_KERNELS { kernels.add("cluster_classes", "prices, records, ids, count, k, mend, done", &cluster_classes); }

}  // namespace shoal
