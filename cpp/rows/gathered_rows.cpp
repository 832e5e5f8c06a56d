#include "rows/gathered_rows.hpp"

namespace separatrix {

int64_t gather_rows(const double* values, const int32_t* features, int64_t columns, int64_t n,
                    double* data, int32_t* indices, int32_t* indptr) {
  int64_t count = 0;
  indptr[0] = 0;
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const double value = values[column * n + row];
      data[count] = value;  // and the next takes its place if it is 0
      indices[count] = features[column * n + row];
      count += value != 0.0;
    }
    indptr[row + 1] = int32_t(count);
  }
  return count;
}

}  // namespace separatrix
