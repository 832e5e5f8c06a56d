// The two-loop recursion of L-BFGS (Nocedal, Updating quasi-Newton matrices with limited storage,
// Mathematics of Computation 35, 1980).
//
// Problem: minus the inverse of a second derivative, as the last steps tell it, times the gradient.
// Input: pairs of a step s and of what the gradient y changed by in it, the latest last.
// Output: that direction, and the slope along it.
// Algorithm: down from the latest pair to the first and up again. Every change of the direction and
// the product that the next one waits for are one read of memory (AXPY_DOT in Blackford and others,
// An updated set of basic linear algebra subprograms, 2002).
#pragma once
#include "abi/table.hpp"
#include "simd/doubles.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// q <- scale * q + a * x, and the sum of z * q. A function of its own: see products.
[[gnu::noinline]] inline double axpy_dot(double scale, double* q, double a, const double* x,
                                         const double* z, int64_t count) {
  Sum sum{};
  const Doubles by = splat<Doubles>(scale), times = splat<Doubles>(a);
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes)
    unrolled<kPacks>([&](auto p) SEPARATRIX_INLINE {
      const int64_t at = j + p * kWidth;
      const Doubles moved = fma(times, load(x + at), by * load(q + at));
      store(q + at, moved);
      sum.part[p] = fma(load(z + at), moved, sum.part[p]);
    });
  double rest = 0;
  for (; j < count; ++j) {
    q[j] = fma(a, x[j], scale * q[j]);
    rest = fma(z[j], q[j], rest);
  }
  return sum.total() + rest;
}

// The same for all of the direction; products are summed in blocks, and these in their order.
inline double axpy_dot(const TwoLoop& of, double scale, double a, const double* x,
                       const double* z) {
  double total = 0;
  for (int64_t at = 0; at < of.size; at += kSumBlock) {
    const int64_t left = of.size - at, count = left < kSumBlock ? left : kSumBlock;
    double* const q = of.direction + at;
    if (scale == 0) __builtin_memset(q, 0, size_t(count) * sizeof(double));  // not yet a number
    total += axpy_dot(scale, q, a, x + at, z + at, count);
  }
  return total;
}

inline double two_loop(const TwoLoop& of) {
  const int64_t m = of.pairs;
  if (m == 0) return axpy_dot(of, 0, -1, of.gradient, of.gradient);
  double product = axpy_dot(of, 0, -1, of.gradient, of.s[m - 1]);
  for (int64_t i = m - 1; i >= 0; --i) {
    of.alphas[i] = product / of.curvature[i];
    product = axpy_dot(of, 1, -of.alphas[i], of.y[i], i > 0 ? of.s[i - 1] : of.y[0]);
  }
  double scale = of.scale;
  product *= scale;
  for (int64_t i = 0; i < m; ++i) {
    const double change = of.alphas[i] - product / of.curvature[i];
    product = axpy_dot(of, scale, change, of.s[i], i + 1 < m ? of.y[i + 1] : of.gradient);
    scale = 1;
  }
  return product;
}

}  // namespace separatrix::SEPARATRIX_LEVEL
