// Run by CMake for SEPARATRIX_LEVELS=native: the exit status is the level to compile.
#include "levels/processor.hpp"

int main() { return separatrix::widest_rank(); }
