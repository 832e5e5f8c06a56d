// Rows by many weights at once, how far they are from their mean, and products of their features.
#pragma once
#include "batch/value_gradient.hpp"
#include "simd/panels.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

template <class Rows>
bool right(const Rows& rows, const double* y, const int64_t* label, const double* weight,
           const double* weights, int64_t m, int64_t k, double* right, ShouldStop stop) {
  return each_score(rows, weights, m * k, stop, [&](int64_t i, const double* scores) {
    const double c = weight ? weight[i] : 1.0;
    if (y) {  // without a branch on the sign of a score
      const double if_positive = y[i] > 0 ? c : 0.0, if_negative = y[i] > 0 ? 0.0 : c;
      for (int64_t a = 0; a < m; ++a) right[a] += scores[a] >= 0 ? if_positive : if_negative;
      return;
    }
    for (int64_t a = 0; a < m; ++a, scores += k) {
      int64_t best = 0;
      for (int64_t b = 1; b < k; ++b) best = scores[b] > scores[best] ? b : best;
      right[a] += best == label[i] ? c : 0.0;
    }
  });
}

// The sum of ((x - mean) * factor)^2 over a row.
template <class Value>
inline double squared_distance(const Value* x, const double* mean, const double* factor,
                               int64_t d) {
  Sum sum{};
  int64_t j = 0;
  for (; j + kLanes <= d; j += kLanes)
    for (int p = 0; p < kPacks; ++p) {
      const int64_t at = j + p * kWidth;
      const Doubles away = (load(x + at) - load(mean + at)) * load(factor + at);
      sum.part[p] = fma(away, away, sum.part[p]);
    }
  double rest = 0;
  for (; j < d; ++j) {
    const double away = (double(x[j]) - mean[j]) * factor[j];
    rest = fma(away, away, rest);
  }
  return sum.total() + rest;
}

template <class Value>
inline double squared_distance(const DenseRows<Value>& rows, int64_t i, const double* mean,
                               const double* factor, double*) {
  return squared_distance(row(rows, i), mean, factor, rows.d);
}

// `zeros` is a row of them, and is left so.
template <class Value, class Index>
inline double squared_distance(const CsrRows<Value, Index>& rows, int64_t i, const double* mean,
                               const double* factor, double* zeros) {
  each_value(rows, i, [&](int64_t j, double x) { zeros[j] += x; });
  const double square = squared_distance(zeros, mean, factor, rows.d);
  each_value(rows, i, [&](int64_t j, double) { zeros[j] = 0; });
  return square;
}

template <class Rows>
bool farthest(const Rows& rows, const double* weight, const double* mean, const double* factor,
              double& square, ShouldStop stop) {
  double* const zeros = new double[size_t(rows.d)]();
  const bool done = each_tile(rows, tile_rows(rows), stop, [&](int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
      if (weight && weight[i] == 0) continue;
      const double own = squared_distance(rows, i, mean, factor, zeros);
      if (own > square || own != own) square = own;  // a NaN shows
    }
  });
  delete[] zeros;
  return done;
}

// Rows z = (x - mean, 1) * factor that are multiplied at a time, in rows of a width.
constexpr int64_t kTall = 32;

template <class Value>
inline void centre(const DenseRows<Value>& rows, int64_t i, const double* mean,
                   const double* factor, const double*, double* z) {
  const Value* const x = row(rows, i);
  int64_t j = 0;
  for (; j + kWidth <= rows.d; j += kWidth)
    store(z + j, (load(x + j) - load(mean + j)) * load(factor + j));
  for (; j < rows.d; ++j) z[j] = (double(x[j]) - mean[j]) * factor[j];
}

// `empty` is a row of zeros, centred.
template <class Value, class Index>
inline void centre(const CsrRows<Value, Index>& rows, int64_t i, const double*,
                   const double* factor, const double* empty, double* z) {
  std::memcpy(z, empty, 8 * size_t(rows.d));
  each_value(rows, i, [&](int64_t j, double x) { z[j] += x * factor[j]; });
}

// total (width, width) += a' b for kTileRows columns of a and kPanel of b.
__attribute__((noinline)) inline void add_products(const double* a, const double* b,
                                                   int64_t width, int64_t count, double* total) {
  Doubles products[kTileRows][kPieces];
  panel_products(a, 1, width, b, width, count, products);
  for (int r = 0; r < kTileRows; ++r)
    for (int v = 0; v < kPieces; ++v) {
      double* const to = total + r * width + v * kWidth;
      store(to, load(to) + products[r][v]);
    }
}

template <class Rows>
bool gram(const Rows& rows, const double* weight, const double* mean, const double* factor,
          double* out, ShouldStop stop) {
  const int64_t d = rows.d, width = (d + kPanel) / kPanel * kPanel;  // of d + 1, filled up
  double* const room = new double[size_t((2 * kTall + width + 1) * width)]();
  double *const z = room, *const weighted = z + kTall * width;
  double *const empty = weighted + kTall * width, *const total = empty + width;
  for (int64_t j = 0; j < d; ++j) empty[j] = (0.0 - mean[j]) * factor[j];
  const bool done = each_tile(rows, kTall, stop, [&](int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      double *const own = z + i * width, *const scaled = weighted + i * width;
      centre(rows, first + i, mean, factor, empty, own);
      own[d] = factor[d];
      for (int64_t j = 0; j <= d; ++j) scaled[j] = weight[first + i] * own[j];
    }
    for (int64_t a = 0; a < width; a += kTileRows)  // the upper half, and what is beside it
      for (int64_t b = a / kPanel * kPanel; b < width; b += kPanel)
        add_products(weighted + a, z + b, width, count, total + a * width + b);
  });
  for (int64_t a = 0; a <= d; ++a)
    for (int64_t b = a; b <= d; ++b) {
      out[a * (d + 1) + b] += total[a * width + b];
      if (b > a) out[b * (d + 1) + a] += total[a * width + b];
    }
  delete[] room;
  return done;
}

}  // namespace separatrix::SEPARATRIX_LEVEL
