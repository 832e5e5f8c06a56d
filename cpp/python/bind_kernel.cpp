// Bindings of the loops of kernels.
#include <vector>

#include "python/bind.hpp"

namespace separatrix {

namespace {

// Rows against a reference, and the room that this takes, for some panels at once.
struct Gaussian {
  std::vector<double> room;
  GaussianBlock block{};

  Gaussian(const Numbers& rows, const AnyArray& reference, const Numbers& shift, double gamma,
           int64_t panels = 1) {
    expect(rows.ndim() == 2 && reference.ndim() == 2, "rows or reference: shape");
    const auto m = int64_t(rows.shape(0)), d = int64_t(rows.shape(1));
    expect(int64_t(reference.shape(1)) == d && int64_t(shift.size()) == d, "features differ");
    room.resize(size_t(m + panels * (d + 1) * kPanel));
    block.rows = rows.data();
    block.m = m;
    block.d = d;
    if (reference.dtype() == nb::dtype<double>())
      block.doubles = static_cast<const double*>(reference.data());
    else if (reference.dtype() == nb::dtype<float>())
      block.floats = static_cast<const float*>(reference.data());
    else
      throw nb::type_error("the reference must be float32 or float64");
    block.n = int64_t(reference.shape(0));
    block.shift = shift.data();
    block.row_squares = room.data();
    block.panel = room.data() + m;
    block.gamma = gamma;
    block.should_stop = should_stop;
  }
};

void gaussian_rows(Numbers rows, AnyArray reference, Numbers shift, double gamma, Longs slots,
                   Output out) {
  const Gaussian gaussian(rows, reference, shift, gamma);
  expect(out.ndim() == 2 && int64_t(out.shape(1)) == gaussian.block.n, "out: shape");
  expect(slots.size() == rows.shape(0), "slots: size");
  for (size_t i = 0; i < slots.size(); ++i)
    expect(slots.data()[i] >= 0 && slots.data()[i] < int64_t(out.shape(0)), "no such place");
  bool whole;
  {
    nb::gil_scoped_release free;
    whole = active.load()->gaussian_rows(gaussian.block, slots.data(), out.data());
  }
  raise_if(!whole);
}

void gaussian_sums(Numbers rows, AnyArray reference, Numbers shift, double gamma,
                   Numbers coefficients, Output sums) {
  const Gaussian gaussian(rows, reference, shift, gamma);
  const GaussianBlock& block = gaussian.block;
  const int64_t width = (block.n + kPanel - 1) / kPanel * kPanel;
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

void exp_neg_all(Output values, double factor) {
  nb::gil_scoped_release free;
  active.load()->exp_neg_all(values.data(), int64_t(values.size()), factor);
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
std::tuple<int64_t, int64_t> kernel_pass(nb::tuple arrays, Numbers kept, Longs slot,
                                         LongOutput last_used, int64_t visits, int64_t position,
                                         int64_t end, int64_t max_updates) {
  KernelPass pass = kernel_view(arrays, visits, position, end, max_updates);
  expect(kept.ndim() == 2 && int64_t(kept.shape(1)) == pass.n &&
             last_used.size() == kept.shape(0) && int64_t(slot.size()) == pass.n,
         "kept, slot or last_used: size");
  pass.capacity = int64_t(kept.shape(0));
  pass.kept = kept.data();
  pass.slot = slot.data();
  pass.last_used = last_used.data();
  {
    nb::gil_scoped_release free;
    active.load()->kernel_pass(pass);
  }
  raise_if(pass.stopped);
  return {pass.position, pass.updates};
}

// The rows are the next ones in the order; the shift is taken from them already.
std::tuple<int64_t, int64_t> gaussian_scan(nb::tuple arrays, Numbers rows, double gamma,
                                           double bias, int64_t visits, int64_t position,
                                           int64_t max_updates) {
  const auto m = int64_t(rows.shape(0)), panels = (m + kPanel - 1) / kPanel;
  const int64_t width = panels * kPanel;
  KernelPass pass = kernel_view(arrays, visits, position, position + m, max_updates);
  const std::vector<double> none(rows.shape(1));
  const Numbers shift(none.data(), {none.size()});
  const Gaussian gaussian(rows, AnyArray(rows), shift, gamma, panels);
  std::vector<double> local(size_t((pass.k + 1) * width));
  {
    nb::gil_scoped_release free;
    active.load()->gaussian_scan(pass, gaussian.block, bias, local.data(),
                                 local.data() + pass.k * width, width);
  }
  raise_if(pass.stopped);
  return {pass.position, pass.updates};
}

void gaussian_update(Numbers rows, AnyArray reference, Numbers shift, double gamma, double bias,
                     Longs column, Numbers factor, Longs slot, Longs ready, Output kept,
                     Output scores, int64_t first, int64_t last) {
  const Gaussian gaussian(rows, reference, shift, gamma);
  const auto m = int64_t(rows.shape(0)), n = int64_t(scores.shape(1));
  const auto count = int64_t(slot.size());
  expect(gaussian.block.n == n, "reference or scores: size");
  expect(first >= 0 && (last - 1) * kPanel < n, "no such panels");
  expect(column.size() == size_t(2 * count) && factor.size() == size_t(2 * count) &&
             ready.size() == size_t(count) && int64_t(kept.shape(1)) == n && m <= kMostUpdates,
         "updates: size");
  int64_t fresh = 0;
  for (int64_t u = 0; u < count; ++u) {
    expect(slot.data()[u] < int64_t(kept.shape(0)), "slot: no such row");
    expect(!ready.data()[u] || slot.data()[u] >= 0, "ready: without a slot");
    fresh += !ready.data()[u];
    for (int64_t e = 2 * u; e < 2 * u + 2; ++e)
      expect(column.data()[e] < int64_t(scores.shape(0)), "column: too large");
  }
  expect(fresh == m, "rows: as many as are not ready");
  const KernelUpdates updates{count,        column.data(), factor.data(), slot.data(),
                              ready.data(), kept.data(),   scores.data(), bias,
                              first,        last};
  bool whole;
  {
    nb::gil_scoped_release free;
    whole = active.load()->gaussian_update(gaussian.block, updates);
  }
  raise_if(!whole);
}

}  // namespace

void bind_kernel(nb::module_& m) {
  // What a loop writes to is never converted: the numbers would go into a copy.
  m.def("gaussian_rows", &gaussian_rows, "rows"_a, "reference"_a, "shift"_a, "gamma"_a, "slots"_a,
        "out"_a.noconvert());
  m.def("gaussian_sums", &gaussian_sums, "rows"_a, "reference"_a, "shift"_a, "gamma"_a,
        "coefficients"_a, "sums"_a.noconvert());
  m.def("exp_neg_all", &exp_neg_all, "values"_a.noconvert(), "factor"_a);
  m.def("kernel_pass", &kernel_pass, "arrays"_a, "kept"_a, "slot"_a, "last_used"_a, "visits"_a,
        "position"_a, "end"_a, "max_updates"_a);
  m.def("gaussian_scan", &gaussian_scan, "arrays"_a, "rows"_a, "gamma"_a, "bias"_a, "visits"_a,
        "position"_a, "max_updates"_a);
  m.def("gaussian_update", &gaussian_update, "rows"_a, "reference"_a, "shift"_a, "gamma"_a,
        "bias"_a, "column"_a, "factor"_a, "slot"_a, "ready"_a, "kept"_a.noconvert(),
        "scores"_a.noconvert(), "first"_a, "last"_a);
  m.attr("most_updates") = kMostUpdates;
  m.attr("panel") = kPanel;
}

}  // namespace separatrix
