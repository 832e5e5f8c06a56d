// Dual coordinate ascent: one alpha at a time, each to its best value.
//
// With p a row's share of all weight, w = sum of p*alpha*y*x / (2*l2) at any time. A change of
// one alpha by t moves its own margin by t*p*(|x|^2/(2*l2) + 1/(2*rho)), where the bias is held
// near where it stood by rho*(b - b_0)^2: so that one alpha can move without another.
//
// Several parts of the rows may be climbed at the same time, each from the same w. Each then
// sees its own moves `parts` times as large: so their mean never overshoots (Ma, Smith, Jaggi,
// Jordan, Richtarik, Takac 2015).
//
// A row that sits at a bound, and whose margin says that it will stay, is left out of `kept`
// (shrinking, as in LIBLINEAR: Hsieh, Chang, Lin, Keerthi, Sundararajan 2008).
#pragma once
#include "losses/margin.hpp"
#include "online/sgd.hpp"
#include "rows/products.hpp"
#include "rows/prefetch.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// What a loss asks of its alphas: the best one where the margin m moves by `bend` times the
// change of alpha, the slope of the dual that it can follow, and whether it will stay.
template <class Loss>
struct Climb;

template <>
struct Climb<Hinge> {
  static double best(double alpha, double m, double bend) {
    const double lack = 1 - m;
    alpha = bend > 0 ? alpha + lack / bend : lack > 0 ? 1.0 : lack < 0 ? 0.0 : alpha;
    return alpha > 1 ? 1 : alpha > 0 ? alpha : 0;
  }
  static double slope(double alpha, double m) {
    const double lack = 1 - m;
    return (alpha <= 0 && lack < 0) || (alpha >= 1 && lack > 0) ? 0 : lack < 0 ? -lack : lack;
  }
  static bool stays(double alpha, double m, double safe) {
    return alpha <= 0 ? m > 1 + safe : alpha >= 1 && m < 1 - safe;
  }
};

template <>
struct Climb<SquaredHinge> {
  static double best(double alpha, double m, double bend) {
    alpha += (1 - m - 0.5 * alpha) / (bend + 0.5);
    return alpha > 0 ? alpha : 0;
  }
  static double slope(double alpha, double m) {
    const double lack = 1 - m - 0.5 * alpha;
    return alpha <= 0 && lack < 0 ? 0 : lack < 0 ? -lack : lack;
  }
  static bool stays(double alpha, double m, double safe) { return alpha <= 0 && m > 1 + safe; }
};

template <>
struct Climb<Logistic> {
  static constexpr double kNear = 0.05;  // a step so short is Newton's last: its error is squared
  static constexpr int kMost = 50;

  // The margin m + t to which the new alpha brings the row is where alpha = -phi'(m + t): a root
  // of t - bend*(-phi'(m + t) - alpha), which rises by 1 at least. No logarithm is needed.
  static double best(double alpha, double m, double bend) {
    double low = -2 * bend, high = 2 * bend, t = 0;  // |t| <= bend, as alpha is in [0, 1]
    Point<double> at = point_at<Logistic>(m);
    if (!(bend > 0)) return -at.slope;
    for (int i = 0; i < kMost; ++i) {
      const double over = t + bend * (at.slope + alpha);
      (over > 0 ? high : low) = t;
      double step = -over / (1 + bend * at.curvature);
      const bool inside = t + step > low && t + step < high;
      t = inside ? t + step : 0.5 * (low + high);
      if (inside && step < kNear && step > -kNear) break;
      at = point_at<Logistic>(m + t);
    }
    alpha += t / bend;
    return alpha > 1 ? 1 : alpha > 0 ? alpha : 0;
  }
  static double slope(double, double) { return 0; }
  static bool stays(double, double, double) { return false; }  // no alpha gets to a bound
};

// What is kept beside the rows lies as far apart as they do.
template <class Rows>
inline void prefetch_beside(const Rows& rows, const DualPass& pass, int64_t i) {
  prefetch_place(rows, i);
  const double* const beside[] = {pass.y, pass.square, pass.alpha};
  for (const double* each : beside) __builtin_prefetch(each + i);
  if (pass.weight) __builtin_prefetch(pass.weight + i);
}

template <class Loss, class Rows>
void climb(const Rows& rows, DualPass& pass) {
  const int64_t d = rows.d;
  double* const w = pass.w;
  const auto at = [&](int64_t t) { return pass.order[t]; };
  for (int64_t t = 0; t < pass.count; ++t) {
    const int64_t i = at(t);
    if (t + kSoon < pass.count) prefetch_beside(rows, pass, at(t + kSoon));
    const double p = (pass.weight ? pass.weight[i] : 1.0) * pass.share * pass.parts;
    const double before = pass.alpha[i], y = pass.y[i];
    const double product = dot(rows, i, w, soon(t, pass.count, at));
    const double m = y * (product + w[d]);
    // The rows behind in `order` have been read: their places may be taken.
    if (Climb<Loss>::stays(before, m, pass.safe)) continue;
    pass.order[pass.kept++] = i;
    pass.slope += Climb<Loss>::slope(before, m);
    const double bend = p * (pass.square[i] * pass.give + pass.bias_give);
    const double after = Climb<Loss>::best(before, m, bend);
    if (after != before) {
      const double change = p * (after - before) * y;
      add(rows, i, change * pass.give, w);
      w[d] += change * pass.bias_give;
      pass.alpha[i] = after;
    }
    if (t % kPatience == kPatience - 1 && (pass.stopped = pass.should_stop())) break;
  }
}

template <class Rows>
void dual_pass(const Rows& rows, DualPass& pass) {
  switch (LossId(pass.loss)) {
    case LossId::hinge: return climb<Hinge>(rows, pass);
    case LossId::squared_hinge: return climb<SquaredHinge>(rows, pass);
    case LossId::logistic: return climb<Logistic>(rows, pass);
    default: return;  // refused by whoever asks
  }
}

}  // namespace separatrix::SEPARATRIX_LEVEL
