// Coordinate descent on a quadratic plus absolute values (Friedman, Hastie and Tibshirani,
// Regularization paths for generalized linear models via coordinate descent, 2010).
//
// Problem: minimise over u
//     slope_0 . (u - u_0) + (u - u_0)' H (u - u_0) / 2 + sum of thresholds_j |u_j|
// Input: H, symmetric with no negative eigenvalue; u and the slope of the smooth part there.
// Output: both after some epochs, and what the last epoch gained at least.
// Algorithm: one u_j at a time, to its best value: nearer to 0 by thresholds_j / H_jj than where the
// slope alone would take it, and no further than 0. The slope of all follows along a row of H.
#pragma once
#include "abi/table.hpp"
#include "simd/doubles.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// to += factor * from
inline void add_row(const double* from, double factor, double* to, int64_t count) {
  const Doubles by = splat<Doubles>(factor);
  int64_t j = 0;
  for (; j + kWidth <= count; j += kWidth) store(to + j, fma(by, load(from + j), load(to + j)));
  for (; j < count; ++j) to[j] = fma(factor, from[j], to[j]);
}

// Epochs until one gains no more than is enough; epoch() adds to the gain, and returns false if it
// was stopped.
template <class Epoch>
inline void each_epoch(DescentEpochs& on, Epoch&& epoch) {
  for (on.epochs = 0; on.epochs < on.max_epochs && !(on.stopped = on.should_stop());) {
    on.gain = 0;
    if (!epoch()) return;
    ++on.epochs;
    if (on.gain <= on.enough) return;
  }
}

inline void coordinate_descent(QuadraticDescent& on) {
  const int64_t m = on.size;
  each_epoch(on, [&] {
    for (int64_t j = 0; j < m; ++j) {
      const double* row = on.hessian + j * m;
      const double curvature = row[j];
      if (!(curvature > 0)) continue;
      // All in units of the slope, so that a u_j at 0 with a small slope costs no division.
      const double pull = curvature * on.u[j] - on.slope[j], least = on.thresholds[j];
      const double size = pull < 0 ? -pull : pull;
      const double best = size <= least ? 0 : (pull < 0 ? least - size : size - least) / curvature;
      const double change = best - on.u[j];
      if (change == 0) continue;
      on.u[j] = best;
      on.gain += 0.5 * curvature * change * change;
      add_row(row, change, on.slope, m);
    }
    return true;
  });
}

}  // namespace separatrix::SEPARATRIX_LEVEL
