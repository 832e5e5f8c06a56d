// All rows, a tile at a time.
#pragma once
#include "abi/passes.hpp"
#include "rows/products.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// Calls f(first row, rows in the tile) over all tiles; false if stopped.
template <class Rows, class F>
inline bool each_tile(const Rows& rows, int64_t size, ShouldStop should_stop, F&& f) {
  for (int64_t first = 0; first < rows.n; first += size) {
    f(first, rows.n - first < size ? rows.n - first : size);
    if (should_stop()) return false;
  }
  return true;
}

}  // namespace separatrix::SEPARATRIX_LEVEL
