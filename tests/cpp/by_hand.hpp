// Every loop written out long-hand, and what compares it with the loops of all levels.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "levels/dispatch.hpp"

namespace separatrix::tests {

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
constexpr Near kFloat32{2e-4, 1e-5};
constexpr double kFiller = -0.25;  // outputs that are added to start so: an assignment shows
inline int64_t passed = 0, failed = 0;
inline bool never() { return false; }

inline std::mt19937_64 generator(1957);
inline int64_t below(int64_t end) { return int64_t(generator() % uint64_t(end)); }

// Floats, if the size is 1.
inline Numbers uniforms(int64_t count, double size = 1, bool half_zero = false) {
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
inline Point loss_at(LossId loss, Real m) {
  const Real near = std::clamp<Real>(m, -354, 354);  // far out e^-708 stays: see exp_negative
  const Real lag = 1 - std::tanh(near), slope = 1 / std::pow(std::cosh(near), 2);
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
  return {lag * lag, -2 * lag * slope, 2 * slope * (slope + 2 * (1 - lag) * lag)};
}

inline Real score(const Problem& p, int64_t i, const double* w) {
  Real sum = 0;
  for (int64_t j = 0; j <= p.d; ++j) sum += w[j] * p.feature(i, j);
  return sum;
}

// out += a * (row i, 1); a row whose a is 0 is as if absent.
inline void add_row(const Problem& p, int64_t i, Real a, double* out) {
  for (int64_t j = 0; a != 0 && j <= p.d; ++j) out[j] += double(a * p.feature(i, j));
}

// As in the paper, of all weights after every batch, in units of w, which a decay shrinks.
inline void cumulative_l1_by_hand(const Problem& p, OnlinePass& pass, double step) {
  const double decay = std::max(0.0, 1 - 2 * step * pass.l2);
  double& u = *pass.cumulative;
  u = decay * u + step * pass.l1;
  for (int64_t j = 0; j < p.d; ++j) {
    double &w = pass.v[j], &q = pass.received[j], before = w;
    q *= decay;
    if (w > 0) w = std::max(0.0, w - (u + q));
    else if (w < 0) w = std::min(0.0, w + (u - q));
    q += w - before;
  }
}

inline void online_by_hand(const Problem& p, OnlinePass& pass) {
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
    if (pass.received) cumulative_l1_by_hand(p, pass, double(step));
  }
}

// A change of the weights of class c, and of what the running sum lacks of it.
inline void change_by_hand(RulePass& pass, int64_t at, double by) {
  pass.v[at] += by;
  if (pass.lag) pass.lag[at] += pass.area * by;
}

inline bool rule_visit_by_hand(const Problem& p, RulePass& pass, int64_t i, Real part) {
  const int64_t size = p.d + 1;
  const auto id = RuleId(pass.rule);
  int64_t gains = 0, loses = -1;
  Real m = 0, sign = 1;
  if (pass.y) {
    sign = pass.y[i], m = sign * score(p, i, pass.v);
  } else {
    gains = pass.label[i];
    for (int64_t c = 0; c < pass.k; ++c)
      if (c != gains && (loses < 0 || score(p, i, pass.v + c * size) > score(p, i, pass.v + loses * size)))
        loses = c;
    m = score(p, i, pass.v + gains * size) - score(p, i, pass.v + loses * size);
  }
  const bool winnow = id == RuleId::winnow;
  const Real loss = std::max<Real>(0, winnow ? -m : 1 - m);
  pass.loss_sum += double(part * loss), pass.mistakes += double(m > 0 ? 0 : part);
  bool moved = false;
  auto change = [&](int64_t at, Real by) {
    change_by_hand(pass, at, double(by));
    moved |= double(by) != 0;
  };
  auto feature = [&](int64_t j) { return j < p.d || pass.intercept ? p.feature(i, j) : Real(0); };
  if (winnow && !(m > 0))
    for (int64_t j = 0; j < p.d; ++j)
      change(j, pass.v[j] * (std::pow(Real(pass.parameter), sign * feature(j) * part) - 1));
  if (!winnow && loss > 0) {
    Real spread = 0;
    for (int64_t c : {gains, loses})
      for (int64_t j = 0; c >= 0 && j < size; ++j)
        spread += feature(j) * feature(j) * (pass.variance ? pass.variance[c * size + j] : 1);
    const Real C = pass.parameter * part, noise = pass.parameter / part;
    const Real tau = id == RuleId::arow ? loss / (spread + noise)
                     : id == RuleId::passive_aggressive_2 ? loss / (spread + 1 / (2 * C))
                     : spread > 0 ? std::min(C, loss / spread) : C;
    for (int64_t c : {gains, loses})
      for (int64_t j = 0; c >= 0 && j < size; ++j) {
        double* const s = pass.variance ? &pass.variance[c * size + j] : nullptr;
        change(c * size + j, (c == gains ? sign : -1) * tau * feature(j) * (s ? Real(*s) : 1));
        if (s) *s = double(1 / (1 / Real(*s) + feature(j) * feature(j) / noise));
      }
  }
  pass.area += double(part);
  return moved;
}

inline void rule_by_hand(const Problem& p, RulePass& pass) {
  pass.area = pass.lag ? pass.area : 0;
  for (; pass.position < pass.count && pass.updates < pass.max_updates; ++pass.position) {
    const int64_t i = pass.order ? pass.order[pass.position] : pass.position;
    bool moved = false;
    for (Real left = pass.weight ? pass.weight[i] : 1; left > 0; left -= 1)
      moved |= rule_visit_by_hand(p, pass, i, std::min<Real>(left, 1));
    if (moved && pass.log) pass.log[pass.updates] = i;
    pass.updates += moved;
  }
  if (!pass.lag) pass.area = 0;
}

inline void batch_by_hand(const Problem& p, BatchPass& pass) {
  for (int64_t i = 0; i < p.n; ++i) {
    const Real weight = pass.weight ? pass.weight[i] : 1, m = p.y[i] * score(p, i, pass.w);
    const Point point = weight == 0 ? Point{} : loss_at(LossId(pass.loss), m);
    pass.loss_sum += double(weight * point.value);
    pass.mistakes += double(m > 0 ? 0 : weight);
    if (pass.gradient) add_row(p, i, weight * point.slope * p.y[i], pass.gradient);
    if (pass.curvature) pass.curvature[i] = double(weight * point.curvature);
  }
}

inline void softmax_by_hand(const Problem& p, BatchPass& pass) {
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

// A loss for each column: of one class against the others, or of one label.
inline void columns_by_hand(const Problem& p, BatchPass& pass) {
  const auto loss = LossId(pass.loss - int(JointId::columns));
  for (int64_t i = 0; i < p.n; ++i) {
    const Real weight = pass.weight ? pass.weight[i] : 1;
    Real own = 0, best = -HUGE_VALL;
    bool right = true;
    for (int64_t c = 0; c < pass.k; ++c) {
      const Real s = score(p, i, pass.w + c * (p.d + 1));
      const Real y = pass.labels ? pass.labels[i * pass.k + c] : c == pass.label[i] ? 1 : -1;
      const Point point = weight == 0 ? Point{} : loss_at(loss, y * s);
      pass.loss_sum += double(weight * point.value);
      if (pass.gradient) add_row(p, i, weight * point.slope * y, pass.gradient + c * (p.d + 1));
      right &= y * s > 0;
      (y > 0 ? own : best) = y > 0 ? s : std::max(best, s);
    }
    pass.mistakes += double((pass.labels ? right : own > best) ? 0 : weight);
  }
}

inline void joint_by_hand(const Problem& p, BatchPass& pass) {
  (pass.loss < int(JointId::columns) ? softmax_by_hand : columns_by_hand)(p, pass);
}

// Rows are columns here. In Real, every slope with what the bias adds.
inline bool column_curvatures_by_hand(const Problem& p, const double* h, double total, bool bias,
                                      double* products, double* squares, ShouldStop) {
  for (int64_t j = 0; j < p.n; ++j) {
    Real product = 0, square = 0;
    for (int64_t i = 0; i < p.d; ++i) product += h[i] * p.feature(j, i);
    const Real mean = bias && total > 0 ? product / total : 0;
    for (int64_t i = 0; i < p.d; ++i) square += h[i] * std::pow(p.feature(j, i) - mean, 2);
    products[j] = double(product), squares[j] = double(square);
  }
  return true;
}

inline void column_descent_by_hand(const Problem& p, ColumnDescent& on) {
  std::vector<Real> slope(on.slope, on.slope + p.d), w(on.w, on.w + p.n);
  Real shift = on.shift, gain = 0;
  for (on.epochs = 0; on.epochs < on.max_epochs && (!on.epochs || gain > on.enough); ++on.epochs) {
    gain = 0;
    for (int64_t j = 0; j < p.n; ++j) {
      if (!on.zeros && w[j] == 0 && on.thresholds[j] > 0) continue;
      const Real curvature = Real(on.squares[j]) + on.ridge[j];
      Real steep = on.ridge[j] * w[j];
      for (int64_t i = 0; i < p.d; ++i)
        steep += (slope[i] + shift * on.curvature[i]) * p.feature(j, i);
      const Real free = w[j] - steep / curvature;
      const Real size = std::max<Real>(std::abs(free) - on.thresholds[j] / curvature, 0);
      const Real change = (free < 0 ? -size : size) - w[j];
      w[j] += change;
      gain += curvature * change * change / 2;
      for (int64_t i = 0; i < p.d; ++i) slope[i] += change * on.curvature[i] * p.feature(j, i);
      if (on.total > 0) shift -= change * on.products[j] / on.total;
    }
  }
  std::copy(slope.begin(), slope.end(), on.slope);
  std::copy(w.begin(), w.end(), on.w);
  on.shift = double(shift), on.gain = double(gain);
}

constexpr LoopsFor<Problem> kByHand{
    online_by_hand, batch_by_hand, nullptr, joint_by_hand,
    [](const Problem& p, const double* w, int64_t k, double* out, ShouldStop) {
      for (int64_t i = 0; i < p.n * k; ++i) out[i] = score(p, i / k, w + i % k * (p.d + 1));
      return true;
    },
    [](const Problem& p, const double* a, int64_t k, double* out, ShouldStop) {
      for (int64_t i = 0; i < p.n * k; ++i) add_row(p, i / k, a[i], out + i % k * (p.d + 1));
      return true;
    },
    [](const Problem& p, double* out, ShouldStop) {
      for (int64_t i = 0; i < p.n; ++i) {
        Real sum = 0;
        for (int64_t j = 0; j < p.d; ++j) sum += Real(p.x[i * p.d + j]) * p.x[i * p.d + j];
        out[i] = double(sum);
      }
      return true;
    },
    [](const Problem& p, const double* a, const double* v, int64_t k, double* out, ShouldStop) {
      const int64_t size = p.d + 1;
      for (int64_t i = 0; i < p.n * k; ++i)
        add_row(p, i / k, a[i / k] * score(p, i / k, v + i % k * size), out + i % k * size);
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
    [](const Problem& p, const double* y, const int64_t* label, const int8_t* labels,
       const double* a, const double* w, int64_t m, int64_t k, double* right, ShouldStop) {
      for (int64_t i = 0; i < p.n; ++i)
        for (int64_t c = 0; c < m; ++c) {
          std::vector<Real> s;
          for (int64_t b = 0; b < k; ++b) s.push_back(score(p, i, w + (c * k + b) * (p.d + 1)));
          const int64_t best = std::max_element(s.begin(), s.end()) - s.begin();
          bool all = labels != nullptr;
          for (int64_t b = 0; all && b < k; ++b) all = (s[b] >= 0) == (labels[i * k + b] > 0);
          if (labels ? all : y ? (s[0] >= 0) == (y[i] > 0) : best == label[i])
            right[c] += a ? a[i] : 1;
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
    },
    nullptr, nullptr, nullptr, nullptr, nullptr, column_curvatures_by_hand,
    column_descent_by_hand, rule_by_hand};

inline void compare(const std::string& what, const Numbers& got, const Numbers& wanted, Near near) {
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

// What main returns.
inline int summary() {
  std::printf("%d passed, %d failed\n", int(passed), int(failed));
  return failed != 0;
}

// f(rows, columns) for shapes of every remainder.
void each_shape(const auto& f) {
  for (int64_t d : {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 100, 600})
    for (int64_t n : {0, 1, 2, 3, 5, 300}) f(n, d);
  f(5, 20000);
}

inline Problem random_problem(int64_t n, int64_t d) {
  return Problem(n, uniforms(n * d, 1, true), uniforms(d + 1, 3 / std::sqrt(d + 1.0)));
}

}  // namespace separatrix::tests
