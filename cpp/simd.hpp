// Vectors of the level's width, written with the compilers' vector extension, so that the
// same source serves SSE2, AVX2, AVX-512 and NEON.
//
// Every sum of products has kLanes partial sums whatever the width, reduced in one fixed
// order: all levels that have fused multiply-add give the same bits.
#pragma once
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace separatrix::SEPARATRIX_LEVEL {

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX2__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
constexpr int kWidth = kBytes / 8;
constexpr int kLanes = 16;
constexpr int kPacks = kLanes / kWidth;

typedef double Doubles __attribute__((vector_size(kBytes)));
typedef uint64_t Words __attribute__((vector_size(kBytes)));

inline Doubles load(const double* from) {
  Doubles to;
  std::memcpy(&to, from, sizeof to);
  return to;
}

// The compilers' own conversion of half a vector takes each lane apart (GCC 12): five times
// slower than the instruction made for it.
inline Doubles load(const float* from) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(from));  // unmasked, GCC 12 warns of itself
#elif defined(__AVX2__)
  return _mm256_cvtps_pd(_mm_loadu_ps(from));
#elif defined(__x86_64__)
  return _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#elif defined(__aarch64__)
  return vcvt_f64_f32(vld1_f32(from));
#else
  Doubles to;
  for (int l = 0; l < kWidth; ++l) to[l] = from[l];
  return to;
#endif
}

inline void store(double* to, Doubles from) { std::memcpy(to, &from, sizeof from); }

// The first `count` values, zeros after them.
template <class Value>
inline Doubles load_part(const Value* from, int64_t count) {
  double part[kWidth] = {};
  for (int64_t j = 0; j < count; ++j) part[j] = from[j];
  return load(part);
}

// a * b + c. The compiler may not fuse by itself (-ffp-contract=off): then a level's bits
// would depend on the compiler.
inline double fma(double a, double b, double c) {
#if defined(__FMA__) || defined(__aarch64__) || defined(__FP_FAST_FMA)
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

inline Doubles fma(Doubles a, Doubles b, Doubles c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__) && defined(__AVX2__)
  return _mm256_fmadd_pd(a, b, c);
#elif defined(__aarch64__)
  return vfmaq_f64(c, a, b);
#elif defined(__FP_FAST_FMA)
  Doubles out;
  for (int l = 0; l < kWidth; ++l) out[l] = __builtin_fma(a[l], b[l], c[l]);
  return out;
#else
  return a * b + c;
#endif
}

// Functions written once for a number and for a vector of numbers.
template <class T>
inline T splat(double value) {
  return value - T{};  // folded away, as adding 0 to -0.0 could not be
}
template <class Mask, class T>
inline T select(Mask mask, T yes, T no) {
  return mask ? yes : no;
}
inline uint64_t bits(double value) { return __builtin_bit_cast(uint64_t, value); }
inline Words bits(Doubles value) { return (Words)value; }
inline double from_bits(uint64_t value) { return __builtin_bit_cast(double, value); }
inline Doubles from_bits(Words value) { return (Doubles)value; }

// kLanes partial sums of products.
struct Sum {
  Doubles part[kPacks] = {};

  double total() const {
    Doubles half[kPacks];
    for (int p = 0; p < kPacks; ++p) half[p] = part[p];
    for (int h = kPacks / 2; h >= 1; h /= 2)
      for (int p = 0; p < h; ++p) half[p] += half[p + h];
    double lane[kWidth];
    store(lane, half[0]);
    for (int h = kWidth / 2; h >= 1; h /= 2)
      for (int l = 0; l < h; ++l) lane[l] += lane[l + h];
    return lane[0];
  }
};

// Ahead of loops that go through memory in order: of every two cache lines the dot products of a
// tile fetch the first, and the additions that follow them the second, `ahead` bytes further on.
// So the memory is busy in both.
constexpr int64_t kTwoLines = 128;
template <class Value>
inline void fetch(const Value* from, int64_t ahead) {
  __builtin_prefetch(reinterpret_cast<const char*>(from) + ahead, 0, 3);
}

// sums[r] += x[r] . w for kRows rows at once: each piece of w is loaded once for all.
template <int kRows, class Value, bool kStreams = false, class Weight>
inline void multiply_add(Sum (&sums)[kRows], const Value* const (&x)[kRows], const Weight* w,
                         int64_t d, int64_t ahead = 0) {
  int64_t j = 0;
  // In variables of their own, which stay in registers: the rest of a row, below, picks sums by
  // number, and for that compilers keep them in memory.
  Doubles part[kRows][kPacks];
  for (int r = 0; r < kRows; ++r)
    for (int p = 0; p < kPacks; ++p) part[r][p] = sums[r].part[p];
  for (; j + kLanes <= d; j += kLanes) {
    if (kStreams && j * int64_t(sizeof(Value)) % kTwoLines == 0)
      for (int r = 0; r < kRows; ++r) fetch(x[r] + j, ahead);
    for (int p = 0; p < kPacks; ++p) {
      const int64_t at = j + p * kWidth;
      const Doubles piece = load(w + at);
      for (int r = 0; r < kRows; ++r) part[r][p] = fma(load(x[r] + at), piece, part[r][p]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int p = 0; p < kPacks; ++p) sums[r].part[p] = part[r][p];
  for (int p = 0; p < kPacks && j < d; ++p, j += kWidth) {
    const int64_t left = d - j < kWidth ? d - j : kWidth;
    const Doubles piece = left == kWidth ? load(w + j) : load_part(w + j, left);
    for (int r = 0; r < kRows; ++r) {
      const Doubles values = left == kWidth ? load(x[r] + j) : load_part(x[r] + j, left);
      sums[r].part[p] = fma(values, piece, sums[r].part[p]);
    }
  }
}

// w += a[0] * x[0] + ... for kRows rows at once, in that order for every weight.
template <int kRows, class Value, bool kStreams = false>
inline void add_scaled(const double (&a)[kRows], const Value* const (&x)[kRows], double* w,
                       int64_t d, int64_t ahead = 0) {
  const auto add_at = [&](int64_t j) {
    Doubles sum = load(w + j);
    for (int r = 0; r < kRows; ++r) sum = fma(splat<Doubles>(a[r]), load(x[r] + j), sum);
    store(w + j, sum);
  };
  constexpr int64_t kStep = kTwoLines / int64_t(sizeof(Value));
  int64_t j = 0;
  for (; kStreams && j + kStep <= d; j += kStep) {
    for (int r = 0; r < kRows; ++r) fetch(x[r] + j, ahead + kTwoLines / 2);
    for (int64_t i = 0; i < kStep; i += kWidth) add_at(j + i);
  }
  for (; j + kWidth <= d; j += kWidth) add_at(j);
  for (; j < d; ++j)
    for (int r = 0; r < kRows; ++r) w[j] = fma(a[r], double(x[r][j]), w[j]);
}

// e^x for x <= 0, to about one unit in the last place; e^-708 below that.
template <class T>
inline T exp_negative(T x) {
  constexpr double kLog2E = 0x1.71547652b82fep0;
  constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kRound = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  // e^r - 1 - r over r^2 for |r| <= ln(2)/2, by interpolation in Chebyshev's points, to 2e-17.
  constexpr double k2 = 0x1.0000000000011p-1, k3 = 0x1.555555555555ap-3,
                   k4 = 0x1.555555554f0bap-5, k5 = 0x1.111111110f21ep-7,
                   k6 = 0x1.6c16c1880029fp-10, k7 = 0x1.a01a01b1461c5p-13,
                   k8 = 0x1.a01991a10d9aep-16, k9 = 0x1.71ddf56d8deb5p-19,
                   k10 = 0x1.28b4101c77212p-22, k11 = 0x1.af632a0f7e2cfp-26;
  x = select(x < -708.0, splat<T>(-708.0), x);  // written so that NaN stays NaN
  const T shifted = fma(x, splat<T>(kLog2E), splat<T>(kRound));
  const T power = shifted - kRound;
  T rest = fma(power, splat<T>(-kLn2High), x);
  rest = fma(power, splat<T>(-kLn2Low), rest);
  // In pairs: a chain of terms would wait for each of its products.
  const auto pair = [rest](double low, double high) {
    return fma(splat<T>(high), rest, splat<T>(low));
  };
  const T square = rest * rest, fourth = square * square;
  const T low = fma(square, pair(k4, k5), pair(k2, k3));
  const T high = fma(fourth, pair(k10, k11), fma(square, pair(k8, k9), pair(k6, k7)));
  const T sum = 1.0 + fma(square, fma(fourth, high, low), rest);
  const T result = from_bits(bits(sum) + (bits(shifted) << 52));
  return select(x == x, result, x);  // the payload of a NaN would be added to its exponent
}

// log(1 + t) for 0 <= t <= 1, from log(1 + t) = 2 artanh(t / (2 + t)).
template <class T>
inline T log1p_unit(T t) {
  const T s = t / (2.0 + t);
  const T square = s * s;
  T sum = splat<T>(1.0 / 35);
  for (int k = 33; k >= 1; k -= 2) sum = fma(sum, square, splat<T>(1.0 / k));
  return 2.0 * s * sum;
}

}  // namespace separatrix::SEPARATRIX_LEVEL
