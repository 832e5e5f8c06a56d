// The perceptron in the dual, and the Gaussian kernel in tiles that stay in registers.
//
// Every kernel value is one chain of fused products over the features, whatever else is computed
// along with it: the same bits in any company, for (x, z) and (z, x), and exactly 1 for (x, x).
#pragma once
#include "simd/panels.hpp"
#include "simd/bundle.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int64_t kBetweenLooks = 1 << 18;  // kernel values between two looks at should_stop

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
    using Row = Several<Doubles, kPieces>;
    const Row apart = each<Doubles, kPieces>([&](auto v) SEPARATRIX_INLINE {
      return load(squares + v * kWidth) + x_squares[r] - 2.0 * values[r][v];
    });
    const Row row = decayed(apart, -block.gamma);
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
inline int64_t best_rival(const double* scores, int64_t stride, int64_t k, int64_t of) {
  int64_t best = -1;
  double largest = 0;
  for (int64_t c = 0; c < k; ++c) {
    const double score = scores[c * stride];
    if (c == of || (best >= 0 && !(score > largest) && score == score)) continue;
    best = c;
    largest = score;
  }
  return best;
}

// How wrong row i is with these scores, and its best rival if there are more than two classes.
struct Verdict {
  double violation;
  int64_t rival;
};
inline Verdict judge(const KernelPass& pass, const double* scores, int64_t stride, int64_t i) {
  if (pass.y) return {-pass.y[i] * scores[0], -1};
  const int64_t rival = best_rival(scores, stride, pass.k, pass.label[i]);
  return {scores[rival * stride] - scores[pass.label[i] * stride], rival};
}

// Books a mistake at pass.position, and calls add(column, factor) for each column it changes.
template <class Add>
inline void update(KernelPass& pass, int64_t i, Verdict verdict, Add&& add) {
  const double size = pass.steps[pass.constant_step ? 0 : pass.position] * pass.factor[i];
  const auto change = [&](int64_t c, double sign) {
    const int64_t at = c * pass.n + i;
    pass.coefficients[at] += sign * size;
    pass.late[at] += double(pass.visits + pass.position) * (sign * size);
    pass.counts[at] += sign > 0 ? 1 : -1;
    add(c, sign * size);
  };
  if (pass.y) {
    change(0, pass.y[i]);
  } else {
    change(pass.label[i], 1.0);
    change(verdict.rival, -1.0);
  }
  pass.totals[0] += pass.weight[i] * verdict.violation;
  pass.totals[1] += pass.weight[i];
  int64_t* const entry = pass.log + 3 * pass.updates++;
  entry[0] = pass.position;
  entry[1] = i;
  entry[2] = verdict.rival;
}

// Goes on to the end, through the last allowed update, or to a mistake whose kernel row is not
// at hand.
inline void kernel_pass(KernelPass& pass) {
  while (pass.position < pass.count && pass.updates < pass.max_updates) {
    const int64_t i = pass.order[pass.position];
    const Verdict verdict = judge(pass, pass.scores + i, pass.n, i);
    if (!(verdict.violation < 0)) {
      if (pass.place[i] < 0 || pass.place[i] >= pass.capacity) return;
      if ((pass.stopped = pass.should_stop())) return;
      const double* const row = pass.kept + pass.place[i] * pass.n;
      pass.used[pass.place[i]] = pass.visits + pass.position + 1;
      update(pass, i, verdict, [&](int64_t c, double factor) {
        add_scaled(factor, row, pass.scores + c * pass.n, pass.n);
      });
    }
    ++pass.position;
  }
}

// Visits the rows of the block, which are the next ones in the order, against themselves. What
// a mistake changes is added to `local`, the block's own scores (k, width), at once; to those
// of all rows it is added later, by gaussian_update, in the same order and so with the same bits.
inline void gaussian_scan(KernelPass& pass, const GaussianBlock& block, double bias, double* local,
                          double* kernel, int64_t width) {
  const int64_t first = pass.position, line = (block.d + 1) * kPanel;
  for (int64_t t = 0; t < block.m; ++t)
    for (int64_t c = 0; c < pass.k; ++c)
      local[c * width + t] = pass.scores[c * pass.n + pass.order[first + t]];
  square_rows(block);
  for (int64_t p = 0; p * kPanel < width; ++p) make_panel(block, p, block.panel + p * line);
  for (int64_t t = 0; t < block.m && pass.updates < pass.max_updates; ++t, ++pass.position) {
    const int64_t i = pass.order[pass.position];
    const Verdict verdict = judge(pass, local + t, width, i);
    if (verdict.violation < 0) continue;
    if ((pass.stopped = pass.should_stop())) return;
    const int64_t start = t / kPanel * kPanel;
    for (int64_t p = t / kPanel; p * kPanel < width; ++p) {
      Doubles values[1][kPieces];
      gaussian_tile(block, block.rows + t * block.d, block.row_squares + t,
                    block.panel + p * line, values);
      for (int v = 0; v < kPieces; ++v)
        store(kernel + p * kPanel + v * kWidth, values[0][v] + bias);
    }
    const double* const row = kernel + start;
    update(pass, i, verdict, [&](int64_t c, double factor) {
      add_scaled(factor, row, local + c * width + start, width - start);
    });
  }
}

// Adds what the mistakes changed, one after another, to the scores of the rows of some panels.
// The kernel rows of the mistakes stand in `kept`, or are computed from the block's rows, in
// this order, and those that have a place are stored there.
inline bool gaussian_update(const GaussianBlock& block, const KernelUpdates& updates) {
  square_rows(block);
  int64_t since = 0;
  for (int64_t p = updates.first_panel; p < updates.last_panel; ++p) {
    double fresh[kMostUpdates][kPanel];
    panel_tiles(block, p, [&](int64_t first, const auto& values) {
      for (size_t r = 0; r < sizeof values / sizeof values[0]; ++r)
        for (int v = 0; v < kPieces; ++v)
          store(fresh[first + r] + v * kWidth, values[r][v] + updates.bias);
    });
    const int64_t at = p * kPanel, left = block.n - at < kPanel ? block.n - at : kPanel;
    int64_t next = 0;
    for (int64_t u = 0; u < updates.count; ++u) {
      const bool kept = updates.ready[u];
      double* const place = updates.kept + updates.place[u] * block.n + at;
      const double* const row = kept ? place : fresh[next++];
      if (!kept && updates.place[u] >= 0)
        for (int64_t c = 0; c < left; ++c) place[c] = row[c];
      for (int64_t e = 2 * u; e < 2 * u + 2; ++e) {
        if (updates.column[e] < 0) continue;
        double* const to = updates.scores + updates.column[e] * block.n + at;
        if (left < kPanel) {
          add_scaled(updates.factor[e], row, to, left);
          continue;
        }
        const Doubles factor = splat<Doubles>(updates.factor[e]);
        unrolled<kPieces>([&](auto v) SEPARATRIX_INLINE {
          store(to + v * kWidth, fma(factor, load(row + v * kWidth), load(to + v * kWidth)));
        });
      }
    }
    since += (block.m + 1) * kPanel;
    if (since >= kBetweenLooks) {
      since = 0;
      if (block.should_stop()) return false;
    }
  }
  return true;
}

}  // namespace separatrix::SEPARATRIX_LEVEL
