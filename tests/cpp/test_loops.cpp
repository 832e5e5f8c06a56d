// Every loop of every level this machine runs, against the same loop written out long-hand.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dispatch.hpp"

namespace {

using namespace separatrix;
using Real = long double;             // where it is wider, the oracle's rounding is out of sight
using Numbers = std::vector<double>;

struct Tolerance {
  double absolute, relative;
};
constexpr Tolerance kClose{1e-11, 1e-11}, kCloseValue{0, 1e-14}, kEqual{0, 0};
// With decay the running sum is a difference of numbers up to 1e9 (the smallest scale's
// inverse) times larger: seven digits remain for certain.
constexpr Tolerance kCloseSum{1e-6, 1e-6};
constexpr double kFiller = 0.25;  // outputs that are added to start so: an assignment shows
int64_t passed = 0, failed = 0;

void check(bool good, const std::string& what) {
  ++(good ? passed : failed);
  if (!good && failed <= 30) std::printf("FAILED: %s\n", what.c_str());
}

bool same(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

// The first entry that is not close, in words; empty if there is none.
std::string difference(const Numbers& got, const Numbers& wanted, Tolerance close) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double gap = std::abs(got[i] - wanted[i]);
    if (gap <= close.absolute + close.relative * std::abs(wanted[i])) continue;
    if (same(got[i], wanted[i])) continue;
    char text[120];
    std::snprintf(text, sizeof text, "entry %zu is %.17g, not %.17g", i, got[i], wanted[i]);
    return text;
  }
  return "";
}

Numbers join(Numbers all, const auto&... more) {
  (all.insert(all.end(), more.begin(), more.end()), ...);
  return all;
}

std::mt19937_64 generator(1957);
int64_t below(int64_t end) { return int64_t(generator() % uint64_t(end)); }

Numbers uniforms(int64_t count, bool half_zero = false) {  // exact as floats too
  Numbers values(count);
  for (double& x : values) x = half_zero && below(2) ? 0 : double(below(1 << 24)) * 0x1p-23 - 1;
  return values;
}

bool never() { return false; }

// ---- rows in every layout ----------------------------------------------------------------

template <class Value, class Index>
struct Stored {
  std::vector<Value> all, data{99};  // a stray value before the first row: indptr may be a slice
  std::vector<Index> indices{0}, indptr{1};
  DenseRows<Value> dense;
  CsrRows<Value, Index> csr;

  Stored(const Numbers& x, int64_t n, int64_t d) : all(x.begin(), x.end()) {
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
  Numbers x, w, y, weight;
  Stored<float, int32_t> float_int{x, n, d};
  Stored<double, int32_t> double_int{x, n, d};
  Stored<float, int64_t> float_long{x, n, d};
  Stored<double, int64_t> double_long{x, n, d};

  Problem(int64_t rows, const Numbers& values, const Numbers& weights)
      : n(rows), d(int64_t(weights.size()) - 1), x(values), w(weights), y(n), weight(n) {
    for (double& sign : y) sign = below(2) ? 1 : -1;
    for (double& value : weight) value = 0.25 * double(below(8));  // sums of them are exact
  }
  Problem(const Problem&) = delete;  // the rows point into the problem
  std::string name() const { return "n=" + std::to_string(n) + " d=" + std::to_string(d); }
  Real feature(int64_t i, int64_t j) const { return j < d ? x[i * d + j] : 1; }
};

// ---- the loops by hand -------------------------------------------------------------------

struct Point {
  Real value, slope, curvature;
};

Point loss_at(LossId loss, Real m) {
  const Real miss = 1 - m, tanh = std::tanh(m), bend = 1 - tanh * tanh;
  const Real log = std::log1p(std::exp(-std::abs(m))), share = 1 / (1 + std::exp(m));
  switch (loss) {
    case LossId::perceptron: return {m > 0 ? 0 : -m, Real(m > 0 ? 0 : -1), 0};
    case LossId::logistic: return {m > 0 ? log : log - m, -share, share / (1 + std::exp(-m))};
    case LossId::squared: return {miss * miss, -2 * miss, 2};
    case LossId::hinge: return {m >= 1 ? 0 : miss, Real(m >= 1 ? 0 : -1), 0};
    case LossId::squared_hinge:
      return {m >= 1 ? 0 : miss * miss, m >= 1 ? 0 : -2 * miss, Real(m >= 1 ? 0 : 2)};
    case LossId::tanh_squared: break;
  }
  return {(1 - tanh) * (1 - tanh), -2 * (1 - tanh) * bend,
          2 * bend * (bend + 2 * tanh * (1 - tanh))};
}

Real score(const Problem& p, int64_t i, const double* w) {
  Real sum = 0;
  for (int64_t j = 0; j <= p.d; ++j) sum += w[j] * p.feature(i, j);
  return sum;
}

// out += a * (row i, 1); a row whose a is 0 is as if absent.
void add_row(const Problem& p, int64_t i, Real a, double* out) {
  for (int64_t j = 0; a != 0 && j <= p.d; ++j) out[j] += double(a * p.feature(i, j));
}

void online_by_hand(const Problem& p, OnlinePass& pass) {
  double* const w = pass.v;
  const double scale = std::exchange(*pass.scale, 1);
  for (int64_t j = 0; j < p.d; ++j) w[j] *= scale;
  for (int64_t t = 0; pass.position < pass.count && pass.updates < pass.max_updates; ++t) {
    const Real step = pass.steps[pass.constant_step ? 0 : t];
    const int64_t end = std::min(pass.position + pass.batch, pass.count);
    const Real share = step * pass.weight_scale / Real(end - pass.position);
    Numbers change(p.d + 1);
    for (; pass.position < end; ++pass.position) {
      const int64_t i = pass.order ? pass.order[pass.position] : pass.position;
      const Real weight = pass.weight ? pass.weight[i] : 1, m = p.y[i] * score(p, i, w);
      const Point point = loss_at(pass.loss, m);
      pass.loss_sum += double(weight * point.value);
      pass.mistakes += double(m > 0 ? 0 : weight);
      if (weight * point.slope == 0) continue;
      add_row(p, i, -share * weight * point.slope * p.y[i], change.data());
      if (pass.log) pass.log[pass.updates] = i;
      ++pass.updates;
    }
    if (!pass.intercept) change[p.d] = 0;
    for (int64_t j = 0; j < p.d; ++j) w[j] *= double(std::max<Real>(0, 1 - 2 * step * pass.l2));
    for (int64_t j = 0; j <= p.d; ++j) w[j] += change[j];
    for (int64_t j = 0; pass.sum && j <= p.d; ++j) pass.sum[j] += w[j];
  }
}

void batch_by_hand(const Problem& p, BatchPass& pass) {
  for (int64_t i = 0; i < p.n; ++i) {
    const Real weight = pass.weight ? pass.weight[i] : 1, m = p.y[i] * score(p, i, pass.w);
    const Point point = weight == 0 ? Point{} : loss_at(pass.loss, m);
    pass.loss_sum += double(weight * point.value);
    pass.mistakes += double(m > 0 ? 0 : weight);
    if (pass.gradient) add_row(p, i, weight * point.slope * p.y[i], pass.gradient);
    if (pass.curvature) pass.curvature[i] = double(weight * point.curvature);
  }
}

bool scores_by_hand(const Problem& p, const double* w, int64_t k, double* out, ShouldStop) {
  for (int64_t at = 0; at < p.n * k; ++at)
    out[at] = double(score(p, at / k, w + at % k * (p.d + 1)));
  return true;
}

bool combine_by_hand(const Problem& p, const double* a, int64_t k, double* out, ShouldStop) {
  for (int64_t at = 0; at < p.n * k; ++at) add_row(p, at / k, a[at], out + at % k * (p.d + 1));
  return true;
}

bool product_by_hand(const Problem& p, const double* a, const double* v, double* out, ShouldStop) {
  for (int64_t i = 0; i < p.n; ++i) add_row(p, i, a[i] * score(p, i, v), out);
  return true;
}

bool moments_by_hand(const Problem& p, const double* a, double* sum, double* squares, ShouldStop) {
  for (int64_t at = 0; at < p.n * p.d; ++at) {
    const double weight = a ? a[at / p.d] : 1, x = weight == 0 ? 0 : p.x[at];
    sum[at % p.d] += weight * x;
    squares[at % p.d] += weight * x * x;
  }
  return true;
}

constexpr LoopsFor<Problem> kByHand{online_by_hand,  batch_by_hand,   scores_by_hand,
                                    combine_by_hand, product_by_hand, moments_by_hand};

// ---- comparing ---------------------------------------------------------------------------

// run(loops, rows) must give nearly the same by hand and at every level and layout. Levels
// with fused multiply-add (on x86 all but the baseline) must agree with each other to the bit.
void compare(const std::string& what, const Problem& p, Tolerance close, const auto& run) {
  const Numbers wanted = run(kByHand, p);
  std::map<std::string, Numbers> fused;
  for (const Table* const* level = usable_levels(); *level; ++level) {
    const Table& table = **level;
    auto at = [&](const char* layout, const auto& loops, const auto& rows) {
      const Numbers got = run(loops, rows);
      const std::string found = difference(got, wanted, close);
      const std::string where = what + ", " + p.name() + ", " + table.level + " " + layout + ": ";
      check(found.empty(), where + found);
      if (!std::strcmp(table.level, "baseline")) return;
      const Numbers& first = fused.try_emplace(layout, got).first->second;
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

void test_batch(const Problem& p, int loss, const double* weight, Tolerance close = kClose) {
  compare("batch, loss " + std::to_string(loss), p, close, [&](auto& loops, auto& rows) {
    Numbers slopes(p.d + 1, kFiller), bends(p.n);
    BatchPass full{LossId(loss), p.y.data(), weight, p.w.data(), slopes.data(), bends.data(),
                   never, 0, 0, false};
    BatchPass bare = full;  // only the sums
    bare.gradient = bare.curvature = nullptr;
    loops.batch(rows, full);
    loops.batch(rows, bare);
    return join({full.loss_sum, full.mistakes, bare.loss_sum, bare.mistakes}, slopes, bends);
  });
}

void test_products(const Problem& p, int64_t k, const double* weight) {
  const Numbers w = uniforms(k * (p.d + 1)), a = uniforms(p.n * k, true);
  compare("scores, combine, hessian_product, moments", p, kClose, [&](auto& loops, auto& rows) {
    Numbers scores(p.n * k), sums(k * (p.d + 1), kFiller), product(p.d + 1, kFiller);
    Numbers sum(p.d, kFiller), squares(p.d, kFiller);
    check(loops.scores(rows, w.data(), k, scores.data(), never), "scores stopped");
    check(loops.combine(rows, a.data(), k, sums.data(), never), "combine stopped");
    loops.hessian_product(rows, p.weight.data(), p.w.data(), product.data(), never);
    loops.moments(rows, weight, sum.data(), squares.data(), never);
    return join(scores, sums, product, sum, squares);
  });
}

// `decay` is 2 * step * l2; the bits of `code` turn the other options on and off.
void test_online(const Problem& p, int loss, int64_t batch, double decay, int64_t code,
                 Tolerance close) {
  auto flag = [&](int bit) { return bool(code >> bit & 1); };
  // Small enough for the squared loss to descend; a power of two, so that sums may be exact.
  const double step = std::exp2(-std::ceil(std::log2(double(p.d + 4))));
  const int64_t count = flag(0) ? 2 * p.n : p.n;
  std::vector<int64_t> order(count);
  Numbers steps(count + 1, step);
  for (int64_t i = 0; i < count; ++i) order[i] = i % p.n, steps[i] /= double(1 + i % 2);
  std::shuffle(order.begin(), order.end(), generator);
  const std::string what = "online, loss " + std::to_string(loss) + " batch " + std::to_string(batch) +
                           " decay " + std::to_string(decay) + " code " + std::to_string(code);
  compare(what, p, close, [&](auto& loops, auto& rows) {
    Numbers v = p.w, sum(p.d + 1, kFiller), lag(p.d + 1);
    std::vector<int64_t> log(count);
    double scale = 0.5, area = 0;  // half of the weights' size is in the scale from the start
    for (int64_t j = 0; j < p.d; ++j) v[j] *= 2;
    OnlinePass pass{LossId(loss), p.y.data(), flag(1) ? p.weight.data() : nullptr,
                    flag(1) ? 0.5 : 1.0, flag(0) ? order.data() : nullptr, count, steps.data(),
                    flag(2), decay / (2 * step), batch, flag(3), flag(4) ? p.n / 2 : 1 << 30,
                    v.data(), &scale, flag(5) ? sum.data() : nullptr, lag.data(), &area,
                    flag(6) ? log.data() : nullptr, never, 0, 0, 0, 0, false};
    loops.online(rows, pass);
    for (int64_t j = 0; j < p.d; ++j) sum[j] += area * v[j] - lag[j], v[j] *= scale;
    return join({pass.loss_sum, pass.mistakes, double(pass.updates), double(pass.position)}, v,
                sum, log);
  });
}

// ---- what is tried -----------------------------------------------------------------------

void test_shape(int64_t n, int64_t d) {
  const Problem p(n, uniforms(n * d, true), uniforms(d + 1));
  const int64_t codes = n == 5 && d == 17 ? 128 : 1;  // one shape sees every option
  for (int loss = 0; loss < 6; ++loss) {
    test_batch(p, loss, nullptr);
    test_batch(p, loss, p.weight.data());
    // Decays that fold the scale never, after 197 batches, after 5, and at every batch.
    for (double decay : {0.0, 0.1, 0.99, 1.0, 3.0})
      for (int64_t at = 0; at < 2 * codes; ++at)
        test_online(p, loss, at % 2 ? 1 : 3, decay, codes > 1 ? at / 2 : below(128),
                    decay > 0 ? kCloseSum : kClose);
  }
  test_products(p, 1, nullptr);
  test_products(p, 3, p.weight.data());
}

// With no features the bias is the margin's size, and nothing else hides what a loss gives.
void test_margin(double m, int loss, Tolerance close) {
  const Problem p(1, {}, {m});
  test_batch(p, loss, nullptr, close);
  test_online(p, loss, 1, 0, 0, close);
}

void test_margins() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (int loss = 0; loss < 6; ++loss) {
    for (double m : {0.0, 1.0, std::nextafter(1, 2), std::nextafter(1, 0), 5e-324, 1e3, 1e6,
                     kInfinity, std::nan(""), std::nan("1954")})
      for (int time = 0; time < 4; ++time) test_margin(time % 2 ? m : -m, loss, kClose);
    Problem p(2, {std::nan(""), 0.5}, {1, 0.5});
    p.weight = {0, 1};  // a row without weight is as if absent, whatever is in it
    test_batch(p, loss, p.weight.data());
  }
  for (double m = -40; m <= 40; m += 1 / 33.0) test_margin(m, int(LossId::logistic), kCloseValue);
}

// Sums of small integers are exact: no rounding excuses another order, another update.
void test_exact_perceptron() {
  Numbers integers(40 * 17);
  for (double& value : integers) value = double(below(7) - 3);
  const Problem p(40, integers, Numbers(18));
  for (int64_t at = 0; at < 256; ++at) test_online(p, 0, 1 + at % 2, 0, at / 2, kEqual);
}

}  // namespace

int main() {
  for (const Table* const* level = usable_levels(); *level; ++level) {
    std::printf("level %s\n", (*level)->level);
    check(find_level((*level)->level) == *level, "a usable level is not found by its name");
  }
  check(find_level("none") == nullptr, "an unknown level is found");
  test_margins();
  test_exact_perceptron();
  for (int64_t d : {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 100})
    for (int64_t n : {1, 2, 3, 5, 300}) test_shape(n, d);
  test_shape(5, 20000);
  test_shape(0, 3);
  std::printf("%lld passed, %lld failed\n", (long long)passed, (long long)failed);
  return failed != 0;
}
