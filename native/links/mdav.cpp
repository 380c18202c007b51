// MDAV: clusters of k around the records that lie furthest out (Domingo-Ferrer & Torra 2005).
//
// Records that are left stay side by side in memory, so that a scan reads only them; O(n^2 / k) distances.
#include <algorithm>

#include "shared/bind.hpp"

namespace shoal {
namespace {

// Coordinates (a, n) and categories (b, n) of records. Column b has card[b] categories; from tree_at[b] on, `tree` and
// `cost` are level by category: ancestors, and the squared distance of two categories that share that node first.
struct Records {
    Table<const double> spots;
    Table<const i32> codes;
    Span<const i32> tree;
    Span<const double> cost;
    Span<const i64> tree_at, card;

    using Fields = std::tuple<
        Table<const double>, Table<const i32>, Span<const i32>, Span<const double>, Span<const i64>, Span<const i64>>;
    static constexpr const char* names = "spots, codes, tree, cost, tree_at, card";
};

// Add squared differences of a coordinate to squared distances.
SHOAL_CLONES void add_gaps(Span<const double> mine, double middle, Span<double> far) {
    for (i64 i = 0; i < far.size; ++i) {
        const double gap = mine[i] - middle;
        far[i] += gap * gap;
    }
}

SHOAL_CLONES void add_prices(Span<const i32> codes, Span<const double> prices, Span<double> far) {
    for (i64 i = 0; i < far.size; ++i) far[i] += prices[codes[i]];
}

// The largest of squared distances, 0 if there are none.
SHOAL_CLONES double largest(Span<const double> far) {
    // Several at once, because one comparison after the other waits for the last; the result is the same.
    constexpr i64 LANES = 16;
    double most[LANES] = {};
    i64 i = 0;
    for (; i + LANES <= far.size; i += LANES)
        for (i64 lane = 0; lane < LANES; ++lane) most[lane] = larger(most[lane], far[i + lane]);
    for (; i < far.size; ++i) most[0] = larger(most[0], far[i]);
    return *std::max_element(most, most + LANES);
}

class Mdav {
public:
    Mdav(const Records& data, i64 k, Span<i32> ids)
        : data_(data), ids_(ids), size_(ids.size), rows_(size_), far_(size_, 0.0), spots_(data.spots.flat()),
          codes_(data.codes.flat()), totals_(data.spots.rows, 0.0), start_(data.card.size), spot_(data.spots.rows),
          kinds_(data.card.size), places_(k) {
        const i64 n = size_;
        for (i64 i = 0; i < n; ++i) rows_[i] = i;
        i64 categories = 0;
        for (i64 b = 0; b < data.card.size; ++b) {
            start_[b] = categories;
            categories += data.card[b];
        }
        prices_ = Array<double>(categories);
        counts_ = Array<i64>(categories, 0);
        for (i64 a = 0; a < totals_.size; ++a)
            for (double value : data.spots[a]) totals_[a] += value;
        for (i64 b = 0; b < start_.size; ++b)
            for (i32 code : data.codes[b]) ++counts_[start_[b] + code];
    }

    void run() {
        const i64 k = places_.size;
        i32 group = 0;
        while (size_ >= 2 * k) {
            const bool twice = size_ >= 3 * k;
            move_to_centroid();
            measure();
            take_around(furthest(), group++);
            if (twice) take_around(furthest(), group++);  // distances are still those from the record before
        }
        for (i64 i = 0; i < size_; ++i) ids_[rows_[i]] = group;
    }

private:
    Span<double> spots(i64 a) const { return spots_.slice(a * ids_.size, (a + 1) * ids_.size); }
    Span<i32> codes(i64 b) const { return codes_.slice(b * ids_.size, (b + 1) * ids_.size); }

    // Make the means and the commonest category of every column the point to measure from.
    void move_to_centroid() const {
        for (i64 a = 0; a < spot_.size; ++a) spot_[a] = totals_[a] / double(size_);
        for (i64 b = 0; b < kinds_.size; ++b) {
            kinds_[b] = 0;
            for (i64 code = 1; code < data_.card[b]; ++code)
                if (counts_[start_[b] + code] > counts_[start_[b] + kinds_[b]]) kinds_[b] = code;
        }
    }

    void move_to_record(i64 i) const {
        for (i64 a = 0; a < spot_.size; ++a) spot_[a] = spots(a)[i];
        for (i64 b = 0; b < kinds_.size; ++b) kinds_[b] = codes(b)[i];
    }

    // Squared distance of one category to every other of its column: the cost of the lowest node they share.
    void price_categories(i64 b) const {
        const i64 card = data_.card[b], code = kinds_[b];
        for (i64 other = 0; other < card; ++other) {
            i64 at = data_.tree_at[b];
            while (data_.tree[at + code] != data_.tree[at + other]) at += card;
            prices_[start_[b] + other] = data_.cost[at + code];
        }
    }

    // Squared distances of the records left to the point.
    void measure() const {
        for (i64 b = 0; b < kinds_.size; ++b) price_categories(b);
        // So many at a time that their distances stay in the nearest cache for all columns.
        constexpr i64 BATCH = 1024;
        for (i64 first = 0; first < size_; first += BATCH) {
            Span<double> far = far_.slice(first, smaller(first + BATCH, size_));
            far.fill(0.0);
            for (i64 a = 0; a < spot_.size; ++a) add_gaps(spots(a).from(first), spot_[a], far);
            for (i64 b = 0; b < kinds_.size; ++b) add_prices(codes(b).from(first), prices_.from(start_[b]), far);
        }
    }

    // Place of the record furthest away; among equals, of the first in the input.
    i64 furthest() const {
        const double most = largest(far_.slice(0, size_));
        i64 at = -1;
        for (i64 i = 0; i < size_; ++i)
            if (far_[i] == most && (at < 0 || rows_[i] < rows_[at])) at = i;
        return larger(at, i64(0));  // no distance is a number: any record will do
    }

    // Places of the nearest records but one, nearest first; among equals, the first in the input first.
    void find_nearest(i64 skip, Span<i64> places) const {
        if (places.size == 0) return;
        i64 count = 0;
        double worst = std::numeric_limits<double>::infinity();
        for (i64 i = 0; i < size_; ++i) {
            const double distance = far_[i];
            if (distance > worst || i == skip) continue;
            if (count == places.size) {
                const i64 last = places[count - 1];
                if (distance == far_[last] && rows_[i] > rows_[last]) continue;
                --count;
            }
            i64 at = count;
            for (; at > 0; --at) {
                const i64 before = places[at - 1];
                if (far_[before] < distance || (far_[before] == distance && rows_[before] < rows_[i])) break;
                places[at] = before;
            }
            places[at] = i;
            if (++count == places.size) worst = far_[places[count - 1]];
        }
    }

    // Move a record and its nearest out of those left into a group.
    void take_around(i64 pick, i32 group) {
        move_to_record(pick);
        measure();
        find_nearest(pick, places_.from(1));
        places_[0] = pick;
        // The last place first, so that no record moves to where another is yet to be taken from.
        std::sort(places_.begin(), places_.end(), [](i64 a, i64 b) { return a > b; });
        for (i64 i : places_) {
            const i64 last = --size_;
            ids_[rows_[i]] = group;
            rows_[i] = rows_[last];
            far_[i] = far_[last];
            for (i64 a = 0; a < totals_.size; ++a) {
                Span<double> mine = spots(a);
                totals_[a] -= mine[i];
                mine[i] = mine[last];
            }
            for (i64 b = 0; b < start_.size; ++b) {
                Span<i32> mine = codes(b);
                --counts_[start_[b] + mine[i]];
                mine[i] = mine[last];
            }
        }
    }

    Records data_;
    Span<i32> ids_;
    i64 size_;             // records left; they come first in rows_, far_, spots_ and codes_
    Array<i64> rows_;      // their places in the input
    Array<double> far_;    // their squared distances
    Array<double> spots_;
    Array<i32> codes_;
    Array<double> totals_;              // sums of their coordinates
    Array<i64> counts_, start_;         // how many have each category, and where each column's categories begin
    Array<double> spot_;                // the point to measure from
    Array<i64> kinds_;
    Array<double> prices_;
    Array<i64> places_;
};

void mdav(Records data, i64 k, Span<i32> ids) {
    if (data.spots.rows) require_size("mdav", "data.spots' columns", data.spots.columns, ids.size);
    if (data.codes.rows) require_size("mdav", "data.codes' columns", data.codes.columns, ids.size);
    require_size("mdav", "data.card", data.card.size, data.codes.rows);
    require_size("mdav", "data.tree_at", data.tree_at.size, data.card.size + 1);
    require_size("mdav", "data.cost", data.cost.size, data.tree.size);
    require_starts("mdav", "data.tree_at", data.tree_at, data.tree.size);
    for (i64 card : data.card) require_number("mdav", "data.card", card, 0, data.tree.size);
    require_number("mdav", "k", k, 1, NO_LIMIT / 3);
    Mdav(data, k, ids).run();
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("mdav", "data, k, ids", &mdav);
}

}  // namespace shoal
