// Vectors of floats of the level's width, and of either type by that of the rows.
#pragma once
#include "simd/doubles.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

typedef float Floats __attribute__((vector_size(kBytes)));

inline Floats fma(Floats a, Floats b, Floats c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__) && defined(__AVX2__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__aarch64__)
  return vfmaq_f32(c, a, b);
#else
  return a * b + c;
#endif
}

// Weights in float, stored in pieces as large as those in which they are read, where that is
// possible.
inline void narrow(const Doubles (&from)[kPacks], float* to) {
#if defined(__AVX512F__)
  _mm256_storeu_ps(to, _mm512_maskz_cvtpd_ps(0xff, from[0]));
#elif defined(__AVX2__)
  _mm256_storeu_ps(to, _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(from[0])),
                                            _mm256_cvtpd_ps(from[1]), 1));
#elif defined(__x86_64__)
  for (int p = 0; p < kPacks; p += 2)
    _mm_storeu_ps(to + 2 * p, _mm_movelh_ps(_mm_cvtpd_ps(from[p]), _mm_cvtpd_ps(from[p + 1])));
#elif defined(__aarch64__)
  for (int p = 0; p < kPacks; p += 2)
    vst1q_f32(to + 2 * p, vcvt_high_f32_f64(vcvt_f32_f64(from[p]), from[p + 1]));
#else
  for (int l = 0; l < kLanes; ++l) to[l] = float(from[l / kWidth][l % kWidth]);
#endif
}

inline void narrow(const double* from, float* to, int64_t count) {
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    Doubles some[kPacks];
    for (int p = 0; p < kPacks; ++p) some[p] = load(from + j + p * kWidth);
    narrow(some, to + j);
  }
  for (; j < count; ++j) to[j] = float(from[j]);
}
inline void narrow(const double* from, double* to, int64_t count) {
  std::memcpy(to, from, sizeof(double) * size_t(count));
}

// A vector of the rows' own type; weights shorter than kShort may lose more than kUnit of their
// products or squares, longer than kLongest may overflow.
template <class Value>
struct PackOf {
  using Type = Doubles;
  static constexpr double kUnit = 0x1p-53, kShort = 0x1p-500, kLongest = 0x1p+500;
};
template <>
struct PackOf<float> {
  using Type = Floats;
  static constexpr double kUnit = 0x1p-24, kShort = 0x1p-102, kLongest = 0x1p+60;
};

template <class Pack, class Value>
inline Pack load_pack(const Value* from) {
  Pack to;
  std::memcpy(&to, from, sizeof to);
  return to;
}

template <class Value, class Pack>
inline Value total(Pack pack) {
  constexpr int kCount = sizeof(Pack) / sizeof(Value);
  Value lane[kCount];
  std::memcpy(lane, &pack, sizeof pack);
  for (int h = kCount / 2; h >= 1; h /= 2)
    for (int l = 0; l < h; ++l) lane[l] += lane[l + h];
  return lane[0];
}
#if defined(__aarch64__)  // in registers, where compilers go through memory
template <>
inline float total<float>(Floats pack) { return vaddvq_f32(pack); }
template <>
inline double total<double>(Doubles pack) { return vaddvq_f64(pack); }
#endif

}  // namespace separatrix::SEPARATRIX_LEVEL
