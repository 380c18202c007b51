// Values of rules for all groups of compressed histograms, and closeness tables of sensitive codes.
#include "judge/rules.hpp"

#include "judge/secrets.hpp"
#include "judge/segments.hpp"
#include "shared/bind.hpp"

namespace shoal {
namespace {

void judge_groups(
    const char* kernel, RuleView view, Span<const i64> indptr, Span<const i32> codes, Span<const i64> counts, Span<const i64> known,
    Span<double> values
) {
    require_size(kernel, "indptr", indptr.size, values.size + 1);
    require_size(kernel, "counts", counts.size, codes.size);
    require_size(kernel, "known", known.size, values.size);
    const Histogram all{codes, counts};
    for (i64 g = 0; g < values.size; ++g)
        values[g] = rule_value(view, all.slice(indptr[g], indptr[g + 1]), double(known[g]));
}

void judge_view(
    RuleView view, Span<const i64> indptr, Span<const i32> codes, Span<const i64> counts, Span<const i64> known,
    Span<double> values
) {
    judge_groups("judge_view", view, indptr, codes, counts, known, values);
}

void judge_rule(
    Rules rules, i64 r, Span<const i64> indptr, Span<const i32> codes, Span<const i64> counts, Span<const i64> known,
    Span<double> values
) {
    judge_groups("judge_rule", rule_view(rules, r), indptr, codes, counts, known, values);
}

// Compute the closeness of all pairs, for the columns that have room for it.
template <class Code>
void fill_near(SecretsOf<Code> s) {
    for (i64 a = 0; a < s.whole.rows; ++a) {
        const i64 card = s.whole(a, secret::CARD), at = s.whole(a, secret::NEAR_AT);
        if (at < 0) continue;
        for (i64 x = 0; x < card; ++x)
            for (i64 y = 0; y < card; ++y) s.near[at + x * card + y] = compute_closeness(s, a, x, y);
    }
}

void probe_values(Span<const i32> units, Judged judged, Span<double> values) { unit_values(units, judged, values); }

bool probe_ok(Span<const i32> units, Judged judged, Span<const u8> freed, Span<double> values) {
    return units_ok(units, judged, freed, values);
}

bool probe_failing(Rules rules, Span<const double> values, i64 r) { return failing(rules, values, r); }

double probe_pair_share(
    Span<const i32> codes, Span<const i64> counts, double total, i64 kind, double scale, Span<const double> ref,
    Span<const i32> tree, i64 card
) {
    return pair_share(codes, counts, total, kind, scale, ref, tree, card);
}

double probe_range_share(
    Span<const i32> codes, Span<const i64> counts, double known, bool sort, Span<const double> ref, i64 card
) {
    return range_share(codes, counts, known, sort, ref, card);
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("judge_view", "view, indptr, codes, counts, known, values", &judge_view);
    kernels.add("judge_rule", "rules, rule, indptr, codes, counts, known, values", &judge_rule);
    kernels.add("fill_near", "secrets", &fill_near<i16>, &fill_near<i32>);
    kernels.add("probe_rule_values", "units, judged, values", &probe_values);
    kernels.add("probe_rules_hold", "units, judged, freed, values", &probe_ok);
    kernels.add("probe_failing", "rules, values, rule", &probe_failing);
    kernels.add("probe_pair_share", "codes, counts, total, kind, scale, ref, tree, card", &probe_pair_share);
    kernels.add("probe_range_share", "codes, counts, known, sort, ref, card", &probe_range_share);
}

}  // namespace shoal
