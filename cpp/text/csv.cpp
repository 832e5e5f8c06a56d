#include "text/csv.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <string_view>

#include "text/decimal.hpp"
#include "text/bytes.hpp"

namespace separatrix {

namespace {

// Beyond, parsers differ in what they do with numbers that are too large or too small for a double.
constexpr double kLargest = 1e300, kSmallest = 1e-290;

constexpr std::string_view kMissing[] = {
    "",     "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
    "1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"};

bool is_missing_word(const char* word, size_t size) {
  const std::string_view given(word, size);
  return std::find(std::begin(kMissing), std::end(kMissing), given) != std::end(kMissing);
}

// Few words begin as these do.
inline bool is_missing(const char* word, size_t size) {
  const char c = size ? *word : 'N';
  return (c == 'N' || c == 'n' || c == '#' || c == '-' || c == '1') && is_missing_word(word, size);
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Reads one text; every function returns where the field ends, or null if it is refused.
class Parser {
 public:
  Parser(const char* end, char delimiter, CsvRows& rows)
      : end_(end), delimiter_(delimiter), rows_(rows) {}

  bool parse(const char* p, bool has_names) {
    if (has_names) {
      const std::vector<uint8_t> none(size_t(rows_.columns), kSkip);
      p = parse_row(skip_empty_lines(p), none.data(), nullptr);
    }
    double* numbers = rows_.numbers;
    for (; p && (p = skip_empty_lines(p)) < end_; numbers += rows_.number_columns, ++rows_.rows) {
      if (rows_.rows == rows_.max_rows) return false;
      p = parse_row(p, rows_.kinds, numbers);
    }
    return p;
  }

 private:
  const char* skip_empty_lines(const char* p) const {
    while (p < end_ && (*p == '\n' || (*p == '\r' && p[1] == '\n'))) p += 1 + (*p == '\r');
    return p;
  }

  const char* parse_row(const char* p, const uint8_t* kinds, double* numbers) {
    if (p == end_) return p;
    for (int64_t column = 0; column < rows_.columns; ++column) {
      if (column && *p++ != delimiter_) return nullptr;
      const uint8_t kind = kinds[column];
      const int32_t slot = rows_.slots[column];
      const char* after = end_ - p > kRoom ? parse_short(p, kind, slot, numbers) : nullptr;
      if (!after) after = parse_field(p, kind, slot, numbers);
      if (!after) return nullptr;
      p = after;
    }
    p += *p == '\r';
    return *p == '\n' ? p + 1 : nullptr;
  }

  static constexpr int64_t kRoom = 18;  // bytes that parse_short reads

  // A field of at most 15 characters, as most are; null if this may be another.
  const char* parse_short(const char* p, uint8_t kind, int32_t slot, double* numbers) {
    if (*p == '"') {
      const uint32_t quotes = Sixteen(++p).equal('"');
      if (!quotes) return nullptr;
      const auto size = size_t(std::countr_zero(quotes));
      const char after = p[size + 1];
      if (after != delimiter_ && after != '\n') return nullptr;
      return add_short(p, size, kind, slot, numbers) ? p + size + 1 : nullptr;
    }
    const Sixteen bytes(p);
    const uint32_t ends = bytes.equal(delimiter_) | bytes.equal('\n');
    if (!ends) return nullptr;
    const auto size = size_t(std::countr_zero(ends));
    const uint32_t up_to_end = ends ^ (ends - 1);
    if (kind != kNumber && up_to_end & (bytes.equal('"') | bytes.equal('\r'))) return nullptr;
    return add_short(p, size, kind, slot, numbers) ? p + size : nullptr;
  }

  bool add_short(const char* p, size_t size, uint8_t kind, int32_t slot, double* numbers) {
    if (kind == kNumber) return parse_short_decimal(p, size, numbers[slot]);
    if (kind == kSkip) return true;
    return add_word(p, size, WordKey::of_short(p, size), slot);
  }

  bool ends_field(char c) const { return c == delimiter_ || c == '\n' || c == '\r'; }

  const char* parse_field(const char* p, uint8_t kind, int32_t slot, double* numbers) {
    if (*p == '"') return parse_quoted(p + 1, kind, slot, numbers);
    if (kind == kNumber) {
      const char* const after = parse_number(p, numbers[slot]);
      if (after && ends_field(*after)) return after;
    }
    const char* const stop = word_end(p);
    if (!stop || !add_value(p, size_t(stop - p), kind, slot, numbers)) return nullptr;
    return stop;
  }

  // A field without quotes; quotes within it mean nothing, but few parsers agree on that.
  const char* word_end(const char* p) const {
    while (!ends_field(*p)) {
      if (*p == '"') return nullptr;
      ++p;
    }
    return *p == '\r' && p[1] != '\n' ? nullptr : p;
  }

  const char* parse_quoted(const char* p, uint8_t kind, int32_t slot, double* numbers) {
    const char* word = p;
    const char* stop = quote(p);
    if (!stop) return nullptr;
    if (stop[1] == '"') {  // two quotes stand for one
      unquoted_.clear();
      while (stop && stop[1] == '"') {
        unquoted_.append(p, size_t(stop + 1 - p));
        p = stop + 2;
        stop = quote(p);
      }
      if (!stop) return nullptr;
      unquoted_.append(p, size_t(stop - p));
      if (kind == kNumber) return nullptr;
    }
    if (!ends_field(stop[1]) || (stop[1] == '\r' && stop[2] != '\n')) return nullptr;
    const bool copied = word != p;
    const size_t size = copied ? unquoted_.size() : size_t(stop - word);
    word = copied ? unquoted_.data() : word;
    if (kind == kNumber && parse_number(word, numbers[slot]) == stop) return stop + 1;
    return add_value(word, size, kind, slot, numbers) ? stop + 1 : nullptr;
  }

  // The next quote; the text's last byte is the end of a line, so another follows any quote.
  const char* quote(const char* p) const {
    return static_cast<const char*>(std::memchr(p, '"', size_t(end_ - p)));
  }

  // A finite number, with blanks around it.
  const char* parse_number(const char* p, double& value) const {
    while (is_blank(*p) && *p != delimiter_) ++p;
    const char* const begin = p;
    if (*p == '+') return nullptr;
    p = parse_decimal(p, end_, value);
    if (!p) return nullptr;
    const double size = std::fabs(value);
    if (!(size <= kLargest) || (size < kSmallest && !is_zero(begin, p))) return nullptr;
    while (is_blank(*p) && *p != delimiter_) ++p;
    return p;
  }

  static bool is_zero(const char* p, const char* end) {
    for (; p < end && *p != 'e' && *p != 'E'; ++p)
      if (*p >= '1' && *p <= '9') return false;
    return true;
  }

  // A value that is no number.
  bool add_value(const char* word, size_t size, uint8_t kind, int32_t slot, double* numbers) {
    if (kind == kWord) return add_word(word, size, WordKey::of(word, size), slot);
    if (kind == kSkip) return true;
    numbers[slot] = std::numeric_limits<double>::quiet_NaN();
    return is_missing(word, size);
  }

  bool add_word(const char* word, size_t size, const WordKey& key, int32_t slot) {
    int32_t& code = rows_.codes[slot * rows_.max_rows + rows_.rows];
    code = -1;
    if (is_missing(word, size)) return true;
    code = rows_.words[size_t(slot)].number_of(word, size, key);
    return code >= 0;
  }

  const char* const end_;
  const char delimiter_;
  CsvRows& rows_;
  std::string unquoted_;
};

}  // namespace

int64_t csv_rows_end(const char* text, int64_t size, char delimiter) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  const auto is_line_end = [](char c) { return c == '\n' || c == '\r'; };
  const auto ends_field = [&](char c) { return c == delimiter || is_line_end(c); };
  const char* const end = text + size;
  const bool marked = std::string_view(text, size_t(size)).starts_with(kByteOrderMark);
  const char* const first = marked ? text + kByteOrderMark.size() : text;
  const char* closed = nullptr;  // the last quote that ended a value, or was the first of two
  bool quoted = false;
  const auto meet = [&](const char* p) {  // false if parsers do not agree on this quote
    if (quoted) {
      closed = p;
      quoted = false;
      return p + 1 == end || p[1] == '"' || ends_field(p[1]);
    }
    quoted = true;
    return p == first || (p != text && (p - 1 == closed || ends_field(p[-1])));
  };
  const char* p = text;
  for (; end - p >= 16; p += 16)
    for (uint32_t quotes = Sixteen(p).equal('"'); quotes; quotes &= quotes - 1)
      if (!meet(p + std::countr_zero(quotes))) return -1;
  for (; p < end; ++p)
    if (*p == '"' && !meet(p)) return -1;
  // Backwards through the last row, which may have no end.
  while (p-- > text) {
    if (*p == '"') quoted = !quoted;
    else if (!quoted && is_line_end(*p) && (*p == '\n' || p + 1 < end)) return p + 1 - text;
  }
  return 0;
}

bool parse_csv(const char* text, int64_t size, char delimiter, bool has_names, CsvRows& rows) {
  return Parser(text + size, delimiter, rows).parse(text, has_names);
}

}  // namespace separatrix
