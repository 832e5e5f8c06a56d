// Block coordinate descent on a quadratic plus norms of blocks (Qin, Scheinberg and
// Goldfarb, Efficient block-coordinate descent algorithms for the group lasso, 2013).
//
// Problem: minimise over u
//     slope_0 . (u - u_0) + (u - u_0)' H (u - u_0) / 2 + sum of thresholds_b |u_b|
// Input: H, symmetric with no negative eigenvalue and diagonal within every block; u and the slope of
// the smooth part there. A block of several has a threshold above 0 and no curvature of 0.
// Output: both after some epochs, and what the last epoch gained at least.
// Algorithm: one block at a time, to its best value. With c the diagonal of H and pull = c u - slope
// that is 0 if |pull| <= threshold, else r pull / (c r + threshold), where its length r solves
// |pull / (c r + threshold)| = 1: by Newton's method for the inverse of that, which is concave.
#pragma once
#include "abi/table.hpp"
#include "batch/coordinate_descent.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int kMostRootSteps = 100;

// The r at which |pull / (curvature * r + threshold)| is 1; at r = 0 it is more.
inline double block_length(const double* pull, const double* hessian, int64_t stride,
                           int64_t count, double threshold, double r) {
  for (int step = 0; step < kMostRootSteps; ++step) {
    double square = 0, steep = 0;
    for (int64_t j = 0; j < count; ++j) {
      const double curvature = hessian[j * stride], below = curvature * r + threshold;
      const double share = pull[j] / below;
      square += share * share;
      steep += curvature / below * share * share;
    }
    const double next = r + square * (__builtin_sqrt(square) - 1) / steep;
    const double change = next < r ? r - next : next - r;
    r = next > 0 ? next : 0;
    if (!(change > 2e-16 * r)) break;
  }
  return r;
}

inline void block_coordinate_descent(BlockDescent& on) {
  const int64_t m = on.size;
  each_epoch(on, [&] {
    for (int64_t b = 0; b < on.blocks; ++b) {
      const int64_t start = on.starts[b], count = on.starts[b + 1] - start;
      const double* diagonal = on.hessian + start * (m + 1);
      const double threshold = on.thresholds[b];
      double *u = on.u + start, *pull = on.pull;
      if (!(diagonal[0] > 0)) continue;
      double square = 0, length = 0;
      for (int64_t j = 0; j < count; ++j) {
        pull[j] = diagonal[j * (m + 1)] * u[j] - on.slope[start + j];
        square += pull[j] * pull[j];
        length += u[j] * u[j];
      }
      const double size = __builtin_sqrt(square);
      double r = 0;
      if (size > threshold)
        r = count > 1 ? block_length(pull, diagonal, m + 1, count, threshold, __builtin_sqrt(length))
                      : (size - threshold) / diagonal[0];
      for (int64_t j = 0; j < count; ++j) {
        const double curvature = diagonal[j * (m + 1)];
        const double below = curvature * r + threshold;
        const double change = (r > 0 ? r * pull[j] / below : 0) - u[j];
        if (change == 0) continue;
        u[j] += change;
        on.gain += 0.5 * curvature * change * change;
        add_row(on.hessian + (start + j) * m, change, on.slope, m);
      }
      if (!(r > 0))
        for (int64_t j = 0; j < count; ++j) u[j] = 0;
    }
    return true;
  });
}

}  // namespace separatrix::SEPARATRIX_LEVEL
