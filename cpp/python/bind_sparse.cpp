// Bindings of the loops over stored values: sparse rows are checked, and made from columns or rows.
#include "python/bind.hpp"

#include <limits>

#include "rows/csr_columns.hpp"
#include "rows/csr_indices.hpp"
#include "rows/gathered_rows.hpp"

namespace separatrix {

namespace {

using Marks = nb::ndarray<bool, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const int32_t, nb::c_contig, nb::device::cpu>;

int csr_flaw(AnyArray indices, AnyArray indptr, int64_t features) {
  const bool narrow = indices.dtype() == nb::dtype<int32_t>();
  if (indices.dtype() != indptr.dtype() || !(narrow || indices.dtype() == nb::dtype<int64_t>()))
    throw nb::type_error("indices and indptr: expected both int32 or both int64");
  check_arrays({{"indices", indices, {kAnySize}}, {"indptr", indptr, {{"n + 1", 1, true}}}});
  expect(features >= 0, "features: expected 0 or more");
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
  if (!narrow && indices.dtype() != nb::dtype<int64_t>())
    throw nb::type_error("indices: expected int32 or int64");
  check_arrays({{"indices", indices, {kAnySize}}, {"found", found, {kAnySize}}});
  const auto marked = [&]<class Index>(Index) {
    nb::gil_scoped_release free;
    return mark_features(static_cast<const Index*>(indices.data()), int64_t(indices.size()), most,
                         found.data(), int64_t(found.size()));
  };
  const int64_t count = narrow ? marked(int32_t{}) : marked(int64_t{});
  expect(count >= 0, "indices: expected numbers of features, from 0 to len(found) - 1");
  return count;
}

// Calls f(rows) for sparse rows of which some features have a place among the columns.
template <class F>
void with_places(nb::handle rows, const Places& place, const char* name, const LongOutput& columns,
                 F&& f) {
  with_rows(rows, [&](const auto& view, const auto&) {
    if constexpr (requires { view.indptr; }) {
      check_arrays(view, {{"place", place, {{"d", view.d}}}, {name, columns, {kAnySize}}});
      for (size_t j = 0; j < place.size(); ++j)
        expect(place.data()[j] < int64_t(columns.size()), "place: expected numbers of columns");
      f(view);
    } else {
      throw nb::type_error("rows: expected sparse rows");
    }
  });
}

void sizes_of_columns(nb::handle rows, Places place, LongOutput sizes) {
  with_places(rows, place, "sizes", sizes, [&](const auto& view) {
    nb::gil_scoped_release free;
    column_sizes(view, place.data(), sizes.data());
  });
}

void copy_of_columns(nb::handle rows, Places place, LongOutput next, nb::tuple columns) {
  expect(columns.size() >= 2, "columns: expected (data, indices, ...)");
  bool fit = true;
  with_places(rows, place, "next", next, [&](const auto& view) {
    using Value = std::remove_cvref_t<decltype(*view.data)>;
    using Index = std::remove_cvref_t<decltype(*view.indices)>;
    const auto values =
        array_in<nb::ndarray<Value, nb::c_contig, nb::device::cpu>>(columns[0], "columns.data");
    const auto numbers =
        array_in<nb::ndarray<Index, nb::c_contig, nb::device::cpu>>(columns[1], "columns.indices");
    const Size room{"entries", int64_t(values.size())};
    check_arrays(view, {{"place", place, {{"d", view.d}}}, {"next", next, {kAnySize}},
                        {"columns.data", values, {room}}, {"columns.indices", numbers, {room}}});
    check_below("next", next.data(), int64_t(next.size()), room.value + 1);
    expect(view.n <= std::numeric_limits<Index>::max(), "rows: more than the indices can count");
    nb::gil_scoped_release free;
    fit = copy_columns(view, place.data(), next.data(), room.value, values.data(), numbers.data());
  });
  expect(fit, "next: an entry beyond the room there is");
}

// How many values are not 0: they are gathered row by row, with room for all.
int64_t gathered(nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> numbers,
                 Longs number_features,
                 nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> values,
                 nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> features,
                 Longs order, int64_t n_features, Output data,
                 nb::ndarray<int32_t, nb::c_contig, nb::device::cpu> indices,
                 nb::ndarray<int32_t, nb::c_contig, nb::device::cpu> indptr) {
  const Size n{"rows", int64_t(numbers.shape(0))};
  const Size of_numbers{"columns of numbers", int64_t(numbers.shape(1))};
  const Size others{"other columns", int64_t(values.shape(0))};
  const Size all{"columns", of_numbers.value + others.value};
  const Size room{"values", checked_product(all.value, n.value)};
  check_arrays({{"numbers", numbers, {n, of_numbers}},
                {"number_features", number_features, {of_numbers}},
                {"values", values, {others, n}}, {"features", features, {others, n}},
                {"order", order, {all}}, {"data", data, {room}}, {"indices", indices, {room}},
                {"indptr", indptr, {{"rows + 1", n.value + 1}}}});
  check_below("order", order.data(), all.value, all.value);
  expect(room.value <= INT32_MAX, "values: expected fewer than 2**31");
  expect(n_features <= INT32_MAX, "n_features: expected fewer than 2**31");
  const Gathered from{n.value, of_numbers.value, others.value, numbers.data(),
                      number_features.data(), values.data(), features.data(), order.data(),
                      n_features};
  int64_t count;
  {
    nb::gil_scoped_release free;
    count = gather_rows(from, data.data(), indices.data(), indptr.data());
  }
  expect(count >= 0, "features: expected numbers below n_features");
  return count;
}

}  // namespace

void bind_sparse(nb::module_& m) {
  m.def("csr_flaw", &csr_flaw, "indices"_a, "indptr"_a, "features"_a);
  m.def("column_sizes", &sizes_of_columns, "rows"_a, "place"_a, "sizes"_a.noconvert());
  m.def("copy_columns", &copy_of_columns, "rows"_a, "place"_a, "next"_a.noconvert(), "columns"_a);
  m.def("gather_rows", &gathered, "numbers"_a, "number_features"_a, "values"_a, "features"_a,
        "order"_a, "n_features"_a, "data"_a.noconvert(), "indices"_a.noconvert(),
        "indptr"_a.noconvert());
  m.def("mark_features", &mark, "indices"_a, "most"_a, "found"_a.noconvert());
  nb::dict flaws;
  flaws["offsets"] = int(kOffsets);
  flaws["range"] = int(kRange);
  flaws["order"] = int(kOrder);
  m.attr("csr_flaws") = flaws;
}

}  // namespace separatrix
