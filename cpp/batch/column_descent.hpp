// Coordinate descent by columns on a second-order model of J plus absolute values
// (Friedman, Hastie and Tibshirani, Regularization paths for generalized linear models via
// coordinate descent, 2010).
//
// Problem: minimise over w and, if it is free, the bias b
//     sum of g_i t_i + h_i t_i^2 / 2  +  sum of ridge_j w_j^2 / 2 + thresholds_j |w_j|,
// t_i = x_i . (w - w_0) + b - b_0 the change of a row's score.
// Input: columns of X, each stored as a row is elsewhere; h; w; slope_i = g_i + h_i t_i there.
// Output: both after some epochs, and a lower bound on the gain of the last.
// Algorithm: minimise over one w_j at a time. A free bias is updated with every change, as if
// columns were centred: it keeps the sum of all slopes at 0. It adds shift * h_i to them, so a
// sparse column stays sparse.
#pragma once
#include "batch/coordinate_descent.hpp"
#include "rows/products.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// Sums in kLanes partial ones, whatever the width of the level.
struct LaneSum {
  double lane[kLanes] = {};
  double total() const {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
  }
};

// Sum of h (x - mean)^2 over a column.
template <class Value>
inline double squares_about(const DenseRows<Value>& columns, int64_t j, const double* h, double mean,
                            double) {
  const Value* const x = row(columns, j);
  LaneSum sum;
  int64_t i = 0;
  for (; i + kLanes <= columns.d; i += kLanes)
    for (int l = 0; l < kLanes; ++l) {
      const double off = double(x[i + l]) - mean;
      sum.lane[l] += h[i + l] * off * off;
    }
  for (; i < columns.d; ++i) {
    const double off = double(x[i]) - mean;
    sum.lane[i % kLanes] += h[i] * off * off;
  }
  return sum.total();
}

// Zeros that are not stored are as far from the mean as it is from 0.
template <class Value, class Index>
inline double squares_about(const CsrRows<Value, Index>& columns, int64_t j, const double* h,
                            double mean, double total) {
  double sum = 0, stored = 0;
  for (Index at = columns.indptr[j]; at < columns.indptr[j + 1]; ++at) {
    const double off = double(columns.data[at]) - mean, here = h[columns.indices[at]];
    sum += here * off * off;
    stored += here;
  }
  const double others = total - stored;
  return sum + (others > 0 ? others * mean * mean : 0);
}

// slope += change * h * x
template <class Value>
inline void add_curved(const DenseRows<Value>& columns, int64_t j, double change, const double* h,
                       double* slope) {
  const Value* const x = row(columns, j);
  const Doubles by = splat<Doubles>(change);
  int64_t i = 0;
  for (; i + kWidth <= columns.d; i += kWidth)
    store(slope + i, fma(by * load(h + i), load(x + i), load(slope + i)));
  for (; i < columns.d; ++i) slope[i] = fma(change * h[i], double(x[i]), slope[i]);
}

template <class Value, class Index>
inline void add_curved(const CsrRows<Value, Index>& columns, int64_t j, double change,
                       const double* h, double* slope) {
  for (Index at = columns.indptr[j]; at < columns.indptr[j + 1]; ++at) {
    const Index i = columns.indices[at];
    slope[i] = fma(change * h[i], double(columns.data[at]), slope[i]);
  }
}

// products (m) = sum of h x over each column, squares (m) = sum of h (x - mean)^2, where the mean
// is products / total if the bias is free, and else 0.
template <class Rows>
bool column_curvatures(const Rows& columns, const double* h, double total, bool bias,
                       double* products, double* squares, ShouldStop should_stop) {
  for (int64_t j = 0; j < columns.n; ++j) {
    if (j % kStopInterval == kStopInterval - 1 && should_stop()) return false;
    products[j] = dot(columns, j, h);
    const double mean = bias && total > 0 ? products[j] / total : 0;
    squares[j] = squares_about(columns, j, h, mean, total);
  }
  return true;
}

template <class Rows>
void column_descent(const Rows& columns, ColumnDescent& on) {
  const double inv_total = on.total > 0 ? 1 / on.total : 0;  // 0: the bias stays
  each_epoch(on, [&] {
    for (int64_t j = 0; j < columns.n; ++j) {
      if (j % kStopInterval == kStopInterval - 1 && (on.stopped = on.should_stop())) return false;
      const double w = on.w[j], least = on.thresholds[j];
      if (!on.zeros && w == 0 && least > 0) continue;
      const double curvature = on.squares[j] + on.ridge[j];
      const double slope =
          dot(columns, j, on.slope) + on.shift * on.products[j] + on.ridge[j] * w;
      double best = 0;
      if (curvature > 0) {
        const double pull = curvature * w - slope, size = pull < 0 ? -pull : pull;
        if (size > least) best = (pull < 0 ? least - size : size - least) / curvature;
      } else if (!(least > 0)) {
        continue;  // nothing is known of where it should be
      }
      const double change = best - w;
      if (change == 0) continue;
      on.w[j] = best;
      on.gain += 0.5 * curvature * change * change;
      add_curved(columns, j, change, on.curvature, on.slope);
      on.shift -= change * on.products[j] * inv_total;
    }
    return true;
  });
}

}  // namespace separatrix::SEPARATRIX_LEVEL
