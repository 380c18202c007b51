// Putting some records in other groups, and undoing it where that is no cheaper or breaks a rule.
#pragma once
#include "cluster/groups.hpp"
#include "judge/segments.hpp"

namespace shoal {

// Nothing smaller than this many ticks counts as a gain: cells of columns with many values are rounded to whole ticks.
constexpr i64 EPSILON = 1 << 8;

// See `Scene` and `Limits` in shoal.kernels.cluster.relocate for the fields; codes are (records, columns) here.
struct Scene {
    Table<const i32> codes, near;
    Span<const i32> order, zone;
    Span<u8> quiet, calm, touched;

    using Fields = std::tuple<
        Table<const i32>, Table<const i32>, Span<const i32>, Span<const i32>, Span<u8>, Span<u8>, Span<u8>>;
    static constexpr const char* names = "codes, near, order, zone, quiet, calm, touched";
};

struct PolishLimits {
    i64 k;
    double widest;
    i64 largest, pool, tries;

    using Fields = std::tuple<i64, double, i64, i64, i64>;
    static constexpr const char* names = "k, widest, largest, pool, tries";
};

// The rules, the data that they judge, and prices in which all columns weigh the same, for the limit on their mean.
struct PolishRules {
    Rules rules;
    Sensitive data;
    Prices plain;

    using Fields = std::tuple<Rules, Sensitive, Prices>;
    static constexpr const char* names = "rules, data, plain";
};

// Groups that change, and buffers for changes of any number of records.
class Relocation {
public:
    Relocation(
        const Groups& groups, const Prices& p, const Scene& scene, const Optional<PolishRules>& judged,
        const PolishLimits& limits
    )
        : groups(groups), p(p), scene(scene), limits(limits), codes(scene.codes), buffers(groups, p),
          seen(groups.size.size, -1), judged_(judged), affected_(groups.size.size), old_(groups.ids.size),
          ticks_(judged ? judged->plain.columns() : 0), values_(judged ? judged->rules.op.size : 0),
          freed_(values_.size, 0), units_(judged ? groups.ids.size : 0) {}

    // Put records in new homes; return whether the price of all fell and every rule holds, else all is as before.
    bool relocate(Span<const i64> moved, Span<const i64> homes) {
        i64 count = 0, before = 0;
        auto note = [&](i64 g) {
            if (seen[g] == NOTED) return;
            seen[g] = NOTED;
            affected_[count++] = g;
            before += groups.whole(g);
        };
        for (i64 i = 0; i < moved.size; ++i) {
            old_[i] = groups.ids[moved[i]];
            note(old_[i]);
            note(homes[i]);
        }
        const Span<const i64> affected = affected_.slice(0, count);
        bool good = move(moved, homes, affected) < before - EPSILON;
        if (judged_)
            for (i64 g : affected) good = good && is_allowed(g);
        if (!good) move(moved, old_, affected);
        for (i64 g : affected) {
            seen[g] = -1;
            if (!good) continue;
            for (i64 r = groups.head[g]; r >= 0; r = groups.after[r]) scene.touched[r] = 1;
        }
        return good;
    }

    const Groups& groups;
    const Prices& p;
    const Scene& scene;
    const PolishLimits& limits;
    const GroupCodes codes;
    MemberBuffers buffers;
    Array<i64> seen;  // a stamp a group, -1 or above

private:
    static constexpr i64 NOTED = -2;

    // Move records and price the affected groups; return the ticks of these.
    i64 move(Span<const i64> moved, Span<const i64> homes, Span<const i64> affected) {
        for (i64 r : moved) leave_group(groups, r);
        for (i64 i = 0; i < moved.size; ++i) join_group(groups, moved[i], homes[i]);
        i64 total = 0;
        for (i64 g : affected) {
            refresh(groups, g, p, codes, buffers);
            total += groups.whole(g);
        }
        return total;
    }

    // Whether a group satisfies every rule.
    bool is_allowed(i64 g) {
        if (groups.size[g] == 0) return true;
        if (limits.widest < INFINITY) {
            own_cells(judged_->plain, groups.cells, g, ticks_);
            if (mean_price(judged_->plain, ticks_) > limits.widest + TOLERANCE) return false;
        }
        i64 count = 0;
        for (i64 r = groups.head[g]; r >= 0; r = groups.after[r]) units_[count++] = scene.order[r];
        return segment_ok(units_.slice(0, count), judged_->rules, judged_->data, freed_, values_);
    }

    const Optional<PolishRules>& judged_;
    Array<i64> affected_, old_;  // groups that change; former group of each moved record
    Array<i64> ticks_;
    Array<double> values_;
    Array<u8> freed_;
    Array<i32> units_;
};

}  // namespace shoal
