// LIBSVM text, and decimal numbers, by hand.
#include "by_hand.hpp"

#include <cstring>
#include <string>

#include "text/csv.hpp"
#include "text/decimal.hpp"
#include "text/svmlight.hpp"

namespace {

using namespace separatrix;

void check(bool holds, const std::string& what) {
  ++(holds ? tests::passed : tests::failed);
  if (!holds) std::printf("%s\n", what.c_str());
}

// Beside strtod, of all lengths of digits and powers of ten.
void test_decimals() {
  for (int digits = 1; digits < 25; ++digits) {
    for (int power = -345; power < 320; power += 7) {
      std::string number;
      for (int i = 0; i < digits; ++i) number += char('0' + tests::below(10));
      number.insert(size_t(tests::below(digits + 1)), ".");
      number += "e" + std::to_string(power) + "\n";
      double value = 0.0;
      const char* const end = parse_decimal(number.c_str(), number.c_str() + number.size(), value);
      check(end == number.c_str() + number.size() - 1 && value == std::strtod(number.c_str(), nullptr),
            "decimal: " + number);
    }
  }
}

// The text stands at the end of its memory: who reads beyond is found by a sanitiser.
void test_rows() {
  const std::string text = "+1 qid:4 2:0.5 7:-1e2 # 9:9\n\n-1\n3 1:4\n";
  const std::vector<char> lines(text.begin(), text.end());
  const auto size = int64_t(lines.size());
  const SvmlightCounts counts = count_svmlight(lines.data(), size);
  check(counts.lines == 4 && counts.entries == 5, "counts");
  const IndexRange range = svmlight_index_range(lines.data(), size);
  check(range.smallest == 1 && range.largest == 7, "range of indices");
  std::vector<double> labels(4), values(5);
  std::vector<int32_t> indices(5), indptr(5);
  SvmlightRows rows{labels.data(), values.data(), indices.data(), indptr.data(), 4, 5};
  parse_svmlight(lines.data(), size, 1, 6, rows);
  check(!rows.flaw && rows.rows == 3 && rows.entries == 2 && rows.left_out == 1, "rows");
  check(labels[0] == 1 && labels[1] == -1 && labels[2] == 3, "labels");
  check(values[0] == 0.5 && values[1] == 4 && indices[0] == 1 && indices[1] == 0, "entries");
  check(indptr[1] == 1 && indptr[2] == 1 && indptr[3] == 2, "offsets");
}

void test_flaw() {
  const char* const text = "1 1:1\n1 5:1 3:\n";
  double labels[2], values[4];
  int32_t indices[4], indptr[3];
  SvmlightRows rows{labels, values, indices, indptr, 2, 4};
  parse_svmlight(text, int64_t(std::strlen(text)), 1, 9, rows);
  check(rows.flaw == kValue && rows.at == 12 && rows.rows == 1, "flaw");
}

// A table of a column of numbers, one of words and one that is left out.
struct Table {
  std::vector<char> text;  // of its exact size, so that a sanitizer finds reads beyond it
  std::vector<uint8_t> kinds{kNumber, kWord, kSkip};
  std::vector<int32_t> slots{0, 0, 0};
  std::vector<double> numbers;
  std::vector<int32_t> codes;
  CsvRows rows{};

  Table(const std::string& given, int64_t room)
      : text(given.begin(), given.end()), numbers(size_t(room)), codes(size_t(room)) {
    rows = {kinds.data(), slots.data(), 3, 1, room, numbers.data(), codes.data(),
            std::vector<WordTable>(1)};
  }
  bool parse() { return parse_csv(text.data(), int64_t(text.size()), ',', true, rows); }
};

void test_csv() {
  Table table("n,w,s\n1.5,a,x\n,\"b\"\"c\",\r\n\n\"-2e3\",a,\"1\n2\"\n", 3);
  check(table.parse() && table.rows.rows == 3, "csv: rows");
  check(table.numbers[0] == 1.5 && table.numbers[1] != table.numbers[1] && table.numbers[2] == -2e3,
        "csv: numbers");
  check(table.codes == std::vector<int32_t>({0, 1, 0}) && table.rows.words[0].text == "ab\"c",
        "csv: words");
  for (const char* const refused : {"n,w,s\n1,a\n", "n,w,s\n1,a,b,c\n", "n,w,s\n+1,a,b\n",
                                    "n,w,s\n1,a\"b,c\n", "n,w,s\n1,\"a\n", "n,w,s\n1,a,b\n2,a,b\n"})
    check(!Table(refused, 1).parse(), std::string("csv: refused ") + refused);
}

// Random texts: a sanitizer finds reads and writes beyond the arrays.
void test_random_csv() {
  const std::string letters = "01.5e-+ ,,,\"\"\n\n\r\tabNA";
  int64_t accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string text = "n,w,s\n";
    const int64_t size = tests::below(24);
    for (int64_t j = 0; j < size; ++j) text += letters[size_t(tests::below(int64_t(letters.size())))];
    const std::vector<char> piece(text.begin(), text.end());
    const int64_t end = csv_rows_end(piece.data(), int64_t(piece.size()), ',');
    check(end >= -1 && end <= int64_t(piece.size()), "csv: end of rows");
    Table table(text + "\n", 1 + tests::below(3));
    accepted += table.parse();
    check(table.rows.rows <= table.rows.max_rows, "csv: room");
  }
  check(accepted > 0, "csv: some random texts are accepted");
}

}  // namespace

int main() {
  test_decimals();
  test_rows();
  test_flaw();
  test_csv();
  test_random_csv();
  return tests::summary();
}
