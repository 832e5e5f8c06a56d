// The only file that knows Python: it finds the loop for (layout, dtype), releases the GIL and
// calls it. Arguments were checked in Python; here they are only asserted.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "beside.hpp"
#include "dispatch.hpp"
#include "fold.hpp"
#include "order.hpp"
#include "passes.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace separatrix;

namespace {

using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const int64_t, nb::c_contig, nb::device::cpu>;
using LongOutput = nb::ndarray<int64_t, nb::c_contig, nb::device::cpu>;

std::atomic<const Table*> active{nullptr};

// ---- stopping early --------------------------------------------------------------------

std::atomic<bool> stop_requested{false};
unsigned long main_thread = 0;
constexpr auto kBetweenChecks = std::chrono::milliseconds(50);

// True once somebody asked all loops to stop. On the main thread also lets Python handle
// signals now and then: a handler may call request_stop, or raise.
bool should_stop() {
  if (stop_requested.load(std::memory_order_relaxed)) return true;
  if (PyThread_get_thread_ident() != main_thread) return false;
  static auto last = std::chrono::steady_clock::now();
  const auto now = std::chrono::steady_clock::now();
  if (now - last < kBetweenChecks) return false;
  last = now;
  nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0 || stop_requested.load();
}

// After a loop that was stopped, the GIL held: the handler's exception, or ours.
struct Interrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void raise_if(bool stopped) {
  if (!stopped) return;
  if (PyErr_Occurred()) throw nb::python_error();
  throw Interrupted("the loop was asked to stop before its end");
}

// ---- from arrays to rows ---------------------------------------------------------------

template <class A>
auto* pointer(const std::optional<A>& array) {
  return array ? array->data() : nullptr;
}


void expect(bool condition, const char* what) {
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

// Some rows of a view.
template <class Value>
DenseRows<Value> part(const DenseRows<Value>& rows, int64_t first, int64_t count) {
  return {rows.data + first * rows.d, count, rows.d};
}
template <class Value, class Index>
CsrRows<Value, Index> part(const CsrRows<Value, Index>& rows, int64_t first, int64_t count) {
  return {rows.data, rows.indices, rows.indptr + first, count, rows.d};
}

// ---- the loops -------------------------------------------------------------------------

std::tuple<double, double, int64_t, int64_t> online_pass(
    nb::handle rows, int loss, AnyArray y, std::optional<Numbers> weight, double weight_scale,
    std::optional<Longs> order, Numbers steps, double l2, int64_t batch, bool intercept,
    int64_t max_updates, Output v, Output scalars, std::optional<Output> sum,
    std::optional<Output> lag, std::optional<LongOutput> log, OwnedMemory* memory,
    std::optional<Output> ends, int64_t threads) {
  OnlinePass pass{};
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const int64_t count = order ? int64_t(order->size()) : view.n;
    const int64_t k = int64_t(v.size()) / (view.d + 1);
    const Labels labels(y);
    expect(int64_t(y.size()) == view.n && int64_t(v.size()) == k * (view.d + 1), "y or v: size");
    labels.expect_below(k, view.n);
    expect(batch >= 1 && scalars.size() == 2, "batch or scalars: wrong");
    expect(!memory || (memory->view.n == view.n && memory->view.size == int64_t(v.size())),
           "memory: of other rows or weights");
    expect(steps.size() == 1 || int64_t(steps.size()) * batch >= count, "steps: too few");
    pass = OnlinePass{loss, labels.signs, labels.numbers, k, pointer(weight), weight_scale,
                      pointer(order),
                      count, steps.data(), steps.size() == 1, l2, batch, intercept, max_updates,
                      v.data(), scalars.data(), pointer(sum), pointer(lag), scalars.data() + 1,
                      pointer(log), memory ? &memory->view : nullptr, nullptr, should_stop, 0, 0,
                      0, 0, false};
    const int64_t passes = ends ? int64_t(ends->shape(0)) : 0;
    expect(!ends || (order && steps.size() == 1 && count % passes == 0 &&
                     ends->size() == passes * (3 + v.size() * (sum ? 2 : 1))),
           "ends: wrong size");
    const auto loop = labels.numbers ? loops.online_joint : loops.online;
    nb::gil_scoped_release free;
    std::optional<Beside> beside;
    if (threads > 1) pass.beside = &beside.emplace();
    if (ends) pass = several_passes(view, loop, pass, passes, ends->data());
    else loop(view, pass);
  });
  raise_if(pass.stopped);
  return {pass.loss_sum, pass.mistakes, pass.updates, pass.position};
}

std::tuple<double, double> batch_pass(nb::handle rows, int loss, AnyArray y,
                                      std::optional<Numbers> weight, Numbers w,
                                      std::optional<Output> gradient,
                                      std::optional<Output> curvature, bool rough) {
  BatchPass pass{};
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const int64_t k = int64_t(w.size()) / (view.d + 1);
    const Labels labels(y);
    expect(int64_t(y.size()) == view.n && int64_t(w.size()) == k * (view.d + 1), "y or w: size");
    labels.expect_below(k, view.n);
    pass = BatchPass{loss,     labels.signs,      labels.numbers,     k,           pointer(weight),
                     w.data(), pointer(gradient), pointer(curvature), rough,       should_stop,
                     0,        0,                 false};
    nb::gil_scoped_release free;
    (labels.numbers ? loops.batch_joint : loops.batch)(view, pass);
  });
  raise_if(pass.stopped);
  return {pass.loss_sum, pass.mistakes};
}

// A fold whose sum goes to an array of Python's.
struct OwnedFold : Fold {
  OwnedFold(Longs edges, Output into)
      : Fold({edges.data(), edges.data() + edges.size()}, into.data(), int64_t(into.size())),
        sum(std::move(into)) {
    expect(edges.size() >= 1 && edges.data()[0] == 0, "edges: must begin with 0");
    for (size_t i = 1; i < edges.size(); ++i)
      expect(edges.data()[i - 1] <= edges.data()[i], "edges: must not decrease");
  }
  Output sum;
};

// The numbers of the sum: losses, mistakes, and the gradient (k, d + 1).
void batch_fold(nb::handle rows, int loss, AnyArray y, std::optional<Numbers> weight, Numbers w,
                bool rough, OwnedFold& fold) {
  bool whole = true;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const auto size = int64_t(w.size()), k = size / (view.d + 1);
    const Labels labels(y);
    expect(int64_t(y.size()) == view.n && size == k * (view.d + 1), "y or w: size");
    expect(fold.rows() == view.n && fold.size() == 2 + size, "fold: of other rows or weights");
    const auto loop = labels.numbers ? loops.batch_joint : loops.batch;
    nb::gil_scoped_release free;
    whole = fold.work([&](int64_t first, int64_t count, double* numbers) {
      const Labels own = labels.from(first);
      own.expect_below(k, count);
      BatchPass pass{loss, own.signs, own.numbers, k, weight ? weight->data() + first : nullptr,
                     w.data(), numbers + 2, nullptr, rough, should_stop, 0, 0, false};
      loop(part(view, first, count), pass);
      numbers[0] = pass.loss_sum;
      numbers[1] = pass.mistakes;
      return !pass.stopped;
    });
  });
  raise_if(!whole);
}

void scores(nb::handle rows, Numbers weights, Output out) {
  bool whole = true;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const int64_t k = int64_t(weights.size()) / (view.d + 1);
    expect(int64_t(out.size()) == view.n * k, "out: wrong size");
    nb::gil_scoped_release free;
    whole = loops.scores(view, weights.data(), k, out.data(), should_stop);
  });
  raise_if(!whole);
}

void combine(nb::handle rows, Numbers coefficients, Output out) {
  bool whole = true;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const int64_t k = int64_t(out.size()) / (view.d + 1);
    expect(int64_t(coefficients.size()) == view.n * k, "coefficients: wrong size");
    nb::gil_scoped_release free;
    whole = loops.combine(view, coefficients.data(), k, out.data(), should_stop);
  });
  raise_if(!whole);
}

void hessian_product(nb::handle rows, Numbers curvature, Numbers v, Output out) {
  bool whole = true;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    expect(int64_t(curvature.size()) == view.n, "curvature: wrong size");
    nb::gil_scoped_release free;
    whole = loops.hessian_product(view, curvature.data(), v.data(), out.data(), should_stop);
  });
  raise_if(!whole);
}

void moments(nb::handle rows, std::optional<Numbers> weight, std::optional<Longs> group,
             std::optional<Numbers> shift, Output sum, Output squares) {
  bool whole = true;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const int64_t groups = group ? int64_t(sum.shape(0)) : 1;
    expect(int64_t(sum.size()) == groups * view.d, "sum: wrong size");
    for (int64_t i = 0; group && i < view.n; ++i)
      expect(group->data()[i] >= 0 && group->data()[i] < groups, "group: out of range");
    nb::gil_scoped_release free;
    whole = loops.moments(view, pointer(weight), group ? group->data() : nullptr, groups,
                          pointer(shift), sum.data(), squares.data(), should_stop);
  });
  raise_if(!whole);
}

void right(nb::handle rows, AnyArray y, std::optional<Numbers> weight, Numbers weights,
           Output right) {
  bool whole = true;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const int64_t m = int64_t(right.size()), k = int64_t(weights.size()) / (m * (view.d + 1));
    const Labels labels(y);
    expect(int64_t(y.size()) == view.n && int64_t(weights.size()) == m * k * (view.d + 1),
           "y or weights: size");
    labels.expect_below(k, view.n);
    nb::gil_scoped_release free;
    whole = loops.right(view, labels.signs, labels.numbers, pointer(weight), weights.data(), m, k,
                        right.data(), should_stop);
  });
  raise_if(!whole);
}

double farthest(nb::handle rows, std::optional<Numbers> weight, Numbers mean, Numbers factor) {
  bool whole = true;
  double square = 0;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    expect(int64_t(mean.size()) == view.d && int64_t(factor.size()) == view.d,
           "mean or factor: wrong size");
    nb::gil_scoped_release free;
    whole = loops.farthest(view, pointer(weight), mean.data(), factor.data(), square, should_stop);
  });
  raise_if(!whole);
  return square;
}

void gram(nb::handle rows, Numbers weight, Numbers mean, Numbers factor, Output out) {
  bool whole = true;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    expect(int64_t(weight.size()) == view.n && int64_t(mean.size()) == view.d &&
               int64_t(factor.size()) == view.d + 1 &&
               int64_t(out.size()) == (view.d + 1) * (view.d + 1),
           "weight, mean, factor or out: wrong size");
    nb::gil_scoped_release free;
    whole = loops.gram(view, weight.data(), mean.data(), factor.data(), out.data(), should_stop);
  });
  raise_if(!whole);
}

// The rows to visit again are left at the front of `order`; how many, and the rest, are told.
std::tuple<int64_t, double> dual_pass(
    nb::handle rows, int loss, Numbers y, std::optional<Numbers> weight, double share,
    Numbers square, double give, double bias_give, double parts, LongOutput order, Output alpha,
    Output w, double safe) {
  DualPass pass{};
  with_rows(rows, [&](const auto& view, const auto& loops) {
    expect(int64_t(y.size()) == view.n && int64_t(alpha.size()) == view.n &&
               int64_t(square.size()) == view.n && int64_t(w.size()) == view.d + 1,
           "y, alpha, square or w: size");
    for (size_t t = 0; t < order.size(); ++t)
      expect(order.data()[t] >= 0 && order.data()[t] < view.n, "order: no such row");
    pass = DualPass{loss, y.data(), pointer(weight), share, square.data(), give, bias_give,
                    parts, order.data(), int64_t(order.size()), alpha.data(), w.data(), safe,
                    should_stop, 0, 0, false};
    nb::gil_scoped_release free;
    loops.dual(view, pass);
  });
  raise_if(pass.stopped);
  return {pass.kept, pass.slope};
}

// Of the orders that a seed stands for, those from a number on: (count, n).
void draw_orders(LongOutput orders, int64_t block_rows, int64_t blocks_per_group, uint64_t seed,
                 uint64_t number) {
  expect(orders.ndim() == 2, "orders: not (count, n)");
  const auto count = int64_t(orders.shape(0)), n = int64_t(orders.shape(1));
  expect(block_rows >= 1 && blocks_per_group >= 1 && n < int64_t(1) << 32, "orders: wrong sizes");
  std::vector<int64_t> blocks((n + block_rows - 1) / block_rows);
  nb::gil_scoped_release free;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t own = Random(seed + (number + uint64_t(i)) * Random::kStep).next();
    draw_order(n, block_rows, blocks_per_group, own, blocks.data(), orders.data() + i * n);
  }
}

// ---- kernels ---------------------------------------------------------------------------

GaussianBlock gaussian_block(const Numbers& rows, const Numbers& panels, int64_t n,
                             const Numbers& squares, Output& row_squares, double gamma) {
  expect(rows.ndim() == 2 && panels.ndim() == 3 && panels.shape(2) == kPanel, "panels: shape");
  expect(panels.shape(1) == rows.shape(1), "rows and panels: features differ");
  expect(n <= int64_t(squares.size()) && squares.size() == panels.shape(0) * kPanel, "squares");
  expect(row_squares.size() == rows.shape(0), "row_squares: size");
  return {rows.data(),    int64_t(rows.shape(0)), int64_t(rows.shape(1)), panels.data(), n,
          squares.data(), row_squares.data(),     gamma,                  should_stop};
}

void gaussian_rows(Numbers rows, Numbers panels, Numbers squares, Output row_squares,
                   double gamma, Longs places, Output out) {
  expect(out.ndim() == 2 && places.size() == rows.shape(0), "out or places: shape");
  for (size_t i = 0; i < places.size(); ++i)
    expect(places.data()[i] >= 0 && places.data()[i] < int64_t(out.shape(0)), "no such place");
  const auto block =
      gaussian_block(rows, panels, int64_t(out.shape(1)), squares, row_squares, gamma);
  bool whole;
  {
    nb::gil_scoped_release free;
    whole = active.load()->gaussian_rows(block, places.data(), out.data());
  }
  raise_if(!whole);
}

void gaussian_sums(Numbers rows, Numbers panels, Numbers squares, Output row_squares,
                   double gamma, Numbers coefficients, Output sums) {
  const auto width = int64_t(squares.size());
  const auto block = gaussian_block(rows, panels, width, squares, row_squares, gamma);
  expect(coefficients.ndim() == 2 && int64_t(coefficients.shape(1)) == width, "coefficients");
  const auto k = int64_t(coefficients.shape(0));
  expect(int64_t(sums.size()) == block.m * k * kPanel, "sums: size");
  bool whole;
  {
    nb::gil_scoped_release free;
    whole = active.load()->gaussian_sums(block, coefficients.data(), k, width, sums.data());
  }
  raise_if(!whole);
}

void panel_squares(Numbers panels, Output squares) {
  expect(panels.ndim() == 3 && panels.shape(2) == kPanel, "panels: shape");
  expect(squares.size() == panels.shape(0) * kPanel, "squares: size");
  active.load()->panel_squares(panels.data(), int64_t(panels.shape(0)), int64_t(panels.shape(1)),
                               squares.data());
}

void decay_all(Output values, double factor) {
  nb::gil_scoped_release free;
  active.load()->decay_all(values.data(), int64_t(values.size()), factor);
}

bool all_finite(AnyArray values) {
  const bool single = values.dtype() == nb::dtype<float>();
  expect(single || values.dtype() == nb::dtype<double>(), "values: must be float32 or float64");
  nb::gil_scoped_release free;
  const auto count = int64_t(values.size());
  if (single) return active.load()->finite_floats(static_cast<const float*>(values.data()), count);
  return active.load()->finite_doubles(static_cast<const double*>(values.data()), count);
}

// The arrays: y, weight, factor, order, steps, scores, coefficients, late, counts, totals, log.
KernelPass kernel_view(const nb::tuple& arrays, int64_t visits, int64_t position, int64_t end,
                       int64_t max_updates) {
  expect(arrays.size() == 11, "arrays of a pass: wrong number");
  const auto y = nb::cast<AnyArray>(arrays[0], false);
  const auto number = [&](int at) { return nb::cast<Numbers>(arrays[at], false); };
  const auto output = [&](int at) { return nb::cast<Output>(arrays[at], false); };
  const auto weight = number(1), factor = number(2), steps = number(4);
  const auto order = nb::cast<Longs>(arrays[3], false);
  const auto scores = output(5), coefficients = output(6), late = output(7), totals = output(9);
  const auto counts = nb::cast<LongOutput>(arrays[8], false);
  const auto log = nb::cast<LongOutput>(arrays[10], false);
  const Labels labels(y);
  const auto n = int64_t(weight.size()), k = n ? int64_t(scores.size()) / n : 0;
  expect(int64_t(y.size()) == n && int64_t(factor.size()) == n, "y or factor: size");
  for (const size_t size : {scores.size(), coefficients.size(), late.size(), counts.size()})
    expect(int64_t(size) == k * n, "scores, coefficients, late or counts: size");
  expect(k >= 1 && (labels.numbers ? k >= 2 : k == 1), "scores: number of columns");
  expect(position >= 0 && end <= int64_t(order.size()) && totals.size() == 2, "position");
  expect(steps.size() == 1 || int64_t(steps.size()) >= end, "steps: too few");
  expect(int64_t(log.size()) >= 3 * (end - position), "log: too small");
  // Once a pass, not at each of its many pieces.
  if (position == 0) {
    labels.expect_below(k, n);
    for (size_t t = 0; t < order.size(); ++t)
      expect(order.data()[t] >= 0 && order.data()[t] < n, "order: no such row");
  }
  return {labels.signs, labels.numbers, n, k, weight.data(), factor.data(), order.data(), end,
          steps.data(), steps.size() == 1, 0, nullptr, nullptr, nullptr, scores.data(),
          coefficients.data(), late.data(), counts.data(), visits, max_updates, should_stop,
          totals.data(), log.data(), position, 0, false};
}

// Where the pass left, and how many updates it made.
std::tuple<int64_t, int64_t> kernel_pass(nb::tuple arrays, Numbers kept, Longs place,
                                         LongOutput used, int64_t visits, int64_t position,
                                         int64_t end, int64_t max_updates) {
  KernelPass pass = kernel_view(arrays, visits, position, end, max_updates);
  expect(kept.ndim() == 2 && int64_t(kept.shape(1)) == pass.n && used.size() == kept.shape(0) &&
             int64_t(place.size()) == pass.n,
         "kept, place or used: size");
  pass.capacity = int64_t(kept.shape(0));
  pass.kept = kept.data();
  pass.place = place.data();
  pass.used = used.data();
  {
    nb::gil_scoped_release free;
    active.load()->kernel_pass(pass);
  }
  raise_if(pass.stopped);
  return {pass.position, pass.updates};
}

std::tuple<int64_t, int64_t> gaussian_scan(nb::tuple arrays, Numbers rows, Numbers panels,
                                           Numbers squares, double gamma, double bias,
                                           Output room, int64_t visits, int64_t position,
                                           int64_t max_updates) {
  const auto m = int64_t(rows.shape(0)), width = int64_t(squares.size());
  KernelPass pass = kernel_view(arrays, visits, position, position + m, max_updates);
  expect(int64_t(room.size()) == (pass.k + 1) * width + m, "room: size");
  const auto row_squares = room.data() + (pass.k + 1) * width;
  expect(rows.ndim() == 2 && panels.ndim() == 3 && panels.shape(2) == kPanel, "panels: shape");
  expect(panels.shape(1) == rows.shape(1) && m <= width, "rows and panels differ");
  expect(int64_t(panels.shape(0)) * kPanel == width, "squares: size");
  const GaussianBlock block{rows.data(),    m,           int64_t(rows.shape(1)), panels.data(), m,
                            squares.data(), row_squares, gamma,                  should_stop};
  {
    nb::gil_scoped_release free;
    active.load()->gaussian_scan(pass, block, bias, room.data(), room.data() + pass.k * width,
                                 width);
  }
  raise_if(pass.stopped);
  return {pass.position, pass.updates};
}

void gaussian_update(Numbers rows, Output row_squares, Numbers panels, Numbers squares,
                     double gamma, double bias, Longs column, Numbers factor, Longs place,
                     Longs ready, Output kept, Output scores, int64_t first, int64_t last) {
  const auto m = int64_t(rows.shape(0)), n = int64_t(scores.shape(1));
  const auto count = int64_t(place.size());
  expect(rows.ndim() == 2 && panels.ndim() == 3 && panels.shape(2) == kPanel, "panels: shape");
  expect(panels.shape(1) == rows.shape(1) && squares.size() == panels.shape(0) * kPanel &&
             n <= int64_t(squares.size()) && int64_t(row_squares.size()) == m,
         "rows, panels or squares: size");
  expect(first >= 0 && last <= int64_t(panels.shape(0)), "no such panels");
  expect(column.size() == size_t(2 * count) && factor.size() == size_t(2 * count) &&
             ready.size() == size_t(count) && int64_t(kept.shape(1)) == n && m <= kMostUpdates,
         "updates: size");
  int64_t fresh = 0;
  for (int64_t u = 0; u < count; ++u) {
    expect(place.data()[u] < int64_t(kept.shape(0)), "place: no such row");
    expect(!ready.data()[u] || place.data()[u] >= 0, "ready: without a place");
    fresh += !ready.data()[u];
    for (int64_t e = 2 * u; e < 2 * u + 2; ++e)
      expect(column.data()[e] < int64_t(scores.shape(0)), "column: too large");
  }
  expect(fresh == m, "rows: as many as are not ready");
  const GaussianBlock block{rows.data(),        m,     int64_t(rows.shape(1)),
                            panels.data(),      n,     squares.data(),
                            row_squares.data(), gamma, should_stop};
  const KernelUpdates updates{count,        column.data(), factor.data(), place.data(),
                              ready.data(), kept.data(),   scores.data(), bias,
                              first,        last};
  bool whole;
  {
    nb::gil_scoped_release free;
    whole = active.load()->gaussian_update(block, updates);
  }
  raise_if(!whole);
}

// ---- levels ----------------------------------------------------------------------------

nb::list levels() {
  nb::list names;
  for (const Table* const* level = usable_levels(); *level; ++level) names.append((*level)->level);
  return names;
}

void use_level(const std::string& name) {
  const Table* level = find_level(name.c_str());
  expect(level != nullptr, "no such instruction-set level on this machine");
  active = level;
}

}  // namespace

NB_MODULE(_loops, m) {
  m.doc() = "Compiled loops; reached only through separatrix.loops.";
  const Table* const* level = usable_levels();
  while (level[1]) ++level;
  active = *level;
  main_thread = nb::cast<unsigned long>(
      nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  nb::exception<Interrupted>(m, "Interrupted", PyExc_KeyboardInterrupt);

  nb::class_<OwnedMemory>(m, "RowMemory")
      .def(nb::init<int64_t, int64_t>(), "n"_a, "size"_a)
      .def_prop_ro("nbytes", &OwnedMemory::bytes)
      .def_prop_ro("skips", [](const OwnedMemory& memory) { return memory.view.skips; })
      .def_prop_ro("skipped", [](const OwnedMemory& memory) { return memory.view.skipped_ever; })
      .def_prop_rw("always", [](const OwnedMemory& memory) { return memory.view.always; },
                   [](OwnedMemory& memory, bool always) { memory.view.always = always; });
  // What a loop writes to is never converted: the numbers would go into a copy.
  m.def("online_pass", &online_pass, "rows"_a, "loss"_a, "y"_a, "weight"_a.none(),
        "weight_scale"_a, "order"_a.none(), "steps"_a, "l2"_a, "batch"_a, "intercept"_a,
        "max_updates"_a, "v"_a.noconvert(), "scalars"_a.noconvert(), "sum"_a.none().noconvert(),
        "lag"_a.none().noconvert(), "log"_a.none().noconvert(), "memory"_a.none(),
        "ends"_a.none().noconvert(), "threads"_a);
  m.def("batch_pass", &batch_pass, "rows"_a, "loss"_a, "y"_a, "weight"_a.none(), "w"_a,
        "gradient"_a.none().noconvert(), "curvature"_a.none().noconvert(), "rough"_a);
  nb::class_<OwnedFold>(m, "Fold")
      .def(nb::init<Longs, Output>(), "edges"_a, "sum"_a.noconvert())
      .def("give_up", &OwnedFold::give_up);
  m.def("batch_fold", &batch_fold, "rows"_a, "loss"_a, "y"_a, "weight"_a.none(), "w"_a, "rough"_a,
        "fold"_a);
  m.def("scores", &scores, "rows"_a, "weights"_a, "out"_a.noconvert());
  m.def("combine", &combine, "rows"_a, "coefficients"_a, "out"_a.noconvert());
  m.def("hessian_product", &hessian_product, "rows"_a, "curvature"_a, "v"_a, "out"_a.noconvert());
  m.def("moments", &moments, "rows"_a, "weight"_a.none(), "group"_a.none(), "shift"_a.none(),
        "sum"_a.noconvert(), "squares"_a.noconvert());
  m.def("right", &right, "rows"_a, "y"_a, "weight"_a.none(), "weights"_a, "right"_a.noconvert());
  m.def("farthest", &farthest, "rows"_a, "weight"_a.none(), "mean"_a, "factor"_a);
  m.def("gram", &gram, "rows"_a, "weight"_a, "mean"_a, "factor"_a, "out"_a.noconvert());
  m.def("dual_pass", &dual_pass, "rows"_a, "loss"_a, "y"_a, "weight"_a.none(), "share"_a,
        "square"_a, "give"_a, "bias_give"_a, "parts"_a, "order"_a.noconvert(),
        "alpha"_a.noconvert(), "w"_a.noconvert(), "safe"_a);
  m.def("gaussian_rows", &gaussian_rows, "rows"_a, "panels"_a, "squares"_a, "row_squares"_a,
        "gamma"_a, "places"_a, "out"_a.noconvert());
  m.def("gaussian_sums", &gaussian_sums, "rows"_a, "panels"_a, "squares"_a, "row_squares"_a,
        "gamma"_a, "coefficients"_a, "sums"_a);
  m.def("panel_squares", &panel_squares, "panels"_a, "squares"_a);
  m.def("all_finite", &all_finite, "values"_a);
  m.def("decay_all", &decay_all, "values"_a.noconvert(), "factor"_a);
  m.def("kernel_pass", &kernel_pass, "arrays"_a, "kept"_a, "place"_a, "used"_a, "visits"_a,
        "position"_a, "end"_a, "max_updates"_a);
  m.def("gaussian_scan", &gaussian_scan, "arrays"_a, "rows"_a, "panels"_a, "squares"_a, "gamma"_a,
        "bias"_a, "room"_a, "visits"_a, "position"_a, "max_updates"_a);
  m.def("gaussian_update", &gaussian_update, "rows"_a, "row_squares"_a, "panels"_a, "squares"_a,
        "gamma"_a, "bias"_a, "column"_a, "factor"_a, "place"_a, "ready"_a, "kept"_a.noconvert(),
        "scores"_a.noconvert(), "first"_a, "last"_a);
  m.attr("most_updates") = kMostUpdates;
  m.attr("panel") = kPanel;
  m.def("draw_orders", &draw_orders, "orders"_a.noconvert(), "block_rows"_a,
        "blocks_per_group"_a, "seed"_a, "number"_a);
  m.def("levels", &levels);
  m.def("level", [] { return active.load()->level; });
  m.def("use_level", &use_level, "name"_a);
  m.def("request_stop", [] { stop_requested = true; });
  m.def("clear_stop", [] { stop_requested = false; });
  m.def("stop_requested", [] { return stop_requested.load(); });
  m.attr("compiler") = SEPARATRIX_COMPILER;
}
