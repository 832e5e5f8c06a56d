// The Gaussian kernel in tiles that stay in registers.
//
// Every kernel value is one chain of fused products over the features, whatever else is computed
// along with it: the same bits in any company, for (x, z) and (z, x), and exactly 1 for (x, x).
#pragma once
#include "abi/passes.hpp"
#include "simd/bundle.hpp"
#include "simd/exp.hpp"
#include "simd/panels.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int64_t kKernelStopInterval = 1 << 18;  // kernel values between two looks at should_stop

// e^(factor * x) for x >= 0 and factor <= 0; what is below 0 is rounding, what underflows is 0.
template <class T>
inline T exp_neg(T x, double factor) {
  x = factor * select(x < 0.0, splat<T>(0.0), x);
  return select(x < -708.0, splat<T>(0.0), exp_negative(x));
}

inline void exp_neg_all(double* values, int64_t count, double factor) {
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) store(values + i, exp_neg(load(values + i), factor));
  for (; i < count; ++i) values[i] = exp_neg(values[i], factor);
}

inline double square(const double* x, int64_t d) {
  double sum = 0;
  for (int64_t j = 0; j < d; ++j) sum = fma(x[j], x[j], sum);
  return sum;
}

// kPanel of the rows side by side, less the shift, and below them the square of each.
template <class T>
inline void make_panel(const T* rows, int64_t count, const double* shift, int64_t d,
                       double* panel) {
  Doubles squares[kPieces] = {};
  for (int64_t j = 0; j < d; ++j, panel += kPanel) {
    const auto entry = [&](int64_t c) { return double(rows[c * d + j]) - shift[j]; };
    if (count == kPanel)
      for (int c = 0; c < kPanel; ++c) panel[c] = entry(c);
    else
      for (int c = 0; c < kPanel; ++c) panel[c] = c < count ? entry(c) : 0.0;
    for (int v = 0; v < kPieces; ++v) {
      const Doubles piece = load(panel + v * kWidth);
      squares[v] = fma(piece, piece, squares[v]);
    }
  }
  for (int v = 0; v < kPieces; ++v) store(panel + v * kWidth, squares[v]);
}

inline void make_panel(const GaussianBlock& block, int64_t p, double* panel) {
  const int64_t first = p * kPanel, left = block.n - first, count = left < kPanel ? left : kPanel;
  if (block.floats)
    make_panel(block.floats + first * block.d, count, block.shift, block.d, panel);
  else
    make_panel(block.doubles + first * block.d, count, block.shift, block.d, panel);
}

// Kernel values between kRows rows, one after another from x on, and the rows of one panel.
template <int kRows>
inline void gaussian_tile(const GaussianBlock& block, const double* x, const double* x_squares,
                          const double* panel, Doubles (&values)[kRows][kPieces]) {
  panel_products(x, block.d, 1, panel, kPanel, block.d, values);
  const double* const squares = panel + block.d * kPanel;
  for (int r = 0; r < kRows; ++r) {
    using Row = VectorBundle<Doubles, kPieces>;
    const Row apart = map_lanes<Doubles, kPieces>([&](auto v) SEPARATRIX_INLINE {
      return load(squares + v * kWidth) + x_squares[r] - 2.0 * values[r][v];
    });
    const Row row = exp_neg(apart, -block.gamma);
    unrolled<kPieces>([&](auto v) SEPARATRIX_INLINE { values[r][v] = row.at[v]; });
  }
}

inline void square_rows(const GaussianBlock& block) {
  for (int64_t i = 0; i < block.m; ++i)
    block.row_squares[i] = square(block.rows + i * block.d, block.d);
}

// Calls take(first row, values) for the tiles of all rows with one panel.
template <class Take>
inline void panel_tiles(const GaussianBlock& block, int64_t p, Take&& take) {
  if (block.m > 0) make_panel(block, p, block.panel);
  int64_t i = 0;
  for (; i + kTileRows <= block.m; i += kTileRows) {
    Doubles values[kTileRows][kPieces];
    gaussian_tile(block, block.rows + i * block.d, block.row_squares + i, block.panel, values);
    take(i, values);
  }
  for (; i < block.m; ++i) {
    Doubles values[1][kPieces];
    gaussian_tile(block, block.rows + i * block.d, block.row_squares + i, block.panel, values);
    take(i, values);
  }
}

// Calls take(first row, panel, values) for every tile; false if asked to stop.
template <class Take>
inline bool gaussian_tiles(const GaussianBlock& block, Take&& take) {
  square_rows(block);
  int64_t since = 0;
  for (int64_t p = 0; p * kPanel < block.n; ++p) {
    panel_tiles(block, p, [&](int64_t first, const auto& values) { take(first, p, values); });
    since += block.m * kPanel;
    if (since >= kKernelStopInterval) {
      since = 0;
      if (block.should_stop()) return false;
    }
  }
  return true;
}

struct StoreTile {
  const GaussianBlock& block;
  const int64_t* slots;
  double* out;
  template <int kRows>
  void operator()(int64_t first, int64_t p, const Doubles (&values)[kRows][kPieces]) const {
    const int64_t at = p * kPanel, left = block.n - at;
    for (int r = 0; r < kRows; ++r) {
      double* const to = out + slots[first + r] * block.n + at;
      if (left >= kPanel) {
        for (int v = 0; v < kPieces; ++v) store(to + v * kWidth, values[r][v]);
      } else {
        double whole[kPanel];
        for (int v = 0; v < kPieces; ++v) store(whole + v * kWidth, values[r][v]);
        for (int64_t c = 0; c < left; ++c) to[c] = whole[c];
      }
    }
  }
};

// sums (m, k, kPanel) += coefficients (k, panels * kPanel) times the values, lane by lane.
struct AddTile {
  const GaussianBlock& block;
  const double* coefficients;
  int64_t k, width;
  double* sums;
  template <int kRows>
  void operator()(int64_t first, int64_t p, const Doubles (&values)[kRows][kPieces]) const {
    for (int r = 0; r < kRows; ++r)
      for (int64_t c = 0; c < k; ++c) {
        const double* const factors = coefficients + c * width + p * kPanel;
        double* const to = sums + ((first + r) * k + c) * kPanel;
        for (int v = 0; v < kPieces; ++v) {
          const int at = v * kWidth;
          store(to + at, fma(values[r][v], load(factors + at), load(to + at)));
        }
      }
  }
};

inline bool gaussian_rows(const GaussianBlock& block, const int64_t* slots, double* out) {
  return gaussian_tiles(block, StoreTile{block, slots, out});
}

inline bool gaussian_sums(const GaussianBlock& block, const double* coefficients, int64_t k,
                          int64_t width, double* sums) {
  return gaussian_tiles(block, AddTile{block, coefficients, k, width, sums});
}

}  // namespace separatrix::SEPARATRIX_LEVEL
