// Products with vectors that stand in panels of kPanel, one entry of all of them after another:
// lanes are vectors, so that nothing is left to be summed across them.
#pragma once
#include "abi/passes.hpp"
#include "simd/doubles.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int kPieces = kPanel / kWidth;
constexpr int kTileRows = kBytes == 64 ? 8 : 4;  // as many chains as hide the latency of one

// out[r] = sum over t of x[r * across + t * along] * panel[t * step ...]: kRows vectors times the
// kPanel of a panel. Every product is one chain, whatever else is computed along with it.
template <int kRows>
inline void panel_products(const double* x, int64_t across, int64_t along, const double* panel,
                           int64_t step, int64_t count, Doubles (&out)[kRows][kPieces]) {
  Doubles products[kRows][kPieces] = {};
  for (int64_t t = 0; t < count; ++t, x += along, panel += step) {
    Doubles pieces[kPieces];
    for (int v = 0; v < kPieces; ++v) pieces[v] = load(panel + v * kWidth);
    for (int r = 0; r < kRows; ++r) {
      const Doubles factor = splat<Doubles>(x[r * across]);
      for (int v = 0; v < kPieces; ++v) products[r][v] = fma(factor, pieces[v], products[r][v]);
    }
  }
  // An array that a loop indexes stays in memory, and every product would be stored: so the
  // loop that indexes has an array of its own.
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < kPieces; ++v) out[r][v] = products[r][v];
}

}  // namespace separatrix::SEPARATRIX_LEVEL
