// Bindings of the loops over all rows at once.
#include "python/bind.hpp"

#include <algorithm>
#include <vector>

#include "threads/ordered_reduction.hpp"

namespace separatrix {

namespace {

// The rows of weights, of which there must be some.
template <class Array>
Size classes_of(const Array& weights) {
  expect(rows_of(weights) >= 1, "weights: expected 1 row or more");
  return {"k", rows_of(weights)};
}

std::tuple<double, double> batch_pass(nb::handle rows, int loss, AnyArray y,
                                      std::optional<Numbers> weight, Numbers w,
                                      std::optional<Output> gradient,
                                      std::optional<Output> curvature, bool float32_sums) {
  BatchPass pass{};
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const Labels labels(y, true);
    const Size n{"n", view.n}, k{"k", rows_of(w)}, width{"d + 1", view.d + 1};
    labels.check_classes(k.value);
    labels.check_loss(loss);
    expect(!curvature || labels.signs, "curvature: only for two classes");
    check_arrays(view, {labels.matrix ? ArrayEntry("y", y, {n, k}) : ArrayEntry("y", y, {n}),
                        {"weight", weight, {n}}, {"w", w, {k, width}},
                        {"gradient", gradient, {k, width}}, {"curvature", curvature, {n}}});
    labels.expect_below(k.value, view.n);
    pass = BatchPass{loss, labels.signs, labels.numbers, labels.matrix, k.value, pointer(weight),
                     w.data(), pointer(gradient), false, pointer(curvature), float32_sums,
                     should_stop, 0, 0, false};
    run_pass(labels.signs ? loops.batch : loops.batch_joint, pass, view);
  });
  return {pass.loss_sum, pass.mistakes};
}

// A sum that goes to an array of Python's.
struct OwnedSum : BlockSum {
  OwnedSum(Longs edges, Output into)
      : BlockSum(checked(edges, into), into.data(), int64_t(into.size())), sum(std::move(into)) {}
  Output sum;

 private:
  static std::vector<int64_t> checked(const Longs& edges, const Output& into) {
    check_arrays({{"edges", edges, {{"blocks + 1", 1, true}}}, {"sum", into, {kAnySize}}});
    std::vector<int64_t> all(edges.data(), edges.data() + edges.size());
    expect(all.front() == 0 && std::is_sorted(all.begin(), all.end()),
           "edges: expected numbers that begin with 0 and do not decrease");
    return all;
  }
};

// The numbers of the sum: losses, mistakes, and the gradient in the layout of w: (k, d + 1), or in
// lines if in_lines is the number of classes.
void batch_blocks(nb::handle rows, int loss, AnyArray y, std::optional<Numbers> weight, Numbers w,
                  int64_t in_lines, bool float32_sums, OwnedSum& blocks) {
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const Labels labels(y, true);
    expect(!in_lines || (requires { view.indptr; } && !labels.signs && in_lines >= 2 &&
                         in_lines <= int64_t(w.size())),
           "in_lines: expected 0, or the number of classes of sparse rows and lines of weights");
    const int64_t k = in_lines ? in_lines : rows_of(w);
    const Size n{"n", view.n}, classes{"k", k}, width{"d + 1", view.d + 1};
    labels.check_classes(k);
    labels.check_loss(loss);
    const auto across = [&] { return Size{"line_width(k)", (k - 1) / 8 * 8 + 8}; };
    check_arrays(view, {labels.matrix ? ArrayEntry("y", y, {n, classes}) : ArrayEntry("y", y, {n}),
                        {"weight", weight, {n}},
                        in_lines ? ArrayEntry("w", w, {width, across()})
                                 : ArrayEntry("w", w, {classes, width}),
                        {"sum of the blocks", blocks.sum, {{"2 + w", 2 + int64_t(w.size())}}}});
    expect(blocks.rows() == view.n, "blocks: expected edges that end with n");
    const auto loop = labels.signs ? loops.batch : loops.batch_joint;
    const auto add_block = [&](int64_t first, int64_t count, double* numbers) {
      const Labels own = labels.from(first, k);
      own.expect_below(k, count);
      BatchPass pass{loss, own.signs, own.numbers, own.matrix, k,
                     weight ? weight->data() + first : nullptr, w.data(), numbers + 2, in_lines > 0,
                     nullptr, float32_sums, should_stop, 0, 0, false};
      loop(slice(view, first, count), pass);
      numbers[0] = pass.loss_sum;
      numbers[1] = pass.mistakes;
      return !pass.stopped;
    };
    run([&] { return blocks.work(add_block); });
  });
}

void scores(nb::handle rows, Numbers weights, Output out) {
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const Size n{"n", view.n}, k = classes_of(weights), width{"d + 1", view.d + 1};
    check_arrays(view, {{"weights", weights, {k, width}}, {"out", out, {n, k}}});
    run(loops.scores, view, weights.data(), k.value, out.data(), should_stop);
  });
}

void compensated_scores(nb::handle rows, Numbers weights, Output high, Output low) {
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const Size n{"n", view.n}, k = classes_of(weights), width{"d + 1", view.d + 1};
    check_arrays(view, {{"weights", weights, {k, width}}, {"high", high, {n, k}},
                        {"low", low, {n, k}}});
    run(loops.compensated_scores, view, weights.data(), k.value, high.data(), low.data(),
        should_stop);
  });
}

void compensated_transpose_product(nb::handle rows, Numbers coefficients, Output high, Output low) {
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const Size n{"n", view.n}, k = classes_of(high), width{"d + 1", view.d + 1};
    check_arrays(view, {{"coefficients", coefficients, {n, k}}, {"high", high, {k, width}},
                        {"low", low, {k, width}}});
    run(loops.compensated_transpose_product, view, coefficients.data(), k.value, high.data(),
        low.data(), should_stop);
  });
}

void transpose_product(nb::handle rows, Numbers coefficients, Output out) {
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const Size n{"n", view.n}, k = classes_of(out), width{"d + 1", view.d + 1};
    check_arrays(view, {{"coefficients", coefficients, {n, k}}, {"out", out, {k, width}}});
    run(loops.transpose_product, view, coefficients.data(), k.value, out.data(), should_stop);
  });
}

void squared_norms(nb::handle rows, Output out) {
  with_rows(rows, [&](const auto& view, const auto& loops) {
    check_arrays(view, {{"out", out, {{"n", view.n}}}});
    run(loops.squared_norms, view, out.data(), should_stop);
  });
}

void hessian_product(nb::handle rows, Numbers curvature, Numbers v, Output out) {
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const Size n{"n", view.n}, k = classes_of(v), width{"d + 1", view.d + 1};
    check_arrays(view, {{"curvature", curvature, {n}}, {"V", v, {k, width}},
                        {"out", out, {k, width}}});
    run(loops.hessian_product, view, curvature.data(), v.data(), k.value, out.data(), should_stop);
  });
}

void moments(nb::handle rows, std::optional<Numbers> weight, std::optional<Longs> group,
             std::optional<Numbers> shift, Output sum, Output squares) {
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const Size n{"n", view.n}, d{"d", view.d}, groups{"groups", group ? rows_of(sum) : 1};
    check_arrays(view, {{"weight", weight, {n}}, {"group", group, {n}}, {"shift", shift, {d}},
                        group ? ArrayEntry("sum", sum, {groups, d}) : ArrayEntry("sum", sum, {d}),
                        {"squares", squares, {d}}});
    if (group) check_below("group", group->data(), view.n, groups.value);
    run(loops.moments, view, pointer(weight), pointer(group), groups.value, pointer(shift),
        sum.data(), squares.data(), should_stop);
  });
}

void weighted_correct(nb::handle rows, AnyArray y, std::optional<Numbers> weight, Numbers weights,
                      Output correct) {
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const Size n{"n", view.n}, m{"m", rows_of(weights)};
    const Size k{"k", weights.ndim() > 1 ? int64_t(weights.shape(1)) : 0};
    const Labels labels(y, true);
    labels.check_classes(k.value);
    expect(m.value >= 1, "weights: expected those of one model or more");
    check_arrays(view, {labels.matrix ? ArrayEntry("y", y, {n, k}) : ArrayEntry("y", y, {n}),
                        {"weight", weight, {n}},
                        {"weights", weights, {m, k, {"d + 1", view.d + 1}}},
                        {"correct", correct, {m}}});
    labels.expect_below(k.value, view.n);
    run(loops.weighted_correct, view, labels.signs, labels.numbers, labels.matrix, pointer(weight),
        weights.data(), m.value, k.value, correct.data(), should_stop);
  });
}

double max_standardised_norm2(nb::handle rows, std::optional<Numbers> weight, Numbers mean,
                              Numbers factor) {
  double square = 0;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const Size n{"n", view.n}, d{"d", view.d};
    check_arrays(view, {{"weight", weight, {n}}, {"mean", mean, {d}}, {"factor", factor, {d}}});
    run(loops.max_standardised_norm2, view, pointer(weight), mean.data(), factor.data(), square,
        should_stop);
  });
  return square;
}

void gram(nb::handle rows, Numbers weight, Numbers mean, Numbers factor, Output out) {
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const Size n{"n", view.n}, d{"d", view.d}, width{"d + 1", view.d + 1};
    check_arrays(view, {{"weight", weight, {n}}, {"mean", mean, {d}}, {"factor", factor, {width}},
                        {"out", out, {width, width}}});
    run(loops.gram, view, weight.data(), mean.data(), factor.data(), out.data(), should_stop);
  });
}

bool all_finite(AnyArray values) {
  const bool single = values.dtype() == nb::dtype<float>();
  if (!single && values.dtype() != nb::dtype<double>())
    throw nb::type_error("values: expected float32 or float64");
  nb::gil_scoped_release free;
  const auto count = int64_t(values.size());
  if (single) return active.load()->finite_floats(static_cast<const float*>(values.data()), count);
  return active.load()->finite_doubles(static_cast<const double*>(values.data()), count);
}

}  // namespace

void bind_batch(nb::module_& m) {
  // What a loop writes to is never converted: the numbers would go into a copy.
  m.def("batch_pass", &batch_pass, "rows"_a, "loss"_a, "y"_a, "weight"_a.none(), "w"_a,
        "gradient"_a.none().noconvert(), "curvature"_a.none().noconvert(), "float32_sums"_a);
  nb::class_<OwnedSum>(m, "BlockSum")
      .def(nb::init<Longs, Output>(), "edges"_a, "sum"_a.noconvert())
      .def("give_up", &OwnedSum::give_up);
  m.def("batch_blocks", &batch_blocks, "rows"_a, "loss"_a, "y"_a, "weight"_a.none(), "w"_a,
        "in_lines"_a, "float32_sums"_a, "blocks"_a);
  m.def("scores", &scores, "rows"_a, "weights"_a, "out"_a.noconvert());
  m.def("compensated_scores", &compensated_scores, "rows"_a, "weights"_a, "high"_a.noconvert(),
        "low"_a.noconvert());
  m.def("compensated_transpose_product", &compensated_transpose_product, "rows"_a, "coefficients"_a,
        "high"_a.noconvert(), "low"_a.noconvert());
  m.def("transpose_product", &transpose_product, "rows"_a, "coefficients"_a, "out"_a.noconvert());
  m.def("squared_norms", &squared_norms, "rows"_a, "out"_a.noconvert());
  m.def("hessian_product", &hessian_product, "rows"_a, "curvature"_a, "V"_a, "out"_a.noconvert());
  m.def("moments", &moments, "rows"_a, "weight"_a.none(), "group"_a.none(), "shift"_a.none(),
        "sum"_a.noconvert(), "squares"_a.noconvert());
  m.def("weighted_correct", &weighted_correct, "rows"_a, "y"_a, "weight"_a.none(),
        "weights"_a, "correct"_a.noconvert());
  m.def("max_standardised_norm2", &max_standardised_norm2, "rows"_a,
        "weight"_a.none(), "mean"_a, "factor"_a);
  m.def("gram", &gram, "rows"_a, "weight"_a, "mean"_a, "factor"_a, "out"_a.noconvert());
  m.def("all_finite", &all_finite, "values"_a);
}

}  // namespace separatrix
