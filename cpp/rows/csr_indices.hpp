// What is wrong with compressed sparse rows, and which features they store: each found in one read
// of their indices.
//
// Compiled once, in rows/csr_indices.cpp: it goes at the speed of memory at every level.
#pragma once
#include <cstdint>

namespace separatrix {

// A row's entries begin before the first entry, end before they begin, or after the last one; the
// index of an entry is none of a feature; a row's indices do not increase.
enum CsrFlaw : int { kOffsets = 1, kRange = 2, kOrder = 3 };

// The first of these that there is, or 0; nothing is read that is not there.
template <class Index>
int flaw_of(const Index* indices, int64_t count, const Index* indptr, int64_t n, int64_t features);

extern template int flaw_of(const int32_t*, int64_t, const int32_t*, int64_t, int64_t);
extern template int flaw_of(const int64_t*, int64_t, const int64_t*, int64_t, int64_t);

// Marks every index in `found`, which begins as false, one for each feature: how many there are, or
// `most` + 1 as soon as there are more, or -1 if an index is none of a feature.
template <class Index>
int64_t mark_features(const Index* indices, int64_t count, int64_t most, bool* found,
                      int64_t features);

extern template int64_t mark_features(const int32_t*, int64_t, int64_t, bool*, int64_t);
extern template int64_t mark_features(const int64_t*, int64_t, int64_t, bool*, int64_t);

}  // namespace separatrix
