// Sums over a block of rows in one read of it: a tile's rows stay in cache between the
// product that gives their scores and the addition that uses them.
#pragma once
#include "batch/float32_sums.hpp"
#include "batch/tiles.hpp"
#include "losses/margin.hpp"
#include "simd/bundle.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// Of a tile's rows: their margins, and what they add. Whole vectors are read and written:
// rows past the last have weight 0.
struct Tile {
  double margin[kTile], weight[kTile], signed_weight[kTile];  // weight times label
  double exponential[kTile], slope[kTile], curvature[kTile];
  double loss, mistakes, slopes;

  // From scores, which lie in `margin`. A row of weight 0 is as if absent, even where its score is
  // not finite.
  void to_margins(const double* y, const double* weights, double bias, int64_t count) {
    int64_t i = 0;
    for (; i < count; ++i) {
      const double c = weights ? weights[i] : 1.0, m = y[i] * (margin[i] + bias);
      weight[i] = c;
      signed_weight[i] = c * y[i];
      margin[i] = c != 0 ? m : 0.0;
    }
    for (; i % kLanes; ++i) margin[i] = weight[i] = signed_weight[i] = 0;
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
        next.advance(kLine * kLanes);
        const auto made = exp_negative(map_lanes<Doubles, kPacks>([&](auto p) SEPARATRIX_INLINE {
          return Loss::exponent(load(margin + i + p * kWidth));
        }));
        unrolled<kPacks>([&](auto p) SEPARATRIX_INLINE {
          store(exponential + i + p * kWidth, made.at[p]);
        });
      }
    Sum losses = {}, missed = {}, gradients = {};
    for (int64_t i = 0; i < count; i += kLanes)
      unrolled<kPacks>([&](auto p) SEPARATRIX_INLINE {
        const int64_t at = i + p * kWidth;
        if (at >= count) return;
        next.advance(kLine * kWidth);
        const Doubles m = load(margin + at), c = load(weight + at);
        Point<Doubles> point;
        if constexpr (Loss::kExponential) point = Loss::at(m, load(exponential + at));
        else point = Loss::at(m);
        const Doubles row_gradient = point.slope * load(signed_weight + at);
        losses.part[p] += c * point.value;
        // A branch on a random sign would often be taken wrongly.
        missed.part[p] += select(m > 0.0, splat<Doubles>(0.0), c);
        gradients.part[p] += row_gradient;
        store(slope + at, row_gradient);
        if constexpr (kCurved) store(curvature + at, c * point.curvature);
      });
    loss = losses.total();
    mistakes = missed.total();
    slopes = gradients.total();
  }
};

// Scores of a tile, and what its rows add to the gradient.
template <class Rows>
struct DoubleSums {
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

// The loss is chosen anew for every tile: the rest is then compiled once for all of them.
template <class Rows, class Sums>
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
    tile.to_margins(pass.y + first, pass.weight ? pass.weight + first : nullptr, pass.w[d], count);
    with_loss(pass.loss, [&](auto loss) {
      using Loss = decltype(loss);
      if (pass.curvature) tile.evaluate<Loss, true>(count, next);
      else tile.evaluate<Loss, false>(count, next);
    });
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
  if constexpr (kHasFloat32Sums<Rows>)
    if (pass.float32_sums) return batch(rows, pass, Float32Sums(rows, pass.w, pass.gradient));
  batch(rows, pass, DoubleSums<Rows>{rows, pass.w, pass.gradient});
}

}  // namespace separatrix::SEPARATRIX_LEVEL
