// Bindings of the loops of kernels.
#include <algorithm>
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
    const auto m = rows_of(rows), d = columns_of(rows);
    const Size features{"d", d};
    check_arrays({{"rows", rows, {{"m", m}, features}},
                  {"reference", reference, {{"n", 0, true}, features}},
                  {"shift", shift, {features}}});
    room.resize(size_t(m + checked_product(panels, checked_product(d + 1, kPanel))));
    block.rows = rows.data();
    block.m = m;
    block.d = d;
    if (reference.dtype() == nb::dtype<double>())
      block.doubles = static_cast<const double*>(reference.data());
    else if (reference.dtype() == nb::dtype<float>())
      block.floats = static_cast<const float*>(reference.data());
    else
      throw nb::type_error("reference: expected float32 or float64");
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
  check_arrays({given("rows", rows), given("reference", reference), given("shift", shift),
                {"slots", slots, {{"m", gaussian.block.m}}},
                {"out", out, {{"slots", rows_of(out)}, {"n", gaussian.block.n}}}});
  check_below("slots", slots.data(), gaussian.block.m, rows_of(out));
  run(active.load()->gaussian_rows, gaussian.block, slots.data(), out.data());
}

void gaussian_sums(Numbers rows, AnyArray reference, Numbers shift, double gamma,
                   Numbers coefficients, Output sums) {
  const Gaussian gaussian(rows, reference, shift, gamma);
  const GaussianBlock& block = gaussian.block;
  const int64_t width = (block.n + kPanel - 1) / kPanel * kPanel;
  const auto k = rows_of(coefficients);
  check_arrays({given("rows", rows), given("reference", reference), given("shift", shift),
                {"coefficients", coefficients, {{"k", k}, {"8 ceil(n / 8)", width}}},
                {"sums", sums, {{"m", block.m}, {"k", k}, {"8", kPanel}}}});
  run(active.load()->gaussian_sums, block, coefficients.data(), k, width, sums.data());
}

void exp_neg_all(Output values, double factor) {
  nb::gil_scoped_release free;
  active.load()->exp_neg_all(values.data(), int64_t(values.size()), factor);
}

// The arrays of a pass, held while it runs. Rows of the order and numbers of classes are checked by
// the loops.
struct KernelArrays {
  AnyArray y;
  Numbers weight, factor;
  Longs order;
  Numbers steps;
  Output scores, coefficients, late;
  LongOutput counts;
  Output totals;
  LongOutput log;

  explicit KernelArrays(const nb::tuple& arrays) {
    expect(arrays.size() == 11, "arrays: expected y, weight, factor, order, steps, scores, "
                                "coefficients, late, counts, totals and log");
    y = array_in<AnyArray>(arrays[0], "y");
    weight = array_in<Numbers>(arrays[1], "weight");
    factor = array_in<Numbers>(arrays[2], "factor");
    order = array_in<Longs>(arrays[3], "order");
    steps = array_in<Numbers>(arrays[4], "steps");
    scores = array_in<Output>(arrays[5], "scores");
    coefficients = array_in<Output>(arrays[6], "coefficients");
    late = array_in<Output>(arrays[7], "late");
    counts = array_in<LongOutput>(arrays[8], "counts");
    totals = array_in<Output>(arrays[9], "totals");
    log = array_in<LongOutput>(arrays[10], "log");
  }

  // Visits position, ..., end - 1; with other arrays of the call.
  KernelPass pass(int64_t visits, int64_t position, int64_t end, int64_t max_updates,
                  std::initializer_list<ArrayEntry> others) const {
    const Labels labels(y);
    const Size n{"n", int64_t(weight.size())}, k{"k", rows_of(scores)};
    labels.check_classes(k.value);
    expect(position >= 0 && position <= end && end <= int64_t(order.size()),
           "position: expected a part of the order");
    expect(visits >= 0 && visits < kMostVisits, "visits: expected a number from 0 to 2**62");
    check_arrays({{"y", y, {n}}, {"weight", weight, {n}}, {"factor", factor, {n}},
                  {"order", order, {kAnySize}},
                  {"steps", steps, {{"1, or visits", steps.size() == 1 ? 1 : end, true}}},
                  {"scores", scores, {k, n}}, {"coefficients", coefficients, {k, n}},
                  {"late", late, {k, n}}, {"counts", counts, {k, n}}, {"totals", totals, {{"2", 2}}},
                  {"log", log, {{"visits", end - position, true}, {"3", 3}}}},
                 others);
    return {labels.signs, labels.numbers, n.value, k.value, weight.data(), factor.data(),
            order.data(), end, steps.data(), steps.size() == 1, 0, nullptr, nullptr, nullptr,
            scores.data(), coefficients.data(), late.data(), counts.data(), visits, max_updates,
            should_stop, totals.data(), log.data(), position, 0, false};
  }

  static constexpr int64_t kMostVisits = int64_t(1) << 62;
};

// Where the pass left, and how many updates it made.
std::tuple<int64_t, int64_t> kernel_pass(nb::tuple arrays, Numbers kept, Longs slot,
                                         LongOutput last_used, int64_t visits, int64_t position,
                                         int64_t end, int64_t max_updates) {
  const KernelArrays own(arrays);
  const Size n{"n", int64_t(own.weight.size())}, capacity{"capacity", rows_of(kept)};
  KernelPass pass = own.pass(visits, position, end, max_updates,
                             {{"kept", kept, {capacity, n}}, {"slot", slot, {n}},
                              {"last_used", last_used, {capacity}}});
  pass.capacity = capacity.value;
  pass.kept = kept.data();
  pass.slot = slot.data();
  pass.last_used = last_used.data();
  run_pass(active.load()->kernel_pass, pass);
  expect(!pass.flaw, pass.flaw);
  return {pass.position, pass.updates};
}

// The rows are the next ones in the order; the shift is taken from them already.
std::tuple<int64_t, int64_t> gaussian_scan(nb::tuple arrays, Numbers rows, double gamma,
                                           double bias, int64_t visits, int64_t position,
                                           int64_t max_updates) {
  const KernelArrays own(arrays);
  const auto m = rows_of(rows), panels = (m + kPanel - 1) / kPanel, width = panels * kPanel;
  const auto left = std::max<int64_t>(0, int64_t(own.order.size()) - std::max<int64_t>(0, position));
  expect(m <= left, "rows: expected no more than are left of the order");
  const std::vector<double> none(size_t(columns_of(rows)));
  const Numbers shift(none.data(), {none.size()});
  const Gaussian gaussian(rows, AnyArray(rows), shift, gamma, panels);
  KernelPass pass =
      own.pass(visits, position, position + m, max_updates, {given("rows", rows)});
  std::vector<double> local(size_t(checked_product(pass.k + 1, width)));
  run([&] {
    active.load()->gaussian_scan(pass, gaussian.block, bias, local.data(),
                                 local.data() + pass.k * width, width);
    return !pass.stopped;
  });
  expect(!pass.flaw, pass.flaw);
  return {pass.position, pass.updates};
}

void gaussian_update(Numbers rows, AnyArray reference, Numbers shift, double gamma, double bias,
                     Longs column, Numbers factor, Longs slot, Longs ready, Output kept,
                     Output scores, int64_t first, int64_t last) {
  const Gaussian gaussian(rows, reference, shift, gamma);
  const GaussianBlock& block = gaussian.block;
  const Size count{"updates", int64_t(slot.size())}, n{"n", block.n}, two{"2", 2};
  check_arrays({given("rows", rows), given("reference", reference), given("shift", shift),
                {"column", column, {count, two}}, {"factor", factor, {count, two}},
                {"slot", slot, {count}}, {"ready", ready, {count}},
                {"kept", kept, {{"capacity", rows_of(kept)}, n}},
                {"scores", scores, {{"k", rows_of(scores)}, n}}});
  expect(block.m <= kMostUpdates, "rows: expected no more than most_updates");
  expect(first >= 0 && last <= (n.value + kPanel - 1) / kPanel,
         "first and last: expected numbers of panels");
  int64_t fresh = 0;
  for (int64_t u = 0; u < count.value; ++u) {
    expect(slot.data()[u] < rows_of(kept), "slot: expected numbers of rows of kept, or -1");
    expect(!ready.data()[u] || slot.data()[u] >= 0, "ready: expected 0 where there is no slot");
    fresh += !ready.data()[u];
    for (int64_t e = 2 * u; e < 2 * u + 2; ++e)
      expect(column.data()[e] < rows_of(scores), "column: expected numbers of columns, or -1");
  }
  expect(fresh == block.m, "rows: expected as many as are not ready");
  const KernelUpdates updates{count.value,  column.data(), factor.data(), slot.data(),
                              ready.data(), kept.data(),   scores.data(), bias,
                              first,        last};
  run(active.load()->gaussian_update, block, updates);
}

}  // namespace

void bind_kernel(nb::module_& m) {
  // What a loop writes to is never converted: the numbers would go into a copy.
  m.def("gaussian_rows", &gaussian_rows, "rows"_a, "reference"_a, "shift"_a, "gamma"_a, "slots"_a,
        "out"_a.noconvert());
  m.def("gaussian_sums", &gaussian_sums, "rows"_a, "reference"_a, "shift"_a, "gamma"_a,
        "coefficients"_a, "sums"_a.noconvert());
  m.def("exp_neg_all", &exp_neg_all, "values"_a.noconvert(), "factor"_a);
  m.def("kernel_pass", &kernel_pass, "arrays"_a, "kept"_a, "slot"_a, "last_used"_a.noconvert(),
        "visits"_a, "position"_a, "end"_a, "max_updates"_a);
  m.def("gaussian_scan", &gaussian_scan, "arrays"_a, "rows"_a, "gamma"_a, "bias"_a, "visits"_a,
        "position"_a, "max_updates"_a);
  m.def("gaussian_update", &gaussian_update, "rows"_a, "reference"_a, "shift"_a, "gamma"_a,
        "bias"_a, "column"_a, "factor"_a, "slot"_a, "ready"_a, "kept"_a.noconvert(),
        "scores"_a.noconvert(), "first"_a, "last"_a);
  m.attr("most_updates") = kMostUpdates;
  m.attr("panel") = kPanel;
}

}  // namespace separatrix
