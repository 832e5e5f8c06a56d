// One epoch of dual coordinate ascent for many classes, all of a row's alphas at once.
//
// Problem: with p_i the share of row i in all weight, maximise over alpha
//     D = - sum of p_i phi_i*(-alpha_i) - l2 |W|^2,   W = sum of p_i u_i(alpha_i) x_i' / (2 l2),
// where u(alpha) is minus the slope by the scores, [c = d] less the share of class c: shares are on
// a simplex, the loss is Crammer and Singer's.
// Input: alphas and the weights that follow from them, in lines; an order of rows.
// Output: both after one visit of each row, the gap of the rows before their updates, and the rows
// that are still active.
// Algorithm: the scores of a row by all classes in one read; its alphas to their best values, the
// others held. A change of u_c by t moves the score of class c by t p (|x|^2 / (2 l2) + 1 / (2 rho)),
// with the biases held near where they stood by rho |b - b_0|^2. The best shares are a projection
// onto the simplex (Keerthi, Sundararajan, Chang, Hsieh and Lin 2008; Michelot 1986).
#pragma once
#include "dual/coordinate_ascent.hpp"
#include "rows/class_lines.hpp"
#include "simd/buffer.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// What a visit of one row found.
struct RowVisit {
  double gap;        // what the row adds to the gap between J and D, in units of its share
  double violation;  // of the conditions at the optimum
  bool active;
};

// Shares of a row on the simplex.
struct CrammerSingerUpdate {
  // factor[c] = the change of minus the slope by s[c]; alpha is moved to its best value.
  static RowVisit visit(const double* s, int64_t k, int64_t label, double curvature,
                        double shrink_margin, double* alpha, double* point, double* factor) {
    // The entries of which the loss is the largest, less the true class's own.
    // Which class is the largest, or has a share, is hard to foretell: no branch depends on it.
    const double own = s[label], none = -__builtin_inf();
    double top = 0, second = none, lowest = -none, mean = 0;
    int64_t at_top = label, support = 0;
    for (int64_t c = 0; c < k; ++c) {
      const double entry = point[c] = c == label ? 0.0 : s[c] - own + 1;
      const double rival = c == label ? none : entry;
      const bool higher = !(rival <= top), held = alpha[c] > 0;
      const double lower = higher ? top : rival;
      second = lower > second ? lower : second;
      top = higher ? rival : top;
      at_top = higher ? c : at_top;
      support += held;
      mean += held ? alpha[c] * entry : 0.0;
      lowest = held && entry < lowest ? entry : lowest;
      factor[c] = 0;
    }
    const bool settled = support == 1 && alpha[at_top] > 0;
    if (settled && top - second > shrink_margin) return {0, 0, false};
    const RowVisit found{top - mean, top - lowest, true};
    if (settled || !(found.violation > 0)) return found;
    project(alpha, k, at_top, top, curvature, point);
    for (int64_t c = 0; c < k; ++c) {
      factor[c] = alpha[c] - point[c];
      alpha[c] = point[c];
    }
    return found;
  }

 private:
  // point <- the shares nearest to alpha + point / curvature.
  static void project(const double* alpha, int64_t k, int64_t at_top, double top, double curvature,
                      double* point) {
    const double per_curvature = 1 / curvature;
    if (!(per_curvature < __builtin_inf())) {
      for (int64_t c = 0; c < k; ++c) point[c] = c == at_top ? 1.0 : 0.0;
      return;
    }
    double sum = 0;
    int64_t count = 0;
    for (int64_t c = 0; c < k; ++c) {
      // Only differences count: to the largest entry, none overflows upwards.
      point[c] = alpha[c] + (point[c] - top) * per_curvature;
      sum += point[c] > -2 ? point[c] : 0.0;
      count += point[c] > -2;
    }
    // Those below the cut are left out until none is: each time the cut rises.
    double cut = (sum - 1) / double(count);
    for (int64_t before = k + 1; count < before;) {
      before = count;
      sum = 0;
      count = 0;
      for (int64_t c = 0; c < k; ++c) {
        const bool above = point[c] > cut;
        sum += above ? point[c] : 0.0;
        count += above;
      }
      cut = (sum - 1) / double(count);
    }
    for (int64_t c = 0; c < k; ++c) point[c] = point[c] > cut ? point[c] - cut : 0.0;
  }
};

template <class Rows>
void multiclass_epoch(const Rows& rows, MulticlassEpoch& pass) {
  const int64_t k = pass.k, width = pass.width;
  double* const biases = pass.lines + rows.d * width;
  const auto score = Buffer<double>::zeros(3 * width);
  double *const point = score + width, *const factor = point + width;
  for (int64_t t = 0; t < pass.count; ++t) {
    const int64_t i = pass.order[t];
    if (t + kLabelsAhead < pass.count) {
      const int64_t later = pass.order[t + kLabelsAhead];
      prefetch_place(rows, later);
      prefetch<3>(pass.alpha + later * k, 8 * k);
    }
    prefetch_rows(rows, prefetch_targets(t, pass.count, [&](int64_t at) { return pass.order[at]; }));
    dot_lines(rows, i, pass.lines, k, width, score);
    for (int64_t c = 0; c < k; ++c) score[c] += biases[c];
    for (int64_t c = 0; c < k && pass.offset; ++c) score[c] += pass.offset[i * k + c];
    const double p = (pass.weight ? pass.weight[i] : 1.0) * pass.inv_weight_sum;
    const double curvature = p * (pass.row_norm2[i] * pass.inv_2l2 + pass.bias_inv_penalty);
    const RowVisit found = CrammerSingerUpdate::visit(score, k, pass.label[i], curvature, pass.shrink_margin,
                                         pass.alpha + i * k, point, factor);
    if (found.active) pass.order[pass.n_active++] = i;
    pass.gap += p * found.gap;
    pass.violation += found.violation;
    bool moves = false;
    for (int64_t c = 0; c < k; ++c) {
      moves |= factor[c] != 0;
      biases[c] += factor[c] * p * pass.bias_inv_penalty;
      factor[c] *= p * pass.inv_2l2;
    }
    if (moves) add_lines(rows, i, factor, k, width, pass.lines);
    if (t % kStopInterval == kStopInterval - 1 && (pass.stopped = pass.should_stop())) break;
  }
}

}  // namespace separatrix::SEPARATRIX_LEVEL
