// Bindings of the loops over all rows at once.
#include "python/bind.hpp"
#include "threads/ordered_reduction.hpp"
#include "rows/csr_columns.hpp"
#include "rows/csr_indices.hpp"

namespace separatrix {

namespace {

using Marks = nb::ndarray<bool, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const int32_t, nb::c_contig, nb::device::cpu>;

std::tuple<double, double> batch_pass(nb::handle rows, int loss, AnyArray y,
                                      std::optional<Numbers> weight, Numbers w,
                                      std::optional<Output> gradient,
                                      std::optional<Output> curvature, bool float32_sums) {
  BatchPass pass{};
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const int64_t k = int64_t(w.size()) / (view.d + 1);
    const Labels labels(y);
    expect(int64_t(y.size()) == view.n && int64_t(w.size()) == k * (view.d + 1), "y or w: size");
    labels.expect_below(k, view.n);
    pass = BatchPass{loss, labels.signs, labels.numbers, k, pointer(weight), w.data(),
                     pointer(gradient), false, pointer(curvature), float32_sums, should_stop, 0, 0,
                     false};
    nb::gil_scoped_release free;
    (labels.numbers ? loops.batch_joint : loops.batch)(view, pass);
  });
  raise_if(pass.stopped);
  return {pass.loss_sum, pass.mistakes};
}

// A sum that goes to an array of Python's.
struct OwnedSum : BlockSum {
  OwnedSum(Longs edges, Output into)
      : BlockSum({edges.data(), edges.data() + edges.size()}, into.data(), int64_t(into.size())),
        sum(std::move(into)) {
    expect(edges.size() >= 1 && edges.data()[0] == 0, "edges: must begin with 0");
    for (size_t i = 1; i < edges.size(); ++i)
      expect(edges.data()[i - 1] <= edges.data()[i], "edges: must not decrease");
  }
  Output sum;
};

// The numbers of the sum: losses, mistakes, and the gradient, which stands as w does: (k, d + 1), or
// in lines if it is told of how many classes.
void batch_blocks(nb::handle rows, int loss, AnyArray y, std::optional<Numbers> weight, Numbers w,
                  int64_t in_lines, bool float32_sums, OwnedSum& blocks) {
  bool whole = true;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const auto size = int64_t(w.size()), across = size / (view.d + 1);
    const int64_t k = in_lines ? in_lines : across;
    const Labels labels(y);
    expect(int64_t(y.size()) == view.n && size == across * (view.d + 1), "y or w: size");
    expect(!in_lines || (in_lines > 0 && labels.numbers && requires { view.indptr; } &&
                         across == (k + 7) / 8 * 8),
           "in_lines: only sparse rows, and lines of their width");
    expect(blocks.rows() == view.n && blocks.size() == 2 + size,
           "blocks: of other rows or weights");
    const auto loop = labels.numbers ? loops.batch_joint : loops.batch;
    nb::gil_scoped_release free;
    whole = blocks.work([&](int64_t first, int64_t count, double* numbers) {
      const Labels own = labels.from(first);
      own.expect_below(k, count);
      BatchPass pass{loss, own.signs, own.numbers, k, weight ? weight->data() + first : nullptr,
                     w.data(), numbers + 2, in_lines > 0, nullptr, float32_sums, should_stop, 0, 0,
                     false};
      loop(slice(view, first, count), pass);
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

void compensated_scores(nb::handle rows, Numbers weights, Output high, Output low) {
  bool whole = true;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const int64_t k = int64_t(weights.size()) / (view.d + 1), size = view.n * k;
    expect(int64_t(high.size()) == size && int64_t(low.size()) == size, "high or low: wrong size");
    nb::gil_scoped_release free;
    whole = loops.compensated_scores(view, weights.data(), k, high.data(), low.data(),
                                     should_stop);
  });
  raise_if(!whole);
}

void compensated_transpose_product(nb::handle rows, Numbers coefficients, Output high, Output low) {
  bool whole = true;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const int64_t k = int64_t(high.size()) / (view.d + 1);
    expect(high.size() == low.size() && int64_t(coefficients.size()) == view.n * k,
           "coefficients, high or low: wrong size");
    nb::gil_scoped_release free;
    whole = loops.compensated_transpose_product(view, coefficients.data(), k, high.data(),
                                                low.data(), should_stop);
  });
  raise_if(!whole);
}

void transpose_product(nb::handle rows, Numbers coefficients, Output out) {
  bool whole = true;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const int64_t k = int64_t(out.size()) / (view.d + 1);
    expect(int64_t(coefficients.size()) == view.n * k, "coefficients: wrong size");
    nb::gil_scoped_release free;
    whole = loops.transpose_product(view, coefficients.data(), k, out.data(), should_stop);
  });
  raise_if(!whole);
}

void squared_norms(nb::handle rows, Output out) {
  bool whole = true;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    expect(int64_t(out.size()) == view.n, "out: wrong size");
    nb::gil_scoped_release free;
    whole = loops.squared_norms(view, out.data(), should_stop);
  });
  raise_if(!whole);
}

void hessian_product(nb::handle rows, Numbers curvature, Numbers v, Output out) {
  bool whole = true;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const int64_t k = int64_t(v.size()) / (view.d + 1);
    expect(int64_t(curvature.size()) == view.n, "curvature: wrong size");
    expect(int64_t(v.size()) == k * (view.d + 1) && out.size() == v.size(), "v or out: size");
    nb::gil_scoped_release free;
    whole = loops.hessian_product(view, curvature.data(), v.data(), k, out.data(), should_stop);
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

void weighted_correct(nb::handle rows, AnyArray y, std::optional<Numbers> weight, Numbers weights,
           Output correct) {
  bool whole = true;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const int64_t m = int64_t(correct.size()), k = int64_t(weights.size()) / (m * (view.d + 1));
    const Labels labels(y);
    expect(int64_t(y.size()) == view.n && int64_t(weights.size()) == m * k * (view.d + 1),
           "y or weights: size");
    labels.expect_below(k, view.n);
    nb::gil_scoped_release free;
    whole = loops.weighted_correct(view, labels.signs, labels.numbers, pointer(weight),
                                   weights.data(), m, k, correct.data(), should_stop);
  });
  raise_if(!whole);
}

double max_standardised_norm2(nb::handle rows, std::optional<Numbers> weight, Numbers mean,
                              Numbers factor) {
  bool whole = true;
  double square = 0;
  with_rows(rows, [&](const auto& view, const auto& loops) {
    expect(int64_t(mean.size()) == view.d && int64_t(factor.size()) == view.d,
           "mean or factor: wrong size");
    nb::gil_scoped_release free;
    whole = loops.max_standardised_norm2(view, pointer(weight), mean.data(), factor.data(), square,
                                         should_stop);
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

bool all_finite(AnyArray values) {
  const bool single = values.dtype() == nb::dtype<float>();
  expect(single || values.dtype() == nb::dtype<double>(), "values: must be float32 or float64");
  nb::gil_scoped_release free;
  const auto count = int64_t(values.size());
  if (single) return active.load()->finite_floats(static_cast<const float*>(values.data()), count);
  return active.load()->finite_doubles(static_cast<const double*>(values.data()), count);
}

int csr_flaw(AnyArray indices, AnyArray indptr, int64_t features) {
  const bool narrow = indices.dtype() == nb::dtype<int32_t>();
  expect(indices.dtype() == indptr.dtype() && (narrow || indices.dtype() == nb::dtype<int64_t>()),
         "indices and indptr: must both be int32 or both be int64");
  expect(indptr.size() > 0, "indptr must not be empty");
  const auto count = int64_t(indices.size()), n = int64_t(indptr.size()) - 1;
  const auto flaw = [&]<class Index>(Index) {
    nb::gil_scoped_release free;
    return flaw_of(static_cast<const Index*>(indices.data()), count,
                    static_cast<const Index*>(indptr.data()), n, features);
  };
  return narrow ? flaw(int32_t{}) : flaw(int64_t{});
}

int64_t mark(AnyArray indices, int64_t most, Marks found) {
  const bool narrow = indices.dtype() == nb::dtype<int32_t>();
  expect(narrow || indices.dtype() == nb::dtype<int64_t>(), "indices: must be int32 or int64");
  const auto marked = [&]<class Index>(Index) {
    nb::gil_scoped_release free;
    return mark_features(static_cast<const Index*>(indices.data()), int64_t(indices.size()), most,
                         found.data());
  };
  return narrow ? marked(int32_t{}) : marked(int64_t{});
}

// Calls f(rows) for sparse rows of which some features have a place.
template <class F>
void with_places(nb::handle rows, const Places& place, int64_t columns, F&& f) {
  with_rows(rows, [&](const auto& view, const auto&) {
    if constexpr (requires { view.indptr; }) {
      expect(int64_t(place.size()) == view.d, "place: wrong size");
      for (size_t j = 0; j < place.size(); ++j)
        expect(place.data()[j] < columns, "place: beyond the columns");
      f(view);
    } else {
      throw nb::type_error("rows: must be sparse");
    }
  });
}

void sizes_of_columns(nb::handle rows, Places place, LongOutput sizes) {
  with_places(rows, place, int64_t(sizes.size()), [&](const auto& view) {
    nb::gil_scoped_release free;
    column_sizes(view, place.data(), sizes.data());
  });
}

void copy_of_columns(nb::handle rows, Places place, LongOutput next, nb::handle columns) {
  bool fit = true;
  with_places(rows, place, int64_t(next.size()), [&](const auto& view) {
    const auto parts = nb::cast<nb::tuple>(columns);
    using Value = std::remove_cvref_t<decltype(*view.data)>;
    using Index = std::remove_cvref_t<decltype(*view.indices)>;
    const auto values =
        nb::cast<nb::ndarray<Value, nb::c_contig, nb::device::cpu>>(parts[0], false);
    const auto numbers =
        nb::cast<nb::ndarray<Index, nb::c_contig, nb::device::cpu>>(parts[1], false);
    expect(values.size() == numbers.size(), "values and indices: must be as many");
    nb::gil_scoped_release free;
    fit = copy_columns(view, place.data(), next.data(), int64_t(values.size()), values.data(),
                       numbers.data());
  });
  expect(fit, "next: an entry beyond the room there is");
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
  m.def("csr_flaw", &csr_flaw, "indices"_a, "indptr"_a, "features"_a);
  m.def("column_sizes", &sizes_of_columns, "rows"_a, "place"_a, "sizes"_a.noconvert());
  m.def("copy_columns", &copy_of_columns, "rows"_a, "place"_a, "next"_a.noconvert(), "columns"_a);
  m.def("mark_features", &mark, "indices"_a, "most"_a, "found"_a.noconvert());
  nb::dict flaws;
  flaws["offsets"] = int(kOffsets);
  flaws["range"] = int(kRange);
  flaws["order"] = int(kOrder);
  m.attr("csr_flaws") = flaws;
}

}  // namespace separatrix
