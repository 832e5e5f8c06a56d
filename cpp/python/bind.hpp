// What all bindings share: from Python's arrays to rows, and stopping early.
//
// The files of this folder alone know Python: they find the loop for (layout, dtype), check every
// array of the call (python/shapes.hpp says what is checked where), release the GIL and call it.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <atomic>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "levels/dispatch.hpp"
#include "python/shapes.hpp"

namespace separatrix {

using namespace nb::literals;

using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const int64_t, nb::c_contig, nb::device::cpu>;
using LongOutput = nb::ndarray<int64_t, nb::c_contig, nb::device::cpu>;

extern std::atomic<const Table*> active;  // the level in use

// True once all loops were asked to stop.
bool should_stop();

// After a loop that was stopped, the GIL held: the exception of a signal's handler, or ours.
void raise_if(bool stopped);

// Runs a loop without the GIL; it returns false if it was stopped.
template <class Loop, class... Args>
void run(Loop&& loop, Args&&... args) {
  bool whole;
  {
    nb::gil_scoped_release free;
    whole = loop(std::forward<Args>(args)...);
  }
  raise_if(!whole);
}

// The same for a loop that says so in its pass, the last argument.
template <class Loop, class Pass, class... Rows>
void run_pass(Loop loop, Pass& pass, const Rows&... rows) {
  run([&] {
    loop(rows..., pass);
    return !pass.stopped;
  });
}

void bind_online(nb::module_& m);
void bind_sparse(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_kernel(nb::module_& m);
void bind_models(nb::module_& m);
void bind_text(nb::module_& m);

template <class A>
auto* pointer(const std::optional<A>& array) {
  return array ? array->data() : nullptr;
}

inline void expect(bool condition, const char* what) {
  if (!condition) throw nb::value_error(what);
}

// -1.0 and +1.0 for two classes, int64 numbers of the classes for more; or int8 -1 and +1 in a column
// for each of several labels, if the loop takes these.
struct Labels {
  const double* signs = nullptr;
  const int64_t* numbers = nullptr;
  const int8_t* matrix = nullptr;
  explicit Labels(const AnyArray& y, bool several = false) {
    if (y.dtype() == nb::dtype<double>()) signs = static_cast<const double*>(y.data());
    else if (y.dtype() == nb::dtype<int64_t>()) numbers = static_cast<const int64_t*>(y.data());
    else if (several && y.dtype() == nb::dtype<int8_t>())
      matrix = static_cast<const int8_t*>(y.data());
    else throw nb::type_error("y must be float64 signs or int64 numbers of classes");
  }
  Labels from(int64_t first, int64_t k) const {
    Labels some = *this;
    if (signs) some.signs += first;
    else if (matrix) some.matrix += first * k;
    else some.numbers += first;
    return some;
  }
  // Signs go with one row of weights, the others with one for each class or label.
  void check_classes(int64_t k) const {
    expect(signs ? k == 1 : k >= 2,
           "weights: expected 1 row for float64 signs in y, 2 or more for int64 numbers of classes "
           "or int8 labels");
  }
  void check_loss(int loss) const {
    constexpr auto kLosses = int(std::size(kLossNames)), kColumns = int(JointId::columns);
    expect(loss >= 0 && loss < (signs ? kLosses : kColumns + kLosses), "loss: no such number");
    expect(!matrix || loss >= kColumns, "loss: expected a sum over columns for int8 labels");
  }
  // Numbers index weights: one out of range would read and write elsewhere.
  void expect_below(int64_t k, int64_t n) const {
    if (numbers) check_below("y", numbers, n, k);
  }
};

// What stands in a tuple of a call; never converted.
template <class Array>
Array array_in(nb::handle from, const char* name) {
  Array array;
  if (!nb::try_cast(from, array, false) || !array.is_valid()) {
    const std::string message =
        std::string(name) + ": expected a contiguous array of the dtype that the stub says";
    throw nb::type_error(message.c_str());
  }
  return array;
}

// The first or the last length of an array, or 0: a table then says which shape it must have.
template <class Array>
int64_t rows_of(const Array& array) {
  return array.ndim() > 0 ? int64_t(array.shape(0)) : 0;
}
template <class Array>
int64_t columns_of(const Array& array) {
  return array.ndim() > 0 ? int64_t(array.shape(array.ndim() - 1)) : 0;
}

constexpr Size kAnySize{"any", 0, true};

template <class Value, class F>
void with_dense(const AnyArray& x, const LoopsFor<DenseRows<Value>>& loops, F&& f) {
  const DenseRows<Value> rows{static_cast<const Value*>(x.data()), int64_t(x.shape(0)),
                              int64_t(x.shape(1))};
  f(rows, loops);
}

// Where rows begin and end, and which features they store, was checked where they entered: see
// python/shapes.hpp.
template <class Value, class Index, class F>
void with_csr(const AnyArray& data, const AnyArray& indices, const AnyArray& indptr, int64_t d,
              const LoopsFor<CsrRows<Value, Index>>& loops, F&& f) {
  const auto* const starts = static_cast<const Index*>(indptr.data());
  const int64_t n = int64_t(indptr.shape(0)) - 1, first = starts[0], last = starts[n];
  expect(first >= 0 && first <= last, "indptr: expected 0 <= indptr[0] <= indptr[-1]");
  const Size entries{"indptr[-1]", last, true};
  check_arrays({{"data", data, {entries}}, {"indices", indices, {entries}}});
  const CsrRows<Value, Index> rows{static_cast<const Value*>(data.data()),
                                   static_cast<const Index*>(indices.data()), starts, n, d};
  f(rows, loops);
}

constexpr int64_t kMostFeatures = int64_t(1) << 61;

// Calls f(rows, loops) for a 2-d array or a (data, indices, indptr, n_features) tuple.
template <class F>
void with_rows(nb::handle rows, F&& f) {
  const Table& table = *active.load();
  const auto f32 = nb::dtype<float>(), f64 = nb::dtype<double>();
  const auto i32 = nb::dtype<int32_t>(), i64 = nb::dtype<int64_t>();
  if (!nb::isinstance<nb::tuple>(rows)) {
    const auto x = array_in<AnyArray>(rows, "rows");
    check_arrays({{"rows", x, {{"n", 0, true}, {"d", 0, true}}}});
    if (x.dtype() == f32) return with_dense<float>(x, table.dense_float, f);
    if (x.dtype() == f64) return with_dense<double>(x, table.dense_double, f);
    throw nb::type_error("rows: expected float32 or float64");
  }
  const auto parts = nb::cast<nb::tuple>(rows);
  expect(parts.size() == 4, "rows: expected (data, indices, indptr, n_features)");
  const auto data = array_in<AnyArray>(parts[0], "data");
  const auto indices = array_in<AnyArray>(parts[1], "indices");
  const auto indptr = array_in<AnyArray>(parts[2], "indptr");
  int64_t d = 0;
  if (!nb::try_cast(parts[3], d, false)) throw nb::type_error("n_features: expected an int");
  expect(d >= 0 && d < kMostFeatures, "n_features: expected a number from 0 to 2**61");
  check_arrays({{"indptr", indptr, {{"n + 1", 1, true}}}});
  expect(indices.dtype() == indptr.dtype(), "indices: expected the dtype of indptr");
  const bool single = data.dtype() == f32, narrow = indices.dtype() == i32;
  if (!(single || data.dtype() == f64) || !(narrow || indices.dtype() == i64))
    throw nb::type_error("rows: expected float32 or float64 data, int32 or int64 indices");
  if (single && narrow) with_csr<float>(data, indices, indptr, d, table.csr_float_int, f);
  else if (narrow) with_csr<double>(data, indices, indptr, d, table.csr_double_int, f);
  else if (single) with_csr<float>(data, indices, indptr, d, table.csr_float_long, f);
  else with_csr<double>(data, indices, indptr, d, table.csr_double_long, f);
}

}  // namespace separatrix
