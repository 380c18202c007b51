// Polish: change groups a little at a time, as long as the price of all records falls and every rule keeps holding.
//
// The price may hold the range diversity of groups, columns whose spread counts in favour, or research values that rise with
// the level. Taking a record in can then make a group cheaper.
//
// Groups are dealt into zones and records change places only within one, so that zones can run side by side with the same
// result on one core as on several.
#include "cluster/regroup.hpp"
#include "cluster/relocate.hpp"
#include "shared/bind.hpp"

namespace shoal {
namespace {

// Times that a neighbourhood which nobody changed is dealt anew in vain before it is left alone.
constexpr i64 PATIENCE = 3;

// Ticks by which a cell gets cheaper at most by one more value.
i64 cell_fall(const Prices& p, i64 a) {
    i64 highest = 0, most = 0;
    // Prices in the order in which a cell that grows may have them.
    auto meet = [&](i64 price) {
        highest = larger(highest, price);
        most = larger(most, highest - price);
    };
    if (p.kind[a] == INTERVAL) meet(whole_of(p, a));
    if (p.kind[a] == TREE)
        for (i64 code = 0; code < p.card[a]; ++code) {
            highest = 0;
            for (i64 at = p.tree_at[a] + code; at < p.tree_at[a + 1]; at += p.card[a]) meet(p.steps[at]);
        }
    if (p.kind[a] == FLAT) {
        for (i64 size = 1; size <= p.card[a]; ++size) meet(p.sizes[p.size_at[a] + size]);
        if (p.missing[a] >= 0) meet(whole_of(p, a));  // of a set with a missing value
    }
    return most;
}

// Ticks by which a record of a group gets cheaper at most by one more record. A price falls where the spread of its column
// counts in favour, or where research values set by hand rise with the level.
i64 largest_fall(const Prices& p) {
    i64 total = 0;
    for (i64 a = 0; a < p.columns(); ++a) total += cell_fall(p, a);
    return total;
}

// One zone, in which records and groups are changed.
class Zone {
public:
    Zone(
        i64 z, const Groups& groups, const Prices& p, const Scene& scene, const Optional<PolishRules>& judged,
        const PolishLimits& limits
    )
        : groups_(groups), p_(p), scene_(scene), limits_(limits), z_(z), floor_(lowest_cost(p)),
          fall_(largest_fall(p)), falls_(groups.shown.columns() > 0 || fall_ > 0), moves_(groups, p, scene, judged, limits),
          around_(p, 2), now_(p.columns()), out_(p.columns()), mates_(limits.largest), near_(scene.near.columns) {}

    // Move or exchange single records.
    void improve(Span<const i64> records, Span<i64> done) {
        for (i64 t = 0; t < records.size; ++t) {
            const i64 r = records[t], g = groups_.ids[r];
            if (scene_.quiet[r] || is_cheapest(g) || groups_.size[g] > limits_.largest) continue;
            const Candidates near = candidates(r, t);
            const Place best = best_place(r, near.groups);
            const i64 pair[2] = {r, best.partner}, homes[2] = {best.target, g};
            const i64 count = best.partner < 0 ? 1 : 2;
            if (best.target >= 0 && moves_.relocate({pair, count}, {homes, count})) ++done[count - 1];
            else scene_.quiet[r] = !near.cut;
        }
    }

    // Give all members of a group to others where that is cheaper than keeping it.
    void dissolve(Span<const i64> which, Span<i64> done) {
        Array<i64> mine(2 * limits_.k), homes(2 * limits_.k);
        i64 stamp = 0;
        for (i64 g : which) {
            const i64 size = groups_.size[g];
            if (size == 0 || size > 2 * limits_.k || is_cheapest(g)) continue;
            list_members(groups_, g, mine, 0);
            const i64 saved = groups_.whole(g) - EPSILON;
            if (find_homes(mine.slice(0, size), homes, saved, stamp) < saved)
                done[2] += moves_.relocate(mine.slice(0, size), homes);
        }
    }

    // Deal the records of neighbouring groups anew where that is cheaper.
    void regroup(Span<const i64> which, Span<i64> done, u64 seed) {
        Array<i64> pool(limits_.pool), mine(limits_.pool), labels(limits_.pool), homes(limits_.pool), turn(limits_.pool);
        const Array<i64>& seen = moves_.seen;
        i64 spare = 0;
        for (i64 t = 0; t < which.size; ++t) {
            const i64 g = which[t];
            if (groups_.size[g] == 0 || groups_.size[g] > limits_.pool / 2 || is_cheapest(g)) continue;
            if (scene_.calm[groups_.head[g]] >= PATIENCE) continue;
            const Neighbourhood around = gather(g, pool, mine, t);
            const i64 end = around.records;
            // Unused numbers, should there be more groups than before: a zone has enough of them.
            for (i64 q = around.groups; q < end / limits_.k; ++q) {
                while (groups_.size[which[spare]] > 0 || seen[which[spare]] == t) spare = (spare + 1) % which.size;
                mine[q] = which[spare];
                seen[mine[q]] = t;
            }
            i64 least = around.cost - end * floor_ - EPSILON;
            bool better = false;
            // Groups that are to be suppressed may have fewer than k records, even together.
            const i64 tries = around.groups > 1 && end >= limits_.k ? limits_.tries : 0;
            for (i64 attempt = 0; attempt < tries; ++attempt) {
                shuffle(turn.slice(0, end), seed + u64(t * limits_.tries + attempt));
                const Span<const i64> records = pool.slice(0, end);
                Dealer dealer(p_, groups_.shown, moves_.codes, records, limits_.k, labels.slice(0, end));
                const i64 price = dealer.deal(turn, least);
                if (price >= least) continue;
                least = price;
                better = true;
                for (i64 i = 0; i < end; ++i) homes[i] = mine[labels[i]];
            }
            if (better && moves_.relocate(pool.slice(0, end), homes)) {
                ++done[3];
            } else {
                for (i64 r = groups_.head[g]; r >= 0; r = groups_.after[r]) ++scene_.calm[r];
            }
        }
    }

private:
    struct Candidates {
        Span<const i64> groups;
        bool cut;  // whether some neighbours lie in another zone
    };
    struct Place {
        i64 target, partner;
    };
    struct Neighbourhood {
        i64 records, groups, cost;
    };

    // Whether a group costs as little as any group could.
    bool is_cheapest(i64 g) const { return groups_.cost[g] <= floor_ + EPSILON; }

    // Other groups of the zone among a record's neighbours, in `near_`.
    Candidates candidates(i64 r, i64 stamp) {
        const i64 g = groups_.ids[r];
        i64 count = 0;
        bool cut = false;
        for (i64 j : scene_.near[r]) {
            if (j < 0) break;
            const i64 h = groups_.current_group(j);
            if (h == g) continue;
            // A record without a group is on its way to another one of its own zone, which is not this one.
            if (h < 0 || scene_.zone[h] != z_) {
                cut = true;
            } else if (moves_.seen[h] != stamp) {
                moves_.seen[h] = stamp;
                near_[count++] = h;
            }
        }
        return {near_.slice(0, count), cut};
    }

    // The member of `h` whose change of places with `r` changes the price by less than `least`, which it lowers; -1: none.
    //
    // Slot 0 of `around_` and `now_` hold the cells of r's group without r, a record of which costs `alone`; `mates_` the
    // members of that group.
    i64 best_exchange(i64 r, i64 h, i64 alone, i64& least) {
        const i64 g = groups_.ids[r], here_size = groups_.size[g], there_size = groups_.size[h];
        const Exposure& shown = groups_.shown;
        const Span<const i64> ours = mates_.slice(0, here_size);
        const Span<i64> rows = moves_.buffers.rows;
        const Span<const i64> mine = rows.slice(0, list_members(groups_, h, rows, 0));
        const i64 base = groups_.whole(g) + groups_.whole(h);
        i64 best = -1;
        for (i64 s : mine) {
            // The cells of the other group with r in place of s cost this much at least.
            const i64 there = groups_.bare[s] - exposed(shown, h, mine, s, -1) - fall_;
            // Where prices cannot fall, a look at the cells without s often shows that it need not be priced.
            if (!falls_ && here_size * alone + there_size * there - base >= least) continue;
            i64 here = here_size * cost_with(p_, around_, 0, moves_.codes, s, now_, out_);
            if (here + there_size * there - base >= least) continue;
            i64 shown_there = 0;
            if (shown.columns()) {
                const i64 bound = here_size * least_exposed(shown, g, r, s) + there_size * least_exposed(shown, h, s, r);
                if (here + there_size * there + bound - base >= least) continue;
                here += here_size * exposed(shown, g, ours, r, s);
                shown_there = exposed(shown, h, mine, s, r);
                if (here + there_size * (there + shown_there) - base >= least) continue;
            }
            const i64 cost = price_rows(p_, moves_.codes, mine, s, r, around_, 1, out_) + shown_there;
            const i64 change = here + there_size * cost - base;
            if (change < least) best = s, least = change;
        }
        return best;
    }

    // The group that a record had better join, and the member that had better come in exchange (-1: none).
    Place best_place(i64 r, Span<const i64> near) {
        const i64 g = groups_.ids[r], size = groups_.size[g];
        const i64 gain = groups_.whole(g) - (size - 1) * groups_.bare[r];
        // Where prices cannot fall, a group gains nothing by giving away a record that it has no loss from.
        const bool critical = groups_.bare[r] < groups_.cost[g] - EPSILON || falls_;
        i64 alone = 0;
        if (critical) {
            const Span<const i64> members = mates_.slice(0, list_members(groups_, g, mates_, 0));
            alone = price_rows(p_, moves_.codes, members, r, -1, around_, 0, now_);
        }
        i64 least = -EPSILON;
        Place best{-1, -1};
        for (i64 h : near) {
            if (groups_.size[h] >= limits_.largest) continue;
            if (size > limits_.k) {
                const i64 change = rise_with(h, r) - gain;
                if (change < least) best = {h, -1}, least = change;
            }
            if (critical) {
                const i64 s = best_exchange(r, h, alone, least);
                if (s >= 0) best = {h, s};
            }
        }
        return best;
    }

    // The rise of a group's price with one more record in it.
    i64 rise_with(i64 h, i64 r) {
        const i64 joined = cost_joined(groups_, h, p_, moves_.codes, r, moves_.buffers.rows, out_);
        return (groups_.size[h] + 1) * joined - groups_.whole(h);
    }

    // Find the cheapest other group for each of some records; return the rise of all prices, `saved` where a record finds none.
    i64 find_homes(Span<const i64> mine, Span<i64> homes, i64 saved, i64& stamp) {
        i64 spent = 0;
        for (i64 i = 0; i < mine.size; ++i) {
            const Candidates near = candidates(mine[i], stamp++);
            i64 least = NO_PRICE;
            for (i64 h : near.groups) {
                if (groups_.size[h] >= limits_.largest) continue;
                const i64 rise = rise_with(h, mine[i]);
                if (rise < least) least = rise, homes[i] = h;
            }
            if (least == NO_PRICE) return saved;
            spent += least;
            // Where prices cannot fall again, it is enough to know that they are above what the group costs now.
            if (spent >= saved && !falls_) break;
        }
        return spent;
    }

    // List a group and the groups of its members' nearest neighbours, as long as the pool has room.
    Neighbourhood gather(i64 g, Span<i64> pool, Span<i64> mine, i64 stamp) {
        i64 end = list_members(groups_, g, pool, 0), count = 1, cost = groups_.whole(g);
        const i64 own = end;
        const Array<i64>& seen = moves_.seen;
        seen[g] = stamp;
        mine[0] = g;
        for (i64 c = 0; c < scene_.near.columns; ++c)
            for (i64 i = 0; i < own; ++i) {
                const i64 j = scene_.near(pool[i], c);
                if (j < 0) continue;
                const i64 h = groups_.current_group(j);
                if (h < 0 || seen[h] == stamp || scene_.zone[h] != z_ || end + groups_.size[h] > pool.size) continue;
                seen[h] = stamp;
                mine[count++] = h;
                cost += groups_.whole(h);
                end = list_members(groups_, h, pool, end);
            }
        return {end, count, cost};
    }

    const Groups& groups_;
    const Prices& p_;
    const Scene& scene_;
    const PolishLimits& limits_;
    i64 z_, floor_;
    i64 fall_;    // ticks by which the cells of a group get cheaper at most by one more record
    bool falls_;  // whether a group may get cheaper by one more record
    Relocation moves_;
    RecordExtents around_;
    Array<i64> now_, out_, mates_, near_;
};

void fill_groups(const Groups& groups, Span<const i32> ids, const Prices& p, Table<const i32> codes) {
    groups.check("fill_groups", p);
    require_size("fill_groups", "ids", ids.size, groups.ids.size);
    require_shape("fill_groups", "codes", codes, ids.size, p.columns());
    for (i64 r = ids.size - 1; r >= 0; --r) {
        require_number("fill_groups", "ids", ids[r], 0, groups.size.size - 1);
        join_group(groups, r, ids[r]);
    }
    const MemberBuffers buffers(groups, p);
    for (i64 g = 0; g < groups.head.size; ++g) refresh(groups, g, p, GroupCodes(codes), buffers);
}

void fill_steps(const Exposure& e) {
    e.check("fill_steps", "exposure.", e.own.rows, e.total.rows);
    for (i64 a = 0; a < e.columns(); ++a) {
        if (!e.is_listed(a)) continue;
        const i64 card = e.card(a);
        for (i64 x = 0; x < card; ++x)
            for (i64 y = 0; y < card; ++y) e.steps[e.step_at[a] + x * card + y] = e.compute_steps(a, x, y);
    }
}

void require_scene(
    const char* kernel, const Groups& groups, const Prices& p, const Scene& scene, const Optional<PolishRules>& judged,
    const PolishLimits& limits, Span<const i64> done
) {
    const i64 n = groups.ids.size;
    groups.check(kernel, p);
    require_shape(kernel, "scene.codes", scene.codes, n, p.columns());
    require_size(kernel, "scene.near", scene.near.rows, n);
    require_size(kernel, "scene.order", scene.order.size, n);
    require_size(kernel, "scene.zone", scene.zone.size, groups.size.size);
    require_size(kernel, "scene.quiet", scene.quiet.size, n);
    require_size(kernel, "scene.calm", scene.calm.size, n);
    require_size(kernel, "scene.touched", scene.touched.size, n);
    require_size(kernel, "done", done.size, 4);
    if (judged) {
        require_size(kernel, "judged.data.codes", judged->data.codes.rows, judged->rules.card.size);
        // Its columns are the first ones of the groups' cells.
        require_room(kernel, "prices.kind", p.columns(), judged->plain.columns());
        require_room(kernel, "groups.cells.bits' columns", count_words(p), count_words(judged->plain));
    }
    require_number(kernel, "limits.k", limits.k, 1, NO_LIMIT);
}

void improve_records(
    Span<const i64> records, i64 z, const Groups& groups, const Prices& p, const Scene& scene,
    const Optional<PolishRules>& judged, const PolishLimits& limits, Span<i64> done
) {
    require_scene("improve_records", groups, p, scene, judged, limits, done);
    Zone(z, groups, p, scene, judged, limits).improve(records, done);
}

void dissolve_groups(
    Span<const i64> which, i64 z, const Groups& groups, const Prices& p, const Scene& scene,
    const Optional<PolishRules>& judged, const PolishLimits& limits, Span<i64> done
) {
    require_scene("dissolve_groups", groups, p, scene, judged, limits, done);
    Zone(z, groups, p, scene, judged, limits).dissolve(which, done);
}

void regroup_records(
    Span<const i64> which, i64 z, const Groups& groups, const Prices& p, const Scene& scene,
    const Optional<PolishRules>& judged, const PolishLimits& limits, Span<i64> done, u64 seed
) {
    require_scene("regroup_records", groups, p, scene, judged, limits, done);
    Zone(z, groups, p, scene, judged, limits).regroup(which, done, seed);
}

// Clear the flags of records in and around changed groups, which may have something to gain again.
void wake_records(Table<const i32> near, Span<const u8> touched, Span<u8> quiet, Span<u8> calm) {
    require_size("wake_records", "touched", touched.size, near.rows);
    require_size("wake_records", "quiet", quiet.size, near.rows);
    require_size("wake_records", "calm", calm.size, near.rows);
    for (i64 r = 0; r < touched.size; ++r) {
        if (!touched[r]) continue;
        quiet[r] = calm[r] = 0;
        for (i64 j : near[r]) {
            if (j < 0) break;
            quiet[j] = calm[j] = 0;
        }
    }
}

// Move records (record, group) one after another, then price every group anew.
void probe_moves(const Groups& groups, const Prices& p, Table<const i32> codes, Table<const i64> moves) {
    const MemberBuffers buffers(groups, p);
    for (i64 i = 0; i < moves.rows; ++i) {
        leave_group(groups, moves(i, 0));
        join_group(groups, moves(i, 0), moves(i, 1));
    }
    for (i64 g = 0; g < groups.size.size; ++g) refresh(groups, g, p, GroupCodes(codes), buffers);
}

i64 probe_members(const Groups& groups, i64 g, Span<i64> out) { return list_members(groups, g, out, 0); }

void probe_shuffle(Span<i64> out, u64 seed) { shuffle(out, seed); }

// Deal all records into groups of k.
i64 probe_deal(
    const Prices& p, const Exposure& e, Table<const i32> codes, Span<const i64> turn, i64 k, i64 most, Span<i64> labels
) {
    Array<i64> pool(codes.rows);
    for (i64 i = 0; i < pool.size; ++i) pool[i] = i;
    const GroupCodes records(codes);
    return Dealer(p, e, records, pool, k, labels).deal(turn, most);
}

// Ticks of a group's range diversity without one record and with another, and the lower bound of these.
std::tuple<i64, i64> probe_exposed(const Exposure& e, i64 g, Span<const i64> rows, i64 skip, i64 extra) {
    return {exposed(e, g, rows, skip, extra), least_exposed(e, g, skip, extra)};
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("fill_groups", "groups, ids, prices, codes", &fill_groups);
    kernels.add("fill_steps", "exposure", &fill_steps);
    kernels.add("improve_records", "records, zone, groups, prices, scene, judged, limits, done", &improve_records);
    kernels.add("dissolve_groups", "which, zone, groups, prices, scene, judged, limits, done", &dissolve_groups);
    kernels.add("regroup_records", "which, zone, groups, prices, scene, judged, limits, done, seed", &regroup_records);
    kernels.add("wake_records", "near, touched, quiet, calm", &wake_records);
    kernels.add("probe_moves", "groups, prices, codes, moves", &probe_moves);
    kernels.add("probe_members", "groups, group, out", &probe_members);
    kernels.add("probe_shuffle", "out, seed", &probe_shuffle);
    kernels.add("probe_deal", "prices, exposure, codes, turn, k, most, labels", &probe_deal);
    kernels.add("probe_exposed", "exposure, group, rows, skip, extra", &probe_exposed);
}

}  // namespace shoal
