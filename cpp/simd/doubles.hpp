// Vectors of the level's width, written with the compilers' vector extension, so that the
// same source serves SSE2, AVX2, AVX-512 and NEON.
//
// Every sum of products has kLanes partial sums whatever the width, reduced in one fixed
// order: all levels that have fused multiply-add give the same bits. Eight of them let four rows
// be summed at once in the registers of the narrowest level.
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
#if defined(__x86_64__) && !defined(__AVX512F__)
constexpr int kRegisters = 16;
#else
constexpr int kRegisters = 32;
#endif
constexpr int kWidth = kBytes / 8;
constexpr int kLanes = 8;
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

// f(0), f(1), ... with numbers that the compiler knows: an array that is indexed by nothing else
// stays in registers.
template <int kValue>
struct Number {
  constexpr operator int() const { return kValue; }
};
#define SEPARATRIX_INLINE __attribute__((always_inline))
template <int kCount, int kFrom = 0, class F>
inline SEPARATRIX_INLINE void unrolled(F&& f) {
  if constexpr (kFrom < kCount) {
    f(Number<kFrom>{});
    unrolled<kCount, kFrom + 1>(f);
  }
}

// What a loop that goes through memory will need next: asked for while it computes, a few lines
// at a time, in the order in which they lie. Of every kParts lines that the loop uses it asks for
// one: into the nearest cache if there is room until they are used, or else into the one behind
// it, which also has room for more requests.
template <int kParts, bool kNearest = false>
struct StreamPrefetcher {
  const char* at;
  inline void advance(int64_t bytes) {
    for (const char* end = at + bytes / kParts; at < end; at += 64)
      __builtin_prefetch(at, 0, kNearest ? 3 : 2);
  }
  StreamPrefetcher<1, kNearest> all() const { return {at}; }
};
struct NoPrefetch {
  inline void advance(int64_t) {}
  NoPrefetch all() const { return {}; }
};

// kLanes partial sums of products.
struct Sum {
  Doubles part[kPacks];

  double total() const {  // one half added to the other, again and again
    Doubles whole[kPacks];
    unrolled<kPacks>([&](auto p) SEPARATRIX_INLINE { whole[p] = part[p]; });
    if constexpr (kPacks == 4) {
      whole[0] += whole[2];
      whole[1] += whole[3];
    }
    if constexpr (kPacks >= 2) whole[0] += whole[1];
#if defined(__aarch64__)
    return vaddvq_f64(whole[0]);  // in registers, where compilers go through memory
#else
    double lane[kWidth];
    store(lane, whole[0]);
    for (int half = kWidth / 2; half >= 1; half /= 2)
      for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
    return lane[0];
#endif
  }
};

// out[r] = x[r] . w: each piece of w is loaded once for all rows.
//
// A function of its own wherever it is called: inside of others GCC 12 writes the sums to memory in
// every step.
template <int kRows, class Value, class Weight, class Next>
[[gnu::noinline]] void products(double* out, const Value* const (&x)[kRows], const Weight* w,
                                int64_t d, Next& next) {
  Sum sums[kRows] = {};
  const auto add_at = [&](auto p, auto&& load_at) SEPARATRIX_INLINE {
    const Doubles weights = load_at(w);
    unrolled<kRows>([&](auto r) SEPARATRIX_INLINE {
      sums[r].part[p] = fma(load_at(x[r]), weights, sums[r].part[p]);
    });
  };
  Next ahead = next;  // of its own, as the sums must be: what is passed in has an address
  int64_t j = 0;
  for (; j + kLanes <= d; j += kLanes) {
    ahead.advance(kRows * kLanes * int64_t(sizeof(Value)));
    unrolled<kPacks>([&](auto p) SEPARATRIX_INLINE {
      add_at(p, [&](const auto* from) SEPARATRIX_INLINE { return load(from + j + p * kWidth); });
    });
  }
  next = ahead;
  unrolled<kPacks>([&](auto p) SEPARATRIX_INLINE {
    const int64_t at = j + p * kWidth, left = d - at;
    if (left >= kWidth)
      add_at(p, [&](const auto* from) SEPARATRIX_INLINE { return load(from + at); });
    else if (left > 0)
      add_at(p, [&](const auto* from) SEPARATRIX_INLINE { return load_part(from + at, left); });
  });
  unrolled<kRows>([&](auto r) SEPARATRIX_INLINE { out[r] = sums[r].total(); });
}

// w += a[0] * x[0] + a[1] * x[1] + ..., in that order for every weight.
template <int kRows, class Value, class Next>
inline void add_scaled(const double (&a)[kRows], const Value* const (&x)[kRows], double* w,
                       int64_t d, Next& next) {
  Doubles factor[kRows];
  unrolled<kRows>([&](auto r) SEPARATRIX_INLINE { factor[r] = splat<Doubles>(a[r]); });
  const auto add_at = [&](auto packs, int64_t j) SEPARATRIX_INLINE {
    constexpr int kPieces = packs;
    Doubles sum[kPieces];
    unrolled<kPieces>([&](auto p) SEPARATRIX_INLINE { sum[p] = load(w + j + p * kWidth); });
    unrolled<kRows>([&](auto r) SEPARATRIX_INLINE {
      unrolled<kPieces>([&](auto p) SEPARATRIX_INLINE {
        sum[p] = fma(factor[r], load(x[r] + j + p * kWidth), sum[p]);
      });
    });
    unrolled<kPieces>([&](auto p) SEPARATRIX_INLINE { store(w + j + p * kWidth, sum[p]); });
  };
  Next ahead = next;
  int64_t j = 0;
  for (; j + kLanes <= d; j += kLanes) {
    ahead.advance(kRows * kLanes * int64_t(sizeof(Value)));
    add_at(Number<kPacks>{}, j);
  }
  next = ahead;
  for (; j + kWidth <= d; j += kWidth) add_at(Number<1>{}, j);
  for (; j < d; ++j)
    for (int r = 0; r < kRows; ++r) w[j] = fma(a[r], double(x[r][j]), w[j]);
}

// x . w
template <class Value, class Weight>
inline double dot(const Value* x, const Weight* w, int64_t d) {
  double out;
  NoPrefetch nothing;
  products<1, Value, Weight>(&out, {x}, w, d, nothing);
  return out;
}

// w += a * x
template <class Value>
inline void add_scaled(double a, const Value* x, double* w, int64_t d) {
  NoPrefetch nothing;
  add_scaled<1, Value>({a}, {x}, w, d, nothing);
}

}  // namespace separatrix::SEPARATRIX_LEVEL
