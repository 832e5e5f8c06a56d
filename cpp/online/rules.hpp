// Online rules whose step depends on the row: passive-aggressive I and II, diagonal AROW, Winnow.
//
// A row of weight c is visited c times in succession. What is left of c after whole visits is one
// more, which counts for that part. Sums run over the features in lanes by their numbers, so that
// sparse rows give the bits of dense ones.
#pragma once
#include "losses/multiclass.hpp"
#include "rows/checked_order.hpp"
#include "rows/prefetch.hpp"
#include "simd/buffer.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// f(number of the feature, value) for every value that is not 0.
template <class Value, class F>
inline void each_nonzero(const DenseRows<Value>& rows, int64_t i, F&& f) {
  const Value* const x = row(rows, i);
  for (int64_t j = 0; j < rows.d; ++j)
    if (x[j] != 0) f(j, double(x[j]));
}
template <class Value, class Index, class F>
inline void each_nonzero(const CsrRows<Value, Index>& rows, int64_t i, F&& f) {
  for (Index e = rows.indptr[i]; e < rows.indptr[i + 1]; ++e)
    if (rows.data[e] != 0) f(int64_t(rows.indices[e]), double(rows.data[e]));
}

// Sum of a product of two numbers for every value, with the bits of the sums of dense rows.
template <class Rows, class Factors>
inline double lane_sum(const Rows& rows, int64_t i, Factors&& factors) {
  double lane[kLanes] = {};
  each_nonzero(rows, i, [&](int64_t j, double x) SEPARATRIX_INLINE {
    const auto [a, b] = factors(j, x);
    lane[j % kLanes] = fma(a, b, lane[j % kLanes]);
  });
  for (int half = kLanes / 2; half >= 1; half /= 2)
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  return lane[0];
}
struct Factors {
  double a, b;
};

template <class Value>
inline double lane_dot(const DenseRows<Value>& rows, int64_t i, const double* w) {
  return dot(rows, i, w);
}
template <class Value, class Index>
inline double lane_dot(const CsrRows<Value, Index>& rows, int64_t i, const double* w) {
  return lane_sum(rows, i, [&](int64_t j, double x) SEPARATRIX_INLINE { return Factors{x, w[j]}; });
}
template <class Value>
inline double lane_norm2(const DenseRows<Value>& rows, int64_t i) {
  return squared_norm(rows, i);
}
template <class Value, class Index>
inline double lane_norm2(const CsrRows<Value, Index>& rows, int64_t i) {
  return lane_sum(rows, i, [](int64_t, double x) SEPARATRIX_INLINE { return Factors{x, x}; });
}

// The score of a row that a rule looks at: of two classes y * score, else that of the true class
// minus that of the best rival.
struct Margin {
  double value;
  int64_t gains, loses;  // rows of weights; `loses` is -1 for two classes, `gains` then 0
  double sign;           // of the change of `gains`
};

template <class Rows>
class RuleRun {
 public:
  RuleRun(const Rows& rows, RulePass& pass) : rows_(rows), pass_(pass), scores_(pass.k) {}

  // Visits row i for a part of a visit, in (0, 1]. Whether the weights moved.
  bool visit(int64_t i, double part) {
    const Margin m = margin(i);
    const bool mistake = !(m.value > 0);
    const bool winnow = RuleId(pass_.rule) == RuleId::winnow;
    const double loss = winnow ? (mistake ? -m.value : 0) : (m.value >= 1 ? 0 : 1 - m.value);
    pass_.loss_sum += part * loss;
    pass_.mistakes += mistake ? part : 0;
    passive_ = winnow ? !mistake : loss == 0;
    bool moved = false;
    if (!passive_) {
      if (winnow) moved = multiply(i, m.sign, part);
      else if (pass_.variance) moved = adapt(i, m, loss, part);
      else moved = step(i, m, loss, part);
    }
    if (pass_.lag) pass_.area += part;
    return moved;
  }

  // Whether the last visit left the weights alone, as every further visit of its row would.
  bool passive() const { return passive_; }

 private:
  double* weights(double* of, int64_t c) const { return of + c * (rows_.d + 1); }

  Margin margin(int64_t i) {
    const int64_t d = rows_.d, k = pass_.k;
    if (pass_.y) {
      const double score = lane_dot(rows_, i, pass_.v) + pass_.v[d];
      return {pass_.y[i] * score, 0, -1, pass_.y[i]};
    }
    for (int64_t c = 0; c < k; ++c)
      scores_[c] = lane_dot(rows_, i, weights(pass_.v, c)) + weights(pass_.v, c)[d];
    const int64_t label = pass_.label[i], rival = best_rival(scores_, k, label);
    return {scores_[label] - scores_[rival], label, rival, 1.0};
  }

  // The weights of class c get `change` times the row more.
  void add_row(int64_t i, int64_t c, double change) {
    double* const v = weights(pass_.v, c);
    add(rows_, i, change, v);
    if (pass_.intercept) v[rows_.d] += change;
    if (!pass_.lag) return;
    double* const lag = weights(pass_.lag, c);
    add(rows_, i, pass_.area * change, lag);
    if (pass_.intercept) lag[rows_.d] += pass_.area * change;
  }

  // Passive-aggressive: as far as the loss asks for, and C allows.
  bool step(int64_t i, const Margin& m, double loss, double part) {
    const double length2 = lane_norm2(rows_, i) + (pass_.intercept ? 1.0 : 0.0);
    if (!(length2 < kLongest)) {
      pass_.flaw = kTooLongRow;
      return false;
    }
    if (length2 == 0 && !any(i)) return false;
    const double moved2 = m.loses < 0 ? length2 : 2 * length2, C = pass_.parameter * part;
    double tau;
    if (RuleId(pass_.rule) == RuleId::passive_aggressive_1) {
      tau = loss / moved2;
      if (!(tau < C)) tau = C;
    } else {
      tau = loss / (moved2 + 0.5 / C);
    }
    add_row(i, m.gains, m.sign * tau);
    if (m.loses >= 0) add_row(i, m.loses, -tau);
    return tau != 0;
  }

  bool any(int64_t i) const {
    bool found = false;
    each_nonzero(rows_, i, [&](int64_t, double) { found = true; });
    return found;
  }

  double spread(int64_t i, int64_t c) const {
    const double* const s = weights(pass_.variance, c);
    const double of_row = lane_sum(rows_, i, [&](int64_t j, double x) SEPARATRIX_INLINE {
      return Factors{s[j] * x, x};
    });
    return pass_.intercept ? of_row + s[rows_.d] : of_row;
  }

  // AROW: longer steps for features of large variance, which then falls.
  bool adapt(int64_t i, const Margin& m, double loss, double part) {
    const double noise = pass_.parameter / part;
    double v = spread(i, m.gains);
    if (m.loses >= 0) v += spread(i, m.loses);
    if (!(v < kLongest)) {
      pass_.flaw = kTooLongRow;
      return false;
    }
    const double alpha = loss / (v + noise);
    bool moved = adapt_class(i, m.gains, m.sign * alpha, noise);
    if (m.loses >= 0) moved |= adapt_class(i, m.loses, -alpha, noise);
    return moved;
  }

  bool adapt_class(int64_t i, int64_t c, double alpha, double noise) {
    double* const v = weights(pass_.v, c);
    double* const s = weights(pass_.variance, c);
    double* const lag = pass_.lag ? weights(pass_.lag, c) : nullptr;
    bool moved = false;
    const auto change = [&](int64_t j, double x) SEPARATRIX_INLINE {
      const double by = alpha * (s[j] * x);
      v[j] += by;
      if (lag) lag[j] = fma(pass_.area, by, lag[j]);
      s[j] = s[j] / (1 + s[j] * x * x / noise);  // 1/s grows by x^2 / noise
      moved |= by != 0;
    };
    each_nonzero(rows_, i, change);
    if (pass_.intercept) change(rows_.d, 1.0);
    return moved;
  }

  // Winnow: w_j *= factor^(y x_j). The threshold stays.
  bool multiply(int64_t i, double y, double part) {
    const double factor = part == 1.0 ? pass_.parameter : __builtin_pow(pass_.parameter, part);
    const double once = y > 0 ? factor : 1 / factor;
    bool moved = false;
    each_nonzero(rows_, i, [&](int64_t j, double x) SEPARATRIX_INLINE {
      const double before = pass_.v[j];
      pass_.v[j] = before * (x == 1.0 ? once : __builtin_pow(once, x));
      const double by = pass_.v[j] - before;
      if (pass_.lag) pass_.lag[j] = fma(pass_.area, by, pass_.lag[j]);
      moved |= by != 0;
    });
    return moved;
  }

  const Rows& rows_;
  RulePass& pass_;
  const Buffer<double> scores_;
  bool passive_ = false;
};

template <class Rows>
void online_rule(const Rows& rows, RulePass& pass) {
  RuleRun<Rows> run(rows, pass);
  const auto at = [&](int64_t t) { return pass.order ? pass.order[t] : t; };
  CheckedOrder order(pass.order, pass.count, rows.n);
  int64_t watched = 0;
  for (int64_t& t = pass.position; t < pass.count && pass.updates < pass.max_updates; ++t) {
    if (!order.valid_before(t + 1 + kFarAhead)) {
      pass.flaw = kNoSuchRow;
      return;
    }
    const int64_t i = at(t);
    if (pass.label && !(pass.label[i] >= 0 && pass.label[i] < pass.k)) {
      pass.flaw = kNoSuchClass;
      return;
    }
    prefetch_rows(rows, prefetch_targets(t, pass.count, at));
    bool moved = false;
    double left = pass.weight ? pass.weight[i] : 1.0;
    while (left > 0) {
      moved |= run.visit(i, left < 1 ? left : 1.0);
      if (pass.flaw) return;
      left -= 1;
      if (run.passive() && left > 0) {  // nothing would change any more
        if (pass.lag) pass.area += left;
        left = 0;
      }
      if (++watched >= kStopInterval) {
        watched = 0;
        if ((pass.stopped = pass.should_stop())) return;
      }
    }
    if (moved && pass.log) pass.log[pass.updates] = i;
    pass.updates += moved;
  }
}

}  // namespace separatrix::SEPARATRIX_LEVEL
