// Sums over a block of rows in one read of it: a tile's rows stay in cache between the
// product that gives their scores and the addition that uses them.
#pragma once
#include "batch/class_panels.hpp"
#include "batch/float32_sums.hpp"
#include "losses/margin.hpp"
#include "rows/products.hpp"
#include "simd/bundle.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// Of a tile's rows: what they are judged by, and what they add. Whole vectors are read and written:
// rows past the last have weight 0.
struct Tile {
  double margin[kTile], weight[kTile], pull[kTile];  // pull: weight times label
  double exponential[kTile], slope[kTile], curvature[kTile];
  double loss, mistakes, slopes;

  // From scores, which lie in `margin`. A row of weight 0 is as if absent, even where its score is
  // not finite.
  void judge(const double* y, const double* weights, double bias, int64_t count) {
    int64_t i = 0;
    for (; i < count; ++i) {
      const double c = weights ? weights[i] : 1.0, m = y[i] * (margin[i] + bias);
      weight[i] = c;
      pull[i] = c * y[i];
      margin[i] = c != 0 ? m : 0.0;
    }
    for (; i % kLanes; ++i) margin[i] = weight[i] = pull[i] = 0;
    // Labels are few: nothing else foresees when the next are wanted.
    for (i = count; i < 2 * count; i += kLine / 8) {
      __builtin_prefetch(y + i);
      if (weights) __builtin_prefetch(weights + i);
    }
  }

  // Takes about as long as reading kLine bytes of every row.
  template <class Loss, bool kCurved, class Next>
  [[gnu::noinline]] void evaluate(int64_t count, Next& next) {
    if constexpr (Loss::kExponential)
      for (int64_t i = 0; i < count; i += kLanes) {
        next.used(kLine * kLanes);
        const auto made = exp_negative(each<Doubles, kPacks>([&](auto p) SEPARATRIX_INLINE {
          return Loss::exponent(load(margin + i + p * kWidth));
        }));
        unrolled<kPacks>([&](auto p) SEPARATRIX_INLINE {
          store(exponential + i + p * kWidth, made.at[p]);
        });
      }
    Sum losses = {}, missed = {}, pushes = {};
    for (int64_t i = 0; i < count; i += kLanes)
      unrolled<kPacks>([&](auto p) SEPARATRIX_INLINE {
        const int64_t at = i + p * kWidth;
        if (at >= count) return;
        next.used(kLine * kWidth);
        const Doubles m = load(margin + at), c = load(weight + at);
        Point<Doubles> point;
        if constexpr (Loss::kExponential) point = Loss::at(m, load(exponential + at));
        else point = Loss::at(m);
        const Doubles push = point.slope * load(pull + at);
        losses.part[p] += c * point.value;
        // A branch on a random sign would often be taken wrongly.
        missed.part[p] += select(m > 0.0, splat<Doubles>(0.0), c);
        pushes.part[p] += push;
        store(slope + at, push);
        if constexpr (kCurved) store(curvature + at, c * point.curvature);
      });
    loss = losses.total();
    mistakes = missed.total();
    slopes = pushes.total();
  }
};

// Calls f(first row, rows in the tile) over all tiles; false if told to stop.
template <class Rows, class F>
inline bool each_tile(const Rows& rows, int64_t size, ShouldStop should_stop, F&& f) {
  for (int64_t first = 0; first < rows.n; first += size) {
    f(first, rows.n - first < size ? rows.n - first : size);
    if (should_stop()) return false;
  }
  return true;
}

// Scores of a tile, and what its rows add to the gradient.
template <class Rows>
struct InDoubles {
  const Rows& rows;
  const double* w;
  double* gradient;
  template <class Next>
  void dot_tile(int64_t first, int64_t count, double* scores, Next& next) const {
    separatrix::SEPARATRIX_LEVEL::dot_tile(rows, first, count, w, scores, next);
  }
  template <class Next>
  void add_tile(int64_t first, int64_t count, const double* a, Next& next) {
    separatrix::SEPARATRIX_LEVEL::add_tile(rows, first, count, a, gradient, next);
  }
};

template <class Loss, class Rows, class Sums>
inline void batch(const Rows& rows, BatchPass& pass, Sums&& sums) {
  Tile tile;
  const int64_t d = rows.d;
  const int64_t size = tile_rows(rows);
  const auto go_through = [&](int64_t first, int64_t count, auto next) {
    if (pass.gradient) {
      sums.dot_tile(first, count, tile.margin, next);
    } else {
      auto all = next.all();
      sums.dot_tile(first, count, tile.margin, all);
    }
    tile.judge(pass.y + first, pass.weight ? pass.weight + first : nullptr, pass.w[d], count);
    if (pass.curvature) tile.evaluate<Loss, true>(count, next);
    else tile.evaluate<Loss, false>(count, next);
    pass.loss_sum += tile.loss;
    pass.mistakes += tile.mistakes;
    if (pass.gradient) {
      sums.add_tile(first, count, tile.slope, next);
      pass.gradient[d] += tile.slopes;
    }
    if (pass.curvature) std::memcpy(pass.curvature + first, tile.curvature, 8 * size_t(count));
  };
  pass.stopped = !each_tile(rows, size, pass.should_stop, [&](int64_t first, int64_t count) {
    with_next_tile<2>(rows, first, count, [&](auto next) { go_through(first, count, next); });
  });
}

template <class Rows>
void batch_pass(const Rows& rows, BatchPass& pass) {
  with_loss(pass.loss, [&](auto loss) {
    using Loss = decltype(loss);
    if constexpr (kInFloats<Rows>)
      if (pass.rough) return batch<Loss>(rows, pass, InFloats(rows, pass.w, pass.gradient));
    batch<Loss>(rows, pass, InDoubles<Rows>{rows, pass.w, pass.gradient});
  });
}

// f(row, its scores) for all rows; false if told to stop.
template <class Rows, class F>
inline bool each_score(const Rows& rows, const double* weights, int64_t k, ShouldStop stop, F&& f) {
  const ManyScores<Rows, double> many(rows, weights, k);
  const Wide<Rows, double> wide(rows);
  double* const scores = new double[size_t(kFew * many.width())];
  const bool done = each_tile(rows, kFew, stop, [&](int64_t first, int64_t count) {
    many.tile(wide.tile(first, count), after(rows, first + count), scores);
    for (int64_t i = 0; i < count; ++i) f(first + i, scores + i * many.width());
  });
  delete[] scores;
  return done;
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
      with_next_tile<1>(rows, first, count, [&](auto next) {
        add_tile(rows, first, count, column, w, next);
      });
      w[rows.d] += sum;
    }
  });
}

template <class Rows>
bool hessian_product(const Rows& rows, const double* curvature, const double* v, double* out,
                     ShouldStop stop) {
  double score[kTile];
  const auto go_through = [&](int64_t first, int64_t count, auto next) {
    dot_tile(rows, first, count, v, score, next);
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double bend = curvature[first + i];
      score[i] = bend != 0 ? bend * (score[i] + v[rows.d]) : 0;
      sum += score[i];
    }
    add_tile(rows, first, count, score, out, next);
    out[rows.d] += sum;
  };
  return each_tile(rows, tile_rows(rows), stop, [&](int64_t first, int64_t count) {
    with_next_tile<2>(rows, first, count, [&](auto next) { go_through(first, count, next); });
  });
}

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
    next.used(kRows * kLanes * int64_t(sizeof(Value)));
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
  Ahead<1> next{after(rows, first + count)};
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
  double* const zeros = shift ? nullptr : new double[size_t(rows.d)]();
  // So many that most rows of a group are added four at a time.
  const int64_t mixed = 16 * groups < kTile ? 16 * groups : kTile, fit = tile_rows(rows);
  const bool done =
      each_tile(rows, fit < mixed ? mixed : fit, stop, [&](int64_t first, int64_t count) {
        add_moments(rows, first, count, weight, group, groups, shift ? shift : zeros, sum, squares);
      });
  delete[] zeros;
  return done;
}

}  // namespace separatrix::SEPARATRIX_LEVEL
