// One epoch of dual coordinate ascent (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008).
//
// Problem: with p_i the share of row i in all weight, maximise over alpha
//     D = - sum of p_i phi*(-alpha_i) - l2 |w|^2,   w = sum of p_i alpha_i y_i x_i / (2 l2)
// Input: alpha and the weights that follow from it, an order of rows.
// Output: both after one visit of each row, and the rows that are still active.
// Algorithm: one alpha at a time, to its best value. A change of it by t moves its own margin by
//     t p (|x|^2 / (2 l2) + 1 / (2 rho)),
// where the bias is held near where it stood by rho (b - b_0)^2, so that one alpha can move without
// another. A row that sits at a bound, and whose margin says that it will stay, is no longer active
// (shrinking, as in LIBLINEAR). An offset o_i of the scores is part of the margins, and takes
// p alpha_i y_i o_i from the dual. The logistic loss takes Newton's steps inside a bracket (Yu, Huang
// and Lin 2011).
#pragma once
#include "abi/table.hpp"
#include "losses/margin.hpp"
#include "rows/prefetch.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// What a loss asks of its alphas: the best one where the margin m moves by `curvature` times the
// change of alpha; the projected gradient of the dual; whether it will stay at its bound; and how
// far phi(m) is above the tangent that alpha stands for, phi(m) + phi*(-alpha) + alpha m: what the
// row adds to the duality gap.
template <class Loss>
struct CoordinateUpdate;

template <>
struct CoordinateUpdate<Hinge> {
  static double argmax(double alpha, double m, double curvature) {
    const double lack = 1 - m;
    alpha = curvature > 0 ? alpha + lack / curvature : lack > 0 ? 1.0 : lack < 0 ? 0.0 : alpha;
    return alpha > 1 ? 1 : alpha > 0 ? alpha : 0;
  }
  static double projected_gradient(double alpha, double m) {
    const double lack = 1 - m;
    return (alpha <= 0 && lack < 0) || (alpha >= 1 && lack > 0) ? 0 : lack < 0 ? -lack : lack;
  }
  static bool can_shrink(double alpha, double m, double shrink_margin) {
    return alpha <= 0 ? m > 1 + shrink_margin : alpha >= 1 && m < 1 - shrink_margin;
  }
  static double gap(double alpha, double m) {
    return m < 1 ? (1 - alpha) * (1 - m) : alpha * (m - 1);
  }
};

template <>
struct CoordinateUpdate<SquaredHinge> {
  static double argmax(double alpha, double m, double curvature) {
    alpha += (1 - m - 0.5 * alpha) / (curvature + 0.5);
    return alpha > 0 ? alpha : 0;
  }
  static double projected_gradient(double alpha, double m) {
    const double lack = 1 - m - 0.5 * alpha;
    return alpha <= 0 && lack < 0 ? 0 : lack < 0 ? -lack : lack;
  }
  static bool can_shrink(double alpha, double m, double shrink_margin) {
    return alpha <= 0 && m > 1 + shrink_margin;
  }
  static double gap(double alpha, double m) {
    const double lack = 1 - m - 0.5 * alpha;
    return m < 1 ? lack * lack : alpha * (m - 1 + 0.25 * alpha);
  }
};

template <>
struct CoordinateUpdate<Logistic> {
  static constexpr double kFarOff = 0.1;
  // -phi'(m) = top / bottom and phi''(m) = e / bottom^2, multiplied out below: a row waits for what
  // the one before it did to the weights, and for nothing as long as for divisions.
  struct Slope {
    double e, top, bottom;
    explicit Slope(double m)
        : e(exp_negative(Logistic::exponent(m))), top(m > 0 ? e : 1), bottom(1 + e) {}
  };
  // alpha = -phi'(m + t), where t is curvature times the change of alpha: one of Newton's steps,
  // and more only where it is long. No logarithm is needed.
  static double argmax(double alpha, double m, double curvature) {
    const Slope at(m);
    const double square = at.bottom * at.bottom;
    const double step = (at.top * at.bottom - alpha * square) / (square + curvature * at.e);
    const double t = curvature * step;
    const bool is_last = t < kNewtonLastStep && t > -kNewtonLastStep;
    alpha = is_last ? alpha + step : bracketed_newton(alpha, m, curvature);
    return alpha > 1 ? 1 : alpha > 0 ? alpha : 0;
  }
  // The root of t + curvature * (phi'(m + t) + alpha), which rises by 1 at least.
  static __attribute__((noinline)) double bracketed_newton(double alpha, double m,
                                                           double curvature) {
    // |t| <= curvature, as alpha is in [0, 1].
    double low = -2 * curvature, high = 2 * curvature, t = 0;
    for (int i = 0; i < kNewtonMaxIter; ++i) {
      const Point<double> at = point_at<Logistic>(m + t);
      const double over = t + curvature * (at.slope + alpha);
      (over > 0 ? high : low) = t;
      const double step = -over / (1 + curvature * at.curvature);
      if (t + step == t) break;
      const bool inside = t + step > low && t + step < high;
      t = inside ? t + step : 0.5 * (low + high);
      if (inside && step < kNewtonLastStep && step > -kNewtonLastStep) break;
    }
    return alpha + t / curvature;
  }
  static double projected_gradient(double, double) { return 0; }
  static bool can_shrink(double, double, double) { return false; }  // no alpha gets to a bound
  // The square that it is near the minimum, without logarithms; far away about as large.
  static double gap(double alpha, double m) {
    const Slope at(m);
    const double off = alpha * at.bottom - at.top, size = off < 0 ? -off : off;
    return size > 0 ? off * off / (2 * at.e + kFarOff * size * at.bottom) : 0;
  }
};

// What is kept of each row lies as far apart as they do.
template <class Rows>
inline void prefetch_row_state(const Rows& rows, const CoordinateEpoch& pass, int64_t i) {
  prefetch_place(rows, i);
  const double* const of_rows[] = {pass.y, pass.row_norm2, pass.alpha};
  for (const double* each : of_rows) __builtin_prefetch(each + i);
  if (pass.weight) __builtin_prefetch(pass.weight + i);
  if (pass.offset) __builtin_prefetch(pass.offset + i);
}

template <class Loss, class Rows>
void ascend(const Rows& rows, CoordinateEpoch& pass) {
  const int64_t d = rows.d;
  double* const w = pass.w;
  const auto at = [&](int64_t t) { return pass.order[t]; };
  for (int64_t t = 0; t < pass.count; ++t) {
    const int64_t i = at(t);
    if (t + kLabelsAhead < pass.count) prefetch_row_state(rows, pass, at(t + kLabelsAhead));
    const double p = (pass.weight ? pass.weight[i] : 1.0) * pass.inv_weight_sum;
    const double before = pass.alpha[i], y = pass.y[i];
    const double product = dot(rows, i, w, prefetch_targets(t, pass.count, at));
    double score = product + w[d];
    if (pass.offset) score += pass.offset[i];
    const double m = y * score;
    // The rows behind in `order` have been read: their places may be taken.
    if (CoordinateUpdate<Loss>::can_shrink(before, m, pass.shrink_margin)) continue;
    const double own_gap = p * CoordinateUpdate<Loss>::gap(before, m);
    if (pass.row_gap) pass.row_gap[pass.n_active] = own_gap;
    pass.order[pass.n_active++] = i;
    pass.projected_gradient += CoordinateUpdate<Loss>::projected_gradient(before, m);
    pass.gap += own_gap;
    const double curvature = p * (pass.row_norm2[i] * pass.inv_2l2 + pass.bias_inv_penalty);
    const double after = CoordinateUpdate<Loss>::argmax(before, m, curvature);
    if (after != before) {
      const double change = p * (after - before) * y;
      add(rows, i, change * pass.inv_2l2, w);
      w[d] += change * pass.bias_inv_penalty;
      pass.alpha[i] = after;
    }
    if (t % kStopInterval == kStopInterval - 1 && (pass.stopped = pass.should_stop())) break;
  }
}

template <class Rows>
void coordinate_epoch(const Rows& rows, CoordinateEpoch& pass) {
  switch (LossId(pass.loss)) {
    case LossId::hinge: return ascend<Hinge>(rows, pass);
    case LossId::squared_hinge: return ascend<SquaredHinge>(rows, pass);
    case LossId::logistic: return ascend<Logistic>(rows, pass);
    default: return;  // rejected by the caller
  }
}

}  // namespace separatrix::SEPARATRIX_LEVEL
