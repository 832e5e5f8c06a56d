// Every loop of every level this machine runs, against the same loop written out long-hand.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "threads/helper_thread.hpp"
#include "levels/dispatch.hpp"
#include "threads/ordered_reduction.hpp"

namespace {

using namespace separatrix;
using Real = long double;  // where it is wider than double, the oracle's rounding is out of sight
using Numbers = std::vector<double>;

struct Near {
  double absolute, relative;
  bool operator()(double a, double b) const {  // with tolerances of 0: bit for bit
    if (std::isnan(b)) return std::isnan(a);
    if (a == b) return relative > 0 || std::signbit(a) == std::signbit(b);
    return std::abs(a - b) < absolute + relative * std::abs(b);
  }
};

constexpr Near kClose{1e-11, 1e-11}, kCloseValue{0, 1e-14}, kSameBits{0, 0};
constexpr Near kRough{2e-4, 1e-5};
constexpr double kFiller = -0.25;  // outputs that are added to start so: an assignment shows
int64_t passed = 0, failed = 0;
bool never() { return false; }

std::mt19937_64 generator(1957);
int64_t below(int64_t end) { return int64_t(generator() % uint64_t(end)); }

Numbers uniforms(int64_t count, double size = 1, bool half_zero = false) {  // size 1: also floats
  Numbers values(count, size);
  for (double& x : values) x *= half_zero && below(2) ? 0 : double(below(1 << 24)) * 0x1p-23 - 1;
  return values;
}

Numbers join(Numbers all, const auto&... more) {
  (all.insert(all.end(), more.begin(), more.end()), ...);
  return all;
}

struct Problem {
  int64_t n, d;
  Numbers x, w, y, weight;
  Numbers data{99};  // sparse, a stray value first: indptr may be a slice of a larger one
  std::vector<int64_t> indices{0}, indptr{1};
  Problem(int64_t rows, const Numbers& values, const Numbers& weights)
      : n(rows), d(int64_t(weights.size()) - 1), x(values), w(weights), y(n), weight(n) {
    for (double& sign : y) sign = below(2) ? 1 : -1;
    for (double& value : weight) value = 0.25 * double(below(8));  // sums of them are exact
    for (int64_t i = 0; i < n; ++i, indptr.push_back(int64_t(data.size())))
      for (int64_t j = 0; j < d; ++j)
        if (x[i * d + j] != 0) data.push_back(x[i * d + j]), indices.push_back(j);
  }
  Real feature(int64_t i, int64_t j) const { return j < d ? x[i * d + j] : 1; }
};

struct Point { Real value, slope, curvature; };
Point loss_at(LossId loss, Real m) {
  const Real near = std::clamp<Real>(m, -354, 354);  // far out e^-708 stays: see exp_negative
  const Real lag = 1 - std::tanh(near), bend = 1 / std::pow(std::cosh(near), 2);
  const Real log = std::log1p(std::exp(-std::abs(m))), share = 1 / (1 + std::exp(near));
  const Real miss = 1 - m, lack = m >= 1 ? 0 : miss;
  switch (loss) {
    case LossId::perceptron: return {m > 0 ? 0 : -m, Real(m > 0 ? 0 : -1), 0};
    case LossId::logistic: return {m > 0 ? log : log - m, -share, share / (1 + std::exp(-m))};
    case LossId::squared: return {miss * miss, -2 * miss, 2};
    case LossId::hinge: return {lack, Real(m >= 1 ? 0 : -1), 0};
    case LossId::squared_hinge: return {lack * lack, -2 * lack, Real(m >= 1 ? 0 : 2)};
    case LossId::tanh_squared: break;
  }
  return {lag * lag, -2 * lag * bend, 2 * bend * (bend + 2 * (1 - lag) * lag)};
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
  for (int64_t j = 0; j < p.d; ++j) w[j] *= *pass.scale;
  *pass.scale = 1;
  for (int64_t t = 0; pass.position < pass.count && pass.updates < pass.max_updates; ++t) {
    const Real step = pass.steps[pass.constant_step ? 0 : t];
    const int64_t end = std::min(pass.position + pass.batch, pass.count);
    const Real share = step * pass.weight_scale / Real(end - pass.position);
    Numbers change(p.d + 1);
    for (; pass.position < end; ++pass.position) {
      const int64_t i = pass.order ? pass.order[pass.position] : pass.position;
      const Real weight = pass.weight ? pass.weight[i] : 1, m = p.y[i] * score(p, i, w);
      const Point point = loss_at(LossId(pass.loss), m);
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
    const Point point = weight == 0 ? Point{} : loss_at(LossId(pass.loss), m);
    pass.loss_sum += double(weight * point.value);
    pass.mistakes += double(m > 0 ? 0 : weight);
    if (pass.gradient) add_row(p, i, weight * point.slope * p.y[i], pass.gradient);
    if (pass.curvature) pass.curvature[i] = double(weight * point.curvature);
  }
}

void softmax_by_hand(const Problem& p, BatchPass& pass) {
  for (int64_t i = 0; i < p.n; ++i) {
    const Real weight = pass.weight ? pass.weight[i] : 1;
    std::vector<Real> s, e;
    for (int64_t c = 0; c < pass.k; ++c) s.push_back(score(p, i, pass.w + c * (p.d + 1)));
    const Real own = s[pass.label[i]], top = *std::max_element(s.begin(), s.end());
    Real sum = 0;
    for (const Real each : s) e.push_back(std::exp(each - top)), sum += e.back();
    const auto ahead = std::count_if(s.begin(), s.end(), [&](Real each) { return each >= own; });
    if (weight == 0) continue;
    pass.loss_sum += double(weight * (std::log(sum) + top - own));
    pass.mistakes += double(ahead > 1 ? weight : 0);
    for (int64_t c = 0; pass.gradient && c < pass.k; ++c)
      add_row(p, i, weight * (e[c] / sum - (c == pass.label[i])), pass.gradient + c * (p.d + 1));
  }
}

constexpr LoopsFor<Problem> kByHand{
    online_by_hand, batch_by_hand, nullptr, softmax_by_hand,
    [](const Problem& p, const double* w, int64_t k, double* out, ShouldStop) {
      for (int64_t i = 0; i < p.n * k; ++i) out[i] = score(p, i / k, w + i % k * (p.d + 1));
      return true;
    },
    [](const Problem& p, const double* a, int64_t k, double* out, ShouldStop) {
      for (int64_t i = 0; i < p.n * k; ++i) add_row(p, i / k, a[i], out + i % k * (p.d + 1));
      return true;
    },
    [](const Problem& p, const double* a, const double* v, double* out, ShouldStop) {
      for (int64_t i = 0; i < p.n; ++i) add_row(p, i, a[i] * score(p, i, v), out);
      return true;
    },
    [](const Problem& p, const double* a, const int64_t* group, int64_t, const double*, double* sum,
       double* squares, ShouldStop) {
      for (int64_t at = 0; at < p.n * p.d; ++at) {  // without a shift, which sparse rows lack
        const double weight = a ? a[at / p.d] : 1, x = weight == 0 ? 0 : p.x[at];
        sum[group[at / p.d] * p.d + at % p.d] += weight * x, squares[at % p.d] += weight * x * x;
      }
      return true;
    },
    [](const Problem& p, const double* y, const int64_t* label, const double* a, const double* w,
       int64_t m, int64_t k, double* right, ShouldStop) {
      for (int64_t i = 0; i < p.n; ++i)
        for (int64_t c = 0; c < m; ++c) {
          std::vector<Real> s;
          for (int64_t b = 0; b < k; ++b) s.push_back(score(p, i, w + (c * k + b) * (p.d + 1)));
          const int64_t best = std::max_element(s.begin(), s.end()) - s.begin();
          if (y ? (s[0] >= 0) == (y[i] > 0) : best == label[i]) right[c] += a ? a[i] : 1;
        }
      return true;
    },
    [](const Problem& p, const double* a, const double* mean, const double* factor, double& square,
       ShouldStop) {
      for (int64_t i = 0; i < p.n; ++i) {
        Real sum = 0;
        for (int64_t j = 0; j < p.d; ++j)
          sum += std::pow((p.x[i * p.d + j] - Real(mean[j])) * factor[j], 2);
        if (!a || a[i] != 0) square = std::max(square, double(sum));
      }
      return true;
    },
    [](const Problem& p, const double* a, const double* mean, const double* factor, double* out,
       ShouldStop) {
      const int64_t size = p.d + 1;
      for (int64_t at = 0; at < p.n * size * size; ++at) {
        auto z = [&, i = at / size / size](int64_t j) {
          return (p.feature(i, j) - (j < p.d ? Real(mean[j]) : 0)) * factor[j];
        };
        out[at % (size * size)] += double(a[at / size / size] * z(at / size % size) * z(at % size));
      }
      return true;
    }};

void compare(const std::string& what, const Numbers& got, const Numbers& wanted, Near near) {
  const auto [a, b] = std::mismatch(got.begin(), got.end(), wanted.begin(), near);
  ++(a == got.end() ? passed : failed);
  if (a == got.end() || failed > 30) return;  // thirty tell enough
  std::printf("FAILED: %s %d is %.17g, not %.17g\n", what.c_str(), int(a - got.begin()), *a, *b);
}

// run(loops, rows) must give nearly the same by hand and at every level and layout. Levels
// with fused multiply-add (on x86 all but the baseline) must agree with each other to the bit.
void test(const std::string& what, const Problem& p, Near near, const auto& run) {
  const Numbers wanted = run(kByHand, p);
  const std::vector<float> x(p.x.begin(), p.x.end()), data(p.data.begin(), p.data.end());
  const std::vector<int32_t> indices(p.indices.begin(), p.indices.end());
  const std::vector<int32_t> indptr(p.indptr.begin(), p.indptr.end());
  auto csr = [&]<class Value, class Index>(const std::vector<Value>& values,
                                           const std::vector<Index>& at, const Index* from) {
    return CsrRows<Value, Index>{values.data(), at.data(), from, p.n, p.d};
  };
  const std::string shape = ", n=" + std::to_string(p.n) + " d=" + std::to_string(p.d) + ", ";
  std::map<std::string, Numbers> fused;  // of the first level that has it
  for (const Table* const* level = usable_levels(); *level; ++level) {
    const Table& table = **level;
    auto at = [&](const char* layout, const auto& loops, const auto& rows) {
      const Numbers got = run(loops, rows);
      const std::string where = what + shape + table.level + " " + layout;
      compare(where + ": entry", got, wanted, near);
      if (std::string(table.level) == "baseline") return;
      compare(where + ": bits of", got, fused.try_emplace(layout, got).first->second, kSameBits);
    };
    at("dense float", table.dense_float, DenseRows<float>{x.data(), p.n, p.d});
    at("dense double", table.dense_double, DenseRows<double>{p.x.data(), p.n, p.d});
    at("csr float int", table.csr_float_int, csr(data, indices, indptr.data()));
    at("csr double int", table.csr_double_int, csr(p.data, indices, indptr.data()));
    at("csr float long", table.csr_float_long, csr(data, p.indices, p.indptr.data()));
    at("csr double long", table.csr_double_long, csr(p.data, p.indices, p.indptr.data()));
  }
}

void test_batch(const Problem& p, int loss, const double* weight, Near near = kClose) {
  test("batch, loss " + std::to_string(loss), p, near, [&](auto& loops, auto& rows) {
    Numbers slopes(p.d + 1, kFiller), bends(p.n);
    BatchPass bare{loss, p.y.data(), {}, 1, weight, p.w.data(), {}, {}, false, never, 0, 0, false};
    BatchPass full = bare;
    full.gradient = slopes.data(), full.curvature = bends.data();
    loops.batch(rows, full);
    loops.batch(rows, bare);
    return join({full.loss_sum, full.mistakes, bare.loss_sum, bare.mistakes}, slopes, bends);
  });
}

// As many classes as leave panels of every width, some filled up.
void test_softmax(const Problem& p, int64_t k, const double* weight) {
  const Numbers w = uniforms(k * (p.d + 1));
  std::vector<int64_t> label(p.n);
  for (int64_t& number : label) number = below(k);
  for (const bool rough : {false, true}) {
    const std::string what = (rough ? "rough softmax of " : "softmax of ") + std::to_string(k);
    test(what, p, rough ? kRough : kClose, [&](auto& loops, auto& rows) {
      Numbers slopes(k * (p.d + 1), kFiller);
      BatchPass bare{int(JointId::softmax), {}, label.data(), k, weight, w.data(), {}, {}, rough,
                     never, 0, 0, false};
      BatchPass full = bare;
      full.gradient = slopes.data();
      loops.batch_joint(rows, full);
      loops.batch_joint(rows, bare);
      if (rough) full.mistakes = bare.mistakes = 0;  // rounding may turn them
      return join({full.loss_sum, full.mistakes, bare.loss_sum, bare.mistakes}, slopes);
    });
  }
}

// Sums in float where rows are; of a loss without jumps, so that rounding cannot change much.
void test_rough(const Problem& p, const double* weight) {
  test("rough batch", p, kRough, [&](auto& loops, auto& rows) {
    Numbers slopes(p.d + 1, kFiller), bends(p.n);
    BatchPass pass{int(LossId::logistic), p.y.data(), {}, 1, weight, p.w.data(), slopes.data(),
                   bends.data(), true, never, 0, 0, false};
    loops.batch(rows, pass);
    return join({pass.loss_sum}, slopes, bends);
  });
}

void test_products(const Problem& p, int64_t k, const double* weight) {
  const Numbers w = uniforms(k * (p.d + 1)), a = uniforms(p.n * k, 1, true);
  test("scores, transpose_product, hessian_product, moments", p, kClose, [&](auto& loops, auto& rows) {
    Numbers scores(p.n * k), sums(k * (p.d + 1), kFiller), product(p.d + 1, kFiller);
    Numbers sum(k * p.d, kFiller), squares(p.d, kFiller);
    std::vector<int64_t> group(p.n);
    for (int64_t i = 0; i < p.n; ++i) group[i] = i * i % k;
    loops.scores(rows, w.data(), k, scores.data(), never);
    loops.transpose_product(rows, a.data(), k, sums.data(), never);
    loops.hessian_product(rows, p.weight.data(), p.w.data(), product.data(), never);
    loops.moments(rows, weight, group.data(), k, nullptr, sum.data(), squares.data(), never);
    return join(scores, sums, product, sum, squares);
  });
}

// Many weights at once, on rows and labels such that some are right by some of them.
void test_many(const Problem& p, int64_t m, int64_t k, const double* weight) {
  const Numbers w = uniforms(m * k * (p.d + 1)), mean = uniforms(p.d), factor = uniforms(p.d + 1);
  std::vector<int64_t> label(p.n);
  for (int64_t& number : label) number = below(k);
  test("right, max_standardised_norm2, gram", p, kClose, [&](auto& loops, auto& rows) {
    Numbers right(m, kFiller), square(1), products((p.d + 1) * (p.d + 1), kFiller);
    loops.weighted_correct(rows, k == 1 ? p.y.data() : nullptr, k == 1 ? nullptr : label.data(), weight,
                w.data(), m, k, right.data(), never);
    loops.max_standardised_norm2(rows, weight, mean.data(), factor.data(), square[0], never);
    loops.gram(rows, p.weight.data(), mean.data(), factor.data(), products.data(), never);
    return join(right, square, products);
  });
}

// `decay` is 2 * step * l2 at the longest step; the bits of `code` switch the other options.
void test_online(const Problem& p, int loss, int batch, double decay, int code, Near near) {
  auto flag = [&](int bit) { return bool(code >> bit & 1); };
  // Small enough for the squared loss to descend; a power of two, so that sums may be exact.
  const double step = std::exp2(-std::ceil(std::log2(double(p.d + 4))));
  const int64_t count = flag(0) ? 2 * p.n : p.n;
  std::vector<int64_t> order(count);
  Numbers steps(count + 1, step);
  for (int64_t i = 0; i < count; ++i) order[i] = i % p.n, steps[i] /= double(1 + i % 2);
  std::shuffle(order.begin(), order.end(), generator);
  char what[99];
  std::snprintf(what, 99, "online, loss %d batch %d decay %g code %d", loss, batch, decay, code);
  test(what, p, near, [&](auto& loops, auto& rows) {
    Numbers v = p.w, sum(p.d + 1, kFiller), lag(p.d + 1);
    std::vector<int64_t> log(count);
    // Half of the weights' size is in the scale from the start; or none, where there is no decay
    // and the perceptron has a loop of its own.
    double scale = decay == 0 ? 1 : 0.5, area = 0;
    HelperThread beside;
    for (int64_t j = 0; j < p.d; ++j) v[j] /= scale;
    OnlinePass pass{loss, p.y.data(), {}, 1, flag(1) ? p.weight.data() : nullptr,
                    flag(1) ? 0.5 : 1.0, flag(0) ? order.data() : nullptr, count, steps.data(),
                    flag(2), decay / (2 * step), batch, flag(3), flag(4) ? p.n / 2 : 1 << 30,
                    v.data(), &scale, flag(5) ? sum.data() : nullptr, lag.data(), &area,
                    flag(6) ? log.data() : nullptr, nullptr, flag(7) ? &beside : nullptr, never, 0,
                    0, 0, 0, false};
    loops.online(rows, pass);
    for (int64_t j = 0; j < p.d; ++j) sum[j] += area * v[j] - lag[j], v[j] *= scale;
    return join({pass.loss_sum, pass.mistakes, double(pass.updates), double(pass.position)}, v,
                sum, log);
  });
}

void test_shape(int64_t n, int64_t d) {
  const Problem p(n, uniforms(n * d, 1, true), uniforms(d + 1, 3 / std::sqrt(d + 1.0)));
  const int codes = n == 5 && d == 17 ? 128 : 1;  // one shape sees every combination of options
  for (int loss = 0; loss < 6; ++loss) {
    test_batch(p, loss, nullptr);
    test_batch(p, loss, p.weight.data());
    // Decays that fold the scale never, after many batches, after a few, and at every one.
    for (double decay : {0.0, 0.1, 0.99, 1.0, 3.0})
      for (int at = 0; at < 2 * codes; ++at)
        test_online(p, loss, 1 + at % 2 * 2, decay, int(codes > 1 ? at / 2 : below(128)), kClose);
  }
  test_rough(p, nullptr);
  test_rough(p, p.weight.data());
  test_products(p, 1, nullptr);
  test_products(p, 3, p.weight.data());
  for (int64_t k : {2, 3, 5, 8, 10, 11, 13, 27})
    test_softmax(p, k, k % 2 ? p.weight.data() : nullptr);
  if (d > 100) return;  // products of all features with all others
  test_many(p, 1, 1, nullptr);
  test_many(p, 11, 1, p.weight.data());
  test_many(p, 3, 4, p.weight.data());
}

// With no features the bias is the margin, and nothing else hides what a loss gives there.
void test_margin(double m, int loss, int code, Near near) {
  Problem p(1, {}, {m});
  p.y = {1};
  test_batch(p, loss, nullptr, near);
  test_online(p, loss, 1, 0, code, near);
}

void test_margins() {
  for (int loss = 0; loss < 6; ++loss) {
    for (double m : {0.0, 1.0, std::nextafter(1, 2), std::nextafter(1, 0), 5e-324, 1e3, 1e6,
                     HUGE_VAL, std::nan(""), std::nan("1954")})
      for (double sign : {1, -1}) test_margin(sign * m, loss, 8, kClose);
    Problem p(2, {std::nan(""), 0.5}, {1, 0.5});
    p.weight = {0, 1};  // a row without weight is as if absent, whatever is in it
    test_batch(p, loss, p.weight.data());
  }
  for (double m = -40; m <= 40; m += 1 / 33.0) test_margin(m, 1, 0, kCloseValue);
}

// Sums of small integers are exact: no rounding excuses another order or another update.
void test_exact_perceptron() {
  Numbers integers(80 * 17);
  for (double& value : integers) value = double(below(7) - 3);
  const Problem p(80, integers, Numbers(18));
  for (int at = 0; at < 512; ++at) test_online(p, 0, 1 + at % 2, 0, at / 2, kSameBits);
}

// Labels of chance, so that many rows are mistaken: passes over all rows, in which the exact weights
// follow later, against passes over one, in which they cannot.
template <class Rows>
void test_followed(const LoopsFor<Rows>& loops, const Rows& rows, double step, bool averaged) {
  const Numbers start = uniforms(rows.d + 1), weight = uniforms(rows.n, 1, true);
  Numbers y(rows.n);
  for (double& sign : y) sign = below(2) ? 1 : -1;
  const auto after = [&](int64_t at_once, HelperThread* beside) {
    Numbers v = start, sum(rows.d + 1), lag(rows.d + 1), told(4);
    std::vector<int64_t> logs;
    double scale = 1, area = 0;
    for (int64_t first = 0; first < 3 * rows.n; first += at_once) {
      std::vector<int64_t> order(at_once), log(at_once);
      for (int64_t i = 0; i < at_once; ++i) order[i] = (first + i) * 7 % rows.n;
      OnlinePass pass{0, y.data(), nullptr, 1, averaged ? weight.data() : nullptr, 0.75,
                      order.data(), at_once, &step, true, 0, 1, true, 1 << 30, v.data(), &scale,
                      averaged ? sum.data() : nullptr, lag.data(), &area, log.data(), nullptr,
                      beside, never, told[0], told[1], 0, 0, false};
      loops.online(rows, pass);
      told = {pass.loss_sum, pass.mistakes, told[2] + double(pass.updates), 0};
      logs.insert(logs.end(), log.begin(), log.begin() + pass.updates);
    }
    return join(told, v, sum, lag, logs);
  };
  HelperThread beside;
  const Numbers expected = after(1, nullptr);
  for (HelperThread* other : {static_cast<HelperThread*>(nullptr), &beside}) {
    const Numbers found = after(rows.n, other);
    const bool same = expected.size() == found.size() &&
                      std::equal(expected.begin(), expected.end(), found.begin(), kSameBits);
    ++(same ? passed : failed);
    if (!same) std::printf("followed: d %d step %g beside %d\n", int(rows.d), step, bool(other));
  }
}

void test_followed() {
  const int64_t n = 1000;
  for (const Table* const* level = usable_levels(); *level; ++level)
    for (int64_t d : {1, 2, 7, 16, 33, 100, 250})
      for (double step : {1e-30, 1e-9, 1e-3, 1.0, 1e15, 1e30, 1e300})
        for (bool averaged : {false, true}) {
          const Numbers values = uniforms(n * d);
          const std::vector<float> floats(values.begin(), values.end());
          test_followed((*level)->dense_double, DenseRows<double>{values.data(), n, d}, step,
                        averaged);
          test_followed((*level)->dense_float, DenseRows<float>{floats.data(), n, d}, step,
                        averaged);
        }
}

// Many classes at a step so small that margins stay within the rounding of floats: a pass over all
// rows, most of which are known to be right from sums in float, against passes over one.
template <class Rows>
void test_many_classes(const LoopsFor<Rows>& loops, const Rows& rows, int64_t k) {
  Numbers start = uniforms(k * (rows.d + 1), 1e-6);
  const Numbers shared = uniforms(rows.d + 1);
  for (size_t j = 0; j < start.size(); ++j) start[j] += shared[j % shared.size()];
  Numbers scores(rows.n * k);
  std::vector<int64_t> label(rows.n), log(rows.n);
  loops.scores(rows, start.data(), k, scores.data(), never);
  for (int64_t i = 0; i < rows.n; ++i) {
    const double* const s = scores.data() + i * k;
    label[i] = below(5) ? std::max_element(s, s + k) - s : below(k);
  }
  const auto weights_after = [&](int64_t at_once) {
    Numbers v = start;
    double scale = 1, area = 0, step = 1e-9;
    for (int64_t first = 0; first < 4 * rows.n; first += at_once) {
      std::vector<int64_t> order(at_once);
      for (int64_t i = 0; i < at_once; ++i) order[i] = (first + i) % rows.n;
      OnlinePass pass{int(JointId::perceptron), {}, label.data(), k, nullptr, 1.0, order.data(),
                      at_once, &step, true, 0, 1, true, 1 << 30, v.data(), &scale, nullptr,
                      nullptr, &area, log.data(), nullptr, nullptr, never, 0, 0, 0, 0, false};
      loops.online_joint(rows, pass);
    }
    return v;
  };
  const Numbers expected = weights_after(1), found = weights_after(rows.n);
  const bool same = std::equal(expected.begin(), expected.end(), found.begin(), kSameBits);
  ++(same ? passed : failed);
  if (!same) std::printf("many classes: k %d d %d\n", int(k), int(rows.d));
}

void test_many_classes() {
  for (const Table* const* level = usable_levels(); *level; ++level)
    for (int64_t d : {1, 5, 16, 40, 100})
      for (int64_t k : {3, 5, 8, 14}) {
        const Numbers values = uniforms(300 * d);
        const std::vector<float> floats(values.begin(), values.end());
        test_many_classes((*level)->dense_double, DenseRows<double>{values.data(), 300, d}, k);
        test_many_classes((*level)->dense_float, DenseRows<float>{floats.data(), 300, d}, k);
      }
}

// Sums whose bits depend on the order, by more and more threads.
void test_fold() {
  std::vector<int64_t> edges(1, 0);
  for (int64_t block = 0; block < 500; ++block) edges.push_back(edges.back() + below(4));
  const Numbers values = uniforms(edges.back() * 3, 0.1);
  Numbers first;
  for (int threads : {1, 2, 5}) {
    Numbers sum(3);
    BlockSum fold(edges, sum.data(), 3);
    const auto work = [&] {
      fold.work([&](int64_t from, int64_t count, double* numbers) {
        for (int64_t i = 3 * from; i < 3 * (from + count); ++i) numbers[i % 3] += values[i];
        return true;
      });
    };
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(work);
    work();
    for (auto& each : others) each.join();
    if (first.empty()) first = sum;
    const bool same = std::equal(first.begin(), first.end(), sum.begin(), kSameBits);
    ++(same ? passed : failed);
    if (!same) std::printf("fold: %d threads\n", threads);
  }
}

}  // namespace

int main() {
  for (const Table* const* level = usable_levels(); *level; ++level)
    std::printf("level %s\n", (*level)->level);
  test_margins();
  test_exact_perceptron();
  test_followed();
  test_many_classes();
  test_fold();
  for (int64_t d : {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 100, 600})
    for (int64_t n : {0, 1, 2, 3, 5, 300}) test_shape(n, d);
  test_shape(5, 20000);
  std::printf("%d passed, %d failed\n", int(passed), int(failed));
  return failed != 0;
}
