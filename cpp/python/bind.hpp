// What all bindings share: from Python's arrays to rows, and stopping early.
//
// The files of this folder alone know Python: they find the loop for (layout, dtype), release the
// GIL and call it. Arguments were checked in Python; here they are only asserted.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <atomic>
#include <optional>
#include <tuple>

#include "levels/dispatch.hpp"

namespace separatrix {

namespace nb = nanobind;
using namespace nb::literals;

using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const int64_t, nb::c_contig, nb::device::cpu>;
using LongOutput = nb::ndarray<int64_t, nb::c_contig, nb::device::cpu>;

extern std::atomic<const Table*> active;  // the level in use

// True once somebody asked all loops to stop.
bool should_stop();

// After a loop that was stopped, the GIL held: the exception of a signal's handler, or ours.
void raise_if(bool stopped);

void bind_online(nb::module_& m);
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

// -1.0 and +1.0 for two classes, int64 numbers of the classes for more.
struct Labels {
  const double* signs = nullptr;
  const int64_t* numbers = nullptr;
  explicit Labels(const AnyArray& y) {
    if (y.dtype() == nb::dtype<double>()) signs = static_cast<const double*>(y.data());
    else if (y.dtype() == nb::dtype<int64_t>()) numbers = static_cast<const int64_t*>(y.data());
    else throw nb::type_error("y must be float64 signs or int64 numbers of classes");
  }
  Labels from(int64_t first) const {
    Labels some = *this;
    if (signs) some.signs += first;
    else some.numbers += first;
    return some;
  }
  // Numbers index weights: one out of range would read and write elsewhere.
  void expect_below(int64_t k, int64_t n) const {
    for (int64_t i = 0; numbers && i < n; ++i)
      expect(numbers[i] >= 0 && numbers[i] < k, "y: number of a class out of range");
  }
};

template <class Value, class F>
void with_dense(const AnyArray& x, const LoopsFor<DenseRows<Value>>& loops, F&& f) {
  const DenseRows<Value> rows{static_cast<const Value*>(x.data()), int64_t(x.shape(0)),
                              int64_t(x.shape(1))};
  f(rows, loops);
}

template <class Value, class Index, class F>
void with_csr(const AnyArray& data, const AnyArray& indices, const AnyArray& indptr, int64_t d,
              const LoopsFor<CsrRows<Value, Index>>& loops, F&& f) {
  const CsrRows<Value, Index> rows{
      static_cast<const Value*>(data.data()), static_cast<const Index*>(indices.data()),
      static_cast<const Index*>(indptr.data()), int64_t(indptr.shape(0)) - 1, d};
  f(rows, loops);
}

// Calls f(rows, loops) for a 2-d array or a (data, indices, indptr, n_features) tuple.
template <class F>
void with_rows(nb::handle rows, F&& f) {
  const Table& table = *active.load();
  const auto f32 = nb::dtype<float>(), f64 = nb::dtype<double>();
  const auto i32 = nb::dtype<int32_t>(), i64 = nb::dtype<int64_t>();
  if (!nb::isinstance<nb::tuple>(rows)) {
    const auto x = nb::cast<AnyArray>(rows, false);
    expect(x.ndim() == 2, "dense rows must be a 2-d array");
    if (x.dtype() == f32) return with_dense<float>(x, table.dense_float, f);
    if (x.dtype() == f64) return with_dense<double>(x, table.dense_double, f);
    throw nb::type_error("dense rows must be float32 or float64");
  }
  const auto parts = nb::cast<nb::tuple>(rows);
  expect(parts.size() == 4, "sparse rows must be (data, indices, indptr, n_features)");
  const auto data = nb::cast<AnyArray>(parts[0], false);
  const auto indices = nb::cast<AnyArray>(parts[1], false);
  const auto indptr = nb::cast<AnyArray>(parts[2], false);
  const auto d = nb::cast<int64_t>(parts[3]);
  expect(indices.dtype() == indptr.dtype(), "indices and indptr must have one dtype");
  expect(indptr.size() > 0, "indptr must not be empty");
  const bool single = data.dtype() == f32, narrow = indices.dtype() == i32;
  if (!(single || data.dtype() == f64) || !(narrow || indices.dtype() == i64))
    throw nb::type_error("sparse rows must be float32 or float64 with int32 or int64 indices");
  if (single && narrow) with_csr<float>(data, indices, indptr, d, table.csr_float_int, f);
  else if (narrow) with_csr<double>(data, indices, indptr, d, table.csr_double_int, f);
  else if (single) with_csr<float>(data, indices, indptr, d, table.csr_float_long, f);
  else with_csr<double>(data, indices, indptr, d, table.csr_double_long, f);
}

}  // namespace separatrix
