// Some columns of compressed sparse rows, stored as rows are, in two reads of the indices.
//
// `place` (d) is the number of a feature among the selected ones, or -1. Inlined only into the
// bindings: memory bandwidth limits it at every level.
#pragma once
#include <vector>

#include "abi/rows.hpp"

namespace separatrix {

// f(row, entry, place) for every entry of a feature that has a place. Most have none, as a bit per
// feature shows; these bits stay in the nearest cache.
template <class Value, class Index, class F>
static inline void each_placed(const CsrRows<Value, Index>& rows, const int32_t* place, F&& f) {
  std::vector<uint64_t> placed(size_t(rows.d / 64 + 1));
  for (int64_t j = 0; j < rows.d; ++j) placed[size_t(j / 64)] |= uint64_t(place[j] >= 0) << (j % 64);
  for (int64_t i = 0; i < rows.n; ++i)
    for (Index e = rows.indptr[i]; e < rows.indptr[i + 1]; ++e) {
      const auto j = uint64_t(rows.indices[e]);
      if (placed[j / 64] >> (j % 64) & 1) f(i, e, place[j]);
    }
}

// sizes (columns) += how many entries each has
template <class Value, class Index>
static inline void column_sizes(const CsrRows<Value, Index>& rows, const int32_t* place,
                                int64_t* sizes) {
  each_placed(rows, place, [&](int64_t, Index, int32_t column) { ++sizes[column]; });
}

// Values and numbers of rows of every column from next[column] on, which ends behind the last of
// them; false if some would be beyond `room`: these are left out.
template <class Value, class Index>
static inline bool copy_columns(const CsrRows<Value, Index>& rows, const int32_t* place,
                                int64_t* next, int64_t room, Value* values, Index* numbers) {
  bool fit = true;
  each_placed(rows, place, [&](int64_t i, Index e, int32_t column) {
    const int64_t at = next[column]++;
    if (at < 0 || at >= room) {
      fit = false;
      return;
    }
    values[at] = rows.data[e];
    numbers[at] = Index(i);
  });
  return fit;
}

}  // namespace separatrix
