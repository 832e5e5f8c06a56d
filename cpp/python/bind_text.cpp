// Bindings of what reads text.
#include <nanobind/stl/pair.h>

#include <vector>

#include "python/bind.hpp"
#include "text/csv.hpp"
#include "text/svmlight.hpp"

namespace separatrix {

namespace {

using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ints = nb::ndarray<const int32_t, nb::c_contig, nb::device::cpu>;
using IntOutput = nb::ndarray<int32_t, nb::c_contig, nb::device::cpu>;

// Every search ends at the end of a line, so there must be one.
const char* lines_of(const Bytes& text) {
  const auto* const begin = reinterpret_cast<const char*>(text.data());
  expect(text.size() == 0 || begin[text.size() - 1] == '\n', "text: must end with a line's end");
  return begin;
}

std::pair<int64_t, int64_t> svmlight_counts(Bytes text) {
  nb::gil_scoped_release free;
  const auto counts =
      count_svmlight(reinterpret_cast<const char*>(text.data()), int64_t(text.size()));
  return {counts.lines, counts.entries};
}

std::pair<int64_t, int64_t> svmlight_range(Bytes text) {
  const char* const lines = lines_of(text);
  nb::gil_scoped_release free;
  const auto range = svmlight_index_range(lines, int64_t(text.size()));
  return {range.smallest, range.largest};
}

// Rows, entries, entries left out, the flaw or 0, and where its word begins.
std::tuple<int64_t, int64_t, int64_t, int, int64_t> svmlight_rows(
    Bytes text, int64_t first_index, int64_t features, Output labels, Output values,
    IntOutput indices, IntOutput indptr) {
  const char* const lines = lines_of(text);
  const Size rows_room{"rows", int64_t(labels.size())}, room{"entries", int64_t(values.size())};
  check_arrays({{"text", text, {kAnySize}}, {"labels", labels, {rows_room}},
                {"values", values, {room}}, {"indices", indices, {room}},
                {"indptr", indptr, {{"rows + 1", rows_room.value + 1}}}});
  expect(room.value <= INT32_MAX, "values: expected fewer than 2**31");
  expect(first_index >= 0 && first_index <= kLastIndex, "first_index: expected an index");
  SvmlightRows rows{labels.data(), values.data(), indices.data(), indptr.data(),
                    int64_t(labels.size()), int64_t(values.size())};
  {
    nb::gil_scoped_release free;
    parse_svmlight(lines, int64_t(text.size()), first_index, features, rows);
  }
  expect(rows.flaw != kRoom, "room: too little");
  return {rows.rows, rows.entries, rows.left_out, rows.flaw, rows.at};
}

// How many of the columns are of a kind; their slots must be the numbers below that, in order.
int64_t count_of(CsvKind kind, const Bytes& kinds, const Ints& slots) {
  int64_t count = 0;
  for (size_t column = 0; column < kinds.size(); ++column)
    if (kinds.data()[column] == kind) {
      expect(slots.data()[column] >= 0, "slots: expected numbers of columns");
      ++count;
    }
  std::vector<bool> seen(size_t(count), false);
  for (size_t column = 0; column < kinds.size(); ++column)
    if (kinds.data()[column] == kind) {
      const auto slot = size_t(slots.data()[column]);
      expect(slot < seen.size() && !seen[slot], "slots: expected each number of a column once");
      seen[slot] = true;
    }
  return count;
}

template <class Value>
nb::bytes bytes_of(const Value* values, size_t count) {
  return nb::bytes(reinterpret_cast<const char*>(values), count * sizeof(Value));
}

// Rows, and of each column of words the offsets and the text of distinct ones; None: refused.
nb::object csv_rows(Bytes text, int delimiter, bool has_names, Bytes kinds, Ints slots,
                    Output numbers, IntOutput codes) {
  const char* const lines = lines_of(text);
  const Size columns{"columns", int64_t(kinds.size())};
  for (size_t column = 0; column < kinds.size(); ++column)
    expect(kinds.data()[column] <= kWord, "kinds: expected 0, 1 or 2");
  expect(slots.size() == kinds.size(), "slots: expected one for each column");
  const int64_t n_numbers = count_of(kNumber, kinds, slots), n_words = count_of(kWord, kinds, slots);
  expect(numbers.ndim() == 2, "numbers: expected rows of numbers");
  const Size rows_room{"rows", int64_t(numbers.shape(0))};
  check_arrays({{"text", text, {kAnySize}}, {"kinds", kinds, {columns}}, {"slots", slots, {columns}},
                {"numbers", numbers, {rows_room, {"columns of numbers", n_numbers}}},
                {"codes", codes, {{"columns of words", n_words}, rows_room}}});
  expect(columns.value > 0, "kinds: expected a column");
  expect(delimiter == ',' || delimiter == '\t', "delimiter: expected a comma or a tab");
  CsvRows rows{kinds.data(), slots.data(), columns.value, n_numbers, rows_room.value,
               numbers.data(), codes.data(), std::vector<WordTable>(size_t(n_words))};
  bool accepted;
  {
    nb::gil_scoped_release free;
    accepted = parse_csv(lines, int64_t(text.size()), char(delimiter), has_names, rows);
  }
  if (!accepted) return nb::none();
  nb::list words;
  for (const WordTable& table : rows.words)
    words.append(nb::make_tuple(bytes_of(table.offsets.data(), table.offsets.size()),
                                bytes_of(table.text.data(), table.text.size())));
  return nb::make_tuple(rows.rows, words);
}

int64_t csv_end(Bytes text, int delimiter) {
  nb::gil_scoped_release free;
  return csv_rows_end(reinterpret_cast<const char*>(text.data()), int64_t(text.size()),
                      char(delimiter));
}

}  // namespace

void bind_text(nb::module_& m) {
  m.def("svmlight_counts", &svmlight_counts, "text"_a);
  m.def("svmlight_range", &svmlight_range, "text"_a);
  m.def("svmlight_rows", &svmlight_rows, "text"_a, "first_index"_a, "features"_a,
        "labels"_a.noconvert(), "values"_a.noconvert(), "indices"_a.noconvert(),
        "indptr"_a.noconvert());
  m.def("csv_rows", &csv_rows, "text"_a, "delimiter"_a, "has_names"_a, "kinds"_a, "slots"_a,
        "numbers"_a.noconvert(), "codes"_a.noconvert());
  m.def("csv_end", &csv_end, "text"_a, "delimiter"_a);
  nb::dict flaws;
  flaws["label"] = int(kLabel);
  flaws["feature"] = int(kFeature);
  flaws["index range"] = int(kIndexRange);
  flaws["index order"] = int(kIndexOrder);
  flaws["value"] = int(kValue);
  m.attr("svmlight_flaws") = flaws;
  m.attr("svmlight_last_index") = kLastIndex;
}

}  // namespace separatrix
