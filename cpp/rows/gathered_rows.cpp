#include "rows/gathered_rows.hpp"

#include <vector>

namespace separatrix {

namespace {

struct Column {
  const double* value;
  const int64_t* feature;
  int64_t step, feature_step;
};

}  // namespace

int64_t gather_rows(const Gathered& from, double* data, int32_t* indices, int32_t* indptr) {
  std::vector<Column> columns;
  for (int64_t i = 0; i < from.number_columns + from.other_columns; ++i) {
    const int64_t j = from.order[i], other = j - from.number_columns;
    columns.push_back(other < 0 ? Column{from.numbers + j, from.number_features + j,
                                         from.number_columns, 0}
                                : Column{from.values + other * from.n,
                                         from.features + other * from.n, 1, 1});
  }
  int64_t count = 0;
  bool sound = true;
  indptr[0] = 0;
  for (int64_t row = 0; row < from.n; ++row) {
    for (Column& column : columns) {
      const double value = *column.value;
      const int64_t feature = *column.feature;
      column.value += column.step;
      column.feature += column.feature_step;
      data[count] = value;  // and the next takes its place if it is 0
      indices[count] = int32_t(feature);
      count += value != 0.0;
      sound &= value == 0.0 || uint64_t(feature) < uint64_t(from.n_features);
    }
    indptr[row + 1] = int32_t(count);
  }
  return sound ? count : -1;
}

}  // namespace separatrix
