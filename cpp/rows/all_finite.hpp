// Whether numbers are finite, at the speed at which they can be read.
#pragma once
#include "simd/floats.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// 0 times infinity or NaN is NaN, and stays it in a sum.
template <class Value>
bool all_finite(const Value* values, int64_t count) {
  using Pack = typename PackOf<Value>::Type;
  constexpr int kSums = 8;
  constexpr int64_t kCount = sizeof(Pack) / sizeof(Value);
  const Pack zero = {};
  Pack sum[kSums] = {};
  int64_t j = 0;
  for (; j + kSums * kCount <= count; j += kSums * kCount)
    unrolled<kSums>([&](auto s) SEPARATRIX_INLINE {
      sum[s] = fma(load_pack<Pack>(values + j + s * kCount), zero, sum[s]);
    });
  for (int s = 1; s < kSums; ++s) sum[0] += sum[s];
  Value rest = total<Value>(sum[0]);
  for (; j < count; ++j) rest += values[j] * Value(0);
  return rest == 0;
}

}  // namespace separatrix::SEPARATRIX_LEVEL
