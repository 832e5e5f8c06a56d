// A floating-point filter for many classes: see perceptron/filter.hpp.
//
// A row is certainly right if its margin in float exceeds the error bounds of both sums. Weights in
// float take half the memory, and half as many vector products as doubles.
#pragma once
#include "abi/passes.hpp"
#include "perceptron/filter.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int64_t kPadded = 16;  // floats: rows of weights in float are as long as whole vectors
constexpr int kSwitchAfter = 32;   // lead of right over wrong rows, or the reverse

// Rows of which nothing is known but by the plain sums.
template <class Rows>
class MulticlassFilter {
 public:
  static constexpr double kCostShare = 1;  // of the work of the plain sums
  MulticlassFilter(const Rows&, const OnlinePass&) {}
  double lower_bound(int64_t, int64_t) const { return -1; }
  void on_outcome(bool) {}
  void on_update(int64_t, double) {}
};

template <class Value>
class MulticlassFilter<DenseRows<Value>> {
 public:
  static constexpr double kCostShare = 0.25;
  MulticlassFilter(const DenseRows<Value>& rows, const OnlinePass& pass)
      : rows_(rows), v_(pass.v), k_(pass.k), width_((rows.d + kPadded - 1) / kPadded * kPadded) {
    const double terms = double(rows.d) * 4 / kBytes + 32;
    error_ = 4 * (0x1p-24 * terms + 0x1p-53 * (double(rows.d) + 24));
  }

  // Of a row's score by its class over all others, from below; above 0 only where the plain
  // sums' is.
  double lower_bound(int64_t i, int64_t label) {
    if (!on_) return -1;
    float* const x = room_ + k_ * width_;
    float* const score = x + width_;
    square_ = narrow_row(row(rows_, i), x);
    int64_t c = 0;
    for (; c + 8 <= k_; c += 8) multiply<8>(x, c, score);
    for (; c + 4 <= k_; c += 4) multiply<4>(x, c, score);
    for (; c + 2 <= k_; c += 2) multiply<2>(x, c, score);
    if (c < k_) multiply<1>(x, c, score);
    const int64_t stride = rows_.d + 1;
    double best = -__builtin_inf();
    for (c = 0; c < k_; ++c) {
      const double rival = double(score[c]) + v_[c * stride + rows_.d];
      best = c != label && !(rival <= best) ? rival : best;
    }
    const double own = double(score[label]) + v_[label * stride + rows_.d];
    return own - best - error_ * norm_above_ * __builtin_sqrt(1.01 * square_ + 1);
  }

  // Counts whether a row was right: bounds are useful while most rows are.
  void on_outcome(bool right) {
    if (right ? streak_ < kSwitchAfter : streak_ > -kSwitchAfter) streak_ += right ? 1 : -1;
    if (streak_ == (on_ ? -kSwitchAfter : kSwitchAfter) && error_ < 0.01) toggle();
  }

  // The row of the last bound was added to the weights of class c `times` times.
  void on_update(int64_t c, double times) {
    if (!on_) return;
    copy(c);
    norm_above_ += (times < 0 ? -times : times) * __builtin_sqrt(1.01 * square_ + 1);
    if (!(norm_above_ < 2 * measured_)) measure();
  }

 private:
  static constexpr int kFloats = kBytes / 4, kPieces = int(kPadded) / kFloats;

  float narrow_row(const Value* from, float* to) const {
    Floats sum = {};
    int64_t j = 0;
    for (; j + kPadded <= rows_.d; j += kPadded) {
      narrow_some(from + j, to + j);
      for (int p = 0; p < kPieces; ++p) {
        const Floats some = load_pack<Floats>(to + j + p * kFloats);
        sum = fma(some, some, sum);
      }
    }
    float square = total<float>(sum);
    for (; j < rows_.d; ++j) {
      to[j] = float(from[j]);
      square += to[j] * to[j];
    }
    return square;
  }
  static void narrow_some(const float* from, float* to) {
    std::memcpy(to, from, kPadded * sizeof(float));
  }
  static void narrow_some(const double* from, float* to) {
    for (int half = 0; half < kPadded; half += kLanes) {
      Doubles some[kPacks];
      for (int p = 0; p < kPacks; ++p) some[p] = load(from + half + p * kWidth);
      narrow(some, to + half);
    }
  }

  // Scores of some classes from c on. Sums enough to keep a processor busy, each in a register.
  template <int kClasses>
  [[gnu::noinline]] void multiply(const float* x, int64_t c, float* score) const {
    constexpr int kSums = 8 / kClasses < kPieces ? 8 / kClasses : kPieces;
    const float* const w = room_ + c * width_;
    Floats sum[kClasses * kSums] = {};
    for (int64_t j = 0; j < width_; j += kPadded)
      unrolled<kPieces>([&](auto p) SEPARATRIX_INLINE {
        const Floats some = load_pack<Floats>(x + j + p * kFloats);
        unrolled<kClasses>([&](auto q) SEPARATRIX_INLINE {
          Floats& to = sum[q * kSums + p % kSums];
          to = fma(some, load_pack<Floats>(w + q * width_ + j + p * kFloats), to);
        });
      });
    unrolled<kClasses>([&](auto q) SEPARATRIX_INLINE {
      for (int s = 1; s < kSums; ++s) sum[q * kSums] += sum[q * kSums + s];
      score[c + q] = total<float>(sum[q * kSums]);
    });
  }

  [[gnu::noinline]] void toggle() {
    on_ = !on_;
    if (!on_) return;
    if (!room_) room_ = Buffer<float>::zeros((k_ + 1) * width_ + k_);
    for (int64_t c = 0; c < k_; ++c) copy(c);
    measure();
  }

  void copy(int64_t c) {
    const double* const v = v_ + c * (rows_.d + 1);
    float* const to = room_ + c * width_;
    int64_t j = 0;
    for (; j + kPadded <= rows_.d; j += kPadded) narrow_some(v + j, to + j);
    for (; j < rows_.d; ++j) to[j] = float(v[j]);
  }

  // No (w, b) of a class is longer, nor so short that floats lose what counts. A sum over the
  // classes, and not the largest: it keeps a NaN.
  void measure() {
    const double least = double(rows_.d + 1) * PackOf<float>::kShort;
    measured_ = norm_above_ = 1.001 * __builtin_sqrt(dot(v_, v_, k_ * (rows_.d + 1))) + least;
    if (!(norm_above_ < PackOf<float>::kLongest)) measured_ = norm_above_ = __builtin_inf();
  }

  const DenseRows<Value>& rows_;
  const double* v_;
  int64_t k_, width_;
  Buffer<float> room_;  // weights of all classes, the row, its scores
  double error_ = 0;       // of a margin, for weights and a row of length 1
  double measured_ = 0, norm_above_ = 0;
  float square_ = 0;       // of the row
  bool on_ = false;
  int streak_ = 0;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
