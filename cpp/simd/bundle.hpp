// Some vectors that take every step together: one chain of steps would wait for each of its
// results, and a processor does not look far enough ahead to begin the next.
#pragma once
#include "simd/doubles.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

template <class Vector, int kCount>
struct VectorBundle {
  Vector at[kCount];
};

// f of each, which knows the number of the vector.
template <class Vector, int kCount, class F>
inline SEPARATRIX_INLINE VectorBundle<Vector, kCount> map_lanes(F&& f) {
  VectorBundle<Vector, kCount> out;
  unrolled<kCount>([&](auto q) SEPARATRIX_INLINE { out.at[q] = f(q); });
  return out;
}

#define SEPARATRIX_LANEWISE(op)                                                                  \
  template <class V, int n>                                                                  \
  inline SEPARATRIX_INLINE VectorBundle<V, n> operator op(VectorBundle<V, n> a,              \
                                                          VectorBundle<V, n> b) {            \
    return map_lanes<V, n>([&](auto q) SEPARATRIX_INLINE { return a.at[q] op b.at[q]; });         \
  }
SEPARATRIX_LANEWISE(+)
SEPARATRIX_LANEWISE(-)
SEPARATRIX_LANEWISE(*)
#undef SEPARATRIX_LANEWISE

template <int n>
inline SEPARATRIX_INLINE VectorBundle<Doubles, n> operator-(VectorBundle<Doubles, n> a, double b) {
  return map_lanes<Doubles, n>([&](auto q) SEPARATRIX_INLINE { return a.at[q] - b; });
}
template <int n>
inline SEPARATRIX_INLINE VectorBundle<Doubles, n> operator-(double a, VectorBundle<Doubles, n> b) {
  return map_lanes<Doubles, n>([&](auto q) SEPARATRIX_INLINE { return a - b.at[q]; });
}
template <int n>
inline SEPARATRIX_INLINE VectorBundle<Doubles, n> operator+(double a, VectorBundle<Doubles, n> b) {
  return map_lanes<Doubles, n>([&](auto q) SEPARATRIX_INLINE { return a + b.at[q]; });
}
template <int n>
inline SEPARATRIX_INLINE VectorBundle<Doubles, n> operator*(double a, VectorBundle<Doubles, n> b) {
  return map_lanes<Doubles, n>([&](auto q) SEPARATRIX_INLINE { return a * b.at[q]; });
}
template <int n>
inline SEPARATRIX_INLINE VectorBundle<Words, n> operator<<(VectorBundle<Words, n> a, int by) {
  return map_lanes<Words, n>([&](auto q) SEPARATRIX_INLINE { return a.at[q] << by; });
}

using Mask = decltype(Doubles{} < Doubles{});
template <int n>
inline SEPARATRIX_INLINE VectorBundle<Mask, n> operator<(VectorBundle<Doubles, n> a, double b) {
  return map_lanes<Mask, n>([&](auto q) SEPARATRIX_INLINE { return a.at[q] < b; });
}
template <int n>
inline SEPARATRIX_INLINE VectorBundle<Mask, n> operator==(VectorBundle<Doubles, n> a,
                                                          VectorBundle<Doubles, n> b) {
  return map_lanes<Mask, n>([&](auto q) SEPARATRIX_INLINE { return a.at[q] == b.at[q]; });
}
template <int n>
inline SEPARATRIX_INLINE VectorBundle<Doubles, n> select(VectorBundle<Mask, n> mask,
                                                         VectorBundle<Doubles, n> yes,
                                                         VectorBundle<Doubles, n> no) {
  return map_lanes<Doubles, n>([&](auto q) SEPARATRIX_INLINE {
    return mask.at[q] ? yes.at[q] : no.at[q];
  });
}
template <int n>
inline SEPARATRIX_INLINE VectorBundle<Doubles, n> fma(VectorBundle<Doubles, n> a,
                                                      VectorBundle<Doubles, n> b,
                                                      VectorBundle<Doubles, n> c) {
  return map_lanes<Doubles, n>([&](auto q) SEPARATRIX_INLINE {
    return fma(a.at[q], b.at[q], c.at[q]);
  });
}
template <int n>
inline SEPARATRIX_INLINE VectorBundle<Words, n> bits(VectorBundle<Doubles, n> value) {
  return map_lanes<Words, n>([&](auto q) SEPARATRIX_INLINE { return bits(value.at[q]); });
}
template <int n>
inline SEPARATRIX_INLINE VectorBundle<Doubles, n> from_bits(VectorBundle<Words, n> value) {
  return map_lanes<Doubles, n>([&](auto q) SEPARATRIX_INLINE { return from_bits(value.at[q]); });
}

}  // namespace separatrix::SEPARATRIX_LEVEL
