// Every loop of every level this machine runs, against the same sums written out long-hand.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "dispatch.hpp"

namespace {

using namespace separatrix;
using Real = long double;             // where it is wider, the oracle's rounding is out of sight
using Outcome = std::vector<double>;  // all a loop gives back, one number after another

constexpr double kClose = 1e-11, kCloseValue = 1e-14;
// With decay the running sum is a difference of numbers up to 1e9 (the smallest scale's
// inverse) times larger: seven digits remain for certain.
constexpr double kCloseSum = 1e-6;
constexpr double kFiller = 0.25;  // outputs that are added to start so: an assignment shows
constexpr LossId kLosses[] = {LossId::perceptron,   LossId::logistic, LossId::squared,
                              LossId::tanh_squared, LossId::hinge,    LossId::squared_hinge};
int64_t passed = 0, failed = 0;

void check(bool good, const std::string& what) {
  ++(good ? passed : failed);
  if (!good && failed <= 30) std::printf("FAILED: %s\n", what.c_str());
}

bool same(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

// The first entry that is not close, in words; empty if there is none.
std::string difference(const Outcome& got, const Outcome& wanted, double tolerance) {
  if (got.size() != wanted.size()) return "sizes differ";
  for (size_t i = 0; i < got.size(); ++i) {
    const double gap = std::abs(got[i] - wanted[i]);
    if (gap <= tolerance * (1 + std::abs(wanted[i])) || same(got[i], wanted[i])) continue;
    char text[120];
    std::snprintf(text, sizeof text, "entry %zu is %.17g, not %.17g", i, got[i], wanted[i]);
    return text;
  }
  return "";
}

void append(Outcome& outcome, const auto& more) {
  outcome.insert(outcome.end(), more.begin(), more.end());
}

std::mt19937_64 generator(1957);
int64_t below(int64_t end) { return int64_t(generator() % uint64_t(end)); }

Outcome uniforms(int64_t count, bool half_zero = false) {  // exact as floats too
  Outcome values(count);
  for (double& x : values) x = half_zero && below(2) ? 0 : double(below(1 << 24)) * 0x1p-23 - 1;
  return values;
}

// ---- rows in every layout ----------------------------------------------------------------

template <class Value, class Index>
struct Stored {
  std::vector<Value> all, data{99};  // a stray value before the first row: indptr may be a slice
  std::vector<Index> indices{0}, indptr{1};
  DenseRows<Value> dense;
  CsrRows<Value, Index> csr;

  Stored(const Outcome& x, int64_t n, int64_t d) : all(x.begin(), x.end()) {
    for (int64_t at = 0; at < n * d; ++at) {
      if (x[at] != 0) data.push_back(all[at]), indices.push_back(Index(at % d));
      if (at % d == d - 1) indptr.push_back(Index(data.size()));
    }
    indptr.resize(n + 1, 1);  // where d is 0
    dense = {all.data(), n, d};
    csr = {data.data(), indices.data(), indptr.data(), n, d};
  }
};

struct Problem {
  int64_t n, d;
  Outcome x, w, y, weight;
  Stored<float, int32_t> float_int{x, n, d};
  Stored<double, int32_t> double_int{x, n, d};
  Stored<float, int64_t> float_long{x, n, d};
  Stored<double, int64_t> double_long{x, n, d};

  Problem(int64_t rows, const Outcome& values, const Outcome& weights)
      : n(rows), d(int64_t(weights.size()) - 1), x(values), w(weights), y(n), weight(n) {
    for (double& sign : y) sign = below(2) ? 1 : -1;
    for (double& value : weight) value = 0.25 * double(below(8));  // sums of them are exact
  }
  Problem(const Problem&) = delete;  // the rows point into the problem

  Real feature(int64_t i, int64_t j) const { return j < d ? x[i * d + j] : 1; }
  Real score(int64_t i, const auto* at) const {
    Real sum = 0;
    for (int64_t j = 0; j <= d; ++j) sum += at[j] * feature(i, j);
    return sum;
  }
};

// Calls run(loops, rows) at every level and layout. Levels with fused multiply-add (on x86
// all but the baseline) must also agree with each other bit for bit.
void compare(const std::string& what, const Problem& p, const Outcome& wanted, double tolerance,
             const auto& run) {
  std::map<std::string, Outcome> fused;
  for (const Table* const* level = usable_levels(); *level; ++level) {
    const Table& table = **level;
    auto at = [&](const char* layout, const auto& loops, const auto& rows) {
      const Outcome got = run(loops, rows);
      const std::string found = difference(got, wanted, tolerance);
      const std::string where = what + ", " + table.level + ", " + layout + ": ";
      check(found.empty(), where + found);
      if (!std::strcmp(table.level, "baseline")) return;
      const Outcome& first = fused.try_emplace(layout, got).first->second;
      check(std::equal(got.begin(), got.end(), first.begin(), same), where + "other bits");
    };
    at("dense float", table.dense_float, p.float_int.dense);
    at("dense double", table.dense_double, p.double_int.dense);
    at("csr float int", table.csr_float_int, p.float_int.csr);
    at("csr double int", table.csr_double_int, p.double_int.csr);
    at("csr float long", table.csr_float_long, p.float_long.csr);
    at("csr double long", table.csr_double_long, p.double_long.csr);
  }
}

// ---- sums over rows ----------------------------------------------------------------------

struct Point {
  Real value, slope, curvature;
};

Point loss_at(LossId loss, Real m) {
  const Real miss = 1 - m, tanh = std::tanh(m), bend = 1 - tanh * tanh;
  const Real log = std::log1p(std::exp(-std::abs(m))), share = 1 / (1 + std::exp(m));
  switch (loss) {
    case LossId::perceptron: return {m > 0 ? 0 : -m, Real(m > 0 ? 0 : -1), 0};
    case LossId::logistic: return {m > 0 ? log : log - m, -share, share * (1 - share)};
    case LossId::squared: return {miss * miss, -2 * miss, 2};
    case LossId::hinge: return {m >= 1 ? 0 : miss, Real(m >= 1 ? 0 : -1), 0};
    case LossId::squared_hinge:
      return {m >= 1 ? 0 : miss * miss, m >= 1 ? 0 : -2 * miss, Real(m >= 1 ? 0 : 2)};
    case LossId::tanh_squared: break;
  }
  return {(1 - tanh) * (1 - tanh), -2 * (1 - tanh) * bend,
          2 * bend * (bend + 2 * tanh * (1 - tanh))};
}

// kFiller + sum of coefficient(i) * (row i, 1); a row whose coefficient is 0 is as if absent.
Outcome sum_of(const Problem& p, const auto& coefficient, int power = 1) {
  std::vector<Real> sum(p.d + 1, kFiller);
  for (int64_t i = 0; i < p.n; ++i) {
    const Real a = coefficient(i);
    for (int64_t j = 0; a != 0 && j <= p.d; ++j) sum[j] += a * std::pow(p.feature(i, j), power);
  }
  return Outcome(sum.begin(), sum.end());
}

void test_batch(const std::string& what, const Problem& p, LossId loss, const double* weight,
                bool (*stop)() = [] { return false; }) {
  Real loss_sum = 0, mistakes = 0;
  Outcome curvature(p.n);
  const Outcome gradient = sum_of(p, [&](int64_t i) {
    const Real a = weight ? weight[i] : 1, m = p.y[i] * p.score(i, p.w.data());
    const Point point = loss_at(loss, m);
    if (a == 0) return a;
    loss_sum += a * point.value;
    mistakes += m > 0 ? 0 : a;
    curvature[i] = double(a * point.curvature);
    return a * point.slope * p.y[i];
  });
  Outcome wanted{double(loss_sum), double(mistakes), double(loss_sum), double(mistakes)};
  append(wanted, gradient);
  append(wanted, curvature);
  compare(what + " batch", p, wanted, kClose, [&](auto& loops, auto& rows) {
    Outcome slopes(p.d + 1, kFiller), bends(p.n);
    BatchPass full{loss, p.y.data(), weight, p.w.data(), slopes.data(), bends.data(), stop, 0, 0, 0};
    BatchPass bare{loss, p.y.data(), weight, p.w.data(), nullptr, nullptr, stop, 0, 0, 0};
    loops.batch(rows, full);
    loops.batch(rows, bare);
    Outcome got{full.loss_sum, full.mistakes, bare.loss_sum, bare.mistakes};
    append(got, slopes);
    append(got, bends);
    return got;
  });
}
