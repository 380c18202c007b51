// Judge the classes of one node: which fail, and which fail at every finer node too.
//
// A class that does both is settled: no rule is computed for it again.
#include "count/histograms.hpp"
#include "judge/rules.hpp"
#include "lattice/nodes.hpp"
#include "shared/bind.hpp"

namespace shoal {
namespace {

enum Sets : i64 { FAILS = 1, INHERITS = 2 };
constexpr double ROUNDING = 1e-6;

// The frequency table that nodes are counted on. codes: (levels of all attributes, entries); weight: rows of each entry.
struct Entries {
    Table<const i32> codes;
    Span<const i64> weight;
    LatticeLayout layout;

    void check(const char* kernel) const {
        require_size(kernel, "codes", codes.rows, layout.all_levels());
        require_size(kernel, "codes' columns", codes.columns, weight.size);
    }

    using Fields = std::tuple<Table<const i32>, Span<const i64>, LatticeLayout>;
    static constexpr const char* names = "codes, weight, layout";
};

// Leaf codes of entries, to count lost rows by; codes of all attributes are numbered in one list. weight: rows of each
// entry; places: (entries, attributes that are not rolled up), its leaf codes. Of the attribute that is rolled up: deep and
// rows, leaf codes and the rows that have them, entry after entry; offsets: where each entry's start.
struct Losing {
    Span<const i64> weight;
    Table<const i32> places;
    Span<const i32> deep;
    Span<const i64> rows, offsets;

    void check(const char* kernel) const {
        require_size(kernel, "places", places.rows, weight.size);
        require_size(kernel, "rows", rows.size, deep.size);
        require_size(kernel, "offsets", offsets.size, weight.size + 1);
        require_starts(kernel, "offsets", offsets, deep.size);
    }

    using Fields = std::tuple<Span<const i64>, Table<const i32>, Span<const i32>, Span<const i64>, Span<const i64>>;
    static constexpr const char* names = "weight, places, deep, rows, offsets";
};

// By class: bad, 1 where it fails a model; inherits, 1 where it does so at every finer node; gone, rows that are lost
// there of one that does not.
struct Flags {
    Span<u8> bad, inherits;
    Span<i64> gone;

    void check(const char* kernel) const {
        require_size(kernel, "inherits", inherits.size, bad.size);
        require_size(kernel, "gone", gone.size, bad.size);
    }

    using Fields = std::tuple<Span<u8>, Span<u8>, Span<i64>>;
    static constexpr const char* names = "bad, inherits, gone";
};

// Counts of codes, and the owner of each.
struct Owned {
    Span<const i32> owner, codes;
    Span<const i64> counts;

    void check(const char* kernel) const {
        require_size(kernel, "codes", codes.size, owner.size);
        require_size(kernel, "counts", counts.size, owner.size);
    }

    using Fields = std::tuple<Span<const i32>, Span<const i32>, Span<const i64>>;
    static constexpr const char* names = "owner, codes, counts";
};

// Histograms of classes, one after the other, and each class's records of known value.
struct Histograms {
    Span<const i64> indptr;
    Span<const i32> codes;
    Span<const i64> counts, known;

    void check(const char* kernel) const {
        require_starts(kernel, "indptr", indptr, codes.size);
        require_size(kernel, "counts", counts.size, codes.size);
        require_size(kernel, "known", known.size, indptr.size - 1);
    }

    using Fields = std::tuple<Span<const i64>, Span<const i32>, Span<const i64>, Span<const i64>>;
    static constexpr const char* names = "indptr, codes, counts, known";
};

// Buffers may have more room than a node has classes.
void require_classes(const char* kernel, Span<const i64> sizes, i64 classes, const Flags& flags) {
    require_room(kernel, "sizes", sizes.size, classes);
    require_room(kernel, "bad", flags.bad.size, classes);
    require_room(kernel, "inherits", flags.inherits.size, classes);
    require_room(kernel, "gone", flags.gone.size, classes);
}

void require_buffers(const char* kernel, i64 entries, const Slots& slots, const Room& room) {
    i64 least = 16;  // as `number_classes` needs
    while (least < 2 * entries) least *= 2;
    require_room(kernel, "slots.table", slots.table.size, least);
    require_room(kernel, "slots.keys", slots.keys.size, entries);
    require_room(kernel, "room.narrow", room.narrow.size, entries);
    require_room(kernel, "room.wide", room.wide.size, entries);
    require_room(kernel, "room.class_of", room.class_of.size, entries);
    require_room(kernel, "room.sizes", room.sizes.size, entries);
    require_room(kernel, "room.first", room.first.size, entries);
}

// Begin with the classes that have too few rows: for the models, and for what finer nodes inherit.
void flag_small(
    Span<const i64> sizes, i64 classes, Span<const double> fewest, Span<u8> bad, Span<u8> inherits, Span<i64> gone
) {
    require_classes("flag_small", sizes, classes, {bad, inherits, gone});
    require_size("flag_small", "least", fewest.size, 2);
    for (i64 c = 0; c < classes; ++c) {
        bad[c] = sizes[c] < fewest[0];
        inherits[c] = sizes[c] < fewest[1];
        gone[c] = 0;
    }
}

// Suppressed rows, good classes, their squared sizes, all classes' squared sizes, rows lost for good.
//
// Rows lost within a class count only where the class itself is not lost.
void tally(
    Span<const i64> sizes, i64 classes, Span<u8> bad, Span<u8> inherits, Span<i64> gone, Span<double> out
) {
    require_classes("tally", sizes, classes, {bad, inherits, gone});
    require_size("tally", "out", out.size, 5);
    out.fill(0.0);
    for (i64 c = 0; c < classes; ++c) {
        double square = double(sizes[c]) * double(sizes[c]);
        out[3] += square;
        if (bad[c]) {
            out[0] += double(sizes[c]);
        } else {
            out[1] += 1;
            out[2] += square;
        }
        if (inherits[c]) gone[c] = 0;
        out[4] += double(inherits[c] ? sizes[c] : gone[c]);
    }
}

// Number a node's classes, judge them by their sizes and tally them; -1 when its keys do not fit into 64 bits.
i64 check_sizes(
    const Entries& entries, Span<const i64> levels, const Slots& slots, const Room& room, Span<const double> fewest,
    const Flags& flags, Span<double> out
) {
    entries.layout.require_levels("check_sizes", levels);
    require_buffers("check_sizes", entries.weight.size, slots, room);
    require_room("check_sizes", "flags.bad", flags.bad.size, entries.weight.size);
    require_size("check_sizes", "least", fewest.size, 2);
    require_size("check_sizes", "out", out.size, 5);
    i64 found = count_node(entries.codes, entries.weight, entries.layout, levels, slots, room);
    if (found >= 0) {
        flag_small(room.sizes, found, fewest, flags.bad, flags.inherits, flags.gone);
        tally(room.sizes, found, flags.bad, flags.inherits, flags.gone, out);
    }
    return found;
}

// Histogram of one class of few values out of many; `dense` is left as zeros. Returns where the next begins.
i64 gather(
    const Owned& h, Span<const i32> rows, Span<i64> dense, Span<i32> touched, Span<i32> codes, Span<i64> counts, i64 at
) {
    i64 found = 0;
    for (i32 i : rows) {
        if (dense[h.codes[i]] == 0) touched[found++] = h.codes[i];
        dense[h.codes[i]] += h.counts[i];
    }
    sort_small(touched.slice(0, found));
    for (i64 j = 0; j < found; ++j) {
        i32 code = touched[j];
        codes[at + j] = code;
        counts[at + j] = dense[code];
        dense[code] = 0;
    }
    return at + found;
}

// Compressed histograms of classes, and each class's records of known value.
//
// Made of owner, code and count, where an owner is in the class that `class_of` tells. Histograms of settled classes stay
// empty; without `bad` and `inherits` none is settled.
std::tuple<Array<i32>, Array<i64>> class_histograms(
    Span<const i32> class_of, i64 classes, const Owned& h, Span<const u8> flags, Span<const u8> bad,
    Span<const u8> inherits, Span<i64> indptr, Span<i64> known
) {
    if (bad.size) require_room("class_histograms", "bad", bad.size, classes);
    require_size("class_histograms", "inherits", inherits.size, bad.size);
    require_size("class_histograms", "indptr", indptr.size, classes + 1);
    require_size("class_histograms", "known", known.size, classes);
    const i64 card = flags.size;
    // Where the counts of each class start; those of settled classes, and of owners in class -1, share the first place.
    Array<i64> starts(classes + 1, 0);
    Span<i64> start = starts.from(1);
    i64 end = card;
    for (i64 c = 0; c < classes; ++c) {
        if (bad.size != 0 && bad[c] && inherits[c]) continue;
        start[c] = end;
        end += card;
    }
    // One entry more than there can be: absent codes are written there too, and overwritten.
    const i64 most = smaller(h.codes.size, end - card) + 1;
    Array<i32> codes(most);
    Array<i64> counts(most);
    // A dense table of all classes is faster, unless it is mostly empty.
    const bool sparse = end > 4 * h.codes.size + 1024;
    Array<i64> table(sparse ? card : end, 0), offsets(classes + 1, 0);
    Array<i32> touched(sparse ? card : 0), rows(sparse ? h.codes.size : 0);
    if (sparse) {
        for (i32 owner : h.owner)
            if (class_of[owner] >= 0) ++offsets[class_of[owner] + 1];
        for (i64 c = 0; c < classes; ++c) offsets[c + 1] += offsets[c];
        Array<i64> next(offsets.span());
        for (i64 i = 0; i < h.owner.size; ++i)
            if (class_of[h.owner[i]] >= 0) rows[next[class_of[h.owner[i]]]++] = i32(i);
    } else {
        for (i64 i = 0; i < h.codes.size; ++i) table[starts[class_of[h.owner[i]] + 1] + h.codes[i]] += h.counts[i];
    }
    i64 at = 0;
    indptr[0] = 0;
    for (i64 c = 0; c < classes; ++c) {
        known[c] = 0;
        if (start[c] > 0) {
            if (sparse) {
                at = gather(h, rows.slice(offsets[c], offsets[c + 1]), table, touched, codes, counts, at);
            } else {
                for (i64 code = 0; code < card; ++code) {
                    const i64 count = table[start[c] + code];
                    codes[at] = i32(code);
                    counts[at] = count;
                    at += count != 0;
                }
            }
            for (i64 entry = indptr[c]; entry < at; ++entry) known[c] += flags[codes[entry]] == 0 ? counts[entry] : 0;
        }
        indptr[c + 1] = at;
    }
    codes.resize(at);
    counts.resize(at);
    return {std::move(codes), std::move(counts)};
}

// The most rows of a class that can be kept if half their differences from the shares may sum up to t.
//
// n rows can when the smaller of a value's count and its share of n sum up to (1 - t) n over the values. That sum less
// (1 - t) n is concave in n and 0 at 0, so Newton's steps from above end where it is 0 again, and never below.
double most_within(Histogram h, double total, Span<const double> shares, double t) {
    double n = total, left = 1.0 - (t + ROUNDING * 1e-3);
    for (i64 step = 0; step < h.size() + 1; ++step) {
        double have = 0.0, rest = 0.0;
        for (i64 i = 0; i < h.size(); ++i) {
            double share = shares[h.codes[i]];
            // Both sums are added to, one of them nothing: processors cannot predict which.
            bool all_of_it = double(h.counts[i]) < share * n;
            have += all_of_it ? double(h.counts[i]) : 0.0;
            rest += all_of_it ? 0.0 : share;
        }
        if (have + rest * n >= left * n) break;
        n = have / (left - rest);
    }
    return n;
}

// Flag the classes that fail one rule, for the models, for what is inherited, or for both.
//
// Distances between distributions do not grow when classes are merged. So what is kept of a class at a finer node is as
// near the table as each of its parts: the rest of the class, `gone`, is lost there whatever the node.
void flag_values(
    const RuleView& view, double limit, i64 sets, i64 k, const Histograms& h, Span<u8> bad, Span<u8> inherits,
    Span<i64> gone
) {
    require_room("flag_values", "bad", bad.size, h.known.size);
    require_room("flag_values", "inherits", inherits.size, h.known.size);
    require_room("flag_values", "gone", gone.size, h.known.size);
    bool bounds = sets & FAILS && view.op == TOTAL_VARIATION && !view.mixed && !view.two;
    bool distinct = view.op == DISTINCT && !view.mixed && !view.shared;
    for (i64 c = 0; c < h.indptr.size - 1; ++c) {
        if (!(sets & FAILS && !bad[c]) && !((sets & INHERITS || bounds) && !inherits[c])) continue;
        Histogram mine = Histogram{h.codes, h.counts}.slice(h.indptr[c], h.indptr[c + 1]);
        double rows = double(h.known[c]), value;
        // `rule_value` gives the same where all values are known, but takes most of the time.
        if (bounds) value = variation(mine, rows, view.ref);
        else if (distinct) value = double(mine.size());
        else value = rule_value(view, mine, rows);
        if (std::isnan(value) || passes(value, view.sense, limit)) continue;
        if (sets & FAILS) bad[c] = 1;
        if (sets & INHERITS) inherits[c] = 1;
        if (bounds && !inherits[c]) {
            double kept = most_within(mine, rows, view.ref, limit);
            inherits[c] = kept < double(k) - ROUNDING;
            gone[c] = larger(gone[c], i64(std::ceil(rows - kept - ROUNDING)));  // `tally` clears it if the class inherits
        }
    }
}

// Rows of flagged classes by leaf code, one attribute after another; `class_of` is the class of each entry.
//
// Where more entries are flagged than not, `every` row by leaf code less those of the others. Entries are listed first,
// since processors cannot predict which are flagged.
void lost_codes(
    const Losing& losing, Span<const i32> class_of, Span<const u8> flags, Span<const double> every, Span<double> lost
) {
    require_size("lost_codes", "class_of", class_of.size, losing.weight.size);
    require_size("lost_codes", "every", every.size, lost.size);
    i64 flagged = 0, found = 0;
    for (i32 c : class_of) flagged += flags[c] != 0;
    bool wanted = 2 * flagged <= class_of.size;
    Array<i32> picked(class_of.size + 1);
    for (i64 entry = 0; entry < class_of.size; ++entry) {
        picked[found] = i32(entry);
        found += (flags[class_of[entry]] != 0) == wanted;
    }
    lost.fill(0.0);
    // All attributes of an entry at once: sums of one attribute alone would wait for each other.
    for (i64 j = 0; j < found; ++j) {
        i64 entry = picked[j];
        double rows = double(losing.weight[entry]);
        for (i32 place : losing.places[entry]) lost[place] += rows;
        for (i64 i = losing.offsets[entry]; i < losing.offsets[entry + 1]; ++i)
            lost[losing.deep[i]] += double(losing.rows[i]);
    }
    if (!wanted)
        for (i64 place = 0; place < lost.size; ++place) lost[place] = every[place] - lost[place];
}

// What the suppressed rows would cost in each attribute at each level, from rows by leaf code.
void lost_prices(Span<const double> lost, Table<const double> prices, Span<const i64> card_at, Table<double> out) {
    require_size("lost_prices", "card_at", card_at.size, out.rows + 1);
    require_size("lost_prices", "prices", prices.rows, out.columns);
    require_size("lost_prices", "lost", lost.size, prices.columns);
    require_starts("lost_prices", "card_at", card_at, lost.size);
    for (i64 a = 0; a < out.rows; ++a)
        for (i64 level = 0; level < out.columns; ++level) {
            double sum = 0.0;
            for (i64 place = card_at[a]; place < card_at[a + 1]; ++place)
                if (lost[place] != 0.0) sum += lost[place] * prices(level, place);
            out(a, level) = sum;
        }
}

void require_layout(
    const char* kernel, const LatticeLayout& layout, Span<const i64> levels, Table<const i32> codes,
    Table<const double> prices
) {
    layout.require_levels(kernel, levels);
    require_size(kernel, "codes", codes.rows, layout.all_levels());
    require_size(kernel, "prices' columns", prices.columns, layout.all_codes());
    for (i64 level : levels) require_room(kernel, "prices", prices.rows, level + 1);
}

// What the rows of bad classes would cost in each attribute at its level, less those of classes that inherit.
//
// `codes` and `first` give leaf codes of one combination of each class, which cost what all of them do there.
void price_others(
    Span<const i64> sizes, Span<const u8> bad, Span<const u8> inherits, Table<const i32> codes, Span<const i32> first,
    Span<const i64> levels, const LatticeLayout& layout, Table<const double> prices, Span<double> sums
) {
    require_room("price_others", "bad", bad.size, sizes.size);
    require_room("price_others", "inherits", inherits.size, sizes.size);
    require_room("price_others", "first", first.size, sizes.size);
    require_layout("price_others", layout, levels, codes, prices);
    require_size("price_others", "sums", sums.size, levels.size);
    sums.fill(0.0);
    for (i64 c = 0; c < sizes.size; ++c) {
        if (bad[c] == inherits[c]) continue;
        double rows = bad[c] ? double(sizes[c]) : -double(sizes[c]);
        for (i64 a = 0; a < levels.size; ++a)
            sums[a] += rows * prices(levels[a], layout.card_at[a] + codes(layout.row_at[a], first[c]));
    }
}

// Add prices of the rows lost within classes, the highest that there are in each, whichever rows they are.
//
// `codes` and `first` give the nodes of each class.
void price_gone(
    Span<const i64> gone, Table<const i32> codes, Span<const i32> first, Span<const i64> levels, const LatticeLayout& layout,
    Table<const double> prices, Table<double> out
) {
    require_room("price_gone", "first", first.size, gone.size);
    require_layout("price_gone", layout, levels, codes, prices);
    require_size("price_gone", "out", out.rows, levels.size);
    require_size("price_gone", "out's columns", out.columns, prices.rows);
    if (!gone.any()) return;
    for (i64 a = 0; a < levels.size; ++a) {
        i64 start = layout.card_at[a], stop = layout.card_at[a + 1];
        Span<const i32> nodes = codes[layout.row_at[a] + levels[a]], labels = layout.labels[levels[a]];
        Array<double> often(stop - start, 0.0), peak(stop - start);
        for (i64 c = 0; c < gone.size; ++c)
            if (gone[c]) often[nodes[first[c]]] += double(gone[c]);
        for (i64 level = 0; level <= levels[a]; ++level) {
            peak.span().fill(-INFINITY);
            for (i64 place = start; place < stop; ++place)
                peak[labels[place]] = larger(peak[labels[place]], prices(level, place));
            for (i64 label = 0; label < often.size; ++label)
                if (often[label] > 0) out(a, level) += often[label] * peak[label];
        }
    }
}

// (levels of all attributes, entries): node of each entry, from (attributes, entries) leaf codes.
void level_codes(Table<const i32> leaf, const LatticeLayout& layout, Table<i32> codes) {
    require_size("level_codes", "leaf", leaf.rows, layout.attributes());
    require_size("level_codes", "codes", codes.rows, layout.all_levels());
    require_size("level_codes", "codes' columns", codes.columns, leaf.columns);
    for (i64 a = 0; a < leaf.rows; ++a)
        for (i64 row = layout.row_at[a]; row < layout.row_at[a + 1]; ++row) {
            const i32* labels = layout.labels[row - layout.row_at[a]].data + layout.card_at[a];
            for (i64 i = 0; i < leaf.columns; ++i) codes(row, i) = labels[leaf(a, i)];
        }
}

i64 count_listed_rows(
    Table<const i32> codes, Span<const i64> rows, Span<const i64> cards, Span<const i64> weight, const Slots& slots,
    const Room& room
) {
    require_size("count_rows", "codes' columns", codes.columns, weight.size);
    require_size("count_rows", "cards", cards.size, rows.size);
    for (i64 row : rows) require_number("count_rows", "rows", row, 0, codes.rows - 1);
    for (i64 card : cards) require_number("count_rows", "cards", card, 1, NO_LIMIT);
    require_buffers("count_rows", weight.size, slots, room);
    return count_rows(codes, rows, cards, weight, slots, room);
}

i64 count_one_node(
    Table<const i32> codes, Span<const i64> weight, const LatticeLayout& layout, Span<const i64> levels, const Slots& slots,
    const Room& room
) {
    require_size("count_node", "codes' columns", codes.columns, weight.size);
    require_size("count_node", "codes", codes.rows, layout.all_levels());
    layout.require_levels("count_node", levels);
    require_buffers("count_node", weight.size, slots, room);
    return count_node(codes, weight, layout, levels, slots, room);
}

double probe_most_within(Span<const i32> codes, Span<const i64> counts, double total, Span<const double> shares, double t) {
    require_size("probe_most_within", "counts", counts.size, codes.size);
    return most_within({codes, counts}, total, shares, t);
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("count_rows", "codes, rows, cards, weight, slots, room", &count_listed_rows);
    kernels.add("count_node", "codes, weight, layout, levels, slots, room", &count_one_node);
    kernels.add("level_codes", "leaf, layout, codes", &level_codes);
    kernels.add("flag_small", "sizes, classes, least, bad, inherits, gone", &flag_small);
    kernels.add("tally", "sizes, classes, bad, inherits, gone, out", &tally);
    kernels.add("check_sizes", "entries, levels, slots, room, least, flags, out", &check_sizes);
    kernels.add(
        "class_histograms", "class_of, classes, histogram, flags, bad, inherits, indptr, known", &class_histograms);
    kernels.add("flag_values", "view, limit, sets, k, histograms, bad, inherits, gone", &flag_values);
    kernels.add("lost_codes", "losing, class_of, flags, every, lost", &lost_codes);
    kernels.add("lost_prices", "lost, prices, card_at, out", &lost_prices);
    kernels.add("price_others", "sizes, bad, inherits, codes, first, levels, layout, prices, sums", &price_others);
    kernels.add("price_gone", "gone, codes, first, levels, layout, prices, out", &price_gone);
    kernels.add("probe_most_within", "codes, counts, total, shares, t", &probe_most_within);
}

}  // namespace shoal
