// Sums of products to twice the working precision (Ogita, Rump and Oishi, 2005, algorithm Dot2):
// what every product and every sum loses is summed as well.
#pragma once
#include "batch/tiles.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

struct Compensated {
  double high = 0, low = 0;

  SEPARATRIX_INLINE void add(double term, double lost = 0) {
    const double sum = high + term, part = sum - high;
    low += ((high - (sum - part)) + (term - part)) + lost;
    high = sum;
  }
  // Not the level's own fma, which is not fused where the processor has none.
  SEPARATRIX_INLINE void add_product(double a, double b) {
    const double product = a * b;
    add(product, __builtin_fma(a, b, -product));
  }
};

constexpr int kSums = 4;  // side by side, as each waits for its last addition

template <class Value>
inline void add_products(const DenseRows<Value>& rows, int64_t i, const double* w,
                         Compensated* sums) {
  const Value* const x = row(rows, i);
  int64_t j = 0;
  for (; j + kSums <= rows.d; j += kSums)
    for (int l = 0; l < kSums; ++l) sums[l].add_product(double(x[j + l]), w[j + l]);
  for (; j < rows.d; ++j) sums[0].add_product(double(x[j]), w[j]);
}

template <class Value, class Index>
inline void add_products(const CsrRows<Value, Index>& rows, int64_t i, const double* w,
                         Compensated* sums) {
  int l = 0;
  each_value(rows, i, [&](int64_t j, double x) {
    sums[l].add_product(x, w[j]);
    l = (l + 1) % kSums;
  });
}

// high + low (n, k): the rows' scores, of which `high` is the nearest double.
template <class Rows>
bool compensated_scores(const Rows& rows, const double* weights, int64_t k, double* high,
                        double* low, ShouldStop stop) {
  return each_tile(rows, tile_rows(rows), stop, [&](int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i)
      for (int64_t c = 0; c < k; ++c) {
        const double* const w = weights + c * (rows.d + 1);
        Compensated sums[kSums];
        add_products(rows, i, w, sums);
        for (int l = 1; l < kSums; ++l) sums[0].add(sums[l].high, sums[l].low);
        sums[0].add(w[rows.d]);
        const double score = sums[0].high + sums[0].low;
        high[i * k + c] = score;
        low[i * k + c] = (sums[0].high - score) + sums[0].low;
      }
  });
}

template <class Value, class F>
inline void each_value(const DenseRows<Value>& rows, int64_t i, F&& f) {
  const Value* const x = row(rows, i);
  for (int64_t j = 0; j < rows.d; ++j) f(j, double(x[j]));
}

// high + low (k, d + 1) += coefficients' . (rows, 1) for coefficients (n, k)
template <class Rows>
bool compensated_transpose_product(const Rows& rows, const double* coefficients, int64_t k,
                                   double* high, double* low, ShouldStop stop) {
  return each_tile(rows, tile_rows(rows), stop, [&](int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i)
      for (int64_t c = 0; c < k; ++c) {
        const double a = coefficients[i * k + c];
        if (a == 0) continue;
        double *const h = high + c * (rows.d + 1), *const l = low + c * (rows.d + 1);
        const auto add = [&](int64_t j, double x) {
          Compensated sum{h[j], l[j]};
          sum.add_product(a, x);
          h[j] = sum.high;
          l[j] = sum.low;
        };
        each_value(rows, i, add);
        add(rows.d, 1.0);
      }
  });
}

}  // namespace separatrix::SEPARATRIX_LEVEL
