// Sparse rows from columns that give each row at most one value.
//
// Compiled once, in rows/gathered_rows.cpp: it goes at the speed of memory at every level.
#pragma once
#include <cstdint>

namespace separatrix {

// Column after column, a value and its feature for each of n rows. Zeros are left out; data and
// indices need room for all values. Returns how many are not 0.
int64_t gather_rows(const double* values, const int32_t* features, int64_t columns, int64_t n,
                    double* data, int32_t* indices, int32_t* indptr);

}  // namespace separatrix
