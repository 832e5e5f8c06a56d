#include "rows/csr_indices.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace separatrix {

// The sign bit of an `or` of differences shows whether one of them was negative: no comparison and
// no branch per entry. Differences of indices out of range may wrap: the result is then undefined.
template <class Index>
int flaw_of(const Index* indices, int64_t count, const Index* indptr, int64_t n,
             int64_t features) {
  using Word = std::make_unsigned_t<Index>;
  const auto last = Word(std::min<int64_t>(features - 1, std::numeric_limits<Index>::max()));
  Word range = 0, order = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t begin = indptr[i], end = indptr[i + 1];
    if (begin < 0 || end < begin || end > count) return kOffsets;
    if (begin == end) continue;
    const Index* const row = indices + begin;
    const int64_t size = end - begin;
    range |= Word(row[0]) | (last - Word(row[0]));
    for (int64_t j = 1; j < size; ++j) {
      range |= Word(row[j]) | (last - Word(row[j]));
      order |= Word(row[j]) - Word(row[j - 1]) - 1;
    }
  }
  return Index(range) < 0 ? kRange : Index(order) < 0 ? kOrder : 0;
}

template int flaw_of(const int32_t*, int64_t, const int32_t*, int64_t, int64_t);
template int flaw_of(const int64_t*, int64_t, const int64_t*, int64_t, int64_t);

template <class Index>
int64_t mark_features(const Index* indices, int64_t count, int64_t most, bool* found,
                      int64_t features) {
  int64_t marked = 0;
  for (int64_t j = 0; j < count && marked <= most; ++j) {
    if (uint64_t(indices[j]) >= uint64_t(features)) return -1;
    marked += !found[indices[j]];
    found[indices[j]] = true;
  }
  return marked;
}

template int64_t mark_features(const int32_t*, int64_t, int64_t, bool*, int64_t);
template int64_t mark_features(const int64_t*, int64_t, int64_t, bool*, int64_t);

}  // namespace separatrix
