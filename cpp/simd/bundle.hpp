// Some vectors that take every step together: one chain of steps would wait for each of its
// results, and a processor does not look far enough ahead to begin the next.
#pragma once
#include "simd/doubles.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

template <class Vector, int kCount>
struct Several {
  Vector at[kCount];
};

// f of each, which knows the number of the vector.
template <class Vector, int kCount, class F>
inline SEPARATRIX_INLINE Several<Vector, kCount> each(F&& f) {
  Several<Vector, kCount> out;
  unrolled<kCount>([&](auto q) SEPARATRIX_INLINE { out.at[q] = f(q); });
  return out;
}

#define SEPARATRIX_BOTH(op)                                                                  \
  template <class V, int n>                                                                  \
  inline SEPARATRIX_INLINE Several<V, n> operator op(Several<V, n> a, Several<V, n> b) {     \
    return each<V, n>([&](auto q) SEPARATRIX_INLINE { return a.at[q] op b.at[q]; });         \
  }
SEPARATRIX_BOTH(+)
SEPARATRIX_BOTH(-)
SEPARATRIX_BOTH(*)
#undef SEPARATRIX_BOTH

template <int n>
inline SEPARATRIX_INLINE Several<Doubles, n> operator-(Several<Doubles, n> a, double b) {
  return each<Doubles, n>([&](auto q) SEPARATRIX_INLINE { return a.at[q] - b; });
}
template <int n>
inline SEPARATRIX_INLINE Several<Doubles, n> operator-(double a, Several<Doubles, n> b) {
  return each<Doubles, n>([&](auto q) SEPARATRIX_INLINE { return a - b.at[q]; });
}
template <int n>
inline SEPARATRIX_INLINE Several<Doubles, n> operator+(double a, Several<Doubles, n> b) {
  return each<Doubles, n>([&](auto q) SEPARATRIX_INLINE { return a + b.at[q]; });
}
template <int n>
inline SEPARATRIX_INLINE Several<Doubles, n> operator*(double a, Several<Doubles, n> b) {
  return each<Doubles, n>([&](auto q) SEPARATRIX_INLINE { return a * b.at[q]; });
}
template <int n>
inline SEPARATRIX_INLINE Several<Words, n> operator<<(Several<Words, n> a, int by) {
  return each<Words, n>([&](auto q) SEPARATRIX_INLINE { return a.at[q] << by; });
}

using Mask = decltype(Doubles{} < Doubles{});
template <int n>
inline SEPARATRIX_INLINE Several<Mask, n> operator<(Several<Doubles, n> a, double b) {
  return each<Mask, n>([&](auto q) SEPARATRIX_INLINE { return a.at[q] < b; });
}
template <int n>
inline SEPARATRIX_INLINE Several<Mask, n> operator==(Several<Doubles, n> a, Several<Doubles, n> b) {
  return each<Mask, n>([&](auto q) SEPARATRIX_INLINE { return a.at[q] == b.at[q]; });
}
template <int n>
inline SEPARATRIX_INLINE Several<Doubles, n> select(Several<Mask, n> mask, Several<Doubles, n> yes,
                                                    Several<Doubles, n> no) {
  return each<Doubles, n>([&](auto q) SEPARATRIX_INLINE {
    return mask.at[q] ? yes.at[q] : no.at[q];
  });
}
template <int n>
inline SEPARATRIX_INLINE Several<Doubles, n> fma(Several<Doubles, n> a, Several<Doubles, n> b,
                                                 Several<Doubles, n> c) {
  return each<Doubles, n>([&](auto q) SEPARATRIX_INLINE {
    return fma(a.at[q], b.at[q], c.at[q]);
  });
}
template <int n>
inline SEPARATRIX_INLINE Several<Words, n> bits(Several<Doubles, n> value) {
  return each<Words, n>([&](auto q) SEPARATRIX_INLINE { return bits(value.at[q]); });
}
template <int n>
inline SEPARATRIX_INLINE Several<Doubles, n> from_bits(Several<Words, n> value) {
  return each<Doubles, n>([&](auto q) SEPARATRIX_INLINE { return from_bits(value.at[q]); });
}

}  // namespace separatrix::SEPARATRIX_LEVEL
