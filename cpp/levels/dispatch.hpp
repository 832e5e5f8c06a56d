// Which of the compiled levels this processor runs.
#pragma once
#include "abi/table.hpp"

namespace separatrix {

// Levels this machine can run, from the plainest to the widest, ended by a null.
const Table* const* usable_levels();

// By name; null if unknown or not usable here.
const Table* find_level(const char* name);

}  // namespace separatrix
