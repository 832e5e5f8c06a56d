// What every array of a call must look like: one table per binding.
//
// A binding lists all of its arrays in one call of check_arrays, before it uses any of them:
//
//     check_arrays(view, {{"y", y, {n}}, {"weight", weight, {n}}, {"v", v, {k, width}}});
//
// On every call this checks, in time that does not depend on the sizes:
//   - the shape of every array (the types nb::ndarray<...> check dtype, contiguity and, of outputs,
//     that they may be written to);
//   - that no output shares memory with another array of the call, the rows included: loops assume
//     so, and indices that were checked could change while they are in use.
// Arrays come from files, too (models, checkpoints, caches): nothing is left to the caller.
//
// Contents matter where they are used as indices. They are checked
//   - in the binding on every call, if a loop visits all of them anyway: order of multiclass_epoch
//     (with the classes of its rows), active, group, place, next, slots, slot, column, starts, edges,
//     y of batch sums;
//   - by the loop shortly before it uses them, if it may end early: order and y of online_pass,
//     kernel_pass and gaussian_scan (rows/checked_order.hpp, perceptron/visit_queue.hpp), indices of
//     mark_features;
//   - once where rows enter (csr_flaw, in data/): indptr between its ends, and the indices of sparse
//     rows. To read those on every call would cost as much as many a loop. Bindings check on every
//     call that indptr begins and ends within the entries.
// Python code must not change an array in another thread while a loop reads it.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "abi/rows.hpp"

namespace separatrix {

namespace nb = nanobind;

// One length of an array, and what it is called in a message.
struct Size {
  const char* name;
  int64_t value;
  bool or_more = false;
};

// An array of a call, and the shape that it must have; one that is None has any.
struct ArrayEntry {
  const char* name;
  const void* data = nullptr;
  int64_t bytes = 0;
  const int64_t* shape = nullptr;
  size_t ndim = 0;
  bool present = true, written = false;
  enum { kShape, kTotal, kMemory } compared = kShape;
  int64_t total = 0;  // values: compared in place of the shape, or nothing is but the memory
  std::initializer_list<Size> expected;

  template <class... Config>
  ArrayEntry(const char* called, const nb::ndarray<Config...>& array,
             std::initializer_list<Size> sizes)
      : name(called), data(array.data()), bytes(int64_t(array.nbytes())),
        shape(array.shape_ptr()), ndim(array.ndim()),
        written(!nb::ndarray<Config...>::ReadOnly), expected(sizes) {}
  template <class Array>
  ArrayEntry(const char* called, const std::optional<Array>& array,
             std::initializer_list<Size> sizes)
      : ArrayEntry(called, sizes) {
    if (array) *this = ArrayEntry(called, *array, sizes);
  }

 private:
  ArrayEntry(const char* called, std::initializer_list<Size> sizes)
      : name(called), present(false), expected(sizes) {}
};

// An array with a given number of values, in any shape.
template <class Array>
ArrayEntry flat(const char* name, const Array& array, std::initializer_list<Size> size) {
  ArrayEntry entry(name, array, size);
  entry.compared = ArrayEntry::kTotal;
  entry.total = int64_t(array.size());
  return entry;
}

// An array whose shape is in another table: here it may only share no memory with outputs.
template <class Array>
ArrayEntry given(const char* name, const Array& array) {
  ArrayEntry entry(name, array, {});
  entry.compared = ArrayEntry::kMemory;
  return entry;
}

// Memory that the rows of a call take: up to three arrays.
struct RowMemory {
  struct Part {
    const char* name;
    const void* data;
    int64_t bytes;
  };
  Part parts[3];
};

template <class Value>
RowMemory memory_of(const DenseRows<Value>& rows) {
  return {{{"rows", rows.data, rows.n * rows.d * int64_t(sizeof(Value))}}};
}
template <class Value, class Index>
RowMemory memory_of(const CsrRows<Value, Index>& rows) {
  const int64_t first = rows.indptr[0], count = rows.indptr[rows.n] - first;
  return {{{"data", rows.data + first, count * int64_t(sizeof(Value))},
           {"indices", rows.indices + first, count * int64_t(sizeof(Index))},
           {"indptr", rows.indptr, (rows.n + 1) * int64_t(sizeof(Index))}}};
}

// ValueError, which names the array, for the first entry that is not as it must be.
void check_arrays(const RowMemory& rows, std::initializer_list<ArrayEntry> table,
                  std::initializer_list<ArrayEntry> more = {});

template <class Rows>
void check_arrays(const Rows& rows, std::initializer_list<ArrayEntry> table) {
  check_arrays(memory_of(rows), table);
}
inline void check_arrays(std::initializer_list<ArrayEntry> table,
                         std::initializer_list<ArrayEntry> more = {}) {
  check_arrays(RowMemory{}, table, more);
}

// ValueError unless all of the numbers are from 0 to below - 1.
void check_below(const char* name, const int64_t* numbers, int64_t count, int64_t below);

// a * b for sizes that are not negative; ValueError if that is beyond int64.
int64_t checked_product(int64_t a, int64_t b);

}  // namespace separatrix
