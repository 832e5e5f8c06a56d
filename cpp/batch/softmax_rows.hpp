// What softmax makes of the scores of some rows, a lane of a vector for each of them: of few classes
// one row alone would leave most lanes empty and wait for every result.
#pragma once
#include "losses/multiclass.hpp"
#include "simd/buffer.hpp"
#include "simd/bundle.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

class SoftmaxRows {
 public:
  explicit SoftmaxRows(int64_t k) : k_(k), lanes_(k * kLanes) {}

  // Of up to kLanes rows: scores (kLanes, width) to slopes (count, width), both times the weights,
  // of which null is 1. What they lose, and who is wrong, is added to sums. A row of weight 0 is as
  // if absent, even where its scores are not finite.
  template <class Real>
  void evaluate(const Real* scores, int64_t width, const int64_t* label, const double* weight,
                int64_t count, Real* slopes, Sum& losses, Sum& missed) {
    const int64_t k = k_;
    double* const lanes = lanes_;
    double own[kLanes], weights[kLanes], own_slope[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) {
      const int64_t d = i < count ? label[i] : 0;
      for (int64_t c = 0; c < k; ++c) lanes[c * kLanes + i] = double(scores[i * width + c]);
      own[i] = lanes[d * kLanes + i];
      lanes[d * kLanes + i] = -__builtin_inf();  // no rival of itself
      weights[i] = i >= count ? 0.0 : weight ? weight[i] : 1.0;
    }
    each(own, weights, own_slope, losses, missed);
    for (int64_t i = 0; i < count; ++i) {
      lanes[label[i] * kLanes + i] = own_slope[i];
      for (int64_t c = 0; c < k; ++c) slopes[i * width + c] = Real(lanes[c * kLanes + i]);
    }
  }

 private:
  using Bundle = VectorBundle<Doubles, kPacks>;

  static Bundle bundle(const double* from) {
    return map_lanes<Doubles, kPacks>(
        [&](auto p) SEPARATRIX_INLINE { return load(from + p * kWidth); });
  }
  static void store_bundle(double* to, Bundle from) {
    unrolled<kPacks>([&](auto p) SEPARATRIX_INLINE { store(to + p * kWidth, from.at[p]); });
  }

  // From the scores of all rivals in the lanes to their slopes.
  [[gnu::noinline]] void each(const double* own_scores, const double* weights, double* own_slope,
                              Sum& losses, Sum& missed) {
    const Bundle own = bundle(own_scores), weight = bundle(weights);
    const Doubles zero = splat<Doubles>(0.0);
    Bundle rival = bundle(lanes_), top, rivals = {}, factor;
    for (int64_t c = 1; c < k_; ++c)
      unrolled<kPacks>([&](auto p) SEPARATRIX_INLINE {  // a NaN wins, so that it shows
        const Doubles here = load(lanes_ + c * kLanes + p * kWidth), best = rival.at[p];
        rival.at[p] = select((here <= best) | (best != best), best, here);
      });
    unrolled<kPacks>([&](auto p) SEPARATRIX_INLINE {
      top.at[p] = select(own.at[p] > rival.at[p], own.at[p], rival.at[p]);
    });
    for (int64_t c = 0; c < k_; ++c) {
      const Bundle made = exp_negative(bundle(lanes_ + c * kLanes) - top);
      rivals = rivals + made;
      store_bundle(lanes_ + c * kLanes, made);
    }
    const Bundle mine = exp_negative(own - top);  // 1 if it is the largest
    unrolled<kPacks>([&](auto p) SEPARATRIX_INLINE {
      const Doubles w = weight.at[p], sum = rivals.at[p] + mine.at[p];
      const auto right = own.at[p] > rival.at[p];
      // The sum without its largest term, which is exactly 1.
      const Doubles rest = select(right, rivals.at[p], (rivals.at[p] - 1.0) + mine.at[p]);
      const Doubles behind = top.at[p] - own.at[p];
      const Doubles value = select(behind == __builtin_inf(), behind, behind + log1p_positive(rest));
      losses.part[p] += select(w != 0.0, w * value, zero);
      missed.part[p] += select(right, zero, w);
      factor.at[p] = w / sum;
      store(own_slope + p * kWidth, select(w != 0.0, -rivals.at[p] * factor.at[p], zero));
    });
    for (int64_t c = 0; c < k_; ++c)
      unrolled<kPacks>([&](auto p) SEPARATRIX_INLINE {
        double* const at = lanes_ + c * kLanes + p * kWidth;
        store(at, select(weight.at[p] != 0.0, load(at) * factor.at[p], zero));
      });
  }

  int64_t k_;
  const Buffer<double> lanes_;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
