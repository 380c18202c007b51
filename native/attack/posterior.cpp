// Exact Bayes against random redrawing, without listing pairs of vectors (see posterior.py).
#include "shared/bind.hpp"

namespace shoal {
namespace {

// Weights of two candidates are sums of the same products in another order.
constexpr double TIE = 1e-12;

// How a record is redrawn: which columns it differs in, how many are drawn, and a set's weight over its product.
struct Drawing {
    Span<const u8> inside;
    i64 redraw;
    double scale;
};

// Probability that a record which differs in the columns `inside` becomes a vector with these weights: their product
// times an elementary symmetric polynomial of the other weights.
inline double reach_vector(Span<const double> weights, const Drawing& drawing, Span<double> sums) {
    double product = drawing.scale;
    i64 need = drawing.redraw;
    for (i64 j = 0; j < weights.size; ++j) {
        if (!drawing.inside[j]) continue;
        product *= weights[j];
        --need;
    }
    if (need < 0) return 0.0;
    sums[0] = 1.0;
    for (i64 k = 1; k <= need; ++k) sums[k] = 0.0;
    for (i64 j = 0; j < weights.size; ++j)
        if (!drawing.inside[j])
            for (i64 k = need; k > 0; --k) sums[k] += sums[k - 1] * weights[j];
    return product * sums[need];
}

double reach(Span<const double> weights, Span<const u8> inside, i64 redraw, double scale, Span<double> sums) {
    require_size("reach", "inside", inside.size, weights.size);
    require_size("reach", "sums", sums.size, redraw + 1);
    return reach_vector(weights, {inside, redraw, scale}, sums);
}

void reach_all(Table<const double> weights, Span<const u8> inside, i64 redraw, double scale, Span<double> found) {
    require_size("reach_all", "inside", inside.size, weights.columns);
    require_size("reach_all", "found", found.size, weights.rows);
    require_number("reach_all", "redraw", redraw, 0, weights.columns);
    Array<double> sums(redraw + 1);
    for (i64 r = 0; r < found.size; ++r) found[r] = reach_vector(weights[r], {inside, redraw, scale}, sums);
}

// Of every bucket of original vectors: records, records of its commonest vector, and vectors as common.
template <class T>
struct Summary {
    Span<T> records, most, ties;

    using Fields = std::tuple<Span<T>, Span<T>, Span<T>>;
    static constexpr const char* names = "records, most, ties";

    void require_sizes(const char* kernel) const {
        require_size(kernel, "summary.most", most.size, records.size);
        require_size(kernel, "summary.ties", ties.size, records.size);
    }
};

template <class Id>
void summarise(Span<const Id> buckets, Span<const i64> counts, Summary<i64> summary) {
    require_size("summarise", "buckets", buckets.size, counts.size);
    summary.require_sizes("summarise");
    auto [records, most, ties] = summary;
    records.fill(0);
    most.fill(0);
    ties.fill(0);
    for (i64 v = 0; v < counts.size; ++v) {
        const Id b = buckets[v];
        records[b] += counts[v];
        if (counts[v] > most[b]) {
            most[b] = counts[v];
            ties[b] = 1;
        } else if (counts[v] == most[b]) {
            ++ties[b];
        }
    }
}

template <class Id>
void weigh(
    Table<const double> weights, Span<const u8> inside, i64 redraw, double scale, Span<const Id> buckets,
    Summary<const i64> summary, Span<double> total, Span<double> top, Span<i64> tied
) {
    require_size("weigh", "inside", inside.size, weights.columns);
    require_size("weigh", "weights", weights.rows, buckets.size);
    summary.require_sizes("weigh");
    require_size("weigh", "total", total.size, buckets.size);
    require_size("weigh", "top", top.size, buckets.size);
    require_size("weigh", "tied", tied.size, buckets.size);
    require_number("weigh", "redraw", redraw, 0, weights.columns);
    i64 columns = 0;
    for (u8 flag : inside) columns += flag;
    const bool whole = columns == redraw;
    Array<double> sums(redraw + 1);
    for (i64 r = 0; r < buckets.size; ++r) {
        const Id b = buckets[r];
        if (summary.records[b] == 0) continue;
        const double chance = reach_vector(weights[r], {inside, redraw, scale}, sums);
        if (whole) total[r] += chance * double(summary.records[b]);
        const double weight = chance * double(summary.most[b]);
        if (weight > top[r] * (1.0 + TIE)) {
            top[r] = weight;
            tied[r] = summary.ties[b];
        } else if (weight >= top[r] * (1.0 - TIE)) {
            tied[r] += summary.ties[b];
        }
    }
}

template <class Id>
void own_chances(
    Table<const double> weights, Table<const i32> before, Table<const i32> after, Span<const Id> released, i64 redraw,
    double scale, Span<double> found
) {
    require_size("own_chances", "before", before.rows, weights.columns);
    require_size("own_chances", "after", after.rows, before.rows);
    require_size("own_chances", "after's columns", after.columns, before.columns);
    require_size("own_chances", "released", released.size, before.columns);
    require_size("own_chances", "found", found.size, before.columns);
    require_number("own_chances", "redraw", redraw, 0, weights.columns);
    Array<u8> inside(before.rows);
    Array<double> sums(redraw + 1);
    for (i64 i = 0; i < found.size; ++i) {
        for (i64 j = 0; j < inside.size; ++j) inside[j] = before(j, i) != after(j, i);
        found[i] = reach_vector(weights[released[i]], {inside, redraw, scale}, sums);
    }
}

template <class Id>
void spread_scores(
    Span<const Id> people, Span<i32> slot_of, Span<const Id> buckets, Span<const double> gains, Span<const Id> released,
    Span<const Id> values, Table<double> scores
) {
    require_size("spread_scores", "scores", scores.rows, people.size);
    require_size("spread_scores", "gains", gains.size, buckets.size);
    require_size("spread_scores", "values", values.size, released.size);
    i32 slots = 0;
    for (Id bucket : people)
        if (slot_of[bucket] < 0) slot_of[bucket] = slots++;
    Grid<double> said(slots, scores.columns, 0.0);
    for (i64 i = 0; i < released.size; ++i) {
        const i32 slot = slot_of[buckets[released[i]]];
        if (slot >= 0) said(slot, values[i]) += gains[released[i]];
    }
    for (i64 person = 0; person < people.size; ++person) {
        Span<double> mine = scores[person], more = said[slot_of[people[person]]];
        for (i64 value = 0; value < mine.size; ++value) mine[value] += more[value];
    }
    for (Id bucket : people) slot_of[bucket] = -1;
}

struct Guesses {
    i64 tied, right;
};

// Values with at least some score, and records with these values. Without branches, because ties cannot be predicted.
SHOAL_CLONES Guesses count_guesses(Span<const double> scores, Span<const i64> hits, double least) {
    i64 tied = 0, right = 0;
    for (i64 value = 0; value < scores.size; ++value) {
        const i64 is_best = scores[value] >= least;
        tied += is_best;
        right += hits[value] & -is_best;
    }
    return {tied, right};
}

struct Votes {
    i64 more, equal;
};

// Values with more votes than some, and with as many.
SHOAL_CLONES Votes count_votes(Span<const double> votes, double mine) {
    i64 more = 0, equal = 0;
    for (i64 value = 0; value < votes.size; ++value) {
        more += votes[value] > mine;
        equal += votes[value] == mine;
    }
    return {more, equal};
}

void guess_values(Table<const double> scores, Table<const i64> hits, Span<double> confidence, Span<double> right) {
    require_size("guess_values", "hits", hits.rows, scores.rows);
    require_size("guess_values", "hits' columns", hits.columns, scores.columns);
    require_size("guess_values", "confidence", confidence.size, scores.rows);
    require_size("guess_values", "right", right.size, scores.rows);
    for (i64 person = 0; person < scores.rows; ++person) {
        Span<const double> mine = scores[person];
        double best = 0.0, whole = 0.0;
        for (double score : mine) {
            whole += score;
            best = larger(best, score);
        }
        const Guesses guesses = count_guesses(mine, hits[person], best * (1.0 - TIE));
        right[person] = double(guesses.right) / double(guesses.tied);
        confidence[person] = whole > 0.0 ? best / whole : 0.0;
    }
}

template <class Id>
void guess_without(
    Table<const double> scores, Span<const Id> person, Span<const Id> values, double own, Span<const double> prior,
    Span<double> found
) {
    require_size("guess_without", "values", values.size, person.size);
    require_size("guess_without", "prior", prior.size, scores.columns);
    require_size("guess_without", "found", found.size, person.size);
    for (i64 i = 0; i < person.size; ++i) {
        Span<const double> votes = scores[person[i]];
        const double mine = votes[values[i]] - own;
        // Counted with the record's own votes, which are left out again.
        const Votes all = count_votes(votes, mine);
        const i64 others = all.more - (votes[values[i]] > mine), tied = all.equal - (votes[values[i]] == mine);
        if (others != 0) found[i] = 0.0;
        else found[i] = mine > 0.0 ? 1.0 / double(tied + 1) : prior[values[i]];
    }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("reach", "weights, inside, redraw, scale, sums", &reach);
    kernels.add("reach_all", "weights, inside, redraw, scale, found", &reach_all);
    kernels.add("summarise", "buckets, counts, summary", &summarise<i32>, &summarise<i64>);
    kernels.add("weigh", "weights, inside, redraw, scale, buckets, summary, total, top, tied", &weigh<i32>, &weigh<i64>);
    kernels.add(
        "own_chances", "weights, before, after, released, redraw, scale, found", &own_chances<i32>, &own_chances<i64>);
    kernels.add(
        "spread_scores", "people, slot_of, buckets, gains, released, values, scores", &spread_scores<i32>,
        &spread_scores<i64>);
    kernels.add("guess_values", "scores, hits, confidence, right", &guess_values);
    kernels.add("guess_without", "scores, person, values, own, prior, found", &guess_without<i32>, &guess_without<i64>);
}

}  // namespace shoal
