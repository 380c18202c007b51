// Moments of 1/F where F is the population class that a sample class of f people was drawn from (see inverse.py).
#include <cmath>

#include "shared/bind.hpp"

namespace shoal {
namespace {

constexpr double SMALLEST = 1e-18;
constexpr double PI = 3.141592653589793;

// E[1/F] as p times the sum of q**j B(f, j+1): positive terms, few of them for large p or large f.
double sum_series(i64 f, double p) {
    const double q = 1.0 - p;
    double term = 1.0 / double(f), total = term;
    for (i64 j = 0; term > SMALLEST * total; ++j) {
        term *= q * double(j + 1) / double(f + j + 1);
        total += term;
    }
    return p * total;
}

// Li2(1 - p) for p up to a half, from Li2(p).
double dilogarithm(double p) {
    double term = 1.0, total = 0.0;
    for (i64 j = 1; term > SMALLEST; ++j) {
        term *= p;
        total += term / double(j * j);
    }
    return PI * PI / 6.0 - std::log(1.0 - p) * std::log(p) - total;
}

// E[1/F**2] as a sum over F, for p of a half or more, where F is seldom much above f.
double sum_squares(i64 f, double p) {
    const double q = 1.0 - p, size = double(f);
    if (q <= 0.0) return 1.0 / (size * size);
    const double start = size * std::log(p) - std::lgamma(size), mean = size / p, log_q = std::log(q);
    double total = 0.0;
    for (i64 h = f;; ++h) {
        const double people = double(h), more = double(h - f);
        const double chance = std::exp(start + std::lgamma(people) - std::lgamma(more + 1.0) + more * log_q);
        total += chance / (people * people);
        if (people > mean && chance < SMALLEST) return total;
    }
}

struct Moments {
    double inverse, square;
};

// Both step by step, which is stable for p below a half: an error shrinks by p/q each time.
Moments recur(i64 f, double p) {
    const double ratio = p / (1.0 - p);
    double inverse = -ratio * std::log(p), square = ratio * dilogarithm(p);
    for (i64 i = 1; i < f; ++i) {
        square = ratio * (inverse / double(i) - square);
        inverse = ratio * (1.0 / double(i) - inverse);
    }
    return {inverse, square};
}

void inverse_moments(Span<const i64> sizes, Span<const double> shares, Span<double> inverse, Span<double> square) {
    require_size("inverse_moments", "shares", shares.size, sizes.size);
    require_size("inverse_moments", "inverse", inverse.size, sizes.size);
    require_size("inverse_moments", "square", square.size, sizes.size);
    for (i64 c = 0; c < sizes.size; ++c) {
        const i64 f = sizes[c];
        const double p = shares[c];
        if (p >= 0.5) {
            inverse[c] = sum_series(f, p);
            square[c] = sum_squares(f, p);
            continue;
        }
        const Moments found = recur(f, p);
        inverse[c] = f >= 10 ? sum_series(f, p) : found.inverse;
        square[c] = found.square;
    }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("inverse_moments", "sizes, shares, inverse, square", &inverse_moments);
}

}  // namespace shoal
