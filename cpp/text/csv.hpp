// CSV text without surprises: numbers go to a matrix, words become codes.
//
// Whatever could be read in more than one way is refused, and the caller asks Arrow's parser. So a
// text that is accepted here has the values that Arrow would find.
//
// Compiled once, in text/csv.cpp: 16 bytes are compared at once at every level.
#pragma once
#include <cstdint>
#include <vector>

#include "text/word_table.hpp"

namespace separatrix {

// What becomes of a column.
enum CsvKind : uint8_t { kSkip = 0, kNumber = 1, kWord = 2 };

// Rows of a text. A missing number is NaN, a missing word has the code -1.
struct CsvRows {
  const uint8_t* kinds;  // CsvKind of each column
  const int32_t* slots;  // where it goes, counted among the columns of its kind
  int64_t columns, number_columns, max_rows;
  double* numbers;  // (max_rows, number_columns), row after row
  int32_t* codes;   // (word columns, max_rows), column after column
  std::vector<WordTable> words;
  int64_t rows = 0;
};

// Whole rows of a text that ends with a line's end; the first one is left out if it has the names.
// False if the text is refused.
bool parse_csv(const char* text, int64_t size, char delimiter, bool has_names, CsvRows& rows);

// Where the last row ends that is whole, of a text that begins with a row; 0 if none does. Between
// quotes lines end no row. -1 if there are quotes next to other characters than parsers agree on.
int64_t csv_rows_end(const char* text, int64_t size, char delimiter);

}  // namespace separatrix
