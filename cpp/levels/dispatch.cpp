#include "levels/dispatch.hpp"

#include <array>
#include <cstring>
#if defined(SEPARATRIX_X86)
#include <cpuid.h>
#endif

namespace separatrix {

namespace baseline { extern const Table table; }
#if defined(SEPARATRIX_X86)
namespace avx2 { extern const Table table; }
namespace avx512 { extern const Table table; }

// The processor must have the instructions (CPUID) and the operating system must save
// their registers (XGETBV).
static int widest() {
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
#endif

const Table* const* usable_levels() {
#if defined(SEPARATRIX_X86)
  // Made once, whichever thread asks first.
  static const std::array<const Table*, 4> levels = [] {
    const int last = widest();
    return std::array<const Table*, 4>{&baseline::table, last >= 1 ? &avx2::table : nullptr,
                                       last >= 2 ? &avx512::table : nullptr, nullptr};
  }();
#else
  static const std::array<const Table*, 2> levels = {&baseline::table, nullptr};
#endif
  return levels.data();
}

const Table* find_level(const char* name) {
  for (const Table* const* level = usable_levels(); *level; ++level)
    if (std::strcmp((*level)->level, name) == 0) return *level;
  return nullptr;
}

}  // namespace separatrix
