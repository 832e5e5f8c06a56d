#include "levels/dispatch.hpp"

#include <cstring>

#include "levels/processor.hpp"

namespace separatrix {

namespace baseline { extern const Table table; }
namespace avx2 { extern const Table table; }
namespace avx512 { extern const Table table; }

namespace {

// The compiled levels; CMakeLists.txt defines which they are. The table of a level that is not
// compiled is declared, but not used.
struct Compiled {
  const Table* table;
  int rank;
};
constexpr Compiled kCompiled[] = {
#if defined(SEPARATRIX_HAS_BASELINE)
    {&baseline::table, 0},
#endif
#if defined(SEPARATRIX_HAS_AVX2)
    {&avx2::table, 1},
#endif
#if defined(SEPARATRIX_HAS_AVX512)
    {&avx512::table, 2},
#endif
};

}  // namespace

TableList levels_up_to(int rank) {
  TableList levels = {};
  int count = 0;
  for (const Compiled& level : kCompiled)
    if (level.rank <= rank) levels.at[count++] = level.table;
  return levels;
}

const Table* const* compiled_levels() {
  static const TableList levels = levels_up_to(kMostLevels);
  return levels.at;
}

const Table* const* usable_levels() {
  static const TableList levels = levels_up_to(widest_rank());  // made once
  return levels.at;
}

const Table* find_level(const char* name) {
  for (const Table* const* level = usable_levels(); *level; ++level)
    if (std::strcmp((*level)->level, name) == 0) return *level;
  return nullptr;
}

}  // namespace separatrix
