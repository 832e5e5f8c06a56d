// What is wrong with compressed sparse rows: found in one read of their indices.
//
// Compiled once, in rows/csr_flaw.cpp: it goes at the speed of memory at every level.
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

}  // namespace separatrix
