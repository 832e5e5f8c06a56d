// Sums of the features and of their squares, and how far rows lie from their mean.
#pragma once
#include "batch/tiles.hpp"
#include "simd/buffer.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// sum += c * (x - shift) and squares += c * (x - shift)^2 for kRows rows at once, in their order:
// what has been summed is loaded and stored once for all. Without kWeighted all c are 1.
template <bool kWeighted, int kRows, class Value, class Next>
__attribute__((noinline)) void add_moments(const double (&c)[kRows],
                                           const Value* const (&x)[kRows], const double* shift,
                                           double* sum, double* squares, int64_t d, Next& next) {
  Doubles weight[kRows];
  const Value* from_row[kRows];  // of its own: the stores below might change what is passed in
  unrolled<kRows>([&](auto r) SEPARATRIX_INLINE {
    weight[r] = splat<Doubles>(c[r]);
    from_row[r] = x[r];
  });
  const auto add_at = [&](int64_t j) SEPARATRIX_INLINE {
    Doubles total = load(sum + j), square = load(squares + j);
    const Doubles from = load(shift + j);
    unrolled<kRows>([&](auto r) SEPARATRIX_INLINE {
      const Doubles away = load(from_row[r] + j) - from;
      const Doubles part = kWeighted ? weight[r] * away : away;
      total += part;
      square = fma(part, away, square);
    });
    store(sum + j, total);
    store(squares + j, square);
  };
  int64_t j = 0;
  for (; j + kLanes <= d; j += kLanes) {
    next.advance(kRows * kLanes * int64_t(sizeof(Value)));
    unrolled<kPacks>([&](auto p) SEPARATRIX_INLINE { add_at(j + p * kWidth); });
  }
  for (; j + kWidth <= d; j += kWidth) add_at(j);
  for (; j < d; ++j)
    for (int r = 0; r < kRows; ++r) {
      const double away = double(x[r][j]) - shift[j], part = c[r] * away;
      sum[j] += part;
      squares[j] = fma(part, away, squares[j]);
    }
}

// One group of rows after another: the tile is in the cache.
template <class Value>
inline void add_moments(const DenseRows<Value>& rows, int64_t first, int64_t count,
                        const double* weight, const int64_t* group, int64_t groups,
                        const double* shift, double* sum, double* squares) {
  StreamPrefetcher<1> next{after(rows, first + count)};
  double c[4];
  const Value* x[4];
  for (int64_t g = 0; g < groups; ++g, sum += rows.d) {
    int waiting = 0;
    for (int64_t i = first; i < first + count; ++i) {
      c[waiting] = weight ? weight[i] : 1.0;
      x[waiting] = row(rows, i);
      // A row of weight 0 is as if absent.
      waiting += int(c[waiting] != 0) & int(!group || group[i] == g);
      if (waiting < 4) continue;
      if (weight) add_moments<true, 4, Value>(c, x, shift, sum, squares, rows.d, next);
      else add_moments<false, 4, Value>(c, x, shift, sum, squares, rows.d, next);
      waiting = 0;
    }
    for (int r = 0; r < waiting; ++r)
      add_moments<true, 1, Value>({c[r]}, {x[r]}, shift, sum, squares, rows.d, next);
  }
}

template <class Value, class Index>
inline void add_moments(const CsrRows<Value, Index>& rows, int64_t first, int64_t count,
                        const double* weight, const int64_t* group, int64_t, const double*,
                        double* sum, double* squares) {
  for (int64_t i = first; i < first + count; ++i) {
    const double c = weight ? weight[i] : 1.0;
    if (c == 0) continue;
    double* const own = sum + (group ? group[i] * rows.d : 0);
    each_value(rows, i, [&](int64_t j, double x) {
      own[j] += c * x;
      squares[j] = fma(c * x, x, squares[j]);
    });
  }
}

template <class Rows>
bool moments(const Rows& rows, const double* weight, const int64_t* group, int64_t groups,
             const double* shift, double* sum, double* squares, ShouldStop stop) {
  const auto zeros = Buffer<double>::zeros(shift ? 0 : rows.d);
  // Enough rows that most rows of a group are added four at a time.
  const int64_t mixed = 16 * groups < kTile ? 16 * groups : kTile, fit = tile_rows(rows);
  return each_tile(rows, fit < mixed ? mixed : fit, stop, [&](int64_t first, int64_t count) {
    add_moments(rows, first, count, weight, group, groups, shift ? shift : zeros, sum, squares);
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
bool max_standardised_norm2(const Rows& rows, const double* weight, const double* mean,
                            const double* factor, double& square, ShouldStop stop) {
  const auto zeros = Buffer<double>::zeros(rows.d);
  return each_tile(rows, tile_rows(rows), stop, [&](int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
      if (weight && weight[i] == 0) continue;
      const double own = squared_distance(rows, i, mean, factor, zeros);
      if (own > square || own != own) square = own;  // a NaN shows
    }
  });
}

}  // namespace separatrix::SEPARATRIX_LEVEL
