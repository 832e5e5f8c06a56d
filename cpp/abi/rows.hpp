// Rows in memory, dense or compressed sparse.
//
// What crosses from the bindings to the loops of every instruction-set level is plain structs. A
// function here is static, so that every object has its own: one that the linker merges could be
// that of another level, and the baseline would run AVX-512 code.
#pragma once
#include <cstdint>

namespace separatrix {

// Rows stored one after another, d values each.
template <class Value>
struct DenseRows {
  const Value* data;
  int64_t n, d;
};

// Compressed sparse rows. `indptr` may be a slice of a larger matrix's: its entries index
// `data` and `indices` as they are, so that a block of rows needs no copy.
template <class Value, class Index>
struct CsrRows {
  const Value* data;
  const Index* indices;
  const Index* indptr;
  int64_t n, d;
};

// Some of the rows.
template <class Value>
static inline DenseRows<Value> slice(const DenseRows<Value>& rows, int64_t first, int64_t count) {
  return {rows.data + first * rows.d, count, rows.d};
}

template <class Value, class Index>
static inline CsrRows<Value, Index> slice(const CsrRows<Value, Index>& rows, int64_t first,
                                          int64_t count) {
  return {rows.data, rows.indices, rows.indptr + first, count, rows.d};
}

}  // namespace separatrix
