// Products of all rows with weights, and of coefficients with all rows.
#pragma once
#include "batch/class_panels.hpp"
#include "batch/tiles.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// f(row, its scores) for all rows; false if stopped.
template <class Rows, class F>
inline bool each_score(const Rows& rows, const double* weights, int64_t k, ShouldStop stop, F&& f) {
  const ClassScores<Rows, double> many(rows, weights, k);
  const WidenedTile<Rows, double> wide(rows);
  const Buffer<double> scores(kClassTileRows * many.width());
  return each_tile(rows, kClassTileRows, stop, [&](int64_t first, int64_t count) {
    many.tile(wide.tile(first, count), after(rows, first + count), scores);
    for (int64_t i = 0; i < count; ++i) f(first + i, scores + i * many.width());
  });
}

template <class Rows>
bool scores(const Rows& rows, const double* weights, int64_t k, double* out, ShouldStop stop) {
  const int64_t d = rows.d;
  if (k == 1)
    return each_tile(rows, tile_rows(rows), stop, [&](int64_t first, int64_t count) {
      with_next_tile<1>(rows, first, count, [&](auto next) {
        dot_tile(rows, first, count, weights, out + first, next);
      });
      for (int64_t i = 0; i < count; ++i) out[first + i] += weights[d];
    });
  return each_score(rows, weights, k, stop, [&](int64_t i, const double* row_scores) {
    std::memcpy(out + i * k, row_scores, 8 * size_t(k));
  });
}

constexpr int64_t kFewClasses = 2;  // up to which a sparse row is read for each

template <class Value, class Index>
bool transpose_product_in_lines(const CsrRows<Value, Index>& rows, const double* coefficients,
                                int64_t k, double* out, ShouldStop stop) {
  ClassGradients<CsrRows<Value, Index>, double> sums(rows, k, out);
  const auto factors = Buffer<double>::zeros(kClassTileRows * sums.width());
  return each_tile(rows, kClassTileRows, stop, [&](int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(factors + i * sums.width(), coefficients + (first + i) * k, 8 * size_t(k));
    sums.add(slice(rows, first, count), factors);
  });
}
template <class Rows>
constexpr bool kInLines = false;  // dense rows go by tiles
template <class Value, class Index>
constexpr bool kInLines<CsrRows<Value, Index>> = true;

template <class Rows>
bool transpose_product(const Rows& rows, const double* coefficients, int64_t k, double* out,
                       ShouldStop stop) {
  if constexpr (kInLines<Rows>)
    if (k > kFewClasses) return transpose_product_in_lines(rows, coefficients, k, out, stop);
  double column[kTile];
  return each_tile(rows, tile_rows(rows), stop, [&](int64_t first, int64_t count) {
    for (int64_t c = 0; c < k; ++c) {
      double* w = out + c * (rows.d + 1);
      double sum = 0;
      for (int64_t i = 0; i < count; ++i) {
        column[i] = coefficients[(first + i) * k + c];
        sum += column[i];
      }
      with_next_tile<1>(rows, first, count, [&](auto next) {
        add_tile(rows, first, count, column, w, next);
      });
      w[rows.d] += sum;
    }
  });
}

// The values of a sparse row lie together, as those of a dense one do.
template <class Value>
inline double norm2(const DenseRows<Value>& rows, int64_t i) {
  return squared_norm(rows, i);
}
template <class Value, class Index>
inline double norm2(const CsrRows<Value, Index>& rows, int64_t i) {
  const Value* const x = rows.data + rows.indptr[i];
  return dot(x, x, int64_t(rows.indptr[i + 1] - rows.indptr[i]));
}

template <class Rows>
bool squared_norms(const Rows& rows, double* out, ShouldStop stop) {
  return each_tile(rows, tile_rows(rows), stop, [&](int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) out[i] = norm2(rows, i);
  });
}

template <class Rows>
bool hessian_product_of_classes(const Rows& rows, const double* curvature, const double* v,
                                int64_t k, double* out, ShouldStop stop) {
  const ClassScores<Rows, double> many(rows, v, k);
  ClassGradients<Rows, double> sums(rows, k, out);
  const WidenedTile<Rows, double> wide(rows);
  const auto scores = Buffer<double>::zeros(kClassTileRows * many.width());
  return each_tile(rows, kClassTileRows, stop, [&](int64_t first, int64_t count) {
    const auto tile = wide.tile(first, count);
    many.tile(tile, after(rows, first + count), scores);
    for (int64_t i = 0; i < count; ++i) {
      const double h = curvature[first + i];
      double* const row_scores = scores + i * many.width();
      for (int64_t c = 0; c < k; ++c) row_scores[c] = h != 0 ? h * row_scores[c] : 0;
    }
    sums.add(tile, scores);
  });
}

template <class Rows>
bool hessian_product(const Rows& rows, const double* curvature, const double* v, int64_t k,
                     double* out, ShouldStop stop) {
  if (k > 1) return hessian_product_of_classes(rows, curvature, v, k, out, stop);
  double score[kTile];
  const auto go_through = [&](int64_t first, int64_t count, auto next) {
    dot_tile(rows, first, count, v, score, next);
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double h = curvature[first + i];
      score[i] = h != 0 ? h * (score[i] + v[rows.d]) : 0;
      sum += score[i];
    }
    add_tile(rows, first, count, score, out, next);
    out[rows.d] += sum;
  };
  return each_tile(rows, tile_rows(rows), stop, [&](int64_t first, int64_t count) {
    with_next_tile<2>(rows, first, count, [&](auto next) { go_through(first, count, next); });
  });
}

}  // namespace separatrix::SEPARATRIX_LEVEL
