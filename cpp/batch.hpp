// Sums over a block of rows in one read of it: a tile's rows stay in cache between the
// product that gives their scores and the addition that uses them.
#pragma once
#include "losses.hpp"
#include "rows.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// Turns scores into margins, and margins into values, slopes and curvatures; the arrays
// have kTile entries, so that whole vectors may be read and written past `count`.
struct Tile {
  double margin[kTile], exponential[kTile], value[kTile], slope[kTile], curvature[kTile];
};

template <class Loss>
inline void evaluate(Tile& tile, int64_t count) {
  for (int64_t i = count; i % kWidth; ++i) tile.margin[i] = 0;
  if constexpr (Loss::kExponential)
    for (int64_t i = 0; i < count; i += kWidth)
      store(tile.exponential + i, exp_negative(Loss::exponent(load(tile.margin + i))));
  for (int64_t i = 0; i < count; i += kWidth) {
    const Doubles margin = load(tile.margin + i);
    Point<Doubles> point;
    if constexpr (Loss::kExponential) point = Loss::at(margin, load(tile.exponential + i));
    else point = Loss::at(margin);
    store(tile.value + i, point.value);
    store(tile.slope + i, point.slope);
    store(tile.curvature + i, point.curvature);
  }
}

// Calls f(first row, rows in the tile) over all tiles; false if told to stop.
template <class Rows, class F>
inline bool each_tile(const Rows& rows, int64_t size, ShouldStop should_stop, F&& f) {
  for (int64_t first = 0; first < rows.n; first += size) {
    f(first, rows.n - first < size ? rows.n - first : size);
    if (should_stop()) return false;
  }
  return true;
}

template <class Loss, class Rows>
inline void batch(const Rows& rows, BatchPass& pass) {
  Tile tile;
  const int64_t d = rows.d;
  pass.stopped = !each_tile(rows, tile_rows(rows), pass.should_stop, [&](int64_t first, int64_t count) {
    const double* y = pass.y + first;
    dot_tile(rows, first, count, pass.w, tile.margin);
    for (int64_t i = 0; i < count; ++i) tile.margin[i] = y[i] * (tile.margin[i] + pass.w[d]);
    evaluate<Loss>(tile, count);
    double loss_sum = 0, mistakes = 0, slope_sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double weight = pass.weight ? pass.weight[first + i] : 1.0;
      if (weight == 0) {  // as if absent, even where its value overflows
        tile.slope[i] = tile.curvature[i] = 0;
        continue;
      }
      loss_sum += weight * tile.value[i];
      if (!(tile.margin[i] > 0)) mistakes += weight;
      tile.slope[i] *= weight * y[i];
      tile.curvature[i] *= weight;
      slope_sum += tile.slope[i];
    }
    pass.loss_sum += loss_sum;
    pass.mistakes += mistakes;
    if (pass.gradient) {
      add_tile(rows, first, count, tile.slope, pass.gradient);
      pass.gradient[d] += slope_sum;
    }
    if (pass.curvature) std::memcpy(pass.curvature + first, tile.curvature, 8 * size_t(count));
  });
}

template <class Rows>
void batch_pass(const Rows& rows, BatchPass& pass) {
  with_loss(pass.loss, [&](auto loss) { batch<decltype(loss)>(rows, pass); });
}

template <class Rows>
bool scores(const Rows& rows, const double* weights, int64_t k, double* out, ShouldStop stop) {
  const int64_t d = rows.d;
  if (k == 1)
    return each_tile(rows, tile_rows(rows), stop, [&](int64_t first, int64_t count) {
      dot_tile<1>(rows, first, count, weights, out + first);
      for (int64_t i = 0; i < count; ++i) out[first + i] += weights[d];
    });
  Sum* const sums = new Sum[size_t(k * kFew)];
  const bool done = each_tile(rows, kFew, stop, [&](int64_t first, int64_t count) {
    dot_tile_all(rows, first, count, weights, k, sums);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t c = 0; c < k; ++c)
        out[(first + i) * k + c] = sums[c * kFew + i].total() + weights[c * (d + 1) + d];
  });
  delete[] sums;
  return done;
}

template <class Rows>
bool combine(const Rows& rows, const double* coefficients, int64_t k, double* out,
             ShouldStop stop) {
  double column[kTile];
  return each_tile(rows, tile_rows(rows), stop, [&](int64_t first, int64_t count) {
    for (int64_t c = 0; c < k; ++c) {
      double* w = out + c * (rows.d + 1);
      double sum = 0;
      for (int64_t i = 0; i < count; ++i) {
        column[i] = coefficients[(first + i) * k + c];
        sum += column[i];
      }
      add_tile<1>(rows, first, count, column, w);
      w[rows.d] += sum;
    }
  });
}

template <class Rows>
bool hessian_product(const Rows& rows, const double* curvature, const double* v, double* out,
                     ShouldStop stop) {
  double score[kTile];
  return each_tile(rows, tile_rows(rows), stop, [&](int64_t first, int64_t count) {
    dot_tile(rows, first, count, v, score);
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double bend = curvature[first + i];
      score[i] = bend != 0 ? bend * (score[i] + v[rows.d]) : 0;
      sum += score[i];
    }
    add_tile(rows, first, count, score, out);
    out[rows.d] += sum;
  });
}

template <class Rows>
bool moments(const Rows& rows, const double* weight, const double* shift, double* sum,
             double* squares, ShouldStop stop) {
  return each_tile(rows, tile_rows(rows), stop, [&](int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
      const double c = weight ? weight[i] : 1.0;
      if (c == 0) continue;
      each_value(rows, i, [&](int64_t j, double x) {
        if (shift) x -= shift[j];
        sum[j] += c * x;
        squares[j] += c * x * x;
      });
    }
  });
}

}  // namespace separatrix::SEPARATRIX_LEVEL
