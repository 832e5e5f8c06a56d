// Sparse rows from columns that give each row at most one value.
//
// Compiled once, in rows/gathered_rows.cpp: it goes at the speed of memory at every level.
#pragma once
#include <cstdint>

namespace separatrix {

// Columns of two kinds for n rows: numbers, row after row, whose features are fixed; and others,
// column after column, each value with a feature.
struct Gathered {
  int64_t n, number_columns, other_columns;
  const double* numbers;            // (n, number_columns)
  const int64_t* number_features;   // (number_columns,)
  const double* values;             // (other_columns, n)
  const int64_t* features;          // (other_columns, n)
  const int64_t* order;             // of all columns: numbers first, then the others, from 0 on
  int64_t n_features;
};

// Zeros are left out; data and indices need room for all values. Returns how many are not 0, or -1
// if one of these belongs to no feature.
int64_t gather_rows(const Gathered& from, double* data, int32_t* indices, int32_t* indptr);

}  // namespace separatrix
