// The perceptron in the dual, and the Gaussian kernel in tiles that stay in registers.
//
// Every kernel value is one chain of fused products over the features, whatever else is computed
// along with it: the same bits in any company, for (x, z) and (z, x), and exactly 1 for (x, x).
#pragma once
#include "simd.hpp"
#include "views.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int kPieces = kPanel / kWidth;
constexpr int kTileRows = kBytes == 64 ? 8 : 4;  // as many chains as hide the latency of one
constexpr int64_t kBetweenLooks = 1 << 18;       // kernel values between two looks at should_stop

// e^(factor * x) for x >= 0 and factor <= 0; what is below 0 is rounding, what underflows is 0.
template <class T>
inline T decayed(T x, double factor) {
  x = factor * select(x < 0.0, splat<T>(0.0), x);
  return select(x < -708.0, splat<T>(0.0), exp_negative(x));
}

inline void decay_all(double* values, int64_t count, double factor) {
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) store(values + i, decayed(load(values + i), factor));
  for (; i < count; ++i) values[i] = decayed(values[i], factor);
}

inline void panel_squares(const double* panels, int64_t count, int64_t d, double* squares) {
  for (int64_t p = 0; p < count; ++p, squares += kPanel) {
    for (int c = 0; c < kPanel; ++c) squares[c] = 0;
    for (int64_t j = 0; j < d; ++j, panels += kPanel)
      for (int c = 0; c < kPanel; ++c) squares[c] = fma(panels[c], panels[c], squares[c]);
  }
}

inline double square(const double* x, int64_t d) {
  double sum = 0;
  for (int64_t j = 0; j < d; ++j) sum = fma(x[j], x[j], sum);
  return sum;
}

// Kernel values between kRows rows, one after another from x on, and the rows of one panel.
template <int kRows>
inline void gaussian_tile(const GaussianBlock& block, const double* x, const double* x_squares,
                          int64_t p, Doubles (&values)[kRows][kPieces]) {
  const double* panel = block.panels + p * block.d * kPanel;
  Doubles products[kRows][kPieces] = {};
  for (int64_t j = 0; j < block.d; ++j, panel += kPanel) {
    Doubles pieces[kPieces];
    for (int v = 0; v < kPieces; ++v) pieces[v] = load(panel + v * kWidth);
    for (int r = 0; r < kRows; ++r) {
      const Doubles factor = splat<Doubles>(x[r * block.d + j]);
      for (int v = 0; v < kPieces; ++v) products[r][v] = fma(factor, pieces[v], products[r][v]);
    }
  }
  // An array that a loop indexes stays in memory, and every product would be stored: so the
  // loop that indexes has an array of its own.
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < kPieces; ++v) values[r][v] = products[r][v];
  const double* const squares = block.squares + p * kPanel;
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kPieces; ++v) {
      const Doubles both = load(squares + v * kWidth) + x_squares[r];
      values[r][v] = decayed(both - 2.0 * values[r][v], -block.gamma);
    }
}

// Calls take(first row, panel, values) for every tile; false if asked to stop.
template <class Take>
inline bool gaussian_tiles(const GaussianBlock& block, Take&& take) {
  for (int64_t i = 0; i < block.m; ++i)
    block.row_squares[i] = square(block.rows + i * block.d, block.d);
  int64_t since = 0;
  for (int64_t p = 0; p * kPanel < block.n; ++p) {
    int64_t i = 0;
    for (; i + kTileRows <= block.m; i += kTileRows) {
      Doubles values[kTileRows][kPieces];
      gaussian_tile(block, block.rows + i * block.d, block.row_squares + i, p, values);
      take(i, p, values);
    }
    for (; i < block.m; ++i) {
      Doubles values[1][kPieces];
      gaussian_tile(block, block.rows + i * block.d, block.row_squares + i, p, values);
      take(i, p, values);
    }
    since += block.m * kPanel;
    if (since >= kBetweenLooks) {
      since = 0;
      if (block.should_stop()) return false;
    }
  }
  return true;
}

struct StoreTile {
  const GaussianBlock& block;
  const int64_t* places;
  double* out;
  template <int kRows>
  void operator()(int64_t first, int64_t p, const Doubles (&values)[kRows][kPieces]) const {
    const int64_t at = p * kPanel, left = block.n - at;
    for (int r = 0; r < kRows; ++r) {
      double* const to = out + places[first + r] * block.n + at;
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

inline bool gaussian_rows(const GaussianBlock& block, const int64_t* places, double* out) {
  return gaussian_tiles(block, StoreTile{block, places, out});
}

inline bool gaussian_sums(const GaussianBlock& block, const double* coefficients, int64_t k,
                          int64_t width, double* sums) {
  return gaussian_tiles(block, AddTile{block, coefficients, k, width, sums});
}

// The largest score among the rivals of a class, of equal ones the first; a NaN beats all.
inline int64_t best_rival(const KernelPass& pass, int64_t i, int64_t of) {
  int64_t best = -1;
  double largest = 0;
  for (int64_t c = 0; c < pass.k; ++c) {
    const double score = pass.scores[c * pass.n + i];
    if (c == of || (best >= 0 && !(score > largest) && score == score)) continue;
    best = c;
    largest = score;
  }
  return best;
}

inline void change(KernelPass& pass, int64_t c, int64_t i, double sign, double size,
                   const double* kernel) {
  const double factor[1] = {sign * size};
  const double* const row[1] = {kernel};
  add_scaled(factor, row, pass.scores + c * pass.n, pass.n);
  const int64_t at = c * pass.n + i;
  pass.coefficients[at] += factor[0];
  pass.late[at] += double(pass.visits + pass.position) * factor[0];
  pass.counts[at] += sign > 0 ? 1 : -1;
}

// Goes on to the end, through the last allowed update, or to a mistake whose kernel row is not
// at hand.
inline void kernel_pass(KernelPass& pass) {
  for (; pass.position < pass.count; ++pass.position) {
    const int64_t i = pass.order[pass.position];
    int64_t rival = -1;
    double violation;
    if (pass.y) {
      violation = -pass.y[i] * pass.scores[i];
    } else {
      rival = best_rival(pass, i, pass.label[i]);
      violation = pass.scores[rival * pass.n + i] - pass.scores[pass.label[i] * pass.n + i];
    }
    if (violation < 0) continue;
    if (pass.place[i] < 0) return;
    if ((pass.stopped = pass.should_stop())) return;
    const double step = pass.steps[pass.constant_step ? 0 : pass.position];
    const double size = step * pass.factor[i];
    const double* const kernel = pass.kept + pass.place[i] * pass.n;
    pass.totals[0] += pass.weight[i] * violation;
    pass.totals[1] += pass.weight[i];
    if (pass.y) {
      change(pass, 0, i, pass.y[i], size, kernel);
    } else {
      change(pass, pass.label[i], i, 1.0, size, kernel);
      change(pass, rival, i, -1.0, size, kernel);
    }
    pass.used[pass.place[i]] = pass.visits + pass.position + 1;
    int64_t* const entry = pass.log + 3 * pass.updates++;
    entry[0] = pass.position;
    entry[1] = i;
    entry[2] = rival;
    if (pass.updates >= pass.max_updates) {
      ++pass.position;
      return;
    }
  }
}

}  // namespace separatrix::SEPARATRIX_LEVEL
