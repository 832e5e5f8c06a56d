// LIBSVM and SVMlight text: a row a line, "label [qid:n] index:value ... [# comment]".
//
// Compiled once, in text/svmlight.cpp: it reads byte by byte at every level.
#pragma once
#include <cstdint>

namespace separatrix {

// The label is not a finite number; a word is not of the form index:value; an index is below the
// first one or beyond kLastIndex; it is not above the one before; a value is not a finite number.
// The last is not a flaw of the text: the arrays are too small.
enum SvmlightFlaw : int {
  kLabel = 1,
  kFeature = 2,
  kIndexRange = 3,
  kIndexOrder = 4,
  kValue = 5,
  kRoom = 6,
};

constexpr int64_t kLastIndex = INT32_MAX - 1;

// Room for rows, and what was found. Indices are counted from 0.
struct SvmlightRows {
  double* labels;
  double* values;
  int32_t* indices;
  int32_t* indptr;  // one more than there are rows
  int64_t max_rows, max_entries;
  int64_t rows = 0, entries = 0;
  int64_t left_out = 0;  // entries of features beyond the last one
  int flaw = 0;
  int64_t at = 0;  // where the word with the flaw begins
};

// Sizes of arrays that are large enough for the rows of a text: lines and entries.
struct SvmlightCounts {
  int64_t lines = 0, entries = 0;
};
SvmlightCounts count_svmlight(const char* text, int64_t size);

// The smallest and the largest index, read from the two ends of each line, as indices increase.
// Undefined for a text with flaws. Without any index smallest > largest.
struct IndexRange {
  int64_t smallest = INT64_MAX, largest = -1;
};
IndexRange svmlight_index_range(const char* text, int64_t size);

// The rows of a text that ends with a line end, up to its first flaw. `features` is their number;
// the first one has the index first_index in the text.
void parse_svmlight(const char* text, int64_t size, int64_t first_index, int64_t features,
                    SvmlightRows& rows);

}  // namespace separatrix
