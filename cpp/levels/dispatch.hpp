// Which levels are compiled, and which of these the processor runs. All lists go from the plainest
// level to the widest and end with a null; they may be empty if SEPARATRIX_LEVELS was `native` on
// another machine.
#pragma once
#include "abi/table.hpp"

namespace separatrix {

constexpr int kMostLevels = 3;

struct TableList {
  const Table* at[kMostLevels + 1];
};

const Table* const* compiled_levels();
const Table* const* usable_levels();

// The compiled levels that a processor of this rank runs: see processor.hpp.
TableList levels_up_to(int rank);

// By name; null if unknown or not usable here.
const Table* find_level(const char* name);

}  // namespace separatrix
