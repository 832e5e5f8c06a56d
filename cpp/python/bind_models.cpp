// Bindings of steps on models of J: quadratics, columns, and the two-loop recursion.
#include <vector>

#include "python/bind.hpp"

namespace separatrix {

namespace {

std::tuple<int64_t, double> coordinate_descent(Numbers hessian, Numbers thresholds, Output u,
                                               Output slope, int64_t max_epochs,
                                               double enough) {
  const auto size = int64_t(u.size());
  const Size each{"size", size};
  check_arrays({{"hessian", hessian, {each, each}}, {"thresholds", thresholds, {each}},
                {"u", u, {each}}, {"slope", slope, {each}}});
  QuadraticDescent on{{max_epochs, enough, should_stop}, hessian.data(), thresholds.data(), size,
                      u.data(), slope.data()};
  run_pass(active.load()->coordinate_descent, on);
  return {on.epochs, on.gain};
}

std::tuple<int64_t, double> block_coordinate_descent(Numbers hessian, Longs starts,
                                                     Numbers thresholds, Output u, Output slope,
                                                     int64_t max_epochs, double enough) {
  const auto size = int64_t(u.size()), blocks = int64_t(thresholds.size());
  const Size each{"size", size};
  check_arrays({{"hessian", hessian, {each, each}}, {"starts", starts, {{"blocks + 1", blocks + 1}}},
                {"thresholds", thresholds, {{"blocks", blocks}}}, {"u", u, {each}},
                {"slope", slope, {each}}});
  const int64_t* at = starts.data();
  bool rising = at[0] == 0 && at[blocks] == size;
  for (int64_t b = 0; b < blocks; ++b) rising = rising && at[b] < at[b + 1];
  expect(rising, "starts: expected numbers that rise from 0 to the size");
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t j = at[b]; j < at[b + 1]; ++j)
      expect(at[b + 1] == at[b] + 1 ||
                 (thresholds.data()[b] > 0 && hessian.data()[j * (size + 1)] > 0),
             "a block of several must have a threshold and curvatures above 0");
  std::vector<double> pull(size);
  BlockDescent on{{max_epochs, enough, should_stop}, hessian.data(), size, at, thresholds.data(),
                  blocks, u.data(), slope.data(), pull.data()};
  run_pass(active.load()->block_coordinate_descent, on);
  return {on.epochs, on.gain};
}

void column_curvatures(nb::handle columns, Numbers curvature, double total, bool bias,
                       Output products, Output squares) {
  with_rows(columns, [&](const auto& view, const auto& loops) {
    const Size n{"rows", view.d}, m{"columns", view.n};
    check_arrays(view, {{"curvature", curvature, {n}}, {"products", products, {m}},
                        {"squares", squares, {m}}});
    run(loops.column_curvatures, view, curvature.data(), total, bias, products.data(),
        squares.data(), should_stop);
  });
}

std::tuple<int64_t, double, double> column_descent(nb::handle columns, Numbers curvature,
                                                   double total, Numbers products, Numbers squares,
                                                   Numbers ridge, Numbers thresholds, bool zeros,
                                                   Output w, Output slope, double shift,
                                                   int64_t max_epochs, double enough) {
  ColumnDescent on{{max_epochs, enough, should_stop}, curvature.data(), total, products.data(),
                   squares.data(), ridge.data(), thresholds.data(), zeros, w.data(), slope.data(),
                   shift};
  with_rows(columns, [&](const auto& view, const auto& loops) {
    const Size n{"rows", view.d}, m{"columns", view.n};
    check_arrays(view, {{"curvature", curvature, {n}}, {"products", products, {m}},
                        {"squares", squares, {m}}, {"ridge", ridge, {m}},
                        {"thresholds", thresholds, {m}}, {"w", w, {m}}, {"slope", slope, {n}}});
    run_pass(loops.column_descent, on, view);
  });
  return {on.epochs, on.gain, on.shift};
}

// Lists, not vectors: nanobind ends the process if there is no memory to convert to those.
double two_loop(Numbers gradient, nb::list s, nb::list y, Numbers curvature, double scale,
                Output direction) {
  const size_t size = gradient.size(), pairs = s.size();
  expect(y.size() == pairs, "y: expected as many as there are in s");
  const Size each{"size", int64_t(size)};
  check_arrays({{"curvature", curvature, {{"pairs", int64_t(pairs)}}},
                flat("gradient", gradient, {each}), flat("direction", direction, {each})});
  std::vector<Numbers> held;
  std::vector<const double*> steps, changes;
  for (size_t i = 0; i < pairs; ++i) {
    const auto step = array_in<Numbers>(s[i], "s"), change = array_in<Numbers>(y[i], "y");
    check_arrays({flat("s", step, {each}), flat("y", change, {each}),
                  flat("direction", direction, {each})});
    steps.push_back(step.data());
    changes.push_back(change.data());
    held.insert(held.end(), {step, change});
  }
  std::vector<double> alphas(pairs);
  nb::gil_scoped_release free;
  return active.load()->two_loop({gradient.data(), int64_t(size), int64_t(pairs), steps.data(),
                                  changes.data(), curvature.data(), scale, alphas.data(),
                                  direction.data()});
}

}  // namespace

void bind_models(nb::module_& m) {
  m.def("coordinate_descent", &coordinate_descent, "hessian"_a.noconvert(), "thresholds"_a.noconvert(),
        "u"_a.noconvert(), "slope"_a.noconvert(), "max_epochs"_a, "enough"_a);
  m.def("block_coordinate_descent", &block_coordinate_descent, "hessian"_a.noconvert(),
        "starts"_a.noconvert(), "thresholds"_a.noconvert(), "u"_a.noconvert(),
        "slope"_a.noconvert(), "max_epochs"_a, "enough"_a);
  m.def("column_curvatures", &column_curvatures, "columns"_a, "curvature"_a, "total"_a, "bias"_a,
        "products"_a.noconvert(), "squares"_a.noconvert());
  m.def("column_descent", &column_descent, "columns"_a, "curvature"_a.noconvert(), "total"_a,
        "products"_a.noconvert(), "squares"_a.noconvert(), "ridge"_a.noconvert(),
        "thresholds"_a.noconvert(), "zeros"_a, "w"_a.noconvert(), "slope"_a.noconvert(), "shift"_a,
        "max_epochs"_a, "enough"_a);
  m.def("two_loop", &two_loop, "gradient"_a.noconvert(), "s"_a, "y"_a, "curvature"_a.noconvert(),
        "scale"_a, "direction"_a.noconvert());
}

}  // namespace separatrix
