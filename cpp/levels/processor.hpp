// The widest instruction-set level of this processor: 0 is the baseline, 1 AVX2, 2 AVX-512.
#pragma once
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace separatrix {

#if defined(__x86_64__)
// The processor must have the instructions (CPUID) and the operating system must save
// their registers (XGETBV).
static inline int widest_rank() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  const bool xsave = c & (1u << 27), fma = c & (1u << 12);
  if (!xsave || !fma) return 0;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  if (!(b & (1u << 5))) return 0;
  const unsigned wanted = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31);  // F, DQ, BW, VL
  return (low & 0xe0) == 0xe0 && (b & wanted) == wanted ? 2 : 1;
}
#else
static inline int widest_rank() { return 0; }
#endif

}  // namespace separatrix
