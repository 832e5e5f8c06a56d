// LIBSVM text, and decimal numbers, by hand.
#include "by_hand.hpp"

#include <cstring>
#include <optional>
#include <string>

#include "text/bytes.hpp"
#include "text/csv.hpp"
#include "text/decimal.hpp"
#include "text/svmlight.hpp"

namespace {

using namespace separatrix;

void check(bool holds, const std::string& what) {
  ++(holds ? tests::passed : tests::failed);
  if (!holds) std::printf("%s\n", what.c_str());
}

// Against strtod, with all numbers of digits and powers of ten.
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

// Eight and sixteen bytes at once, compared with one after another.
void test_bytes() {
  for (int i = 0; i < 20000; ++i) {
    std::vector<char> text(16);
    for (char& c : text) c = char(tests::below(4) ? '0' + tests::below(12) : tests::below(256));
    const char wanted = text[size_t(tests::below(16))];
    uint32_t equal = 0;
    for (size_t j = 0; j < 16; ++j) equal |= uint32_t(text[j] == wanted) << j;
    check(Sixteen(text.data()).equal(wanted) == equal, "bytes: sixteen");
    check(equal_bytes(eight_bytes(text.data()), wanted) == (equal & 0xff), "bytes: eight");
    size_t digits = 0;
    uint64_t number = 0;
    for (; digits < 8 && is_digit(text[digits]); ++digits) number = 10 * number + uint64_t(text[digits] - '0');
    const uint64_t bytes = eight_bytes(text.data());
    check(first_byte(other_than_digits(bytes)) == digits, "bytes: digits");
    check(!digits || number_of_digits(bytes, digits) == number, "bytes: number of digits");
  }
}

// Every number of this form, compared with strtod; everything else is refused.
void test_short_decimals() {
  const std::string letters = "0123456789.-+e ";
  int64_t accepted = 0;
  for (int i = 0; i < 300000; ++i) {
    std::string text;
    for (int64_t j = 1 + tests::below(12); j > 0; --j) text += letters[size_t(tests::below(tests::below(3) ? 11 : 15))];
    std::vector<char> room(text.begin(), text.end());
    while (room.size() < size_t(kShortRoom)) room.push_back("0.,9"[tests::below(4)]);
    double value = 0.0;
    const bool taken = parse_short_decimal(room.data(), text.size(), value);
    const size_t from = text[0] == '-', points = size_t(std::count(text.begin(), text.end(), '.'));
    const bool plain = text.find_first_not_of("0123456789.", from) == std::string::npos;
    const size_t digits = text.size() - from - points;
    const bool late = text.find('.') == from + 8;  // eight digits before the point: not looked at
    check(taken == (plain && points < 2 && digits > 0 && digits <= 8 && !late), "short decimal: " + text);
    const double wanted = std::strtod(text.c_str(), nullptr);
    check(!taken || std::memcmp(&value, &wanted, 8) == 0, "short decimal: value of " + text);
    accepted += taken;
  }
  check(accepted > 1000, "short decimals are accepted");
}

using Row = std::vector<std::string>;

// The rows of a text, one character after another; none if a quote is in an odd place.
std::optional<std::vector<Row>> rows_by_hand(const std::string& text, char delimiter) {
  std::vector<Row> rows;
  size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '\n' || text.compare(at, 2, "\r\n") == 0) {
      at += text[at] == '\r' ? 2 : 1;
      continue;
    }
    Row row;
    for (bool more = true; more;) {
      std::string value;
      if (text[at] == '"') {
        for (++at; at < text.size(); ++at) {
          if (text[at] == '"' && text[++at] != '"') break;
          value += text[at];
        }
        if (at >= text.size()) return std::nullopt;
      } else {
        while (text[at] != delimiter && text[at] != '\n' && text[at] != '\r') {
          if (text[at] == '"') return std::nullopt;
          value += text[at++];
        }
      }
      row.push_back(value);
      more = text[at] == delimiter;
      at += more;
    }
    if (text[at] == '\r') ++at;
    if (text[at++] != '\n') return std::nullopt;
    rows.push_back(row);
  }
  return rows;
}

// Where the last row ends, one character after another.
int64_t rows_end_by_hand(const std::string& text, char delimiter) {
  const auto ends = [&](char c) { return c == delimiter || c == '\n' || c == '\r'; };
  size_t found = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n' || (text[at] == '\r' && at + 1 < text.size())) found = at + 1;
    if (text[at] != '"') continue;
    if (at && !ends(text[at - 1])) return -1;
    do {
      at = text.find('"', at + 1);
      if (at == std::string::npos || at + 1 == text.size()) return int64_t(found);
    } while (text[++at] == '"');
    if (!ends(text[at])) return -1;
    --at;
  }
  return int64_t(found);
}

bool is_missing_by_hand(const std::string& word) {
  for (const char* const one : {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan",
                                "1.#IND", "1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"})
    if (word == one) return true;
  return false;
}

void compare_with_rows(const Table& table, const std::vector<Row>& rows, const std::string& text) {
  check(int64_t(rows.size()) == table.rows.rows + 1, "csv: number of rows of " + text);
  for (size_t i = 1; i < rows.size() && int64_t(i) <= table.rows.rows; ++i) {
    const std::string &number = rows[i][0], &word = rows[i][1];
    const double value = table.numbers[i - 1];
    if (is_missing_by_hand(number)) check(std::isnan(value), "csv: missing number of " + text);
    else check(value == std::strtod(number.c_str(), nullptr), "csv: number of " + text);
    const WordTable& words = table.rows.words[0];
    const int32_t code = table.codes[i - 1];
    if (is_missing_by_hand(word)) {
      check(code == -1, "csv: missing word of " + text);
      continue;
    }
    const bool known = code >= 0 && size_t(code) + 1 < words.offsets.size();
    check(known, "csv: code of " + text);
    if (!known) continue;
    const auto start = size_t(words.offsets[size_t(code)]), end = size_t(words.offsets[size_t(code) + 1]);
    check(words.text.substr(start, end - start) == word, "csv: word of " + text);
  }
}

// Random texts: a sanitizer finds reads and writes beyond the arrays, another parser other values.
void test_random_csv() {
  const std::string letters = "01.5e-+ ,,,\"\"\n\n\r\tabNA";
  int64_t accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string text = "n,w,s\n";
    const int64_t size = tests::below(i % 2 ? 24 : 90);
    for (int64_t j = 0; j < size; ++j) text += letters[size_t(tests::below(int64_t(letters.size())))];
    const std::vector<char> piece(text.begin(), text.end());
    const int64_t end = csv_rows_end(piece.data(), int64_t(piece.size()), ',');
    check(end == rows_end_by_hand(text, ','), "csv: end of rows of " + text);
    Table table(text + "\n", 1 + tests::below(3));
    check(table.rows.rows <= table.rows.max_rows, "csv: room");
    if (!table.parse()) continue;
    ++accepted;
    const auto rows = rows_by_hand(text + "\n", ',');
    check(rows.has_value(), "csv: rows of " + text);
    if (rows) compare_with_rows(table, *rows, text);
  }
  check(accepted > 0, "csv: some random texts are accepted");
}

// Texts without surprises are accepted: words of all lengths, quoted or not, with what ends values.
void test_plain_csv() {
  const char* const numbers[] = {"0", "-0", "1.5", "-12.25", "123456.789", "0.30471707975443135", "1e-7",
                                 "12345678", "-123456789012", "", "NA", ".5", "7.", " 3", "\"2.5\"", "-NaN"};
  for (int i = 0; i < 3000; ++i) {
    const std::string end = tests::below(2) ? "\n" : "\r\n";
    std::string text = "n,w,s" + end;
    const int64_t n = 1 + tests::below(40);
    for (int64_t row = 0; row < n; ++row) {
      std::string word;
      for (int64_t j = tests::below(tests::below(2) ? 20 : 40); j > 0; --j) word += char('a' + tests::below(3));
      const int64_t way = tests::below(4);
      if (way == 1) word = '"' + word + '"';
      if (way == 2) word = "\"" + word + ",\n\"\"" + word + "\"";
      text += std::string(numbers[tests::below(std::ssize(numbers))]) + "," + word + "," + word + end;
    }
    check(csv_rows_end(text.data(), int64_t(text.size()), ',') == int64_t(text.size()), "csv: plain end");
    Table table(text, n);
    check(table.parse() && table.rows.rows == n, "csv: plain text is accepted: " + text);
    compare_with_rows(table, *rows_by_hand(text, ','), text);
  }
}

}  // namespace

int main() {
  test_decimals();
  test_rows();
  test_flaw();
  test_csv();
  test_bytes();
  test_short_decimals();
  test_random_csv();
  test_plain_csv();
  return tests::summary();
}
