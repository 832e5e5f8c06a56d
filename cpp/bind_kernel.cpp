// Bindings of the loops of kernels.
#include "bind.hpp"

namespace separatrix {

namespace {

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

}  // namespace

void bind_kernel(nb::module_& m) {
  // What a loop writes to is never converted: the numbers would go into a copy.
  m.def("gaussian_rows", &gaussian_rows, "rows"_a, "panels"_a, "squares"_a, "row_squares"_a,
        "gamma"_a, "places"_a, "out"_a.noconvert());
  m.def("gaussian_sums", &gaussian_sums, "rows"_a, "panels"_a, "squares"_a, "row_squares"_a,
        "gamma"_a, "coefficients"_a, "sums"_a);
  m.def("panel_squares", &panel_squares, "panels"_a, "squares"_a);
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
}

}  // namespace separatrix
