// Products of rows in float with weights in float, for sums that need not be exact.
//
// Twice as many products at a time as in double, and nothing to convert: memory is the limit. Few
// sums are made in float before they are added up in double, so that the result is right to about
// six digits of its largest terms. The order of all sums is the same at every level.
#pragma once
#include "rows/products.hpp"
#include "simd/buffer.hpp"
#include "simd/floats.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int kFloatLanes = 16;              // partial sums of a product, at any level
constexpr int kFloatWidth = kBytes / 4;
constexpr int kFloatPacks = kFloatLanes / kFloatWidth;
constexpr int64_t kFloatColumns = 1024;      // products summed in float, at most
constexpr int64_t kFloatRows = 128;          // rows added up in float, about

// The first `count` values, zeros after them.
inline Floats load_some(const float* from, int64_t count) {
  if (count >= kFloatWidth) return load_pack<Floats>(from);
  float part[kFloatWidth] = {};
  for (int64_t j = 0; j < count; ++j) part[j] = from[j];
  return load_pack<Floats>(part);
}

// Of all lanes: one half added to the other, again and again, and of the last four each to the
// next, as one instruction of the narrowest level has it.
inline float total(const Floats* part) {
  Floats whole[kFloatPacks];
  unrolled<kFloatPacks>([&](auto p) SEPARATRIX_INLINE { whole[p] = part[p]; });
  if constexpr (kFloatPacks == 4) {
    whole[0] += whole[2];
    whole[1] += whole[3];
  }
  if constexpr (kFloatPacks >= 2) whole[0] += whole[1];
#if defined(__aarch64__)
  return vaddvq_f32(whole[0]);
#else
  float lane[kFloatWidth];
  std::memcpy(lane, whole, sizeof lane);
  for (int half = kFloatWidth / 2; half >= 4; half /= 2)
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
#endif
}

template <class Rows>
constexpr bool kHasFloat32Sums = false;
template <>
inline constexpr bool kHasFloat32Sums<DenseRows<float>> = true;

// Scores of a tile of rows, and what they add to the gradient.
class Float32Sums {
 public:
  Float32Sums(const DenseRows<float>& rows, const double* w, double* gradient)
      : rows_(rows), gradient_(gradient), w_(Buffer<float>::zeros(2 * rows.d)), sum_(w_ + rows.d) {
    for (int64_t j = 0; j < rows.d; ++j) w_[j] = float(w[j]);
  }
  ~Float32Sums() { flush(); }

  template <class Next>
  void dot_tile(int64_t first, int64_t count, double* scores, Next& next) const {
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) multiply<4>(first + i, scores + i, next);
    for (; i < count; ++i) multiply<1>(first + i, scores + i, next);
  }

  template <class Next>
  void add_tile(int64_t first, int64_t count, const double* a, Next& next) {
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) add<4>(first + i, a + i, next);
    for (; i < count; ++i) add<1>(first + i, a + i, next);
    added_ += count;
    if (added_ >= kFloatRows) flush();
  }

 private:
  template <int kRows, class Next>
  [[gnu::noinline]] void multiply(int64_t i, double* scores, Next& next) const {
    Next ahead = next;
    for (int r = 0; r < kRows; ++r) scores[r] = 0;
    for (int64_t from = 0; from < rows_.d; from += kFloatColumns) {
      const int64_t end = rows_.d - from < kFloatColumns ? rows_.d : from + kFloatColumns;
      Floats part[kRows * kFloatPacks] = {};
      const float* x[kRows];
      for (int r = 0; r < kRows; ++r) x[r] = row(rows_, i + r);
      int64_t j = from;
      for (; j + kFloatLanes <= end; j += kFloatLanes) {
        ahead.advance(kRows * kFloatLanes * 4);
        unrolled<kFloatPacks>([&](auto p) SEPARATRIX_INLINE {
          const Floats w = load_pack<Floats>(w_ + j + p * kFloatWidth);
          unrolled<kRows>([&](auto r) SEPARATRIX_INLINE {
            Floats& sum = part[r * kFloatPacks + p];
            sum = fma(load_pack<Floats>(x[r] + j + p * kFloatWidth), w, sum);
          });
        });
      }
      unrolled<kFloatPacks>([&](auto p) SEPARATRIX_INLINE {
        const int64_t at = j + p * kFloatWidth, left = end - at;
        if (left <= 0) return;
        const Floats w = load_some(w_ + at, left);
        unrolled<kRows>([&](auto r) SEPARATRIX_INLINE {
          Floats& sum = part[r * kFloatPacks + p];
          sum = fma(load_some(x[r] + at, left), w, sum);
        });
      });
      unrolled<kRows>([&](auto r) SEPARATRIX_INLINE {
        scores[r] += double(total(part + r * kFloatPacks));
      });
    }
    next = ahead;
  }

  template <int kRows, class Next>
  [[gnu::noinline]] void add(int64_t i, const double* a, Next& next) {
    Floats factor[kRows];
    const float* x[kRows];
    for (int r = 0; r < kRows; ++r) {
      factor[r] = float(a[r]) - Floats{};
      x[r] = row(rows_, i + r);
    }
    // Of its own, for the compiler takes all floats in memory for one another.
    float* const to = sum_;
    const int64_t d = rows_.d;
    Next ahead = next;
    int64_t j = 0;
    for (; j + kFloatLanes <= d; j += kFloatLanes) {
      ahead.advance(kRows * kFloatLanes * 4);
      unrolled<kFloatPacks>([&](auto p) SEPARATRIX_INLINE {
        float* const at = to + j + p * kFloatWidth;
        Floats sum = load_pack<Floats>(at);
        unrolled<kRows>([&](auto r) SEPARATRIX_INLINE {
          sum = fma(factor[r], load_pack<Floats>(x[r] + j + p * kFloatWidth), sum);
        });
        std::memcpy(at, &sum, sizeof sum);
      });
    }
    for (; j < d; ++j)
      for (int r = 0; r < kRows; ++r) to[j] += factor[r][0] * x[r][j];
    next = ahead;
  }

  void flush() {
    if (!gradient_) return;
    for (int64_t j = 0; j < rows_.d; ++j) gradient_[j] += double(sum_[j]);
    std::memset(sum_, 0, sizeof(float) * size_t(rows_.d));
    added_ = 0;
  }

  const DenseRows<float>& rows_;
  double* const gradient_;
  const Buffer<float> w_;
  float* const sum_;
  int64_t added_ = 0;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
