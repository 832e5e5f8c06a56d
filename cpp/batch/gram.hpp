// Products of all features with all others.
#pragma once
#include "batch/tiles.hpp"
#include "simd/buffer.hpp"
#include "simd/panels.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// Rows z = (x - mean, 1) * factor that are multiplied at a time, in rows of a width.
constexpr int64_t kTall = 32;

template <class Value>
inline void centre(const DenseRows<Value>& rows, int64_t i, const double* mean,
                   const double* factor, double* z) {
  const Value* const x = row(rows, i);
  int64_t j = 0;
  for (; j + kWidth <= rows.d; j += kWidth)
    store(z + j, (load(x + j) - load(mean + j)) * load(factor + j));
  for (; j < rows.d; ++j) z[j] = (double(x[j]) - mean[j]) * factor[j];
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

template <class Value>
bool add_gram(const DenseRows<Value>& rows, const double* weight, const double* mean,
              const double* factor, double* out, ShouldStop stop) {
  const int64_t d = rows.d, width = (d + kPanel) / kPanel * kPanel;  // of d + 1, filled up
  const auto room = Buffer<double>::zeros((2 * kTall + width) * width);
  double *const z = room, *const weighted = z + kTall * width;
  double* const total = weighted + kTall * width;
  const bool done = each_tile(rows, kTall, stop, [&](int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      double *const own = z + i * width, *const scaled = weighted + i * width;
      centre(rows, first + i, mean, factor, own);
      own[d] = factor[d];
      for (int64_t j = 0; j <= d; ++j) scaled[j] = weight[first + i] * own[j];
    }
    for (int64_t a = 0; a < width; a += kTileRows)  // the upper half, up to whole panels
      for (int64_t b = a / kPanel * kPanel; b < width; b += kPanel)
        add_products(weighted + a, z + b, width, count, total + a * width + b);
  });
  for (int64_t a = 0; a <= d; ++a)
    for (int64_t b = a; b <= d; ++b) {
      out[a * (d + 1) + b] += total[a * width + b];
      if (b > a) out[b * (d + 1) + a] += total[a * width + b];
    }
  return done;
}

// Of the values that are stored, for rows that store few: centred after they are summed.
template <class Value, class Index>
bool add_gram(const CsrRows<Value, Index>& rows, const double* weight, const double* mean,
              const double* factor, double* out, ShouldStop stop) {
  const int64_t d = rows.d, width = d + 1;
  const auto total = Buffer<double>::zeros(width * width);  // the upper half, of (x, 1)
  const bool done = each_tile(rows, kStopInterval, stop, [&](int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
      if (weight[i] == 0) continue;  // as if absent, whatever is in it
      const Index end = rows.indptr[i + 1];
      for (Index p = rows.indptr[i]; p < end; ++p) {
        const double scaled = weight[i] * double(rows.data[p]);
        double* const to = total + int64_t(rows.indices[p]) * width;
        for (Index q = p; q < end; ++q) to[rows.indices[q]] += scaled * double(rows.data[q]);
        to[d] += scaled;
      }
      total[d * width + d] += weight[i];
    }
  });
  const double all = total[d * width + d];
  for (int64_t a = 0; a <= d; ++a) {
    const double own = a < d ? mean[a] : 0.0, sum = total[a * width + d];
    for (int64_t b = a; b <= d; ++b) {
      const double other = b < d ? mean[b] : 0.0;
      const double centred =
          total[a * width + b] - other * sum - own * (total[b * width + d] - all * other);
      const double product = centred * factor[a] * factor[b];
      out[a * width + b] += product;
      if (b > a) out[b * width + a] += product;
    }
  }
  return done;
}

template <class Rows>
bool gram(const Rows& rows, const double* weight, const double* mean, const double* factor,
          double* out, ShouldStop stop) {
  return add_gram(rows, weight, mean, factor, out, stop);
}

}  // namespace separatrix::SEPARATRIX_LEVEL
