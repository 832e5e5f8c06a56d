// What a sum of margin losses, one for each column of scores, makes of the scores of some rows.
//
// The margins of all columns of as many rows as a tile holds stand one after another, so that lanes
// are full however many columns there are. Sums depend on that order alone: they have the same bits
// at every level.
#pragma once
#include "batch/value_gradient.hpp"
#include "losses/multiclass.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// +1 in the column of a row's class and -1 in the others; or a row's own labels.
struct ClassSigns {
  const int64_t* label;
  int64_t at(int64_t i) const { return label[i]; }
  static double sign(int64_t own, int64_t c) { return c == own ? 1.0 : -1.0; }
};
struct LabelSigns {
  const int8_t* labels;
  int64_t k;
  const int8_t* at(int64_t i) const { return labels + i * k; }
  static double sign(const int8_t* own, int64_t c) { return double(own[c]); }
};

class ColumnLosses {
 public:
  explicit ColumnLosses(int64_t k)
      : columns_(k < kTile ? k : kTile), rows_(kTile / columns_), k_(k) {}

  // From scores (count, width) to weight * derivative, in slopes of the same layout; null is a
  // weight of 1. Returns the weighted loss. A row of weight 0 is as if absent. The loss of one column
  // is a LossId.
  template <class Signs, class Real>
  double evaluate(int column_loss, const Real* scores, int64_t width, const Signs& signs,
                  const double* weight, int64_t count, Real* slopes) {
    double loss = 0;
    for (int64_t i = 0; i < count; i += rows_)
      for (int64_t c = 0; c < k_; c += columns_) {
        const int64_t some = count - i < rows_ ? count - i : rows_;
        const int64_t wide = k_ - c < columns_ ? k_ - c : columns_;
        for (int64_t r = i; r < i + some; ++r)
          take_in(scores + r * width, signs.at(r), weight ? weight[r] : 1.0, c, wide,
                  (r - i) * wide, signs);
        for (int64_t at = some * wide; at % kLanes; ++at)
          tile_.margin[at] = tile_.weight[at] = tile_.signed_weight[at] = 0;
        NoPrefetch nothing;
        with_loss(column_loss, [&](auto kind) {
          tile_.evaluate<decltype(kind), false>(some * wide, nothing);
        });
        loss += tile_.loss;
        for (int64_t r = i; r < i + some; ++r)
          for (int64_t b = 0; b < wide; ++b)
            slopes[r * width + c + b] = Real(tile_.slope[(r - i) * wide + b]);
      }
    return loss;
  }

 private:
  template <class Real, class Own, class Signs>
  void take_in(const Real* scores, Own own, double weight, int64_t first, int64_t count,
               int64_t to, const Signs&) {
    for (int64_t b = 0; b < count; ++b) {
      const double y = Signs::sign(own, first + b), m = y * double(scores[first + b]);
      tile_.margin[to + b] = weight != 0 ? m : 0.0;
      tile_.weight[to + b] = weight;
      tile_.signed_weight[to + b] = weight * y;
    }
  }

  int64_t columns_, rows_, k_;
  Tile tile_;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
